// Virtual time: timers, dates and `performance` stand still until the run moves them.
//
// World time is in microseconds, timers and dates are in whole milliseconds, as Node's own. A timer that is due in the millisecond of an event comes
// before it, as timers come before sockets in Node's loop. Microtasks, `process.nextTick` and `setImmediate` stay real: they are no waiting.

import type { Patches } from "./patches.js";
import type { Micros } from "./protocol.js";
import { isStale } from "./scope.js";
import { Timers } from "./timers.js";

/** The date at the start of each run. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

const RealDate = Date;
const realNow = Date.now;

let active: Clock | undefined;

/** The date that `new Date()` has: that of the run that is on, else the real one. */
function dateNow(): number {
  return active === undefined || isStale() ? realNow() : EPOCH_MS + active.ms;
}

/** `Date` with this time. All that is not about the present is Node's. */
const VirtualDate = new Proxy(RealDate, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [dateNow()] : args, made) as object,
  apply: () => new RealDate(dateNow()).toString(),
});

export class Clock {
  /** The time of the run. */
  now: Micros = 0;
  readonly #timers: Timers;

  constructor(patches: Patches, isOver: () => boolean) {
    this.#timers = new Timers(() => this.ms, isOver);
    active = this;
    this.#timers.install(patches);
    this.#replaceDates(patches);
    this.#replaceCounters(patches);
    patches.replace(AbortSignal, "timeout", (ms: number) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms).unref();
      return controller.signal;
    });
  }

  /** Whole milliseconds of the run. */
  get ms(): number {
    return Math.floor(this.now / 1000);
  }

  /** How many callbacks of timers have run. */
  get fired(): number {
    return this.#timers.fired;
  }

  /** When the next timer is due. */
  get nextTimer(): Micros | undefined {
    const next = this.#timers.next;
    return next === undefined ? undefined : Math.max(next * 1000, this.now);
  }

  /** The timers that the agent has left, in words. */
  get leftTimers(): string[] {
    return this.#timers.left;
  }

  /** Moves time on. No timer may be due before `at`. */
  advance(at: Micros): void {
    this.now = Math.max(this.now, at);
  }

  /** Runs the callback of the next timer, and of no other. */
  fire(): void {
    const at = this.nextTimer;
    if (at === undefined) return;
    this.now = at;
    this.#timers.fire();
  }

  uninstall(): void {
    active = undefined;
  }

  #replaceDates(patches: Patches): void {
    patches.define(globalThis, "Date", { value: VirtualDate, writable: true });
    patches.define(RealDate.prototype, "constructor", { value: VirtualDate, writable: true });
    patches.replace(RealDate, "now", dateNow);
    const format = Intl.DateTimeFormat.prototype;
    const getter = Object.getOwnPropertyDescriptor(format, "format")?.get;
    patches.define(format, "format", {
      get(this: Intl.DateTimeFormat) {
        const words = getter?.call(this);
        return (date?: number | Date) => words(date === undefined ? dateNow() : date);
      },
    });
    const { formatToParts } = format;
    patches.replace(format, "formatToParts", function (this: Intl.DateTimeFormat, date?: number | Date) {
      return formatToParts.call(this, date === undefined ? dateNow() : date);
    });
  }

  /** Counters that start with the process: in a run they start with it. */
  #replaceCounters(patches: Patches): void {
    const hrtime = (before: [number, number] = [0, 0]): [number, number] => {
      const nanos = (this.ms % 1000) * 1e6 - before[1];
      return [Math.floor(this.ms / 1000) - before[0] - (nanos < 0 ? 1 : 0), nanos < 0 ? nanos + 1e9 : nanos];
    };
    patches.replace(process.hrtime, "bigint", () => BigInt(this.ms) * 1_000_000n);
    patches.replace(process, "hrtime", Object.assign(hrtime, { bigint: process.hrtime.bigint }));
    patches.replace(process, "uptime", () => this.ms / 1000);
    const { performance } = globalThis;
    const { mark, measure } = performance;
    patches.define(performance, "timeOrigin", { get: () => (active === undefined ? 0 : EPOCH_MS) });
    patches.replace(performance, "mark", (name: string, options?: PerformanceMarkOptions) => {
      return mark.call(performance, name, { startTime: this.ms, ...options });
    });
    patches.replace(performance, "measure", (name: string, start?: string | PerformanceMeasureOptions, end?: string) => {
      if (end !== undefined) return measure.call(performance, name, start as string, end);
      if (typeof start !== "object") return measure.call(performance, name, { start: start ?? 0, end: this.ms });
      const isWhole = start.end !== undefined || start.duration !== undefined;
      return measure.call(performance, name, isWhole ? start : { ...start, end: this.ms });
    });
    patches.replace(performance, "now", () => this.ms);
  }
}
