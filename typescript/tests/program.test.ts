// The same with the program itself, where REENACT_REAL_PROGRAM says where it is: what the stand-in shows must hold there.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import * as ai from "ai";
import { beforeAll, describe, expect, test } from "vitest";
import { aiSdkAgent, anthropicAgent } from "../src/adapters.js";
import { type AgentFactory, run, sweep } from "../src/index.js";
import { naive } from "./agents.js";

const PROGRAM = process.env.REENACT_REAL_PROGRAM;
const TWO = fileURLToPath(new URL("scenarios/two.toml", import.meta.url));
const set = { "engine.model": '"claude-opus-4-6"' }; // the SDK warns of the default one, which is deprecated
const agents: [name: string, factory: AgentFactory][] = [
  ["@anthropic-ai/sdk", anthropicAgent(Anthropic)],
  ["ai", aiSdkAgent(ai, createAnthropic)],
];

describe.skipIf(PROGRAM === undefined)("the program", { timeout: 60_000 }, () => {
  beforeAll(() => {
    process.env.REENACT_PROGRAM = PROGRAM;
  });

  test.each(agents)("%s: a run, the same again, and a clean sweep", async (_, factory) => {
    const first = (await run(TWO, factory, { set })).check();
    expect(first.outcomes).toMatchObject([{ how: "ok", value: "They say a and b." }]);
    const again = await run(TWO, factory, { set, plan: first.plan });
    expect(again.trace).toEqual(first.trace);
    expect((await sweep(TWO, factory, { set })).check().actions).toHaveLength(3);
  });

  test("a naive loop is found, and its plan replays", async () => {
    const found = await sweep(TWO, naive, { set, seed: 3, actions: ["cancel"] });
    expect(found.groups).toHaveLength(1);
    expect(found.groups[0]?.first.words).toContain("`tool_use` ids were found without `tool_result` blocks immediately after");
    const [planFile] = found.write(mkdtempSync(join(tmpdir(), "plans-")));
    const replayed = await run(TWO, naive, { set, planFile });
    expect([replayed.failures[0], replayed.notDone]).toEqual([found.groups[0]?.first.words, []]);
    expect(replayed.outcomes).toMatchObject([{ how: "cancelled" }, { text: "Go on.", how: "error" }]);
  });

  test("a scenario that is not there, and a plan that is none, are refused in words", async () => {
    await expect(run("nowhere.toml", naive)).rejects.toThrow("nowhere.toml");
    await expect(run(TWO, naive, { plan: "[[plan.interrupt]]\n" })).rejects.toThrow("open");
  });
});
