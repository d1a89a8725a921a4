// The exploration: all plans within budgets of faults, interrupts and other orders, as the program hands them out.

import { compareRuns } from "./compare.js";
import { findingOf, writePlans } from "./findings.js";
import { type Program, sharedProgram } from "./program.js";
import { type Explored, type Next, type NextPlan, PROTOCOL } from "./protocol.js";
import { type RunOptions, run } from "./run.js";
import type { AgentFactory } from "./session.js";
import { actionsOf, MESSAGE, type SweepOptions, THEN } from "./sweep.js";

export interface ExploreOptions extends Omit<SweepOptions, "onProgress"> {
  /** Deviations, faults and inputs of a run: `1,0,1` is one arrival out of order and one interrupt. By default `1,0,1` and `0,1,0`. */
  budgets?: string | string[];
  /** Nothing further is tried after so many milliseconds. By default a minute. */
  timeMs?: number;
  /** Hears of the budget, the plans that were tried, and those that are known. */
  onProgress?: (budget: string, tried: number, known: number) => void;
}

export const BUDGETS: readonly string[] = ["1,0,1", "0,1,0"];
const TIME_MS = 60_000;
const PLANS_AT_ONCE = 8;
/** A run with so many more requests than the run as it is does not come to an end. */
const REQUESTS_MORE_MAX = 100;

/** One defect. */
export type ExploredFinding = Explored["findings"][number];

/** What an exploration has looked at, and what it found. */
export class Exploration {
  readonly scenario: string;
  readonly findings: readonly ExploredFinding[];
  readonly budgets: readonly string[];
  /** The budgets of which every plan was tried. */
  readonly finished: readonly string[];
  /** The plans, each by its decisions in words. */
  readonly tried: readonly string[];
  /** How many different transcripts their runs have. */
  readonly transcripts: number;
  /** What was left out, and why. */
  readonly notes: readonly string[];
  readonly isFinished: boolean;
  /** Whether a kind of decision that was asked for was possible nowhere, or nothing was tried beside the run as it is. */
  readonly isEmpty: boolean;
  #report: Explored;

  constructor(scenario: string, tried: string[], notes: string[], report: Explored) {
    this.scenario = scenario;
    this.findings = report.findings.toSorted((one, other) => one.decisions.length - other.decisions.length);
    this.budgets = report.budgets;
    this.finished = report.finished;
    this.tried = tried;
    this.transcripts = report.transcripts;
    this.notes = [...notes, ...report.notes];
    this.isFinished = report.is_finished;
    this.isEmpty = report.is_empty || tried.length <= 1;
    this.#report = report;
  }

  /** Whether nothing was found, and everything that was asked for was tried. */
  get isFine(): boolean {
    return this.findings.length === 0 && this.isFinished && !this.isEmpty;
  }

  /** Writes one plan a finding, to be replayed by `run(scenario, factory, { planFile })` or REENACT_PLAN. The paths come back. */
  write(folder: string): string[] {
    return writePlans(folder, this.scenario, this.findings);
  }

  /** Throws with the report if something was found, or a budget was not finished. */
  check(): this {
    if (!this.isFine) throw new Error(String(this));
    return this;
  }

  toString(): string {
    const sizes = this.#report.classes.filter(({ tried }) => tried > 0);
    const counts = sizes.map(({ budget, tried, waiting }) => `${budget} ${tried}${waiting > 0 ? ` of ${tried + waiting}` : ""}`);
    const left = this.budgets.filter((budget) => !this.finished.includes(budget)).join(" ");
    const unfinished = left === "" ? "" : `; not finished, so that nothing is claimed of it: ${left}`;
    const sized = counts.length > 0 ? ` (${counts.join(", ")})` : "";
    const verdict = this.isFine ? "ok    " : "FAILED";
    const lines = [
      `${verdict}  ${this.scenario}  ${plural(this.tried.length, "plan")}${sized}, ${plural(this.transcripts, "different transcript")}`,
      `finished ${this.finished.join(" ") || "no budget"}${unfinished}`,
      ...this.notes.map((note) => `note: ${note}`),
      ...this.findings.map(findingText),
    ];
    if (this.tried.length <= 1) lines.push("nothing was tried beside the run as it is, so that nothing is known");
    else if (this.findings.length === 0) lines.push("nothing found");
    lines.push("This is claimed for the plans that were tried, at their times, and for no others.");
    return lines.join("\n");
  }
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function findingText({ words, others, decisions, ways, has_come_again }: ExploredFinding): string {
  const smallest = decisions.length === 0 ? "the run as it is" : decisions.join("; ");
  const lines = [
    `\n${words}`,
    ...others.map((other) => `  and: ${other}`),
    `  ${plural(ways, "plan")} ${ways === 1 ? "shows" : "show"} it; the smallest: ${smallest}`,
  ];
  if (!has_come_again) lines.push("  it did not come again: the agent leaves something from run to run");
  return lines.join("\n");
}

/** Tries all plans within the budgets. Two plain runs come first, as in a sweep. A run with a fault is prompted once more in the end. */
export async function explore(scenario: string, factory: AgentFactory, options: ExploreOptions = {}): Promise<Exploration> {
  const { actions, then = THEN, message = MESSAGE, budgets = [...BUDGETS], timeMs = TIME_MS, onProgress, ...rest } = options;
  const until = performance.now() + timeMs;
  const settings: RunOptions = { ...rest, set: { expect: "{}", ...rest.set } };
  const plain = await run(scenario, factory, settings);
  compareRuns(plain, await run(scenario, factory, settings));
  const { chosen, notTried } = actionsOf(actions, plain);
  const requestsMax = plain.verdict.requests.length + REQUESTS_MORE_MAX;
  const { seed, set } = settings;
  const program = sharedProgram();
  const open = { protocol: PROTOCOL, scenario, seed, set };
  const begin = { op: "explore", open, budgets: [budgets].flat(), actions: chosen, then, message };
  const { exploration } = await program.ask<{ exploration: number }>(begin);
  const tried: string[] = [];
  for (;;) {
    const stop = performance.now() > until;
    const next = await program.ask<Next>({ op: "next", exploration, count: PLANS_AT_ONCE, stop });
    onProgress?.(next.progress.budget, next.progress.tried, next.progress.known);
    if (next.report !== undefined) return new Exploration(scenario, tried, notTried, next.report);
    for (const plan of next.plans) {
      if (plan.is_search) tried.push(plan.decisions.join("; ") || "the run as it is");
      await tryPlan(program, exploration, plan, () => run(scenario, factory, { ...settings, plan: plan.plan, explored: { requestsMax } }));
    }
  }
}

async function tryPlan(program: Program, exploration: number, plan: NextPlan, play: () => ReturnType<typeof run>): Promise<void> {
  const done = await play();
  const places = done.boundaries.filter(({ isWorking }) => plan.needs_boundaries && isWorking);
  const found = findingOf(done);
  const finding = found === undefined ? undefined : { group: found.group, words: found.words, others: found.also, plan: found.plan };
  const boundaries = places.map(({ name, at }) => [name, at]);
  program.send({ op: "tried", exploration, number: plan.number, trace: done.verdict.trace, boundaries, finding });
}
