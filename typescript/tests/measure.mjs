// Measures what the package promises: one trace in many runs, in several processes beside a busy core, and runs per second.
//
// `npm run measure`; `node tests/measure.mjs 250 4` sets the runs of each process and the processes.

import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import * as ai from "ai";
import { aiSdkAgent, anthropicAgent } from "../dist/adapters.js";
import { run } from "../dist/index.js";

process.env.REENACT_PROGRAM ??= fileURLToPath(new URL("stub-world.mjs", import.meta.url));
const SCENARIO = process.env.REENACT_SCENARIO ?? "two.toml";
const agents = { "@anthropic-ai/sdk": anthropicAgent(Anthropic), "ai (AI SDK)": aiSdkAgent(ai, createAnthropic) };

async function runs(name, count) {
  const traces = new Map();
  for (let i = 0; i < count; i++) {
    const { trace, digest } = (await run(SCENARIO, agents[name], { seed: 7 })).check();
    const hash = createHash("sha256")
      .update(JSON.stringify([trace, digest]))
      .digest("hex");
    traces.set(hash, (traces.get(hash) ?? 0) + 1);
  }
  return [...traces];
}

if (process.send !== undefined) {
  process.on("message", async ({ name, count }) => {
    process.send(await runs(name, count));
    process.disconnect();
  });
} else {
  const [count = 250, processes = 4] = process.argv.slice(2).map(Number);
  for (const name of Object.keys(agents)) {
    await runs(name, 50); // warm
    const start = performance.now();
    await runs(name, 300);
    const speed = 300_000 / (performance.now() - start);
    const busy = new Worker("for (;;);", { eval: true });
    const all = await Promise.all(
      Array.from({ length: processes }, () => {
        const child = fork(fileURLToPath(import.meta.url), { stdio: "inherit" });
        child.send({ name, count });
        return new Promise((resolve, reject) => child.once("message", resolve).once("error", reject));
      }),
    );
    await busy.terminate();
    const traces = new Map();
    for (const [hash, number] of all.flat()) traces.set(hash, (traces.get(hash) ?? 0) + number);
    const total = [...traces.values()].reduce((sum, number) => sum + number, 0);
    const words = `${traces.size} trace${traces.size === 1 ? "" : "s"} in ${total} runs in ${processes} processes beside a busy core`;
    console.log(`${name.padEnd(18)} ${Math.round(speed)} runs/s; ${words}`);
  }
}
