//! Statements that never come to pass, and those that cannot: each is reported with its place and the events of the run (F-10).

mod contradictions;
mod expectations;

use std::fs;
use std::path::Path;

use super::*;
use crate::run_file;
use reenact_engine::agent_loop::AgentLoop;
use reenact_files::scenario::load_all;
use reenact_sim::Run;

/// A scenario in which `Read` reads a file, with more before and behind its prompt.
fn reading(before: &str, behind: &str) -> String {
    format!(
        "tools = [\"Read\", \"Edit\", \"Bash\"]\n{before}\n[[prompt]]\ntext = \"Read a.\"\n\n[[prompt.turn]]\n\
         tool = [{{ name = \"Read\", input = {{ file_path = \"/w/a\" }}, result = \"signed in\", latency = \"5ms\" }}]\n\n\
         [[prompt.turn]]\ntext = \"Done.\"\n{behind}\n"
    )
}

fn failures_of(folder: &Path, name: &str) -> Vec<String> {
    run_file(folder.join(name), AgentLoop::default()).unwrap_or_else(|error| panic!("{error}")).failures
}

/// The failures of a scenario that stands alone.
fn said(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), text).unwrap();
    failures_of(folder.path(), "x.toml")
}

/// A statement, and the words of its one failure: the place, the event that did not come to pass, the event in its place.
const NEVER: [(&str, [&str; 3]); 19] = [
    (
        "[[fault]]\nat = { request = 9 }\nstatus = 529\n",
        ["x.toml:11:1: ", "[[fault]] (529 overloaded_error) hit nothing", "requests: 1, 2"],
    ),
    (
        "[[fault]]\nat = { attempt = 1 }\ncut = { after_events = 500 }\n",
        ["x.toml:11:1: ", "(reset after 500 events) hit nothing", "shorter"],
    ),
    (
        "[[fault]]\nat = { model = \"claude-sonet-4-5\" }\nstatus = 500\n",
        ["x.toml:11:1: ", "hit nothing", "did you mean `claude-sonnet-4-5`?"],
    ),
    ("[[fault]]\nat = { after = \"10h\" }\nstatus = 500\n", ["x.toml:11:1: ", "hit nothing", "the last prompt ended at"]),
    (
        "[[hook]]\nname = \"h\"\nevent = \"post_tool_use\"\nmatcher = \"Edti|Raed\"\n",
        ["x.toml:11:1: ", "hook `h` never ran", "did you mean `Read`?"],
    ),
    (
        "[[hook]]\nname = \"h\"\nevent = \"stop\"\nanswers = [{}, { context = \"again\" }]\n",
        ["x.toml:14:", "answer 2 of hook `h` was never given", "the hook ran 1 time;"],
    ),
    (
        "[permissions]\n\n[[permission]]\nfor = \"Bash\"\n",
        ["x.toml:13:1: ", "this [[permission]] for `Bash` was never asked", "permission was asked for: Read(/w/a)"],
    ),
    (
        "[[interrupt]]\nkind = \"cancel\"\nat = \"20h\"\n",
        ["x.toml:11:1: ", "at 72000.000s nothing was left to cancel", "choose an earlier time"],
    ),
    (
        "[[interrupt]]\nkind = \"cancel\"\nwhen = { tool = \"Raed\", state = \"executing\" }\n",
        ["x.toml:11:1: ", "the moment of this [[interrupt]] never came", "did you mean `Read`?"],
    ),
    ("[[dead]]\nnames = [\"p1\"]\nwhen = { request = 7 }\n", ["x.toml:11:1: ", "the moment of this [[dead]] never came", "requests: 1, 2"]),
    (
        "[[dead]]\nnames = [\"p1.r1.a1.reslts\"]\nwhen = { result = 1 }\n",
        ["x.toml:12:10: ", "`p1.r1.a1.reslts` of this [[dead]] names no message", "did you mean `p1.r1.a1.results`?"],
    ),
    (
        "[[dead]]\nnames = [\"p1\"]\nwhen = { terminal = 1 }\n",
        ["x.toml:11:1: ", "no request came after this [[dead]]", "choose an earlier moment"],
    ),
    (
        "[[collapse]]\nfrom = \"p1\"\nto = \"p2.r1.a1\"\nsummary = \"All.\"\nwhen = { result = 1 }\n",
        ["x.toml:13:1: ", "`p2.r1.a1` of this [[collapse]] names no message", "did you mean `p1.r1.a1`?"],
    ),
    ("[session]\nskills = [\"pdf\"]\n", ["x.toml:12:1: ", "skills were never looked up", "`look_up_skills = true`"]),
    ("[files]\nnever_answers = true\n", ["x.toml:11:2: ", "no result was stored", "`result_limit`"]),
    ("[auth]\nrefresh = \"fails\"\n", ["x.toml:11:2: ", "no new credentials were requested", "401"]),
    ("[[prompt.turn]]\ntext = \"Too much.\"\n", ["x.toml:11:1: ", "turn 3 of prompt 1 was never asked for", "requests: 1, 2"]),
    ("[expect]\nnot_sent = [\"singed in\"]\n", ["x.toml:12:13: ", "\"singed in\" of `not_sent` occurs neither", "correct the spelling"]),
    (
        "[expect]\ntext_absent = [\"[The user interuppted\"]\n",
        ["x.toml:12:16: ", "of `text_absent` occurs neither", "correct the spelling"],
    ),
];

