// Two runs that should be the same: where they first differ, in words.

import type { TraceEvent } from "./moment.js";
import type { Run } from "./run.js";

/** Two runs of the same agent and scenario were not the same. */
export class NotDeterministicError extends Error {
  override name = "NotDeterministicError";
}

/** Throws if the runs differ, and names the first event that does. */
export function compareRuns(first: Run, second: Run): void {
  const difference = firstDifference(first, second);
  if (difference === undefined) return;
  const advice =
    "Something in the agent is not virtual, or is kept from one run to the next: chance or time that was captured before the run (`const random = Math.random` in a module), a cache, a counter in a module.";
  throw new NotDeterministicError(`two runs of ${first.scenario} differ ${difference}.\n${advice}`);
}

function firstDifference(first: Run, second: Run): string | undefined {
  const count = Math.max(first.trace.length, second.trace.length);
  for (let index = 0; index < count; index++) {
    const [one, other] = [first.trace[index], second.trace[index]];
    if (one === undefined || other === undefined) {
      const [more, which] = one === undefined ? [other, "second"] : [one, "first"];
      return `at event ${index + 1}: only the ${which} has ${words(more)}`;
    }
    if (one.name !== other.name || one.at !== other.at)
      return `at event ${index + 1}: ${words(one)} in the first, ${words(other)} in the second`;
    const detail = detailDifference(one.detail, other.detail);
    if (detail !== undefined) return `at event ${index + 1}, ${words(one)}: ${detail}`;
  }
  if (first.digest !== second.digest) return "in their transcripts alone: their digests are not the same";
  return undefined;
}

function words(event: TraceEvent | undefined): string {
  return event === undefined ? "nothing" : `${event.name} at ${(event.at / 1e6).toFixed(6)}s`;
}

function detailDifference(one: Record<string, unknown> = {}, other: Record<string, unknown> = {}): string | undefined {
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (JSON.stringify(one[key]) === JSON.stringify(other[key])) continue;
    if (key === "headers") return headerDifference(one[key] as [string, string][], other[key] as [string, string][]);
    return `${key} is ${excerpts(String(one[key]), String(other[key]))}`;
  }
  return undefined;
}

function headerDifference(one: [string, string][], other: [string, string][]): string {
  const [left, right] = [new Map(one), new Map(other)];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    if (left.get(name) !== right.get(name))
      return `header ${name} is ${excerpts(left.get(name) ?? "not there", right.get(name) ?? "not there")}`;
  }
  return "the order of the headers is not the same";
}

/** Both texts around the place where they first differ. */
function excerpts(one: string, other: string): string {
  let place = 0;
  while (place < one.length && one[place] === other[place]) place++;
  const from = Math.max(0, place - 30);
  const excerpt = (text: string) => JSON.stringify((from > 0 ? "…" : "") + text.slice(from, place + 40));
  return `${excerpt(one)} in the first and ${excerpt(other)} in the second`;
}
