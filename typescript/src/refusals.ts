// What cannot be virtual is refused, by name: real connections, processes and threads take real time, and no seed decides when they end.

import child_process from "node:child_process";
import crypto from "node:crypto";
import dgram from "node:dgram";
import dns from "node:dns";
import net from "node:net";
import worker_threads from "node:worker_threads";
import type { Patches } from "./patches.js";
import { runOver } from "./scope.js";

/** A call that a run in virtual time cannot allow. */
export class RefusedCallError extends Error {
  override name = "RefusedCallError";
}

const PROCESS_ADVICE =
  "A tool that runs a command can ask `session.tool(id, name, input)` instead, which gives the scenario's result; or the command can be run before `run`.";
const SOCKET_ADVICE =
  "Requests to the API go through the global `fetch`: make the client inside the agent's factory (a client that is made earlier has kept the real `fetch`), with `baseURL: session.baseUrl`.";
const THREAD_ADVICE = "Do its work in the agent's own thread, or before `run`.";

const PROCESS_CALLS = ["spawn", "exec", "execFile", "fork", "spawnSync", "execSync", "execFileSync"] as const;
const KEY_ADVICE = "No seed decides what comes of it. Make the key before `run`.";
const KEY_CALLS = [
  "generateKey",
  "generateKeySync",
  "generateKeyPair",
  "generateKeyPairSync",
  "generatePrime",
  "generatePrimeSync",
] as const;

/** Refuses these calls until the patches are put back. `onRefusal` hears of each, should the agent swallow the error. */
export function refuseRealWork(patches: Patches, onRefusal: (text: string) => void): void {
  const refuse = (owner: object, key: string, name: string, advice: string) => {
    const why = advice === KEY_ADVICE ? "" : ": it would take real time";
    const refused = function (this: unknown, ...args: unknown[]) {
      const text = `${name}${subject(args)} is refused in a run${why}. ${advice}`;
      onRefusal(text);
      throw new RefusedCallError(text);
    };
    const stale = function (this: unknown, ...args: unknown[]) {
      throw runOver(`${name}${subject(args)}`, advice);
    };
    patches.replace(owner, key, refused, stale);
  };
  for (const call of PROCESS_CALLS) refuse(child_process, call, `child_process.${call}`, PROCESS_ADVICE);
  // What was taken before the run, such as promisify(exec), ends here.
  refuse(child_process.ChildProcess.prototype as object, "spawn", "child_process.spawn", PROCESS_ADVICE);
  for (const [owner, name] of [
    [dns, "dns"],
    [dns.promises, "dns.promises"],
    [dns.Resolver.prototype, "dns.Resolver"],
    [dns.promises.Resolver.prototype, "dns.promises.Resolver"],
  ] as const) {
    for (const call of namesIn(owner).filter((key) => /^(lookup|resolve|reverse)/.test(key)))
      refuse(owner, call, `${name}.${call}`, SOCKET_ADVICE);
  }
  for (const call of KEY_CALLS) refuse(crypto, call, `crypto.${call}`, KEY_ADVICE);
  refuse(Object.getPrototypeOf(crypto.webcrypto.subtle), "generateKey", "crypto.subtle.generateKey", KEY_ADVICE);
  refuse(net.Socket.prototype, "connect", "net.Socket.connect", SOCKET_ADVICE);
  refuse(net.Server.prototype, "listen", "net.Server.listen", SOCKET_ADVICE);
  refuse(dgram.Socket.prototype, "send", "dgram.Socket.send", SOCKET_ADVICE);
  refuse(dgram.Socket.prototype, "bind", "dgram.Socket.bind", SOCKET_ADVICE);
  refuse(worker_threads, "Worker", "new Worker", THREAD_ADVICE);
}

/** The names of all that an object has, what it inherits included. */
function namesIn(owner: object): string[] {
  const parent = Object.getPrototypeOf(owner);
  return [...new Set([...Object.getOwnPropertyNames(owner), ...(parent === null || parent === Object.prototype ? [] : namesIn(parent))])];
}

/** The first words of what a call is about: the command, the host. */
function subject(args: unknown[]): string {
  const found = Array.isArray(args[0]) ? args[0][0] : args[0]; // net.connect hands its options over in an array
  if (typeof found === "string" || found instanceof URL) return `(${JSON.stringify(String(found).slice(0, 80))})`;
  if (typeof found === "object" && found !== null && "file" in found) return `(${JSON.stringify(String(found.file).slice(0, 80))})`;
  if (typeof found === "object" && found !== null && "port" in found) {
    const { host, port } = found as { host?: string; port?: number };
    return `(${JSON.stringify(`${host ?? "localhost"}:${port}`)})`;
  }
  return "";
}