#[test]
fn f_10_what_a_scenario_says_comes_to_pass_or_it_fails_with_its_line() {
    for (statement, words) in NEVER {
        let failures = said(&reading("", statement));
        assert_eq!(failures.len(), 1, "{statement}: {failures:#?}");
        for word in words {
            assert!(failures[0].contains(word), "{word:?} is not in:\n{}", failures[0]);
        }
        assert!(failures[0].contains("may = true"), "{}", failures[0]);
        // The line that is asked for ends it, and changes nothing else.
        let excused = if statement.contains("answers = [") {
            statement.replace("context = \"again\"", "context = \"again\", may = true")
        } else {
            format!("{statement}may = true\n")
        };
        assert_eq!(said(&reading("", &excused)), [] as [&str; 0], "{excused}");
    }
    assert_eq!(said(&reading("", "")), [] as [&str; 0], "what comes to pass is not said");
}

#[test]
fn f_10_what_the_host_does_has_a_request_to_do_it_at() {
    let change = |prompt: u32| format!("[[change]]\nfrom = {{ prompt = {prompt}, request = 1 }}\nset = {{ max_tokens = 99 }}\n");
    let message = |prompt: u32| format!("[[message]]\nat = {{ prompt = {prompt}, request = 1 }}\ntext = \"By the way.\"\n");
    for (entry, words) in [(change(7), "the request of this [[change]] was never made"), (message(7), "of this [[message]] was never made")]
    {
        let failures = said(&reading("", &entry));
        assert_eq!(failures.len(), 1, "{failures:#?}");
        assert!(failures[0].contains(words) && failures[0].contains("name a request that is made"), "{}", failures[0]);
    }
    assert_eq!(said(&reading("", &(change(1) + &message(1)))), [] as [&str; 0]);
    let instead = |role: &str| message(1) + &format!("role = \"{role}\"\nplace = \"instead\"\n");
    let failures = said(&reading("", &instead("assistant")));
    assert!(failures[0].contains("replaced no message") && failures.len() == 1, "{failures:#?}");
    assert_eq!(said(&reading("", &instead("user"))), [] as [&str; 0]);
}

#[test]
fn f_10_a_tool_use_is_what_it_is_meant_to_be() {
    let with = |tool: &str| {
        said(&format!(
            "tools = [\"Read\", \"Edit\"]\n[[prompt]]\ntext = \"Read a.\"\n[[prompt.turn]]\ntool = [{{ {tool} }}]\n[[prompt.turn]]\ntext = \"Done.\"\n"
        ))
    };
    let wrong = [
        ("name = \"Raed\", input = { file_path = \"/w/a\" }", "there is no tool `Raed`; did you mean `Read`?", "unknown = true"),
        (
            "name = \"Read\", input = { file_pth = \"/w/a\", file_path = \"/w/a\" }",
            "it has no key `file_pth`; did you mean `file_path`?",
            "invalid = true",
        ),
        ("name = \"Read\", input = { file_path = 3 }", "`file_path`: expected", "invalid = true"),
        ("name = \"Read\", input = \"{oh\"", "it is not a JSON object", "invalid = true"),
    ];
    for (tool, word, mark) in wrong {
        let failures = with(tool);
        assert_eq!(failures.len(), 1, "{failures:#?}");
        assert!(failures[0].contains(word) && failures[0].contains(mark) && failures[0].contains("x.toml:5:"), "{}", failures[0]);
        assert_eq!(with(&format!("{tool}, {mark}")), [] as [&str; 0], "{mark}");
    }
    for (tool, word) in [
        ("name = \"Read\", input = { file_path = \"/w/a\" }, unknown = true", "tool `Read` exists"),
        ("name = \"Read\", input = { file_path = \"/w/a\" }, invalid = true", "this input fits the schema of `Read`"),
    ] {
        let failures = with(tool);
        assert!(failures.len() == 1 && failures[0].contains(word), "{failures:#?}");
    }
}

