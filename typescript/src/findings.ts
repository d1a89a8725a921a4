// What a sweep found, in groups: one defect shows at many boundaries.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Action, type Interruption, interruptText, planFileText, withInterrupt } from "./plan.js";
import { type Run, unnamed } from "./run.js";

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
  /** The text that makes the run again. */
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

/**
 * The first thing that is wrong with a run, by what tells most: a rule, the API, a deadlock, the agent's own error. `plain` is the run without the
 * interrupt: a prompt that fails there in the same way does not fail because of it.
 */
export function findingOf(run: Run, interruption?: Interruption, plain?: Run): Finding | undefined {
  const wrong: { group: string; words: string }[] = [];
  const add = (words: string, group = normalise(words)) => wrong.push({ group, words });
  const { violations, failures } = run.verdict;
  for (const { rule, group, text } of violations) add(`${rule}: ${text}`, group);
  for (const failure of failures) if (!violations.some(({ text }) => failure.includes(text))) add(failure);
  if (run.deadlock !== undefined) add(run.deadlock, "deadlock");
  for (const problem of run.problems) add(problem);
  // What the scenario's own user does need not come to pass in a run that was interrupted.
  for (const text of run.notDone)
    if (interruption === undefined || text.startsWith(`the interrupt at ${interruption.boundary} `)) add(text);
  for (const { text, group } of thrown(run, interruption, plain)) add(text, group);
  if (wrong.length === 0 && !run.verdict.is_fine) for (const text of unnamed(run.verdict)) add(text);
  const [first, ...others] = wrong;
  if (first === undefined) return undefined;
  const plan = interruption === undefined ? run.plan : withInterrupt(run.plan, interruption);
  return { interruption, ...first, also: others.map(({ words }) => words), plan };
}

/** The errors of the prompts that must not fail: those after an interrupt, and all of them if it is a message. A fault excuses the prompt that it hit. */
function thrown(run: Run, interruption?: Interruption, plain?: Run): { text: string; group: string }[] {
  return run.outcomes.flatMap(({ prompt, text, how, error, isAfterInterrupt }) => {
    if (how !== "error" || error === undefined || run.verdict.faulted_prompts?.includes(prompt)) return [];
    const asBefore = plain?.outcomes.find((outcome) => outcome.prompt === prompt)?.error?.name === error.name;
    if (!isAfterInterrupt && (interruption?.action !== "message" || asBefore)) return [];
    const isNext = isAfterInterrupt && (interruption === undefined || text === interruption.then);
    const words = `throws ${error.name}: ${error.message}`;
    return { text: `${isNext ? "the next prompt" : `prompt ${prompt}`} ${words}`, group: normalise(words) };
  });
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
  /** What was done at each boundary. */
  readonly actions: readonly Action[];
  /** What could not be tried, and why. */
  readonly notTried: readonly string[];

  constructor(plain: Run, tried: { boundaries: number; runs: number; actions: Action[]; notTried: string[] }, findings: Finding[]) {
    this.scenario = plain.scenario;
    this.plain = plain;
    this.boundaries = tried.boundaries;
    this.runs = tried.runs;
    this.actions = tried.actions;
    this.notTried = tried.notTried;
    this.findings = findings;
    const byGroup = new Map<string, Finding[]>();
    for (const finding of findings) byGroup.set(finding.group, [...(byGroup.get(finding.group) ?? []), finding]);
    this.groups = [...byGroup].map(([name, members]) => ({
      name,
      count: members.length,
      boundaries: new Set(members.flatMap(({ interruption }) => interruption?.boundary ?? [])).size,
      actions: [...new Set(members.flatMap(({ interruption }) => interruption?.action ?? []))],
      first: members[0] as Finding,
    }));
  }

  /** Whether anything was found, or nothing was tried. */
  get isFine(): boolean {
    return this.findings.length === 0 && this.boundaries > 0 && this.actions.length > 0;
  }

  /** Writes one plan a group, to be replayed by `run(scenario, factory, { planFile })` or REENACT_PLAN. The paths come back. */
  write(folder: string): string[] {
    const plans = this.groups.map(({ name, first: { plan } }) => ({ group: name, plan }));
    return writePlans(folder, this.scenario, plans);
  }

  /** Throws with all groups if there are any. */
  check(): this {
    if (!this.isFine) throw new Error(String(this));
    return this;
  }

  toString(): string {
    const actions = this.actions.length > 0 ? ` (${this.actions.join(", ")})` : "";
    const counts = `${this.boundaries} boundaries${actions}, ${this.runs} runs, ${this.findings.length} findings`;
    const lines = [`${this.isFine ? "ok    " : "FAILED"}  ${this.scenario}  ${counts}`];
    if (this.boundaries === 0) lines.push("nothing was tried: no prompt of the scenario was ever being answered");
    else if (this.actions.length === 0) lines.push("nothing was tried: the agent can do none of the actions");
    lines.push(...this.notTried.map((text) => `not tried: ${text}`));
    const groups = this.groups.map((group, index) => {
      const { interruption, words, also } = group.first;
      const where = interruption === undefined ? "without an interrupt" : `${interruption.action} at ${interruption.boundary}`;
      const lines = [
        `group ${index + 1} of ${this.groups.length}: ${group.name}`,
        `  ${group.count} findings at ${group.boundaries} boundaries${group.actions.length > 0 ? ` with ${group.actions.join(", ")}` : ""}`,
        `  first: ${where}`,
        `    ${words}`,
        ...also.map((text) => `    and: ${text}`),
        ...replayLines(interruption, this.plain.seed),
      ];
      return lines.join("\n");
    });
    return [lines.join("\n"), ...groups].join("\n\n");
  }
}

const PLAN_ENDING = ".plan.toml";

/** Writes a file for each defect: its group and the plan that shows it. The paths come back. */
export function writePlans(folder: string, scenario: string, plans: readonly { group: string; plan: string }[]): string[] {
  mkdirSync(folder, { recursive: true });
  return plans.map(({ group, plan }, index) => {
    const path = join(folder, `${index + 1}-${slug(group, 40)}${PLAN_ENDING}`);
    writeFileSync(path, planFileText(plan, scenario, folder));
    return path;
  });
}

/** Removes the plans of an earlier sweep. */
export function removePlans(folder: string): void {
  try {
    for (const name of readdirSync(folder)) if (name.endsWith(PLAN_ENDING)) rmSync(join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** A text as a part of a path. */
export function slug(text: string, length: number): string {
  const bare = text.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-/, "");
  return bare.slice(0, length).replace(/-$/, "").toLowerCase();
}

/** How the first run of a group is made again, without the choices: the seed makes those. */
function replayLines(interruption: Interruption | undefined, seed: number): string[] {
  if (interruption === undefined) return [`  replay it: run(…, { seed: ${seed} }), or write(folder) and REENACT_PLAN=FILE`];
  const lines = interruptText(interruption).split("\n");
  return [
    `  replay it: run(…, { seed: ${seed}, plan: String.raw\``,
    ...lines.map((line) => `    ${line}`),
    "  `}), or write(folder) and REENACT_PLAN=FILE",
  ];
}
