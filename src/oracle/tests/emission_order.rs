//! O-1 where requests have results in the order in which they came out (T-8).

use super::*;

#[test]
fn o_1_with_emission_order_requests_have_results_as_they_came_out() {
    let asked: &[Block] = &[use_block("R", 0), use_block("R", 1)];
    let sent = |order: [u32; 2]| {
        let story = EventStory::with(|settings| settings.result_order = ResultOrder::Emission);
        let story = story.request(1, &[]).asks("R", 0).asks("R", 1).ends(1).result(1).ends(0).result(0);
        let results = order.map(result_block);
        story.request(2, &[(Role::Assistant, asked), (Role::User, &results)]).terminal().broken()
    };
    assert_eq!(sent([1, 0]), NONE);
    assert_eq!(sent([0, 1]), ["O-1"]);
}

#[test]
fn o_1_an_id_that_a_later_answer_uses_again_is_another_tool_use() {
    let again = |index| ToolRun { request: RequestId { turn: 2, ..ASKED }, index };
    let result = |run, index| result_effect(run, result_block(index));
    // The first answer uses both ids and has its results in order; those of the second come out the other way round.
    let asked: &[Block] = &[use_block("R", 0), use_block("R", 1)];
    let sent = |first: [u32; 2], second: [u32; 2]| {
        let story = EventStory::with(|settings| settings.result_order = ResultOrder::Emission).request(1, &[]);
        let story = story.effect(result(run(0), 0)).effect(result(run(1), 1)).effect(result(again(1), 1)).effect(result(again(0), 0));
        let (first, second) = (first.map(result_block), second.map(result_block));
        let messages: [(Role, &[Block]); 4] =
            [(Role::Assistant, asked), (Role::User, &first), (Role::Assistant, asked), (Role::User, &second)];
        story.request(3, &messages).broken_but(&[validity::ORACLE, results::ORACLE, super::super::leftovers::ORACLE, "O-8"])
    };
    assert_eq!(sent([0, 1], [1, 0]), NONE);
    assert_eq!(sent([0, 1], [0, 1]), ["O-1"], "the later answer");
    assert_eq!(sent([1, 0], [1, 0]), ["O-1"], "the earlier one");
}
