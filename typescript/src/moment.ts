// One run's middle: its clock, its agenda, its lines to the world, and the promise that everything queued has run.

import { Agenda } from "./agenda.js";
import { Clock, turn } from "./clock.js";
import type { Patches } from "./patches.js";
import type { Program } from "./program.js";
import type { Act, Opened } from "./protocol.js";

/** One thing that happened, for comparing two runs: everything in it must be the same in both. */
export interface TraceEvent {
  at: number;
  name: string;
  detail?: Record<string, unknown>;
}

/** So many turns of the event loop may one instant take. */
const TURNS_MAX = 20_000;

export class Moment {
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

  constructor(program: Program, opened: Opened, patches: Patches) {
    this.#program = program;
    this.opened = opened;
    this.acts = [...opened.interrupts];
    this.clock = new Clock(patches);
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
    for (let turns = 0; turns < TURNS_MAX; turns++) {
      if (this.#pending.size > 0) await Promise.all(this.#pending);
      await turn();
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#pending.size === 0 && !isBusy()) return;
    }
    const at = `${(this.clock.now / 1e6).toFixed(3)}s`;
    throw new Error(`at ${at} of the run work goes on without an end (setImmediate, or a file that is never read), so time cannot move on`);
  }

  #line(op: string, members: Record<string, unknown>): Record<string, unknown> {
    return { op, run: this.opened.run, at: this.clock.now, seen: this.seen, ...members };
  }
}

/** Resources of Node that are queued work, and no waiting. */
const BUSY = new Set(["Immediate", "FSReqPromise", "FSReqCallback", "CloseReq"]);

/** Whether immediates or file operations are under way. */
function isBusy(): boolean {
  for (const name of process.getActiveResourcesInfo()) {
    if (BUSY.has(name)) return true;
  }
  return false;
}
