//! Tools in a simulated run: what each gives, and how long it takes (M-7).
//!
//! The most specific word wins: the tool use's own outcome, then the tool's, then a stated default. A run that is stopped continues while it
//! is deaf, and then gives a result that reports the stop; a later result never comes.

mod calls;
pub(crate) mod clients;
mod words;

use calls::CallArrival;
use reenact_tools::call::BuiltinCall;
use words::scripted_question;
pub(crate) use words::{outcome, said_of};

use super::arrival_slack::ArrivalSlack;
use super::choices::{ChoiceMaker, DrawnLatency};
use super::setup::RunSetup;
use super::tool_uses::ToolUseNames;
use super::workspace::SimulatedFiles;
use reenact_engine::contract::{Agent, Input, ToolOutcome, ToolRun};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::known_tools::known_tool;
use reenact_scenario::latency::Latency;
use reenact_scenario::plan::WaitKind;
use reenact_scenario::statement::{ElicitationSource, PassedStatements, Statement};
use reenact_scenario::types::{ScriptedOutcome, ScriptedProgress, StopDeafness, ToolEnding, ToolStopping};
use reenact_wire::block::ToolUse;
use reenact_wire::prelude::*;

/// Used for an unknown tool without a scripted outcome.
const USUAL_LATENCY: Latency = Latency::Uniform(Micros::from_millis(10), Micros::from_millis(100));

/// After the first of two results.
const SECOND_RESULT: Micros = Micros::from_millis(1);

/// The tools at work.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct ActiveTools {
    /// How often each tool ran, for latency tables.
    counts: Vec<(Arc<str>, usize)>,
    running: Vec<ActiveTool>,
    /// The questions of tools' servers that were asked, and answered where the scenario has an answer (F-10).
    elicited: PassedStatements,
}

/// A tool at work.
#[derive(Clone, Debug, PartialEq, Hash)]
struct ActiveTool {
    agent: Agent,
    run: ToolRun,
    performance: Arc<ToolPerformance>,
    /// From when on it does nothing but stop.
    stops: Option<Time>,
    question: ElicitationState,
    /// Its call, for a built-in tool without a result of the scenario.
    call: Option<BuiltinCall>,
}

/// How far a run is with what its server asks the user (S-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ElicitationState {
    /// Nothing was asked so far.
    Unasked,
    /// It does nothing until there is an answer.
    Open,
    Answered,
    Declined,
}

/// One run of a tool, with all choices made.
#[derive(Clone, Debug, PartialEq, Hash)]
struct ToolPerformance {
    /// Progress, never after the end.
    progress: Vec<ScriptedProgress>,
    /// When it ends, after the start; `None` for never.
    ends_after: Option<Micros>,
    /// How far from that it may end, where the scenario has a range for it.
    slack: Option<ArrivalSlack>,
    /// The outcome of the run.
    outcome: Arc<ToolOutcome>,
    /// Whether it gives that once more.
    twice: bool,
    stopping: ToolStopping,
    asks: Option<ScriptedQuestion>,
}

/// The question of its server to the user.
#[derive(Clone, Debug, PartialEq, Hash)]
struct ScriptedQuestion {
    /// When after the start; never after the end.
    after: Micros,
    message: Arc<str>,
    reply: Option<ElicitationReply>,
    /// The outcome of the run when the question is declined.
    declined: Arc<ToolOutcome>,
    /// The server that asks.
    asker: ElicitationSource,
    /// Whether the scenario says what the user does.
    is_answered: bool,
}

/// How long the user takes to answer, and the answer; `None` when the question is declined.
pub(crate) type ElicitationReply = (DrawnLatency, Option<Arc<str>>);

/// Something that a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ToolAct {
    /// It says how far it is: which entry of its progress.
    Progress(usize),
    /// Its server asks the user something.
    Asks,
    /// It ends by itself.
    Ends,
    /// It gives its result a second time.
    EndsAgain,
    /// It ends because it was stopped.
    Stops,
}

