//! `shell`: commands cut into tokens, and judged.

use std::collections::BTreeMap;

use reenact::shell::{Sentinel, danger, lexemes, only_reads, words};

use super::outcome::{BarLimit, MEGABYTES_A_SECOND, ReportLine, count, throughput};
use super::rounds;

/// Commands as agents write them.
const COMMANDS: [&str; 6] = [
    "git log --oneline -20 -- src/engine | head -n 5 && git status --short",
    "grep -rn \"fn only_reads\" src --include='*.rs' | sort | uniq -c",
    "cd /w/project && cargo test --workspace --no-fail-fast 2>&1 | tail -40",
    "python3 - <<'E'\nimport json\nprint(json.dumps({\"a\": [1, 2, 3]}))\nE",
    "for f in src/*.rs; do echo \"$f: $(wc -l < \"$f\")\"; done",
    "find . -name target -prune -o -name \"*.toml\" -print | xargs -I{} sh -c 'echo {}; head -3 {}'",
];

/// So many of each.
const COPIES: usize = 200;

pub(crate) fn commands() -> Vec<ReportLine> {
    let commands: Vec<&str> = COMMANDS.into_iter().cycle().take(COMMANDS.len() * COPIES).collect();
    let bytes = commands.iter().map(|command| command.len()).sum();
    assert!(commands.iter().all(|command| lexemes(command).is_ok()), "each command is understood");
    let variables = BTreeMap::new();
    let rounds = rounds::in_turns([
        &mut || commands.iter().for_each(|command| rounds::used(lexemes(command))),
        &mut || commands.iter().for_each(|command| rounds::used(only_reads(command))),
        &mut || commands.iter().for_each(|command| rounds::used(danger(command))),
        &mut || commands.iter().for_each(|command| rounds::used(words(command, &variables, &Sentinel::new(1, command, &variables)))),
    ]);
    let speed = |way| throughput(bytes, rounds.median(way));
    vec![
        ReportLine::Bar {
            name: "shell",
            ours: speed(0),
            theirs: String::from("tokens alone"),
            figure: count(bytes) / rounds.median(0) * 1e3,
            unit: MEGABYTES_A_SECOND,
            limit: BarLimit::AtLeast(20.0),
        },
        ReportLine::Orientation { name: "whether they only read", figure: speed(1) },
        ReportLine::Orientation { name: "whether they are dangerous", figure: speed(2) },
        ReportLine::Orientation { name: "their words", figure: speed(3) },
    ]
}
