// Virtual time: timers, dates and `performance` stand still until the run moves them.
//
// World time is in microseconds, timers and dates are in whole milliseconds, as Node's own. A timer that is due in the millisecond of an event comes
// before it, as timers come before sockets in Node's loop. Microtasks, `process.nextTick` and `setImmediate` stay real: they are no waiting.

import { install } from "@sinonjs/fake-timers";
import type { Patches } from "./patches.js";
import type { Micros } from "./protocol.js";

/** The date at the start of each run. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

const FAKED = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "hrtime", "performance"] as const;

/** What is read of the clock beyond its published interface; the version of the package is pinned for it. */
interface Timers {
  timers?: Map<number, { callAt: number }>;
}

// Captured before anything is faked: these run in real time.
const realImmediate = setImmediate;
const realTimeout = setTimeout;

/** Waits until the event loop has gone round once. All that was queued before has run then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve));
}

/** Waits in real time. */
export function realDelay(ms: number): Promise<void> {
  return new Promise((resolve) => realTimeout(resolve, ms));
}

export class Clock {
  /** The time of the run. */
  now: Micros = 0;
  /** How many callbacks of timers have run. */
  fired = 0;
  #timers: ReturnType<typeof install>;

  constructor(patches: Patches) {
    this.#timers = install({ now: EPOCH_MS, toFake: [...FAKED], ignoreMissingTimers: true });
    patches.replace(AbortSignal, "timeout", (ms: number) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
      return controller.signal;
    });
  }

  /** When the next timer is due. */
  get nextTimer(): Micros | undefined {
    let first: number | undefined;
    for (const { callAt } of (this.#timers as Timers).timers?.values() ?? []) {
      if (first === undefined || callAt < first) first = callAt;
    }
    return first === undefined ? undefined : Math.max((first - EPOCH_MS) * 1000, this.now);
  }

  /** Moves time on. No timer may be due before `at`. */
  advance(at: Micros): void {
    this.now = Math.max(this.now, at);
    const ms = EPOCH_MS + Math.floor(this.now / 1000) - this.#timers.now;
    if (ms > 0) this.#timers.tick(ms);
  }

  /** Runs the callback of the next timer, and of no other. */
  fire(): void {
    const at = this.nextTimer;
    if (at === undefined) return;
    this.now = at;
    this.fired += 1;
    this.#timers.next();
  }

  uninstall(): void {
    this.#timers.uninstall();
  }
}
