// Sweeps: what they find in a naive loop, and not in a careful one; replays; and agents that are not the same twice.

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import * as ai from "ai";
import { expect, test } from "vitest";
import { aiSdkAgent, anthropicAgent } from "../src/adapters.js";
import { type AgentFactory, run, sweep } from "../src/index.js";
import { asking, naive } from "./agents.js";

const careful = anthropicAgent(Anthropic);

test("a naive loop leaves tool uses without results, and the plan replays it", async () => {
  const found = await sweep("two.toml", naive, { actions: ["cancel"], seed: 7 });
  expect(found.groups).toMatchObject([{ name: "O-1 7c9e2a41", count: 2, boundaries: 2, actions: ["cancel"] }]);
  const [group] = found.groups;
  expect(group?.first).toMatchObject({
    interruption: { boundary: "answer 1 end + 0" },
    words: "O-1: tool use toolu_1 has no result in request 2",
  });
  expect(group?.first.also.at(-1)).toMatch(/^the next prompt raises BadRequestError: 400/);
  expect(String(found)).toMatchSnapshot();
  expect(() => found.check()).toThrow("group 1 of 1");

  const [path = ""] = found.write(mkdtempSync(join(tmpdir(), "plans-")));
  expect(readFileSync(path, "utf8")).toMatchSnapshot();
  const replayed = await run("two.toml", naive, { planFile: path });
  expect(replayed.verdict.violations).toMatchObject([{ rule: "O-1" }]);
  expect(replayed.plan).toContain('boundary = "answer 1 end + 0"');
});

test("a careful loop is clean when it is cancelled or gets a message", async () => {
  const found = await sweep("two.toml", careful, { actions: ["cancel", "message"] });
  expect(found.check()).toMatchObject({ boundaries: 28, runs: 58 });
});

test("a careful loop that is prompted before it has unwound is not", async () => {
  const found = await sweep("two.toml", careful, { actions: ["cancel+prompt"] });
  expect(found.groups).toMatchObject([{ name: "O-1 7c9e2a41", actions: ["cancel+prompt"] }]);
  expect(String(found)).toContain("at_once = true");
});

test("the AI SDK with a history that grows by whole prompts is clean", async () => {
  (await sweep("two.toml", aiSdkAgent(ai, createAnthropic))).check();
});

// The SDK closes the connection of an error at its head, so nothing else of that answer is delivered.
test("waits between attempts are boundaries, too", async () => {
  const found = await sweep("overloaded.toml", asking("helper"), { actions: ["cancel"] });
  const names = found.plain.boundaries.map(({ name }) => name);
  expect(names.slice(0, 5)).toEqual(["start + 0", "answer 1 head + 0", "answer 1 head + 1", "answer 2 head + 0", "answer 2 head + 1"]);
  found.check();
});

test("a cancel that is not heard is a deadlock at each boundary where it matters", async () => {
  const deaf: AgentFactory = (session) => ({
    prompt: async (_, signal) => void (signal.aborted || (await session.tool("toolu_2", "Read", {}))),
  });
  const found = await sweep("hang.toml", deaf, { actions: ["cancel"] });
  expect(found.groups).toMatchObject([{ name: "deadlock" }]);
});

test("an agent that is not the same twice is not swept, and the first difference is named", async () => {
  const random = Math.random; // captured before the run: no seed reaches it
  const leaky: AgentFactory = (session) => {
    const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl });
    return {
      async prompt(text, signal) {
        const headers = { "x-request-id": String(random()) };
        const messages = [{ role: "user" as const, content: text }];
        return (await client.messages.create({ model: "m", max_tokens: 9, messages }, { signal, headers })).id;
      },
    };
  };
  const swept = sweep("two.toml", leaky);
  await expect(swept).rejects.toThrow(
    /^two runs of two\.toml differ at event 2, request 1 at 0\.000000s: header x-request-id is "0\..*" in the first and "0\./,
  );
  let count = 0;
  const counting: AgentFactory = () => ({ prompt: () => new Promise((resolve) => setTimeout(resolve, ++count * 10)) });
  await expect(sweep("two.toml", counting)).rejects.toThrow(
    "at event 2: timer 1 at 0.010000s in the first, timer 1 at 0.020000s in the second",
  );
});
