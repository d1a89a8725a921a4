//! Hooks, people, tools' own checks and the store of results: what each answers, and when (M-7).
//!
//! Each kind of question has its own stream of draws, keyed by what is asked about, so that one more hook moves no other latency (D3). What
//! is withdrawn or stopped is forgotten: its answer never comes.

use super::arrival_slack::ArrivalSlack;
use super::choices::{ChoiceMaker, DrawnLatency};
use super::setup::RunSetup;
use super::tool_uses::ToolUseNames;
use super::tools::ElicitationReply;
use reenact_engine::contract::{
    Agent, ByAgent, Catalogue, HookOutcome, HookRun, HookSubject, Input, PermissionAnswer, ToolCheck, ToolRun, ToolUse,
};
use reenact_engine::permission::rule;
use reenact_engine::time::Time;
use reenact_scenario::plan::WaitKind;
use reenact_scenario::replies::{AT_ONCE, ScriptedReply};
use reenact_scenario::statement::{ElicitationSource, Statement};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// Everything that one agent asked.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct AgentQuestions {
    agent: Agent,
    /// How often each hook ran.
    hook_runs: Vec<(u32, usize)>,
    /// How often each `[[permission]]` was asked; `None` for questions that none of them is for.
    asked: Vec<(Option<usize>, usize)>,
    open: Vec<OpenQuestion>,
    /// How many questions there were: what arrives names its question, which may be asked again.
    count: u32,
}

/// A question that was not answered yet.
#[derive(Clone, Debug, PartialEq, Hash)]
struct OpenQuestion {
    number: u32,
    answer: Input,
    /// How far from its time the answer may come, where the scenario has a range for it.
    slack: Option<ArrivalSlack>,
}

/// The number of a question, and when it is answered; `None` for never.
type ScheduledAnswer = Option<(Time, u32)>;