impl ActiveTools {
    /// Starts a run of the tool use.
    pub(crate) fn start(
        &mut self,
        setup: &RunSetup,
        choices: &mut ChoiceMaker<'_>,
        now: Time,
        (agent, run): (&Agent, ToolRun),
        (tool_use, files): (&ToolUse, Option<&mut SimulatedFiles>),
        names: ToolUseNames<'_>,
    ) -> Vec<(Time, ToolAct)> {
        let nth = self.count(&tool_use.name);
        let said = said_of(setup, tool_use, names);
        let mut performance = perform(setup, choices, tool_use, (names, said), nth);
        let call = files.and_then(|files| calls::begin(files, now, tool_use, said, &mut performance));
        let deeds = performance.until_it_asks(now);
        let (agent, performance) = (agent.clone(), Arc::new(performance));
        self.running.push(ActiveTool { agent, run, performance, stops: None, question: ElicitationState::Unasked, call });
        deeds
    }

    /// How far from its time the run may end by itself.
    pub(crate) fn slack(&self, agent: &Agent, run: ToolRun) -> Option<ArrivalSlack> {
        self.running.iter().find(|running| running.is(agent, run))?.performance.slack
    }

    /// The user's answer to the question of the run's server; `None` for no answer ever. A question that no scenario mentions is declined at once.
    pub(crate) fn reply_of_the_user(&mut self, agent: &Agent, run: ToolRun) -> Option<ElicitationReply> {
        let running = self.running.iter().find(|running| running.is(agent, run));
        let Some(asks) = running.and_then(|running| running.performance.asks.as_ref()) else { return Some((DrawnLatency::NOTHING, None)) };
        self.elicited.note(Statement::Elicitation(asks.asker.clone()));
        asks.reply.clone()
    }

    /// The run's server has its answer: what the run does from now on, if it waited for one.
    pub(crate) fn on_answer(&mut self, now: Time, agent: &Agent, run: ToolRun, is_given: bool) -> Vec<(Time, ToolAct)> {
        let waiting = self.running.iter_mut().find(|running| running.is(agent, run) && running.question == ElicitationState::Open);
        let Some(running) = waiting else { return Vec::new() };
        running.question = if is_given { ElicitationState::Answered } else { ElicitationState::Declined };
        running.performance.once_it_knows(now)
    }

    /// Stops a run. `None` when it has ended, is stopping already, or ignores it.
    pub(crate) fn stop(&mut self, now: Time, agent: &Agent, run: ToolRun) -> Option<(Time, ToolAct)> {
        let running = self.running.iter_mut().find(|running| running.is(agent, run) && running.stops.is_none())?;
        let ToolStopping { ignores, takes } = running.performance.stopping;
        let listens = match ignores {
            StopDeafness::No => now,
            StopDeafness::For(span) => now + span,
            StopDeafness::Forever => return None,
        };
        running.stops = Some(listens);
        Some((listens + takes, ToolAct::Stops))
    }

    /// The runs that were told to stop and have not ended: each may still come to its own end before it notices.
    pub(crate) fn stopping(&self) -> impl Iterator<Item = (&Agent, ToolRun)> {
        let is_stopping = |running: &&ActiveTool| running.stops.is_some() && !running.performance.twice;
        self.running.iter().filter(is_stopping).map(|running| (&running.agent, running.run))
    }

    /// A run comes to its own end at once, whatever it was told.
    pub(crate) fn complete(&mut self, now: Time, agent: &Agent, run: ToolRun, files: Option<&mut SimulatedFiles>) -> Option<Input> {
        let index = self.running.iter().position(|running| running.is(agent, run))?;
        let mut running = self.running.remove(index);
        let outcome = files.and_then(|files| running.finish_call(now, files)).unwrap_or_else(|| running.outcome().clone());
        Some(Input::ToolEnded { run, outcome })
    }

