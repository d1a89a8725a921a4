//! `network-level`: how many scenarios a second run over the simulated network.

use std::process::{Command, Stdio};

use super::outcome::{BarLimit, ReportLine};
use super::rounds;
use super::start;

/// Two requests and one tool, over a slow link.
const SCENARIO: &str = "scenarios/network/slow-link.toml";

/// So many seeds make a sample, and so many samples are taken.
const SEEDS: u32 = 20;
const SAMPLES: usize = 5;

/// The whole program is timed, its start included.
pub(crate) fn network() -> Vec<ReportLine> {
    let program = start::build_ours();
    let mut run = || {
        for seed in 1..=SEEDS {
            let mut command = Command::new(&program);
            command.args(["run", SCENARIO, "--level", "network", "--scale", "10%", "--seed", &seed.to_string()]);
            let output = command.current_dir(crate::root()).stdin(Stdio::null()).output().expect("the program can be started");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    };
    let rounds = rounds::in_turns_of(SAMPLES, std::time::Duration::ZERO, [&mut run]);
    let a_second = f64::from(SEEDS) / (rounds.median(0) / 1e9);
    vec![ReportLine::Bar {
        name: "network-level",
        ours: format!("{a_second:.0}/s"),
        theirs: String::from("two requests, one tool"),
        figure: a_second,
        unit: "/s",
        limit: BarLimit::AtLeast(20.0),
    }]
}
