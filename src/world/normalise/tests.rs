//! The shipped rules and those of scenarios.

use serde_json::json;

use super::*;
use crate::setup::RunSetup;
use reenact_scenario::tape::ClientFolder;
use reenact_scenario::types::Scenario;

fn normaliser() -> Normaliser {
    Normaliser::new(&DriveScript::default(), &[(String::from("/w/run-1/h"), "<home>")])
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
        let drive = DriveScript { without: vec![rule.into()], ..DriveScript::default() };
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
    let rule = |name: &str, place| NormaliseRule { name: name.into(), place };
    let between = |until: Option<&str>| VaryingPlace::Between { after: "build ".into(), until: until.map(Into::into) };
    let of = |rule| Normaliser::new(&DriveScript { normalise: vec![rule], ..DriveScript::default() }, &[]);
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

#[test]
fn k_10_a_folder_is_known_by_its_whole_name() {
    let shown = |folder: &str, text: &str| Normaliser::new(&DriveScript::default(), &[(String::from(folder), "<home>")]).text(text);
    for inside in
        ["/w/a", "/w", "\"/w\"", "/w a", "/w\\n", "/w. And", "/w...", "-I/w/a", "/private/w/a", "/w:/w", "in /w, or", "p/-w-a/b", "ü/w/ü"]
    {
        let named = inside.replace("-w-", "<home>-").replace("/w", "<home>");
        assert_eq!([shown("/w", inside), shown("/w/", inside)], [named.clone(), named]);
    }
    for beside in ["/www", "/w.bak/a", "/w..a", "/w-2", "/w_2", "/w2/w2", "p/-w2/b"] {
        assert_eq!(shown("/w", beside), beside);
    }
    for nothing in ["/", "//", ""] {
        assert_eq!(shown(nothing, "/w/a-b"), "/w/a-b");
    }
}

#[test]
fn k_10_what_is_one_folder_for_one_client_may_be_two_for_another() {
    // As in a container: the first client worked in its home, and its temporary folder was named with a slash behind it.
    let folders = [(ClientFolder::Home, "/root"), (ClientFolder::Tmp, "/var/t/"), (ClientFolder::Work, "/root")];
    let mut setup = RunSetup::new(Scenario::default(), None).unwrap();
    setup.folders = folders.map(|(folder, path)| (folder, String::from(path))).into();
    let now = [("/d/home", "<home>"), ("/d/tmp", "<tmp>"), ("/d/work", "<work>")].map(|(path, name)| (String::from(path), name));
    let varying = setup.for_client(&now).varying.unwrap();
    let shown = |[home, tmp, work]: [&str; 3]| varying.clone().json(json!({ "system": format!("{home}/.x {tmp}/y {work}.") }));
    assert_eq!(shown(["/root", "/var/t", "/root"]), shown(["/d/home", "/d/tmp", "/d/work"]));
    assert_ne!(shown(["/root", "/var/t", "/root"]), shown(["/d/home", "/d/tmp", "/d/other"]));
}

#[test]
fn k_10_what_a_tool_was_given_is_no_varying_member_of_a_request() {
    let own = NormaliseRule { name: "cost".into(), place: VaryingPlace::Member("usd".into()) };
    let drive = DriveScript { normalise: vec![own], ..DriveScript::default() };
    let mut setup = RunSetup::new(Scenario { drive, ..Scenario::default() }, None).unwrap();
    setup.folders = vec![(ClientFolder::Work, String::from("/then"))];
    let mut varying = setup.for_client(&[]).varying.unwrap();
    let input = json!({ "time": "noon", "run_id": 7, "snapshot": "a", "pid": 1, "timeout_ms": 5, "uuid": true, "start": { "time": { "start": 1 } } });
    let tools = json!([{ "name": "wait", "input_schema": { "properties": { "timestamp": "x" }, "limit_ms": 3 } }]);
    let body = json!({ "tools": tools, "messages": [{ "role": "assistant", "content": [{ "type": "tool_use", "input": input }] }] });
    assert_eq!(varying.json(body.clone()), body);
    // What texts say may vary as before, and a scenario's own rules are its own.
    let said = json!({ "text": "in /then on 2026-11-21 <x_ms>381</x_ms>", "usd": 1 });
    assert_eq!(varying.json(said), json!({ "text": "in <folder> on <date> <x_ms><durations></x_ms>", "usd": "<cost>" }));
}

#[test]
fn k_10_rules_that_acted_are_known_by_name() {
    let result = |id: &str| serde_json::json!({ "type": "tool_result", "tool_use_id": id });
    let acted = |value: Value| {
        let mut normaliser = Normaliser::new(&DriveScript::default(), &[]);
        normaliser.json(value);
        normaliser.acted().collect::<Vec<_>>()
    };
    assert_eq!(acted(serde_json::json!([result("a"), result("b"), "plain"])), [""; 0]);
    assert_eq!(acted(serde_json::json!([result("b"), result("a")])), ["order"], "what moved is not hidden in silence");
    assert_eq!(
        acted(serde_json::json!({ "wait_ms": 7, "uuid": "x", "text": "http://127.0.0.1:4711/" })),
        ["durations", "members", "ports"]
    );
    let mut lines = ["b", "a"].map(|id| serde_json::json!({ "message": { "content": [result(id)] } }).to_string());
    let mut normaliser = Normaliser::new(&DriveScript::default(), &[]);
    normaliser.order_lines(&mut lines);
    assert!(lines[0].contains("\"a\"") && normaliser.acted().eq(["order"]), "{lines:?}");
}
