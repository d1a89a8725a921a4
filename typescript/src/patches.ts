// What a run replaces in the process, and how all of it is put back.

import { syncBuiltinESMExports } from "node:module";

type Replaced = { owner: object; name: PropertyKey; descriptor: PropertyDescriptor | undefined };

/** Replaced properties, put back in the opposite order. */
export class Patches {
  #replaced: Replaced[] = [];

  replace(owner: object, name: PropertyKey, value: unknown): void {
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    this.#replaced.push({ owner, name, descriptor });
    Object.defineProperty(owner, name, { configurable: true, enumerable: descriptor?.enumerable ?? true, writable: true, value });
  }

  /** Makes `import { name } from "node:…"` see what was replaced in Node's own modules. */
  publish(): void {
    syncBuiltinESMExports();
  }

  putBack(): void {
    for (const { owner, name, descriptor } of this.#replaced.splice(0).reverse()) {
      if (descriptor === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, descriptor);
    }
  }
}
