// What a run replaces in the process, and how all of it is put back.
//
// A module that is loaded in a run may keep a replaced function for ever. So each looks who calls: within its run it is the replacement, in a later
// run that one's (but not where it `isBound` to its run), and else the real function. Code of a run that is over gets the real function, or what
// `stale` does.

import { syncBuiltinESMExports } from "node:module";
import { isStale } from "./scope.js";

type Callable = (...args: never[]) => unknown;
type Replaced = { owner: object; name: PropertyKey; descriptor: PropertyDescriptor | undefined; value?: Callable };

let active: Patches | undefined;

/** Replaced properties, put back in the opposite order. */
export class Patches {
  #replaced: Replaced[] = [];

  constructor() {
    active = this;
  }

  /** Replaces a function. Where there is none, as in other versions of Node, nothing is done. */
  replace(owner: object, name: PropertyKey, value: Callable, stale?: Callable, isBound = false): void {
    const original: unknown = Reflect.get(owner, name);
    if (typeof original !== "function") return;
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    this.#replaced.push({ owner, name, descriptor, value });
    const installed = this.#guarded({ owner, name, value }, original as Callable, stale ?? (original as Callable), isBound);
    Object.defineProperty(owner, name, {
      configurable: true,
      enumerable: descriptor?.enumerable ?? true,
      writable: true,
      value: installed,
    });
  }

  /** Replaces a property that is no plain function. */
  define(owner: object, name: PropertyKey, changes: PropertyDescriptor): void {
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    this.#replaced.push({ owner, name, descriptor });
    Object.defineProperty(owner, name, { enumerable: descriptor?.enumerable ?? true, ...changes, configurable: true });
  }

  /** Makes `import { name } from "node:…"` see what was replaced in Node's own modules. */
  publish(): void {
    syncBuiltinESMExports();
  }

  putBack(): void {
    active = undefined;
    for (const { owner, name, descriptor } of this.#replaced.toReversed()) {
      if (descriptor === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, descriptor);
    }
  }

  /** What this run has in the place of a function. */
  inPlaceOf(owner: object, name: PropertyKey): Callable | undefined {
    return this.#replaced.find((replaced) => replaced.owner === owner && replaced.name === name)?.value;
  }

  #guarded(
    { owner, name, value }: Required<Omit<Replaced, "descriptor">>,
    original: Callable,
    stale: Callable,
    isBound: boolean,
  ): Callable {
    const chosen = (): Callable => {
      if (isStale()) return stale;
      if (active === this || (isBound && active !== undefined)) return value;
      return active?.inPlaceOf(owner, name) ?? original;
    };
    const guarded: Callable = new Proxy(value, {
      apply: (_, self, args) => Reflect.apply(chosen(), self, args),
      construct: (_, args, made) => {
        const callee = chosen();
        return Reflect.construct(callee, args, made === guarded ? callee : made) as object;
      },
    });
    return guarded;
  }
}
