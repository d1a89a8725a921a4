// Work that Node does in threads, and real timers: which of them are under way. Nothing else tells, and a run that waits for them is no deadlock.

import { createHook } from "node:async_hooks";
import zlib from "node:zlib";
import type { Patches } from "./patches.js";
import { isStale, scopes } from "./scope.js";

/** The names of Node for such work, and those of the functions that start it. */
const KINDS = new Map([
  ["PBKDF2REQUEST", "pbkdf2"],
  ["SCRYPTREQUEST", "scrypt"],
  ["RANDOMBYTESREQUEST", "randomBytes"],
  ["RANDOMPRIMEREQUEST", "generatePrime"],
  ["CHECKPRIMEREQUEST", "checkPrime"],
  ["KEYGENREQUEST", "generateKey"],
  ["KEYPAIRGENREQUEST", "generateKeyPair"],
  ["DERIVEBITSREQUEST", "hkdf"],
  ["SIGNREQUEST", "sign"],
  ["VERIFYREQUEST", "verify"],
]);

/** What Node keeps of a timer. */
type RealTimeout = { _destroyed?: boolean };

let active: Threads | undefined;

const hook = createHook({
  init(_id, type, _trigger, resource) {
    if (type === "Timeout") {
      // Timers of the run are virtual, so this one was set by a function that was taken before it.
      if (active !== undefined && scopes.getStore()?.isOver === false) active.timers.add(resource as RealTimeout);
      return;
    }
    const kind = KINDS.get(type);
    if (kind !== undefined && active !== undefined && !isStale()) active.watch(resource, kind);
  },
});

export class Threads {
  readonly timers = new Set<RealTimeout>();
  #running = new Map<object, string>();

  constructor(patches: Patches) {
    active = this;
    hook.enable();
    const base = Object.getPrototypeOf(Object.getPrototypeOf(zlib.Gzip.prototype));
    const transform = base._transform;
    const running = this.#running;
    if (typeof transform !== "function") return;
    patches.replace(base, "_transform", function (this: object, chunk: unknown, encoding: unknown, done: (...args: unknown[]) => void) {
      const work = {};
      running.set(work, this.constructor.name.toLowerCase());
      return transform.call(this, chunk, encoding, (...args: unknown[]) => {
        running.delete(work);
        done(...args);
      });
    });
  }

  /** What is under way, by the names of the functions. */
  get running(): string[] {
    return [...this.#running.values()];
  }

  /** Whether the agent's code has set a real timer. */
  get hasTimer(): boolean {
    for (const timer of this.timers) if (timer._destroyed === true) this.timers.delete(timer);
    return this.timers.size > 0;
  }

  /** The resource of a work hears of its end by `ondone`, which is set right after it was made. */
  watch(resource: object, kind: string): void {
    this.#running.set(resource, kind);
    process.nextTick(() => {
      const job = resource as { ondone?: (...args: unknown[]) => unknown };
      const done = job.ondone;
      if (typeof done !== "function") {
        this.#running.delete(resource);
        return;
      }
      job.ondone = (...args) => {
        this.#running.delete(resource);
        return Reflect.apply(done, job, args);
      };
    });
  }

  uninstall(): void {
    active = undefined;
    hook.disable();
  }
}
