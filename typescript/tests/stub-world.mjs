#!/usr/bin/env node
// A small stand-in for `reenact world`, so that the tests need nothing but Node: a few scenarios by name, answers as streams, faults, and the one
// rule that the API insists on, that each tool use has a result in the message after it.

import { createHash } from "node:crypto";
import { basename } from "node:path";
import { createInterface } from "node:readline";

const PROMPT = "What do a.txt and b.txt say?";
const TOOL = {
  name: "Read",
  description: "Reads a file.",
  input_schema: { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] },
};
const READS = [
  { type: "text", text: "I will read both." },
  { type: "tool_use", id: "toolu_1", name: "Read", input: { file_path: "/w/a.txt" } },
  { type: "tool_use", id: "toolu_2", name: "Read", input: { file_path: "/w/b.txt" } },
];

// fault: what happens to message requests by their number; null is none.
const SCENARIOS = {
  two: { title: "Two requests" },
  "two-prompts": {
    title: "Two prompts",
    prompts: [
      { at: 0, text: PROMPT },
      { at: 5_000_000, text: "And now?" },
    ],
  },
  cancel: { title: "Cancelled while the tools run", interrupts: [{ boundary: "answer 1 end + 0", kind: "cancel" }] },
  message: { title: "A message at a time", interrupts: [{ at: 400_000, kind: "message", text: "Be quick." }] },
  acts: { title: "A cancel that is tied to an event", watched: true },
  overloaded: { title: "529 twice", fault: (n) => (n <= 2 ? { status: 529 } : null) },
  "overloaded-for-ever": { title: "529 for ever", fault: () => ({ status: 529 }) },
  reset: { title: "Reset before any byte, once", fault: (n) => (n === 1 ? { how: "reset", cut: -1 } : null) },
  refused: { title: "Refused for ever", fault: () => ({ how: "refused", cut: -1 }) },
  cut: { title: "Reset within the stream", fault: () => ({ how: "reset", cut: 4 }) },
  close: { title: "Closed within the stream", fault: () => ({ how: "close", cut: 4 }) },
  eof: { title: "A clean end in the middle", fault: () => ({ how: "complete", cut: 4 }) },
  stall: { title: "Silence within the stream", fault: () => ({ how: null, cut: 4 }) },
  silent: { title: "No answer at all, once", fault: (n) => (n === 1 ? { how: null, cut: -1 } : null) },
  silence: { title: "No prompt", prompts: [] },
  unasked: { title: "A verdict that is not fine and says nothing", isUnasked: true },
  remarked: { title: "A verdict that is not fine and remarks something", isUnasked: true, remarks: ["turn 1.2 was never asked for"] },
  hang: { title: "A tool that hangs", hangs: true },
};

let count = 0;
const runs = new Map();
let failed = null; // the error of a line without a reply

const reply = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

createInterface({ input: process.stdin }).on("line", (text) => {
  let line;
  let wants = true;
  try {
    line = JSON.parse(text);
    wants = !(line.op === "note" || line.op === "closed") || line.reply === true;
    const answer = failed === null ? handle(line) : { error: failed };
    if (wants) {
      failed = null;
      reply(answer);
    }
  } catch (error) {
    if (wants) reply({ error: error.message });
    else failed = error.message;
  }
});

function handle(line) {
  if (line.op === "open") return open(line);
  const run = runs.get(line.run);
  if (run === undefined) throw new Error(`there is no run ${line.run}`);
  const members = Object.entries(line).filter(
    ([key]) => !["op", "run", "at", "seen", "headers", "body", "transcript", "reply"].includes(key),
  );
  const isOurs = line.op === "note" && line.kind === "boundary";
  run.lines.push([line.at, line.seen, isOurs ? `boundary ${line.boundary}` : `${line.op} ${JSON.stringify(Object.fromEntries(members))}`]);
  if (line.op === "request") return request(run, line);
  if (line.op === "tool") return tool(run, line);
  if (line.op === "end") return end(run, line);
  if (line.op === "note") return { acts: run.scenario.watched && line.kind === "tool_start" ? [{ at: line.at, kind: "cancel" }] : [] };
  if (line.op === "closed") return {};
  throw new Error(`there is no line ${line.op}`);
}

