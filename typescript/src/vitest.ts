// Tests for vitest: `testAgent` makes a scenario into a test of the run, a snapshot of its transcript, and a test of the sweep.
//
// REENACT_PLAN=FILE replays one plan, as a sweep has written it, instead of all of these. Tests of other scenarios than the plan's
// are skipped; if all of a file are, that is a failure.

import { readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { explore } from "./explore.js";
import { removePlans, slug } from "./findings.js";
import { type Action, hasInjection, scenarioOf } from "./plan.js";
import { type RunOptions, run } from "./run.js";
import type { AgentFactory } from "./session.js";
import { type SweepOptions, sweep } from "./sweep.js";

export interface TestOptions extends Omit<RunOptions, "plan" | "planFile">, Pick<SweepOptions, "then" | "message"> {
  /** The name of the tests. By default the scenario. */
  name?: string;
  /** What to do at each boundary; `true` is all that the agent can do. By default there is no sweep. */
  sweep?: true | Action | Action[];
  /** Budgets of an exploration, as in `1,0,1`; `true` is its default. By default there is no exploration. */
  explore?: true | string | string[];
  /** Whether the transcript is a snapshot, or the path of the file that holds it. By default it is one. */
  snapshot?: boolean | string;
  /** Where plans of findings are written: each test has a folder of its own there. */
  plans?: string;
  /** How long the sweep, or the exploration, may take. */
  timeout?: number;
}

const SWEEP_MS_MAX = 120_000;

/** Tests an agent against a scenario. */
export function testAgent(scenario: string, factory: AgentFactory, options: TestOptions = {}): void {
  const {
    name = scenario,
    sweep: swept,
    explore: budgets,
    snapshot = true,
    plans = "plans",
    timeout = SWEEP_MS_MAX,
    then,
    message,
    ...rest
  } = options;
  const planFile = process.env.REENACT_PLAN;
  if (planFile !== undefined && planFile !== "") {
    replay(scenario, factory, planFile, name, rest);
    return;
  }
  let folder: string | undefined;
  describe(name, () => {
    test("answers its prompts", async () => {
      const result = await run(scenario, factory, rest);
      if (typeof snapshot === "string") await expect(result.transcript).toMatchFileSnapshot(snapshot);
      else if (snapshot) expect(result.transcript).toMatchSnapshot();
      result.check();
    });
    const ownFolder = () => {
      folder ??= join(plans, folderName());
      removePlans(folder);
      return folder;
    };
    if (budgets !== undefined) {
      test(
        "keeps its rules within every budget",
        async () => {
          const wanted = budgets === true ? {} : { budgets };
          const actions = swept === undefined || swept === true ? undefined : [swept].flat();
          // The rest of the time is for making what was found smaller.
          const found = await explore(scenario, factory, { ...rest, ...wanted, actions, then, message, timeMs: timeout / 2 });
          if (!found.isFine) failWith(String(found), found.write(join(ownFolder(), "explored")));
        },
        timeout,
      );
    }
    if (swept === undefined) return;
    test(
      "can be interrupted at every boundary",
      async () => {
        const written = ownFolder();
        const actions = swept === true ? undefined : [swept].flat();
        const found = await sweep(scenario, factory, { ...rest, actions, then, message });
        if (!found.isFine) failWith(String(found), found.write(written));
      },
      timeout,
    );
  });
}

/** Fails with what was found, and how it is replayed. */
function failWith(report: string, paths: string[]): never {
  const files = paths.map((path) => `  REENACT_PLAN=${path}`);
  expect.fail([report, ...(files.length > 0 ? ["", "replay one of them alone with", ...files] : [])].join("\n"));
}

const folders = new Set<string>();

/** `<file>-<name of the test>`, another for each test. */
function folderName(): string {
  const { testPath = "", currentTestName = "" } = expect.getState();
  const test = currentTestName.split(" > ").slice(0, -1).join(" ");
  const wanted = slug(`${basename(testPath).replace(/(\.(test|spec))?\.[a-z]+$/, "")}-${test}`, 80);
  let name = wanted;
  for (let number = 2; folders.has(`${testPath} ${name}`); number++) name = `${wanted}-${number}`;
  folders.add(`${testPath} ${name}`);
  return name;
}

/** How many tests of this file the plan is about. All are counted before any of them runs. */
let replayed = 0;

/** A test of one plan in place of all others. */
function replay(scenario: string, factory: AgentFactory, planFile: string, name: string, options: RunOptions): void {
  const plan = readFileSync(planFile, "utf8");
  const planned = scenarioOf(plan, dirname(resolve(planFile)));
  const isOurs = planned === undefined || planned === resolve(scenario);
  if (isOurs) replayed += 1;
  describe(name, () => {
    test(`replays ${planFile}`, async ({ skip }) => {
      if (replayed === 0) expect.fail(`no test is of this plan's scenario: ${planned}`);
      if (!isOurs) skip(`the plan is of ${planned}`);
      const isPlain = !hasInjection(plan);
      const set = { ...(isPlain ? {} : { expect: "{}" }), ...options.set };
      const result = (await run(scenario, factory, { ...options, planFile, set })).check();
      const threw = result.outcomes
        .filter(({ how, prompt }) => !isPlain && how === "error" && !result.verdict.faulted_prompts?.includes(prompt))
        .map(({ prompt, error }) => `prompt ${prompt} throws ${error?.name}: ${error?.message}`);
      expect(threw, result.transcript).toEqual([]);
    });
  });
}
