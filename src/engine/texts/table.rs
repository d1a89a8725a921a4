//! The table of texts for the model: a name, our words, and the words of real clients where those are known (T-31).
//!
//! In curly brackets stand the parts that are put in. `docs/texts.md` shows the table; a test holds it.

use serde::{Deserialize, Serialize};

macro_rules! texts {
    ($(#[doc = $doc:literal] $name:ident $key:ident: $ours:literal $(observed $observed:literal)?;)+) => {
        /// A text that the model sees from the engine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum TextName {
            $(#[doc = $doc] $name,)+
        }

        impl TextName {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The word that scenarios use.
            pub fn key(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($key),)+
                }
            }

            /// When it is said.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $doc.trim_ascii(),)+
                }
            }

            /// Our words.
            pub fn ours(self) -> &'static str {
                match self {
                    $(Self::$name => $ours,)+
                }
            }

            /// The words that real clients were seen to send; `None` where that was not observed.
            pub fn observed(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => [$($observed,)?].first().copied(),)+
                }
            }
        }
    };
}

texts! {
    /// The system prompt, where the scenario sets none (S-2).
    SystemPrompt system_prompt: "You are a helpful agent. Use the tools that you are given when they serve the task.";
    /// Follows the system prompt where `memory` is set (S-2).
    MemoryPrompt memory_prompt: "Notes from earlier sessions are kept as memory files; read them before you rely on them, and keep them short.";
    /// There is no such tool (T-2).
    UnknownTool unknown_tool: "No tool named {tool} is available. Available tools: {tools}."
        observed "<tool_use_error>Error: No such tool available: {tool}</tool_use_error>";
    /// The input is no JSON (T-21).
    InvalidJson invalid_json: "The input of {tool} is not valid JSON: {problem}. Call the tool again with a complete JSON object.";
    /// The input does not fit the tool's schema (T-21).
    InvalidInput invalid_input: "The input of {tool} does not fit its schema:\n{problems}\nCall the tool again with an input that fits."
        observed "<tool_use_error>InputValidationError: {tool} failed due to the following issues:\n{problems}</tool_use_error>";
    /// A hook put something into the input's place that is no JSON (T-23).
    HookInvalidJson hook_invalid_json: "A hook changed the input of {tool} to what is not valid JSON, so it was not called: {problem}.";
    /// A hook put an input there that does not fit (T-23).
    HookInvalidInput hook_invalid_input: "A hook changed the input of {tool} to one that does not fit its schema, so it was not called:\n{problems}";
    /// A person put something into the input's place that is no JSON (T-24).
    UserInvalidJson user_invalid_json: "The user changed the input of {tool} to what is not valid JSON, so it was not called: {problem}.";
    /// A person put an input there that does not fit (T-24).
    UserInvalidInput user_invalid_input: "The user changed the input of {tool} to one that does not fit its schema, so it was not called:\n{problems}";
    /// A hook denies the call and gives no reason (T-23).
    HookDenied hook_denied: "A hook did not allow this call of {tool}.";
    /// A hook denies the call and says why (T-23).
    HookDeniedBecause hook_denied_because: "A hook did not allow this call of {tool}: {reason}";
    /// A rule, the mode or the tool itself denies the call (T-24).
    NotPermitted not_permitted: "This call of {tool} is not permitted: {reason}.";
    /// The reason of a rule that denies (T-24).
    ReasonRule reason_rule: "rule {rule} of {source} says deny";
    /// The reason of plan mode (P-1).
    ReasonPlanMode reason_plan_mode: "in plan mode only tools that read may run";
    /// The reason of a command that a tool of its own could do (P-2).
    ReasonDedicatedTool reason_dedicated_tool: "{tool} does what {program} does: use that tool";
    /// The reason of a tool that gives none (T-22).
    ReasonTool reason_tool: "the tool does not allow this input";
    /// A person refuses the call and gives no reason (T-24).
    UserRefused user_refused: "The user refused this call of {tool}.";
    /// A person refuses the call and says why (T-24).
    UserRefusedBecause user_refused_because: "The user refused this call of {tool}: {reason}";
    /// A call ended without a result (T-25).
    NoResult no_result: "{tool} ended without a result.";
    /// Stands behind the result of a tool that aborts itself (T-32).
    AbortedItself aborted_itself: "The call ended the turn: {reason}";
    /// Stands behind the beginning of a result that was stored (T-27).
    ResultStored result_stored: "[This result has {characters} characters. The first {shown} are shown; all of it is in {path}.]";
    /// Stands behind the beginning of a result that could not be stored (T-27).
    ResultCut result_cut: "[{left_out} of {characters} characters were left out here: there is no place to store them.]";
    /// A parallel call failed (T-13, T-16).
    SiblingFailed sibling_failed: "Cancelled: the parallel tool call {call} failed.";
    /// The answer that asked for the call was lost (T-16, T-19).
    Discarded discarded: "Tool execution discarded: the answer that asked for it was lost before it was complete.";
    /// Another model took over before there was a result.
    Fallback fallback: "Tool execution discarded: fallback to another model was triggered before there was a result.";
    /// The money was spent before there was a result (S-10).
    BudgetSpent budget_spent: "Tool execution stopped: the budget of this session is used up.";
    /// Nobody waits for the agent any more that made the call (B-8).
    AgentUnneeded agent_unneeded: "Tool execution stopped: nobody waits for the result of this agent any more.";
    /// The user cancelled before there was a result (T-16).
    UserRejected user_rejected: "The user rejected this tool call. Stop what you are doing and wait for the user to say how to go on."
        observed "The user doesn't want to proceed with this tool use.";
    /// The user cancelled while the model answered.
    Interrupted interrupted: "[The user interrupted.]"
        observed "[Request interrupted by user]";
    /// The user cancelled while tools ran.
    InterruptedTools interrupted_tools: "[The user interrupted while tools ran.]"
        observed "[Request interrupted by user for tool use]";
    /// An earlier session ended before the result was recorded (S-3).
    ResultUnknown result_unknown: "The session ended before the result of this tool use was recorded. It may or may not have run."
        observed "[Tool call interrupted: the session ended before this call's result was recorded]";
    /// The text of a hook for the model (T-23, T-26, Q-16).
    HookContext hook_context: "Hook {hook} says: {text}";
    /// A hook objects after the call (T-26).
    HookObjection hook_objection: "A hook objects: {reason}";
    /// A stop hook objects and gives no reason.
    StopHookObjection stop_hook_objection: "A stop hook objects, and does not say why.";
    /// Asks to go on after the output limit.
    OutputLimit output_limit: "The answer reached the output limit. Go on exactly where it stopped, without apology and without saying again what was said; break \
         what is left into smaller pieces."
        observed "Output token limit hit. Resume directly — no apology, no recap of what you were doing.";
    /// Asks to go on after a stream that was cut inside a tool use.
    CutOff cut_off: "The stream of your answer above broke off. Go on exactly where it stopped, without saying again what was said."
        observed "Your response above was cut off mid-stream. Resume directly from where it stops — no apology, no recap.";
    /// Says that the answer was refused, and asks again.
    RefusalNote refusal_note: "Your answer above was stopped because it was refused. Go on in another way, or say what you cannot do."
        observed "Your response above was stopped by a safety classifier — this is not a tool or API error.";
    /// The answer that asked for the call was refused before there was a result.
    RefusedToolUse refused_tool_use: "Tool execution stopped: the answer that asked for it was refused."
        observed "Interrupted: the response that made this tool call was stopped by a safety classifier.";
    /// Asks again after an answer without content.
    NoOutput no_output: "Your last answer had no visible output. Answer the user, or go on with the task.";
    /// Asks again after an answer that announced a tool use and held none.
    NoToolUse no_tool_use: "Your last answer announced a tool call and held none, so it was taken back. Make the call, or answer without one.";
    /// A message of the user's that waited for a tool, where it stands in the tool's result.
    QueuedMessage queued_message: "The user said while the tool ran: {message}"
        observed "<system-reminder>The user sent a new message while you were working: {message}</system-reminder>";
    /// Asks to go on while the turn's tokens are not used up.
    TokenBudget token_budget: "{percent}% of the tokens for this turn are used ({used} of {budget}). Go on with the work; do not sum up.";
    /// Asks for the structured output (S-9).
    StructuredOutput structured_output: "The answer is not complete: call the tool StructuredOutput, once, with the final answer in the form that it asks for.";
    /// Stands in the place of an old result (C-2).
    ClearedResult cleared_result: "[This old result was cleared to save space.]";
    /// Asks for a summary (C-4).
    SummaryPrompt summary_prompt: "Summarise this conversation. Your summary takes its place: whoever goes on from it sees nothing else of what was said. Keep what \
         the user asked for, and the user's own words where they matter; decisions with their reasons; each file that was read or \
         changed and what in it counts; errors and what was done about them; what is finished, what is open, and the next step. \
         Answer with the summary alone, as plain text.";
    /// Follows it for each instruction of the user or a hook (C-9).
    SummaryInstruction summary_instruction: "Mind this in particular: {instruction}";
    /// Stands where the oldest rounds were left out of the summarising call (C-4).
    OlderLeftOut older_left_out: "[Older messages are left out here.]";
    /// Stands before the summary (C-4).
    SummaryHead summary_head: "What was said before is summarised here:";
    /// A file that was read, attached to the summary (C-4).
    AttachedFile attached_file: "{path} as it was last read:\n\n{content}";
    /// The plan, attached to the summary (C-4).
    AttachedPlan attached_plan: "The plan:\n\n{plan}";
    /// An invoked skill, attached to the summary (C-4).
    AttachedSkill attached_skill: "A skill that was invoked:\n\n{skill}";
    /// Stands for an answer that was nothing but thinking of another model.
    ThinkingLeftOut thinking_left_out: "[thinking left out]";
    /// Stands for an image.
    ImageLeftOut image_left_out: "[image left out]";
    /// Stands for a document.
    DocumentLeftOut document_left_out: "[document left out]";
    /// The system prompt of the request for a line on a turn's tools (S-7).
    ToolSummaryPrompt tool_summary_prompt: "You are shown the tool calls of one turn of an agent, with what came of them. Say in one line of at most ten words what they did, \
         as a person would note it in a log: what was done and to what, in the past tense, without an introduction and without a \
         full stop.";
    /// The input of a tool that makes agents is no JSON, and nobody else has checked it (B-8).
    AgentInvalidJson agent_invalid_json: "the input is not valid JSON";
    /// The input of a tool that makes agents asks for something that there is not (B-8).
    AgentInvalidInput agent_invalid_input: "The input of {tool} is not valid: {problems}.";
    /// Agents of a tool use with the same id are at work (B-8).
    AgentBusy agent_busy: "Agents of a tool use with this id are at work already.";
    /// Agents of an earlier tool use with the same id have ended (B-8).
    AgentRepeated agent_repeated: "Agents of a tool use with this id have worked already.";
    /// Begins the prompt of one of several agents (B-8).
    AgentTask agent_task: "This is task {number} of {count}.\n\n{prompt}";
    /// An agent failed (B-8).
    AgentFailed agent_failed: "The agent failed: {problem}";
    /// An agent ended without an answer (B-8).
    AgentSilent agent_silent: "The agent ended without an answer.";
    /// The reason of a tool whose agent was aborted (T-14).
    AgentAborted agent_aborted: "one of its agents was aborted";
    /// The result of one of several agents (B-8).
    AgentResult agent_result: "Result {number}:\n{text}";
    /// Asks for one answer from the results of several agents (B-8).
    Synthesis synthesis: "{count} agents worked on the same task, each by itself.\n\nThe task:\n{prompt}\n\n{results}\n\nPut the results together into one \
         answer: what they agree on once, where they differ say so.";
}
