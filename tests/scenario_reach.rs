//! Which files a scenario may name, and what is not repeated of a file that is none (F-2, F-6, F-9).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reenact::engine::agent_loop::AgentLoop;
use reenact::files::scenario::{FileReach, LoadError, LoadOptions, load};
use reenact::runner::{run_file, run_file_with};
use tempfile::TempDir;

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";

/// Made up.
fn secret() -> String {
    ["hunter", "2-of-nobody"].concat()
}

/// `outside/` with files that no scenario of `project/` may name.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = env!("CARGO_MANIFEST_DIR");
        for name in ["outside", "project/scenarios/deep"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let place = Self(folder);
        place.write("outside/_base.toml", HELLO);
        fs::copy(Path::new(root).join("src/engine/budget/prices.toml"), place.path("outside/prices.toml")).unwrap();
        fs::copy(Path::new(root).join("src/engine/windows.toml"), place.path("outside/windows.toml")).unwrap();
        fs::copy(Path::new(root).join("scenarios/world/replayed.tape.jsonl"), place.path("outside/x.tape.jsonl")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

fn reenact(words: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_reenact")).args(words).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr), output.status.code())
}

#[test]
fn f_9_a_scenario_names_files_of_its_project_alone() {
    let place = Place::new();
    for (key, text) in [
        ("extends", String::from("extends = \"../../outside/_base.toml\"\n")),
        ("extends", format!("extends = \"{}\"\n", place.path("outside/_base.toml").display())),
        ("tape", String::from("tape = \"../../outside/x.tape.jsonl\"\n")),
        ("prices", format!("{HELLO}[engine]\nprices = \"../../outside/prices.toml\"\n")),
        ("windows", format!("{HELLO}[engine]\nwindows = \"../../outside/windows.toml\"\n")),
    ] {
        let file = place.write("project/scenarios/a.toml", &text);
        let name = file.to_str().unwrap();
        let refused = run_file(&file, AgentLoop::default()).unwrap_err().to_string();
        assert!(refused.contains(&format!("`{key}` leads to ")) && refused.contains("add --allow-outside"), "{refused}");
        assert!(refused.contains("a.toml:"), "it says where: {refused}");
        let options = LoadOptions { reach: FileReach::Anywhere, ..LoadOptions::default() };
        let _ = run_file_with(&file, AgentLoop::default(), &options).unwrap_or_else(|error| panic!("{key}: {error}"));
        for (words, ends) in [
            (&["run", name][..], &[][..]),
            (&["sweep", name], &[]),
            (&["serve", name], &["--", "true"]),
            (&["drive", name], &["--", "true"]),
            (&["run", name, "--check"], &[]),
        ] {
            let (said, code) = reenact(&[words, ends].concat());
            assert!(code == Some(2) && said.contains("--allow-outside"), "{words:?}: {said}");
            let (said, code) = reenact(&[words, &["--allow-outside"], ends].concat());
            assert!(code != Some(2) && !said.contains("leads to"), "{words:?}: {said}");
        }
    }
}

#[test]
fn f_9_the_project_is_the_nearest_folder_with_git_or_the_own_folder() {
    let place = Place::new();
    place.write("project/_base.toml", HELLO);
    let file = place.write("project/scenarios/deep/a.toml", "extends = \"../../_base.toml\"\n");
    assert!(load(&file, &[]).unwrap_err().to_string().contains("outside of"), "there is no `.git`: the own folder");
    fs::create_dir(place.path("project/.git")).unwrap();
    load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
    // A nearer one counts: a project inside a project, where `.git` is a file.
    place.write("project/scenarios/.git", "gitdir: elsewhere\n");
    assert!(load(&file, &[]).is_err());
    // A base of the project may not lead out of it either.
    fs::remove_file(place.path("project/scenarios/.git")).unwrap();
    place.write("project/_base.toml", "extends = \"../outside/_base.toml\"\n");
    assert!(load(&file, &[]).unwrap_err().to_string().contains("`extends` leads to "));
}

#[cfg(unix)]
#[test]
fn f_9_links_are_followed_before_the_folder_is_compared() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    fs::create_dir(place.path("project/.git")).unwrap();
    symlink(place.path("outside/_base.toml"), place.path("project/_base.toml")).unwrap();
    symlink(place.path("outside"), place.path("project/scenarios/out")).unwrap();
    for text in ["extends = \"../_base.toml\"\n", "extends = \"out/_base.toml\"\n", "extends = \"deep/../out/_base.toml\"\n"] {
        let file = place.write("project/scenarios/a.toml", text);
        assert!(load(&file, &[]).unwrap_err().to_string().contains("`extends` leads to "), "{text}");
    }
    // A link to a scenario is the scenario: its project is where it is.
    place.write("outside/b.toml", "extends = \"_base.toml\"\n");
    symlink(place.path("outside/b.toml"), place.path("outside/c.toml")).unwrap();
    load(&place.path("outside/c.toml"), &[]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn f_6_nothing_is_repeated_of_a_file_that_is_not_a_scenario() {
    let (place, secret) = (Place::new(), secret());
    let text = format!("root:x:{secret}:0\nprompt = {secret}\nexport KEY={secret}\n{secret} = 1\n");
    let credentials = format!("[registry]\ntoken = {secret}\n[{secret}]\n");
    for (name, text) in [("secret.env", &text), ("secret", &text), ("credentials.toml", &credentials), ("x.tape.jsonl", &text)] {
        let file = place.write(&format!("project/{name}"), text);
        for command in ["run", "sweep", "serve", "replay", "import"] {
            let (said, code) = reenact(&[command, file.to_str().unwrap()]);
            assert!(code == Some(2) && !said.contains(&secret), "{command} {name}: {said}");
        }
        for key in ["extends", "tape", "engine.prices", "engine.windows"] {
            let scenario = place.write("project/a.toml", &format!("{key} = \"{name}\"\n{HELLO}"));
            let (said, code) = reenact(&["run", scenario.to_str().unwrap()]);
            assert!(code == Some(2) && !said.contains(&secret), "{key} {name}: {said}");
        }
    }
    // Mistakes of a scenario are shown with their lines.
    let file = place.write("project/a.toml", &format!("{HELLO}modle = 1\n"));
    assert!(matches!(load(&file, &[]), Err(LoadError::Diagnostics(_))));
}
