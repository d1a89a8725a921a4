//! Small bad scenarios and what is said about them (F-7): each `x.toml` in `scenario_errors` has its messages beside it in `x.expected`.
//!
//! `REENACT_UPDATE=1 cargo test --test scenario_errors` writes the messages anew; read the difference before committing it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use reenact::scenario::parse;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenario_errors");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    cases.sort();
    cases
}

#[test]
fn f_7_bad_scenarios_are_explained() {
    #[expect(clippy::disallowed_methods, reason = "the documented way to rewrite the expected messages")]
    let update = env::var_os("REENACT_UPDATE").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let text = fs::read_to_string(&case).unwrap();
        let name = case.file_name().unwrap().to_str().unwrap();
        let said = match parse::scenario(name, &text, &[]) {
            Ok(_) => panic!("{name} has no diagnostic; it belongs elsewhere"),
            // Each by itself: together they are shown a page at a time.
            Err(diagnostics) => {
                diagnostics.0.iter().map(|diagnostic| format!("{diagnostic}\n\n")).collect::<String>()
                    + &format!("{} in all\n", diagnostics.0.len())
            }
        };
        let expected = case.with_extension("expected");
        if update {
            fs::write(&expected, &said).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != said {
            wrong.push(format!("{name} is explained otherwise than in {}:\n{said}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nIf the new messages are right: REENACT_UPDATE=1 cargo test --test scenario_errors", wrong.join("\n"));
}
