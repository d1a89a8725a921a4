// The official TypeScript SDK as a client: asks in the way that the command line names, and prints one line on what came of it.

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const TOOL = {
  name: "Read",
  description: "Reads a file",
  input_schema: { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] },
};
const RESULT = '{"name":"demo"}';
const ASK = {
  model: "claude-sonnet-4-5",
  max_tokens: 8000,
  messages: [{ role: "user", content: "What does package.json say?" }],
  tools: [TOOL],
};

const WAYS = {
  whole: (client) => client.messages.create(ASK),

  helper: (client) => client.messages.stream(ASK).finalMessage(),

  impatient: (client) => WAYS.helper(client.withOptions({ timeout: 1000 })),

  async iterator(client) {
    let [stop_reason, text] = [null, ""];
    for await (const event of await client.messages.create({ ...ASK, stream: true })) {
      if (event.type === "content_block_delta") text += event.delta.text;
      if (event.type === "message_delta") stop_reason = event.delta.stop_reason;
    }
    return { stop_reason, content: [{ type: "text", text }] };
  },

  async tools(client) {
    const messages = [...ASK.messages];
    for (;;) {
      const message = await client.messages.stream({ ...ASK, messages }).finalMessage();
      const calls = message.content.filter((block) => block.type === "tool_use");
      if (calls.length === 0) return message;
      messages.push({ role: "assistant", content: message.content.map(sentBack) });
      messages.push({ role: "user", content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: RESULT })) });
    }
  },

  async runner(client) {
    const { name, description, input_schema: inputSchema } = TOOL;
    const read = betaTool({ name, description, inputSchema, run: () => RESULT });
    let message;
    for await (const stream of client.beta.messages.toolRunner({ ...ASK, tools: [read], stream: true })) {
      message = await stream.finalMessage();
    }
    return message;
  },
};

function sentBack({ type, text, id, name, input }) {
  return { type, text, id, name, input };
}

function told({ stop_reason, content }) {
  const text = content.filter((block) => block.type === "text").map((block) => block.text).join("");
  const calls = content.filter((block) => block.type === "tool_use").map((call) => `${call.name} ${JSON.stringify(call.input)}`);
  return [stop_reason ?? "no stop reason", JSON.stringify(text), ...calls].join(", ");
}

function failed(error) {
  const known = [error.status, error.type].filter((part) => part !== undefined && part !== null);
  // What is wrong with a text that is no JSON, each version of Node says in its own words.
  const message = error.message.includes("JSON") ? "no JSON" : error.message;
  return [error.constructor.name, ...(known.length > 0 ? known : [message])].join(", ");
}

try {
  console.log("outcome:", told(await WAYS[process.argv[2]](new Anthropic())));
} catch (error) {
  console.log("outcome:", failed(error));
}
