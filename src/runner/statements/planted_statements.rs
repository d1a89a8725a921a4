//! Statements that cannot come to pass, one of each kind planted in every shipped scenario: the run fails and names the line of each (F-10).
//!
//! They stand in a file of their own that extends the scenario, so that the scenario stays as it is. Kinds that change what a scenario shows (turns,
//! names that are used) are misspelt in [`super::misspelt`].

use std::path::PathBuf;

use super::misspellings::run_and_judge;
use super::*;
use crate::in_parallel;
use crate::threads_available;
use reenact_engine::contract::Effect;
use reenact_files::scenario::find;
use reenact_transcript::event::EventKind;

/// A statement, and its line that a failure names. Lists take the place of the scenario's own.
const PLANTED: [(&str, &str); 18] = [
    ("[[fault]]\nat = { request = 999 }\nstatus = 529\n", "[[fault]]"),
    ("[[hook]]\nname = \"planted\"\nevent = \"pre_tool_use\"\nmatcher = \"Planted\"\n", "[[hook]]"),
    ("[[permission]]\nfor = \"Planted\"\n", "[[permission]]"),
    ("[[interrupt]]\nkind = \"cancel\"\nwhen = { request = 999 }\n", "[[interrupt]]"),
    ("[[dead]]\nnames = [\n  \"p77\",\n  \"p1.r1.a1.resluts\",\n]\nat = \"0s\"\n", "  \"p77\","),
    ("", "  \"p1.r1.a1.resluts\","),
    ("[[collapse]]\nfrom = \"p78\"\nto = \"p79\"\nsummary = \"All of it.\"\nat = \"0s\"\n", "from = \"p78\""),
    ("", "to = \"p79\""),
    ("[[change]]\nfrom = { prompt = 99, request = 1 }\nset = { max_tokens = 99 }\n", "[[change]]"),
    ("[[message]]\nat = { prompt = 99, request = 1 }\ntext = \"By the way.\"\n", "[[message]]"),
    ("[session]\nskills = [\"planted\"]\nplugins = [\"planted\"]\n", "skills = [\"planted\"]"),
    ("", "plugins = [\"planted\"]"),
    ("[files]\nstore = \"/w/planted\"\n", "[files]"),
    ("[auth]\nrefresh = \"fails\"\n", "[auth]"),
    ("[[tool]]\nname = \"Planted\"\nasks = { message = \"Which?\", answer = \"this\" }\ncheck = \"never\"\n", "asks = {"),
    ("", "check = \"never\""),
    (
        "input_schema = '{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}'\n\
         observable = [{ name = \"whole\", from = \"pth\" }]\n",
        "observable = [",
    ),
    ("[expect]\nnot_sent = [\"zqxjkvzq\"]\n", "not_sent = ["),
];

/// Whether a run does the thing that makes one of these come to pass, by the line.
fn happens(transcript: &Transcript, line: &str) -> bool {
    let is = |is: fn(&Effect) -> bool| transcript.events.iter().any(|event| matches!(&event.what, EventKind::Effect(effect) if is(effect)));
    match line {
        "[auth]" => is(|effect| matches!(effect, Effect::RefreshAuth { .. })),
        "[files]" => is(|effect| matches!(effect, Effect::StoreResult { .. })),
        "skills = [\"planted\"]" | "plugins = [\"planted\"]" => is(|effect| matches!(effect, Effect::LookUp { .. })),
        _ => false,
    }
}

/// The lines that no failure names; `None` where the scenario cannot be asked.
fn unnoticed((file, folder): &(PathBuf, PathBuf)) -> Option<Vec<String>> {
    let planted: String = PLANTED.iter().map(|(said, _)| *said).collect();
    let text = format!("extends = {:?}\n{planted}", file.display().to_string());
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("planted.toml");
    std::fs::write(&path, &text).unwrap();
    let (reports, failures) = run_and_judge(&path, &[])?;
    let told: Vec<&str> = failures.iter().filter_map(|failure| failure.lines().next()).collect();
    let place = |line: &str| text.lines().position(|other| other.starts_with(line)).map(|at| format!("planted.toml:{}:", at + 1)).unwrap();
    // Where nothing is asked nobody could leave anything out.
    let has_no_request = |line: &str| line.contains("\"p7") || line.contains("resluts");
    let is_named = |line: &str| told.iter().any(|failure| failure.contains(&place(line)));
    let made_none =
        reports.iter().all(|report| report.transcript.events.iter().all(|event| !matches!(event.what, EventKind::Request { .. })));
    let missed = PLANTED.iter().map(|(_, line)| *line).filter(|line| {
        let is_excused = reports.iter().any(|report| happens(&report.transcript, line)) || (made_none && has_no_request(line));
        !is_excused && !is_named(line)
    });
    Some(missed.map(|line| format!("{}: {line}: {told:#?}", file.display())).collect())
}

#[test]
fn f_10_every_kind_of_statement_that_cannot_come_to_pass_is_named_in_every_scenario() {
    let (files, errors) = find(&[crate::shipped_scenarios::checkout().join("scenarios")]);
    assert!(errors.is_empty(), "{errors:?}");
    let folder = tempfile::tempdir().unwrap();
    let planted: Vec<_> = files.into_iter().enumerate().map(|(nth, file)| (file, folder.path().join(nth.to_string()))).collect();
    let results = in_parallel(&planted, threads_available(), unnoticed).into_iter().flatten().collect::<Vec<_>>();
    let missed: Vec<String> = results.iter().flatten().cloned().collect();
    assert!(missed.is_empty(), "{} statements went unnoticed:\n{}", missed.len(), missed[..missed.len().min(4)].join("\n"));
    assert!(results.len() > 300, "only {} of {} scenarios were asked", results.len(), planted.len());
}
