// What is still to come: events of the world and a few other steps, in the order of their times.
//
// At the same time what was asked for earlier comes first, and within one answer its own order holds (docs/world.md).

import type { Micros } from "./protocol.js";

export interface Entry {
  at: Micros;
  /** The name of the event, as transcripts and boundaries have it: `answer 1 piece 21`. */
  name: string;
  /** Whether it counts as an event of the world (`seen`). */
  isWorld: boolean;
  /** Whose it is, so that all of it can be dropped. */
  owner: object;
  happen(): void;
}

export class Agenda {
  #entries: (Entry & { order: number })[] = [];
  #owners = new Map<object, number>();

  /** Takes a place in the order of those that ask. It is taken when the line is sent, not when its reply comes. */
  enter(owner: object): void {
    this.#owners.set(owner, this.#owners.size);
  }

  add(entry: Entry): void {
    const order = this.#owners.get(entry.owner) ?? 0;
    const place = this.#entries.findIndex((other) => other.at > entry.at || (other.at === entry.at && other.order > order));
    this.#entries.splice(place === -1 ? this.#entries.length : place, 0, { ...entry, order });
  }

  drop(owner: object): void {
    this.#entries = this.#entries.filter((entry) => entry.owner !== owner);
  }

  get next(): Entry | undefined {
    return this.#entries[0];
  }

  take(): Entry | undefined {
    return this.#entries.shift();
  }
}
