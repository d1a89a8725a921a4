// One run: what it does in virtual time, what it says of the agent, and that nothing of it stays in the process.

import { createHash, randomBytes, randomInt, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { anthropicAgent } from "../src/adapters.js";
import { type AgentFactory, run } from "../src/index.js";
import { naive } from "./agents.js";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("an agent of the official SDK answers a prompt with two requests and two tools", async () => {
  const result = (await run("two.toml", anthropicAgent(Anthropic))).check();
  expect(result.outcomes).toMatchObject([{ prompt: 1, how: "ok", value: "They say a and b. ✓" }]);
  expect(result.trace.filter(({ name }) => name.startsWith("request"))).toHaveLength(2);
  expect(result.boundaries[0]).toEqual({ name: "start + 0", at: 0, step: "start", isWorking: true });
  expect(result.boundaries.map(({ name }) => name)).toContain("tool toolu_1 end + 0");
  expect(result.boundaries.at(-1)).toMatchObject({ name: "answer 2 end + 0", isWorking: false });
  expect(result.transcript).toMatchSnapshot();
});

test("the seed decides", async () => {
  const digest = async (seed: number) => (await run("two.toml", naive, { seed })).digest;
  expect(await digest(1)).toBe(await digest(1));
  expect(await digest(1)).not.toBe(await digest(2));
});

test("time and chance are virtual, and real again afterwards", async () => {
  const real = {
    setTimeout,
    fetch,
    random: Math.random,
    now: Date.now(),
    uuid: crypto.randomUUID,
    listeners: process.listenerCount("unhandledRejection"),
  };
  const seen: unknown[][] = [];
  const factory: AgentFactory = () => ({
    async prompt() {
      const start = [Date.now(), performance.now()] as const;
      await delay(3_600_000);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      seen.push([Date.now() - start[0], performance.now() - start[1], new Date().toISOString()]);
      seen.push([Math.random(), crypto.randomUUID(), randomUUID(), randomInt(1000), randomBytes(4).toString("hex")]);
      seen.push([[...crypto.getRandomValues(new Uint8Array(3))], AbortSignal.timeout(5).aborted]);
      seen.push([Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from("a"))).toString("hex") === sha256("a")]);
      seen.push([(await readFile(new URL("agents.ts", import.meta.url), "utf8")).length > 100]);
    },
  });
  const result = (await run("two.toml", factory)).check();
  const once = seen.splice(0);
  (await run("two.toml", factory)).check();
  expect(seen).toEqual(once);
  expect(once[0]).toEqual([3_601_000, 3_601_000, "2026-01-01T01:00:01.000Z"]);
  expect(once.slice(3)).toEqual([[true], [true]]);
  expect(result.boundaries.map(({ name, step }) => `${name}: ${step}`)).toEqual([
    "start + 0: start",
    "start + 1: timer 1",
    "start + 2: timer 2",
  ]);
  expect([setTimeout, fetch, Math.random, crypto.randomUUID]).toEqual([real.setTimeout, real.fetch, real.random, real.uuid]);
  expect(process.listenerCount("unhandledRejection")).toBe(real.listeners);
  expect(Math.abs(Date.now() - real.now)).toBeLessThan(60_000);
});

test("the user's interrupts are done: at a boundary, at a time, and tied to an event", async () => {
  const cancelled = await run("cancel.toml", anthropicAgent(Anthropic));
  expect(cancelled.outcomes).toMatchObject([{ how: "cancelled" }]);
  expect(cancelled.transcript).toContain("boundary answer 1 end + 0");
  expect(cancelled.transcript).toContain('"kind":"tool_end","id":"toolu_1","how":"stopped"');

  const told = (await run("message.toml", anthropicAgent(Anthropic))).check();
  expect(told.transcript).toMatch(/0\.400000 .*"kind":"message","text":"Be quick\."/);
  expect(JSON.stringify(told.trace.filter(({ name }) => name === "request 2"))).toContain("Be quick.");

  const notTold = await run("message.toml", naive);
  expect(notTold.notDone).toEqual([expect.stringContaining("the agent has no `message`")]);

  const elsewhere = await run("two.toml", naive, { plan: '[[plan.interrupt]]\nboundary = "answer 9 head + 0"\nkind = "cancel"\n' });
  expect(elsewhere.notDone).toEqual(["the interrupt at answer 9 head + 0 did not happen: the run did not come there"]);
  expect(() => elsewhere.check()).toThrow("the interrupt at answer 9 head + 0 did not happen");

  const tied = await run("acts.toml", anthropicAgent(Anthropic));
  expect(tied.transcript).toContain("boundary tool toolu_2 end + 0");
  expect(tied.outcomes).toMatchObject([{ how: "cancelled" }]);
});