function open({ scenario: path, seed = 0, plan = "" }) {
  const name = basename(path, ".toml");
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`there is no scenario ${path}`);
  count += 1;
  const interrupts = [...(scenario.interrupts ?? []), ...planned(plan)];
  const draws = createHash("sha256").update(String(seed)).digest();
  runs.set(count, { name, scenario, plan, seed, draws, answers: 0, messages: 0, lines: [], failures: [], violations: [] });
  return {
    run: count,
    protocol: 1,
    seed,
    title: scenario.title,
    model: "claude-opus-4-6",
    max_tokens: 4000,
    prompts: scenario.prompts ?? [{ at: 0, text: PROMPT }],
    tools: [TOOL],
    interrupts,
    watches: scenario.watched ? ["tools"] : [],
    warnings: [],
  };
}

function planned(plan) {
  return plan
    .split("[[plan.interrupt]]")
    .slice(1)
    .map((part) => Object.fromEntries([...part.matchAll(/^(\w+) = (".*"|true)$/gm)].map(([, key, value]) => [key, JSON.parse(value)])))
    .map((act) => ({ ...act, kind: act.kind === "interrupt" ? "message" : act.kind }));
}

function request(run, { at, path, headers, body, method }) {
  const { draws, scenario } = run;
  const answer = ++run.answers;
  const refuse = (status, type, message) => {
    run.failures.push(`request ${answer} is refused: ${message}`);
    return errorAnswer(answer, at, status, type, message);
  };
  if (method !== "POST" || !path.startsWith("/v1/messages")) return refuse(404, "not_found_error", `no ${method} ${path}`);
  const names = headers.map(([name]) => name);
  if (!names.includes("x-api-key") && !names.includes("authorization")) return refuse(401, "authentication_error", "no key");
  const { messages, stream } = JSON.parse(body);
  const orphan = orphanOf(messages);
  if (orphan !== undefined) {
    run.violations.push({ rule: "O-1", text: `tool use ${orphan} has no result in request ${answer}`, group: "O-1 7c9e2a41" });
    return refuse(
      400,
      "invalid_request_error",
      `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${orphan}`,
    );
  }
  if (messages.some(({ content }) => content.length === 0))
    return refuse(400, "invalid_request_error", "messages: content must not be empty");
  const fault = scenario.fault?.(++run.messages) ?? null;
  if (fault?.status !== undefined) return errorAnswer(answer, at, fault.status, "overloaded_error", "Overloaded");
  const content = contentFor(messages);
  const name = String(answer);
  const start = at + 250_000 + (draws[answer % 32] ?? 0) * 1000;
  if (!stream) {
    const text = JSON.stringify(messageOf(answer, content));
    return {
      answer,
      name,
      head: head(start, 200, "application/json"),
      pieces: [[start, text]],
      end: { at: start, how: "complete" },
      acts: [],
    };
  }
  let pieces = eventsOf(answer, content).map((event, index) => [
    start + index * 20_000,
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  ]);
  if (fault === null) return { answer, name, head: head(start, 200), pieces, end: { at: pieces.at(-1)[0], how: "complete" }, acts: [] };
  const ends = (last) => (fault.how === null ? null : { at: last, how: fault.how });
  if (fault.cut < 0) return { answer, name, head: null, pieces: [], end: ends(start), acts: [] };
  pieces = pieces.slice(0, fault.cut);
  return { answer, name, head: head(start, 200), pieces, end: ends(pieces.at(-1)[0] + 1000), acts: [] };
}

const head = (at, status, type = "text/event-stream") => ({ at, status, headers: [["content-type", type]] });

