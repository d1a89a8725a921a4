// The process of `reenact world`: lines go in, and replies come back in their order.
//
// One process serves many runs. It is started before anything is virtual, and its pipes are never virtual: a reply only wakes the caller that waits
// for it. The pipes keep Node alive only while somebody waits, so a test run can end without closing anything.

import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";

const HELP =
  "Install the program (`cargo install reenact`), so that `reenact` is on PATH, or set REENACT_PROGRAM to its path: REENACT_PROGRAM=/path/to/reenact.";

/** What went wrong between this package and the program. */
export class ProgramError extends Error {
  override name = "ProgramError";
}

interface Waiting {
  resolve(reply: Record<string, unknown>): void;
  reject(error: Error): void;
}

export class Program {
  readonly path: string;
  #child: ChildProcess;
  #waiting: Waiting[] = [];
  #unsent = "";
  #partial = "";
  #complaint = "";
  #failure: ProgramError | undefined;

  constructor(path: string) {
    this.path = path;
    const isScript = /\.[cm]?js$/.test(path);
    const [command, args] = isScript ? [process.execPath, [path, "world"]] : [path, ["world"]];
    this.#child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#child.on("error", (error) => {
      this.#fail(`the program ${JSON.stringify(path)} does not start (${error.message}). ${HELP}`);
    });
    this.#child.on("exit", (code, signal) => {
      const complaint = this.#complaint.trim();
      const why = `the program ${JSON.stringify(path)} ended (${signal ?? `exit code ${code}`})`;
      this.#fail(`${why} while runs were open. ${complaint === "" ? `It said nothing. ${HELP}` : `It said: ${complaint}`}`);
    });
    this.#child.stdin?.on("error", () => undefined); // the exit says why
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#onText(text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-2000);
    });
    this.#child.unref();
    this.#keepAlive(false);
  }

  get isGone(): boolean {
    return this.#failure !== undefined;
  }

  /** A line without a reply. It goes out with the next line that has one. */
  send(line: Record<string, unknown>): void {
    const text = JSON.stringify(line);
    // Half of a surrogate pair is no text: JSON can only say it with an escape, and few can read that.
    this.#unsent += `${/\\ud[89a-f]/.test(text) ? JSON.stringify(wellFormed(line)) : text}\n`;
  }

  /** A line with a reply. */
  ask<Reply>(line: Record<string, unknown>): Promise<Reply> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.send(line);
    return new Promise<Reply>((resolve, reject) => {
      if (this.#waiting.length === 0) this.#keepAlive(true);
      this.#waiting.push({
        resolve: (reply) => {
          if (typeof reply.error === "string")
            reject(new ProgramError(`the world refuses the line ${JSON.stringify(line.op)}: ${reply.error}`));
          else resolve(reply as Reply);
        },
        reject,
      });
      this.#child.stdin?.write(this.#unsent);
      this.#unsent = "";
    });
  }

  close(): void {
    this.#child.stdin?.end();
    this.#child.kill();
  }

  #onText(text: string): void {
    const lines = (this.#partial + text).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const line of lines) {
      if (line.trim() === "") continue;
      let reply: Record<string, unknown>;
      try {
        reply = JSON.parse(line);
      } catch {
        this.#fail(`the program ${JSON.stringify(this.path)} does not answer with JSON, but with ${JSON.stringify(line.slice(0, 200))}`);
        return;
      }
      const waiting = this.#waiting.shift();
      if (this.#waiting.length === 0) this.#keepAlive(false);
      waiting?.resolve(reply);
    }
  }

  #fail(message: string): void {
    this.#failure ??= new ProgramError(message);
    for (const waiting of this.#waiting.splice(0)) waiting.reject(this.#failure);
  }

  #keepAlive(isNeeded: boolean): void {
    for (const pipe of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      const socket = pipe as unknown as Socket | null;
      if (isNeeded && pipe === this.#child.stdout) socket?.ref();
      else socket?.unref();
    }
  }
}

/** The same with U+FFFD for what is half of a surrogate pair. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]));
}

const programs = new Map<string, Program>();

/** The process of the program that REENACT_PROGRAM names, else of `reenact` on PATH. It is started once. */
export function sharedProgram(): Program {
  const path = process.env.REENACT_PROGRAM || "reenact";
  let program = programs.get(path);
  if (program === undefined || program.isGone) {
    program = new Program(path);
    programs.set(path, program);
  }
  return program;
}
