// Chance from the seed of the run: Math.random, and the random bytes and ids of both crypto modules.
//
// Each of the two has a generator of its own: an agent that draws one more number keeps its ids. Work that crypto does in threads is done one after
// the other, and the run waits for it: otherwise the order would be that of the threads.

import crypto from "node:crypto";
import type { Patches } from "./patches.js";

/** A generator of 32-bit numbers (sfc32): small, and the same on every machine. */
export class Generator {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: string) {
    let hash = 0x811c9dc5;
    const word = () => {
      for (const letter of seed) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
      hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
      return hash;
    };
    [this.#a, this.#b, this.#c] = [word(), word(), word()];
    for (let i = 0; i < 12; i++) this.next();
  }

  next(): number {
    const sum = (this.#a + this.#b + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** From 0 up to 1, with 53 bits, as Math.random gives it. */
  fraction(): number {
    return ((this.next() >>> 5) * 0x4000000 + (this.next() >>> 6)) / 0x20000000000000;
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.next() >>> 24;
  }

  uuid(): string {
    const bytes = new Uint8Array(16);
    this.fill(bytes);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  }
}

const THREAD_WORK = ["digest", "sign", "verify", "encrypt", "decrypt", "importKey", "exportKey", "deriveBits", "deriveKey"] as const;

/** Replaces chance. `hold` has the run wait for a promise. */
export function replaceChance(patches: Patches, seed: string, hold: (work: Promise<unknown>) => void): void {
  const numbers = new Generator(`${seed} numbers`);
  const bytes = new Generator(`${seed} bytes`);
  // The real functions are called first where they check what they are given.
  const real = { getRandomValues: crypto.webcrypto.getRandomValues, randomFillSync: crypto.randomFillSync, randomInt: crypto.randomInt };
  const fillView = <View extends ArrayBufferView>(view: View): View => {
    real.getRandomValues.call(crypto.webcrypto, view as never);
    bytes.fill(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return view;
  };
  const randomBytes = (size: number, done?: (error: null, value: Buffer) => void) => {
    const value = Buffer.alloc(size);
    bytes.fill(value);
    if (done === undefined) return value;
    process.nextTick(done, null, value);
    return undefined;
  };
  const randomFillSync = (view: ArrayBufferView | ArrayBuffer, offset?: number, size?: number) => {
    real.randomFillSync(view as Uint8Array, offset as number, size as number);
    // Places are counted in elements of the view, as Node counts them.
    const unit = (view as Uint8Array).BYTES_PER_ELEMENT ?? 1;
    const [buffer, start] = ArrayBuffer.isView(view) ? [view.buffer, view.byteOffset] : [view, 0];
    const from = (offset ?? 0) * unit;
    bytes.fill(new Uint8Array(buffer, start + from, size === undefined ? view.byteLength - from : size * unit));
    return view;
  };
  const randomFill = (view: ArrayBufferView | ArrayBuffer, ...rest: unknown[]) => {
    const done = rest.pop() as (error: null, view: ArrayBufferView | ArrayBuffer) => void;
    randomFillSync(view, ...(rest as number[]));
    process.nextTick(done, null, view);
  };
  const randomInt = (...args: unknown[]) => {
    const done = typeof args.at(-1) === "function" ? (args.pop() as (error: null, value: number) => void) : undefined;
    real.randomInt(...(args as [number, number]));
    const [low, high] = args.length > 1 ? (args as [number, number]) : [0, args[0] as number];
    const value = low + Math.floor(bytes.fraction() * (high - low));
    if (done === undefined) return value;
    process.nextTick(done, null, value);
    return undefined;
  };
  patches.replace(Math, "random", () => numbers.fraction());
  patches.replace(globalThis.crypto, "getRandomValues", fillView);
  patches.replace(globalThis.crypto, "randomUUID", () => bytes.uuid());
  patches.replace(crypto, "randomUUID", () => bytes.uuid());
  patches.replace(crypto, "randomBytes", randomBytes);
  patches.replace(crypto, "pseudoRandomBytes", randomBytes);
  patches.replace(crypto, "randomFillSync", randomFillSync);
  patches.replace(crypto, "randomFill", randomFill);
  patches.replace(crypto, "randomInt", randomInt);

  let last: Promise<unknown> = Promise.resolve();
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle);
  for (const name of THREAD_WORK) {
    const original = subtle[name];
    patches.replace(subtle, name, function (this: unknown, ...args: unknown[]) {
      const work = last.then(() => original.apply(this, args));
      last = work.catch(() => undefined);
      hold(last);
      return work;
    });
  }
}
