// The `fetch` of a run: requests go to the world, and the parts of its answers come at their times.
//
// What breaks, breaks with the errors of Node's own `fetch`: `TypeError: fetch failed` before the head, `TypeError: terminated` within the body. A
// connection that stays silent ends after 300 s, as Node's `fetch` has it.

import type { Moment } from "./moment.js";
import type { Answer, AnswerEnd, Micros, Piece } from "./protocol.js";
import { RefusedCallError } from "./refusals.js";
import { type RunOverError, runOver } from "./scope.js";

/** The base URL of the simulated API. It names no host that exists, should a request ever leave the run. */
export const BASE_URL = "http://reenact.invalid";

const HOSTS = new Set([new URL(BASE_URL).host, "api.anthropic.com"]);
const SILENCE_MAX: Micros = 300_000_000;
const NO_BODY = new Set([101, 103, 204, 205, 304]);

type State = "asked" | "open" | "over";

/** Requests and answers of one run. */
export class Network {
  #moment: Moment;
  #answers: Exchange[] = [];

  constructor(moment: Moment) {
    this.#moment = moment;
  }

  readonly fetch = async (input: RequestInfo | URL, options?: RequestInit | null): Promise<Response> => {
    if (this.#moment.isOver) throw this.refuse();
    const init = options ?? {};
    const isRequest = typeof input === "object" && "url" in input;
    const isPlain = !isRequest && (init.body === undefined || init.body === null || typeof init.body === "string");
    const request = isPlain ? undefined : new Request(input, { ...init, ...(init.body ? { duplex: "half" } : {}) } as RequestInit);
    const url = new URL(request?.url ?? String(input));
    const signal = init.signal ?? request?.signal ?? undefined;
    if (!HOSTS.has(url.host)) {
      const text = `fetch(${JSON.stringify(url.origin)}) is refused in a run: only the API is simulated, at session.baseUrl. A tool that asks another host can ask \`session.tool(id, name, input)\` instead.`;
      this.#moment.problems.push(text);
      throw new RefusedCallError(text);
    }
    signal?.throwIfAborted();
    const headers = [...(request?.headers ?? new Headers(init.headers))];
    const body = request === undefined ? ((init.body as string | null | undefined) ?? "") : await request.text();
    if (this.#moment.isOver) throw this.refuse();
    signal?.throwIfAborted();
    const line = {
      method: (request?.method ?? init.method ?? "GET").toUpperCase(),
      path: url.pathname + url.search,
      headers,
      body: body.toWellFormed(),
    };
    const exchange = new Exchange(this.#moment, this.#answers.length + 1, url.href, line);
    this.#answers.push(exchange);
    return exchange.respond(signal ?? undefined);
  };

  /** The error of a request that comes after the run. */
  refuse(): RunOverError {
    const advice = "Make the client inside the agent's factory: one that is kept from one run to the next has kept the `fetch` of its run.";
    return runOver("this `fetch`", advice);
  }

  /** How many requests there were. */
  get asked(): number {
    return this.#answers.length;
  }

  /** The answers that the client neither read to their ends nor closed. */
  get open(): Exchange[] {
    return this.#answers.filter((exchange) => exchange.isOpen);
  }
}

class Exchange {
  readonly number: number;
  #moment: Moment;
  #url: string;
  #state: State = "asked";
  #body: ReadableByteStreamController | undefined;
  #resolve: (response: Response) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #forget: () => void = () => undefined;

  constructor(moment: Moment, number: number, url: string, line: Record<string, unknown>) {
    this.#moment = moment;
    this.number = number;
    this.#url = url;
    moment.agenda.enter(this);
    moment.record(`request ${number}`, line);
    moment.ask<Answer>("request", line, (answer) => this.#plan(answer));
  }

  get isOpen(): boolean {
    return this.#state !== "over";
  }

  respond(signal: AbortSignal | undefined): Promise<Response> {
    if (signal !== undefined) {
      const abort = () => this.#leave(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      this.#forget = () => signal.removeEventListener("abort", abort);
    }
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Puts the parts of the answer on the agenda. */
  #plan({ answer, head, pieces, end }: Answer): void {
    if (answer !== this.number) throw new Error(`the world gave answer ${answer} to the request that was number ${this.number}`);
    if (this.#state === "over") return;
    const { agenda, clock } = this.#moment;
    const entry = (at: Micros, part: string, happen: () => void) => ({ at, name: `answer ${this.number} ${part}`, owner: this, happen });
    const add = (at: Micros, part: string, happen: () => void) => agenda.add({ ...entry(at, part, happen), isWorld: true });
    if (head !== null) add(head.at, "head", () => this.#onHead(head.status, head.headers));
    pieces.forEach(([at, piece], index) => {
      add(at, `piece ${index + 1}`, () => this.#body?.enqueue(bytesOf(piece)));
    });
    if (end !== null) add(end.at, "end", () => this.#onEnd(end.how));
    if (end !== null) return;
    const last = Math.max(clock.now, head?.at ?? 0, pieces.at(-1)?.[0] ?? 0);
    agenda.add({ ...entry(last + SILENCE_MAX, "silence", () => this.#onSilence()), isWorld: false });
  }

  #onHead(status: number, headers: [string, string][]): void {
    this.#state = "open";
    const start = (controller: ReadableByteStreamController) => {
      this.#body = controller;
    };
    const body = NO_BODY.has(status) ? null : new ReadableStream({ type: "bytes", start, cancel: () => this.#close() });
    const response = new Response(body, { status, headers });
    Object.defineProperty(response, "url", { value: this.#url });
    this.#resolve(response);
  }

  #onEnd(how: AnswerEnd): void {
    this.#finish();
    if (how === "complete") this.#body?.close();
    else this.#fail(how);
  }

  #onSilence(): void {
    const isHead = this.#body === undefined;
    const [name, code, text] = isHead
      ? ["HeadersTimeoutError", "UND_ERR_HEADERS_TIMEOUT", "Headers Timeout Error"]
      : ["BodyTimeoutError", "UND_ERR_BODY_TIMEOUT", "Body Timeout Error"];
    this.#close();
    this.#breakOff(Object.assign(new Error(text), { name, code }));
  }

  #fail(how: AnswerEnd): void {
    const [code, text] = FAILURES[how] ?? ["UND_ERR_SOCKET", "other side closed"];
    this.#breakOff(Object.assign(new Error(text), { code, ...(code === "UND_ERR_SOCKET" ? { name: "SocketError" } : {}) }));
  }

  #breakOff(cause: Error): void {
    if (this.#body === undefined) this.#reject(Object.assign(new TypeError("fetch failed"), { cause }));
    else this.#body.error(Object.assign(new TypeError("terminated"), { cause }));
  }

  /** The client's signal was aborted. */
  #leave(reason: unknown): void {
    if (!this.isOpen) return;
    this.#close();
    this.#reject(reason);
    this.#body?.error(reason);
  }

  /** The client closes the connection. */
  #close(): void {
    if (!this.isOpen || this.#moment.isOver) return;
    this.#finish();
    this.#moment.agenda.drop(this);
    this.#moment.record(`answer ${this.number} closed`);
    this.#moment.send("closed", { answer: this.number });
  }

  #finish(): void {
    this.#state = "over";
    this.#forget();
  }
}

const FAILURES: Partial<Record<AnswerEnd, [code: string, text: string]>> = {
  reset: ["ECONNRESET", "read ECONNRESET"],
  close: ["UND_ERR_SOCKET", "other side closed"],
  refused: ["ECONNREFUSED", "connect ECONNREFUSED 192.0.2.1:443"],
  dns: ["ENOTFOUND", "getaddrinfo ENOTFOUND api.anthropic.com"],
  tls: ["CERT_HAS_EXPIRED", "certificate has expired"],
  broken_pipe: ["EPIPE", "write EPIPE"],
};

const encoder = new TextEncoder();

function bytesOf(piece: Piece[1]): Uint8Array<ArrayBuffer> {
  return typeof piece === "string" ? encoder.encode(piece) : new Uint8Array(Buffer.from(piece.base64, "base64"));
}
