//! `[matrix]`: one file, many runs (F-9).
//!
//! ```toml
//! [matrix]
//! engine.emission_order = ["eager", "arrival"]
//! seed = [1, 2, 3]
//! ```
//!
//! Each key is what `--set` takes, each value an array; every combination is a run, the first key changing slowest. A run is named by what
//! is set in it, `emission_order=arrival,seed=2`, and by no more of each key than tells it from the others.

use alloc::collections::BTreeSet;

use super::overrides::put_at;
use super::report::DiagnosticReport;
use super::tree::{TextPlace, TreeMember, TreeTable, TreeValue, TreeValueKind};
use reenact_wire::prelude::*;

/// More runs than this of one file are a slip of the pen.
const RUNS_MAX: usize = 1_000;

/// How much of a value its name shows.
const SHOWN_MAX: usize = 40;

/// The keys that cannot be varied: facts about the file itself, and keys that are used up before the runs are made.
const FIXED: [&str; 4] = ["extends", "matrix", "title", "rules"];

/// One key that varies.
struct MatrixDimension {
    key: String,
    place: TextPlace,
    values: Vec<TreeValue>,
}

/// The trees of all runs with the names of their combinations; a file without a matrix is one run without a name. A key that is set from
/// outside is no longer varied.
pub(super) fn runs(root: TreeTable, overrides: &[(String, String)], report: &mut DiagnosticReport) -> Vec<(Option<String>, TreeTable)> {
    let mut dimensions = Vec::new();
    match root.get("matrix") {
        None => return vec![(None, root)],
        Some(TreeMember { value: TreeValue { kind: TreeValueKind::StandIn, .. }, .. }) => (),
        Some(TreeMember { value: TreeValue { kind: TreeValueKind::Table(table), .. }, .. }) => collect(table, "", &mut dimensions, report),
        Some(member) => report.mismatch(&member.value, "a table of keys with arrays of values"),
    }
    dimensions.retain(|dimension| !overrides.iter().any(|(key, _)| *key == dimension.key));
    let count = dimensions.iter().fold(1_usize, |count, dimension| count.saturating_mul(dimension.values.len()));
    if let Some(last) = dimensions.last().filter(|_| count > RUNS_MAX) {
        let message = format!("this matrix has {count} combinations, and at most {RUNS_MAX} are run; vary less");
        report.value(last.place, message, None);
        dimensions.clear();
    }
    let mut runs = vec![(None, root)];
    let keys: Vec<&str> = dimensions.iter().map(|dimension| dimension.key.as_str()).collect();
    for dimension in &dimensions {
        let key_name = shortest(&dimension.key, &keys);
        let names = names(&dimension.values);
        let of = |(name, tree): (Option<String>, TreeTable)| {
            let pairs = dimension.values.iter().zip(&names);
            let varied = pairs.map(|(value, value_name)| {
                let mut tree = tree.clone();
                put_at(&mut tree, &dimension.key, dimension.place, value.clone(), report);
                let before = name.as_ref().map(|name| format!("{name},")).unwrap_or_default();
                (Some(format!("{before}{key_name}={value_name}")), tree)
            });
            varied.collect::<Vec<_>>()
        };
        runs = runs.into_iter().flat_map(of).collect();
    }
    runs
}

/// The arrays in a table and in the tables inside of it: `engine.model = […]` says the same as `"engine.model" = […]`.
fn collect(table: &TreeTable, before: &str, dimensions: &mut Vec<MatrixDimension>, report: &mut DiagnosticReport) {
    for TreeMember { key, place, value } in &table.members {
        let key = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        let first = key.split('.').next().unwrap_or_default();
        if key.split('.').any(str::is_empty) {
            report.value(*place, "an empty key; write e.g. engine.model = [\"x\", \"y\"]".into(), None);
        } else if FIXED.contains(&first) {
            report.value(*place, format!("`{first}` cannot be varied"), None);
        } else if dimensions.iter().any(|dimension| dimension.key == key) {
            report.value(*place, format!("`{key}` is varied already; keep one of the two"), None);
        } else {
            match &value.kind {
                TreeValueKind::Table(table) => collect(table, &key, dimensions, report),
                TreeValueKind::List(values) if values.is_empty() => {
                    report.value(value.place, "a key needs at least one value here".into(), None)
                }
                TreeValueKind::List(values) => {
                    check_values(&key, values, report);
                    dimensions.push(MatrixDimension { key, place: *place, values: values.clone() });
                }
                TreeValueKind::StandIn => (),
                _ => report.value(
                    value.place,
                    format!("expected an array of values, found {}", value.found()),
                    Some(format!("each value is one run: {key} = [ … ]")),
                ),
            }
        }
    }
}

