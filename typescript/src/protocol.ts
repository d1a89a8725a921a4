// The lines of `reenact world` as types: docs/world.md says what they mean.

/** Microseconds since the start of the run. */
export type Micros = number;

/** How an answer ends. One without an end is silent for ever. */
export type AnswerEnd = "complete" | "close" | "reset" | "refused" | "dns" | "tls" | "broken_pipe";

/** Something that the user does beside prompts. */
export interface Act {
  kind: "cancel" | "message";
  text?: string;
  /** At this time: before the events of the world at the same time. */
  at?: Micros;
  /** At this boundary. */
  boundary?: string;
  /** The prompt that follows, in place of what the user would have said next. */
  then?: string;
  /** Whether that prompt comes without waiting for the cancelled one to unwind. */
  at_once?: boolean;
}

export interface ToolDefinition {
  name: string;
  description?: string;
  input_schema: Record<string, unknown>;
}

export interface Opened {
  run: number;
  protocol: number;
  seed?: number;
  title: string;
  model: string;
  max_tokens: number;
  prompts: { at: Micros; text: string }[];
  tools: ToolDefinition[];
  interrupts: Act[];
  watches: string[];
  warnings: string[];
}

export type Piece = [Micros, string | { base64: string }];

export interface Answer {
  answer: number;
  name: string | null;
  head: { at: Micros; status: number; headers: [string, string][] } | null;
  pieces: Piece[];
  end: { at: Micros; how: AnswerEnd } | null;
  acts?: Act[];
}

export interface ToolAnswer {
  ends_at: Micros | null;
  content: unknown;
  is_error: boolean;
  progress?: [Micros, string][];
  acts?: Act[];
}

export interface Violation {
  rule: string;
  text: string;
  group: string;
}

export interface Verdict {
  is_fine: boolean;
  failures: string[];
  violations: Violation[];
  /** The rules that were asked of the run, and the others by what they need. */
  rules?: { asked: string[]; not_asked: Record<string, string[]> };
  remarks: string[];
  unused: string[];
  requests: unknown[];
  digest: string;
  transcript?: string;
  plan: string;
  /** The prompts that were open when a fault hit: these may fail. */
  faulted_prompts?: number[];
  /** What an exploration must know of the run, where it was asked for. */
  trace?: unknown;
}

/** A plan of an exploration. */
export interface NextPlan {
  number: number;
  plan: string;
  decisions: string[];
  needs_boundaries: boolean;
  is_search: boolean;
}

/** The next plans of an exploration, or its end. */
export interface Next {
  plans: NextPlan[];
  progress: { budget: string; tried: number; known: number };
  report?: Explored;
}

/** The report of an exploration. */
export interface Explored {
  budgets: string[];
  finished: string[];
  is_finished: boolean;
  /** Whether a kind of decision that was asked for was possible nowhere. */
  is_empty: boolean;
  classes: { budget: string; tried: number; waiting: number }[];
  transcripts: number;
  notes: string[];
  findings: {
    /** The same for the same defect. */
    group: string;
    words: string;
    others: string[];
    /** What the smallest run does that the run as it is does not: faults, inputs, orders. */
    decisions: string[];
    /** How many plans show it. */
    ways: number;
    /** Whether its first run showed it a second time. */
    has_come_again: boolean;
    /** The text that makes the smallest run again. */
    plan: string;
  }[];
}

/** The version of the lines that this package speaks. */
export const PROTOCOL = 1;
