//! Commands that looked at nothing: none of them is green.

use super::*;

#[test]
fn m_3_a_run_in_which_nothing_happens_fails() {
    let tape = include_str!("../../scenarios/world/replayed.tape.jsonl");
    let folder = folder(&[("x.toml", "tape = \"x.tape.jsonl\"\n"), ("x.tape.jsonl", tape)]);
    let (words, code) = said(folder.path(), &["run", "x.toml"]);
    assert!(code == Some(1) && words.contains("nothing happened: the engine got no input"), "{words}");
    let (words, code) = said(folder.path(), &["sweep", "x.toml"]);
    assert!(code == Some(1) && words.contains("note: x.toml: nothing was interrupted"), "{words}");
}

#[test]
fn d_1_a_log_without_steps_was_not_replayed() {
    let folder = folder(&[("x.toml", TWO_READS)]);
    assert_eq!(said(folder.path(), &["run", "x.toml", "--log", "x.log"]).1, Some(0));
    let log = fs::read_to_string(folder.path().join("x.log")).unwrap();
    fs::write(folder.path().join("head.log"), log.lines().next().unwrap()).unwrap();
    let (words, code) = said(folder.path(), &["replay", "head.log"]);
    assert!(code == Some(1) && words.contains("no step, so nothing was compared"), "{words}");
}

#[test]
fn o_10_a_log_is_asked_by_the_oracles_too() {
    let folder = folder(&[]);
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/api/empty-text.toml");
    assert_eq!(said(folder.path(), &["run", scenario.to_str().unwrap(), "--log", "x.log"]).1, Some(0));
    assert_eq!(said(folder.path(), &["replay", "x.log"]).1, Some(0), "the scenario is about a request that the API refuses");
    let log = fs::read_to_string(folder.path().join("x.log")).unwrap();
    let shows = r#","shows":["O-1","O-10"]"#;
    assert!(log.contains(shows));
    fs::write(folder.path().join("x.log"), log.replacen(shows, "", 1)).unwrap();
    let (words, code) = said(folder.path(), &["replay", "x.log"]);
    assert!(code == Some(1) && words.contains("all equal") && words.contains("x.log: O-10 at "), "{words}");
}

#[test]
fn a_scan_says_what_it_looked_at() {
    let folder = folder(&[("a.txt", "nothing"), ("b.txt", "to see"), ("empty.jsonl", ""), ("z.gz", "\u{1f}x")]);
    fs::write(folder.path().join("z.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    let (words, code) = said(folder.path(), &["scan", "a.txt", "b.txt"]);
    assert!(code == Some(0) && words.contains("no secrets found in 2 files, 13 bytes"), "{words}");
    for (file, word) in [("empty.jsonl", "it is empty"), ("z.gz", "cannot be read"), (".", "z.gz: cannot be read")] {
        let (words, code) = said(folder.path(), &["scan", "a.txt", file]);
        assert!(code == Some(2) && words.contains(word) && !words.contains("no secrets found"), "{file}: {words}");
    }
}

#[test]
fn a_recording_of_nothing_is_no_success() {
    let folder = folder(&[]);
    let (words, code) = said(folder.path(), &["record", "--out", "x.tape.jsonl", "--", "true"]);
    assert!(code == Some(1) && words.contains("recorded 0 exchanges: no client connected"), "{words}");
}

#[test]
fn k_6_a_verdict_on_a_client_says_what_it_cannot_see() {
    let scenario = format!("{TWO_READS}order = [\"result 1A\"]\nrequests = 0\n");
    // Nobody asks, so the turns need not come.
    let scenario = scenario.replacen("[[prompt.turn]]\n", "[[prompt.turn]]\nmay = true\n", 1);
    let excused = format!("{scenario}\n[drive]\nmay = true\n");
    let folder = folder(&[("strict.toml", &scenario), ("x.toml", &excused), ("none.toml", "[[prompt]]\ntext = \"Hi.\"\n")]);
    let (words, code) = said(folder.path(), &["serve", "x.toml", "--", "true"]);
    assert!(code == Some(0) && words.contains("not asked: `terminal` in [expect], `order` in [expect]"), "{words}");
    let (words, code) = said(folder.path(), &["serve", "strict.toml", "--", "true"]);
    assert!(code == Some(1) && words.contains("`terminal`, `order` in [expect] cannot be asked of a client"), "{words}");
    let (words, code) = said(folder.path(), &["serve", "none.toml", "--", "true"]);
    assert!(code == Some(1) && words.contains("no request for a message came"), "{words}");
    let (words, code) = said(folder.path(), &["drive", "x.toml", "--sweep", "close", "--", "true"]);
    assert!(code == Some(1) && words.contains("no moment, so nothing was tried: FAILED"), "{words}");
}

#[test]
fn e_1_a_sweep_says_where_the_run_as_it_is_is_not_what_was_meant() {
    let meant = format!("{TWO_READS}\n[network]\nlatency = \"5ms\"\n[[fault]]\nat = {{ request = 9 }}\nstatus = 529\n");
    let folder = folder(&[("meant.toml", &*meant), ("fine.toml", TWO_READS)]);
    let said = |name: &str| String::from_utf8(reenact(folder.path(), &["sweep", name, "--kind", "cancel"]).stderr).unwrap();
    let note = said("meant.toml");
    assert!(note.contains("does not meet its scenario") && note.contains("hit nothing"), "{note}");
    assert!(note.contains("[network] is ignored in sweeps: meant"), "{note}");
    assert!(!said("fine.toml").contains("note: "), "{}", said("fine.toml"));
}
