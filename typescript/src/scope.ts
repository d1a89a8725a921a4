// Which run a call belongs to: code of an earlier run may still be going while the next one is played, and must not reach it.

import { AsyncLocalStorage } from "node:async_hooks";

/** What is kept of a run for all the code that it starts. */
export interface Scope {
  isOver: boolean;
  problems: string[];
}

/** The run in whose course the present code was started, however many promises and timers ago. */
export const scopes = new AsyncLocalStorage<Scope>();

/** A call into a run that is over. */
export class RunOverError extends Error {
  override name = "RunOverError";
}

/** Whether the present code was started by a run that is over. */
export function isStale(): boolean {
  return scopes.getStore()?.isOver === true;
}

/** The error of such a call. If it comes from a run that is on, that one is told as well: clients often hide what `fetch` says. */
export function runOver(call: string, advice: string): RunOverError {
  const text = `${call} is of a run that is over. ${advice}`;
  const scope = scopes.getStore();
  if (scope?.isOver === false) scope.problems.push(text);
  return new RunOverError(text);
}

/** Whether an error comes of such a call, however it was wrapped. */
export function isOfOverRun(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < 5 && typeof cause === "object" && cause !== null; depth++) {
    if (cause instanceof RunOverError) return true;
    cause = (cause as { cause?: unknown; lastError?: unknown }).cause ?? (cause as { lastError?: unknown }).lastError;
  }
  return false;
}