/// Two equal values make two equal runs under names that say otherwise.
fn check_values(key: &str, values: &[TreeValue], report: &mut DiagnosticReport) {
    let mut seen = BTreeSet::new();
    for value in values {
        if let Some(json) = value.to_json(report)
            && !seen.insert(json.to_value().to_string())
        {
            report.value(value.place, format!("`{key}` has this value twice; keep one of them"), None);
        }
    }
}

/// As many of a key's last parts as no other key ends with.
fn shortest<'k>(key: &'k str, keys: &[&str]) -> &'k str {
    let ends = |other: &str, part: &str| other == part || other.strip_suffix(part).is_some_and(|before| before.ends_with('.'));
    let is_alone = |part: &&str| !keys.iter().any(|other| *other != key && ends(other, part));
    let starts = key.rmatch_indices('.').map(|(at, _)| &key[at + 1..]);
    starts.chain([key]).find(is_alone).unwrap_or(key)
}

/// The names of the values in the names of runs and of files: as they are written where letters, digits and a few marks are enough; by
/// their number from 1 where they are tables or arrays, or look like another one.
fn names(values: &[TreeValue]) -> Vec<String> {
    let plain: Vec<Option<String>> = values.iter().map(plain_name).collect();
    let mut seen = BTreeSet::new();
    let all_differ = plain.iter().flatten().all(|name| seen.insert(name.to_ascii_lowercase()));
    let named = plain.into_iter().enumerate().map(|(at, name)| name.filter(|_| all_differ).unwrap_or_else(|| format!("{}", at + 1)));
    let names: Vec<String> = named.collect();
    let distinct: BTreeSet<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    if distinct.len() == names.len() { names } else { (1..=values.len()).map(|number| number.to_string()).collect() }
}

fn plain_name(value: &TreeValue) -> Option<String> {
    let text = match &value.kind {
        TreeValueKind::Text(text) | TreeValueKind::Integer(text, 10) | TreeValueKind::Float(text) => text.as_str(),
        TreeValueKind::Boolean(value) => {
            if *value {
                "true"
            } else {
                "false"
            }
        }
        _ => return None,
    };
    let safe = |character: char| if character.is_ascii_alphanumeric() || "-_.+".contains(character) { character } else { '-' };
    let name: String = text.chars().take(SHOWN_MAX).map(safe).collect();
    (!name.is_empty() && name != "." && name != "..").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TreeValue {
        TreeValue { place: TextPlace { source: 0, start: 0, end: 0 }, kind: TreeValueKind::Text(text.into()) }
    }

    #[test]
    fn f_9_keys_are_as_short_as_they_can_be() {
        let keys = ["engine.model", "engine.retry.max_delay", "timing.max_delay", "seed", "auth.seed"];
        assert_eq!(keys.map(|key| shortest(key, &keys)), ["model", "retry.max_delay", "timing.max_delay", "seed", "auth.seed"]);
    }

    #[test]
    fn f_9_names_are_safe_and_differ() {
        let named = |values: &[&str]| names(&values.iter().map(|value| text(value)).collect::<Vec<_>>());
        assert_eq!(named(&["claude-opus-4-1", "a b/c"]), ["claude-opus-4-1", "a-b-c"]);
        assert_eq!(named(&["a/b", "a:b"]), ["1", "2"], "which look the same");
        assert_eq!(named(&["x", "X"]), ["1", "2"], "and so they do on some disks");
        assert_eq!(named(&["", "1"]), ["1", "2"], "a number could be taken for the other's name");
        assert_eq!(named(&["..", "x"]), ["1", "x"]);
        assert_eq!(named(&["y".repeat(50).as_str()])[0].len(), SHOWN_MAX);
    }
}
