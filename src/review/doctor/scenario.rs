//! A scenario for a finding: what is stored, in the smallest form, and how the API refuses it (V-9).
//!
//! Names of tools come from the session. Words, inputs and ids do not: a session may hold secrets, and the finding does not depend on them.

use std::fmt::Write as _;

use reenact_stores::judgement::SessionFinding;
use reenact_stores::rules::ViolationKind;
use reenact_wire::json::push_string;
use reenact_wire::prelude::*;

/// With so many tools the shape of an answer is clear.
const TOOLS_MAX: usize = 4;

/// The text of a scenario that shows such a finding; `None` where no request can: of a file that cannot be read, for example.
pub fn scenario(finding: &SessionFinding) -> Option<String> {
    let kind = finding.violation.kind;
    let tools = Tools::new(finding);
    let (title, refusal) = match kind {
        ViolationKind::DanglingCall => ("A prompt follows calls without results", MISSING),
        ViolationKind::LateResult => ("A result comes behind the next prompt", UNEXPECTED),
        ViolationKind::TextBeforeResult => ("A text stands between a call and its result", MISSING),
        ViolationKind::DoubledResult => ("A call has two results", "each `tool_use` must have a single result"),
        ViolationKind::DoubledCall => ("An answer has two calls with one id", "`tool_use` ids must be unique"),
        ViolationKind::ResultWithoutCall => ("A result has no call", UNEXPECTED),
        ViolationKind::CutPair => ("A compaction keeps a result without its call", UNEXPECTED),
        ViolationKind::MisplacedBlock => ("A call stands in a message of the user", "blocks can only be in `assistant` messages"),
        ViolationKind::BlankText if finding.is_empty_text => ("An answer has an empty text", "text content blocks must be non-empty"),
        ViolationKind::BlankText => ("A message has a blank text", "text content blocks must contain non-whitespace text"),
        ViolationKind::UnreadPart | ViolationKind::Refused | ViolationKind::DeniedStart | ViolationKind::Lost => return None,
    };
    let word = kind.as_str();
    let mut text = format!("# The shape of a finding `{word}` of `reenact doctor`, with made-up words and ids.\n");
    text += &match kind {
        ViolationKind::DanglingCall => turn(title, &tools, &format!("{}{PROMPT}", tools.given())),
        ViolationKind::TextBeforeResult => turn(title, &tools.first(), &format!("{REMINDER},{}", result("toolu_p1t1n1"))),
        ViolationKind::DoubledResult => turn(title, &tools.first(), &format!("{0},{0}", result("toolu_p1t1n1"))),
        ViolationKind::BlankText if finding.is_empty_text => history(title, &[user(BEGINNING), assistant(&format!("{EMPTY},{ANSWER}"))]),
        _ => history(title, &stored(kind, &tools.first())),
    };
    let _ = write!(text, "\n[expect]\nterminal = \"model_error\"\nrefusals = 1\norder = [{}]\n", quoted(refusal));
    Some(text)
}

const MISSING: &str = "`tool_use` ids were found without `tool_result` blocks immediately after";
const UNEXPECTED: &str = "unexpected `tool_use_id` found in `tool_result` blocks: toolu_1";

const BEGINNING: &str = r#"{"type":"text","text":"Begin."}"#;
const PROMPT: &str = r#"{"type":"text","text":"Go on."}"#;
const ANSWER: &str = r#"{"type":"text","text":"Fine."}"#;
const EMPTY: &str = r#"{"type":"text","text":""}"#;
const REMINDER: &str = r#"{"type":"text","text":"A reminder."}"#;
const SUMMARY: &str = r#"{"type":"text","text":"What came before, in short."}"#;

/// The tools of the answer that a finding is about.
struct Tools(Vec<(String, bool)>);

impl Tools {
    fn new(finding: &SessionFinding) -> Self {
        let mut tools: Vec<(String, bool)> = finding.tools.iter().map(|(tool, is_answered)| (tool_name(tool), *is_answered)).collect();
        // Of a long answer the shape is enough, with the calls that have no result.
        while tools.len() > TOOLS_MAX {
            let spare = tools.iter().rposition(|(_, is_answered)| *is_answered).unwrap_or(tools.len() - 1);
            tools.remove(spare);
        }
        if tools.is_empty() {
            tools.push((String::from("tool"), false));
        }
        Self(tools)
    }

    /// The first one alone.
    fn first(&self) -> Self {
        Self(vec![(self.0[0].0.clone(), false)])
    }

