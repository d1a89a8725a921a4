// Libraries for agents, in TypeScript, as clients: each asks once or runs its loop with one tool, and prints one line on what came of it.

const MODEL = "claude-sonnet-4-5";
const PROMPT = "What does package.json say?";
const RESULT = '{"name":"demo"}';
const SCHEMA = { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] };

const LIBRARIES = {
  async "ai-sdk"(loop) {
    const { streamText, jsonSchema, stepCountIs, tool } = await import("ai");
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const anthropic = createAnthropic({ baseURL: process.env.REENACT_BASE_URL_V1 });
    let failure;
    const read = tool({ description: "Reads a file", inputSchema: jsonSchema(SCHEMA), execute: async () => RESULT });
    const result = streamText({
      model: anthropic(MODEL),
      prompt: PROMPT,
      tools: { Read: read },
      stopWhen: stepCountIs(loop ? 20 : 1),
      onError: ({ error }) => (failure = error),
    });
    let text = "";
    for await (const part of result.textStream) text += part;
    if (failure !== undefined) throw failure;
    return [await result.finishReason, loop ? await result.text : text];
  },

  async langchain(loop) {
    const { ChatAnthropic } = await import("@langchain/anthropic");
    const { HumanMessage, ToolMessage } = await import("@langchain/core/messages");
    const model = new ChatAnthropic({ model: MODEL, maxTokens: 8000, anthropicApiUrl: process.env.ANTHROPIC_BASE_URL });
    const bound = model.bindTools([{ name: "Read", description: "Reads a file", input_schema: SCHEMA }]);
    const messages = [new HumanMessage(PROMPT)];
    for (;;) {
      let whole;
      for await (const chunk of await bound.stream(messages)) whole = whole === undefined ? chunk : whole.concat(chunk);
      messages.push(whole);
      const calls = loop ? (whole.tool_calls ?? []) : [];
      if (calls.length === 0) return [whole.additional_kwargs?.stop_reason ?? whole.response_metadata?.stop_reason, whole.text];
      messages.push(...calls.map(({ id }) => new ToolMessage({ content: RESULT, tool_call_id: id })));
    }
  },
};

function failed(error) {
  // The AI SDK keeps what failed last in an error of its own.
  const last = error.lastError ?? error;
  const known = last.statusCode ?? last.status ?? last.error?.error?.type;
  // What is wrong with a text that is no JSON, each version of Node says in its own words. Of a long message nothing is compared.
  const message = /JSON at position|Unterminated/.test(last.message) ? "no JSON" : last.message.length < 60 ? last.message : undefined;
  return [last.constructor.name, known ?? message].filter((part) => part !== undefined).join(", ");
}

try {
  const [stopReason, text] = await LIBRARIES[process.argv[2]](process.argv[3] === "loop");
  console.log("outcome:", [stopReason ?? "no stop reason", JSON.stringify(text)].join(", "));
} catch (error) {
  console.log("outcome:", failed(error));
}
