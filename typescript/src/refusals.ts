// What cannot be virtual is refused, by name: real connections, processes and threads take real time, and no seed decides when they end.

import child_process from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import net from "node:net";
import worker_threads from "node:worker_threads";
import type { Patches } from "./patches.js";

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
const DNS_CALLS = ["lookup", "resolve", "resolve4", "resolve6"] as const;

/** Refuses these calls until the patches are put back. `onRefusal` hears of each, should the agent swallow the error. */
export function refuseRealWork(patches: Patches, onRefusal: (text: string) => void): void {
  const refuse = (owner: object, key: string, name: string, advice: string) => {
    patches.replace(owner, key, (...args: unknown[]) => {
      const text = `${name}${subject(args)} is refused in a run: it would take real time. ${advice}`;
      onRefusal(text);
      throw new RefusedCallError(text);
    });
  };
  for (const call of PROCESS_CALLS) refuse(child_process, call, `child_process.${call}`, PROCESS_ADVICE);
  for (const call of DNS_CALLS) {
    refuse(dns, call, `dns.${call}`, SOCKET_ADVICE);
    refuse(dns.promises, call, `dns.promises.${call}`, SOCKET_ADVICE);
  }
  refuse(net.Socket.prototype, "connect", "net.Socket.connect", SOCKET_ADVICE);
  refuse(net.Server.prototype, "listen", "net.Server.listen", SOCKET_ADVICE);
  refuse(dgram.Socket.prototype, "send", "dgram.Socket.send", SOCKET_ADVICE);
  refuse(dgram.Socket.prototype, "bind", "dgram.Socket.bind", SOCKET_ADVICE);
  class Worker {
    constructor(file: unknown) {
      const text = `new Worker${subject([file])} is refused in a run: it would take real time. ${THREAD_ADVICE}`;
      onRefusal(text);
      throw new RefusedCallError(text);
    }
  }
  patches.replace(worker_threads, "Worker", Worker);
}

/** The first words of what a call is about: the command, the host. */
function subject(args: unknown[]): string {
  const found = Array.isArray(args[0]) ? args[0][0] : args[0]; // net.connect hands its options over in an array
  if (typeof found === "string" || found instanceof URL) return `(${JSON.stringify(String(found).slice(0, 80))})`;
  if (typeof found === "object" && found !== null && "port" in found) {
    const { host, port } = found as { host?: string; port?: number };
    return `(${JSON.stringify(`${host ?? "localhost"}:${port}`)})`;
  }
  return "";
}
