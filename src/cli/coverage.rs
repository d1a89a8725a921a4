//! `--coverage` and `--require`: what the runs of a command reached, what they never reached, and a gate on it (E-7).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::CommandExit;
use super::output::{complain, print_line};
use crate::explore::coverage::{CoverageClass, RunCoverage};
use crate::files::open;
use crate::prelude::*;
use crate::scenario::parse::nearest::nearest;

/// A list of requirements is no longer than this.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct CoverageArguments {
    /// Also show what the runs reached, and what they never reached: kinds of inputs and effects, pairs of them, terminals, faults and more
    #[arg(long)]
    coverage: bool,
    /// Fail unless all of these were reached: a file with one a line, or a list such as `terminal:completed,pair:cancel/stop_tool,fault:*`
    #[arg(long, value_name = "FILE|LIST")]
    require: Option<String>,
}

/// Where the coverage is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoveragePlace {
    /// On standard output, after the runs.
    Output,
    /// On standard error: the output is for programs.
    BesideOutput,
    /// In the document.
    Document,
}

/// The names that must be reached, with their classes.
pub(super) type CoverageRequirements = Vec<(CoverageClass, String)>;

/// The coverage in a document.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CoverageEntry {
    /// How many runs were counted.
    runs: u64,
    /// By class: the names that were reached, with how often.
    reached: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// By class: the known names that were not reached.
    never: BTreeMap<&'static str, Vec<String>>,
    /// The requirements that were not reached, as `class:name`.
    missing: Vec<String>,
}

impl CoverageArguments {
    /// Whether anything is to be counted.
    pub(super) fn is_wanted(&self) -> bool {
        self.coverage || self.require.is_some()
    }

    /// Reads what is required.
    pub(super) fn requirements(&self) -> Result<CoverageRequirements, String> {
        let Some(text) = &self.require else { return Ok(Vec::new()) };
        let in_file = |problem: String| format!("--require {text}: {problem}");
        if !Path::new(text).is_file() {
            return list(text).map_err(in_file);
        }
        let bytes = open::read(Path::new(text), FILE_BYTES_MAX).map_err(|error| in_file(format!("cannot be read: {error}")))?;
        let lines = String::from_utf8_lossy(&bytes).into_owned();
        let lines: Vec<&str> = lines.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
        list(&lines.join(",")).map_err(in_file)
    }

    /// Shows the coverage, unless a document does, and says what is missing of the requirements.
    pub(super) fn show(&self, coverage: &RunCoverage, requirements: &CoverageRequirements, place: CoveragePlace) -> CommandExit {
        match place {
            CoveragePlace::Output if self.coverage => print_line(&text(coverage)),
            CoveragePlace::BesideOutput if self.coverage => complain(&text(coverage)),
            _ => (),
        }
        let missing = missing(coverage, requirements);
        if missing.is_empty() {
            return CommandExit::Fine;
        }
        let told: Vec<String> = missing.iter().map(|name| format!("{name}{}", near_text(name))).collect();
        complain(&format!("required and never reached: {}", told.join(", ")));
        CommandExit::Failed
    }
}

impl CoverageEntry {
    pub(super) fn new(coverage: &RunCoverage, requirements: &CoverageRequirements) -> Self {
        let classes = || CoverageClass::ALL.into_iter();
        Self {
            runs: coverage.runs,
            reached: classes().map(|class| (class.as_str(), coverage.reached(class))).collect(),
            never: classes().map(|class| (class.as_str(), coverage.unreached(class))).collect(),
            missing: missing(coverage, requirements),
        }
    }
}

fn missing(coverage: &RunCoverage, requirements: &CoverageRequirements) -> Vec<String> {
    let is_missing = |(class, name): &&(CoverageClass, String)| !coverage.reached(*class).contains_key(name);
    requirements.iter().filter(is_missing).map(|(class, name)| format!("{}:{name}", class.as_str())).collect()
}

/// ` (did you mean terminal:completed?)`: an engine may have terminals of its own, so any name of one is taken.
fn near_text(name: &str) -> String {
    let Some(terminal) = name.strip_prefix("terminal:") else { return String::new() };
    let known = CoverageClass::Terminal.known_names();
    if known.iter().any(|known| *known == terminal) {
        return String::new();
    }
    let near = nearest(terminal, known.iter().map(|known| &**known));
    near.map(|near| format!(" (did you mean terminal:{near}?)")).unwrap_or_default()
}

