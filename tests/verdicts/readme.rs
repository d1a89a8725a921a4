//! What README shows is run as it stands, so that it stays true.

use super::*;

const README: &str = include_str!("../../README.md");

/// The README's blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opened = README.split("```").collect::<Vec<_>>();
    // Every second part is a block.
    let inside = opened.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn its_scenarios_are_green() {
    let whole: Vec<&str> = blocks("toml").into_iter().filter(|block| block.starts_with("title = ")).collect();
    let [base, matrix] = whole[..] else { panic!("{whole:#?}") };
    let folder = folder(&[("_two-reads.toml", base), ("both-orders.toml", matrix)]);
    let (words, code) = said(folder.path(), &["run", "_two-reads.toml"]);
    assert_eq!(code, Some(0), "{words}");
    let (words, code) = said(folder.path(), &["run", "both-orders.toml"]);
    assert!(code == Some(0) && words.contains("6 scenarios, 0 failed"), "{words}");
}

#[test]
fn its_parts_of_scenarios_can_be_read() {
    let parts: Vec<&str> = blocks("toml").into_iter().filter(|block| !block.starts_with("title = ")).collect();
    assert!(parts.len() >= 6);
    for part in parts {
        if part.starts_with("[[rule]]") {
            let folder = folder(&[("rules.toml", part), ("a.txt", "TICKET-4711")]);
            assert_eq!(said(folder.path(), &["scan", "a.txt", "--redact", "rules.toml"]).1, Some(1), "{part}");
            continue;
        }
        let tools = TWO_READS.replace("[\"Read\"]", "[\"Read\", \"Bash\", \"Edit\", \"Write\"]");
        let folder = folder(&[("x.toml", &format!("{}\n{part}", tools.split("[expect]").next().unwrap()))]);
        let (words, code) = said(folder.path(), &["run", "x.toml"]);
        assert_ne!(code, Some(2), "{part}\n{words}");
    }
}

/// Commands that are not run here, with the reason.
const ELSEWHERE: [(&str, &str); 3] = [
    ("sweep scenarios", "tests/sweep.rs does it"),
    ("--seeds 200", "tests/live does it, with fewer seeds"),
    ("--interrupt-at", "it shows a finding, and there is none"),
];

#[test]
fn its_commands_exit_with_0() {
    let lines = blocks("sh").into_iter().flat_map(str::lines);
    let ours = lines
        .filter_map(|line| line.strip_prefix("cargo run --release -- ").or_else(|| line.strip_prefix("reenact run scenarios/network")));
    for left in ["target/weather.toml", "target/weather.tape.jsonl"] {
        let _ = fs::remove_file(root().join(left)); // an import writes nothing over
    }
    let mut count = 0;
    for line in ours.filter(|line| !ELSEWHERE.iter().any(|(part, _)| line.contains(part))) {
        let line = if line.starts_with(' ') { format!("run scenarios/network{line}") } else { line.to_string() };
        let (words, code) = said(root(), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(0), "{line}\n{words}");
        count += 1;
    }
    assert!(count >= 4, "{count} commands were found");
}