    /// Puts a result in place of what a run would give.
    pub(crate) fn set_outcome(&mut self, agent: &Agent, run: ToolRun, outcome: ToolOutcome) {
        if let Some(running) = self.running.iter_mut().find(|running| running.is(agent, run)) {
            Arc::make_mut(&mut running.performance).outcome = Arc::new(outcome);
            running.call = None;
        }
    }

    /// Whether a run will do this at this time: one that has ended does nothing, and one that stops does nothing else.
    pub(crate) fn awaits(&self, at: Time, agent: &Agent, run: ToolRun, deed: ToolAct) -> bool {
        self.running.iter().any(|running| running.is(agent, run) && !running.is_past(at, deed))
    }

    /// Lets a run do something: the input that it brings, if it still matters, and what it does later because of it.
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        agent: &Agent,
        run: ToolRun,
        deed: ToolAct,
        files: Option<&mut SimulatedFiles>,
    ) -> (Option<Input>, Option<(Time, ToolAct)>) {
        let Some(index) = self.running.iter().position(|running| running.is(agent, run)) else { return (None, None) };
        let running = &self.running[index];
        let ended = |outcome: &Arc<ToolOutcome>| Some(Input::ToolEnded { run, outcome: outcome.clone() });
        let outcome = match deed {
            deed if running.is_past(now, deed) => return (None, None),
            ToolAct::Asks => {
                let message = running.performance.asks.as_ref().map(|asks| asks.message.clone());
                let unanswered = running.performance.asks.as_ref().filter(|asks| !asks.is_answered);
                if let Some(asks) = unanswered {
                    self.elicited.note(Statement::Elicitation(asks.asker.clone()));
                }
                self.running[index].question = ElicitationState::Open;
                return (message.map(|message| Input::ElicitationAsked { run, message }), None);
            }
            ToolAct::Progress(nth) => {
                let progress = running.performance.progress.get(nth).cloned();
                return (progress.map(|ScriptedProgress { text, kind, .. }| Input::ToolProgress { run, text, kind }), None);
            }
            ToolAct::Ends if running.call.is_some() => match files.and_then(|files| self.running[index].step_call(now, files)) {
                Some(CallArrival::Goes(input, next)) => return (input, next),
                Some(CallArrival::Ends(outcome)) => outcome,
                None => self.running[index].outcome().clone(),
            },
            ToolAct::Ends if running.performance.twice => {
                let input = ended(running.outcome());
                self.running[index].stops = Some(now); // the second result comes whatever is said
                return (input, Some((now + SECOND_RESULT, ToolAct::EndsAgain)));
            }
            ToolAct::Ends | ToolAct::EndsAgain => running.outcome().clone(),
            ToolAct::Stops => Arc::new(ToolOutcome::error("stopped")),
        };
        self.running.remove(index);
        (ended(&outcome), None)
    }

    /// The tools whose servers asked.
    pub(crate) fn passed(&self) -> impl Iterator<Item = Statement> {
        self.elicited.iter().cloned()
    }

    fn count(&mut self, name: &Arc<str>) -> usize {
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| known == name) {
            *count += 1;
            return *count - 1;
        }
        self.counts.push((name.clone(), 1));
        0
    }
}

impl ActiveTool {
    fn is(&self, agent: &Agent, run: ToolRun) -> bool {
        self.run == run && self.agent == *agent
    }

    /// Whether it does nothing but stop by now.
    fn is_past(&self, now: Time, deed: ToolAct) -> bool {
        matches!(deed, ToolAct::Progress(_) | ToolAct::Asks | ToolAct::Ends) && self.stops.is_some_and(|from| from <= now)
    }

    /// The outcome of a run that ends by itself.
    fn outcome(&self) -> &Arc<ToolOutcome> {
        match (&self.performance.asks, self.question) {
            (Some(asks), ElicitationState::Declined) => &asks.declined,
            _ => &self.performance.outcome,
        }
    }
}

