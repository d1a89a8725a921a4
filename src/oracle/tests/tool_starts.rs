//! How tools may start: order (O-4), consent (O-22), input (O-25), hooks (O-26).

use super::*;
use reenact_engine::contract::HookOutcome;
use reenact_engine::permission::PermissionWord;

impl EventStory {
    pub(super) fn starts(self, name: &str, index: u32, input: &str) -> Self {
        let tool_use = ToolUse { input: ToolInput::Valid(Json::trusted(input)), ..tool_use(name, index) };
        self.effect(Effect::StartTool { run: run(index), tool_use: Arc::new(tool_use) })
    }

    pub(super) fn asks_person(self, index: u32) -> Self {
        let (reason, suggestions) = ("r".into(), Vec::new());
        self.effect(Effect::AskPermission { run: run(index), tool_use: Arc::new(tool_use("R", index)), reason, suggestions })
    }

    pub(super) fn person_says(self, index: u32, answer: PermissionAnswer) -> Self {
        self.input(Input::PermissionAnswered { run: run(index), answer: Arc::new(answer) })
    }

    pub(super) fn runs_hook(self, hook: u32) -> Self {
        let data = Json::trusted("{}");
        let told = HookInput { event: HookEvent::PreToolUse, tool: Some("R".into()), data, stop_hook_active: false };
        self.effect(Effect::RunHook { hook: HookRun { hook, subject: HookSubject::Tool(run(0)) }, input: Arc::new(told) })
    }

    pub(super) fn hook_ends(self, hook: u32, outcome: HookOutcome) -> Self {
        self.input(Input::HookEnded { hook: HookRun { hook, subject: HookSubject::Tool(run(0)) }, outcome: Arc::new(outcome) })
    }

    /// The complaints of the four oracles.
    fn about_starts(self) -> Vec<&'static str> {
        let ours = ["O-4", "O-22", "O-25", "O-26"];
        self.oracles.violations().iter().map(|violation| violation.oracle).filter(|oracle| ours.contains(oracle)).collect()
    }
}

#[test]
fn o_4_around_an_exclusive_tool_the_order_is_the_models() {
    let start = |names: [(&str, u32); 2]| {
        names.iter().fold(EventStory::new(), |story, (name, index)| story.starts(name, *index, "{}").ends(*index))
    };
    assert_eq!(start([("W", 0), ("W", 1)]).about_starts(), NONE);
    assert_eq!(start([("W", 1), ("W", 0)]).about_starts(), ["O-4"]);
    assert_eq!(start([("R", 1), ("W", 0)]).about_starts(), ["O-4"]);
    assert_eq!(start([("W", 1), ("R", 0)]).about_starts(), ["O-4"]);
    assert_eq!(start([("R", 1), ("R", 0)]).about_starts(), NONE, "safe ones start as they can");
}

#[test]
fn o_22_the_word_is_for_this_tool_use() {
    let allow = || PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
    let refuse = || PermissionAnswer::Refuse { reason: "no".into() };
    let both = || EventStory::new().asks_person(0).asks_person(1);
    assert_eq!(both().person_says(1, allow()).starts("R", 1, "{}").about_starts(), NONE);
    assert_eq!(both().person_says(1, allow()).starts("R", 0, "{}").about_starts(), ["O-22"], "the word was for the other one");
    assert_eq!(both().starts("R", 0, "{}").about_starts(), ["O-22"]);
    assert_eq!(both().person_says(0, refuse()).starts("R", 0, "{}").about_starts(), ["O-22"]);
    let withdrawn = both().effect(Effect::WithdrawPermission { run: run(0) });
    assert_eq!(withdrawn.starts("R", 0, "{}").about_starts(), NONE, "a rule that was learnt decides");
}

#[test]
fn o_25_the_input_is_that_of_a_whole_block() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t0","name":"R","input":{}}}"#;
    let delta = |piece: &str| {
        format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{piece:?}}}}}"#)
    };
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let said = |piece: &str| EventStory::new().hears(ASKED, &[start, &delta(piece), stop]);
    assert_eq!(said(r#"{"a":1}"#).starts("R", 0, r#"{"a":1}"#).about_starts(), NONE);
    assert_eq!(said(r#"{"a":1}"#).starts("R", 0, r#"{"a":2}"#).about_starts(), ["O-25"]);
    assert_eq!(said(r#"{"a":1"#).starts("R", 0, r#"{"a":1}"#).about_starts(), ["O-25"], "what the model wrote is no JSON");
    let cut = EventStory::new().hears(ASKED, &[start, &delta(r#"{"a":1}"#)]);
    assert_eq!(cut.starts("R", 0, r#"{"a":1}"#).about_starts(), ["O-25"], "the block is not whole");
    let changed = PermissionAnswer::Allow { updated_input: Some(Json::trusted(r#"{"a":3}"#)), rules: Vec::new() };
    let by_person = || said(r#"{"a":1}"#).asks_person(0).person_says(0, changed.clone());
    assert_eq!(by_person().starts("R", 0, r#"{"a":3}"#).about_starts(), NONE);
    assert_eq!(by_person().starts("R", 0, r#"{"a":1}"#).about_starts(), ["O-25"], "the person changed it");
}

#[test]
fn o_26_a_denial_wins_and_of_inputs_that_of_the_last_hook() {
    let input = |text: &str| HookOutcome { updated_input: Some(Json::trusted(text)), ..HookOutcome::default() };
    let deny = || HookOutcome { decision: Some(PermissionWord::Deny), ..HookOutcome::default() };
    let allow = || HookOutcome { decision: Some(PermissionWord::Allow), ..HookOutcome::default() };
    let both = || EventStory::new().runs_hook(0).runs_hook(1);
    let changed = || both().hook_ends(1, input(r#"{"b":2}"#)).hook_ends(0, input(r#"{"b":1}"#));
    assert_eq!(changed().starts("R", 0, r#"{"b":2}"#).about_starts(), NONE, "the second is defined last");
    assert_eq!(changed().starts("R", 0, r#"{"b":1}"#).about_starts(), ["O-26"], "the first ended last");
    assert_eq!(both().hook_ends(0, deny()).hook_ends(1, allow()).starts("R", 0, "{}").about_starts(), ["O-26"]);
    let ask = || HookOutcome { decision: Some(PermissionWord::Ask), ..HookOutcome::default() };
    assert_eq!(both().hook_ends(0, ask()).hook_ends(1, allow()).starts("R", 0, "{}").about_starts(), ["O-26"], "nobody was asked");
    let allows = PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
    assert_eq!(both().hook_ends(0, ask()).asks_person(0).person_says(0, allows).starts("R", 0, "{}").about_starts(), NONE);
    let stopped = both().hook_ends(1, allow()).effect(Effect::StopHook { hook: HookRun { hook: 0, subject: HookSubject::Tool(run(0)) } });
    assert_eq!(stopped.hook_ends(0, deny()).starts("R", 0, "{}").about_starts(), NONE, "it was too late");
}
