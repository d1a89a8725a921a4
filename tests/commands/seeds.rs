//! `--seeds`: every scenario once per seed, a line for all that agree, and a line with a command for each that does not.

use super::{HELLO, folder, reenact};
use std::fs;

/// A fault that hits with some seeds, after which there is no answer.
const UNSURE: &str = "[[fault]]\nat = { request = 1, probability = 0.3 }\nstatus = 400\n";

/// The command at the end of a line, without the name of the program.
fn command(line: &str) -> Vec<&str> {
    line.split_once(concat!("  ", env!("CARGO_BIN_EXE_reenact"), " "))
        .unwrap_or_else(|| panic!("no command in {line}"))
        .1
        .split(' ')
        .collect()
}

#[test]
fn d_3_seeds_that_agree_are_one_line() {
    let folder = folder(&[("a.toml", HELLO), ("b.toml", &format!("{HELLO}[matrix]\nchunking = [\"as_recorded\", \"bytes\"]\n"))]);
    let at = folder.path();
    let (shown, said, code) = reenact(at, &["run", "a.toml", "b.toml", "--seeds", "1..=5,9"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    assert!(lines[0].starts_with("ok      a ") && lines[0].ends_with("completed         6 seeds, 6 transcripts"), "{shown}");
    assert!(lines[2].contains("b@chunking=bytes"), "{shown}");
    assert!(lines[3].starts_with("3 scenarios, 6 seeds, 18 runs, 0 failed; answers given: 18 from scenarios"), "{shown}");
    let (swept, _, code) = reenact(at, &["sweep", "a.toml", "--seeds", "1..4"]);
    let alone: Vec<String> = (1..4).map(|seed| reenact(at, &["sweep", "a.toml", "--seed", &seed.to_string()]).0).collect();
    let runs = |text: &str| {
        text.lines().last().unwrap().split(' ').nth(if text.contains("seeds") { 4 } else { 2 }).unwrap().parse::<u32>().unwrap()
    };
    assert_eq!((code, runs(&swept)), (Some(0), alone.iter().map(|text| runs(text)).sum()), "{swept}");
    assert!(swept.lines().next().unwrap().ends_with("0 findings  3 seeds"), "{swept}");
}

#[test]
fn d_3_a_seed_that_does_not_agree_is_a_line_with_its_command() {
    let folder = folder(&[("a.toml", &format!("{HELLO}{UNSURE}"))]);
    let at = folder.path();
    let (shown, said, code) = reenact(at, &["run", "a.toml", "--seeds", "1..=20"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    let lines: Vec<&str> = shown.lines().collect();
    let others = &lines[1..lines.len() - 1];
    assert!(!others.is_empty() && lines[0].contains(&format!("{} of 20 seeds", 20 - others.len())), "{shown}");
    for line in others {
        assert!(line.starts_with("ok      a@seed=") && line.contains("model_error"), "{line}");
        let (alone, _, _) = reenact(at, &command(line));
        assert!(alone.contains("model_error"), "{line}: {alone}");
    }
    let expecting = format!("{HELLO}{UNSURE}[expect]\nterminal = \"completed\"\n");
    fs::write(at.join("b.toml"), expecting).unwrap();
    let (shown, said, code) = reenact(at, &["run", "b.toml", "--seeds", "1..=20"]);
    let failed = shown.lines().filter(|line| line.starts_with("FAILED")).count();
    assert_eq!((code, failed), (Some(1), others.len()), "{shown}");
    assert_eq!(said.matches("expected terminal completed, got model_error").count(), failed, "{said}");
    let one = shown.lines().find(|line| line.starts_with("FAILED")).unwrap();
    assert_eq!(reenact(at, &command(one)).2, Some(1), "{one}");
}

#[test]
fn f_10_statements_are_asked_of_all_seeds_together() {
    let folder = folder(&[
        ("a.toml", &format!("{HELLO}{UNSURE}")),
        ("never.toml", &format!("{HELLO}{}", UNSURE.replace("request = 1", "request = 7"))),
    ]);
    let (_, said, code) = reenact(folder.path(), &["run", "a.toml", "--seeds", "1..=20"]);
    assert_eq!(code, Some(0), "it hits with some seeds: {said}");
    let (shown, said, code) = reenact(folder.path(), &["run", "never.toml", "--seeds", "1..=20"]);
    assert_eq!((code, said.matches("could not hit with any probability").count()), (Some(1), 1), "{said}");
    assert!(shown.starts_with("FAILED  never ") && shown.contains("20 seeds, ") && shown.contains(" 1 failed"), "{shown}");
}

#[test]
fn e_5_findings_of_many_seeds_are_one_group_and_name_their_seed() {
    let folder = folder(&[("a.toml", HELLO)]);
    let at = folder.path();
    let arguments = ["sweep", "a.toml", "--seeds", "3..=6", "--canary", "request-after-cancel"];
    let (shown, said, _) = reenact(at, &arguments);
    assert!(shown.contains("4 seeds") && shown.contains("1 scenario, 4 seeds, ") && said.contains("group 1 of 1: O-11"), "{shown}{said}");
    assert!(said.contains("findings in 1 scenario"), "{said}");
    let look = said.lines().find_map(|line| line.trim().strip_prefix(concat!("look at it: ", env!("CARGO_BIN_EXE_reenact"), " "))).unwrap();
    assert!(look.contains(" --seed "), "{look}");
    assert_eq!(reenact(at, &look.split(' ').collect::<Vec<_>>()).2, Some(1), "{look}");
    for threads in ["1", "3"] {
        assert_eq!(reenact(at, &[&arguments[..], &["--threads", threads]].concat()), reenact(at, &arguments), "on {threads} threads");
    }
}

#[test]
fn d_3_other_forms_show_each_seed() {
    let folder = folder(&[("a.toml", HELLO)]);
    let at = folder.path();
    let (digests, _, _) = reenact(at, &["run", "a.toml", "--seeds", "1,3", "--format", "digest"]);
    let (alone, _, _) = reenact(at, &["run", "a.toml", "--seed", "3", "--format", "digest"]);
    let second = digests.lines().nth(1).unwrap();
    assert!(second.ends_with("  a@seed=3") && second.split(' ').next() == alone.split(' ').next(), "{digests}{alone}");
    let (document, _, _) = reenact(at, &["run", "a.toml", "--seeds", "1,3", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let seeds: Vec<_> = document["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 3]);
    assert!(document["runs"][1]["command"].as_str().unwrap().ends_with("run a.toml --seed 3"), "{document}");
    let (checked, said, code) = reenact(at, &["run", "a.toml", "--seeds", "1..=4", "--check"]);
    assert!(code == Some(0) && checked.contains("check: 4 digests the same"), "{checked}{said}");
}

#[test]
fn d_3_what_does_not_go_with_seeds_is_refused() {
    let tape = include_str!("../../scenarios/world/replayed.tape.jsonl");
    let folder = folder(&[("a.toml", HELLO), ("x.tape.jsonl", tape)]);
    for (arguments, words) in [
        (&["run", "a.toml", "--seeds", "5..5"][..], "write `5` or `5..=5`"),
        (&["run", "a.toml", "--seeds", "1...5"], "neither a seed nor a range"),
        (&["sweep", "a.toml", "--seeds", "1..=1000000000"], "more than 10000 seeds"),
        (&["run", "a.toml", "--seeds", "1..=3", "--seed", "2"], "cannot be used with"),
        (&["run", "a.toml", "--seeds", "1..=3", "--accept"], "snapshots show scenarios as they are written"),
        (&["run", "a.toml", "--seeds", "1..=3", "--log", "x.log"], "--seed N"),
        (&["run", "a.toml", "--seeds", "1..=3", "--detail", "brief"], "--seed N"),
        (&["sweep", "nowhere.toml", "--seeds", "1..=3"], "no such file"),
    ] {
        let (shown, said, code) = reenact(folder.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {shown}{said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
