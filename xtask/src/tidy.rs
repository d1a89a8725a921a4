//! `cargo xtask tidy`: text checks over the checkout, for what neither the compiler nor clippy can hold.
//!
//! Each check is one file and one pure function from a [`Checkout`] to its problems, so that its tests feed it a bad checkout in memory
//! and see it fail. A new check is a file here and a line in [`CHECKS`]; ARCHITECTURE.md names the checks that hold its invariants.

mod architecture;
mod checkout;
mod circles;
mod english;
mod glossary;
mod headers;
mod imports;
pub(crate) mod lexer;
mod links;
pub(crate) mod names;
mod purity;
mod rooms;
mod rules;
mod tasks;
mod toplevel;
mod words;

pub(crate) use checkout::{Checkout, SourceFile, TidyProblem};

use std::process::ExitCode;

/// One check: its name (as in `[tidy: rooms]`), what it holds, and the function that looks.
pub(crate) struct TidyCheck {
    pub(crate) name: &'static str,
    pub(crate) holds: &'static str,
    pub(crate) run: fn(&Checkout) -> Vec<TidyProblem>,
}

/// Every check, in the order in which they run.
pub(crate) const CHECKS: &[TidyCheck] = &[
    TidyCheck { name: "toplevel", holds: "the checkout's top folder has no stray entries", run: toplevel::check },
    TidyCheck { name: "rooms", holds: "the manifest of each room names only rooms upstream of it", run: rooms::check },
    TidyCheck {
        name: "circles",
        holds: "no files import each other in a circle, but for a module and its own children",
        run: circles::check,
    },
    TidyCheck {
        name: "purity",
        holds: "pure rooms use no std, clock, thread, printing, unordered map or platform mathematics",
        run: purity::check,
    },
    TidyCheck { name: "tasks", holds: "no `select!` draws its branch, and no task's panic is lost", run: tasks::check },
    TidyCheck { name: "headers", holds: "every file has a header, and files and functions stay short", run: headers::check },
    TidyCheck {
        name: "rules",
        holds: "every rule id that tests, scenarios, comments and pages name is a rule of docs/rules",
        run: rules::check,
    },
    TidyCheck {
        name: "glossary",
        holds: "docs/glossary.md explains each word once, and each place that it names is in src",
        run: glossary::check,
    },
    TidyCheck { name: "links", holds: "every link between pages leads to a file and a heading that there are", run: links::check },
    TidyCheck {
        name: "architecture",
        holds: "ARCHITECTURE.md lists the rooms there are, and each invariant names its check",
        run: architecture::check,
    },
    TidyCheck {
        name: "diagrams",
        holds: "the state diagrams in ARCHITECTURE.md are those of the tables beside the machines",
        run: crate::diagrams::check,
    },
    TidyCheck {
        name: "names",
        holds: "a type has a name of its own; types and modules are nouns; no function is called `of`",
        run: names::check,
    },
    TidyCheck {
        name: "english",
        holds: "strings, comments, titles and pages are free of words that made readers stumble",
        run: english::check,
    },
    TidyCheck {
        name: "words",
        holds: "no machine paths or registry hosts in any text; change log and README are in shape",
        run: words::check,
    },
];

/// Whether there is a check of this name: `tidy` ones are here, `ci` ones are steps.
fn is_known(kind: &str, name: &str) -> bool {
    match kind {
        "tidy" => CHECKS.iter().any(|check| check.name == name),
        "ci" => crate::ci::is_step(name),
        _ => false,
    }
}

/// Runs the checks over this checkout; prints each problem as `path:line: [check] message`.
pub(crate) fn main(options: &[&str]) -> ExitCode {
    match options {
        [] => (),
        ["--list"] => {
            CHECKS.iter().for_each(|check| println!("{:<13} {}", check.name, check.holds));
            return ExitCode::SUCCESS;
        }
        _ => return crate::usage(&format!("`tidy` does not know `{}`", options.join(" "))),
    }
    let Some(checkout) = read() else { return ExitCode::FAILURE };
    let mut count = 0;
    for check in CHECKS {
        for problem in (check.run)(&checkout) {
            count += 1;
            println!("{}:{}: [{}] {}", problem.path, problem.line, check.name, problem.message);
        }
    }
    if count > 0 {
        println!("xtask tidy: {count} problems in {} files", checkout.files.len());
        return ExitCode::FAILURE;
    }
    println!("xtask tidy: {} checks over {} files, no problem", CHECKS.len(), checkout.files.len());
    ExitCode::SUCCESS
}

/// `cargo xtask names`: the figures of the check `names`.
pub(crate) fn print_names() -> ExitCode {
    let Some(checkout) = read() else { return ExitCode::FAILURE };
    names::print_figures(&checkout);
    ExitCode::SUCCESS
}

/// `cargo xtask circles`: files that import each other, and what ties them.
pub(crate) fn print_circles() -> ExitCode {
    let Some(checkout) = read() else { return ExitCode::FAILURE };
    circles::print(&checkout);
    ExitCode::SUCCESS
}

/// This checkout; what is wrong with reading it is said.
fn read() -> Option<Checkout> {
    Checkout::read(&crate::root()).inspect_err(|error| eprintln!("xtask tidy: {error}")).ok()
}
