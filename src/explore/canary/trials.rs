//! Each canary with a scenario in which its oracle catches it and no other has anything to say, and with the interrupts that it takes.
//!
//! They run with `engine.result_order = "tool_use"`: a result that was swapped on its way out would else be in another order in the next request, which O-1 sees too.

use super::super::interrupt::InjectionKind;

/// A scenario that gives a canary its chance.
#[derive(Clone, Copy, Debug)]
pub struct CanaryTrial {
    /// The canary's name.
    pub canary: &'static str,
    /// The shipped scenario.
    pub scenario: &'static str,
    /// The injections of its sweep.
    pub kinds: &'static [InjectionKind],
}

const fn trial(canary: &'static str, scenario: &'static str, kinds: &'static [InjectionKind]) -> CanaryTrial {
    CanaryTrial { canary, scenario, kinds }
}

/// All of them.
pub const CANARY_TRIALS: &[CanaryTrial] = &[
    trial("drop-result-from-request", "query/read-one-file", &InjectionKind::ALL),
    trial("swap-results-in-request", "executor/arrival-results", &InjectionKind::ALL),
    trial("invent-result-in-request", "session/hello", &InjectionKind::ALL),
    trial("text-before-results", "query/read-one-file", &InjectionKind::ALL),
    trial("drop-result", "query/read-one-file", &InjectionKind::ALL),
    trial("double-result", "query/read-one-file", &InjectionKind::ALL),
    trial("drop-results-after-cancel", "query/read-one-file", &[InjectionKind::Cancel]),
    trial("call-all-tools-safe", "executor/batches", &InjectionKind::ALL),
    trial("forget-the-cap", "executor/cap", &InjectionKind::ALL),
    trial("drop-tombstone", "world/faults/cut-after-content", &InjectionKind::ALL),
    trial("keep-signatures", "fallback/three-529s", &InjectionKind::ALL),
    trial("error-before-recovery", "query/output-limit-escalated", &InjectionKind::ALL),
    trial("double-terminal", "session/hello", &InjectionKind::ALL),
    trial("drop-terminal", "session/hello", &[]), // a cancelled prompt without a terminal did not end in time either
    trial("result-after-terminal", "session/hello", &InjectionKind::ALL),
    trial("request-after-terminal", "session/hello", &InjectionKind::ALL),
    trial("hide-retry-after", "world/faults/rate-limited", &InjectionKind::ALL),
    trial("drop-retry-notice", "call/overloaded", &InjectionKind::ALL),
    trial("send-empty-text", "query/read-one-file", &InjectionKind::ALL),
    trial("drop-cancel", "session/hello", &[InjectionKind::Cancel]),
    trial("request-after-cancel", "session/hello", &[InjectionKind::Cancel]),
    trial("grow-after-compaction", "compaction/reactive", &InjectionKind::ALL),
    trial("repeat-too-long", "call/prompt-too-long", &InjectionKind::ALL),
    trial("forget-the-turn-limit", "budget/max-turns", &InjectionKind::ALL),
    trial("forget-the-money", "budget/spent-by-agents", &[]), // each agent alone stays within the budget
    trial("delay-progress", "executor/progress", &InjectionKind::ALL),
    trial("swap-results", "executor/arrival-results", &InjectionKind::ALL),
    trial("tell-fresh-events", "session/hello", &InjectionKind::ALL),
    trial("count-across-copies", "session/hello", &InjectionKind::ALL),
    trial("drop-repetition", "fallback/streaming", &InjectionKind::ALL),
    trial("keep-timers", "session/hello", &InjectionKind::ALL),
    trial("keep-requests-open", "session/hello", &[InjectionKind::Cancel]),
    trial("invent-interruption", "session/hello", &InjectionKind::ALL),
    trial("hold-first-start", "executor/context-change", &[]), // an interrupt stops the tool that was never started
    trial("tell-never-run", "query/read-one-file", &[InjectionKind::Cancel]),
    trial("stamp-first-message", "query/read-one-file", &InjectionKind::ALL),
    trial("allow-what-is-refused", "permission/refused", &[]),
    trial("cancel-later-prompts", "session/two-prompts", &[]), // after a real cancel the invented one is without its message
    trial("replace-result", "query/read-one-file", &InjectionKind::ALL),
    trial("hide-starts", "query/read-one-file", &InjectionKind::ALL),
    trial("change-input", "query/read-one-file", &InjectionKind::ALL),
    trial("hide-denial", "hook/denies", &[]),
    trial("miscount-tokens", "session/hello", &InjectionKind::ALL),
    trial("answer-without-run", "query/read-one-file", &InjectionKind::ALL),
    trial("keep-late-result", "query/read-one-file", &[InjectionKind::Cancel]),
    trial("reword-answer", "query/read-one-file", &InjectionKind::ALL),
    trial("forget-recoveries", "query/output-limit-recovered", &InjectionKind::ALL),
    trial("recover-once-more", "query/output-limit", &InjectionKind::ALL),
    trial("summarise-with-tools", "compaction/reactive", &InjectionKind::ALL),
    trial("clear-new-results", "compaction/microcompact-local", &InjectionKind::ALL),
    trial("forget-failures", "compaction/three-failures-open-the-breaker", &InjectionKind::ALL),
    trial("give-up-early", "retry/ten-retries", &InjectionKind::ALL),
    trial("hurry-retries", "call/overloaded", &InjectionKind::ALL),
    trial("hand-over-early", "fallback/three-529s", &InjectionKind::OF_USER),
    trial("sleep-on", "retry/outage-without-end", &InjectionKind::ALL),
    trial("forget-the-rules", "permission/mode-plan", &InjectionKind::ALL),
    trial("forget-the-rules", "permission/rules", &[]), // what is started then needs no stop that an interrupt would give
    trial("hide-denial", "hook/asks", &[]),
    trial("hide-denial", "hook/stops-the-turn-before-its-end", &[]),
    trial("hide-denial", "query/stop-hook-blocking", &[]),
    trial("hide-denial", "query/stop-hook-prevented", &[]),
    trial("hide-denial", "compaction/a-hook-prevents-it", &[]),
    trial("drop-hook-context", "hook/adds-context", &InjectionKind::ALL),
    trial("drop-hook-context", "query/stop-hook-context", &InjectionKind::ALL),
    trial("swap-messages", "session/two-messages-wait", &[]),
    trial("call-all-interruptible", "query/read-one-file", &[]), // it stops for an interrupt then
    trial("keep-task-budget", "compaction/task-budget", &InjectionKind::ALL),
    trial("forget-the-size-limit", "pipeline/stored", &InjectionKind::ALL),
    trial("forget-interruption", "session/two-prompts", &[InjectionKind::Cancel]),
    trial("spin", "session/hello", &[]), // a prompt that is over leaves the timer set
    trial("hurry-the-watchdog", "session/hello", &InjectionKind::ALL),
    trial("begin-with-another-model", "session/two-prompts", &InjectionKind::ALL),
    trial("tighten-the-size-limit", "pipeline/stored", &[]),
    trial("report-after-stop", "query/read-one-file", &[InjectionKind::Cancel]),
    trial("change-structured-output", "session/structured-output", &[]),
    trial("forget-the-hooks", "hook/slow", &[]),
    trial("hide-refusal", "query/refusal", &[]),
    trial("summarise-never", "compaction/auto", &[]),
];
