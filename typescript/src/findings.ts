// What a sweep found, in groups: one defect shows at many boundaries.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Action, type Interruption, interruptText } from "./plan.js";
import type { Run } from "./run.js";

/** One interrupted run that went wrong. */
export interface Finding {
  /** What was done; `undefined` for the run without an interrupt. */
  interruption: Interruption | undefined;
  /** The same for findings of one defect. */
  group: string;
  /** What is wrong first. */
  words: string;
  /** What is wrong besides, in the same run. */
  also: string[];
  plan: string;
}

export interface Group {
  name: string;
  count: number;
  boundaries: number;
  actions: Action[];
  /** The finding at the earliest boundary. */
  first: Finding;
}

/** The first thing that is wrong with a run, by what tells most: a rule, the API, a deadlock, the agent's own error. */
export function findingOf(run: Run, plan: string, interruption?: Interruption): Finding | undefined {
  const wrong: { group: string; words: string }[] = [];
  const { violations, failures } = run.verdict;
  for (const { rule, group, text } of violations) wrong.push({ group, words: `${rule}: ${text}` });
  const unsaid = failures.filter((failure) => !violations.some(({ text }) => failure.includes(text)));
  for (const failure of unsaid) wrong.push({ group: normalise(failure), words: failure });
  if (run.deadlock !== undefined) wrong.push({ group: "deadlock", words: run.deadlock });
  for (const problem of run.problems) wrong.push({ group: normalise(problem), words: problem });
  const next = interruption === undefined ? undefined : run.outcomes.at(-1);
  if (next?.how === "error" && next.error !== undefined) {
    const { name, message } = next.error;
    wrong.push({ group: `${name}: ${normalise(message)}`, words: `the next prompt raises ${name}: ${message}` });
  }
  const [first, ...others] = wrong;
  return first === undefined ? undefined : { interruption, ...first, also: others.map(({ words }) => words), plan };
}

/** Without figures and ids. */
export function normalise(text: string): string {
  return text
    .replace(/\b(toolu|msg|req|call)_\w+/g, "#")
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "#")
    .replace(/\d+(\.\d+)?/g, "#")
    .slice(0, 200);
}

export class Findings {
  readonly scenario: string;
  /** How many boundaries were interrupted. */
  readonly boundaries: number;
  /** How many runs were made, the plain ones included. */
  readonly runs: number;
  readonly findings: Finding[];
  readonly groups: Group[];
  /** What the plain run says of its own. */
  readonly plain: Run;

  constructor(plain: Run, boundaries: number, runs: number, findings: Finding[]) {
    this.scenario = plain.scenario;
    this.plain = plain;
    this.boundaries = boundaries;
    this.runs = runs;
    this.findings = findings;
    const byGroup = new Map<string, Finding[]>();
    for (const finding of findings) byGroup.set(finding.group, [...(byGroup.get(finding.group) ?? []), finding]);
    this.groups = [...byGroup].map(([name, members]) => ({
      name,
      count: members.length,
      boundaries: new Set(members.map(({ interruption }) => interruption?.boundary)).size,
      actions: [...new Set(members.flatMap(({ interruption }) => interruption?.action ?? []))],
      first: members[0] as Finding,
    }));
  }

  get isFine(): boolean {
    return this.findings.length === 0;
  }

  /** Writes one plan a group, to be replayed by `run(scenario, factory, { planFile })` or REENACT_PLAN. The paths come back. */
  write(folder: string): string[] {
    mkdirSync(folder, { recursive: true });
    return this.groups.map(({ name, first }, index) => {
      const path = join(
        folder,
        `${index + 1}-${name
          .replace(/[^A-Za-z0-9]+/g, "-")
          .slice(0, 40)
          .replace(/^-|-$/g, "")
          .toLowerCase()}.plan.toml`,
      );
      writeFileSync(path, first.plan);
      return path;
    });
  }

  /** Throws with all groups if there are any. */
  check(): this {
    if (!this.isFine) throw new Error(String(this));
    return this;
  }

  toString(): string {
    const counts = `${this.boundaries} boundaries, ${this.runs} runs, ${this.findings.length} findings`;
    if (this.isFine) return `ok      ${this.scenario}  ${counts}`;
    const groups = this.groups.map((group, index) => {
      const { interruption, words, also } = group.first;
      const where = interruption === undefined ? "without an interrupt" : `${interruption.action} at ${interruption.boundary}`;
      const lines = [
        `group ${index + 1} of ${this.groups.length}: ${group.name}`,
        `  ${group.count} findings at ${group.boundaries} boundaries${group.actions.length > 0 ? ` with ${group.actions.join(", ")}` : ""}`,
        `  first: ${where}`,
        `    ${words}`,
        ...also.map((text) => `    and: ${text}`),
        ...replayLines(interruption),
      ];
      return lines.join("\n");
    });
    return [`FAILED  ${this.scenario}  ${counts}`, ...groups].join("\n\n");
  }
}

/** How the first run of a group is made again, without the choices: the seed makes those. */
function replayLines(interruption: Interruption | undefined): string[] {
  if (interruption === undefined) return [];
  const seed = interruption.seed === undefined ? "" : `seed: ${interruption.seed}, `;
  const lines = interruptText(interruption).split("\n");
  return [
    `  replay it: run(…, { ${seed}plan: String.raw\``,
    ...lines.map((line) => `    ${line}`),
    "  `}), or write(folder) and REENACT_PLAN=FILE",
  ];
}
