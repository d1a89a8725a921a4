// Agents made of the official SDK and of the AI SDK, as short as they can be and right: what a prompt, a cancel and a message are in each.
//
// Copy one and change it, or use it as it is. Each keeps its history valid when it is cancelled: every tool use gets a result, and an answer that was
// cut off leaves nothing behind.

import type { createAnthropic } from "@ai-sdk/anthropic";
import type AnthropicClient from "@anthropic-ai/sdk";
import type { ModelMessage, streamText, ToolSet } from "ai";
import type { AgentFactory, Session } from "./session.js";

type MessageParam = AnthropicClient.MessageParam;
type ResultParam = AnthropicClient.ToolResultBlockParam;

const CANCELLED = "The user cancelled this.";

/** `@anthropic-ai/sdk`: `anthropicAgent(Anthropic)`. A message goes behind the results of the tools that run, else to the next request. */
export function anthropicAgent(Anthropic: typeof AnthropicClient): AgentFactory {
  return (session) => {
    const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl });
    const history: MessageParam[] = [];
    const messages: string[] = [];
    const ask = { model: session.model, max_tokens: session.maxTokens, tools: session.tools as AnthropicClient.Tool[] };
    const use = async ({ id, name, input }: AnthropicClient.ToolUseBlock, signal: AbortSignal): Promise<ResultParam> => {
      const failed = (text: string) => ({ content: text, isError: true });
      const { content, isError } = await session.tool(id, name, input, signal).catch(() => failed(CANCELLED));
      return { type: "tool_result", tool_use_id: id, content, is_error: isError };
    };
    const reply = async (text: string, signal: AbortSignal) => {
      history.push({ role: "user", content: text });
      for (;;) {
        signal.throwIfAborted();
        const answer = await client.messages.stream({ ...ask, messages: history }, { signal }).finalMessage();
        const uses = answer.content.filter((block) => block.type === "tool_use");
        // `use` never fails: a tool use comes into the history together with its result, whatever happens meanwhile.
        const results = await Promise.all(uses.map((block) => use(block, signal)));
        const said = messages.splice(0).map((message) => ({ type: "text" as const, text: message }));
        history.push({ role: "assistant", content: answer.content });
        if (results.length + said.length === 0) return answer.content.map((block) => (block.type === "text" ? block.text : "")).join("");
        history.push({ role: "user", content: [...results, ...said] });
      }
    };
    // A prompt that comes while another unwinds waits for it: the history is in the order in which things were said.
    let last: Promise<unknown> = Promise.resolve();
    const prompt = (text: string, signal: AbortSignal) => {
      const answer = last.then(() => reply(text, signal));
      last = answer.catch(() => undefined);
      return answer;
    };
    return { prompt, message: (text) => void messages.push(text) };
  };
}

interface AiSdk {
  streamText: typeof streamText;
  tool: (definition: never) => unknown;
  jsonSchema: (schema: never) => unknown;
  isStepCount?: (steps: number) => unknown;
  stepCountIs?: (steps: number) => unknown;
}

/** The scenario's tools as the AI SDK defines them. */
export function aiTools(ai: AiSdk, session: Session): ToolSet {
  const define = ai.tool as (definition: unknown) => ToolSet[string];
  const schema = ai.jsonSchema as (schema: unknown) => unknown;
  const tools = session.tools.map(({ name, description, input_schema }) => {
    const execute = async (input: unknown, { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal }) => {
      const { content, isError } = await session.tool(toolCallId, name, input, abortSignal);
      if (isError) throw new Error(content);
      return content;
    };
    return [name, define({ description, inputSchema: schema(input_schema), execute })] as const;
  });
  return Object.fromEntries(tools);
}

/**
 * The AI SDK: `aiSdkAgent(ai, createAnthropic)` with `import * as ai from "ai"`. A message goes behind the next step's messages. What a cancelled
 * prompt had not finished is forgotten.
 */
export function aiSdkAgent(ai: AiSdk, create: typeof createAnthropic): AgentFactory {
  return (session) => {
    const model = create({ apiKey: "none", baseURL: `${session.baseUrl}/v1` })(session.model);
    const stopWhen = (ai.isStepCount ?? ai.stepCountIs)?.(20) as Parameters<typeof streamText>[0]["stopWhen"];
    const history: ModelMessage[] = [];
    const said: ModelMessage[] = [];
    const prompt = async (text: string, abortSignal: AbortSignal) => {
      const asked: ModelMessage = { role: "user", content: text };
      const errors: unknown[] = [];
      let heard = 0;
      const prepareStep = ({ messages }: { messages: ModelMessage[] }) => {
        heard = said.length;
        return { messages: [...messages, ...said] };
      };
      const limits = { abortSignal, stopWhen, maxOutputTokens: session.maxTokens };
      const messages = [...history, asked];
      const onError = ({ error }: { error: unknown }) => void errors.push(error);
      const result = ai.streamText({ ...limits, model, messages, tools: aiTools(ai, session), prepareStep, onError });
      await result.consumeStream({ onError: (error) => void errors.push(error) });
      abortSignal.throwIfAborted();
      if (errors.length > 0) throw errors[0];
      // `response` is that of the last step from version 7 on; before it had the messages of all steps.
      const ofAllSteps = (result as { responseMessages?: PromiseLike<ModelMessage[]> }).responseMessages;
      const answered = ofAllSteps === undefined ? (await result.response).messages : await ofAllSteps;
      history.push(asked, ...said.splice(0, heard), ...answered);
      return await result.text;
    };
    return { prompt, message: (text) => void said.push({ role: "user", content: text }) };
  };
}
