//! Whole files, and the messages for wrong ones. Small bad files with their messages are in `tests/scenario_errors`.

use super::*;
use crate::latency::Latency;
use crate::types::{Chunking, RunLimits, ScriptedOutcome, ScriptedProgress, ScriptedTurn, TurnBlock};
use proptest::prelude::*;
use reenact_engine::random::Seed;
use reenact_engine::settings::{EmissionOrder, Settings, ToolSafety};
use reenact_engine::time::Micros;
use reenact_wire::block::Block;
use reenact_wire::json::Json;

mod behaviour;
mod faults;
mod interrupts;

fn read(text: &str) -> Scenario {
    scenario("x.toml", text, &[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}")).scenario
}

fn overridden(text: &str, overrides: &[(&str, &str)]) -> Result<ParsedScenario, Diagnostics> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    scenario("x.toml", text, &overrides)
}

/// Each diagnostic's line, column and message.
fn diagnostics(text: &str) -> Vec<(usize, usize, String)> {
    let Err(Diagnostics(diagnostics)) = scenario("x.toml", text, &[]) else { return Vec::new() };
    diagnostics.into_iter().map(|diagnostic| (diagnostic.line, diagnostic.column, diagnostic.message)).collect()
}

fn messages(text: &str) -> Vec<String> {
    diagnostics(text).into_iter().map(|(_, _, message)| message).collect()
}

const SHORT: &str = "[[prompt]]\ntext = \"hi\"\n[[prompt.turn]]\ntext = \"ho\"\n";

const FULL: &str = r#"
title = "Two tools, one slow"
rules = ["T-5", "S-2a", "S-10.2"]
seed = 7
tools = ["Read", "Bash"]
chunking = 7

[engine]
model = "claude-haiku-4-5"
max_tokens = 100
stream = false
system_prompt = "Be \"short\"."
emission_order = "arrival"
request_extra = { temperature = 1.0, thinking = { type = "enabled", budget_tokens = 1_024 } }
max_concurrent_tools = 3

[[tool]]
name = "Build"
description = "Builds."
input_schema = '{"type":"object","properties":{}}'
safe = false
latency = "log 50ms..30s"
result = "built"

[[history]]
role = "user"
text = "before"

[[history]]
role = "assistant"
content_json = '[{"type":"text","text":"then","citations":null}]'

[[prompt]]
text = "What does package.json say?"
at = "1.5s"

[[prompt.turn]]               # scripted
text = "I'll read the file."
thinking = "Let me see."
tool = [
  { name = "Read", input = { file_path = "/w/package.json", a = [1, true, 2.50] }, result = "{\"name\":\"demo\"}", latency = "12ms" },
  { name = "Bash", id = "toolu_b", input = '{"command": "ls"', is_error = true, progress = [{ at = "5ms", text = "half" }] },
  { name = "Grep" },
]

[[prompt.turn]]
content = [{ text = "a" }, { tool = { name = "Build" } }, { thinking = "b" }]
stop_reason = "end_turn"
output_tokens = 12

[[prompt.turn]]
status = 529
body = "{}"
headers = { retry-after = "3", "x-should-retry" = "true" }

[[result]]
tool_use = "toolu_p1t1n3"
result_json = '[{"type":"text","text":"x"}]'
latency = { p50 = "5s", p99 = "46s" }
context_change = "cwd /tmp"

[timing]
head = "recorded x0.5"
between_events = ["1ms", "2ms"]

[limits]
time = "2h"
requests = 5

[matching]
strict = true
volatile = ["metadata", "echo"]

[auth]
refresh = "fails"

[[fault]]
at = { request = 1, attempt = "1..=3", probability = 0.5 }
status = 529
retry_after = "1.5s"

[[fault]]
cut = { after_events = 3, how = "reset" }

[[interrupt]]
kind = "interrupt"
text = "stop"
when = { tool = "Read", state = "executing" }
offset = "5ms"

[[interrupt.turn]]
text = "Stopped."

[expect]
terminal = "completed"
transitions = ["next_turn", "next_turn"]
requests = 3
delays = ["500ms..750ms", "1s"]
models = ["claude-haiku-4-5"]
result = "success"
text_present = "demo"
text_absent = ["left", "over"]
order = ["1.1", "2.1"]
ends_after = "1s"
ends_before = "1m"
"#;

#[test]
fn f_6_the_shortest_scenarios() {
    let short = read(SHORT);
    assert_eq!(short.prompts[0].content, [Block::text("hi")]);
    assert_eq!(short.prompts[0].turns, [ScriptedTurn { content: vec![TurnBlock::Text("ho".into())], ..ScriptedTurn::default() }]);
    assert_eq!((&short.settings, short.limits), (&Settings::default(), RunLimits::default()));
    let tape = read("tape = \"x.tape.jsonl\"\n[[prompt]]\ntext = \"hi\"\n").tape.unwrap();
    assert_eq!((tape.path.as_str(), &*tape.thread), ("x.tape.jsonl", "main"));
    assert!(read("tape = \"x.tape.jsonl\"").prompts.is_empty(), "a tape holds its prompts");
}

