// What an agent's factory gets: where the API is, what the scenario says, and the scripted tools.

import type { Moment } from "./moment.js";
import { BASE_URL } from "./network.js";
import type { ToolAnswer, ToolDefinition } from "./protocol.js";
import { runOver } from "./scope.js";

/** An agent as a run sees it. */
export interface Agent {
  /** Answers a prompt, however many requests that takes. A cancel aborts the signal. */
  prompt(text: string, signal: AbortSignal): Promise<unknown>;
  /** Takes a message of the user while a prompt is answered. */
  message?(text: string): void;
}

/** Makes an agent anew for each run: its client, its history, its state. */
export type AgentFactory = (session: Session) => Agent | Promise<Agent>;

export interface ToolResult {
  content: string;
  isError: boolean;
}

class RunningTool {
  readonly id: string;
  readonly stop: (reason: unknown) => void;
  constructor(id: string, stop: (reason: unknown) => void) {
    this.id = id;
    this.stop = stop;
  }
}

export class Session {
  readonly baseUrl = BASE_URL;
  readonly model: string;
  readonly maxTokens: number;
  readonly prompts: string[];
  /** The scenario's tools, as requests define them. */
  readonly tools: ToolDefinition[];
  #moment: Moment;
  #running = new Set<RunningTool>();

  constructor(moment: Moment) {
    this.#moment = moment;
    this.model = moment.opened.model;
    this.maxTokens = moment.opened.max_tokens;
    this.prompts = moment.opened.prompts.map(({ text }) => text);
    this.tools = moment.opened.tools;
  }

  /** The scenario's result of a tool use, after its time. With a signal the tool stops when that is aborted, and the promise is rejected. */
  tool(id: string, name: string, input: unknown, signal?: AbortSignal): Promise<ToolResult> {
    const moment = this.#moment;
    if (moment.isOver) {
      const advice = "Make the agent inside its factory: one that is kept from one run to the next has kept the session of its run.";
      return Promise.reject(runOver(`session.tool(${JSON.stringify(id)})`, advice));
    }
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const abort = () => tool.stop(signal?.reason);
      const finish = () => {
        this.#running.delete(tool);
        signal?.removeEventListener("abort", abort);
      };
      const tool = new RunningTool(id, (reason) => {
        finish();
        if (moment.isOver) return;
        moment.agenda.drop(tool);
        this.toolEnded(id, "stopped");
        reject(reason);
      });
      this.#running.add(tool);
      signal?.addEventListener("abort", abort, { once: true });
      moment.agenda.enter(tool);
      moment.record(`tool ${id} start`, { name, input });
      moment.ask<ToolAnswer>("tool", { id, name, input }, (answer) => {
        if (answer.ends_at === null || !this.#running.has(tool)) return;
        const content = typeof answer.content === "string" ? answer.content : JSON.stringify(answer.content);
        const happen = () => {
          finish();
          resolve({ content, isError: answer.is_error });
        };
        moment.agenda.add({ at: answer.ends_at, name: `tool ${id} end`, isWorld: true, owner: tool, happen });
      });
    });
  }

  /** A tool of the agent's own starts: rules about tools are judged by this. Scripted tools say it themselves. */
  toolStarted(id: string, name: string): void {
    if (!this.#moment.isOver) this.#moment.note("tool_start", { id, name });
  }

  /** A tool of the agent's own ends. */
  toolEnded(id: string, how: "ok" | "error" | "stopped"): void {
    if (!this.#moment.isOver) this.#moment.note("tool_end", { id, how });
  }

  /** The scripted tools that run at this moment. */
  get runningTools(): string[] {
    return [...this.#running].map(({ id }) => id);
  }
}