impl ToolPerformance {
    /// The acts of the run after its start: up to the question if there is one, else all of them.
    fn until_it_asks(&self, now: Time) -> Vec<(Time, ToolAct)> {
        let Some(asks) = &self.asks else { return self.deeds(now, None) };
        let mut deeds = self.deeds(now, None);
        deeds.retain(|(at, deed)| matches!(deed, ToolAct::Progress(_)) && *at <= now + asks.after);
        deeds.push((now + asks.after, ToolAct::Asks));
        deeds
    }

    /// The rest of the acts: no time has passed for the run while it waited.
    fn once_it_knows(&self, now: Time) -> Vec<(Time, ToolAct)> {
        self.deeds(now, self.asks.as_ref().map(|asks| asks.after))
    }

    /// The acts of the run later than `from` on its own clock, which shows that now.
    fn deeds(&self, now: Time, from: Option<Micros>) -> Vec<(Time, ToolAct)> {
        let at = |after: Micros| now + Micros(after.0.saturating_sub(from.unwrap_or_default().0));
        let is_left = |after: &Micros| from.is_none_or(|from| *after > from);
        let progress = (0..).zip(&self.progress).filter(|(_, progress)| is_left(&progress.at));
        let progress = progress.map(|(index, progress)| (at(progress.at), ToolAct::Progress(index)));
        progress.chain(self.ends_after.map(|after| (at(after), ToolAct::Ends))).collect()
    }
}

