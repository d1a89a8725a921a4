//! The shipped rules and those of scenarios.

use serde_json::json;

use super::*;

fn normaliser() -> Normaliser {
    Normaliser::new(&Drive::default(), &[(String::from("/w/run-1/h"), "<home>")])
}

#[test]
fn k_10_each_shipped_rule_replaces_its_own_and_nothing_else() {
    let uuid = "0b5c9f1e-3f0a-4b67-9d55-0123456789ab";
    let id = "0123456789abcdef0123456789abcdef01";
    for (rule, before, after) in [
        ("ports", "at http://127.0.0.1:40913/v1 and localhost:80", "at http://127.0.0.1:<port>/v1 and localhost:<port>"),
        ("uuids", &*format!("session {uuid}, {uuid}!"), "session <uuid 1>, <uuid 1>!"),
        ("ids", &*format!("user_{id}_account"), "user_<id 1>_account"),
        ("ids", "agentId: ab0e21c20ddba9241 (not bb0e21c20ddba9241)", "agentId: <id 1> (not bb0e21c20ddba9241)"),
        ("ids", "prt_1fff9e92e001xKOzXdGGeFAA8r of (ses_e00061fe7ffeggPh237tk2WKPl)", "<id 1> of (<id 2>)"),
        ("folders", "in /w/run-1/h/x", "in <home>/x"),
        ("dates", "today 2026-11-21, at 2026-11-21T18:23:30.123Z.", "today <date>, at <date>."),
        ("durations", r#"{"n":3,"ttft_ms":912}"#, r#"{"n":3,"ttft_ms":"<durations>"}"#),
        ("durations", "<x_ms>381</x_ms><n>1</n>", "<x_ms><durations></x_ms><n>1</n>"),
        ("members", r#"{"a":"b","timestamp":"now"}"#, r#"{"a":"b","timestamp":"<members>"}"#),
        ("members", r#"{"time":{"end":2,"start":1}}"#, r#"{"time":"<members>"}"#),
    ] {
        assert_eq!(normaliser().line(before), after, "{rule}");
        let drive = Drive { without: vec![rule.into()], ..Drive::default() };
        let mut without = Normaliser::new(&drive, &[(String::from("/w/run-1/h"), "<home>")]);
        assert_eq!(without.line(before), before, "without {rule}");
    }
    for api in
        ["msg_01XFDUDYJgAACzvnptvVoYEL", "toolu_01A09q90qw90lq917835lq9", "req_011CTEeMAF9xvTQ6rK5q7aPA", "xprt_1fff9e92e001xKOzXdGGeFAA8r"]
    {
        assert_eq!(normaliser().line(api), api, "an id that the API gave is the scenario's");
    }
    for plain in ["2026-11-2", "1:2026", "0123456789abcdef", "127.0.0.1", "x2026-11-21", "-", "ü", r#"{"time":{"zone":1}}"#] {
        assert_eq!(normaliser().line(plain), plain);
    }
}

#[test]
fn k_10_the_same_id_keeps_its_number_and_another_gets_its_own() {
    let mut normaliser = normaliser();
    let (one, two) = ("0b5c9f1e-3f0a-4b67-9d55-0123456789ab", "1b5c9f1e-3f0a-4b67-9d55-0123456789ab");
    assert_eq!(normaliser.text(two), "<uuid 1>");
    assert_eq!(normaliser.text(&format!("{one} {two}")), "<uuid 2> <uuid 1>");
}

#[test]
fn k_10_parallel_results_are_shown_in_one_order() {
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id });
    let text = json!({ "type": "text", "text": "and" });
    let messages = json!([result("b"), result("a"), text, result("c")]);
    assert_eq!(normaliser().json(messages), json!([result("a"), result("b"), text, result("c")]));
    let line = |id: &str| json!({ "type": "user", "message": { "content": [result(id)] } }).to_string();
    let mut lines = vec![line("b"), line("a"), String::from("x"), line("0")];
    lines_in_order(&mut lines);
    assert_eq!(lines, [line("a"), line("b"), String::from("x"), line("0")]);
}

#[test]
fn k_10_a_scenario_adds_rules_of_its_own() {
    let rule = |name: &str, place| Normalise { name: name.into(), place };
    let between = |until: Option<&str>| VaryingPlace::Between { after: "build ".into(), until: until.map(Into::into) };
    let of = |rule| Normaliser::new(&Drive { normalise: vec![rule], ..Drive::default() }, &[]);
    assert_eq!(of(rule("b", between(Some(",")))).line("build 17, then build 18"), "build <b>, then build <b>");
    assert_eq!(of(rule("b", between(None))).line("build 17 then"), "build <b> then");
    assert_eq!(of(rule("cost", VaryingPlace::Member("usd".into()))).line(r#"{"usd":0.1}"#), r#"{"usd":"<cost>"}"#);
}

#[test]
fn k_10_agents_that_go_on_beside_the_conversation_stand_behind_it() {
    let line = |name: &str, more: &str| format!(r#"{{"type":"{name}"{more}}}"#);
    let of_helper = r#","parent_tool_use_id":"toolu_1""#;
    let of_task = r#","task_id":"a1""#;
    let mut lines =
        vec![line("assistant", ""), line("system", of_task), line("user", of_helper), line("assistant", ""), line("assistant", of_helper)];
    let mut otherwise = vec![lines[2].clone(), lines[0].clone(), lines[4].clone(), lines[3].clone(), lines[1].clone()];
    lines_in_order(&mut lines);
    lines_in_order(&mut otherwise);
    assert_eq!(lines, otherwise);
    assert_eq!(lines[..2], [line("assistant", ""), line("assistant", "")]);
    assert_eq!(lines[3..], [line("user", of_helper), line("assistant", of_helper)], "each in its own order: {lines:?}");
}
