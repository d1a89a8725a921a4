//! Contradictions in a scenario, and keys without an effect (F-10).

use super::*;

#[test]
fn f_10_a_number_too_high_is_no_request_of_the_next_prompt() {
    let entries = [
        ("[[change]]\nfrom = { prompt = 1, request = 9 }\nset = { max_tokens = 99 }\n", "the request of this [[change]] was never made"),
        ("[[message]]\nat = { prompt = 1, request = 9 }\ntext = \"By the way.\"\n", "the request of this [[message]] was never made"),
    ];
    for (entry, words) in entries {
        let failures = said(&reading("", &format!("{entry}[[prompt]]\ntext = \"And b?\"\n[[prompt.turn]]\ntext = \"No.\"\n")));
        assert!(failures.len() == 1 && failures[0].contains(words), "{failures:#?}");
    }
}

#[test]
fn f_10_what_a_wrong_tool_use_gives_is_never_used() {
    let with = |tool: &str| {
        said(&format!(
            "tools = [\"Read\"]\n[[prompt]]\ntext = \"Read a.\"\n[[prompt.turn]]\ntool = [{{ {tool} }}]\n[[prompt.turn]]\ntext = \"Done.\"\n"
        ))
    };
    for tool in [
        "name = \"Raed\", unknown = true, result = \"a\"",
        "name = \"Raed\", unknown = true, latency = \"5s\"",
        "name = \"Read\", input = { file_path = 3 }, invalid = true, result = \"a\"",
    ] {
        let failures = with(tool);
        assert!(failures.len() == 1 && failures[0].contains("are never used"), "{tool}: {failures:#?}");
    }
    let runs = "name = \"Read\", input = { file_path = \"/w/a\", lines = 3 }, invalid = true, result = \"a\"";
    assert_eq!(with(runs), [] as [&str; 0], "a key that the schema lacks is no reason not to run");
}

#[test]
fn f_10_a_tool_that_the_request_does_not_offer_is_not_used_unmarked() {
    let change = "[[change]]\nfrom = { prompt = 1, request = 1 }\ntools = [\"Bash\"]\n";
    let failures = said(&reading("", change));
    assert!(failures.len() == 1 && failures[0].contains("does not offer `Read`"), "{failures:#?}");
    assert_eq!(said(&reading("", &change.replace("Bash", "Read"))), [] as [&str; 0]);
}

#[test]
fn f_10_a_second_cancel_finds_nothing_to_cancel() {
    let cancel = "[[interrupt]]\nkind = \"cancel\"\nwhen = { tool = \"Read\", state = \"executing\" }\n";
    let turns = |text: &str| text.replace("text = \"Done.\"", "text = \"Done.\"\nmay = true");
    assert_eq!(said(&turns(&reading("", cancel))), [] as [&str; 0]);
    let failures = said(&turns(&reading("", &cancel.repeat(2))));
    assert!(failures.len() == 1 && failures[0].contains("all was cancelled before it"), "{failures:#?}");
}

#[test]
fn f_10_a_cancel_of_nothing_does_not_make_a_run_longer() {
    let late = "[[interrupt]]\nkind = \"cancel\"\nat = \"60s\"\nmay = true\n[expect]\nends_after = \"30s\"\n";
    let failures = said(&reading("", late));
    assert!(failures.len() == 1 && failures[0].contains("expected the run to end at or after 30"), "{failures:#?}");
}

#[test]
fn m_9_a_prompt_behind_the_limit_is_told_as_that() {
    let late = "[[prompt]]\ntext = \"a\"\nat = \"25h\"\n[[prompt.turn]]\ntext = \"b\"\n";
    let failures = said(late);
    assert!(failures.iter().any(|text| text.contains("give it an earlier `at`")), "{failures:#?}");
}

/// A scenario in which an agent asks for this.
fn agent_asking(tool: &str) -> Vec<String> {
    said(&format!(
        "tools = [\"Read\"]\n[[tool]]\nname = \"Agent\"\nagent = {{}}\n[[prompt]]\ntext = \"Look at it.\"\n[[prompt.turn]]\n\
         tool = [{{ name = \"Agent\", input = {{ description = \"look\", prompt = \"Look at it all, please.\" }}, agent = [\n\
         {{ turn = [{{ tool = [{{ {tool} }}] }}, {{ text = \"Seen.\" }}] }},\n] }}]\n[[prompt.turn]]\ntext = \"Done.\"\n"
    ))
}

#[test]
fn f_10_an_agent_has_the_tools_that_its_requests_offer() {
    let inner = "name = \"Agent\", input = { description = \"look\", prompt = \"Look at the rest, please.\" }";
    let failures = agent_asking(inner);
    assert!(failures.len() == 1 && failures[0].contains("there is no tool `Agent`"), "{failures:#?}");
    assert!(failures[0].contains("tools here: Read;") && failures[0].contains("x.toml:9:"), "the agent's tools: {failures:#?}");
    assert_eq!(agent_asking(&format!("{inner}, unknown = true")), [] as [&str; 0]);
    let failures = agent_asking("name = \"Raed\"");
    assert!(failures.len() == 1 && failures[0].contains("tools here: Read;"), "{failures:#?}");
    assert_eq!(agent_asking("name = \"Read\", input = { file_path = \"/w/a\" }"), [] as [&str; 0]);
}

