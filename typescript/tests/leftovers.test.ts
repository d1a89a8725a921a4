// What a run leaves behind: code that goes on after it must not reach the next run, and timers that are left are said.

import { setImmediate as immediate } from "node:timers/promises";
import { promisify } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import * as ai from "ai";
import { expect, test } from "vitest";
import { aiSdkAgent, anthropicAgent } from "../src/adapters.js";
import { type AgentFactory, run, type Session } from "../src/index.js";
import { asking } from "./agents.js";

const fine = anthropicAgent(Anthropic);
const ask = { method: "POST", headers: { "x-api-key": "k" }, body: '{"messages":[{"role":"user","content":"Hi"}]}' };
const realTick = promisify(setImmediate);
const realTimeout = setTimeout;
const realDelay = (ms: number) => new Promise((resolve) => realTimeout(resolve, ms));

test("code of an earlier run does not reach the next ones", async () => {
  const alone = await run("two.toml", fine, { seed: 1 });
  const errors: unknown[] = [];
  const realFetch = fetch;
  let [isStopped, isNext] = [false, false];
  // It goes on in real time, by a function that was taken before the run.
  const goOn = async (session: Session) => {
    while (!isStopped) {
      await realDelay(1);
      if (!isNext || fetch === realFetch) continue;
      Math.random();
      setTimeout(() => errors.push("a timer"), 1);
      void Promise.reject(new Error("nobody hears of this"));
      await fetch(`${session.baseUrl}/v1/messages`, ask).catch((error) => errors.push(error));
      await session.tool("toolu_1", "Read", {}).catch((error) => errors.push(error));
      session.toolStarted("toolu_1", "Read");
    }
  };
  const first = await run("two.toml", (session) => ({ prompt: async () => void goOn(session) }), { seed: 1 });
  isNext = true;
  for (let i = 0; i < 30; i++) {
    const { failures, digest, trace } = await run("two.toml", fine, { seed: 1 });
    expect([failures, digest, trace]).toEqual([[], alone.digest, alone.trace]);
  }
  isStopped = true;
  await realDelay(5);
  expect(first.check().outcomes).toMatchObject([{ how: "ok" }]);
  expect(new Set(errors.map(String))).toEqual(
    new Set([
      expect.stringMatching(/^RunOverError: this `fetch` is of a run that is over/),
      expect.stringMatching(/^RunOverError: session\.tool\("toolu_1"\) is of a run that is over/),
    ]),
  );
});

test("a client and a session that are kept from an earlier run say so by name", async () => {
  let client: Anthropic | undefined;
  let session: Session | undefined;
  const keeping: AgentFactory = (given) => {
    client ??= new Anthropic({ apiKey: "none", baseURL: given.baseUrl });
    session ??= given;
    return {
      async prompt(content) {
        await session?.tool("toolu_9", "Read", {}).catch(() => undefined);
        return client?.messages.create({ model: "m", max_tokens: 9, messages: [{ role: "user", content }] });
      },
    };
  };
  (await run("two.toml", keeping)).check();
  const second = await run("two.toml", keeping);
  expect(second.failures).toEqual([
    expect.stringMatching(/^session\.tool\("toolu_9"\) is of a run that is over\. Make the agent inside its factory/),
    expect.stringMatching(/^this `fetch` is of a run that is over\. Make the client inside the agent's factory/),
  ]);
  expect(second.outcomes).toMatchObject([{ how: "error", error: { name: "APIConnectionError" } }]);
});

test("timers that the agent leaves are noted with their places; those of libraries and without `ref` are not", async () => {
  const result = await run("two.toml", () => ({
    async prompt() {
      setTimeout(() => undefined, 50);
      setTimeout(() => undefined, 60).unref();
      clearTimeout(setTimeout(() => undefined, 70));
      setInterval(() => undefined, 80);
      AbortSignal.timeout(90);
      await new Promise((resolve) => setTimeout(resolve, 1));
    },
  }));
  const left = result.trace.flatMap(({ name, detail }) => (name === "left_task" ? detail?.text : []));
  expect(left).toEqual([
    expect.stringMatching(/^a timer of 50 ms set at tests\/leftovers\.test\.ts:\d+$/),
    expect.stringMatching(/^an interval of 80 ms set at tests\/leftovers\.test\.ts:\d+$/),
  ]);
});

test.each([
  ["two.toml", "@anthropic-ai/sdk", fine],
  ["two.toml", "ai", aiSdkAgent(ai, createAnthropic)],
  ["overloaded.toml", "@anthropic-ai/sdk", asking("helper")],
  ["overloaded.toml", "ai", aiSdkAgent(ai, createAnthropic)],
])("%s: %s leaves nothing", async (scenario, _, factory) => {
  const result = (await run(scenario, factory)).check();
  expect(result.transcript).not.toMatch(/left_task|open_connection/);
});

test.each([
  ["of the run", () => immediate()],
  ["taken before", () => realTick()],
])("work without an end is named, and the next runs are as always (`setImmediate` %s)", async (_, tick) => {
  const alone = await run("two.toml", fine);
  let stop = false;
  const endless = await run("two.toml", () => ({
    async prompt() {
      while (!stop) await tick();
    },
  }));
  expect(endless.failures[0]).toContain("at 0.000s of the run work goes on without an end (setImmediate");
  for (let i = 0; i < 2; i++) expect((await run("two.toml", fine)).check().trace).toEqual(alone.trace);
  stop = true;
});

test("what a module takes in a run is real after it, and the next run's within that", async () => {
  const taken: { now?: () => number; random?: () => number; later?: typeof setTimeout; Day?: DateConstructor; tick?: typeof realTick } = {};
  const taking: AgentFactory = () => {
    Object.assign(taken, { now: Date.now, random: Math.random, later: setTimeout, Day: Date, tick: promisify(setImmediate) });
    return { prompt: async () => undefined };
  };
  await run("two.toml", taking);
  const { now = () => 0, random = Math.random, later = setTimeout, Day = Date } = taken;
  expect(Math.abs(now() - Date.now())).toBeLessThan(1000);
  expect(Math.abs(new Day().getTime() - Date.now())).toBeLessThan(1000);
  await new Promise((resolve) => later(resolve, 1));
  await taken.tick?.();
  expect(random()).not.toBe(random());
  const seen: unknown[] = [];
  const result = await run("two.toml", () => ({
    async prompt() {
      await new Promise((resolve) => later(resolve, 1000));
      seen.push(now() - Date.UTC(2026, 0, 1), new Day().toISOString(), random());
    },
  }));
  expect(result.boundaries.at(-1)).toMatchObject({ step: "timer 1", at: 1_000_000 });
  const again: unknown[] = [];
  await run("two.toml", () => ({ prompt: async () => void again.push(Math.random()) }));
  expect(seen).toEqual([1000, "2026-01-01T00:00:01.000Z", again[0]]);
});
