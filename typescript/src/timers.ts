// Timers of a run, in the order in which Node would run them, and the modules that have them.

import { AsyncResource } from "node:async_hooks";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Patches } from "./patches.js";
import { scopes } from "./scope.js";

const DELAY_MAX = 2 ** 31 - 1;

// Captured before anything is replaced: these run in real time.
const real = { setTimeout, setImmediate, clearTimeout };

/** Waits until the event loop has gone round once. All that was queued before has run then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

/** Waits in real time. */
export function realDelay(ms: number): Promise<void> {
  return scopes.exit(() => new Promise((resolve) => real.setTimeout(resolve, ms)));
}

/** Whole milliseconds since the start of the run. */
type Milliseconds = number;
type Callback = (...args: unknown[]) => unknown;

/** What `setTimeout` gives, with the methods of Node's own. */
class VirtualTimeout {
  readonly id: number;
  readonly delay: Milliseconds;
  readonly isRepeated: boolean;
  readonly run: () => unknown;
  readonly stack: { stack?: string } = {};
  callAt = 0;
  order = 0;
  isRef = true;
  #timers: Timers;

  constructor(all: Timers, id: number, callback: Callback, delay: unknown, args: unknown[], isRepeated: boolean) {
    if (typeof callback !== "function") {
      const text = `The "callback" argument must be of type function. Received ${callback === null ? "null" : typeof callback}`;
      throw Object.assign(new TypeError(text), { code: "ERR_INVALID_ARG_TYPE" });
    }
    const ms = Number(delay);
    this.#timers = all;
    this.id = id;
    this.delay = ms >= 1 && ms <= DELAY_MAX ? Math.trunc(ms) : 1;
    this.isRepeated = isRepeated;
    this.run = AsyncResource.bind(() => callback.apply(this, args));
    Error.captureStackTrace(this.stack);
  }

  ref(): this {
    this.isRef = true;
    return this;
  }

  unref(): this {
    this.isRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.isRef;
  }

  refresh(): this {
    if (this.#timers.remove(this)) this.#timers.add(this);
    return this;
  }

  close(): this {
    this.#timers.remove(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.id;
  }
}

if (Symbol.dispose !== undefined) {
  Object.defineProperty(VirtualTimeout.prototype, Symbol.dispose, { value: VirtualTimeout.prototype.close, configurable: true });
}

export class Timers {
  /** How many callbacks have run. */
  fired = 0;
  #now: () => Milliseconds;
  #isOver: () => boolean;
  #waiting: VirtualTimeout[] = [];
  #count = 0;

  constructor(now: () => Milliseconds, isOver: () => boolean) {
    this.#now = now;
    this.#isOver = isOver;
  }

  /** When the next one is due. */
  get next(): Milliseconds | undefined {
    return this.#waiting[0]?.callAt;
  }

  add(timer: VirtualTimeout): void {
    timer.callAt = this.#now() + timer.delay;
    timer.order = this.#count++;
    const place = this.#waiting.findLastIndex(({ callAt }) => callAt <= timer.callAt);
    this.#waiting.splice(place + 1, 0, timer);
  }

  /** Whether it was there. */
  remove(timer: VirtualTimeout): boolean {
    const place = this.#waiting.indexOf(timer);
    if (place !== -1) this.#waiting.splice(place, 1);
    return place !== -1;
  }

  /** Runs the callback of the next timer. */
  fire(): void {
    const timer = this.#waiting[0];
    if (timer === undefined) return;
    this.fired += 1;
    // One that is repeated is set again after its callback, and a clear within the callback has to find it.
    const { order } = timer;
    if (!timer.isRepeated) this.#waiting.shift();
    try {
      timer.run();
    } finally {
      if (timer.isRepeated && timer.order === order && this.remove(timer)) this.add(timer);
    }
  }