test("a later prompt begins at its time", async () => {
  const result = (await run("two-prompts.toml", anthropicAgent(Anthropic))).check();
  expect(result.transcript).toMatch(/5\.000000 .*"kind":"prompt","prompt":2/);
  expect(result.boundaries.map(({ step }) => step)).toContain("prompt 2");
});

test("a deadlock is reported with what is known", async () => {
  const result = await run("hang.toml", anthropicAgent(Anthropic));
  const deadlock = "prompt 1 can never end: after tool toolu_1 end + 0 nothing is left to happen (tool toolu_2 never ends)";
  expect(result.deadlock).toBe(deadlock);
  expect(result.transcript).toContain('"kind":"deadlock"');
  expect(result.isFine).toBe(false);
  expect(() => result.check()).toThrow(deadlock);
  const idle = await run("two.toml", () => ({ prompt: () => new Promise(() => undefined) }));
  expect(idle.deadlock).toContain("no tool runs, no answer is under way, and no timer is set");
});

test("errors that nobody catches are the run's", async () => {
  const result = await run("two.toml", () => ({
    async prompt() {
      void Promise.reject(new RangeError("too far"));
      setTimeout(() => {
        throw new TypeError("in a timer");
      }, 5);
      await new Promise((resolve) => setTimeout(resolve, 10));
    },
  }));
  expect(result.failures).toEqual(["nobody caught RangeError: too far", "the callback of timer 1 threw TypeError: in a timer"]);
});

test("work in threads that nothing tells of is named, and no deadlock", async () => {
  const result = await run("two.toml", () => ({ prompt: () => promisify(gzip)(Buffer.alloc(3_000_000)) }));
  expect(result.deadlock).toBeUndefined();
  expect(result.failures).toEqual(["after start + 0 the agent worked in a thread for real time (gzip): its end is chance"]);
});

test("requests at the same time are answered in their order, and one that is aborted at once is closed", async () => {
  const digests = new Set<string>();
  for (let i = 0; i < 30; i++) {
    const result = await run("two.toml", (session) => {
      const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl });
      const ask = (content: string, signal: AbortSignal) =>
        client.messages.create({ model: "m", max_tokens: 9, messages: [{ role: "user", content }] }, { signal });
      return {
        async prompt(_, signal) {
          const own = new AbortController();
          const answers = Promise.allSettled([ask("One", signal), ask("Two", own.signal), ask("Three", signal)]);
          setTimeout(() => own.abort(), 1);
          return (await answers).map(({ status }) => status).join();
        },
      };
    });
    digests.add(result.check().digest);
    expect(result.outcomes[0]?.value).toBe("fulfilled,rejected,fulfilled");
    expect(result.transcript).toContain('closed {"answer":2}');
  }
  expect(digests.size).toBe(1);
});

test("an open connection and a running tool are noted at the end", async () => {
  const result = await run("two.toml", (session) => ({
    async prompt() {
      void session.tool("toolu_1", "Read", {});
      await fetch(`${session.baseUrl}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": "k" },
        body: JSON.stringify({ stream: true, messages: [{ role: "user", content: "Hi" }] }),
      });
    },
  }));
  expect(result.transcript).toContain('"kind":"open_connection","answer":1');
  const left = await run("hang.toml", (session) => ({
    async prompt() {
      void session.tool("toolu_2", "Read", {});
    },
  }));
  expect(left.transcript).toContain('"kind":"left_task","text":"tool toolu_2 still runs"');
});

test("a verdict that is not fine is never without a word", async () => {
  const agent: AgentFactory = () => ({ prompt: async () => undefined });
  const unasked = await run("unasked.toml", agent);
  expect([unasked.isFine, unasked.failures]).toEqual([false, ["nothing was asked of the API"]]);
  expect(() => unasked.check()).toThrow("  - nothing was asked of the API");
  expect((await run("remarked.toml", agent)).failures).toEqual(["turn 1.2 was never asked for"]);
});

test("a plan has the seed, so that the agent's own chance comes again", async () => {
  const agent: AgentFactory = () => ({ prompt: async () => String(Math.random()) });
  const first = await run("two.toml", agent, { seed: 42 });
  expect(first.plan).toMatch(/^# seed 42\n\n\[plan\]\n/);
  const again = await run("two.toml", agent, { plan: first.plan });
  expect([again.outcomes, again.plan]).toEqual([first.outcomes, first.plan]);
  expect((await run("two.toml", agent)).outcomes).not.toEqual(first.outcomes);
});

test("runs come one after the other, and a factory that fails breaks none of them", async () => {
  const failing = run("two.toml", () => {
    throw new Error("no agent");
  });
  const fine = run("two.toml", naive);
  await expect(failing).rejects.toThrow("no agent");
  expect((await fine).isFine).toBe(true);
  const loading = await run("two.toml", async (session) => {
    await import("@ai-sdk/anthropic");
    await new Promise((resolve) => setTimeout(resolve, 100));
    return naive(session);
  });
  expect(loading.isFine).toBe(true);
});
