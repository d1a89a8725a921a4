// The loop of a run: start a prompt, run what is queued, let the next thing happen, and so on until every prompt has ended.
//
// Boundaries are the places between two of these steps. Each has a name that does not depend on figures of the client's libraries: the last event of
// the world, and how many other steps came after it (`answer 1 piece 21 + 0`).

import { inspect } from "node:util";
import type { Moment } from "./moment.js";
import type { Network } from "./network.js";
import type { Act, Micros } from "./protocol.js";
import type { Agent, AgentFactory, Session } from "./session.js";
import { realDelay } from "./timers.js";

export interface Boundary {
  /** `answer 1 piece 21 + 0`. */
  name: string;
  at: Micros;
  /** The step before it: `answer 1 piece 21`, `timer 3`. */
  step: string;
  /** Whether a prompt was being answered. */
  isWorking: boolean;
}

/** How a prompt ended. */
export interface Outcome {
  prompt: number;
  text: string;
  how: "ok" | "error" | "cancelled";
  /** Whether the user had interrupted the run before this prompt began. */
  isAfterInterrupt: boolean;
  value?: unknown;
  error?: { name: string; message: string };
}

const STEPS_MAX = 200_000;
const REQUESTS_MAX = 1_000;
const GRACE_MS = 20;
const REAL_STEP_MS = 5;
const REAL_MS_MAX = 5000;
const FACTORY_MS_MAX = 10_000;

interface Turn {
  number: number;
  text: string;
  isAfterInterrupt: boolean;
  controller: AbortController;
  outcome?: Outcome;
}

export class Player {
  readonly boundaries: Boundary[] = [];
  /** What the user should have done and could not. */
  readonly notDone: string[] = [];
  deadlock: string | undefined;
  canTakeMessages = false;
  /** A run with more requests does not come to an end. */
  requestsMax = REQUESTS_MAX;
  #moment: Moment;
  #session: Session;
  #network: Network;
  #agent: Agent | undefined;
  #turns: Turn[] = [];
  #queue: { at: Micros; text: string }[];
  #event = "start";
  #step = "start";
  #count = 0;
  #isInterrupted = false;

  constructor(moment: Moment, session: Session, network: Network) {
    this.#moment = moment;
    this.#session = session;
    this.#network = network;
    this.#queue = [...moment.opened.prompts];
  }

  get outcomes(): Outcome[] {
    return this.#turns.flatMap(({ outcome }) => outcome ?? []);
  }

  async play(factory: AgentFactory): Promise<void> {
    const agent = await this.#make(factory);
    this.#agent = agent;
    this.canTakeMessages = agent.message !== undefined;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      if (!this.#startPrompt()) {
        if (this.#working === undefined && this.#queue.length === 0) return this.#leave();
        if (!(await this.#happen())) return;
      }
      await this.#moment.settle();
      await this.#reachBoundary();
      if (this.#network.asked > this.requestsMax) {
        this.#moment.note("livelock", { text: `it has asked ${this.requestsMax} times in one run, and asks again` });
        return;
      }
    }
    this.#moment.problems.push(`the run does not end: ${STEPS_MAX} steps, and prompt ${this.#working?.number} is not answered`);
  }

  get #working(): Turn | undefined {
    return this.#turns.findLast((turn) => turn.outcome === undefined);
  }

  get #boundary(): string {
    return `${this.#event} + ${this.#count}`;
  }

