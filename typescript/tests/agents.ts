// Agent loops for the tests: one that forgets its tool uses when it is cancelled, and others around it.

import Anthropic from "@anthropic-ai/sdk";
import type { AgentFactory } from "../src/index.js";

type Message = Anthropic.MessageParam;

/** A loop as in most tutorials: what is aborted after the answer came leaves tool uses without results. */
export const naive: AgentFactory = (session) => {
  const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl });
  const history: Message[] = [];
  return {
    async prompt(text, signal) {
      history.push({ role: "user", content: text });
      for (;;) {
        const { model, maxTokens: max_tokens } = session;
        const tools = session.tools as Anthropic.Tool[];
        const answer = await client.messages.stream({ model, max_tokens, tools, messages: history }, { signal }).finalMessage();
        history.push({ role: "assistant", content: answer.content });
        const uses = answer.content.filter((block) => block.type === "tool_use");
        if (uses.length === 0) return "done";
        const results = await Promise.all(
          uses.map(async ({ id, name, input }) => {
            const { content, isError } = await session.tool(id, name, input, signal);
            return { type: "tool_result" as const, tool_use_id: id, content, is_error: isError };
          }),
        );
        history.push({ role: "user", content: results });
      }
    },
  };
};

/** One request without tools, as a stream helper, a raw iterator, or not streamed. */
export const asking = (how: "helper" | "raw" | "whole", options: { timeout?: number; maxRetries?: number } = {}): AgentFactory => {
  return (session) => {
    const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl, ...options });
    return {
      async prompt(text, signal) {
        const ask = { model: session.model, max_tokens: 100, messages: [{ role: "user" as const, content: text }] };
        if (how === "whole") return (await client.messages.create(ask, { signal })).stop_reason;
        if (how === "helper") return (await client.messages.stream(ask, { signal }).finalMessage()).stop_reason;
        let events = 0;
        for await (const _ of await client.messages.create({ ...ask, stream: true }, { signal })) events += 1;
        return `${events} events`;
      },
    };
  };
};

/** A loop that is right when it is cancelled and waited for: its tool uses are in the history before their results are. */
export const hasty: AgentFactory = (session) => {
  const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl });
  const history: Message[] = [];
  return {
    async prompt(text, signal) {
      history.push({ role: "user", content: text });
      for (;;) {
        const ask = { model: session.model, max_tokens: session.maxTokens, messages: history };
        const answer = await client.messages.stream(ask, { signal }).finalMessage();
        history.push({ role: "assistant", content: answer.content });
        const uses = answer.content.filter((block) => block.type === "tool_use");
        if (uses.length === 0) return;
        const results = uses.map(async ({ id, name, input }) => {
          const { content } = await session.tool(id, name, input, signal).catch(() => ({ content: "cancelled" }));
          return { type: "tool_result" as const, tool_use_id: id, content };
        });
        history.push({ role: "user", content: await Promise.all(results) });
        signal.throwIfAborted();
      }
    },
  };
};

/** A careful loop with one defect: `rollback` takes the last message back when a request fails, also the results of tools; `impatient` asks again when
 * its first tool has ended, which is usually the last; `stubborn` asks again for ever. */
export const careful = (defect?: "rollback" | "impatient" | "stubborn"): AgentFactory => {
  return (session) => {
    const client = new Anthropic({ apiKey: "none", baseURL: session.baseUrl });
    const history: Message[] = [];
    const ask = async (signal: AbortSignal): Promise<Anthropic.Message> => {
      const { model, maxTokens: max_tokens } = session;
      try {
        const tools = session.tools as Anthropic.Tool[];
        return await client.messages.stream({ model, max_tokens, tools, messages: history }, { signal }).finalMessage();
      } catch (error) {
        if (defect === "rollback" && !signal.aborted) history.pop();
        if (defect !== "stubborn" || signal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, 1000));
        return ask(signal);
      }
    };
    return {
      async prompt(text, signal) {
        history.push({ role: "user", content: text });
        for (;;) {
          const answer = await ask(signal);
          const uses = answer.content.filter((block) => block.type === "tool_use");
          const results: Anthropic.ToolResultBlockParam[] = [];
          const runs = uses.map(async ({ id, name, input }) => {
            const { content } = await session.tool(id, name, input, signal).catch(() => ({ content: "cancelled" }));
            results.push({ type: "tool_result", tool_use_id: id, content });
          });
          await (defect === "impatient" && !signal.aborted ? runs[0] : Promise.all(runs));
          if (signal.aborted) await Promise.all(runs);
          history.push({ role: "assistant", content: answer.content });
          if (uses.length === 0) return;
          history.push({ role: "user", content: [...results] });
          signal.throwIfAborted();
        }
      },
    };
  };
};
