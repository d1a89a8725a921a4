//! `docs/client-tables.md`: what real clients do, as the tables have it that each run of `cargo xtask clients` is compared with (K-7).

use std::process::ExitCode;

use super::agents;
use super::cases::CASES;
use super::client_kind::Language;
use super::install::PINS;
use super::judge::cell;
use super::libraries::{LIBRARIES, LIBRARY_CASES, LibraryCase};

const PATH: &str = "docs/client-tables.md";

/// When all rows of the tables were last seen to hold.
const SEEN: &str = "2026-11-22";

/// Writes the page.
pub(super) fn write() -> ExitCode {
    match std::fs::write(crate::root().join(PATH), page()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask clients: {PATH}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The versions, for people.
pub(super) fn pins() -> String {
    let libraries: Vec<String> = LIBRARIES.iter().map(|library| library.pins[0].to_string()).collect();
    format!("{PINS}, {}", libraries.join(", "))
}

fn page() -> String {
    let libraries = LIBRARY_CASES.iter().fold(String::new(), |page, case| page + &of_libraries(case));
    format!(
        "# Tables of real clients\n\n\
         `cargo xtask clients --page` writes this page from the tables that `cargo xtask clients` compares each run with. Each row \
         was last seen\nto hold on {SEEN}. Every client has its defaults. A cell says how often the client asks, how far apart its requests are when it waits, and\n\
         what its caller gets.\n\n\
         ## The SDKs\n\n{PINS}.\n\n{}\n\
         ## Libraries for agents\n\n{}.\n\n{libraries}\
         ## Agents\n\n`cargo xtask clients --with NAME` installs one and drives it; it is not a step of CI. \
         What agents do when they are\ninterrupted: [agent-tables.md](agent-tables.md).\n\n{}",
        of_sdks(),
        LIBRARIES.map(|library| format!("{}: {}", library.name, library.pins.join(", "))).join("; "),
        agents::table(),
    )
}

fn of_sdks() -> String {
    let rows = CASES.iter().map(|case| {
        let [python, typescript] = [Language::Python, Language::TypeScript].map(|language| cell(case.gaps, case.outcome(language)));
        format!("| {} | {python} | {} |\n", case.name, if python == typescript { "the same" } else { &typescript })
    });
    format!("| case | Python | TypeScript |\n| --- | --- | --- |\n{}", rows.collect::<String>())
}

/// The libraries that do the same stand in one row.
fn of_libraries(case: &LibraryCase) -> String {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for row in case.rows {
        let cell = cell(row.1, row.2);
        match rows.iter_mut().find(|(other, _)| *other == cell) {
            Some((_, names)) => names.push(row.0.name),
            None => rows.push((cell, vec![row.0.name])),
        }
    }
    let rows: String = rows.iter().map(|(cell, names)| format!("| {} | {cell} |\n", names.join(", "))).collect();
    format!("**{}**\n\n| library | requests and outcome |\n| --- | --- |\n{rows}\n", case.name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn k_7_the_page_is_the_tables() {
        let written = std::fs::read_to_string(crate::root().join(super::PATH)).unwrap_or_default();
        assert!(written == super::page(), "docs/client-tables.md is not what the tables say: run `cargo xtask clients --page`");
    }
}