#[test]
fn f_10_a_misspelt_name_beside_a_right_one_is_found() {
    let hook = "[[hook]]\nname = \"h\"\nevent = \"post_tool_use\"\nmatcher = \"Raed|Read\"\n";
    let failures = said(&reading("", hook));
    assert!(failures.len() == 1 && failures[0].contains("there is no tool `Raed`; did you mean `Read`?"), "{failures:#?}");
    let failures = said(&reading("", "[permissions]\ndeny = [\"Wirte\", \"mcp__mail\"]\n"));
    assert!(failures.len() == 1 && failures[0].contains("there is no tool `Wirte`; did you mean `Write`?"), "{failures:#?}");
}

#[test]
fn f_10_results_and_answers_of_users_come_to_pass() {
    let denied = reading("", "[permissions]\ndeny = [\"Read\"]\n\n[[result]]\ntool_use = \"toolu_p1t1n1\"\nresult = \"never\"\n");
    let denied = denied.replace(", result = \"signed in\", latency = \"5ms\"", "");
    let failures = said(&denied);
    assert!(failures.len() == 1 && failures[0].contains("tool use `toolu_p1t1n1` was never carried out"), "{failures:#?}");
    let asks = "asks = { message = \"Which?\", answer = \"this\" }";
    let asking = |engine: &str| said(&reading(engine, "").replace("latency = \"5ms\"", &format!("latency = \"5ms\", {asks}")));
    let failures = asking("");
    assert!(failures.len() == 1 && failures[0].contains("elicitation_handler = true"), "{failures:#?}");
    assert_eq!(asking("[engine]\nelicitation_handler = true"), [] as [&str; 0]);
}

#[test]
fn f_10_what_a_check_finds_is_asked_for() {
    let with = |tool: &str, of_use: &str| {
        said(&format!(
            "[[tool]]\nname = \"Read\"\n{tool}\n[[prompt]]\ntext = \"Read a.\"\n[[prompt.turn]]\n\
             tool = [{{ name = \"Read\", input = {{ file_path = \"/w/a\" }}{of_use} }}]\n[[prompt.turn]]\ntext = \"Done.\"\n"
        ))
    };
    let words = "the check of tool use `toolu_p1t1n1` was never used";
    let failures = with("", ", check_permission = \"deny\"");
    assert!(failures.len() == 1 && failures[0].contains(words) && failures[0].contains("x.toml:7:"), "{failures:#?}");
    assert!(failures[0].contains("`checks = true`") && failures[0].contains("`check_may = true`"), "{}", failures[0]);
    assert_eq!(with("", ", check_permission = \"deny\", check_may = true"), [] as [&str; 0]);
    assert_eq!(with("checks = true", ", check_permission = \"deny\""), [] as [&str; 0]);
    // What every use says itself is never asked of the tool.
    let failures = with("check = \"no\"", ", check_latency = \"5ms\"");
    assert!(failures.len() == 1 && failures[0].contains("the check of tool `Read`") && failures[0].contains("x.toml:3:"), "{failures:#?}");
    assert_eq!(with("check = \"no\"\ncheck_may = true", ", check_latency = \"5ms\""), [] as [&str; 0]);
}

#[test]
fn f_10_lookups_and_stored_results_come_to_pass() {
    let engine = "[engine]\nlook_up_skills = true\n";
    assert_eq!(said(&reading(engine, "[session]\nskills = [\"pdf\"]\n")), [] as [&str; 0]);
    let failures = said(&reading(engine, "[session]\nskills = [\"pdf\"]\nplugins_latency = \"5ms\"\n"));
    assert!(failures.len() == 1 && failures[0].contains("plugins were never looked up"), "{failures:#?}");
    let failures = said(&reading("", "[session]\nnever_answers = true\n"));
    assert!(failures.len() == 1 && failures[0].contains("skills and plugins were never looked up"), "{failures:#?}");
    let pipeline = "[engine.pipeline]\nresult_limit = 3\n";
    assert_eq!(said(&reading(pipeline, "[files]\nstore = \"/w/s\"\n")), [] as [&str; 0]);
}

