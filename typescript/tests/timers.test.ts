// Timers, dates, counters and work in threads: each as in Node, but in virtual time.

import { AsyncLocalStorage } from "node:async_hooks";
import crypto, { pbkdf2, scrypt } from "node:crypto";
import { setInterval as each, scheduler, setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import { expect, test, vi } from "vitest";
import { type Run, run } from "../src/index.js";

const zip = promisify(gzip);
const realTimeout = setTimeout;
const derive = promisify(pbkdf2); // taken before any run
const script = promisify(scrypt) as (password: string, salt: string, length: number) => Promise<Buffer>;

async function inRun(prompt: () => Promise<unknown>): Promise<Run> {
  return await run("two.toml", () => ({ prompt }));
}

async function resultOf(prompt: () => Promise<unknown>): Promise<unknown> {
  const [outcome] = (await inRun(prompt)).check().outcomes;
  expect(outcome?.error).toBeUndefined();
  return outcome?.value;
}

test("a delay that is none is 1 ms, and timers come in the order of Node", async () => {
  const seen = await resultOf(async () => {
    const seen: unknown[] = [];
    const see = (name: unknown) => () => seen.push(`${name} at ${performance.now()}`);
    setTimeout(see("2"), 2);
    setTimeout(see("1"), 1);
    for (const delay of [0, -5, Number.NaN, 2 ** 31, "1", undefined, 1.9]) setTimeout(see(delay), delay as number);
    const interval = setInterval(
      () => seen.push(`interval at ${performance.now()}`) && performance.now() === 4 && clearInterval(interval),
      0,
    );
    await wait(0);
    seen.push(`waited at ${performance.now()}`);
    await wait(10);
    return seen;
  });
  const early = ["1", "0", "-5", "NaN", "2147483648", "1", "undefined", "1.9"].map((name) => `${name} at 1`);
  expect(seen).toEqual([...early, "interval at 1", "waited at 1", "2 at 2", "interval at 2", "interval at 3", "interval at 4"]);
});

test("timers have the methods of Node's, keep contexts, and refuse what is no function", async () => {
  const seen = await resultOf(async () => {
    const seen: unknown[] = [];
    const names = new AsyncLocalStorage<string>();
    const timer = names.run("mine", () => setTimeout((value: unknown) => seen.push(value, names.getStore()), 10, "ten"));
    await wait(5);
    timer.refresh();
    clearTimeout(Number(setTimeout(() => seen.push("never"), 1)));
    seen.push(timer.hasRef(), timer.unref().hasRef());
    await promisify(setTimeout)(9);
    seen.push(performance.now());
    await scheduler.wait(5);
    await scheduler.yield();
    for await (const value of each(3, "v")) if (seen.push(value) > 0) break;
    await wait(60_000, undefined, { signal: AbortSignal.timeout(7) }).catch((error) => seen.push(error.name, error.code));
    expect(() => setTimeout("no" as never)).toThrow(TypeError);
    return [...seen, performance.now()];
  });
  expect(seen).toEqual([true, false, 14, "ten", "mine", "v", "AbortError", "ABORT_ERR", 29]);
});

test("dates and counters are of the run", async () => {
  const seen = await resultOf(async () => {
    const start = process.hrtime();
    await wait(1500);
    const mark = performance.mark("m");
    const day = new Intl.DateTimeFormat("en", { dateStyle: "short", timeZone: "UTC" });
    return [
      [day.format(), day.formatToParts().length, new Date() instanceof Date, new (new Date().constructor as DateConstructor)().getTime()],
      [mark.startTime, performance.measure("x", "m").duration, performance.timeOrigin + performance.now() - Date.now(), process.uptime()],
      [process.hrtime(start), process.hrtime.bigint(), Date().slice(0, 15), structuredClone(new Date()).getTime() - Date.now()],
    ];
  });
  const now = Date.UTC(2026, 0, 1) + 1500;
  expect(seen).toEqual([
    ["1/1/26", 5, true, now],
    [1500, 0, 0, 1.5],
    [[1, 500_000_000], 1_500_000_000n, "Thu Jan 01 2026", 0],
  ]);
});

const works: [kind: string, work: () => Promise<unknown>][] = [
  ["gzip", () => zip(Buffer.alloc(10_000_000))],
  ["pbkdf2", () => derive("a", "b", 400_000, 32, "sha256")],
  ["scrypt", () => script("a", "b", 32)],
  [
    "gzip",
    () => {
      const stream = createGzip();
      stream.resume().end(Buffer.alloc(3_000_000, "x"));
      return new Promise<void>((resolve) => stream.on("end", () => resolve()));
    },
  ],
];

test.each(works)("work in a thread is waited for and named: %s", async (kind, work) => {
  const result = await inRun(work);
  expect(result.deadlock).toBeUndefined();
  expect(result.outcomes).toMatchObject([{ how: "ok" }]);
  expect(result.failures).toEqual([`after start + 0 the agent worked in a thread for real time (${kind}): its end is chance`]);
});

test("what is left in real time is named, too, and no deadlock", async () => {
  const result = await inRun(() => new Promise((resolve) => realTimeout(resolve, 100)));
  expect(result.deadlock).toBeUndefined();
  expect(result.failures).toEqual(["after start + 0 the agent waited for something in real time (a real timer): its end is chance"]);
});

test("random bytes and keys: what is wrong is an error of Node's, the seed decides, and keys are refused by name", async () => {
  const draw = () =>
    resultOf(async () => {
      const buffer = new ArrayBuffer(6);
      crypto.randomFillSync(buffer as never, 1, 4);
      const words = crypto.randomFillSync(new Uint16Array(3), 1, 1);
      expect(() => crypto.randomInt(5, 1)).toThrow(RangeError);
      expect(() => crypto.randomInt("a" as never)).toThrow(TypeError);
      expect(() => globalThis.crypto.getRandomValues(new Float32Array(1) as never)).toThrow();
      return [[...new Uint8Array(buffer)].join(), words.join(), crypto.randomInt(10)];
    });
  expect(await draw()).toEqual(await draw());
  expect(await draw()).toEqual([expect.stringMatching(/^0,\d+,\d+,\d+,\d+,0$/), expect.stringMatching(/^0,\d+,0$/), expect.any(Number)]);
  const keys = await inRun(async () => {
    await Promise.resolve()
      .then(() => globalThis.crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, true, ["encrypt"]))
      .catch(() => undefined);
    crypto.generateKeyPairSync("ed25519");
  });
  expect(keys.failures).toEqual(["crypto.subtle.generateKey", "crypto.generateKeyPairSync"].map((name) => expect.stringContaining(name)));
});

