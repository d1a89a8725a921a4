// What the official SDK sees of each fault, held against what it was observed to do over real sockets.

import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import * as ai from "ai";
import { expect, test } from "vitest";
import { aiSdkAgent } from "../src/adapters.js";
import { type Run, run } from "../src/index.js";
import { asking } from "./agents.js";

/** The seconds between requests. */
const gaps = ({ trace }: Run) => {
  const times = trace.filter(({ name }) => name.startsWith("request")).map(({ at }) => at / 1e6);
  return times.slice(1).map((at, index) => at - (times[index] ?? 0));
};
const errorOf = (result: Run) => `${result.outcomes[0]?.error?.name}: ${result.outcomes[0]?.error?.message}`;

test("529 twice: three requests with the waits of the SDK, and timers of their own between them", async () => {
  const result = (await run("overloaded.toml", asking("helper"))).check();
  const [first = 0, second = 0] = gaps(result);
  // 0.5 s * 2^n less up to a quarter, and 0.06 s for each error
  expect(first).toBeGreaterThan(0.43);
  expect(first).toBeLessThan(0.57);
  expect(second).toBeGreaterThan(0.81);
  expect(second).toBeLessThan(1.07);
  expect(result.boundaries.map(({ name, step }) => `${name}: ${step}`)).toContain("answer 1 head + 1: timer 1");
  const counts = result.trace.flatMap(
    ({ detail }) => (detail?.headers as [string, string][] | undefined)?.filter(([name]) => name.endsWith("retry-count")) ?? [],
  );
  expect(counts.map(([, value]) => value)).toEqual(["0", "1", "2"]);
});

test("529 for ever: three requests, then the error; six where five retries are allowed", async () => {
  const result = await run("overloaded-for-ever.toml", asking("whole"));
  expect(gaps(result)).toHaveLength(2);
  expect(errorOf(result)).toMatch(/^OverloadedError: 529/);
  expect(gaps(await run("overloaded-for-ever.toml", asking("whole", { maxRetries: 5 })))).toHaveLength(5);
});

test("a reset before any byte is retried", async () => {
  const result = (await run("reset.toml", asking("helper"))).check();
  expect(gaps(result)).toHaveLength(1);
  const refused = await run("refused.toml", asking("helper"));
  expect(gaps(refused)).toHaveLength(2);
  expect(errorOf(refused)).toMatch(/^APIConnectionError/);
});

test("a cut within the stream is not retried: `terminated`", async () => {
  for (const scenario of ["cut.toml", "close.toml"]) {
    const helper = await run(scenario, asking("helper"));
    expect(gaps(helper)).toEqual([]);
    expect(errorOf(helper)).toBe("AnthropicError: terminated");
    expect(errorOf(await run(scenario, asking("raw")))).toBe("TypeError: terminated");
  }
});

test("a clean end in the middle: an error of the helper, silence of the raw iterator", async () => {
  expect(errorOf(await run("eof.toml", asking("helper")))).toContain("AnthropicError: stream ended without producing a Message");
  expect((await run("eof.toml", asking("raw"))).outcomes[0]).toMatchObject({ how: "ok", value: "4 events" });
});

test("silence within the stream: the SDK's own timeout does not end it, Node's does after 300 s", async () => {
  const result = await run("stall.toml", asking("helper", { timeout: 1000 }));
  expect(errorOf(result)).toBe("AnthropicError: terminated");
  expect(result.boundaries.at(-1)).toMatchObject({ step: "answer 1 silence" });
  expect((result.boundaries.at(-1)?.at ?? 0) / 1e6).toBeGreaterThan(300);
});

test("no answer at all: the SDK's timeout ends it, and the request is made again", async () => {
  const result = (await run("silent.toml", asking("helper", { timeout: 1000 }))).check();
  const [gap = 0] = gaps(result);
  expect(gap).toBeGreaterThan(1.37);
  expect(gap).toBeLessThan(1.51);
  expect(result.transcript).toContain('closed {"answer":1}');
});

test("the AI SDK retries, too, and says so when it gives up", async () => {
  const result = (await run("overloaded.toml", aiSdkAgent(ai, createAnthropic))).check();
  expect(gaps(result).slice(0, 2).map(Math.round)).toEqual([2, 4]);
  const refused = await run("overloaded-for-ever.toml", aiSdkAgent(ai, createAnthropic));
  expect(errorOf(refused)).toContain("Overloaded");
});

test("what a client does not read it closes, and a client with a URL of its own finds the world", async () => {
  const result = await run("two.toml", () => {
    const client = new Anthropic({ apiKey: "none" });
    return {
      async prompt(text, signal) {
        const messages = [{ role: "user" as const, content: text }];
        for await (const _ of await client.messages.create({ model: "m", max_tokens: 9, messages, stream: true }, { signal })) break;
      },
    };
  });
  expect(result.check().transcript).toContain('closed {"answer":1}');
});
