// Sweeps: what they find in a naive loop, and not in a careful one; replays; and agents that are not the same twice.

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import * as ai from "ai";
import { expect, test } from "vitest";
import { aiSdkAgent, anthropicAgent } from "../src/adapters.js";
import { type Action, type AgentFactory, run, sweep } from "../src/index.js";
import { asking, hasty, naive } from "./agents.js";

const careful = anthropicAgent(Anthropic);

test("a naive loop leaves tool uses without results, and the plan replays it", async () => {
  const found = await sweep("two.toml", naive, { actions: ["cancel"], seed: 7 });
  expect(found.groups).toMatchObject([{ name: "O-1 7c9e2a41", count: 2, boundaries: 2, actions: ["cancel"] }]);
  const [group] = found.groups;
  expect(group?.first).toMatchObject({
    interruption: { boundary: "answer 1 end + 0" },
    words: "O-1: tool use toolu_1 has no result in request 2",
  });
  expect(group?.first.also.at(-1)).toMatch(/^the next prompt throws BadRequestError: 400/);
  expect(String(found)).toMatchSnapshot();
  expect(() => found.check()).toThrow("group 1 of 1");

  const [path = ""] = found.write(mkdtempSync(join(tmpdir(), "plans-")));
  expect(readFileSync(path, "utf8").replace(/^# of .*\//, '# of "…/')).toMatchSnapshot();
  const replayed = await run("two.toml", naive, { planFile: path });
  expect(replayed.verdict.violations).toMatchObject([{ rule: "O-1" }]);
  expect(replayed.plan).toContain('boundary = "answer 1 end + 0"');
});

test("a careful loop is clean, whatever is done to it", async () => {
  const found = await sweep("two.toml", careful);
  expect(found.check()).toMatchObject({ boundaries: 28, runs: 86, actions: ["cancel", "cancel+prompt", "message"], notTried: [] });
});

test("a loop that has its tool uses in the history before their results is not, if it is prompted before it has unwound", async () => {
  const found = await sweep("two.toml", hasty, { actions: ["cancel+prompt"] });
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

const quiet: AgentFactory = (session) => ({ prompt: async (_, signal) => void (await session.tool("toolu_1", "Read", {}, signal)) });

test("an interrupt that did not happen is a finding", async () => {
  let runs = 0;
  const leaving: AgentFactory = (session) => (++runs > 2 ? { prompt: async () => undefined } : quiet(session));
  const found = await sweep("two.toml", leaving, { actions: ["cancel"] });
  expect(found.findings.map(({ words }) => words)).toEqual(["the interrupt at start + 0 did not happen: no prompt was being answered"]);
  runs = 0;
  const shorter: AgentFactory = (session) => ({
    prompt: async () => {
      const ids = runs > 2 ? ["toolu_2"] : ["toolu_2", "toolu_1"];
      for (const id of ids) await session.tool(id, "Read", {});
    },
  });
  const counting: AgentFactory = (session) => {
    runs += 1;
    return shorter(session);
  };
  const missed = await sweep("two.toml", counting, { actions: ["cancel"] });
  expect(missed.findings.at(-1)?.words).toBe("the interrupt at tool toolu_2 end + 0 did not happen: no prompt was being answered");
  expect(missed.isFine).toBe(false);
});

test("a run that is not fine without a named failure is a finding", async () => {
  const found = await sweep("unasked.toml", quiet, { actions: ["cancel"] });
  expect(found.findings.map(({ words }) => words)).toEqual(["nothing was asked of the API", "nothing was asked of the API"]);
  expect((await sweep("remarked.toml", quiet)).groups[0]?.first.words).toBe("turn 1.2 was never asked for");
});

test("a sweep that tries nothing is refused, or is not fine and says so", async () => {
  await expect(sweep("two.toml", quiet, { actions: [] })).rejects.toThrow("a sweep without an action tries nothing");
  await expect(sweep("two.toml", quiet, { actions: ["cancle" as Action] })).rejects.toThrow(
    '"cancle" is no action of a sweep: there are "cancel", "cancel+prompt", "message"',
  );
  const told = await sweep("two.toml", quiet, { actions: ["message"] });
  expect(told).toMatchObject({ isFine: false, findings: [], notTried: ["message: the agent has no `message`"] });
  expect(() => told.check()).toThrow(
    "nothing was tried: the agent can do none of the actions\nnot tried: message: the agent has no `message`",
  );
  const silent = await sweep("silence.toml", quiet);
  expect(silent).toMatchObject({ isFine: false, boundaries: 0 });
  expect(String(silent)).toContain("nothing was tried: no prompt of the scenario was ever being answered");
  expect(await sweep("two.toml", quiet)).toMatchObject({ isFine: true, notTried: ["message: the agent has no `message`"] });
});

test("every prompt after an interrupt must not fail, and in runs with a message every prompt", async () => {
  const failing: AgentFactory = (session) => {
    let prompts = 0;
    let isTold = false;
    return {
      async prompt(text, signal) {
        prompts += 1;
        await session.tool("toolu_1", "Read", {}, signal).catch(() => undefined);
        if (isTold && prompts === 2) throw new RangeError(`no more after ${text}`);
      },
      message() {
        isTold = true;
      },
    };
  };
  const told = await sweep("two-prompts.toml", failing, { actions: ["message"] });
  expect(told.findings.map(({ words }) => words)).toContain("prompt 2 throws RangeError: no more after And now?");
  const angry: AgentFactory = (session) => {
    let isTold = false;
    return {
      async prompt(text, signal) {
        await session.tool("toolu_1", "Read", {}, signal).catch(() => undefined);
        if (isTold) throw new Error(`not ${text}`);
      },
      message() {
        isTold = true;
      },
    };
  };
  const [first] = (await sweep("two.toml", angry, { actions: ["message"] })).findings;
  expect([first?.words, ...(first?.also ?? [])]).toEqual([
    "prompt 1 throws Error: not What do a.txt and b.txt say?",
    "the next prompt throws Error: not Go on.",
  ]);
});

test("plan files name their scenario by its path from their folder, also those of the run without an interrupt", async () => {
  const orphaned: AgentFactory = (session) => ({
    async prompt() {
      const messages = [
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "Read", input: {} }] },
        { role: "user", content: "Hi" },
      ];
      await fetch(`${session.baseUrl}/v1/messages`, { method: "POST", headers: { "x-api-key": "k" }, body: JSON.stringify({ messages }) });
    },
  });
  const found = await sweep("two.toml", orphaned, { actions: ["cancel"], seed: 5 });
  expect(found.findings[0]?.interruption).toBeUndefined();
  const folder = mkdtempSync(join(tmpdir(), "plans-"));
  const [path = ""] = found.write(folder);
  const text = readFileSync(path, "utf8");
  expect(text).toBe(`# of ${JSON.stringify(relative(folder, resolve("two.toml")))}\n# seed 5\n\n[plan]\ndrawn_from = 5\n`);
  expect((await run("two.toml", orphaned, { planFile: path })).verdict.violations).toHaveLength(1);
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
