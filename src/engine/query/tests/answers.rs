//! Answers and what follows them: blocks as they come (Q-7, Q-8), pauses and refusals (Q-23), structured output (S-9).

use super::*;
use crate::settings::ObservableField;

#[test]
fn q_8_a_block_is_emitted_its_tool_starts_and_results_come_with_the_next_item() {
    let mut bench = QueryHarness::new(|_| ());
    assert_eq!(bench.seen(), ["request 1 8000"]);
    let id = bench.streams("look use=A use=B");
    assert_eq!(bench.seen(), ["look", "use=A", "start A", "use=B", "start B"]);
    bench.ends("B");
    bench.ends("A");
    assert_eq!(bench.seen(), [""; 0], "a loop that pulls has not looked yet");
    bench.stops(id, "tool_use", 10);
    assert_eq!(bench.seen(), ["result=A", "result=B", "-> next_turn", "request 2 8000"]);
    assert_eq!(bench.conversation(), "user(hi) assistant(look use=A use=B) user(result=A result=B)");
}

#[test]
fn q_7_an_answer_is_reported_with_its_last_block_and_its_tokens() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("a b", "end_turn");
    let answered = bench.effects.drain().find_map(|(_, effect)| match effect {
        Effect::Emit(Emission::Answered { id, uuid, stop_reason, usage }) => Some((id, uuid, stop_reason, usage)),
        _ => None,
    });
    let (id, uuid, stop_reason, usage) = answered.expect("the answer is reported");
    assert_eq!((id, uuid.as_deref(), stop_reason.as_deref()), (RequestId::first(1), Some("p1.r1.a1.b1"), Some("end_turn")));
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(100), Some(10)));
}