#[test]
fn f_10_marks_name_messages_that_are_there_when_they_count() {
    let dead = |names: &str, when: &str| said(&reading("", &format!("[[dead]]\nnames = [{names}]\nwhen = {{ {when} }}\n")));
    assert_eq!(dead("\"p1.r1.a1\", \"p1.r1.a1.results\"", "result = 1"), [] as [&str; 0]);
    let failures = dead("\"p1.r1.a1\", \"p1.r2.a1\"", "result = 1");
    assert!(failures.len() == 1 && failures[0].contains("`p1.r2.a1` of this [[dead]] did not exist yet at its moment"), "{failures:#?}");
    let collapse = "[[collapse]]\nfrom = \"p1.r1.a1\"\nto = \"p1.r1.a1.results\"\nsummary = \"Read.\"\nwhen = { result = 1 }\n";
    assert_eq!(said(&reading("", collapse)), [] as [&str; 0]);
}

#[test]
fn f_10_definitions_that_are_nearly_those_of_others_are_misspelt() {
    let failures = said(&reading("[[tool]]\nname = \"Raed\"\nlatency = \"9s\"", ""));
    assert!(failures.len() == 1 && failures[0].contains("tool `Raed` is never used; did you mean `Read`?"), "{failures:#?}");
    assert_eq!(said(&reading("[[tool]]\nname = \"search_tickets\"", "")), [] as [&str; 0], "a tool need not be used");
    let schema = "input_schema = '{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}'";
    let observable = |from: &str| {
        said(&reading(&format!("[[tool]]\nname = \"list\"\n{schema}\nobservable = [{{ name = \"whole\", from = \"{from}\" }}]"), ""))
    };
    assert_eq!(observable("path"), [] as [&str; 0]);
    let failures = observable("pth");
    assert!(failures.len() == 1 && failures[0].contains("it has no key `pth`; did you mean `path`?"), "{failures:#?}");
}

#[test]
fn f_10_probable_faults_ranges_and_combinations() {
    let probable = |place: &str| said(&reading("", &format!("[[fault]]\nat = {{ {place} }}\nstatus = 529\n")));
    assert_eq!(probable("request = 2, attempt = 1, probability = 0.01"), [] as [&str; 0], "luck is excused");
    for (place, what, instead) in [
        ("request = 9, probability = 0.5", "no request came to its place", "requests: 1, 2"),
        ("thread = \"nobody\", probability = 0.99", "no request came to its place", "threads of the run: main"),
        ("request = 2, probability = 0.0", "has a probability of 0", "may = true"),
    ] {
        let failures = probable(place);
        assert!(failures.len() == 1 && failures[0].contains(what) && failures[0].contains(instead), "{place}: {failures:#?}");
    }
    let certain =
        "[[fault]]\nat = { attempt = 1 }\nstatus = 529\n[[fault]]\nat = { attempt = 1, probability = 0.5 }\nconnect = \"reset\"\n";
    let failures = said(&reading("", certain));
    assert!(failures.len() == 1 && failures[0].contains("(connect reset) could not hit"), "{failures:#?}");
    assert_eq!(said(&reading("", "[[fault]]\nat = { request = \"2..=9\", attempt = 1 }\nconnect = \"reset\"\n")), [] as [&str; 0]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.toml");
    let judged = |text: &str, path: &Path| {
        fs::write(&file, text).unwrap();
        let loaded = load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let reports: Vec<_> = loaded.iter().map(|run| Run::new(run.setup.clone(), AgentLoop::default()).to_end()).collect();
        let runs: Vec<_> = loaded.iter().zip(&reports).map(|(loaded, report)| (loaded, Some(report.into()))).collect();
        judge(&runs, RunView::Simulated)
    };
    let matrix = |requests: &str| {
        reading("", &format!("[[fault]]\nat = {{ request = 9 }}\nstatus = 529\n\n[matrix]\nfault.0.at.request = {requests}\n"))
    };
    assert_eq!(judged(&matrix("[1, 9]"), &file), StatementsVerdict::default(), "one of them hits");
    let never = judged(&matrix("[8, 9]"), &file);
    assert_eq!(never.failures.len(), 1, "{never:#?}");
    assert_eq!(never.failures[0].1.len(), 1, "one statement is said once: {never:#?}");
    let part = judged(&matrix("[8, 9]"), &folder.path().join("m.toml@request=8"));
    assert_eq!((part.failures.len(), part.not_asked[0].1), (0, IN_PART));
    let short = judged(&reading("[limits]\nrequests = 1", "[[fault]]\nat = { request = 9 }\nstatus = 529\n"), &file);
    assert_eq!((short.failures.len(), short.not_asked[0].1), (0, SkippedJudgement::CutShort.as_str()));
    let planned = judged(&reading("", "[[fault]]\nat = { request = 9 }\nstatus = 529\n\n[plan.tools]\ntoolu_p1t1n1 = \"40ms\"\n"), &file);
    assert_eq!((planned.failures.len(), planned.not_asked[0].1), (0, SkippedJudgement::Planned.as_str()));
}

#[test]
fn f_10_what_is_wrong_with_one_run_stands_at_that_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.toml");
    let text = reading("", "[matrix]\ntools = [[\"Read\"], [\"Bash\"]]\n").replacen("tools = [\"Read\", \"Edit\", \"Bash\"]\n", "", 1);
    fs::write(&file, text).unwrap();
    for (path, at) in [("m.toml", 1), ("m.toml@tools=2", 0)] {
        let loaded = load_all(&folder.path().join(path), &[]).unwrap_or_else(|error| panic!("{error}"));
        let reports: Vec<_> = loaded.iter().map(|run| Run::new(run.setup.clone(), AgentLoop::default()).to_end()).collect();
        let runs: Vec<_> = loaded.iter().zip(&reports).map(|(loaded, report)| (loaded, Some(report.into()))).collect();
        let failures = judge(&runs, RunView::Simulated).failures;
        assert!(
            failures.len() == 1 && failures[0].0 == at && failures[0].1[0].contains("there is no tool `Read`"),
            "{path}: {failures:#?}"
        );
    }
}

