//! Each rule on short histories: a right one, and one that is broken on purpose.

use super::super::content;
use super::super::conversation::{HistoryDialect, HistoryPlace};
use super::*;
use reenact_wire::block::Block;

fn message(line: usize, role: Role, blocks: Vec<Block>) -> StoredMessage {
    StoredMessage::new(role, HistoryPlace::Line(line), blocks)
}

fn user(line: usize, text: &str) -> StoredMessage {
    message(line, Role::User, vec![Block::text(text)])
}

fn asks(line: usize, ids: &[&str]) -> StoredMessage {
    message(line, Role::Assistant, ids.iter().map(|id| content::tool_use(id, "Bash", r#"{"command":"ls"}"#)).collect())
}

fn tells(line: usize, id: &str, text: &str) -> StoredMessage {
    message(line, Role::User, vec![content::tool_result(id, text, false)])
}

fn says(line: usize, text: &str) -> StoredMessage {
    message(line, Role::Assistant, vec![Block::text(text)])
}

fn broken(messages: &[StoredMessage], end: HistoryEnd) -> Vec<String> {
    results(messages, HistoryDialect::Messages, end).iter().map(ToString::to_string).collect()
}

#[test]
fn o_1_results_over_two_user_messages_in_a_row_are_right() {
    let right = [user(1, "Go."), asks(2, &["a", "b"]), tells(3, "b", "1"), tells(4, "a", "2"), user(5, "And?"), says(6, "Done.")];
    assert_eq!(broken(&right, HistoryEnd::Closed), [""; 0]);
    // A later answer may use an id again.
    let again = [asks(1, &["a"]), tells(2, "a", "1"), asks(3, &["a"]), tells(4, "a", "2")];
    assert_eq!(broken(&again, HistoryEnd::Closed), [""; 0]);
}

#[test]
fn o_1_a_call_without_its_result_is_found_with_both_places() {
    let dangling = [user(1, "Go."), asks(7, &["toolu_1"]), user(8, "Stop."), says(9, "Yes.")];
    assert_eq!(
        broken(&dangling, HistoryEnd::Open),
        ["O-1: tool call toolu_1 of line 7 has no result; the next user message stands at line 8"]
    );
    let told_before = [user(1, "Go."), asks(2, &["a"]), asks(4, &["b"]), tells(3, "a", "1")];
    assert_eq!(
        broken(&told_before, HistoryEnd::Closed),
        ["O-1: tool call b of line 4 has no result, and line 3 has the result of another call"]
    );
    let told_and_asked = [user(1, "Go."), asks(2, &["a", "b"]), tells(3, "a", "1"), user(5, "And?")];
    assert!(broken(&told_and_asked, HistoryEnd::Closed)[0].ends_with("has no result; the next user message stands at line 5"));
    let late = [asks(1, &["a"]), user(2, "Stop."), says(3, "Yes."), tells(4, "a", "1")];
    let text = "O-1: tool call a of line 1 has no result directly behind it: the next message stands at line 2, the result at line 4";
    assert_eq!(broken(&late, HistoryEnd::Closed), [text]);
    let orphan = [user(1, "Go."), tells(2, "a", "1")];
    assert_eq!(broken(&orphan, HistoryEnd::Closed), ["O-1: line 2 has a result of a, and no answer before it has this tool call"]);
}

#[test]
fn o_1_a_text_before_the_result_is_found() {
    let behind = [asks(2, &["a"]), user(3, "Interrupted."), tells(4, "a", "1")];
    let found = broken(&behind, HistoryEnd::Open);
    assert!(found.len() == 1 && found[0].contains("stands at line 4, behind what is said at line 3"), "{found:?}");
}

#[test]
fn o_1_the_last_calls_may_be_open_where_the_history_goes_on() {
    let open = [user(1, "Go."), asks(2, &["a", "b"]), tells(3, "a", "1")];
    assert_eq!(broken(&open, HistoryEnd::Open), [""; 0]);
    assert_eq!(broken(&open, HistoryEnd::Closed).len(), 1);
    assert_eq!(broken(&open[..2], HistoryEnd::Open), [""; 0]);
    assert_eq!(broken(&open[..2], HistoryEnd::Closed).len(), 2);
    let closed = [open[0].clone(), open[1].clone(), open[2].clone(), user(4, "Stop.")];
    assert_eq!(broken(&closed, HistoryEnd::Open).len(), 1, "a prompt followed");
}

#[test]
fn o_1_outputs_of_responses_may_come_anywhere_behind_their_calls() {
    let of = |messages: &[StoredMessage]| results(messages, HistoryDialect::Responses, HistoryEnd::Closed).len();
    let apart = [asks(1, &["a"]), user(2, "x"), says(3, "y"), tells(4, "a", "1")];
    assert_eq!(of(&apart), 0);
    assert_eq!(of(&apart[..3]), 1);
}

#[test]
fn o_2_a_second_result_and_a_second_call_are_found() {
    let direct = [asks(1, &["a"]), tells(2, "a", "1"), tells(3, "a", "1")];
    assert_eq!(broken(&direct, HistoryEnd::Closed), ["O-2: tool call a of line 1 has 2 results: line 2 and line 3"]);
    let late = [asks(1, &["a"]), tells(2, "a", "1"), says(3, "x"), tells(4, "a", "1")];
    assert_eq!(broken(&late, HistoryEnd::Closed), ["O-2: tool call a of line 1 has 2 results: line 2 and line 4"]);
    let calls = broken(&[asks(1, &["a"]), asks(2, &["a"]), tells(3, "a", "1")], HistoryEnd::Closed);
    assert!(calls[0].starts_with("O-2: one answer has two tool calls with the id a: line 1 and line 2"), "{calls:?}");
}

#[test]
fn o_10_what_the_api_refuses_is_found_and_what_clients_mend_is_not() {
    let right = [user(1, "Go."), says(2, "\n\n"), message(3, Role::User, Vec::new()), says(4, "Yes. ")];
    assert_eq!(validity(&right), []);
    let misplaced = [user(1, "Go."), says(2, "\n\n"), message(5, Role::User, vec![content::tool_use("a", "Bash", "{}")])];
    let found = validity(&misplaced);
    assert!(found[0].to_string().starts_with("O-10: the API refuses the history for line 5: messages.1.content.0"), "{found:?}");
    assert_eq!(validity(&[user(1, "Go."), asks(2, &["a b"])]).len(), 1, "an id that the API does not take");
}

#[test]
fn o_20_a_result_that_denies_a_start_is_found() {
    let started = [StartedCall { id: "a".into(), sign: "made the file started.txt".into() }];
    let denied = [asks(1, &["a"]), tells(2, "a", "Tool execution was\n cancelled before it started.")];
    let found = claims(&denied, &started);
    let text = "O-20: tool call a was started (it made the file started.txt), and its result at line 2 says that it never ran: “Tool execution was \
                cancelled before it started.”";
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    assert_eq!(claims(&denied, &[]), [], "nothing is known of its start");
    for honest in ["[interrupted]", "The user rejected this tool call.", "exit code 137"] {
        assert_eq!(claims(&[asks(1, &["a"]), tells(2, "a", honest)], &started), [], "{honest}");
    }
    let printed = format!("{} test x was not run", "ok ".repeat(400));
    assert_eq!(claims(&[asks(1, &["a"]), tells(2, "a", &printed)], &started), [], "what a tool prints is no claim");
}

#[test]
fn o_24_what_came_and_is_nowhere_later_is_found() {
    let received = |kind, origin: &str| ReceivedContent { kind, origin: origin.into() };
    let all = [
        received(ReceivedKind::Prompt("What is in a?".into()), "of request 1"),
        received(ReceivedKind::AnswerText("I will look.".into()), "of answer 1"),
        received(ReceivedKind::Result("a".into()), "of request 2"),
    ];
    let kept = [user(1, "<user_input>What is\n in a?</user_input>"), says(2, "I will look. Then"), tells(3, "a", "1")];
    assert_eq!(losses(&all, &[&kept]), []);
    assert_eq!(losses(&all, &[&kept[..1], &kept[1..]]), [], "one of the later histories is enough");
    let found: Vec<String> = losses(&all, &[&[user(1, "Go on.")]]).iter().map(ToString::to_string).collect();
    let end = "is lost: neither a later request nor the stored session has it";
    assert_eq!(
        found,
        [
            format!("O-24: the user's message “What is in a?” of request 1 {end}"),
            format!("O-24: the text “I will look.” of answer 1 {end}"),
            format!("O-24: the result of tool call a of request 2 {end}"),
        ]
    );
}
