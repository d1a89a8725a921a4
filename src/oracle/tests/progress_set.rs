//! The set of tool uses in progress is true, and so is the interruptible flag (O-29).

use super::*;

impl EventStory {
    fn in_progress(self, indexes: &[u32]) -> Self {
        let tool_use_ids = indexes.iter().map(|index| format!("t{index}").into()).collect();
        self.effect(Effect::Emit(Emission::InProgress { tool_use_ids }))
    }

    fn interruptible(self, is_so: bool) -> Self {
        self.effect(Effect::Emit(Emission::Interruptible(is_so)))
    }

    fn untrue(self) -> usize {
        self.input(Input::Cancel).times_broken("O-29")
    }
}

#[test]
fn o_29_a_tool_is_in_the_set_from_its_start_to_its_result() {
    let started = || EventStory::new().in_progress(&[]).asks("R", 0);
    assert_eq!(started().in_progress(&[0]).untrue(), 0);
    assert_eq!(started().untrue(), 1, "it runs");
    assert_eq!(started().in_progress(&[0, 1]).untrue(), 0, "another may be at a step before its start");
    assert_eq!(started().in_progress(&[0]).ends(0).result(0).in_progress(&[]).untrue(), 0);
    assert_eq!(started().in_progress(&[0]).ends(0).result(0).untrue(), 1, "it has its result");
    let left = || started().in_progress(&[0]).ends(0).in_progress(&[]).ends(1);
    assert_eq!(left().result(0).untrue(), 1, "its result had not come out");
    assert_eq!(left().untrue(), 0, "a result that never comes is another rule's to see");
    assert_eq!(EventStory::new().asks("R", 0).untrue(), 0, "an engine need not say the set");
}

#[test]
fn o_29_the_flag_is_not_set_while_a_tool_runs_that_does_not_stop() {
    let stops = || EventStory::new().asks("C", 0).interruptible(true);
    assert_eq!(stops().untrue(), 0);
    assert_eq!(stops().asks("R", 1).untrue(), 1, "the second one does not stop");
    assert_eq!(stops().asks("R", 1).interruptible(false).untrue(), 0);
    assert_eq!(stops().asks("R", 1).interruptible(false).ends(1).interruptible(true).untrue(), 0, "it has ended");
    let stopped = stops().asks("R", 1).effect(Effect::StopTool { run: run(1) });
    assert_eq!(stopped.untrue(), 0, "who was told to stop does");
    assert_eq!(stops().ends(0).result(0).untrue(), 1, "nothing runs");
    assert_eq!(stops().ends(0).interruptible(false).result(0).untrue(), 0);
}

#[test]
fn o_29_the_flag_is_not_set_while_a_person_is_asked_about_a_tool_that_does_not_stop() {
    let asks = |name, index| {
        let tool_use = Arc::new(tool_use(name, index));
        Effect::AskPermission { run: run(index), tool_use, reason: "r".into(), suggestions: Vec::new() }
    };
    let stops = || EventStory::new().asks("C", 0).interruptible(true);
    assert_eq!(stops().effect(asks("R", 1)).untrue(), 1, "the message waits for the answer");
    assert_eq!(stops().effect(asks("C", 1)).untrue(), 0);
    let withdrawn = stops().effect(asks("R", 1)).effect(Effect::WithdrawPermission { run: run(1) });
    assert_eq!(withdrawn.untrue(), 0);
}