impl AgentQuestions {
    /// The questions of this agent.
    pub(crate) fn for_agent<'a>(all: &'a mut ByAgent<Self>, agent: &Agent) -> &'a mut Self {
        let questions = all.entry(agent);
        questions.agent.clone_from(agent);
        questions
    }

    /// The answer to an open question.
    pub(crate) fn awaited(&self, number: u32) -> Option<&Input> {
        self.open.iter().find(|question| question.number == number).map(|question| &question.answer)
    }

    /// How far from its time the answer to an open question may come.
    pub(crate) fn slack(&self, number: u32) -> Option<ArrivalSlack> {
        self.open.iter().find(|question| question.number == number)?.slack
    }

    /// The answers of the scenario that came to pass (F-10).
    pub(crate) fn passed(&self) -> Vec<Statement> {
        let of_hook = |(hook, count): &(u32, usize)| {
            let hook = *hook as usize;
            core::iter::once(Statement::Hook(hook)).chain((1..*count).map(move |nth| Statement::HookAnswer(hook, nth))).collect::<Vec<_>>()
        };
        let of_permission = |(index, count): &(Option<usize>, usize)| {
            let (index, count) = ((*index)?, *count);
            let answers = (1..count).map(move |nth| Statement::PermissionAnswer(index, nth));
            Some(core::iter::once(Statement::Permission(index)).chain(answers).collect::<Vec<_>>())
        };
        let hooks = self.hook_runs.iter().flat_map(of_hook);
        hooks.chain(self.asked.iter().filter_map(of_permission).flatten()).collect()
    }

    /// A hook runs.
    pub(crate) fn hook(&mut self, setup: &RunSetup, choices: &mut ChoiceMaker<'_>, now: Time, hook: HookRun) -> ScheduledAnswer {
        let nth = next(&mut self.hook_runs, hook.hook);
        let scripted = setup.scenario.hooks.get(hook.hook as usize)?;
        let usual = &scripted.latency;
        let reply = nth_reply(&scripted.replies, nth);
        let outcome = says_or(reply, HookOutcome::default())?;
        let takes = choices.latency(
            WaitKind::Hook,
            &self.key(hook_key(hook)),
            reply.and_then(|reply| reply.latency.as_ref()).unwrap_or(usual),
            nth,
        );
        Some(self.open(now, takes, Input::HookEnded { hook, outcome: Arc::new(outcome) }))
    }

    /// A person is asked whether a tool may run. `name` is the tool use's among the choices of the run.
    pub(crate) fn permission(
        &mut self,
        setup: &RunSetup,
        choices: &mut ChoiceMaker<'_>,
        now: Time,
        run: ToolRun,
        tool_use: &ToolUse,
        name: &str,
    ) -> ScheduledAnswer {
        let input = Json::trusted(tool_use.input.as_str());
        let is_for = |about: &Option<Arc<str>>| about.as_ref().is_none_or(|about| rule::fits(about, &tool_use.name, &input));
        let index = setup.scenario.permissions.iter().position(|permission| is_for(&permission.about));
        let nth = next(&mut self.asked, index);
        let scripted = index.map(|index| &setup.scenario.permissions[index]);
        let reply = scripted.and_then(|scripted| nth_reply(&scripted.replies, nth));
        let answer = says_or(reply, PermissionAnswer::Allow { updated_input: None, rules: Vec::new() })?;
        let latency = reply.and_then(|reply| reply.latency.as_ref()).or(scripted.map(|scripted| &scripted.latency)).unwrap_or(&AT_ONCE);
        let takes = choices.latency(WaitKind::Permission, name, latency, nth);
        Some(self.open(now, takes, Input::PermissionAnswered { run, answer: Arc::new(answer) }))
    }

    /// A tool looks at its input. The tool use's own outcome says what it finds, else the tool's, else `usual` counts.
    pub(crate) fn check(
        &mut self,
        setup: &RunSetup,
        choices: &mut ChoiceMaker<'_>,
        now: Time,
        run: ToolRun,
        (tool_use, usual): (&ToolUse, ToolCheck),
        names: ToolUseNames<'_>,
    ) -> ScheduledAnswer {
        let said = scripted_check(setup, tool_use, names).map(|(_, reply)| reply);
        let check = says_or(said, usual)?;
        let latency = said.and_then(|reply| reply.latency.as_ref()).unwrap_or(&AT_ONCE);
        let takes = choices.latency(WaitKind::Check, names.chosen, latency, 0);
        Some(self.open(now, takes, Input::ToolChecked { run, check }))
    }

    /// A result is to be stored.
    pub(crate) fn store(&mut self, setup: &RunSetup, choices: &mut ChoiceMaker<'_>, now: Time, run: ToolRun) -> ScheduledAnswer {
        let store = &setup.scenario.store;
        if store.never_answers {
            return None;
        }
        let name = format!("p{}.r{}.a{}.t{}.txt", run.request.prompt, run.request.turn, run.request.attempt, run.index);
        let name = self.key(name);
        let path = store.folder.as_ref().map(|folder| format!("{}/{name}", folder.trim_end_matches('/')).into());
        let takes = choices.latency(WaitKind::Store, &name, &store.latency, 0);
        Some(self.open(now, takes, Input::ResultStored { run, path }))
    }

    /// Looks up skills and plugins (S-4).
    pub(crate) fn look_up(
        &mut self,
        setup: &RunSetup,
        choices: &mut ChoiceMaker<'_>,
        now: Time,
        what: Catalogue,
        prompt: u32,
    ) -> ScheduledAnswer {
        let lookups = &setup.scenario.lookups;
        if lookups.never_answers {
            return None;
        }
        let (names, latency) = match what {
            Catalogue::Skills => (&lookups.skills, &lookups.skills_latency),
            Catalogue::Plugins => (&lookups.plugins, &lookups.plugins_latency),
        };
        let takes = choices.latency(WaitKind::LookUp, &self.key(format!("{} {prompt}", what.as_str())), latency, 0);
        Some(self.open(now, takes, Input::LookedUp { what, prompt, names: names.clone().into() }))
    }

    /// A hook no longer matters.
    pub(crate) fn stop_hook(&mut self, stopped: HookRun) {
        self.open.retain(|open| !matches!(open.answer, Input::HookEnded { hook, .. } if hook == stopped));
    }

    /// A question to a person is withdrawn.
    pub(crate) fn withdraw(&mut self, withdrawn: ToolRun) {
        self.open.retain(|open| !matches!(open.answer, Input::PermissionAnswered { run, .. } if run == withdrawn));
    }

    /// The user is asked what a tool's server wants to know (S-11); `reply` is the answer and how long it takes, `None` for no answer ever.
    pub(crate) fn elicit(&mut self, now: Time, run: ToolRun, reply: Option<ElicitationReply>) -> ScheduledAnswer {
        let (takes, answer) = reply?;
        Some(self.open(now, takes, Input::ElicitationAnswered { run, answer }))
    }

    /// The question of a tool's server is withdrawn.
    pub(crate) fn withdraw_elicitation(&mut self, withdrawn: ToolRun) {
        self.open.retain(|open| !matches!(open.answer, Input::ElicitationAnswered { run, .. } if run == withdrawn));
    }

    /// Whether a question still waits for its answer.
    pub(crate) fn is_open(&self, number: u32) -> bool {
        self.open.iter().any(|open| open.number == number)
    }

    /// The answer to a question, unless it was withdrawn.
    pub(crate) fn answer(&mut self, number: u32) -> Option<Input> {
        let index = self.open.iter().position(|open| open.number == number)?;
        Some(self.open.remove(index).answer)
    }

    /// A name among those of all agents.
    fn key(&self, name: String) -> String {
        self.agent.tool_use_id().map_or_else(|| name.clone(), |agent| format!("{agent}.{name}"))
    }

    fn open(&mut self, now: Time, DrawnLatency { takes, slack }: DrawnLatency, answer: Input) -> (Time, u32) {
        self.count += 1;
        self.open.push(OpenQuestion { number: self.count, answer, slack });
        (now + takes, self.count)
    }
}

