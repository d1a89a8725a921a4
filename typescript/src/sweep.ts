// The sweep: the agent is interrupted at each boundary in turn, prompted once more, and what it sends then is judged.

import { compareRuns } from "./compare.js";
import { type Finding, Findings, findingOf } from "./findings.js";
import { ACTIONS, type Action, interruptText } from "./plan.js";
import { type Run, type RunOptions, run } from "./run.js";
import type { AgentFactory } from "./session.js";

export const THEN = "Go on.";
export const MESSAGE = "Wait, there is one more thing.";

export interface SweepOptions extends Omit<RunOptions, "plan" | "planFile"> {
  /** By default all that the agent can do: messages only if it has `message`. */
  actions?: Action[];
  /** The prompt after the interrupt. */
  then?: string;
  /** The text of messages. */
  message?: string;
  /** Hears how far the sweep is. */
  onProgress?: (done: number, all: number) => void;
}

/**
 * Interrupts the agent at each boundary of the scenario. Two plain runs come first: if they differ, there is no sweep, and the error names the first
 * difference. Of the scenario's own expectations none is asked, for an interrupted run need not meet them.
 */
export async function sweep(scenario: string, factory: AgentFactory, options: SweepOptions = {}): Promise<Findings> {
  const { actions, then = THEN, message = MESSAGE, onProgress, ...rest } = options;
  const settings: RunOptions = { ...rest, set: { expect: "{}", ...rest.set } };
  checked(actions); // a wrong one is told before anything runs
  const plain = await run(scenario, factory, settings);
  compareRuns(plain, await run(scenario, factory, settings));
  const { chosen, notTried } = actionsOf(actions, plain);
  const places = plain.boundaries.filter(({ isWorking }) => isWorking);
  const findings: Finding[] = [];
  const asItIs = findingOf(plain);
  if (asItIs !== undefined) findings.push(asItIs);
  let runs = 2;
  for (const { name } of places) {
    for (const action of chosen) {
      const interruption = { boundary: name, action, then, message };
      const interrupted = await run(scenario, factory, { ...settings, plan: `${interruptText(interruption)}\n` });
      runs += 1;
      const finding = findingOf(interrupted, interruption, plain);
      if (finding !== undefined) findings.push(finding);
      onProgress?.(runs - 2, places.length * chosen.length);
    }
  }
  return new Findings(plain, { boundaries: places.length, runs, actions: chosen, notTried }, findings);
}

/** The actions that the agent of a plain run can take, and those that it cannot. */
export function actionsOf(actions: readonly Action[] | undefined, plain: Run): { chosen: Action[]; notTried: string[] } {
  const wanted = checked(actions);
  const chosen = wanted.filter((action) => action !== "message" || plain.canTakeMessages);
  return { chosen, notTried: wanted.length > chosen.length ? ["message: the agent has no `message`"] : [] };
}

/** The actions of a sweep, each once. */
function checked(actions: readonly Action[] = ACTIONS): Action[] {
  const known = ACTIONS.map((action) => `"${action}"`).join(", ");
  for (const action of actions) {
    if (!ACTIONS.includes(action)) throw new TypeError(`${JSON.stringify(action)} is no action of a sweep: there are ${known}`);
  }
  if (actions.length === 0) throw new TypeError(`a sweep without an action tries nothing: there are ${known}`);
  return [...new Set(actions)];
}