/// `class:name`, with commas.
fn list(text: &str) -> Result<CoverageRequirements, String> {
    let mut requirements = CoverageRequirements::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (class, name) = item.split_once(':').ok_or_else(|| {
            format!("`{item}` is neither a file nor something that can be reached: write a class and a name, e.g. `terminal:completed`")
        })?;
        let classes = CoverageClass::ALL.map(CoverageClass::as_str).join(", ");
        let class = CoverageClass::from_word(class).ok_or_else(|| format!("unknown class `{class}`; the classes are {classes}"))?;
        match name {
            "*" if class != CoverageClass::Pair => requirements.extend(class.known_names().into_iter().map(|name| (class, name))),
            _ if class.may_have(name) => requirements.push((class, name.into())),
            _ if class == CoverageClass::Pair => {
                return Err(format!("`{item}` is no pair: write the kinds of an input and an effect, e.g. `pair:tool_ended/request`"));
            }
            _ => return Err(format!("unknown {} `{name}`; known are {}", class.as_str(), class.known_names().join(", "))),
        }
    }
    match requirements.is_empty() {
        true => Err(String::from("nothing is required: write a class and a name, e.g. `terminal:completed`")),
        false => Ok(requirements),
    }
}

fn text(coverage: &RunCoverage) -> String {
    let mut text = format!("\ncoverage of {}", plural(coverage.runs, "run"));
    for class in CoverageClass::ALL {
        text += &match class {
            CoverageClass::Pair => pairs(coverage),
            class => class_text(coverage, class),
        };
    }
    text
}

fn class_text(coverage: &RunCoverage, class: CoverageClass) -> String {
    let (reached, never) = (coverage.reached(class), coverage.unreached(class));
    if reached.is_empty() && [CoverageClass::Transition, CoverageClass::Step].contains(&class) {
        return format!("\n{}s: the engine notes none", class.as_str());
    }
    let mut text = format!("\n{}s, {} of {}: {}", class.as_str(), reached.len(), reached.len() + never.len(), counts(&reached));
    if !never.is_empty() {
        text += &format!("\n  never: {}", never.join(", "));
    }
    text
}

/// The pairs, a line for each input.
fn pairs(coverage: &RunCoverage) -> String {
    let reached = coverage.reached(CoverageClass::Pair);
    let mut by_input: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
    for (pair, count) in &reached {
        let (input, effect) = pair.split_once('/').unwrap_or((pair, ""));
        by_input.entry(input).or_default().insert(effect.into(), *count);
    }
    let lines: String = by_input.iter().map(|(input, effects)| format!("\n  {input}: {}", counts(effects))).collect();
    format!("\npairs, {} reached:{lines}", reached.len())
}

fn counts(reached: &BTreeMap<String, u64>) -> String {
    let list: Vec<String> = reached.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if list.is_empty() { String::from("none") } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_7_a_terminal_of_nearly_a_known_name_is_asked_about() {
        assert_eq!(near_text("terminal:complted"), " (did you mean terminal:completed?)");
        for other in ["terminal:completed", "terminal:my_own_end", "input:tool_ended"] {
            assert_eq!(near_text(other), "", "{other}");
        }
    }

    #[test]
    fn e_7_requirements_are_classes_and_names() {
        let read = |text: &str| list(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read("terminal:completed"), [(CoverageClass::Terminal, "completed".into())]);
        assert_eq!(read("pair:cancel/stop_tool, input:tool_ended,").len(), 2);
        assert_eq!(read("fault:*").len(), CoverageClass::Fault.known_names().len());
        for (text, words) in [
            ("", "nothing is required"),
            ("gates.txt", "neither a file nor"),
            ("terminals:completed", "the classes are input, effect, pair"),
            ("input:tool_end", "unknown input `tool_end`; known are prompt"),
            ("pair:tool_ended", "no pair"),
            ("pair:*", "no pair"),
            ("oracle:O-99", "unknown oracle `O-99`; known are O-1"),
        ] {
            let error = list(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
