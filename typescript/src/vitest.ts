// Tests for vitest: `testAgent` makes a scenario into a test of the run, a snapshot of its transcript, and a test of the sweep.
//
// REENACT_PLAN=FILE replays one plan, as a sweep has written it, instead of all of these. Tests of other scenarios than the plan's
// are skipped; if all of a file are, that is a failure.

import { readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { removePlans, slug } from "./findings.js";
import { type Action, hasInterrupt, scenarioOf } from "./plan.js";
import { type RunOptions, run } from "./run.js";
import type { AgentFactory } from "./session.js";
import { type SweepOptions, sweep } from "./sweep.js";

export interface TestOptions extends Omit<RunOptions, "plan" | "planFile">, Pick<SweepOptions, "then" | "message"> {
  /** The name of the tests. By default the scenario. */
  name?: string;
  /** What to do at each boundary; `true` is all that the agent can do. By default there is no sweep. */
  sweep?: true | Action | Action[];
  /** Whether the transcript is a snapshot, or the path of the file that holds it. By default it is one. */
  snapshot?: boolean | string;
  /** Where plans of findings are written: each test has a folder of its own there. */
  plans?: string;
  /** How long the sweep may take. */
  timeout?: number;
}

const SWEEP_MS_MAX = 120_000;

/** Tests an agent against a scenario. */
export function testAgent(scenario: string, factory: AgentFactory, options: TestOptions = {}): void {
  const { name = scenario, sweep: swept, snapshot = true, plans = "plans", timeout = SWEEP_MS_MAX, then, message, ...rest } = options;
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
    if (swept === undefined) return;
    test(
      "can be interrupted at every boundary",
      async () => {
        folder ??= join(plans, folderName());
        removePlans(folder);
        const actions = swept === true ? undefined : [swept].flat();
        const found = await sweep(scenario, factory, { ...rest, actions, then, message });
        if (found.isFine) return;
        const files = found.write(folder).map((path) => `  REENACT_PLAN=${path}`);
        expect.fail([String(found), ...(files.length > 0 ? ["", "replay one of them alone with", ...files] : [])].join("\n"));
      },
      timeout,
    );
  });
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
      const isPlain = !hasInterrupt(plan);
      const set = { ...(isPlain ? {} : { expect: "{}" }), ...options.set };
      const result = (await run(scenario, factory, { ...options, planFile, set })).check();
      const threw = result.outcomes
        .filter(({ how }) => !isPlain && how === "error")
        .map(({ prompt, error }) => `prompt ${prompt} throws ${error?.name}: ${error?.message}`);
      expect(threw, result.transcript).toEqual([]);
    });
  });
}
