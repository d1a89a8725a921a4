// Plans: the text that makes one run again.
//
// A plan is the world's: its choices, and what the user does at which boundary. Comments say what it is for: the seed, which decides the agent's own
// chance, and in a file the scenario, by its path from the file's folder.

import { relative, resolve } from "node:path";

/** What one interrupted run of a sweep does. */
export type Action = "cancel" | "cancel+prompt" | "message";

export const ACTIONS: readonly Action[] = ["cancel", "cancel+prompt", "message"];

/** An action at a boundary, with all that a replay needs. */
export interface Interruption {
  boundary: string;
  action: Action;
  then: string;
  message: string;
}

/** A plan with the seed of its run. */
export function withSeed(plan: string, seed: number): string {
  return `# seed ${seed}\n\n${plan.replace(/^# (of|seed) .*\n+/gm, "").trim()}\n`;
}

/** The plan of an interrupted run, from the choices that the world returns of it. */
export function withInterrupt(plan: string, interruption: Interruption): string {
  const lines = [`boundary = ${quoted(interruption.boundary)}\n`, `then = ${quoted(interruption.then)}\n`];
  const sections = plan.split("[[plan.interrupt]]").slice(1);
  if (sections.some((section) => lines.every((line) => section.includes(line)))) return plan;
  return `${plan.trimEnd()}\n\n${interruptText(interruption)}\n`;
}

/** The same as a file in this folder. */
export function planFileText(plan: string, scenario: string, folder: string): string {
  const path = relative(resolve(folder), resolve(scenario)).replaceAll("\\", "/");
  return `# of ${JSON.stringify(path)}\n${plan}`;
}

/** The part of a plan that is no choice of the world. */
export function interruptText({ boundary, action, then, message }: Interruption): string {
  const lines = ["[[plan.interrupt]]", `boundary = ${quoted(boundary)}`];
  if (action === "message") lines.push('kind = "interrupt"', `text = ${quoted(message)}`);
  else lines.push('kind = "cancel"');
  lines.push(`then = ${quoted(then)}`);
  if (action === "cancel+prompt") lines.push("at_once = true");
  return lines.join("\n");
}

/** Whether something happens in a plan that the scenario does not say: an interrupt, or a fault. */
export function hasInjection(plan: string): boolean {
  return /^\[\[plan\./m.test(plan);
}

/** The path of the scenario that a plan file in this folder is for. */
export function scenarioOf(plan: string, folder: string): string | undefined {
  const found = /^# of (".*")$/m.exec(plan);
  return found?.[1] === undefined ? undefined : resolve(folder, JSON.parse(found[1]) as string);
}

/** The seed of the run that a plan is from. */
export function seedOf(plan: string): number | undefined {
  const found = /^# seed (\d+)$/m.exec(plan);
  return found?.[1] === undefined ? undefined : Number(found[1]);
}

/** A string of TOML: the escapes of JSON are among its own. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\x7f", "\\u007f");
}