    /// A call of the first one.
    fn call(&self) -> String {
        format!(r#"{{"type":"tool_use","id":"toolu_1","name":{},"input":{{}}}}"#, quoted(&self.0[0].0))
    }

    /// The results that are there, each with a comma behind it.
    fn given(&self) -> String {
        let answered = (1..).zip(&self.0).filter(|(_, (_, is_answered))| *is_answered);
        answered.map(|(number, _): (u32, _)| result(&format!("toolu_p1t1n{number}")) + ",").collect()
    }

    /// Their names, each once.
    fn declared(&self) -> String {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        names.dedup();
        names
            .iter()
            .map(|name| format!("[[tool]]\nname = {}\ninput_schema = '{{\"type\":\"object\"}}'\nsafe = true\n\n", quoted(name)))
            .collect()
    }
}

/// A name that the API takes.
fn tool_name(name: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let name: String = name.chars().take(64).map(|character| if fits(character) { character } else { '_' }).collect();
    match &*name {
        "" => "tool".into(),
        // A tool with this name would start an agent, which has answers of its own.
        "Agent" => "agent".into(),
        _ => name,
    }
}

fn user(blocks: &str) -> String {
    message("user", blocks)
}

fn assistant(blocks: &str) -> String {
    message("assistant", blocks)
}

fn message(role: &str, blocks: &str) -> String {
    format!("[[history]]\nrole = \"{role}\"\ncontent_json = {}\n\n", quoted(&format!("[{blocks}]")))
}

/// A text as TOML takes it: its basic strings have the escapes of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    push_string(&mut quoted, text);
    quoted.replace('\u{7f}', "\\u007f")
}

fn result(id: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"Done."}}"#)
}

/// The stored history, as messages of an earlier session.
fn stored(kind: ViolationKind, tools: &Tools) -> Vec<String> {
    let (call, result) = (tools.call(), result("toolu_1"));
    match kind {
        ViolationKind::LateResult => vec![user(BEGINNING), assistant(&call), user(PROMPT), assistant(ANSWER), user(&result)],
        ViolationKind::DoubledCall => vec![user(BEGINNING), assistant(&format!("{call},{call}")), user(&result)],
        ViolationKind::CutPair => vec![user(SUMMARY), user(&result)],
        ViolationKind::MisplacedBlock => vec![user(BEGINNING), assistant(ANSWER), user(&call)],
        ViolationKind::BlankText => vec![user(r#"{"type":"text","text":" "}"#), assistant(ANSWER)],
        _ => vec![user(BEGINNING), assistant(ANSWER), user(&result)],
    }
}

fn history(title: &str, messages: &[String]) -> String {
    format!("\ntitle = \"{title}, and the API refuses the history\"\n\n{}[[prompt]]\ntext = \"Go on.\"\n", messages.concat())
}

/// Tools run, and the next request has `blocks` in place of their results: the engine itself answers every call.
fn turn(title: &str, tools: &Tools, blocks: &str) -> String {
    let mut text = format!(
        "#\n# The second request has what the session holds in place of the results, in `[[message]]`. To see how an agent comes to it, take out\n\
         # `[[message]]` and `[expect]`: `reenact drive --sweep` with this file interrupts the agent at every moment.\n\n\
         title = \"{title}, and the API refuses the history\"\n\n{}",
        tools.declared()
    );
    text += "[[prompt]]\ntext = \"Begin.\"\n\n[[prompt.turn]]\ntext = \"I begin.\"\ntool = [\n";
    for (name, _) in &tools.0 {
        let _ = writeln!(text, "  {{ name = {}, input = {{}}, result = \"Done.\", latency = \"3s\" }},", quoted(name));
    }
    let _ = write!(
        text,
        "]\n\n[[message]]\nat = {{ prompt = 1, request = 2 }}\nplace = \"instead\"\ncontent_json = {}\n",
        quoted(&format!("[{blocks}]")),
    );
    text
}

#[cfg(test)]
mod tests {
    use reenact_engine::agent_loop::AgentLoop;
    use reenact_files::scenario::{LoadOptions, load_with};
    use reenact_stores::rules::HistoryViolation;

    use super::*;

    fn finding(kind: ViolationKind, tools: &[(&str, bool)]) -> SessionFinding {
        let tools = tools.iter().map(|(name, is_answered)| ((*name).into(), *is_answered)).collect();
        SessionFinding {
            violation: HistoryViolation { rule: "O-1", kind, call: None, places: Vec::new(), text: String::new() },
            mechanism: "",
            tools,
            is_empty_text: false,
        }
    }

    #[test]
    fn v_9_the_scenario_of_each_kind_shows_its_refusal() {
        let folder = tempfile::tempdir().unwrap();
        let many = [("a", true), ("b", true), ("c", true), ("d", true), ("mcp__x \"y\"", false)];
        for kind in ViolationKind::ALL {
            for tools in [&[][..], &[("Bash", false)], &[("Agent", false)], &[("bash", true), ("read", false)], &many] {
                let Some(text) = scenario(&finding(kind, tools)) else {
                    assert!(matches!(
                        kind,
                        ViolationKind::UnreadPart | ViolationKind::Refused | ViolationKind::DeniedStart | ViolationKind::Lost
                    ));
                    continue;
                };
                let path = folder.path().join("a.toml");
                std::fs::write(&path, &text).unwrap();
                let loaded = load_with(&path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
                let report = reenact_runner::run_file(&path, AgentLoop::default()).unwrap();
                assert!(report.failures.is_empty(), "{}: {:?}\n{text}", loaded.name, report.failures);
            }
        }
    }
}
