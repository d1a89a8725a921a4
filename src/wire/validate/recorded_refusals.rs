//! Refusals of the real API (N-6): recordings outside of this repository, a test for each.
//!
//! The file is `../shared/wire/refusals.jsonl`: a request a line, with its status and the API's words. Without it these tests say loudly that
//! they were skipped; the same rules are held by requests of our own in `tests.rs`.

use super::*;

/// The verdict on a recorded request here.
enum LocalVerdict {
    /// The API took it, and so it is taken.
    Accepted,
    /// It is refused with the API's own words.
    Refused,
    /// The API refused it for a reason that no client can know.
    Unknowable,
    /// The API took it in another form: the recording was put together from two.
    Mixed,
}

/// Holds the nth request of the file, counted from 1.
fn hold(nth: usize, source: &str, here: &LocalVerdict) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire/refusals.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        std::eprintln!("SKIPPED: {} is not there", path.display());
        return;
    };
    let row: serde_json::Value = serde_json::from_str(text.lines().nth(nth - 1).unwrap()).unwrap();
    assert!(row["source"].as_str().unwrap().contains(source), "row {nth} is {}", row["source"]);
    let said = refusal_of_body(row["body"].as_str().unwrap(), &ValidationContext::default());
    let message = said.as_ref().map(|refusal| &*refusal.message);
    match here {
        LocalVerdict::Accepted => assert_eq!((row["status"].as_u64(), message), (Some(200), None), "{source}"),
        LocalVerdict::Refused => {
            assert_eq!((row["status"].as_u64(), message), (Some(400), row["said"].as_str()), "{source}");
            assert_eq!(said.unwrap().status, 400);
        }
        LocalVerdict::Unknowable => assert_eq!((row["status"].as_u64(), message), (Some(400), None), "{source}"),
        LocalVerdict::Mixed => {
            assert_eq!((row["status"].as_u64(), said.map(|refusal| refusal.name)), (Some(200), Some("unexpected_tool_result")))
        }
    }
}

macro_rules! recorded {
    ($($test:ident: $nth:literal $source:literal $here:ident,)*) => {
        $(#[test]
        fn $test() {
            hold($nth, $source, &LocalVerdict::$here);
        })*

        #[test]
        fn n_6_every_recorded_request_has_a_test() {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire/refusals.jsonl");
            match std::fs::read_to_string(&path) {
                Ok(text) => assert_eq!([$($nth),*][..], (1..=text.lines().count()).collect::<Vec<usize>>()),
                Err(_) => std::eprintln!("SKIPPED: {} is not there", path.display()),
            }
        }
    };
}

recorded! {
    n_6_the_model_begins_with_a_tool_use: 1 "empty_end_turn/" Accepted,
    n_6_a_temperature_below_zero: 2 "error_identity_edge/" Refused,
    n_6_a_system_message_after_a_server_tool: 3 "messages_preserve_system_role_after_server_tool_result" Accepted,
    n_6_seventeen_unions: 4 "seventeen_union" Refused,
    // The API's limits allow 16 unions and 24 optional parameters. It refuses these by the cost of a compiler that nobody outside has.
    n_6_sixteen_unions_in_one_schema: 5 "sixteen_union" Unknowable,
    n_6_twenty_five_optional_parameters: 6 "twenty_five_optional" Refused,
    n_6_twenty_four_optional_parameters_in_one_schema: 7 "twenty_four_optional" Unknowable,
    n_6_twenty_one_strict_tools: 8 "twenty_one_strict" Refused,
    n_6_a_schema_that_is_true: 9 "boolean_root" Refused,
    n_6_a_property_that_is_true: 10 "boolean_true_subschema" Refused,
    n_6_a_schema_that_refers_in_a_circle: 11 "cyclic_root_ref" Refused,
    n_6_a_schema_that_refers_to_nothing: 12 "dangling_local_root_ref" Refused,
    n_6_a_schema_that_refers_to_another_place: 13 "external_root_ref" Refused,
    n_6_a_definition_that_holds_itself: 14 "recursive_ref" Refused,
    n_6_a_schema_of_a_text_by_reference: 15 "scalar_root_ref" Refused,
    n_6_a_schema_of_a_text: 16 "scalar_root_schema" Refused,
    n_6_a_schema_of_any: 17 "top_level_any_of" Refused,
    n_6_a_schema_of_one: 18 "top_level_one_of" Refused,
    n_6_a_message_that_is_a_text: 19 "anthropic_completion_error" Refused,
    n_6_a_result_of_another_use: 20 "tool_result_stream.yaml" Mixed,
    n_6_a_result_of_another_use_of_a_helper: 21 "tool_result_stream_helper" Mixed,
    n_6_content_that_is_an_empty_text: 22 "handles-empty-string-content" Refused,
    n_6_a_blank_between_the_citations_of_a_search: 23 "replays_search_turns" Accepted,
    n_6_an_id_used_again: 24 "test_cross_provider_capability_replay" Accepted,
    n_6_an_id_used_again_a_turn_later: 25 "test_cross_provider_capability_replay" Accepted,
    n_6_an_effort_that_the_model_lacks: 26 "explicit_effort_xhigh" Refused,
    n_6_the_model_begins_with_a_text: 27 "empty_message_on_history" Accepted,
    n_6_two_system_messages_in_a_row: 28 "two_mid_conversation_system_prompts" Accepted,
}
