//! The table of benches and the command line around it.

use std::process::ExitCode;

use super::outcome::{ReportLine, print_header};
use super::{
    decode, diff, doctor, explore, foreign, framing, grep, growth, level, museum, record, redact, run, search, serve, shell, start, sweep,
    workspace,
};

/// Something that is measured.
struct Bench {
    name: &'static str,
    holds: &'static str,
    measure: fn() -> Vec<ReportLine>,
}

/// Quick ones first.
const BENCHES: &[Bench] = &[
    Bench {
        name: "run",
        holds: "a replay of two requests and one tool costs at most 3 times a paused tokio runtime with a channel and 30 timers, without oracles 1.3 \
                times; the oracles make it at most 1.5 times as long",
        measure: run::against_tokio,
    },
    Bench { name: "waiting", holds: "six hours of virtual waiting cost less than 1 ms", measure: run::waiting },
    Bench { name: "copy", holds: "the median copy of a run with its oracles costs less than 1 us", measure: sweep::copies },
    Bench {
        name: "sweep",
        holds: "an event stepped in a sweep costs at most 1.5 times one of a plain replay; 130 events are swept in 75 times what a paused tokio \
                runtime takes for as many timers",
        measure: sweep::sweeps,
    },
    Bench {
        name: "growth",
        holds: "a prompt of 1,600 turns costs at most 5 times one of 400; the sweep of one with 100 turns takes at most 0.4 s",
        measure: growth::turns,
    },
    Bench {
        name: "explore",
        holds: "a transition of an exploration costs at most 8 times an event of a run with all oracles",
        measure: explore::transitions,
    },
    Bench {
        name: "explore-threads",
        holds: "two threads explore at least 1.6 times as fast as one, from 200,000 states on",
        measure: explore::two_threads,
    },
    Bench {
        name: "certify",
        holds: "a certificate is checked in at most 1.5 times the exploration that it is of",
        measure: search::certificates,
    },
    Bench {
        name: "fuzz",
        holds: "an event of a random case costs at most 2 times one of a plain run with all oracles; two threads make 1.7 times as many",
        measure: search::cases,
    },
    Bench {
        name: "museum",
        holds: "an exhibit is found in 50 ms (median) and 2 s at most, and its finding is made small in 50 ms (median) and 200 runs at most",
        measure: museum::exhibits,
    },
    Bench {
        name: "neighbourhood",
        holds: "all orders around a run of 130 events: 0.3 s with one deviation, 60 s with two",
        measure: museum::neighbourhood,
    },
    Bench {
        name: "workspace",
        holds: "a turn with Read, Edit and Grep on files in memory costs at most 100 us of the run",
        measure: workspace::turns,
    },
    Bench {
        name: "grep",
        holds: "Grep over a directory of 100 MB takes at most 1.2 times what ripgrep takes",
        measure: grep::against_ripgrep,
    },
    Bench { name: "shell", holds: "commands of a shell are read at 20 MB/s", measure: shell::commands },
    Bench {
        name: "diff",
        holds: "two transcripts are compared event by event in 0.4 times what `git diff` takes over their texts",
        measure: diff::against_git,
    },
    Bench {
        name: "doctor",
        holds: "300 stored sessions of 1 MB are found, read and judged at 300 MB/s on two cores",
        measure: doctor::sessions,
    },
    Bench {
        name: "framing",
        holds: "framing is at least as fast as the better of sse-core and sse-stream",
        measure: framing::against_others,
    },
    Bench {
        name: "framing-long-line",
        holds: "framing one line that comes in small pieces is linear in its length",
        measure: framing::long_line,
    },
    Bench {
        name: "decode",
        holds: "from bytes to typed events at least 3 times as fast as eventsource-stream with a tagged serde enum",
        measure: decode::against_others,
    },
    Bench {
        name: "redact",
        holds: "the search for secrets in a stream, words, base64 and hexadecimal digits, beside a pass over the same bytes: no bar, to compare",
        measure: redact::against_a_pass,
    },
    Bench {
        name: "run-network",
        holds: "a replay is at least 200 times as fast as the same exchange over turmoil",
        measure: run::against_turmoil,
    },
    Bench { name: "start", holds: "the program starts within 2 ms of an empty one", measure: start::against_empty },
    Bench {
        name: "record",
        holds: "recording adds to an event at most 1.2 times what nginx adds (p99: 1.5), and half of what mitmdump adds",
        measure: record::added,
    },
    Bench {
        name: "record-burst",
        holds: "20,000 events at once take at most 1.3 times as long when they are recorded",
        measure: record::burst,
    },
    Bench {
        name: "record-memory",
        holds: "recording a stream of 1 GB takes at most 1.5 times the memory of one of 64 MB",
        measure: record::memory,
    },
    Bench {
        name: "serve-first-byte",
        holds: "the replay server's first byte comes within 2 times that of a bare hyper server",
        measure: serve::first_byte,
    },
    Bench {
        name: "serve-memory",
        holds: "a thousand streams at once, again and again, leave at most 8 KB for each client's verdict",
        measure: serve::memory,
    },
    Bench {
        name: "serve-slow-readers",
        holds: "100 clients that do not read cost those that do at most a quarter of their time",
        measure: serve::slow_readers,
    },
    Bench {
        name: "network-level",
        holds: "at least 20 scenarios of two requests and one tool a second over the simulated network",
        measure: level::network,
    },
];

/// The effect of a missed bar on the exit code.
#[derive(Clone, Copy, PartialEq)]
enum BarMiss {
    Fails,
    IsReported,
}

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let mut missed = BarMiss::Fails;
    let mut only = None;
    let mut rest = options;
    loop {
        rest = match rest {
            [] => break,
            ["--report", rest @ ..] => {
                missed = BarMiss::IsReported;
                rest
            }
            ["--only", name, rest @ ..] => {
                only = Some(*name);
                rest
            }
            ["--fetch-peers", rest @ ..] => {
                if let Err(problem) = foreign::fetch() {
                    eprintln!("xtask bench: the programs to measure against cannot be fetched: {problem}");
                    return ExitCode::FAILURE;
                }
                rest
            }
            ["--program", path, rest @ ..] => {
                start::measure_this(path);
                rest
            }
            ["--list"] => {
                BENCHES.iter().for_each(|bench| println!("{:<18} {}", bench.name, bench.holds));
                return ExitCode::SUCCESS;
            }
            [other, ..] => return crate::usage(&format!("`bench` does not know `{other}`, or it lacks its value")),
        };
    }
    let chosen: Vec<&Bench> = BENCHES.iter().filter(|bench| only.is_none_or(|only| bench.name == only)).collect();
    if chosen.is_empty() {
        return crate::usage("`bench --only` names no bench that there is; see `cargo xtask bench --list`");
    }
    measure(&chosen, missed)
}

fn measure(benches: &[&Bench], missed: BarMiss) -> ExitCode {
    print_header();
    let mut below = Vec::new();
    for bench in benches {
        for line in (bench.measure)() {
            println!("{line}");
            if !line.holds() && !below.iter().any(|known: &&&Bench| known.name == bench.name) {
                below.push(bench);
            }
        }
    }
    for bench in &below {
        println!("xtask bench: missed: {}; measure it again alone: cargo xtask bench --only {}", bench.holds, bench.name);
    }
    match missed {
        BarMiss::Fails if !below.is_empty() => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