  /** The timers that the agent's own code has set and not cleared, in words. Those of libraries and those without `ref` do not count. */
  get left(): string[] {
    return this.#waiting.flatMap(({ delay, isRef, isRepeated, stack }) => {
      const place = callerIn(stack.stack ?? "");
      if (!isRef || place.includes("/node_modules/")) return [];
      return `${isRepeated ? "an interval" : "a timer"} of ${delay} ms set at ${place}`;
    });
  }

  #set(callback: Callback, delay: unknown, args: unknown[], isRepeated: boolean, isDead = false): VirtualTimeout {
    const timer = new VirtualTimeout(this, ++this.#count, callback, delay, args, isRepeated);
    if (!isDead) this.add(timer);
    return timer;
  }

  /** Replaces the timers of the process. Those that code of an earlier run sets never come. */
  install(patches: Patches): void {
    const set = (isRepeated: boolean, isDead: boolean) => {
      return (callback: Callback, delay?: unknown, ...args: unknown[]) => this.#set(callback, delay, args, isRepeated, isDead);
    };
    const clear = (timer: unknown) => {
      if (timer instanceof VirtualTimeout) timer.close();
      else if (typeof timer === "number" || typeof timer === "string") {
        const known = this.#waiting.find(({ id }) => String(id) === String(timer));
        if (known !== undefined) this.remove(known);
      } else real.clearTimeout(timer as NodeJS.Timeout);
    };
    const immediate = (callback: Callback, ...args: unknown[]) => {
      if (typeof callback !== "function") return real.setImmediate(callback);
      return real.setImmediate(() => void (this.#isOver() || callback(...args)));
    };
    const deadImmediate = () => real.setImmediate(() => undefined);
    const never = () => new Promise(() => undefined);
    const later = (delay?: unknown, value?: unknown, options?: Options) => this.#promise(delay, value, options);
    const next = (value?: unknown, options?: Options) =>
      withSignal(options, (done) => {
        immediate(() => done(value));
        return undefined;
      });
    // What promisify gives looks for the present function, as it may be kept beyond the run.
    const custom = (value: object, promised: unknown) => Object.assign(value, { [promisify.custom]: promised });
    for (const owner of [globalThis, timers]) {
      patches.replace(
        owner,
        "setTimeout",
        custom(set(false, false), (...args: []) => timersPromises.setTimeout(...args)) as Callback,
        set(false, true),
      );
      patches.replace(owner, "setInterval", set(true, false), set(true, true));
      patches.replace(
        owner,
        "setImmediate",
        custom(immediate, (...args: []) => timersPromises.setImmediate(...args)) as Callback,
        deadImmediate,
      );
      patches.replace(owner, "clearTimeout", clear);
      patches.replace(owner, "clearInterval", clear);
    }
    const wait = (delay: number, options?: Options) => this.#promise(delay, undefined, options);
    patches.replace(timersPromises, "setTimeout", later, never);
    patches.replace(timersPromises, "setImmediate", next, never);
    patches.replace(timersPromises, "setInterval", (delay?: unknown, value?: unknown, options?: Options) =>
      this.#each(delay, value, options),
    );
    patches.replace(timersPromises.scheduler, "wait", wait, never);
    patches.replace(timersPromises.scheduler, "yield", () => next(), never);
  }

  #promise(delay: unknown, value: unknown, options?: Options): Promise<unknown> {
    return withSignal(options, (done) => {
      const timer = this.#set(() => done(value), delay ?? 1, [], false);
      timer.isRef = options?.ref !== false;
      return () => timer.close();
    });
  }

  async *#each(delay: unknown, value: unknown, options?: Options): AsyncGenerator<unknown> {
    for (;;) {
      await this.#promise(delay, undefined, options);
      yield value;
    }
  }
}

interface Options {
  signal?: AbortSignal;
  ref?: boolean;
}

/** A promise that is rejected as those of `node:timers/promises` are when the signal is aborted. `begin` may return how to stop. */
function withSignal(options: Options | undefined, begin: (done: (value: unknown) => void) => (() => unknown) | undefined) {
  const signal = options?.signal;
  return new Promise<unknown>((resolve, reject) => {
    const fail = () => {
      const error = new Error("The operation was aborted", { cause: signal?.reason });
      reject(Object.assign(error, { name: "AbortError", code: "ABORT_ERR" }));
    };
    if (signal?.aborted) return fail();
    const abort = () => {
      stop?.();
      fail();
    };
    const stop = begin((value) => {
      signal?.removeEventListener("abort", abort);
      resolve(value);
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

const OWN = fileURLToPath(new URL(".", import.meta.url));

/** Where a stack leaves this package and Node: `src/agent.ts:12`. */
function callerIn(stack: string): string {
  for (const line of stack.split("\n").slice(1)) {
    const [, place = "", number = ""] = /(?:\(|at |async )((?:file:\/\/)?(?:\/|[A-Z]:)[^()]*?):(\d+)(?::\d+)?\)?$/.exec(line) ?? [];
    if (place === "") continue;
    const path = place.startsWith("file:") ? fileURLToPath(place) : place;
    if (path.startsWith(OWN)) continue;
    const from = `${process.cwd()}/`;
    const isLibrary = path.includes("/node_modules/");
    return `${!isLibrary && path.startsWith(from) ? path.slice(from.length) : path}:${number}`;
  }
  return "a place that is not known";
}