#[test]
fn f_10_what_a_base_says_is_judged_in_its_users_unless_it_is_run_itself() {
    let folder = tempfile::tempdir().unwrap();
    let base = reading("", "[[fault]]\nat = { request = 9 }\nstatus = 529\n");
    for (name, expected) in [("_base.toml", 1), ("base.toml", 0)] {
        fs::write(folder.path().join(name), &base).unwrap();
        fs::write(folder.path().join("user.toml"), format!("extends = \"{name}\"\ntitle = \"A user\"\n")).unwrap();
        let failures = failures_of(folder.path(), "user.toml");
        assert_eq!(failures.len(), expected, "{failures:#?}");
        assert!(failures.iter().all(|failure| failure.contains("_base.toml:11:1: ")), "{failures:#?}");
    }
}

#[test]
fn f_10_a_run_that_stops_for_want_of_an_answer_is_asked_too() {
    let text = reading("", "[[fault]]\nat = { request = 9 }\nstatus = 529\n").replace("[[prompt.turn]]\ntext = \"Done.\"\n", "");
    let failures = said(&text);
    assert!(failures.iter().any(|failure| failure.contains("hit nothing")), "{failures:#?}");
}

#[test]
fn f_10_what_one_combination_makes_due_must_come_to_pass() {
    let hook = "[[hook]]\nname = \"h\"\nevent = \"post_tool_use\"\nmatcher = \"Read\"\nanswers = [{}, { context = \"again\" }]\n";
    let matrix = "[matrix]\nhook.0.matcher = [\"Read\", \"Edit\"]\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.toml");
    fs::write(&file, reading("", &format!("{hook}\n{matrix}"))).unwrap();
    let loaded = load_all(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
    let reports: Vec<_> = loaded.iter().map(|run| Run::new(run.setup.clone(), AgentLoop::default()).to_end()).collect();
    for order in [[0, 1], [1, 0]] {
        let runs: Vec<_> = order.iter().map(|at| (&loaded[*at], Some((&reports[*at]).into()))).collect();
        let found = judge(&runs, RunView::Simulated).failures;
        assert!(found.len() == 1 && found[0].1.iter().any(|failure| failure.contains("answer 2 of hook `h`")), "{found:#?}");
    }
}

#[test]
fn f_10_an_engine_behind_a_real_server_is_asked_for_all_but_the_server_s_and_the_network_s() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let fault = "[[fault]]\nat = { request = 9 }\nstatus = 529\n";
    fs::write(&file, reading("", &format!("[[interrupt]]\nkind = \"cancel\"\nat = \"20h\"\n\n{fault}"))).unwrap();
    let loaded = load_all(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
    let report = Run::new(loaded[0].setup.clone(), AgentLoop::default()).to_end();
    let found = |view| judge(&[(&loaded[0], Some((&report).into()))], view).failures.remove(0).1;
    let (engine, server) = (found(RunView::Engine), found(RunView::Server));
    assert!(engine.len() == 1 && engine[0].contains("[[interrupt]]"), "{engine:#?}");
    assert!(server.len() == 1 && server[0].contains("[[fault]]"), "{server:#?}");
    assert_eq!(found(RunView::Simulated).len(), 2);
}