#[test]
fn q_8_what_is_emitted_has_derived_fields_and_what_goes_back_has_none() {
    let mut env = environment(|_| ());
    env.tools[0].observable = vec![ObservableField { name: "absolute".into(), from: "path".into(), base: "/w/".into() }];
    let mut bench = QueryHarness::with_environment(env);
    bench.answers("use=A", "tool_use");
    let emitted = bench.effects.drain().find_map(|(_, effect)| match effect {
        Effect::Emit(Emission::Assistant(message)) => Some(message.block.json().to_string()),
        _ => None,
    });
    assert_eq!(
        emitted.as_deref(),
        Some(r#"{"type":"tool_use","id":"A","name":"Read","input":{"path":"A","absolute":"/w/A"}}"#),
        "a copy for consumers"
    );
    bench.ends("A");
    let sent = bench.requests[1].1.messages[1].content[0].json().to_string();
    assert_eq!(sent, r#"{"type":"tool_use","id":"A","name":"Read","input":{"path":"A"}}"#, "byte for byte");
}

#[test]
fn q_23_a_pause_is_resumed_with_the_answer_as_it_is_and_not_for_ever() {
    let mut bench = QueryHarness::new(|settings| settings.max_pause_resumes = 2);
    bench.answers("one", "pause_turn");
    assert_eq!(bench.conversation(), "user(hi) assistant(one)");
    bench.answers("two", "pause_turn");
    let _ = bench.seen();
    bench.answers("three", "pause_turn");
    assert_eq!(bench.seen(), ["three", "error paused_too_often"]);
    assert_eq!((bench.terminal(), &*bench.kept()), (&Terminal::Completed, "user(hi) assistant(one) assistant(two) assistant(three)"));
}

#[test]
fn q_23_pauses_are_counted_anew_after_a_turn() {
    let mut bench = QueryHarness::new(|settings| settings.max_pause_resumes = 1);
    bench.answers("one", "pause_turn");
    bench.answers("use=A", "tool_use");
    bench.ends("A");
    let _ = bench.seen();
    bench.answers("two", "pause_turn");
    assert_eq!(bench.seen(), ["two", "-> pause_turn_resume", "request 4 8000"]);
}

#[test]
fn q_23_a_refusal_is_tried_again_once_in_a_prompt_and_nothing_of_it_is_kept() {
    let mut bench = QueryHarness::new(|settings| settings.retry_refusal = true);
    bench.answers("no", "refusal");
    assert_eq!(bench.seen(), ["request 1 8000", "no", "-> refusal_retry", "request 2 8000"]);
    assert_eq!(bench.conversation(), "user(hi)");
    bench.answers("use=A", "tool_use");
    bench.ends("A");
    let _ = bench.seen();
    bench.answers("no", "refusal");
    assert_eq!(bench.seen(), ["no", "error refusal"], "a turn between them does not make it another prompt");
    assert_eq!((bench.terminal(), &*bench.kept()), (&Terminal::Completed, "user(hi) assistant(use=A) user(result=A)"));
    assert_eq!(bench.outcome().errors.len(), 1);
}

#[test]
fn q_23_odd_answers_complete_and_say_what_is_odd() {
    for (picture, stop_reason, defect) in [
        ("-", "end_turn", "defect empty-answer"),
        ("a", "tool_use", "defect stop-reason-without-tool-use"),
        ("a", "novel", "defect unknown-stop-reason"),
    ] {
        let mut bench = QueryHarness::new(|_| ());
        bench.answers(picture, stop_reason);
        assert_eq!(bench.seen().last().map(|last| &**last), Some(defect));
        assert_eq!(*bench.terminal(), Terminal::Completed, "{stop_reason}");
    }
}

#[test]
fn n_7_blank_text_does_not_go_back_and_the_rest_of_its_answer_does() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("blank use=A", "tool_use");
    bench.ends("A");
    assert_eq!(bench.conversation(), "user(hi) assistant(use=A) user(result=A)");
}

fn structured(settings: &mut Settings) {
    settings.session.json_schema = Some(Json::trusted(r#"{"type":"object"}"#));
    settings.session.max_structured_output_retries = 2;
}

#[test]
fn s_9_the_model_is_asked_for_its_structured_output_so_often_and_no_more() {
    let mut bench = QueryHarness::new(structured);
    bench.answers("a", "end_turn");
    let asked = ["a", "hidden structured_output", "-> stop_hook_blocking"];
    assert_eq!(bench.seen()[1..4], asked);
    bench.answers("b", "end_turn");
    assert_eq!(bench.seen()[..3], ["b", asked[1], asked[2]]);
    bench.answers("c", "end_turn");
    assert_eq!(bench.seen(), ["c"]);
    assert_eq!(*bench.terminal(), Terminal::StructuredOutputRetries);
    assert_eq!(&*bench.outcome().errors[0], "the model was asked 2 times for its structured output and did not give it");
}

#[test]
fn s_9_the_first_input_that_went_well_is_kept_and_ends_the_prompt() {
    let mut bench = QueryHarness::new(structured);
    let id = bench.streams("use=A@StructuredOutput use=B@StructuredOutput");
    bench.ends("A!");
    bench.ends("B");
    let _ = bench.seen();
    bench.stops(id, "tool_use", 10);
    assert_eq!(bench.seen(), ["result=A!", "result=B", r#"structured {"path":"B"}"#]);
    assert_eq!(*bench.terminal(), Terminal::Completed);
    assert_eq!(bench.outcome().totals.structured_output.as_ref().map(Json::as_str), Some(r#"{"path":"B"}"#));
    assert_eq!(bench.kept(), "user(hi) assistant(use=A use=B) user(result=A! result=B)");
}

#[test]
fn s_9_without_a_schema_the_tool_is_one_like_others() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A@StructuredOutput", "tool_use");
    bench.ends("A");
    bench.answers("a", "end_turn");
    assert_eq!((bench.terminal(), &bench.outcome().totals.structured_output), (&Terminal::Completed, &None));
}

#[test]
fn n_7_thinking_that_nothing_follows_is_not_sent_back() {
    for (said, kept) in [("look think", "user(hi) assistant(look)"), ("think", "user(hi)"), ("think blank", "user(hi)")] {
        let mut bench = QueryHarness::new(|_| ());
        bench.answers(said, "end_turn");
        assert_eq!(bench.kept(), kept, "{said}");
    }
}

#[test]
fn s_9_of_two_inputs_that_went_well_the_first_counts() {
    let mut bench = QueryHarness::new(structured);
    bench.answers("use=A@StructuredOutput use=B@StructuredOutput", "tool_use");
    bench.ends("A");
    bench.ends("B");
    assert_eq!(bench.outcome().totals.structured_output.as_ref().map(Json::as_str), Some(r#"{"path":"A"}"#));
}

#[test]
fn s_9_structured_output_in_the_last_turn_is_a_good_end() {
    let mut bench = QueryHarness::new(|settings| {
        structured(settings);
        settings.session.max_turns = Some(1);
    });
    bench.answers("use=A@StructuredOutput", "tool_use");
    let _ = bench.seen();
    bench.ends("A");
    assert_eq!(bench.seen(), ["result=A", r#"structured {"path":"A"}"#], "no turn limit");
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn q_7_the_stop_reason_is_told_as_soon_as_it_is_known_and_once() {
    let mut bench = QueryHarness::new(|_| ());
    let id = bench.streams("a");
    let told = |bench: &mut QueryHarness| {
        bench.effects.drain().filter(|(_, effect)| matches!(effect, Effect::Emit(Emission::Answered { .. }))).count()
    };
    assert_eq!(told(&mut bench), 0);
    bench.event(id, r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10}}"#);
    assert_eq!(told(&mut bench), 1);
    bench.event(id, r#"{"type":"message_stop"}"#);
    bench.input(&Input::End { id, how: AnswerEnd::Complete });
    assert_eq!((told(&mut bench), bench.terminal()), (0, &Terminal::Completed), "the end says nothing new");
}

#[test]
fn n_7_of_two_tool_uses_with_one_id_both_run_and_the_first_goes_back() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A use=A", "tool_use");
    assert!(bench.seen().contains(&String::from("defect duplicate-tool-use-id")));
    for run in bench.runs.clone() {
        bench.input(&Input::ToolEnded { run: run.1, outcome: Arc::new(ToolOutcome::text("done")) });
    }
    assert_eq!(bench.conversation(), "user(hi) assistant(use=A) user(result=A)");
}