/// Where the scenario says what a tool finds that looks at this input: at the tool use with the id that it has in the scenario, else at its tool.
pub(super) fn scripted_check<'a>(
    setup: &'a RunSetup,
    tool_use: &ToolUse,
    names: ToolUseNames<'a>,
) -> Option<(ElicitationSource, &'a ScriptedReply<ToolCheck>)> {
    if let Some(check) = names.outcome.and_then(|outcome| outcome.check.as_ref()) {
        return Some((ElicitationSource::ToolUse(names.scripted.into()), check));
    }
    let (index, tool) = setup.scenario.tools.iter().enumerate().find(|(_, tool)| tool.definition.name == tool_use.name)?;
    Some((ElicitationSource::Tool(index), tool.outcome.as_ref()?.check.as_ref()?))
}

/// The n-th reply, from 0: the last one counts for all that follow; `None` without replies.
fn nth_reply<T>(replies: &[ScriptedReply<T>], nth: usize) -> Option<&ScriptedReply<T>> {
    replies.get(nth).or(replies.last())
}

/// The reply, or the usual one where the scenario has no reply; `None` when no answer comes.
fn says_or<T: Clone>(reply: Option<&ScriptedReply<T>>, usual: T) -> Option<T> {
    reply.map_or(Some(usual), |reply| reply.says.clone())
}

/// Counts, from 0.
fn next<K: PartialEq>(counts: &mut Vec<(K, usize)>, key: K) -> usize {
    if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == key) {
        *count += 1;
        return *count - 1;
    }
    counts.push((key, 1));
    0
}