#[test]
fn f_6_settings_and_tools() {
    let full = read(FULL);
    assert_eq!(full.seed, Seed(7));
    assert_eq!(&*full.settings.model, "claude-haiku-4-5");
    assert_eq!(full.settings.system_prompt, Some(Json::trusted(r#""Be \"short\".""#)));
    assert_eq!(full.settings.emission_order, EmissionOrder::Arrival);
    assert_eq!(full.settings.request_extra.as_str(), r#"{"temperature":1.0,"thinking":{"type":"enabled","budget_tokens":1024}}"#);
    assert_eq!(full.settings.max_concurrent_tools, Some(3));
    let names: Vec<_> = full.tools.iter().map(|tool| (&*tool.definition.name, tool.definition.safe)).collect();
    assert_eq!(names, [("Read", ToolSafety::Always), ("Bash", ToolSafety::ByCommand), ("Build", ToolSafety::Never)]);
    let build = r#"{"name":"Build","description":"Builds.","input_schema":{"type":"object","properties":{}}}"#;
    assert_eq!(full.tools[2].definition.json.as_str(), build);
    assert_eq!(full.tools[2].latency, Some(Latency::LogUniform(Micros::from_millis(50), Micros::from_secs(30))));
    let built = ScriptedOutcome { content: Some(Json::trusted("\"built\"")), ..ScriptedOutcome::default() };
    assert_eq!(full.tools[2].outcome, Some(built));
    assert_eq!(full.history[1].content[0].json().as_str(), r#"{"type":"text","text":"then","citations":null}"#);
}

#[test]
fn f_6_turns_in_their_short_form() {
    let full = read(FULL);
    let prompt = &full.prompts[0];
    assert_eq!(prompt.at, Some(Micros::from_millis(1_500)));
    let [TurnBlock::Thinking(_), TurnBlock::Text(_), TurnBlock::Tool { input, outcome, id: None, .. }, bash, grep] =
        &*prompt.turns[0].content
    else {
        panic!("{:?}", prompt.turns[0])
    };
    assert_eq!(&**input, r#"{"file_path":"/w/package.json","a":[1,true,2.50]}"#, "members stay in the written order");
    let outcome = outcome.as_ref().unwrap();
    assert_eq!(outcome.content, Some(Json::trusted(r#""{\"name\":\"demo\"}""#)));
    assert_eq!(outcome.latency, Some(Latency::Fixed(Micros::from_millis(12))));
    let TurnBlock::Tool { input, id, outcome: Some(outcome), .. } = bash else { panic!("{bash:?}") };
    assert_eq!((&**input, id.as_deref()), (r#"{"command": "ls""#, Some("toolu_b")), "input need not be JSON");
    assert_eq!(
        (outcome.is_error, &outcome.progress),
        (true, &vec![ScriptedProgress { at: Micros::from_millis(5), text: "half".into(), kind: None }])
    );
    assert_eq!(*grep, TurnBlock::Tool { name: "Grep".into(), input: "{}".into(), id: None, outcome: None, safe: None, slip: None });
    let kinds: Vec<_> = prompt.turns[1].content.iter().map(core::mem::discriminant).collect();
    assert_eq!(kinds[0], core::mem::discriminant(&TurnBlock::Text("".into())));
    assert_eq!(kinds[2], core::mem::discriminant(&TurnBlock::Thinking("".into())));
    assert_eq!((prompt.turns[2].status, prompt.turns[2].body.as_deref()), (529, Some("{}")));
    let headers: Vec<_> = prompt.turns[2].headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(headers, [("retry-after", "3"), ("x-should-retry", "true")]);
}

#[test]
fn f_10_how_a_run_goes_and_what_must_hold() {
    let full = read(FULL);
    let result = &full.results["toolu_p1t1n3"];
    assert_eq!(result.latency, Some(Latency::LogNormal { p50: Micros::from_secs(5), p99: Micros::from_secs(46) }));
    assert_eq!(result.context_change.as_deref(), Some("cwd /tmp"));
    assert_eq!(full.timing.head, Latency::Recorded { percent: 50 });
    assert_eq!(full.timing.between_events, Latency::Table([Micros(1_000), Micros(2_000)].into()));
    assert_eq!(full.chunking, Chunking::Every(7));
    assert_eq!((full.limits.time, full.limits.events, full.limits.requests), (Micros::from_secs(7_200), 1_000_000, 5));
    assert!(full.matching.strict);
    assert_eq!(full.expect.terminal.as_deref(), Some("completed"));
    assert_eq!(full.expect.text_present, ["demo"]);
    assert_eq!(full.expect.text_absent, ["left", "over"]);
    let second = Micros::from_secs(1);
    assert_eq!(full.expect.delays.as_deref(), Some(&[(Micros::from_millis(500), Micros::from_millis(750)), (second, second)][..]));
    assert_eq!(full.expect.ends_before, Some(Micros::from_secs(60)));
}

#[test]
fn f_6_seeds_of_64_bits() {
    for (written, seed) in [("9", 9), ("0xff", 255), ("\"18446744073709551615\"", u64::MAX), ("\"0xFFFFFFFFFFFFFFFF\"", u64::MAX)] {
        assert_eq!(read(&format!("seed = {written}\n{SHORT}")).seed, Seed(seed));
    }
    assert!(diagnostics(&format!("seed = -1\n{SHORT}"))[0].2.contains("found -1"));
}

#[test]
fn f_7_all_faults_of_a_file_at_once() {
    let text = "titel = \"x\"\n[engine]\nmodle = \"claude\"\n[[prompt]]\ntext = \"hi\"\n[expect]\nterminal = \"complete\"\n";
    let expected = [
        (1, 1, "unknown key `titel`; did you mean `title`?".into()),
        (3, 1, "unknown key `modle` in [engine]; did you mean `model`?".into()),
        (7, 12, "unknown terminal `complete`; did you mean `completed`?".into()),
    ];
    assert_eq!(diagnostics(text), expected);
}

#[test]
fn f_7_syntax_and_meaning_together() {
    let text = "seed = seven\n[engine]\nmodle = \"x\"\nstream\nmax_tokens = \"9\"\n[[prompt\ntext = 3\n";
    let places: Vec<_> = diagnostics(text).into_iter().map(|(line, column, _)| (line, column)).collect();
    assert_eq!(places, [(1, 8), (3, 1), (4, 7), (5, 14), (6, 9), (7, 8)]);
}

/// Wherever one line is spoilt, a misspelt key at the top and one at the end are still found.
#[test]
fn f_7_no_spoilt_line_hides_other_faults() {
    let text = format!("titel = 1{FULL}end_after = \"1s\"");
    let lines: Vec<&str> = text.split('\n').collect();
    for spoilt in 1..lines.len() - 1 {
        for with in ["oops", "oops =", "[oops", "a = [", "a = {", "a = \"\"\"", "\"", "}"] {
            let mut changed = lines.clone();
            changed[spoilt] = with;
            let found = messages(&changed.join("\n"));
            let has = |start: &str| found.iter().any(|message| message.starts_with(start));
            // Without its section's head, or below another one, the last key means something else.
            let moved = lines[spoilt] == "[expect]" || (with == "[oops" && lines[..spoilt].contains(&"[expect]"));
            let ends = moved || has("unknown key `end_after` in [expect]");
            assert!(has("unknown key `titel`") && ends, "line {} as `{with}`: {found:#?}", spoilt + 1);
        }
    }
}

#[test]
fn f_7_what_a_syntax_error_hides_is_not_called_missing() {
    let text = "[[prompt]]\n= \"hi\"\n[[tool]]\nsafe = true\n";
    assert_eq!(messages(text).len(), 2, "{:?}", messages(text));
    assert!(messages(text)[1].starts_with("[[tool]] needs `name`"));
}

#[test]
fn f_7_what_is_misspelt_is_not_also_called_missing() {
    assert_eq!(messages("[[promt]]\ntext = \"hi\"\n"), ["unknown key `promt`; did you mean `prompt`?"]);
    let text = format!("{SHORT}[[tool]]\nnmae = \"x\"\n");
    assert_eq!(messages(&text), ["unknown key `nmae` in [[tool]]; did you mean `name`?"]);
}

#[test]
fn f_7_columns_count_characters_and_a_byte_order_mark_counts_nothing() {
    assert_eq!(diagnostics("\u{feff}titel = 1\n[[prompt]]\ntext = \"hi\"")[0].1, 1);
    let text = "[[prompt]]\ntext = \"hi\"\nturn = [{ text = \"äöü😀\", tool = [{ name = 3 }] }]\n";
    assert_eq!(diagnostics(text), [(3, 43, "expected text, found an integer".into())]);
}

#[test]
fn f_7_an_empty_file_says_what_the_shortest_scenario_is() {
    let Err(Diagnostics(diagnostics)) = scenario("x.toml", "", &[]) else { panic!("nothing is no scenario") };
    assert_eq!((diagnostics[0].line, diagnostics[0].column), (1, 1));
    assert!(diagnostics[0].help.as_ref().unwrap().contains("[[prompt.turn]]"));
}

#[test]
fn f_6_overrides() {
    let parsed = overridden(
        SHORT,
        &[
            ("engine.model", "claude-x"),
            ("seed", "9"),
            ("limits.time", "2h"),
            ("prompt.0.text", "other"),
            ("prompt.0.turn.0.text", "\"12\""),
            ("seed", "10"),
            ("rules", "[\"T-5\"]"),
        ],
    );
    let scenario = parsed.unwrap_or_else(|diagnostics| panic!("{diagnostics}")).scenario;
    assert_eq!((&*scenario.settings.model, scenario.seed), ("claude-x", Seed(10)));
    assert_eq!((scenario.limits.time, &*scenario.rules[0]), (Micros::from_secs(7_200), "T-5"));
    assert_eq!(scenario.prompts[0].content, [Block::text("other")]);
    assert_eq!(scenario.prompts[0].turns[0].content, [TurnBlock::Text("12".into())]);
    assert_eq!(overridden("", &[("prompt.0.text", "hi")]).unwrap().scenario.prompts.len(), 1);
}

#[test]
fn f_7_faults_in_overrides_name_set() {
    let overrides =
        [("engine.modle", "x"), ("prompt.1.text", "x"), ("limits.time", "2"), ("seed.x", "1"), ("", "1"), ("prompt.0.text.a", "1")];
    let Err(Diagnostics(diagnostics)) = overridden(&format!("seed = 1\ntitel = 1\n{SHORT}"), &overrides) else { panic!("all are wrong") };
    let shown: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| format!("{}:{} {} | {}", diagnostic.source, diagnostic.column, diagnostic.line_text, diagnostic.message))
        .collect();
    let expected = [
        "x.toml:1 titel = 1 | unknown key `titel`; did you mean `title`?",
        "--set:8 engine.modle=x | unknown key `modle` in [engine]; did you mean `model`?",
        "--set:8 prompt.1.text=x | `prompt` has no entry `1`; it has 1, counted from 0",
        "--set:13 limits.time=2 | expected a duration, found an integer without a unit",
        "--set:1 seed.x=1 | `seed` is an integer and has no `x`",
        "--set:1 =1 | an empty key; write e.g. --set engine.model=x",
        "--set:10 prompt.0.text.a=1 | `text` is text and has no `a`",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn f_7_a_tape_that_is_not_there_can_be_pointed_at() {
    let parsed = scenario("x.toml", "seed = 1\ntape = \"nowhere\"\n", &[]).unwrap();
    let diagnostic = parsed.tape_diagnostic("no such file").unwrap();
    assert_eq!((diagnostic.line, diagnostic.column, diagnostic.message.as_str()), (2, 8, "no such file"));
}

#[test]
fn f_7_a_file_of_mistakes_is_read_in_a_short_time() {
    let text = "a = [\n".repeat(2_000);
    assert!(!diagnostics(&text).is_empty());
    let text = format!("[[prompt]]\ntext = \"\"\"\n{}", "a = 1\n".repeat(500));
    assert!(!diagnostics(&text).is_empty());
    let text = "x".repeat(200_000);
    assert!(!diagnostics(&text).is_empty());
}

proptest! {
    #[test]
    fn f_7_no_text_panics(text in "\\PC*") {
        let _ = scenario("x", &text, &[]);
    }

    #[test]
    fn f_7_no_soup_of_toml_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "\n", "\r\n", "\"", "\"\"\"", "'", "'''", "#", " ", "\t", "prompt", "turn", "engine", "text", "tool",
        "seed", "1", "-1.5e3", "inf", "true", "1979-05-27", "\"a\"", "é", "\u{0}", "\\u", "result_json", "'[1]'", "a.b",
    ]), 0..60)) {
        let _ = scenario("x", &parts.concat(), &[]);
    }

    #[test]
    fn f_7_no_damaged_scenario_panics(at in 0..FULL.len(), length in 0..40_usize, put in "\\PC{0,3}|[\\[\\]{}=\"'.,\n]{0,3}") {
        let end = (at + length).min(FULL.len());
        if FULL.is_char_boundary(at) && FULL.is_char_boundary(end) {
            let text = format!("{}{put}{}", &FULL[..at], &FULL[end..]);
            if let Err(diagnostics) = scenario("x", &text, &[]) {
                let places: Vec<_> = diagnostics.0.iter().map(|diagnostic| (diagnostic.line, diagnostic.column)).collect();
                prop_assert!(places.is_sorted(), "{places:?}");
                prop_assert!(!diagnostics.to_string().is_empty());
            }
        }
    }

    #[test]
    fn f_7_no_override_panics(key in "[a-z.0-9]{0,12}|(prompt|engine|tool)\\.[a-z0-9.]{0,9}", value in "\\PC{0,9}") {
        let _ = scenario("x", FULL, &[(key, value)]);
    }
}
