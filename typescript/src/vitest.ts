// Tests for vitest: `testAgent` makes a scenario into a test of the run, a snapshot of its transcript, and a test of the sweep.
//
// REENACT_PLAN=FILE replays one plan, as a sweep has written it, instead of all of these. Tests of other scenarios than the plan's
// are skipped.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Action, scenarioOf } from "./plan.js";
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
  /** Where plans of findings are written. */
  plans?: string;
  /** How long the sweep may take. */
  timeout?: number;
}

const SWEEP_MS_MAX = 120_000;

/** Tests an agent against a scenario. */
export function testAgent(scenario: string, factory: AgentFactory, options: TestOptions = {}): void {
  const { name = scenario, sweep: swept, snapshot = true, plans = "plans", timeout = SWEEP_MS_MAX, then, message, ...rest } = options;
  const planFile = process.env.REENACT_PLAN;
  describe(name, () => {
    if (planFile !== undefined && planFile !== "") {
      const planned = scenarioOf(readFileSync(planFile, "utf8"));
      test.skipIf(planned !== undefined && planned !== scenario)(`replays ${planFile}`, async () => {
        const settings = { ...rest, set: { expect: "{}", ...rest.set } };
        const result = await run(scenario, factory, { ...settings, planFile });
        const raised = result.outcomes
          .filter(({ how }) => how === "error")
          .map(({ prompt, error }) => `prompt ${prompt}: ${error?.name}: ${error?.message}`);
        result.check();
        expect(raised, result.transcript).toEqual([]);
        expect(result.notDone, "the plan is of another agent or scenario").toEqual([]);
      });
      return;
    }
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
        const actions = swept === true ? undefined : [swept].flat();
        const found = await sweep(scenario, factory, { ...rest, actions, then, message });
        if (found.isFine) return;
        const files = found.write(plans).map((path) => `  REENACT_PLAN=${path}`);
        expect.fail([String(found), "", "replay one of them alone with", ...files].join("\n"));
      },
      timeout,
    );
  });
}
