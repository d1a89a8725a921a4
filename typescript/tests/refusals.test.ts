// What cannot be virtual is refused by name, also where the agent swallows the error; and a program that is not there is explained.

import { exec, execFileSync, spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { get } from "node:http";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { RefusedCallError, run } from "../src/index.js";

const calls: [name: string, call: () => unknown][] = [
  ['child_process.spawn("ls")', () => spawn("ls")],
  ['child_process.exec("ls -l")', () => exec("ls -l")],
  ['child_process.execFileSync("ls")', () => execFileSync("ls")],
  ['net.Socket.connect("127.0.0.1:9")', () => connect(9, "127.0.0.1")],
  ['net.Socket.connect("127.0.0.1:9")', () => get("http://127.0.0.1:9/")],
  ['dns.promises.lookup("example.com")', () => lookup("example.com")],
  ['new Worker("./x.js")', () => new Worker("./x.js")],
  ['fetch("https://example.com")', () => fetch("https://example.com/a")],
];

test.each(calls)("%s is refused", async (name, call) => {
  const result = await run("two.toml", () => ({ prompt: async () => void (await call()) }));
  expect(result.failures).toEqual([expect.stringContaining(`${name} is refused in a run`)]);
  expect(result.outcomes[0]?.error?.name).toBe(RefusedCallError.name);
});

test("a refusal that the agent swallows fails the run all the same", async () => {
  const result = await run("two.toml", () => ({
    async prompt() {
      try {
        spawn("ls");
      } catch {}
    },
  }));
  expect(result.outcomes).toMatchObject([{ how: "ok" }]);
  expect(result.isFine).toBe(false);
});

test("a `fetch` that was kept from before the run is refused with what to do", async () => {
  const early = globalThis.fetch;
  const result = await run("two.toml", (session) => ({
    prompt: () => early(session.baseUrl.replace("reenact.invalid", "127.0.0.1:18080")),
  }));
  expect(result.failures.join()).toContain("make the client inside the agent's factory");
});

test("a program that is not there, or answers otherwise, is explained", async () => {
  const agent = () => ({ prompt: async () => undefined });
  const before = process.env.REENACT_PROGRAM;
  try {
    process.env.REENACT_PROGRAM = "/nowhere/reenact";
    await expect(run("two.toml", agent)).rejects.toThrow(/"\/nowhere\/reenact" does not start .*set REENACT_PROGRAM to its path/);
    process.env.REENACT_PROGRAM = "/bin/false";
    await expect(run("two.toml", agent)).rejects.toThrow(/"\/bin\/false" ended \(exit code 1\)/);
  } finally {
    process.env.REENACT_PROGRAM = before;
  }
  await expect(run("nowhere.toml", agent)).rejects.toThrow('the world refuses the line "open": there is no scenario nowhere.toml');
  expect((await run("two.toml", agent)).isFine).toBe(true);
});
