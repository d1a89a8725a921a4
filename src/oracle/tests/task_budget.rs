//! The task budget shrinks with a compaction (O-13).

use super::*;
use reenact_engine::emission::CompactTrigger;

impl EventStory {
    fn has_left(self, turn: u32, tokens: u64) -> Self {
        let mut request = Request::new("m", 1);
        request.extra = Json::trusted(format!(r#"{{"output_config":{{"task_budget":{{"remaining":{tokens}}}}}}}"#));
        self.effect(Effect::Request { id: RequestId { turn, ..ASKED }, request: Arc::new(request) })
    }

    fn compacts_from(self, tokens_before: u64) -> Self {
        let trigger = CompactTrigger::Auto;
        self.effect(Effect::Emit(Emission::CompactBoundary { trigger, tokens_before, tokens_after: 1, kept: Vec::new() }))
    }
}

#[test]
fn o_13_and_c_6_a_compaction_takes_from_the_task_budget() {
    let story = || EventStory::with(|settings| settings.session.task_budget = Some(100)).has_left(1, 100);
    assert_eq!(story().has_left(2, 100).times_broken("O-13"), 0);
    assert_eq!(story().compacts_from(30).has_left(2, 70).times_broken("O-13"), 0);
    assert_eq!(story().compacts_from(30).has_left(2, 100).times_broken("O-13"), 1);
    assert_eq!(story().compacts_from(30).has_left(2, 70).has_left(3, 70).times_broken("O-13"), 0, "once is enough");
    assert_eq!(story().compacts_from(30).has_left(2, 99).times_broken("O-13"), 1, "too little was taken");
    assert_eq!(story().compacts_from(30).has_left(2, 0).times_broken("O-13"), 1, "too much was taken");
    assert_eq!(story().compacts_from(30).compacts_from(20).has_left(2, 50).times_broken("O-13"), 0, "two of them");
    assert_eq!(story().compacts_from(130).has_left(2, 0).times_broken("O-13"), 0, "never less than nothing");
    assert_eq!(story().compacts_from(0).has_left(2, 100).times_broken("O-13"), 0, "there was nothing");
    assert_eq!(story().has_left(2, 0).compacts_from(30).has_left(3, 0).times_broken("O-13"), 0, "less than nothing is not left");
}
