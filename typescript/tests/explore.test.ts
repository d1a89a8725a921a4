// Explorations with the program itself, where REENACT_REAL_PROGRAM says where it is: defects that need a fault, or another order.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAnthropic } from "@ai-sdk/anthropic";
import * as ai from "ai";
import { beforeAll, describe, expect, test } from "vitest";
import { aiSdkAgent } from "../src/adapters.js";
import { explore, run } from "../src/index.js";
import { careful } from "./agents.js";

const PROGRAM = process.env.REENACT_REAL_PROGRAM;
const TWO = fileURLToPath(new URL("scenarios/two.toml", import.meta.url));
const set = { "engine.model": '"claude-opus-4-6"' }; // the SDK warns of the default one, which is deprecated
const overloads = { ...set, "explore.faults": '["overloaded"]' };
const ORPHANS = /^O-1: the API refuses request #/;

describe.skipIf(PROGRAM === undefined)("an exploration", { timeout: 60_000 }, () => {
  beforeAll(() => {
    process.env.REENACT_PROGRAM = PROGRAM;
  });

  test("finds a history that a failure spoils, and its plan replays", async () => {
    const found = await explore(TWO, careful("rollback"), { set, budgets: "0,1,0" });
    expect(found.findings).toMatchObject([{ group: expect.stringMatching(ORPHANS), has_come_again: true }]);
    // The client asks again by itself: one failure alone does no harm.
    expect(found.findings[0]?.decisions).toEqual(["overloaded instead of answer 2 and of each further attempt with the same model"]);
    expect(found.finished).toEqual(["(0,1,0)"]);
    expect(String(found)).toContain("for the plans that were tried");
    expect(() => found.check()).toThrow("the smallest: overloaded instead of answer 2");
    const [planFile] = found.write(mkdtempSync(join(tmpdir(), "plans-")));
    const replayed = await run(TWO, careful("rollback"), { set: { ...set, expect: "{}" }, planFile });
    expect(replayed.failures[0]).toBe(found.findings[0]?.words);
  });

  test("finds a loop that relies on the usual order of its tools", async () => {
    const found = await explore(TWO, careful("impatient"), { set, budgets: "1,0,0" });
    expect(found.findings).toMatchObject([{ group: expect.stringMatching(ORPHANS) }]);
    expect(found.findings[0]?.decisions[0]).toMatch(/^tool \w+ end at .*, before tool \w+ end$/);
  });

  test("finds a loop that never gives up", async () => {
    const found = await explore(TWO, careful("stubborn"), { set: overloads, budgets: "0,1,0" });
    expect(found.findings.map(({ words }) => words)).toMatchObject([expect.stringContaining("O-19: the client does not come to an end")]);
  });

  test("is clean for loops without a defect", async () => {
    const found = (await explore(TWO, careful(), { set, actions: ["cancel"] })).check();
    expect(found.finished).toEqual(["(0,0,1)", "(1,0,0)", "(0,1,0)", "(1,0,1)"]);
  });

  // docs/findings/ai-sdk.md
  test("finds that the AI SDK takes a stream without its last event for an answer, and then misses the results", async () => {
    const found = await explore(TWO, aiSdkAgent(ai, createAnthropic), { set, budgets: ["0,1,0", "1,0,0"] });
    expect(found.findings).toMatchObject([
      {
        words: expect.stringContaining("MissingToolResultsError: Tool results are missing for tool calls"),
        decisions: ["close after event 16 of answer 1"],
        ways: 1,
      },
    ]);
  });

  test("is not fine when its time is up, or its input is wrong", async () => {
    const found = await explore(TWO, careful(), { set, timeMs: 0 });
    expect([found.isFine, found.findings, found.finished]).toEqual([false, [], []]);
    expect(String(found)).toContain("not finished, so that nothing is claimed of it: (1,0,1) (0,1,0)");
    const empty = await explore(TWO, careful(), { set: { ...set, "explore.faults": "[]" }, budgets: "0,1,0" });
    expect([empty.isFine, String(empty).includes("nothing was tried beside the run as it is")]).toEqual([false, true]);
    await expect(explore(TWO, careful(), { set, budgets: "1,1" })).rejects.toThrow("as in `1,0,1`");
    await expect(explore(TWO, careful(), { set, budgets: [] })).rejects.toThrow("names no budget");
  });
});