test("halves of surrogate pairs end no run", async () => {
  const half = "a\ud800";
  const result = await run("two.toml", (session) => ({
    async prompt() {
      session.toolStarted(half, half);
      session.toolEnded(half, "ok");
      await session.tool("toolu_1", "Read", { [half]: half });
      const messages = [{ role: "user", content: half }];
      const body = `{"stream": false, "messages": ${JSON.stringify(messages).replace("\\ud800", "\ud800")}}`;
      const answer = await fetch(`${session.baseUrl}/v1/messages`, { method: "POST", headers: { "x-api-key": "k" }, body });
      await answer.text();
      expect(await (await fetch(`${session.baseUrl}/no`, null as never)).text()).toContain("not_found_error");
      return half;
    },
  }));
  expect(result.outcomes[0]).toMatchObject({ how: "ok", value: half });
  expect(result.transcript).toContain('"text":"a\ufffd"');
  expect(result.trace.find(({ name }) => name === "request 1")?.detail?.body).toContain("a\ufffd");
});

test("fake timers of vitest are refused in words", async () => {
  vi.useFakeTimers();
  try {
    await expect(inRun(async () => undefined)).rejects.toThrow("vi.useRealTimers()");
  } finally {
    vi.useRealTimers();
  }
  (await inRun(async () => undefined)).check();
});

test("what is thrown may be anything, and an agent has to be one", async () => {
  expect((await inRun(() => Promise.reject(Object.create(null)))).outcomes).toMatchObject([{ how: "error", error: { name: "object" } }]);
  await expect(run("two.toml", (() => undefined) as never)).rejects.toThrow("the agent's factory gives undefined; it has to give");
  await expect(run("two.toml", (() => ({})) as never)).rejects.toThrow("an object without the method `prompt`");
});