  /** The agent of the factory. Modules may be loaded meanwhile, in real time; timers and requests of the factory are virtual. */
  async #make(factory: AgentFactory): Promise<Agent> {
    let made: { agent: Agent } | { error: unknown } | undefined;
    Promise.resolve()
      .then(() => factory(this.#session))
      .then(
        (agent) => {
          made = { agent };
        },
        (error) => {
          made = { error };
        },
      );
    for (let waitedMs = 0; waitedMs < FACTORY_MS_MAX; ) {
      await this.#moment.settle();
      if (made !== undefined && "error" in made) throw made.error;
      if (made !== undefined) return checked(made.agent);
      if (this.#advance()) continue;
      await realDelay(5);
      waitedMs += 5;
    }
    throw new Error("the agent's factory does not end, and nothing is left to happen that could end it");
  }

  /** Starts the next prompt if it is its time. */
  #startPrompt(): boolean {
    const next = this.#queue[0];
    if (next === undefined || this.#working !== undefined || next.at > this.#moment.clock.now) return false;
    this.#queue.shift();
    if (this.#turns.length > 0) this.#passStep(`prompt ${this.#turns.length + 1}`);
    this.#prompt(next.text);
    return true;
  }

  #prompt(text: string): void {
    const isAfterInterrupt = this.#isInterrupted;
    const turn: Turn = { number: this.#turns.length + 1, text, isAfterInterrupt, controller: new AbortController() };
    this.#turns.push(turn);
    this.#moment.note("prompt", { prompt: turn.number, text });
    const end = (how: Outcome["how"], more: Partial<Outcome>) => {
      if (this.#moment.isOver) return;
      turn.outcome = { prompt: turn.number, text, how, isAfterInterrupt, ...more };
      const said = more.error === undefined ? more.value : `${more.error.name}: ${more.error.message}`;
      this.#moment.note("terminal", { prompt: turn.number, how, ...(typeof said === "string" ? { text: said } : {}) });
    };
    const { signal } = turn.controller;
    new Promise((resolve) => resolve(this.#agent?.prompt(text, signal))).then(
      (value) => end(signal.aborted ? "cancelled" : "ok", { value }),
      (error) => end(signal.aborted ? "cancelled" : "error", { error: wordsOf(error) }),
    );
  }

  /** Lets the next thing happen: a step of the client or of the world, or an act of the user. */
  async #happen(): Promise<boolean> {
    if (this.#advance()) return true;
    if (this.#working === undefined) return false;
    return this.#waitInRealTime();
  }

  /** Nothing virtual is left. Before this is called a deadlock: something real may be under way, such as work in a thread. */
  async #waitInRealTime(): Promise<boolean> {
    const [threads, others] = [new Set<string>(), new Set<string>()];
    const words = () => {
      const what = threads.size > 0 ? "worked in a thread for real time" : "waited for something in real time";
      const names = [...threads, ...others].join(", ");
      return `after ${this.#boundary} the agent ${what}${names === "" ? "" : ` (${names})`}`;
    };
    for (const start = realNow(); realNow() - start < REAL_MS_MAX; ) {
      const work = this.#moment.realWork;
      for (const name of work.threads) threads.add(name);
      if (work.threads.length === 0) for (const name of work.others) others.add(name);
      await realDelay(work.threads.length > 0 ? REAL_STEP_MS : GRACE_MS);
      await this.#moment.settle();
      if (this.#working === undefined || this.#moment.agenda.next !== undefined || this.#moment.clock.nextTimer !== undefined) {
        this.#moment.problems.push(`${words()}: its end is chance`);
        return true;
      }
      const { threads: left, others: rest } = this.#moment.realWork;
      if (work.threads.length === 0 && work.others.length === 0 && left.length === 0 && rest.length === 0) {
        this.#reportDeadlock();
        return false;
      }
    }
    this.#moment.problems.push(`${words()}, and it has not ended after ${REAL_MS_MAX / 1000} s`);
    return false;
  }

  /** Moves time to the next timer, act, event or prompt, in this order where their times are the same. */
  #advance(): boolean {
    const { clock, agenda, acts } = this.#moment;
    const entry = agenda.next;
    const isThere = this.#agent !== undefined;
    const act = isThere ? Math.min(...acts.map(({ at }) => at ?? Infinity)) : Infinity;
    const prompt = isThere && this.#working === undefined ? (this.#queue[0]?.at ?? Infinity) : Infinity;
    const timer = clock.nextTimer;
    const at = Math.min(timer ?? Infinity, entry?.at ?? Infinity, act, prompt);
    if (at === Infinity) return false;
    if (timer === at) {
      this.#passStep(`timer ${clock.fired + 1}`, at);
      try {
        clock.fire();
      } catch (error) {
        const { name, message } = wordsOf(error);
        this.#moment.problems.push(`the callback of ${this.#step} threw ${name}: ${message}`);
      }
      return true;
    }
    clock.advance(at);
    if (act === at) return true; // it is done at the boundary, before events of the same time
    if (entry?.at === at) {
      agenda.take();
      if (entry.isWorld) {
        this.#moment.seen += 1;
        this.#moment.record(entry.name);
        [this.#event, this.#step, this.#count] = [entry.name, entry.name, 0];
      } else this.#passStep(entry.name);
      entry.happen();
    }
    return true;
  }

  #passStep(name: string, at = this.#moment.clock.now): void {
    this.#moment.trace.push({ at, name });
    [this.#step, this.#count] = [name, this.#count + 1];
  }

  /** Notes the place, and does what the user does here. */
  async #reachBoundary(): Promise<void> {
    const { clock, acts } = this.#moment;
    const name = this.#boundary;
    if (this.boundaries.at(-1)?.name !== name) {
      this.boundaries.push({ name, at: clock.now, step: this.#step, isWorking: this.#working !== undefined });
    }
    for (;;) {
      const place = acts.findIndex((act) => this.#isDue(act, name));
      if (place === -1) return;
      const [act] = acts.splice(place, 1);
      if (act !== undefined) this.#act(act, name);
      await this.#moment.settle();
    }
  }

  #isDue(act: Act, boundary: string): boolean {
    if (act.boundary !== undefined) return act.boundary === boundary;
    return act.at !== undefined && act.at <= this.#moment.clock.now;
  }

  #act(act: Act, boundary: string): void {
    const turn = this.#working;
    if (turn === undefined || (act.kind === "message" && this.#agent?.message === undefined)) {
      const why = turn === undefined ? "no prompt was being answered" : "the agent has no `message`";
      this.notDone.push(`the interrupt at ${boundary} did not happen: ${why}`);
      return;
    }
    this.#isInterrupted = true;
    this.#moment.note("boundary", { boundary });
    const next = act.then === undefined ? [] : [{ at: 0, text: act.then }];
    if (act.kind === "message") {
      this.#moment.note("message", { text: act.text ?? "" });
      this.#queue.push(...next);
      this.#agent?.message?.(act.text ?? "");
      return;
    }
    this.#moment.note("cancel");
    turn.controller.abort();
    if (act.then === undefined) return;
    // It takes the place of what the user would have said next.
    this.#queue = act.at_once ? [] : next;
    if (act.at_once) this.#prompt(act.then);
  }

  /** What is known of a run in which nothing is left to happen. */
  #reportDeadlock(): void {
    const waiting = this.#turns.filter(({ outcome }) => outcome === undefined).map(({ number }) => `prompt ${number}`);
    const known = [
      ...this.#session.runningTools.map((id) => `tool ${id} never ends`),
      ...this.#network.open.map(({ number }) => `answer ${number} never ends`),
    ];
    const why = known.length > 0 ? known.join(", ") : "no tool runs, no answer is under way, and no timer is set";
    this.deadlock = `${waiting.join(" and ")} can never end: after ${this.#boundary} nothing is left to happen (${why})`;
    this.#moment.note("deadlock", { text: this.deadlock });
  }

  /** What is still there when all prompts have ended. */
  async #leave(): Promise<void> {
    const { clock, agenda } = this.#moment;
    while (agenda.next !== undefined && agenda.next.at <= clock.now && this.#advance()) await this.#moment.settle();
    for (const { at, boundary } of this.#moment.acts) {
      const place = boundary ?? `${((at ?? 0) / 1e6).toFixed(3)}s`;
      this.notDone.push(`the interrupt at ${place} did not happen: the run did not come there`);
    }
    for (const id of this.#session.runningTools) this.#moment.note("left_task", { text: `tool ${id} still runs` });
    for (const text of clock.leftTimers) this.#moment.note("left_task", { text });
    for (const { number } of this.#network.open) this.#moment.note("open_connection", { answer: number });
  }
}

const realNow = Date.now; // the real time, for what is real

/** The agent of a factory, if it is one. */
function checked(agent: Agent): Agent {
  if (typeof agent?.prompt === "function") return agent;
  const what = typeof agent === "object" && agent !== null ? "an object without the method `prompt`" : String(agent);
  throw new TypeError(`the agent's factory gives ${what}; it has to give an object with the method \`prompt(text, signal)\``);
}

/** The name and the message of whatever was thrown. */
export function wordsOf(error: unknown): { name: string; message: string } {
  if (!(error instanceof Error)) return { name: typeof error, message: typeof error === "string" ? error : inspect(error) };
  const kind = error.constructor?.name;
  return { name: String(kind === undefined || kind === "Error" ? error.name : kind), message: String(error.message) };
}
