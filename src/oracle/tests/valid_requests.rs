//! The API takes every request (O-10).

use super::*;

#[test]
fn o_10_a_request_is_one_that_the_api_takes() {
    let says: &[Block] = &[Block::text("hi")];
    let sent =
        |messages: &[(Role, &[Block])]| EventStory::new().request(1, messages).terminal().broken_but(&[super::super::leftovers::ORACLE]);
    assert_eq!(sent(&[(Role::User, says)]), NONE);
    assert_eq!(sent(&[(Role::User, &[])]), ["O-10"]);
    assert_eq!(sent(&[(Role::Assistant, says), (Role::User, says)]), NONE, "the model may begin");
    assert_eq!(sent(&[(Role::System, says), (Role::User, says)]), ["O-10"], "a system message may not");
    assert_eq!(sent(&[(Role::User, says), (Role::Assistant, &[use_block("R", 0)]), (Role::User, says)]), ["O-1"], "pairs are O-1's");
}
