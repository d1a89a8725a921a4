//! Scenarios that extend others and scenarios that are many runs (F-9), as the files that people write.

use std::fs;
use std::path::{Path, PathBuf};

use reenact::engine::agent_loop::AgentLoop;
use reenact::files::scenario::{LoadedScenario, find, load, load_all, snapshot_path};
use reenact::runner::run_file;

/// A folder of files, each with its text.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // A project: its files may name each other.
    fs::create_dir(folder.path().join(".git")).unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn names(runs: &[LoadedScenario]) -> Vec<&str> {
    runs.iter().map(|run| run.name.as_str()).collect()
}

/// The error of a file, with the folder's own name left out.
fn complaint(folder: &Path, path: &str) -> String {
    let said = load_all(&folder.join(path), &[]).expect_err("something is wrong").to_string();
    said.replace(&format!("{}/", folder.display()), "")
}

const BASE: &str = "\
title = \"The base\"
rules = [\"T-8\"]
seed = 5
tools = [\"Read\"]

[engine]
model = \"claude-opus-4-1\"
max_tokens = 100

[engine.retry]
max_retries = 2

[[prompt]]
text = \"Hello.\"

[[prompt.turn]]
text = \"Hi.\"
";

#[test]
fn f_9_tables_are_merged_and_all_else_is_replaced() {
    let files = folder(&[
        ("_base.toml", BASE),
        ("a/x.toml", "extends = \"../_base.toml\"\n[engine]\nmax_tokens = 200\nretry.base_delay = \"7s\"\n"),
        ("a/y.toml", "extends = \"x.toml\"\nseed = 6\n[[prompt]]\ntext = \"Bye.\"\n[[prompt.turn]]\ntext = \"So long.\"\n"),
    ]);
    let x = load(&files.path().join("a/x.toml"), &[]).unwrap().setup.scenario.clone();
    assert_eq!((x.seed.0, &*x.settings.model, x.settings.max_tokens), (5, "claude-opus-4-1", 200));
    assert_eq!((x.settings.retry.max_retries, x.settings.retry.base_delay.0), (2, 7_000_000));
    assert_eq!((x.title, x.rules.len()), (None, 0), "what the base says of itself it says of itself alone");
    let y = load(&files.path().join("a/y.toml"), &[]).unwrap().setup.scenario.clone();
    assert_eq!((y.seed.0, y.settings.max_tokens, y.prompts.len()), (6, 200, 1));
    assert_eq!(run_file(files.path().join("a/y.toml"), AgentLoop::default()).unwrap().terminal(), "completed");
}

#[test]
fn f_9_what_is_wrong_is_shown_where_it_was_written() {
    let files = folder(&[
        ("_base.toml", "seed = 1\n[engine]\nmodle = \"x\"\nmax_tokens = \"many\"\n"),
        ("x.toml", "extends = \"_base.toml\"\n\n[[prompt]]\ntext = \"a\"\ntrun = 3\n"),
        ("y.toml", "extends = \"_base.toml\"\n[engine]\nmax_tokens = 5\n[[prompt]]\ntext = \"a\"\n"),
    ]);
    let said = complaint(files.path(), "x.toml");
    assert!(said.starts_with("x.toml:5:1: unknown key `trun` in [[prompt]]; did you mean `turn`?"), "{said}");
    assert!(said.contains("_base.toml:3:1: unknown key `modle` in [engine]; did you mean `model`?"), "{said}");
    assert!(said.contains("_base.toml:4:14: expected a whole number, found text"), "{said}");
    assert!(said.contains("    4 | max_tokens = \"many\""), "{said}");
    assert!(!complaint(files.path(), "y.toml").contains("max_tokens"), "the wrong value is replaced");
}

#[test]
fn f_9_a_base_that_is_not_to_be_had_is_told_at_its_name() {
    let files = folder(&[
        ("gone.toml", "extends = \"nowhere.toml\"\n"),
        ("a.toml", "extends = \"b.toml\"\n"),
        ("b.toml", "extends = \"c/../a.toml\"\n"),
        ("c/d.toml", ""),
        ("self.toml", "extends = \"self.toml\"\n"),
        ("number.toml", "extends = 3\n"),
    ]);
    let said = complaint(files.path(), "gone.toml");
    assert!(said.starts_with("gone.toml:1:11: there is no file nowhere.toml to extend"), "{said}");
    let said = complaint(files.path(), "a.toml");
    let circle = "these scenarios extend each other in a circle: a.toml -> b.toml -> c/../a.toml";
    assert!(said.contains(&format!("b.toml:1:11: {circle}")), "{said}");
    assert!(complaint(files.path(), "self.toml").contains("in a circle: self.toml -> self.toml"));
    assert!(
        complaint(files.path(), "number.toml").contains("number.toml:1:11: expected text with the path of a scenario, found an integer")
    );
    let set = [(String::from("extends"), String::from("b.toml"))];
    assert!(load(&files.path().join("c/d.toml"), &set).unwrap_err().to_string().contains("only stand in the scenario's own file"));
}

#[test]
fn f_9_a_tape_is_looked_for_beside_the_file_that_names_it() {
    let tape = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/world/replayed.tape.jsonl")).unwrap();
    let scenario = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/world/replayed.toml")).unwrap();
    let files = folder(&[
        ("tapes/replayed.tape.jsonl", &tape),
        ("tapes/_base.toml", &scenario),
        ("x.toml", "extends = \"tapes/_base.toml\"\n"),
        ("y.toml", "extends = \"tapes/_base.toml\"\ntape = \"tapes/replayed.tape.jsonl\"\n"),
        ("z.toml", "extends = \"tapes/_base.toml\"\ntape = \"replayed.tape.jsonl\"\n"),
    ]);
    assert!(load(&files.path().join("x.toml"), &[]).is_ok());
    assert!(load(&files.path().join("y.toml"), &[]).is_ok());
    assert!(complaint(files.path(), "z.toml").contains("z.toml:2:8: "));
}

#[test]
fn f_9_bases_are_not_run_by_themselves() {
    let files = folder(&[("_base.toml", BASE), ("x.toml", "extends = \"_base.toml\"\n")]);
    let found = |path: PathBuf| find(&[path]).0.len();
    assert_eq!(found(files.path().into()), 1);
    assert_eq!(found(files.path().join("_base.toml")), 1, "unless it is named");
}

const MATRIX: &str = "\
title = \"Hello\"
[matrix]
seed = [1, 2, 3]
\"engine.model\" = [\"claude-opus-4-1\", \"claude-haiku-4-5\"]
[[prompt]]
text = \"Hello.\"
[[prompt.turn]]
text = \"Hi.\"
";

#[test]
fn f_9_each_combination_is_a_run_with_its_own_name() {
    let files = folder(&[("scenarios/a/hello.toml", MATRIX)]);
    let path = files.path().join("scenarios/a/hello.toml");
    let runs = load_all(&path, &[]).unwrap();
    assert_eq!(
        names(&runs),
        [
            "a/hello@seed=1,model=claude-opus-4-1",
            "a/hello@seed=1,model=claude-haiku-4-5",
            "a/hello@seed=2,model=claude-opus-4-1",
            "a/hello@seed=2,model=claude-haiku-4-5",
            "a/hello@seed=3,model=claude-opus-4-1",
            "a/hello@seed=3,model=claude-haiku-4-5",
        ]
    );
    assert_eq!(runs[3].setup.scenario.seed.0, 2);
    assert_eq!(&*runs[3].setup.scenario.settings.model, "claude-haiku-4-5");
    let snapshot = "snapshots/a/hello@seed=2,model=claude-haiku-4-5.snap";
    assert!(snapshot_path(&runs[3].path).ends_with(snapshot), "{:?}", snapshot_path(&runs[3].path));
    let alone = load(&runs[3].path, &[]).unwrap();
    assert_eq!((alone.name, alone.setup.scenario.clone()), (runs[3].name.clone(), runs[3].setup.scenario.clone()));
}

#[test]
fn f_9_runs_are_chosen_by_what_is_set_in_them() {
    let files = folder(&[("hello.toml", MATRIX), ("plain.toml", BASE)]);
    let at = |path: &str| files.path().join(path);
    assert_eq!(load_all(&at("hello.toml@model=claude-haiku-4-5"), &[]).unwrap().len(), 3);
    assert_eq!(names(&load_all(&at("hello.toml@model=claude-opus-4-1,seed=3"), &[]).unwrap()), ["hello@seed=3,model=claude-opus-4-1"]);
    assert_eq!(find(&[at("hello.toml@seed=1")]).0.len(), 1);
    assert_eq!(find(&[at("none.toml@seed=1")]).1.len(), 1);
    let said = complaint(files.path(), "hello.toml@seed=4");
    assert!(said.contains("this file has no run of this name; it has \n  hello.toml@seed=1,model=claude-opus-4-1\n"), "{said}");
    assert!(complaint(files.path(), "plain.toml@seed=4").contains("it has no [matrix]"));
    let said = load(&at("hello.toml"), &[]).unwrap_err().to_string();
    assert!(said.contains("this is a matrix of 6 runs; name one of them: \n"), "{said}");
}

#[test]
fn f_9_what_is_set_from_outside_is_not_varied() {
    let files = folder(&[("hello.toml", MATRIX)]);
    let runs = load_all(&files.path().join("hello.toml"), &[(String::from("seed"), String::from("9"))]).unwrap();
    assert_eq!(names(&runs), ["hello@model=claude-opus-4-1", "hello@model=claude-haiku-4-5"]);
    assert!(runs.iter().all(|run| run.setup.scenario.seed.0 == 9));
    let runs = load_all(&files.path().join("hello.toml"), &[(String::from("matrix.seed"), String::from("[7]"))]).unwrap();
    assert_eq!(runs.len(), 2);
}

#[test]
fn f_9_a_matrix_is_held_to_the_same_rules_as_a_file() {
    let wrong = |matrix: &str| {
        let files = folder(&[("x.toml", &format!("{matrix}\n[[prompt]]\ntext = \"a\"\n[[prompt.turn]]\ntext = \"b\"\n"))]);
        complaint(files.path(), "x.toml")
    };
    assert!(
        wrong("[matrix]\nengine.modle = [\"a\", \"b\"]").contains("x.toml:2:8: unknown key `modle` in [engine]; did you mean `model`?")
    );
    assert!(wrong("[matrix]\nseed = [1, \"x\"]").contains("x.toml:2:12: `x` is not a seed"));
    assert!(wrong("[matrix]\nseed = 3").contains("x.toml:2:8: expected an array of values, found an integer"));
    assert!(wrong("[matrix]\nseed = []").contains("x.toml:2:8: a key needs at least one value here"));
    assert!(wrong("[matrix]\ntitle = [\"a\"]").contains("x.toml:2:1: `title` cannot be varied"));
    assert!(wrong("[matrix]\n\"prompt.4.text\" = [\"a\"]").contains("x.toml:2:1: `prompt` has no entry `4`"));
    assert!(wrong("[matrix]\n\"engine.model\" = [\"a\"]\nengine.model = [\"b\"]").contains("`engine.model` is varied already"));
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let said = wrong(&format!("[matrix]\nseed = [{0}]\nengine.max_tokens = [{0}]", many.join(",")));
    assert!(said.contains("this matrix has 10201 combinations, and at most 1000 are run"), "{said}");
    assert!(wrong("matrix = 3").contains("x.toml:1:10: expected a table of keys with arrays of values, found an integer"));
}

#[test]
fn f_9_text_that_stands_alone_is_one_scenario() {
    let said = |text: &str| reenact::scenario::parse::scenario("x.toml", text, &[]).unwrap_err().to_string();
    assert!(
        said(MATRIX).contains("x.toml:2:2: a scenario with a [matrix] is several runs, and only one run is possible here"),
        "{}",
        said(MATRIX)
    );
    assert!(said("extends = \"a.toml\"").contains("x.toml:1:11: `a.toml` cannot be extended: this text is read without files"));
}