#[test]
fn f_10_a_task_that_is_refused_is_marked() {
    let task = |input: &str| {
        said(&format!(
            "[[tool]]\nname = \"Agent\"\nagent = {{}}\n[[prompt]]\ntext = \"Look at it.\"\n[[prompt.turn]]\n\
             tool = [{{ name = \"Agent\", input = {{ {input} }} }}]\n[[prompt.turn]]\ntext = \"Done.\"\nmay = true\n"
        ))
    };
    let failures = task("description = \"lo\", prompt = \"Look at it all, please.\"");
    let words = "`description` must be text of 3 to 100 characters";
    assert!(failures.len() == 1 && failures[0].contains(words) && failures[0].contains("invalid = true"), "{failures:#?}");
}

#[test]
fn f_10_a_change_takes_out_what_is_there() {
    let engine = "[engine]\nrequest_extra = { tool_choice = { type = \"any\" } }\n";
    let change = |name: &str| format!("[[change]]\nfrom = {{ prompt = 1, request = 2 }}\nunset = [\"{name}\"]\n");
    assert_eq!(said(&reading(engine, &change("tool_choice"))), [] as [&str; 0]);
    for name in ["tool_choic", "thinking"] {
        let failures = said(&reading(engine, &change(name)));
        let words = format!("`{name}` is in no request at that point");
        assert!(failures.len() == 1 && failures[0].contains(&words) && failures[0].contains("tool_choice"), "{failures:#?}");
    }
    let twice = change("tool_choice") + &change("tool_choice").replace("prompt = 1, request = 2", "prompt = 2, request = 1");
    let failures = said(&reading(engine, &format!("{twice}[[prompt]]\ntext = \"And b?\"\n[[prompt.turn]]\ntext = \"No.\"\n")));
    assert!(failures.len() == 1 && failures[0].contains("in no request at that point"), "the first has taken it out: {failures:#?}");
}

#[test]
fn f_10_a_title_is_no_text_of_the_run() {
    let title = "title = \"No flurbo is here\"";
    let failures = said(&reading(title, "[expect]\ntext_absent = [\"flurbo\"]\n"));
    assert!(failures.len() == 1 && failures[0].contains("\"flurbo\" of `text_absent` occurs neither"), "{failures:#?}");
}

#[test]
fn f_10_a_cancel_before_the_prompt_comes_too_early() {
    let failures = said(&reading("", "[[interrupt]]\nkind = \"cancel\"\nat = \"0s\"\n"));
    assert!(failures.len() == 1 && failures[0].contains("choose a later time"), "{failures:#?}");
}

#[test]
fn f_10_marks_that_are_switched_off_or_said_twice_change_nothing() {
    let dead = "[[dead]]\nnames = [\"p1.r1.a1\", \"p1.r1.a1.results\"]\nwhen = { result = 1 }\n";
    let collapse = "[[collapse]]\nfrom = \"p1.r1.a1\"\nto = \"p1.r1.a1.results\"\nsummary = \"Read.\"\nwhen = { result = 1 }\n";
    for (mark, switch) in [(dead, "snip"), (collapse, "collapse")] {
        assert_eq!(said(&reading("", mark)), [] as [&str; 0]);
        let off = format!("[engine.compaction]\n{switch} = false");
        let failures = said(&reading(&off, mark));
        assert!(failures.len() == 1 && failures[0].contains("changes nothing: `") && failures[0].contains(switch), "{failures:#?}");
        assert_eq!(said(&reading(&off, &format!("{mark}may = true\n"))), [] as [&str; 0]);
        let failures = said(&reading("", &mark.repeat(2)));
        assert!(failures.len() == 1 && failures[0].contains("does the same"), "{failures:#?}");
    }
}

#[test]
fn f_10_hooks_say_what_their_point_hears() {
    let hook = |event: &str, says: &str| said(&reading("", &format!("[[hook]]\nname = \"h\"\nevent = \"{event}\"\n{says}\n")));
    for (event, says, words) in [
        ("stop", "decision = \"ask\"", "a hook of `stop` decides `deny`; `ask` has no effect"),
        ("post_tool_use", "updated_input = { command = \"x\" }", "does not change the input"),
        ("stop", "reason = \"lonely\"", "does not have one"),
        ("post_tool_use", "answers = [{ never_answers = true, latency = \"5s\" }]", "needs no `latency`"),
    ] {
        let failures = hook(event, says);
        assert!(failures.len() == 1 && failures[0].contains(words), "{event} {says}: {failures:#?}");
    }
    assert_eq!(hook("pre_tool_use", "decision = \"allow\"\nreason = \"fine\""), [] as [&str; 0]);
}

#[test]
fn f_10_nothing_of_a_tool_comes_after_its_end() {
    let with = |tool: &str| said(&reading("", "").replace("latency = \"5ms\"", tool));
    assert_eq!(with("latency = \"5ms\", progress = [{ at = \"5ms\", text = \"half\" }]"), [] as [&str; 0]);
    let failures = with("latency = \"5ms\", progress = [{ at = \"5s\", text = \"half\" }]");
    assert!(failures.len() == 1 && failures[0].contains("the tool ends after 0.005s"), "{failures:#?}");
}
