//! Expectations of the files of a `[workspace]` are compared, and cannot hold by themselves.

use super::{folder, said};

/// A session that writes one file, and what is expected of the files.
fn session(expect: &str) -> String {
    format!(
        r#"
tools = ["Write", "Bash"]

[workspace]
files = {{ "a.txt" = "one\n", "k/b.txt" = "two\n" }}

[[prompt]]
text = "Write."

[[prompt.turn]]
tool = [{{ name = "Write", input = {{ file_path = "/w/new.txt", content = "new\n" }} }}]

[[prompt.turn]]
text = "Done."

[expect]
{expect}
"#
    )
}

#[test]
fn f_10_expected_files_are_compared() {
    let run = |expect: &str| {
        let folder = folder(&[("x.toml", &session(expect))]);
        said(folder.path(), &["run", "x.toml"])
    };
    for expect in ["files = { \"a.txt\" = \"one\\n\", \"new.txt\" = \"new\\n\" }", ""] {
        let (words, code) = run(expect);
        assert_eq!(code, Some(0), "{expect}: {words}");
    }
    for (expect, problem) in [
        ("files = { \"a.txt\" = \"two\\n\" }", "expected the file `a.txt` to be \"two\\n\" at the end, it is \"one\\n\""),
        ("files = { \"new.txt\" = \"\" }", "expected the file `new.txt` to be \"\" at the end"),
        ("files = { \"c.txt\" = \"\" }", "expected the file `c.txt` at the end, there is no such file"),
        ("absent = [\"new.txt\"]", "expected no file or folder `new.txt` at the end, it is there"),
        ("absent = [\"k\"]", "expected no file or folder `k` at the end, it is there"),
    ] {
        let (words, code) = run(expect);
        assert!(code == Some(1) && words.contains(problem), "{expect}: {words}");
    }
    for (expect, problem) in [("absent = [\"a.tx\"]", "correct the spelling"), ("files = { \"../a\" = \"\" }", "is no path in the folder")]
    {
        let (words, code) = run(expect);
        assert!(code == Some(2) && words.contains(problem), "{expect}: {words}");
    }
}

#[test]
fn f_10_a_change_of_a_file_that_never_comes_is_told() {
    let late = session("").replace(
        "[[prompt]]",
        "[[workspace.change]]\nat = \"2h\"\npath = \"a.txt\"\ntext = \"x\"\n\n[limits]\ntime = \"1h\"\n\n[[prompt]]",
    );
    let folder = folder(&[("x.toml", &late)]);
    let (words, code) = said(folder.path(), &["run", "x.toml"]);
    assert!(code == Some(1) && words.contains("limit_reached"), "{words}");
}
