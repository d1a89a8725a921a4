//! The commands of README and of the pages in `docs` are run as they stand, so that they stay true.

use super::*;

const PAGES: [&str; 7] = [
    include_str!("../../README.md"),
    include_str!("../../docs/clients.md"),
    include_str!("../../docs/engine.md"),
    include_str!("../../docs/levels.md"),
    include_str!("../../docs/recordings.md"),
    include_str!("../../docs/sweep.md"),
    include_str!("../../docs/writing-scenarios.md"),
];

/// The blocks of a language on all pages.
fn blocks(language: &str) -> Vec<&'static str> {
    // Every second part is a block.
    let inside = PAGES.iter().flat_map(|page| page.split("```").skip(1).step_by(2));
    inside.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn its_scenarios_are_green() {
    let whole: Vec<&str> = blocks("toml").into_iter().filter(|block| block.starts_with("title = ")).collect();
    let [base, matrix, ref others @ ..] = whole[..] else { panic!("{whole:#?}") };
    let folder = folder(&[("_two-reads.toml", base), ("both-orders.toml", matrix)]);
    let (words, code) = said(folder.path(), &["run", "_two-reads.toml"]);
    assert_eq!(code, Some(0), "{words}");
    let (words, code) = said(folder.path(), &["run", "both-orders.toml"]);
    assert!(code == Some(0) && words.contains("6 scenarios, 0 failed"), "{words}");
    for other in others {
        let (words, code) = said(self::folder(&[("x.toml", other)]).path(), &["run", "x.toml"]);
        assert_eq!(code, Some(0), "{words}");
    }
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
        // A part that has its tools in a table takes the place of those in the short form.
        let short = if part.contains("[tools]") { "" } else { "tools = [\"Read\", \"Bash\", \"Edit\", \"Write\"]" };
        let tools = TWO_READS.replace("tools = [\"Read\"]", short);
        let folder = folder(&[("x.toml", &format!("{}\n{part}", tools.split("[expect]").next().unwrap()))]);
        let (words, code) = said(folder.path(), &["run", "x.toml"]);
        assert_ne!(code, Some(2), "{part}\n{words}");
    }
}

/// Commands that are not run here, with the reason.
const ELSEWHERE: [(&str, &str); 14] = [
    ("serve ", "tests/serve does it"),
    ("new ", "tests/commands does it: it writes files"),
    ("doctor", "tests/commands does it: what it finds depends on the machine"),
    ("drive ", "tests/serve does it, with a client of its own"),
    ("record ", "tests/record does it"),
    ("session.tape", "it needs a recording"),
    ("--level live", "tests/live does it"),
    ("replay ", "it needs a log"),
    ("schema ", "it writes a file"),
    ("FILE", "it names any file"),
    ("sweep scenarios", "tests/sweep.rs does it"),
    ("pairs scenarios", "tests/pairs.rs does it, with fewer pairs"),
    ("--seeds 1..=200", "tests/live does it, with fewer seeds"),
    ("--interrupt-at", "it shows a finding, and this sweep has no finding"),
];

#[test]
fn its_commands_exit_with_0() {
    let lines = blocks("sh").into_iter().flat_map(str::lines);
    let ours = lines.filter_map(|line| line.strip_prefix("cargo run --release -- ").or_else(|| line.strip_prefix("reenact ")));
    for left in ["target/weather.toml", "target/weather.tape.jsonl"] {
        let _ = fs::remove_file(root().join(left)); // an import writes nothing over
    }
    let mut count = 0;
    for line in ours.filter(|line| !ELSEWHERE.iter().any(|(part, _)| line.contains(part))) {
        let (words, code) = said(root(), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(0), "{line}\n{words}");
        count += 1;
    }
    assert!(count >= 4, "{count} commands were found");
}