/// Decides what a tool use does. `nth` counts the runs of the same tool, from 0.
fn perform(
    setup: &RunSetup,
    choices: &mut ChoiceMaker<'_>,
    tool_use: &ToolUse,
    (names, said): (ToolUseNames<'_>, Option<&ScriptedOutcome>),
    nth: usize,
) -> ToolPerformance {
    let tool = setup.scenario.tools.iter().find(|tool| tool.definition.name == tool_use.name);
    let own = names.outcome;
    let latency = own
        .and_then(|outcome| outcome.latency.clone())
        .or_else(|| tool.and_then(|tool| tool.latency.clone()))
        .or_else(|| known_tool(&tool_use.name).map(|known| known.latency.clone()))
        .unwrap_or(USUAL_LATENCY);
    let DrawnLatency { takes: ends_after, slack } = choices.latency(WaitKind::Tool, names.chosen, &latency, nth);
    let ending = said.map(|said| said.ending.clone()).unwrap_or_default();
    let hangs = ending == ToolEnding::Hangs;
    let progress = said.map(|said| said.progress.clone()).unwrap_or_default();
    let no_later = |at: Micros| if hangs { at } else { at.min(ends_after) };
    ToolPerformance {
        progress: progress.into_iter().map(|progress| ScriptedProgress { at: no_later(progress.at), ..progress }).collect(),
        ends_after: (!hangs).then_some(ends_after),
        slack,
        twice: ending == ToolEnding::ReturnsTwice,
        outcome: Arc::new(outcome(said, &tool_use.name)),
        stopping: said.map(|said| said.stopping).unwrap_or_default(),
        asks: said.and_then(|said| said.asks.as_ref()).map(|asks| {
            let at = setup.scenario.tools.iter().position(|tool| tool.definition.name == tool_use.name);
            let asker =
                at.filter(|_| own.is_none()).map_or_else(|| ElicitationSource::ToolUse(names.scripted.into()), ElicitationSource::Tool);
            scripted_question(choices, names.chosen, asks, no_later(asks.after), asker)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::RequestId;
    use reenact_scenario::replies::ScriptedElicitation;
    use reenact_scenario::types::Scenario;

    use reenact_wire::block::ToolInput;
    use reenact_wire::json::Json;

    fn names(setup: &RunSetup) -> ToolUseNames<'_> {
        ToolUseNames { scripted: "toolu_1", chosen: "toolu_1", outcome: setup.outcome_of("toolu_1", None) }
    }

    const RUN: ToolRun = ToolRun { request: RequestId { prompt: 1, turn: 1, attempt: 1 }, index: 0 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Micros::from_millis(ms)
    }

    /// A run that takes 100 ms and reports after 50 ms, stopped at `stop_ms`: its inputs with their times.
    fn played(outcome: ScriptedOutcome, stop_ms: Option<u64>) -> Vec<(u64, String)> {
        let progress = vec![ScriptedProgress { at: Micros::from_millis(50), text: "half".into(), kind: None }];
        let outcome = ScriptedOutcome { latency: Some(Latency::Fixed(Micros::from_millis(100))), progress, ..outcome };
        let results = [("toolu_1".into(), outcome)].into();
        let setup = RunSetup::new(Scenario { results, ..Scenario::default() }, None).unwrap();
        let tool_use = ToolUse { id: "toolu_1".into(), name: "Read".into(), input: ToolInput::Valid(Json::trusted("{}")) };
        let mut tools = ActiveTools::default();
        let mut agenda =
            tools.start(&setup, &mut ChoiceMaker::new(&setup.scenario, None), at(0), (&Agent::ROOT, RUN), (&tool_use, None), names(&setup));
        let mut seen = Vec::new();
        let mut stop = stop_ms.map(at);
        while !agenda.is_empty() || stop.is_some() {
            agenda.sort_by_key(|(at, _)| *at);
            if stop.is_some_and(|stop| agenda.first().is_none_or(|(at, _)| *at >= stop)) {
                agenda.extend(tools.stop(stop.take().unwrap(), &Agent::ROOT, RUN));
                continue;
            }
            let (now, deed) = agenda.remove(0);
            let (input, next) = tools.arrive(now, &Agent::ROOT, RUN, deed, None);
            agenda.extend(next);
            match input {
                Some(Input::ToolProgress { text, .. }) => seen.push((now.0 / 1_000, text.to_string())),
                Some(Input::ToolEnded { outcome, .. }) => seen.push((now.0 / 1_000, format!("{} {}", outcome.is_error, outcome.content))),
                _ => (),
            }
        }
        seen
    }

    fn ok(at: u64) -> (u64, String) {
        (at, String::from("false \"fine\""))
    }

    fn stopped(at: u64) -> (u64, String) {
        (at, String::from("true \"stopped\""))
    }

    fn half() -> (u64, String) {
        (50, String::from("half"))
    }

    fn fine() -> ScriptedOutcome {
        ScriptedOutcome { content: Some(Json::from_value("fine")), ..ScriptedOutcome::default() }
    }

    #[test]
    fn m_7_a_run_that_is_told_to_stop_ends_at_once_and_only_once() {
        assert_eq!(played(fine(), None), [half(), ok(100)]);
        assert_eq!(played(fine(), Some(20)), [stopped(20)]);
        assert_eq!(played(fine(), Some(100)), [half(), stopped(100)], "at the same instant the word to stop counts");
        assert_eq!(played(fine(), Some(101)), [half(), ok(100)]);
    }

    #[test]
    fn m_7_a_deaf_run_goes_on_and_may_still_end_by_itself() {
        let of = |ignores, takes_ms| ScriptedOutcome { stopping: ToolStopping { ignores, takes: Micros::from_millis(takes_ms) }, ..fine() };
        assert_eq!(played(of(StopDeafness::For(Micros::from_millis(40)), 0), Some(20)), [half(), stopped(60)]);
        assert_eq!(played(of(StopDeafness::For(Micros::from_millis(90)), 0), Some(20)), [half(), ok(100)]);
        assert_eq!(played(of(StopDeafness::Forever, 0), Some(20)), [half(), ok(100)]);
        assert_eq!(played(of(StopDeafness::No, 95), Some(20)), [stopped(115)], "it stops slowly, and says nothing more");
    }

    #[test]
    fn m_7_hanging_panicking_and_returning_twice() {
        let of = |ending| ScriptedOutcome { ending, ..fine() };
        assert_eq!(played(of(ToolEnding::Hangs), None), [half()]);
        assert_eq!(played(of(ToolEnding::Hangs), Some(3_000)), [half(), stopped(3_000)]);
        assert_eq!(played(of(ToolEnding::ReturnsTwice), None), [half(), ok(100), ok(101)]);
        let panicked = (100, String::from("true \"the tool panicked: index out of bounds\""));
        assert_eq!(played(of(ToolEnding::Panics("index out of bounds".into())), None), [half(), panicked]);
    }

    /// The acts of a run that takes 100 ms, whose server asks after 60 ms and is answered at 1,060 ms.
    fn asked(is_given: bool, if_declined: Option<&str>, stop_ms: Option<u64>) -> Vec<(u64, String)> {
        let asks = ScriptedElicitation {
            message: "which?".into(),
            after: Micros::from_millis(60),
            if_declined: if_declined.map(Into::into),
            ..ScriptedElicitation::default()
        };
        let progress = [50, 60, 90].map(|ms| ScriptedProgress { at: Micros::from_millis(ms), text: "on".into(), kind: None }).to_vec();
        let outcome = ScriptedOutcome { latency: Some(Latency::Fixed(Micros::from_millis(100))), progress, asks: Some(asks), ..fine() };
        let setup = RunSetup::new(Scenario { results: [("toolu_1".into(), outcome)].into(), ..Scenario::default() }, None).unwrap();
        let tool_use = ToolUse { id: "toolu_1".into(), name: "Read".into(), input: ToolInput::Valid(Json::trusted("{}")) };
        let mut tools = ActiveTools::default();
        let mut agenda =
            tools.start(&setup, &mut ChoiceMaker::drawn(setup.scenario.seed), at(0), (&Agent::ROOT, RUN), (&tool_use, None), names(&setup));
        assert_eq!(tools.on_answer(at(0), &Agent::ROOT, RUN, true), [], "nothing was asked yet");
        let mut seen = Vec::new();
        let mut stop = stop_ms.map(at);
        while !agenda.is_empty() {
            agenda.sort_by_key(|(at, _)| *at);
            let (now, deed) = agenda.remove(0);
            let (input, next) = tools.arrive(now, &Agent::ROOT, RUN, deed, None);
            agenda.extend(next);
            match input {
                Some(Input::ToolProgress { text, .. }) => seen.push((now.0 / 1_000, text.to_string())),
                Some(Input::ElicitationAsked { message, .. }) => {
                    seen.push((now.0 / 1_000, message.to_string()));
                    match stop.take() {
                        Some(stop) => agenda.extend(tools.stop(stop, &Agent::ROOT, RUN)),
                        None => agenda.extend(tools.on_answer(at(1_060), &Agent::ROOT, RUN, is_given)),
                    }
                }
                Some(Input::ToolEnded { outcome, .. }) => seen.push((now.0 / 1_000, format!("{} {}", outcome.is_error, outcome.content))),
                _ => (),
            }
        }
        seen
    }

    #[test]
    fn s_11_a_run_waits_for_the_answer_and_then_needs_the_rest_of_its_time() {
        let with = |end: (u64, &str)| {
            let all = [(50, "on"), (60, "on"), (60, "which?"), (1_090, "on"), end];
            all.map(|(at, text)| (at, text.to_string())).to_vec()
        };
        assert_eq!(asked(true, Some("nothing"), None), with((1_100, "false \"fine\"")));
        assert_eq!(asked(false, Some("nothing"), None), with((1_100, "false \"nothing\"")));
        assert_eq!(asked(false, None, None), with((1_100, "true \"the user declined to answer: which?\"")));
        let stopped = [(50, "on"), (60, "on"), (60, "which?"), (80, "true \"stopped\"")];
        assert_eq!(asked(true, None, Some(80)), stopped.map(|(at, text)| (at, text.to_string())), "stopped while it waits");
    }
}
