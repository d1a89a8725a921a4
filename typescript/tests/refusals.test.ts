// What cannot be virtual is refused by name, also where the agent swallows the error; and a program that is not there is explained.

import { exec, execFile, execFileSync, spawn } from "node:child_process";
import { lookupService, Resolver as OldResolver, resolveMx } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { get } from "node:http";
import { connect } from "node:net";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { RefusedCallError, run } from "../src/index.js";

// Taken before any run, as modules do it.
const [early, earlyFile, earlySpawn] = [promisify(exec), promisify(execFile), spawn];

const calls: [name: string, call: () => unknown][] = [
  ['child_process.spawn("ls")', () => spawn("ls")],
  ['child_process.exec("ls -l")', () => exec("ls -l")],
  ['child_process.execFileSync("ls")', () => execFileSync("ls")],
  ['net.Socket.connect("127.0.0.1:9")', () => connect(9, "127.0.0.1")],
  ['net.Socket.connect("127.0.0.1:9")', () => get("http://127.0.0.1:9/")],
  ['dns.promises.lookup("example.com")', () => lookup("example.com")],
  ['child_process.execFile("ls")', () => early("ls")],
  ['child_process.spawn("ls")', () => earlyFile("ls")],
  ['child_process.spawn("ls")', () => earlySpawn("ls")],
  ['dns.lookupService("127.0.0.1")', () => lookupService("127.0.0.1", 80, () => undefined)],
  ['dns.resolveMx("example.com")', () => resolveMx("example.com", () => undefined)],
  ['dns.promises.Resolver.resolve4("example.com")', () => new Resolver().resolve4("example.com")],
  ['dns.Resolver.reverse("127.0.0.1")', () => new OldResolver().reverse("127.0.0.1", () => undefined)],
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
