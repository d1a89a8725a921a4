// One run's middle: its clock, its agenda, its lines to the world, and the promise that everything queued has run.

import { Agenda } from "./agenda.js";
import { Clock } from "./clock.js";
import type { Patches } from "./patches.js";
import type { Program } from "./program.js";
import type { Act, Opened } from "./protocol.js";
import type { Scope } from "./scope.js";
import { Threads } from "./threads.js";
import { realDelay, turn } from "./timers.js";

/** One thing that happened, for comparing two runs: everything in it must be the same in both. */
export interface TraceEvent {
  at: number;
  name: string;
  detail?: Record<string, unknown>;
}

/** So many turns of the event loop may one instant take, and so many without pause where only files are waited for. */
const TURNS_MAX = 20_000;
const FILE_TURNS_MAX = 500;
const FILE_MS_MAX = 5000;
/** So many turns may what was there before the run take to come to its end. */
const EARLIER_TURNS_MAX = 100;

/** Something that is always queued anew. */
export class EndlessWorkError extends Error {
  override name = "EndlessWorkError";
}

export class Moment implements Scope {
  readonly agenda = new Agenda();
  readonly clock: Clock;
  readonly opened: Opened;
  readonly trace: TraceEvent[] = [];
  /** What went wrong beside the verdict: refused calls, errors that nobody caught. */
  readonly problems: string[] = [];
  /** What the user still does. */
  readonly acts: Act[];
  /** How many events of the world were delivered. */
  seen = 0;
  isOver = false;
  #program: Program;
  #pending = new Set<Promise<unknown>>();
  #failure: Error | undefined;
  #threads: Threads;
  #earlier: Map<string, number>;

  constructor(program: Program, opened: Opened, patches: Patches, earlier: Map<string, number>) {
    this.#program = program;
    this.opened = opened;
    this.acts = [...opened.interrupts];
    this.clock = new Clock(patches, () => this.isOver);
    this.#threads = new Threads(patches);
    this.#earlier = earlier;
  }

  uninstall(): void {
    this.clock.uninstall();
    this.#threads.uninstall();
  }

  /** A line of this run without a reply. */
  send(op: string, members: Record<string, unknown>): void {
    this.#program.send(this.#line(op, members));
  }

  /** A line of this run with a reply. `onReply` gets it before anything else happens in the run. */
  ask<Reply extends { acts?: Act[] }>(op: string, members: Record<string, unknown>, onReply: (reply: Reply) => void): void {
    this.hold(
      this.#program.ask<Reply>(this.#line(op, members)).then((reply) => {
        this.acts.push(...(reply.acts ?? []));
        onReply(reply);
      }),
    );
  }

  end<Reply>(): Promise<Reply> {
    this.isOver = true;
    return this.#program.ask<Reply>(this.#line("end", { transcript: true }));
  }

  /** What the client does. A note that an interrupt waits for has a reply. */
  note(kind: string, members: Record<string, unknown> = {}): void {
    this.record(kind, members);
    const watch = kind.startsWith("tool_") ? "tools" : `${kind}s`;
    if (this.opened.watches.includes(watch)) this.ask("note", { kind, ...members, reply: true }, () => undefined);
    else this.send("note", { kind, ...members });
  }

  record(name: string, detail?: Record<string, unknown>): void {
    this.trace.push(detail === undefined ? { at: this.clock.now, name } : { at: this.clock.now, name, detail });
  }

  /** Has the run wait for this before its time moves on. */
  hold(work: Promise<unknown>): void {
    const held = work
      .catch((error: Error) => {
        this.#failure ??= error;
      })
      .finally(() => this.#pending.delete(held));
    this.#pending.add(held);
  }

  /** Runs all that is queued to its end: microtasks, ticks, immediates, file operations, and replies of the world. */
  async settle(): Promise<void> {
    let fileMs = 0;
    for (let turns = 0; turns < TURNS_MAX && fileMs < FILE_MS_MAX; turns++) {
      if (this.#pending.size > 0) await Promise.all(this.#pending);
      await turn();
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#pending.size > 0) continue;
      const busy = this.#busy();
      if (busy.length === 0) return;
      if (turns < FILE_TURNS_MAX || busy.includes("Immediate")) continue;
      await realDelay(1);
      fileMs += 1;
    }
    const at = `${(this.clock.now / 1e6).toFixed(3)}s`;
    throw new EndlessWorkError(
      `at ${at} of the run work goes on without an end (setImmediate, or a file that is never read), so time cannot move on`,
    );
  }

  /** What takes real time at this moment: work in threads, and whether there is anything else that was not there before the run. */
  get realWork(): { threads: string[]; others: string[] } {
    // Timers of the process that are not the agent's come and go.
    const others = this.#newResources().filter((name) => !BUSY.has(name) && name !== "Timeout");
    return { threads: this.#threads.running, others: this.#threads.hasTimer ? [...others, "a real timer"] : others };
  }

  /** Queued work that was not there before the run. */
  #busy(): string[] {
    const active = process.getActiveResourcesInfo();
    return active.some((name) => BUSY.has(name)) ? this.#newResources().filter((name) => BUSY.has(name)) : [];
  }

  #newResources(): string[] {
    return [...countResources()].flatMap(([name, count]) => (count > (this.#earlier.get(name) ?? 0) ? name : []));
  }

  #line(op: string, members: Record<string, unknown>): Record<string, unknown> {
    return { op, run: this.opened.run, at: this.clock.now, seen: this.seen, ...members };
  }
}

/** Resources of Node that are queued work, and no waiting. */
const BUSY = new Set(["Immediate", "FSReqPromise", "FSReqCallback", "CloseReq"]);

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** The resources of Node that are active before a run. Queued work is run to its end; what has none must not hold up the run. */
export async function earlierResources(): Promise<Map<string, number>> {
  let counts = countResources();
  for (let turns = 0; turns < EARLIER_TURNS_MAX && [...BUSY].some((name) => counts.has(name)); turns++) {
    await turn();
    counts = countResources();
  }
  return counts;
}