/// The key of the draws of a hook's run.
fn hook_key(HookRun { hook, subject }: HookRun) -> String {
    match subject {
        HookSubject::Tool(run) => format!("{hook} tool {run}"),
        HookSubject::Stop(id) => format!("{hook} stop {id}"),
        HookSubject::Compaction(id) => format!("{hook} compaction {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::RequestId;
    use reenact_engine::hook::{HookDefinition, HookEvent};
    use reenact_engine::time::Micros;
    use reenact_scenario::latency::Latency;
    use reenact_scenario::replies::{ScriptedHook, ScriptedPermission};
    use reenact_scenario::types::Scenario;
    use reenact_wire::block::ToolInput;

    fn names(setup: &RunSetup) -> ToolUseNames<'_> {
        ToolUseNames { scripted: "toolu_1", chosen: "toolu_1", outcome: setup.outcome_of("toolu_1", None) }
    }

    const RUN: ToolRun = ToolRun { request: RequestId { prompt: 1, turn: 2, attempt: 1 }, index: 0 };

    fn setup(change: impl FnOnce(&mut Scenario)) -> RunSetup {
        let mut scenario = Scenario::default();
        change(&mut scenario);
        RunSetup::new(scenario, None).unwrap()
    }

    fn tool_use() -> ToolUse {
        ToolUse { id: "toolu_1".into(), name: "Bash".into(), input: ToolInput::Valid(Json::trusted(r#"{"command":"ls"}"#)) }
    }

    fn hook(replies: Vec<ScriptedReply<HookOutcome>>) -> RunSetup {
        let definition = HookDefinition { name: "h".into(), event: HookEvent::Stop, matcher: None, timeout: HookDefinition::TIMEOUT };
        setup(|scenario| scenario.hooks = vec![ScriptedHook { definition, latency: AT_ONCE, replies, may: false }])
    }

    const FIRST: HookRun = HookRun { hook: 0, subject: HookSubject::Stop(RequestId { prompt: 1, turn: 1, attempt: 1 }) };

    #[test]
    fn m_7_unless_something_is_said_hooks_are_silent_people_allow_and_nothing_is_stored() {
        let setup = hook(Vec::new());
        let mut questions = AgentQuestions::default();
        let answers = [
            questions.hook(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, FIRST),
            questions.permission(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, RUN, &tool_use(), "toolu_1"),
            questions.check(
                &setup,
                &mut ChoiceMaker::new(&setup.scenario, None),
                Time::ZERO,
                RUN,
                (&tool_use(), ToolCheck::default()),
                names(&setup),
            ),
            questions.store(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, RUN),
        ];
        let answers = answers.map(|answered| {
            let (at, number) = answered.unwrap();
            assert_eq!(at, Time::ZERO, "at once");
            questions.answer(number).unwrap()
        });
        let allow = PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
        assert_eq!(answers[0], Input::HookEnded { hook: FIRST, outcome: Arc::default() });
        assert_eq!(answers[1], Input::PermissionAnswered { run: RUN, answer: Arc::new(allow) });
        assert_eq!(answers[2], Input::ToolChecked { run: RUN, check: ToolCheck::default() });
        assert_eq!(answers[3], Input::ResultStored { run: RUN, path: None });
    }

    #[test]
    fn f_11_a_plan_says_also_how_long_that_takes_which_the_scenario_says_nothing_of() {
        let mut setup = hook(Vec::new());
        let planned = [
            (WaitKind::Hook, "0 stop 1"),
            (WaitKind::Permission, "toolu_1"),
            (WaitKind::Check, "toolu_1"),
            (WaitKind::Store, "p1.r2.a1.t0.txt"),
            (WaitKind::LookUp, "skills 1"),
        ];
        setup.scenario.plan.latencies = planned.map(|(of, name)| (of, [(name.into(), Micros(7))].into())).into();
        let mut questions = AgentQuestions::default();
        let mut choices = ChoiceMaker::new(&setup.scenario, None);
        let answers = [
            questions.hook(&setup, &mut choices, Time::ZERO, FIRST),
            questions.permission(&setup, &mut choices, Time::ZERO, RUN, &tool_use(), "toolu_1"),
            questions.check(&setup, &mut choices, Time::ZERO, RUN, (&tool_use(), ToolCheck::default()), names(&setup)),
            questions.store(&setup, &mut choices, Time::ZERO, RUN),
            questions.look_up(&setup, &mut choices, Time::ZERO, Catalogue::Skills, 1),
        ];
        for (answered, (_, name)) in answers.into_iter().zip(planned) {
            assert_eq!(answered.map(|(at, _)| at), Some(Time::ZERO + Micros(7)), "{name}");
        }
    }

    #[test]
    fn m_7_replies_come_in_order_and_the_last_one_repeats() {
        let context = |text: &str| HookOutcome { context: Some(text.into()), ..HookOutcome::default() };
        let says = |text| ScriptedReply { latency: None, says: Some(context(text)), may: false };
        let setup = hook(vec![says("a"), ScriptedReply { latency: None, says: None, may: false }, says("b")]);
        let mut questions = AgentQuestions::default();
        let mut ask = || {
            let (_, number) = questions.hook(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, FIRST)?;
            match questions.answer(number)? {
                Input::HookEnded { outcome, .. } => outcome.context.clone(),
                _ => None,
            }
        };
        assert_eq!([ask(), ask(), ask(), ask()], [Some("a".into()), None, Some("b".into()), Some("b".into())]);
    }

    #[test]
    fn m_7_what_is_withdrawn_or_stopped_is_never_answered() {
        let setup = hook(Vec::new());
        let mut questions = AgentQuestions::default();
        let (_, hook) = questions.hook(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, FIRST).unwrap();
        let (_, permission) =
            questions.permission(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, RUN, &tool_use(), "toolu_1").unwrap();
        questions.stop_hook(HookRun { hook: 1, ..FIRST });
        questions.withdraw(ToolRun { index: 1, ..RUN });
        assert_eq!(questions.open.len(), 2, "others are not concerned");
        questions.stop_hook(FIRST);
        questions.withdraw(RUN);
        assert!(!questions.is_open(hook) && !questions.is_open(permission));
        assert_eq!((questions.answer(hook), questions.answer(permission)), (None, None));
    }

    #[test]
    fn m_7_the_first_permission_that_fits_answers() {
        let refuse =
            |reason: &str| ScriptedReply { latency: None, says: Some(PermissionAnswer::Refuse { reason: reason.into() }), may: false };
        let permission = |about: Option<&str>, reason| ScriptedPermission {
            about: about.map(Into::into),
            latency: Latency::Fixed(Micros(5)),
            replies: vec![refuse(reason)],
            may: false,
        };
        let all = [permission(Some("Bash(rm *)"), "rm"), permission(Some("Bash"), "bash"), permission(None, "any")];
        for (from, expected) in [(0, "bash"), (1, "bash"), (2, "any")] {
            let setup = setup(|scenario| scenario.permissions = all[from..].to_vec());
            let mut questions = AgentQuestions::default();
            let (at, number) = questions
                .permission(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, RUN, &tool_use(), "toolu_1")
                .unwrap();
            let Some(Input::PermissionAnswered { answer, .. }) = questions.answer(number) else { panic!("no answer") };
            assert_eq!((at, &*answer), (Time(5), &PermissionAnswer::Refuse { reason: expected.into() }));
        }
    }

    #[test]
    fn t_27_a_result_has_a_path_of_its_own() {
        let setup = setup(|scenario| scenario.store.folder = Some("/w/.results/".into()));
        let mut questions = AgentQuestions::default();
        let (_, number) = questions.store(&setup, &mut ChoiceMaker::new(&setup.scenario, None), Time::ZERO, RUN).unwrap();
        let path = Some("/w/.results/p1.r2.a1.t0.txt".into());
        assert_eq!(questions.answer(number), Some(Input::ResultStored { run: RUN, path }));
    }
}
