//! The top folder holds what a newcomer expects there, and nothing else: notes, plans and scratch files do not belong to the product.

use super::{Checkout, TidyProblem};

const ALLOWED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "bench",
    "clients",
    "clippy.toml",
    "deny.toml",
    "docs",
    "fuzz",
    "museum",
    "python",
    "rustfmt.toml",
    "scenarios",
    "snapshots",
    "src",
    "tests",
    "typescript",
    "xtask",
];

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let strays = checkout.top_entries.iter().filter(|name| !name.starts_with('.') && !ALLOWED.contains(&name.as_str()));
    strays
        .map(|name| TidyProblem {
            path: name.clone(),
            line: 1,
            message: "does not belong in the top folder: move or remove it".to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_entry_is_found() {
        let top_entries = ["src", ".gitignore", "notes.md"].map(str::to_string).to_vec();
        let problems = check(&Checkout { files: Vec::new(), top_entries });
        assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), ["notes.md"]);
    }
}
