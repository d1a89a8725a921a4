//! The list of all oracles: a scenario may say that it breaks one, each has a canary, and each counts how often it was asked.

use super::{
    abort, abort_scope, accounts, budgets, compaction, discarded_attempts, interruption, leftovers, livelock, nothing_lost, order, overlap,
    pairs, progress_set, rechunked_runs, recoveries, repeated_effects, repeated_requests, results, retry, retry_decisions, run_end,
    said_blocks, signatures, stable_prefix, summaries, terminal, tool_starts, truthful_results, unrun_tools, validity, withheld_errors,
};

/// The oracles that there are, each with what it holds.
pub const ORACLES: &[(&str, &str)] = &[
    (pairs::ORACLE, "in every request each tool use has exactly one result, first in the next turn, in the order of the tool uses"),
    (results::ORACLE, "every emitted tool use has exactly one emitted result by the end of its prompt"),
    (overlap::ORACLE, "no exclusive tool overlaps any other, and no more tools run at once than allowed"),
    (tool_starts::ORDER, "around exclusive tools, tools start in the order in which the model asked for them"),
    (discarded_attempts::ORACLE, "nothing of a discarded attempt comes out after the discard, and what was emitted of it is taken back"),
    (signatures::ORACLE, "no request holds thinking that another model signed"),
    (withheld_errors::ORACLE, "an error with a recovery is never emitted, any other error exactly once"),
    (terminal::ORACLE, "every prompt has exactly one terminal, and nothing of it comes after"),
    (retry::ORACLE, "attempts are numbered in order, and waits are announced, kept, and never shorter than the server asks"),
    (validity::ORACLE, "the API accepts every request"),
    (abort::ORACLE, "after an abort the prompt ends within the grace of its tools, with no new request and no new tool"),
    (
        compaction::ORACLE,
        "a compaction makes the context smaller, and a request that was too long is not repeated, neither unchanged nor in circles",
    ),
    (
        budgets::ORACLE,
        "no request after a budget is passed, a compaction takes its size from the task budget, and results are cut where they are too large, and only there",
    ),
    (
        order::ORACLE,
        "progress precedes its result, a tool that was told to stop shows no more of it, and results respect the order of emission",
    ),
    (rechunked_runs::ORACLE, "the transcript does not depend on how answers are cut into chunks"),
    (repeated_requests::ORACLE, "the same inputs give the same transcript, in a copied run as in one from the start"),
    (repeated_effects::ORACLE, "no exclusive tool that had finished in a discarded attempt is silently run again"),
    (run_end::ORACLE, "once faults stop, the run comes to a terminal for every prompt"),
    (livelock::ORACLE, "a run gets on: timers do not ring at one instant without end"),
    (truthful_results::ORACLE, "the model is not told of a tool that was started that it was never run"),
    (stable_prefix::ORACLE, "each request begins with the one before, unless an edit was announced"),
    (
        tool_starts::CONSENT,
        "a tool starts after the person's word for that tool use, and as the rules of permissions say; nobody is asked without need",
    ),
    (abort_scope::ORACLE, "an abort ends what it was pressed in, and nothing that began later"),
    (
        nothing_lost::ORACLE,
        "what the user said, what a person answered, what a hook adds and what a tool returned is in a later request or result",
    ),
    (
        tool_starts::INPUT,
        "a tool is started with the input of one whole block of one answer, read strictly; structured output is such an input",
    ),
    (
        tool_starts::HOOKS,
        "hooks are asked and decide together: no start after a denial, no end after an objection, nothing after a stop; the last hook that is defined wins with its input",
    ),
    (leftovers::ORACLE, "at a terminal nothing is left open, and no timer is set when all is over"),
    (said_blocks::ORACLE, "a request gives back as the model's words what the model said, byte for byte, and nothing of a refusal"),
    (progress_set::ORACLE, "the set of tool uses in progress and the interruptible flag are true at each change"),
    (interruption::ORACLE, "the interruption message appears where a cancel ended a prompt, nowhere else, and in the next request"),
    (
        retry_decisions::ORACLE,
        "repetitions, their waits, and hand-overs are those of the stated settings; a prompt begins with its own model",
    ),
    (accounts::ORACLE, "usage and cost of a result are what its answers told, and nothing begins when the money is spent"),
    (unrun_tools::ORACLE, "a tool use that was answered without having run has a reason, and a stopped tool's words are not its result"),
    (recoveries::ORACLE, "a recovery that is on is tried, as often as its rule says and no more often"),
    (
        summaries::ORACLE,
        "a request for a summary comes when it is due, has no tools, its tries have their bound, and the newest results are not cleared",
    ),
];

/// The parts of an agent that must be seen before an oracle can be asked (G-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleNeeds {
    /// Its requests and their answers.
    Wire,
    /// The notes that a client in virtual time sends of itself: these.
    Notes(&'static str),
    /// The inputs and effects of an engine.
    Engine,
}

/// The needs of an oracle.
pub fn needs(oracle: &str) -> OracleNeeds {
    match oracle {
        pairs::ORACLE | signatures::ORACLE | validity::ORACLE | stable_prefix::ORACLE => OracleNeeds::Wire,
        terminal::ORACLE => OracleNeeds::Notes("`prompt` and `terminal`"),
        repeated_effects::ORACLE => OracleNeeds::Notes("`tool_start`"),
        livelock::ORACLE => OracleNeeds::Notes("`prompt`"),
        nothing_lost::ORACLE => OracleNeeds::Notes("`prompt` and `message`"),
        abort::ORACLE => OracleNeeds::Notes("`cancel` and `terminal`"),
        leftovers::ORACLE => OracleNeeds::Notes("`terminal`"),
        _ => OracleNeeds::Engine,
    }
}
