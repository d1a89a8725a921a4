//! The set of tool uses in progress is true (O-29).

use super::*;

impl EventStory {
    fn in_progress(self, indexes: &[u32]) -> Self {
        let tool_use_ids = indexes.iter().map(|index| format!("t{index}").into()).collect();
        self.effect(Effect::Emit(Emission::InProgress { tool_use_ids }))
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
    assert_eq!(EventStory::new().asks("R", 0).untrue(), 0, "an engine need not say the set");
}
