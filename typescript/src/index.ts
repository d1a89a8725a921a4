// An agent in virtual time: `run` plays a scenario with it, `sweep` interrupts it at every boundary, `explore` tries all plans within a budget.

export { compareRuns, NotDeterministicError } from "./compare.js";
export { Exploration, type ExploredFinding, type ExploreOptions, explore } from "./explore.js";
export { type Finding, Findings, type Group } from "./findings.js";
export type { TraceEvent } from "./moment.js";
export type { Action } from "./plan.js";
export type { Boundary, Outcome } from "./player.js";
export { ProgramError } from "./program.js";
export type { ToolDefinition, Verdict, Violation } from "./protocol.js";
export { RefusedCallError } from "./refusals.js";
export { Run, type RunOptions, run } from "./run.js";
export { RunOverError } from "./scope.js";
export type { Agent, AgentFactory, Session, ToolResult } from "./session.js";
export { type SweepOptions, sweep } from "./sweep.js";