function errorAnswer(answer, at, status, type, message) {
  const text = JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" });
  const when = at + 60_000;
  return {
    answer,
    name: null,
    head: head(when, status, "application/json"),
    pieces: [[when, text]],
    end: { at: when, how: "complete" },
    acts: [],
  };
}

/** The first tool use whose result is not among the first blocks of the user's turn after it. */
function orphanOf(messages) {
  const blocks = (message) => (Array.isArray(message.content) ? message.content : [{ type: "text" }]);
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const results = new Set();
    const rest = messages.slice(index + 1);
    const turn = rest.slice(0, rest.findIndex(({ role }) => role !== "user") >>> 0).flatMap(blocks);
    for (const block of turn) {
      if (block.type !== "tool_result") break;
      results.add(block.tool_use_id);
    }
    for (const block of blocks(message)) if (block.type === "tool_use" && !results.has(block.id)) return block.id;
  }
  return undefined;
}

function contentFor(messages) {
  const { content } = messages.at(-1);
  const texts = typeof content === "string" ? [content] : content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  if (texts.includes(PROMPT)) return READS;
  if (typeof content !== "string" && content.some(({ type }) => type === "tool_result"))
    return [{ type: "text", text: "They say a and b. ✓" }];
  return [{ type: "text", text: "All right." }];
}

function messageOf(answer, content) {
  const usage = { input_tokens: 10, output_tokens: 20 };
  const stop_reason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  return {
    id: `msg_${answer}`,
    type: "message",
    role: "assistant",
    model: "claude-opus-4-6",
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  };
}

function eventsOf(answer, content) {
  const message = messageOf(answer, content);
  const events = [{ type: "message_start", message: { ...message, content: [], stop_reason: null } }];
  for (const [index, block] of content.entries()) {
    const isText = block.type === "text";
    const text = isText ? block.text : JSON.stringify(block.input);
    const middle = text.length >> 1;
    events.push({ type: "content_block_start", index, content_block: isText ? { type: "text", text: "" } : { ...block, input: {} } });
    for (const part of [text.slice(0, middle), text.slice(middle)]) {
      const delta = isText ? { type: "text_delta", text: part } : { type: "input_json_delta", partial_json: part };
      events.push({ type: "content_block_delta", index, delta });
    }
    events.push({ type: "content_block_stop", index });
  }
  const { stop_reason, stop_sequence, usage } = message;
  return [...events, { type: "message_delta", delta: { stop_reason, stop_sequence }, usage }, { type: "message_stop" }];
}

function tool(run, { at, id, input }) {
  const latency = id === "toolu_1" ? 40_000 : 15_000;
  const ends_at = run.scenario.hangs && id === "toolu_2" ? null : at + latency;
  const acts = run.scenario.watched && id === "toolu_1" ? [{ boundary: "tool toolu_2 end + 0", kind: "cancel" }] : [];
  return { ends_at, content: `text of ${input?.file_path}`, is_error: false, progress: [], acts };
}

function end(run, { run: number, transcript }) {
  runs.delete(number);
  const text = run.lines
    .map(([at, seen, words]) => `${(at / 1e6).toFixed(6).padStart(12)} ${String(seen).padStart(3)}  ${words}\n`)
    .join("");
  const failures = [...run.violations.map((violation) => violation.text), ...run.failures];
  return {
    is_fine: failures.length === 0 && !run.scenario.isUnasked,
    failures,
    violations: run.violations,
    asked: ["O-1"],
    not_asked: [],
    remarks: run.scenario.remarks ?? [],
    unused: [],
    requests: [],
    digest: createHash("sha256").update(text).digest("hex"),
    ...(transcript ? { transcript: `${run.scenario.title}\n\n${text}` } : {}),
    plan: `[plan]\ndrawn_from = ${run.seed}\n\n${run.plan.slice(run.plan.indexOf("[[plan.interrupt]]") >>> 0)}`,
  };
}
