// One run: an agent in virtual time against a scenario, and the verdict on it.

import { readFileSync } from "node:fs";
import { replaceChance } from "./chance.js";
import { EndlessWorkError, earlierResources, Moment, type TraceEvent } from "./moment.js";
import { Network } from "./network.js";
import { Patches } from "./patches.js";
import { seedOf, withSeed } from "./plan.js";
import { type Boundary, type Outcome, Player, wordsOf } from "./player.js";
import { sharedProgram } from "./program.js";
import { type Opened, PROTOCOL, type Verdict } from "./protocol.js";
import { refuseRealWork } from "./refusals.js";
import { isOfOverRun, isStale, scopes } from "./scope.js";
import { type AgentFactory, Session } from "./session.js";

export interface RunOptions {
  /** The root of all draws of the world and of the agent. By default the scenario's. */
  seed?: number;
  /** Settings of the scenario, as `--set` takes them: `{ "api.lenient": "true" }`. */
  set?: Record<string, string>;
  /** The text of a plan, as `Run.plan` has it. */
  plan?: string;
  /** The path of a file with one, as `Findings.write` makes it. */
  planFile?: string;
  /** @internal Of a run of an exploration: after so many requests it does not come to an end. */
  explored?: { requestsMax: number };
}

/** What a run was like. */
export class Run {
  readonly scenario: string;
  readonly verdict: Verdict;
  /** The transcript as text. */
  readonly transcript: string;
  readonly digest: string;
  readonly boundaries: Boundary[];
  readonly outcomes: Outcome[];
  /** All that happened, for comparing two runs. */
  readonly trace: TraceEvent[];
  /** What the user should have done and could not. */
  readonly notDone: string[];
  readonly warnings: string[];
  /** Why nothing was left to happen, if so. */
  readonly deadlock: string | undefined;
  /** What is wrong beside the verdict: refused calls, errors that nobody caught, work in real time. */
  readonly problems: string[];
  /** Whether the agent takes messages. */
  readonly canTakeMessages: boolean;
  /** The root of the agent's own chance. */
  readonly seed: number;
  /** All choices of this run, and its seed: with it the same run comes again. */
  readonly plan: string;

  constructor(scenario: string, seed: number, moment: Moment, player: Player, verdict: Verdict) {
    this.scenario = scenario;
    this.verdict = verdict;
    this.transcript = verdict.transcript ?? "";
    this.digest = verdict.digest;
    this.boundaries = player.boundaries;
    this.outcomes = player.outcomes;
    this.trace = moment.trace;
    this.notDone = player.notDone;
    this.warnings = moment.opened.warnings;
    this.deadlock = player.deadlock;
    this.problems = [...new Set(moment.problems)];
    this.canTakeMessages = player.canTakeMessages;
    this.seed = seed;
    this.plan = withSeed(verdict.plan, seed);
  }

  /** All that is wrong, a sentence each. */
  get failures(): string[] {
    const { failures, violations } = this.verdict;
    const unsaid = violations.filter(({ text }) => !failures.some((failure) => failure.includes(text)));
    const own = this.deadlock === undefined ? [] : [this.deadlock];
    const said = [...failures, ...unsaid.map(({ rule, text }) => `${rule}: ${text}`), ...own, ...this.problems, ...this.notDone];
    return said.length === 0 && !this.verdict.is_fine ? unnamed(this.verdict) : said;
  }

  get isFine(): boolean {
    return this.failures.length === 0;
  }

  /** Throws with all failures if there are any. */
  check(): this {
    if (this.isFine) return this;
    const failures = this.failures.map((failure) => `  - ${failure}`).join("\n");
    throw new Error(`${this.scenario} is not as it should be:\n${failures}\n\n${this.transcript}`);
  }
}

/** Why a run without a failure is not fine: what the verdict remarks, or that the agent did nothing. */
export function unnamed({ remarks = [] }: Verdict): string[] {
  return remarks.length > 0 ? remarks : ["nothing was asked of the API"];
}

let last: Promise<unknown> = Promise.resolve();

/** Runs the agent. Time, chance and the network are the process's, so runs of one process come one after the other. */
export function run(scenario: string, factory: AgentFactory, options: RunOptions = {}): Promise<Run> {
  const result = last.then(() => play(scenario, factory, options));
  last = result.catch(() => undefined);
  return result;
}

async function play(scenario: string, factory: AgentFactory, options: RunOptions): Promise<Run> {
  const plan = options.planFile === undefined ? options.plan : readFileSync(options.planFile, "utf8");
  const { set, seed = plan === undefined ? undefined : seedOf(plan) } = options;
  refuseFakeTimers();
  const program = sharedProgram();
  const opened = await program.ask<Opened>({
    op: "open",
    protocol: PROTOCOL,
    scenario,
    seed,
    set,
    plan,
    trace: options.explored !== undefined,
  });
  if (opened.protocol !== PROTOCOL) {
    const advice = "Install versions of the program and of the package that fit.";
    throw new Error(`${program.path} speaks version ${opened.protocol} of the protocol, and this package version ${PROTOCOL}. ${advice}`);
  }
  const root = seed ?? opened.seed ?? 0;
  const earlier = await earlierResources();
  const patches = new Patches();
  const moment = new Moment(program, opened, patches, earlier);
  const onProblem = (text: string) => moment.problems.push(text);
  const giveBack = takeErrors(onProblem);
  try {
    const network = new Network(moment);
    const player = new Player(moment, new Session(moment), network);
    if (options.explored !== undefined) player.requestsMax = options.explored.requestsMax;
    replaceChance(patches, String(root), (work) => moment.hold(work));
    refuseRealWork(patches, onProblem);
    patches.replace(globalThis, "fetch", network.fetch, () => Promise.reject(network.refuse()), true);
    patches.publish();
    await scopes.run(moment, () => player.play(factory)).catch(takeEndlessWork(onProblem));
    return new Run(scenario, root, moment, player, await moment.end<Verdict>());
  } finally {
    if (!moment.isOver) await moment.end().catch(() => undefined); // the error that led here says more
    patches.putBack();
    moment.uninstall();
    patches.publish();
    giveBack();
  }
}

function takeEndlessWork(onProblem: (text: string) => void): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof EndlessWorkError)) throw error;
    onProblem(error.message);
  };
}

/** Two virtual times do not go together. */
function refuseFakeTimers(): void {
  if (!("isFake" in Date) && !("clock" in setTimeout)) return;
  throw new Error("fake timers are on, and a run has a time of its own. Turn them off before it: `vi.useRealTimers()`.");
}

/** Errors that nobody caught are the run's, and not the process's. */
function takeErrors(onProblem: (text: string) => void): () => void {
  const kinds = ["unhandledRejection", "uncaughtException"] as const;
  const others = kinds.map((kind) => process.listeners(kind as "uncaughtException"));
  const take = (error: unknown) => {
    if (isStale() || isOfOverRun(error)) return; // an earlier run's
    const { name, message } = wordsOf(error);
    onProblem(`nobody caught ${name}: ${message}`);
  };
  for (const kind of kinds) process.removeAllListeners(kind).on(kind, take);
  return () => {
    kinds.forEach((kind, index) => {
      process.removeAllListeners(kind);
      for (const listener of others[index] ?? []) process.on(kind as "uncaughtException", listener);
    });
  };
}
