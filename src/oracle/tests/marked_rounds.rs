//! O-12: a round that markers have named goes as a whole.

use super::*;

/// An answer with a tool use, known by its name.
fn answered(story: EventStory) -> EventStory {
    let uuid = "p1.r1.a1.b0".into();
    let message = AssistantMessage { uuid, id: ASKED, api_id: "".into(), model: "".into(), block: use_block("R", 0), error: None };
    story.effect(Effect::Emit(Emission::Assistant(Arc::new(message))))
}

fn marked(story: EventStory, names: &[&str]) -> EventStory {
    let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
    story.input(Input::MarkedDead { names: names.into() })
}

/// The whole round, and an answer behind it.
fn goes_on(story: EventStory, turn: u32) -> EventStory {
    let (hi, used, results, more) = ([Block::text("hi")], [use_block("R", 0)], [result_block(0)], [Block::text("more")]);
    let whole: [(Role, &[Block]); 5] =
        [(Role::User, &hi), (Role::Assistant, &used), (Role::User, &results), (Role::Assistant, &more), (Role::User, &more)];
    story.request(turn, &whole)
}

fn o_12(story: &EventStory) -> usize {
    story.times_broken("O-12")
}

const BOTH: [&str; 2] = ["p1.r1.a1", "p1.r1.a1.results"];

#[test]
fn o_12_a_round_goes_once_all_of_it_is_named() {
    let half = || goes_on(marked(answered(EventStory::new()), &BOTH[..1]), 2);
    assert_eq!(o_12(&goes_on(half(), 3)), 0, "its results were not named");
    let whole = || marked(half(), &BOTH[1..]);
    assert_eq!(o_12(&goes_on(whole(), 3)), 0, "the request was perhaps on its way");
    assert_eq!(o_12(&goes_on(goes_on(whole(), 3), 4)), 1);
    let compacted = Effect::Emit(Emission::CompactBoundary {
        trigger: reenact_engine::emission::CompactTrigger::Auto,
        tokens_before: 9,
        tokens_after: 1,
        kept: Vec::new(),
    });
    assert_eq!(o_12(&goes_on(goes_on(whole(), 3).effect(compacted), 4)), 0, "a summary may keep it once more");
    let prompt = || whole().terminal().input(Input::Prompt { prompt: 2, content: [].into() });
    assert_eq!(o_12(&goes_on(prompt(), 3)), 1, "a prompt begins behind the marker");
    let waits = whole().input(Input::Prompt { prompt: 2, content: [].into() });
    assert_eq!(o_12(&goes_on(waits, 3)), 0, "a prompt that waits begins nothing");
}

#[test]
fn o_12_a_marker_that_comes_before_its_answer_means_nothing() {
    let early = || answered(marked(EventStory::new(), &BOTH));
    assert_eq!(o_12(&goes_on(goes_on(early(), 2), 3)), 0);
    assert_eq!(o_12(&goes_on(goes_on(marked(early(), &BOTH), 2), 3)), 1, "it is named once more");
}

#[test]
fn o_12_the_last_answer_of_a_request_may_be_named_and_stays() {
    let (hi, used, results) = ([Block::text("hi")], [use_block("R", 0)], [result_block(0)]);
    let last: [(Role, &[Block]); 3] = [(Role::User, &hi), (Role::Assistant, &used), (Role::User, &results)];
    let story = || marked(answered(EventStory::new()), &BOTH).request(2, &last).request(3, &last);
    assert_eq!(o_12(&story()), 0);
    assert_eq!(o_12(&goes_on(story(), 4)), 1);
}

#[test]
fn o_12_nothing_has_to_go_where_markers_are_switched_off() {
    let story = EventStory::with(|settings| settings.compaction.snip = false);
    let story = goes_on(marked(answered(story), &BOTH), 2);
    assert_eq!(o_12(&goes_on(story, 3)), 0);
}
