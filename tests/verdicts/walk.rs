//! Which files a walk through a folder takes, and what is said of those that it cannot use.

use super::*;

#[test]
fn a_walk_takes_scenarios_and_counts_other_files() {
    let folder = folder(&[
        ("a.toml", TWO_READS),
        ("deep/b.toml", TWO_READS),
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        ("deep/rules.toml", "[[rule]]\nname = \"x\"\n"),
        ("target/c.toml", TWO_READS),
        ("node_modules/d.toml", TWO_READS),
        (".hidden/e.toml", TWO_READS),
        ("out/f.toml", TWO_READS),
        ("out/kept.toml", TWO_READS),
        ("_base.toml", TWO_READS),
        (".gitignore", "# what is made\nout/*\n!out/kept.toml\n"),
    ]);
    let (words, code) = said(folder.path(), &["run", "."]);
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("note: left out: 2 TOML files are not scenarios: ./Cargo.toml, ./deep/rules.toml"), "{words}");
    assert!(words.contains("3 scenarios, 0 failed"), "{words}");
    let named = said(folder.path(), &["run", "target", "out/f.toml", ".hidden"]);
    assert!(named.1 == Some(0) && named.0.contains("3 scenarios, 0 failed"), "what is named is run: {}", named.0);
}

#[test]
fn what_git_ignores_above_the_folder_is_left_out_too() {
    let folder = folder(&[(".git/HEAD", ""), (".gitignore", "generated.toml\n"), ("s/generated.toml", TWO_READS), ("s/a.toml", TWO_READS)]);
    let (words, code) = said(folder.path(), &["run", "s", "--format", "digest"]);
    assert!(code == Some(0) && words.lines().count() == 1, "{words}");
}

#[test]
fn f_7_a_path_that_leads_nowhere_names_the_nearest() {
    let folder = folder(&[("s/hello.toml", TWO_READS), ("near.toml", TWO_READS)]);
    for (wrong, right) in
        [("s/helo.toml", "s/hello.toml"), ("s/hello", "s/hello.toml"), ("neer.toml", "near.toml"), ("NEAR.TOML", "near.toml")]
    {
        let (words, code) = said(folder.path(), &["run", wrong]);
        assert!(code == Some(2) && words.contains(&format!("did you mean {right}?")), "{words}");
    }
    assert!(!said(folder.path(), &["run", "elsewhere/x.toml"]).0.contains("did you mean"));
}

#[test]
fn a_folder_without_scenarios_is_no_success() {
    let folder = folder(&[("Cargo.toml", "[package]\n"), ("empty/x.md", "")]);
    let (words, code) = said(folder.path(), &["run", "."]);
    assert!(code == Some(2) && words.contains("holds no scenario") && words.contains("./Cargo.toml"), "{words}");
    let (words, code) = said(folder.path(), &["sweep", "empty"]);
    assert!(code == Some(2) && words.contains("empty: this folder holds no scenario"), "{words}");
}

#[test]
fn files_that_cannot_be_run_are_in_the_count() {
    let folder = folder(&[("a.toml", TWO_READS), ("b.toml", "[[prompt]]\ntxt = \"a\"\n"), ("c.toml", "[[prompt]]\ntext = “a”\n")]);
    let (words, code) = said(folder.path(), &["run", "."]);
    assert!(code == Some(2) && words.contains("1 scenario, 2 files that cannot be run, 0 failed"), "{words}");
    let (words, code) = said(folder.path(), &["sweep", "."]);
    assert!(code == Some(2) && words.contains("1 scenario, 2 files that cannot be run, "), "{words}");
}

#[test]
fn f_7_a_file_in_another_encoding_says_so() {
    let folder = folder(&[]);
    let utf_16: Vec<u8> = [vec![0xff, 0xfe], TWO_READS.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat();
    fs::write(folder.path().join("x.toml"), &utf_16).unwrap();
    fs::write(folder.path().join("y.toml"), "extends = \"x.toml\"\n").unwrap();
    fs::write(folder.path().join("x.log"), &utf_16).unwrap();
    for command in [["run", "x.toml"], ["run", "y.toml"], ["run", "."], ["replay", "x.log"], ["serve", "x.toml"]] {
        let (words, code) = said(folder.path(), &command);
        assert!(code == Some(2) && words.contains("UTF-16 text: save it as UTF-8"), "{command:?}: {words}");
    }
}
