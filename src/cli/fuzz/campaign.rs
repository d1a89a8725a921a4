//! `fuzz --campaign FOLDER`: a search that is stopped at any instant goes on later, and parts of it are merged by copying (E-6).
//!
//! ```text
//!   FOLDER/retry-a91c…/          one search: this scenario, this program, this seed, this strategy
//!     search-….json              what it is
//!     finding-….json             a case that breaks a rule, with its command; written before anything is said of it
//!     progress-….json            how far each island has come, and which of its cases showed something new: the next ones are made from these
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cli::program::first_arguments;
use crate::explore::fuzz::{FuzzIsland, KeptCase};
use crate::files::content_folder::ContentFolder;
use crate::files::scenario::bytes_digest;
use crate::oracle::QuestionCounts;
use crate::prelude::*;

/// The version of these files.
const VERSION: u32 = 1;

/// The facts that two programs share if they work on one search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SearchRecord {
    pub(super) reenact_campaign: u32,
    /// The version of the program.
    pub(super) program: String,
    /// The digest of the program's file: another build has other code, of which nothing was searched.
    pub(super) binary: String,
    /// The arguments before its commands: they may choose the engine.
    pub(super) arguments: Vec<String>,
    /// The scenario's name.
    pub(super) name: String,
    /// The digest of the scenario with all that it names.
    pub(super) scenario: String,
    /// The keys that were set.
    pub(super) set: Vec<(String, String)>,
    pub(super) strategy: String,
    pub(super) seed: u64,
    pub(super) islands: u64,
}

/// A case that showed something new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptRecord {
    case: u64,
    /// The new behaviours, for people.
    behaviours: Vec<String>,
}

/// A case that breaks a rule, with fewer decisions than those before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(in crate::cli) struct FindingRecord {
    /// The rule, and what was observed.
    pub(in crate::cli) defect: String,
    /// How many decisions it has.
    pub(in crate::cli) decision_count: usize,
    pub(in crate::cli) case: u64,
    pub(in crate::cli) decisions: Vec<String>,
    pub(in crate::cli) violations: Vec<String>,
    /// The command that makes it again.
    pub(in crate::cli) command: String,
}

/// How far islands have come since the last record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ProgressRecord {
    /// Of which search, by the digest of its facts.
    search: String,
    islands: Vec<IslandProgress>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct IslandProgress {
    island: u64,
    /// Its cases from here,
    from: u64,
    /// to here.
    to: u64,
    #[serde(flatten)]
    tally: CaseTally,
    /// Those that showed something new.
    kept: Vec<KeptRecord>,
}

/// Counts of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CaseTally {
    /// How many of them broke which rule.
    pub(super) found: BTreeMap<String, u64>,
    /// How often each oracle was asked in them.
    pub(super) asked: BTreeMap<String, u64>,
}

/// The folder of one search.
pub(super) struct CampaignFolder {
    folder: ContentFolder,
    /// The digest of the search's facts.
    search: String,
    /// How far each island has come in the folder.
    written: BTreeMap<u64, u64>,
}

/// The content of a folder.
pub(super) struct CampaignPast {
    /// How many cases each island has made.
    pub(super) islands: BTreeMap<u64, u64>,
    /// The numbers of the cases that were kept, in order.
    pub(super) kept: Vec<u64>,
    pub(super) tally: CaseTally,
    pub(super) findings: Vec<FindingRecord>,
}

impl SearchRecord {
    pub(super) fn new(name: &str, scenario: String, binary: String, set: Vec<(String, String)>, (strategy, seed): (&str, u64)) -> Self {
        Self {
            reenact_campaign: VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            binary,
            arguments: first_arguments(),
            name: name.into(),
            scenario,
            set,
            strategy: strategy.into(),
            seed,
            islands: FuzzIsland::COUNT,
        }
    }
}

impl CampaignFolder {
    /// Opens the folder of a search, and reads what is there.
    pub(super) fn open(campaign: &Path, search: &SearchRecord) -> Result<(Self, CampaignPast), String> {
        let content = json(search);
        let file = Path::new(&search.name).file_name().map_or("search".into(), |name| name.to_string_lossy());
        let search = bytes_digest(&content);
        let path = campaign.join(format!("{file}-{}", &search[..16]));
        let folder = ContentFolder::open(&path).map_err(|error| error.to_string())?;
        folder.add("search", &content).map_err(|error| error.to_string())?;
        let progress: Vec<ProgressRecord> = records(&folder, "progress")?;
        if folder.contents("search").map_err(|error| error.to_string())?.len() > 1 || progress.iter().any(|record| record.search != search)
        {
            let path = path.display();
            return Err(format!("{path}: it has files of another search: move these out, or name another folder"));
        }
        let past = CampaignPast::new(progress.into_iter().flat_map(|record| record.islands).collect(), records(&folder, "finding")?);
        Ok((Self { folder, search, written: past.islands.clone() }, past))
    }

    /// Keeps a finding.
    pub(super) fn report(&self, finding: &FindingRecord) -> Result<(), String> {
        self.add("finding", finding)
    }

    /// Writes how far islands have come, and what they found since the last time.
    pub(super) fn advance(&mut self, islands: &[FuzzIsland], mut tallies: BTreeMap<u64, CaseTally>) -> Result<(), String> {
        let mut record = ProgressRecord { search: self.search.clone(), islands: Vec::new() };
        for island in islands {
            let written = self.written.entry(island.number()).or_default();
            let (from, to) = (std::mem::replace(written, island.cases()), island.cases());
            let tally = tallies.remove(&island.number()).unwrap_or_default();
            let is_new = |kept: &&KeptCase| kept.number / FuzzIsland::COUNT >= from;
            let kept = island.kept().iter().filter(is_new).map(KeptRecord::from).collect();
            record.islands.extend((from < to).then(|| IslandProgress { island: island.number(), from, to, tally, kept }));
        }
        if record.islands.is_empty() { Ok(()) } else { self.add("progress", &record) }
    }

    fn add(&self, kind: &str, record: &impl Serialize) -> Result<(), String> {
        self.folder.add(kind, &json(record)).map_err(|error| error.to_string())
    }
}

fn json(record: &impl Serialize) -> Vec<u8> {
    // A record of texts and figures has a JSON form.
    let mut text = serde_json::to_vec_pretty(record).unwrap_or_default();
    text.push(b'\n');
    text
}

fn records<T: DeserializeOwned>(folder: &ContentFolder, kind: &str) -> Result<Vec<T>, String> {
    let contents = folder.contents(kind).map_err(|error| error.to_string())?;
    let unread = |error: serde_json::Error| {
        format!(
            "{}: a file of the kind `{kind}` cannot be read: {error}: it is of another version; name another folder",
            folder.path().display()
        )
    };
    contents.iter().map(|content| serde_json::from_slice(content).map_err(unread)).collect()
}

impl CaseTally {
    fn add(&mut self, other: Self) {
        other.found.into_iter().for_each(|(defect, count)| *self.found.entry(defect).or_default() += count);
        other.asked.into_iter().for_each(|(oracle, count)| *self.asked.entry(oracle).or_default() += count);
    }

    /// Adds the questions of one case.
    pub(super) fn add_asked(&mut self, asked: &QuestionCounts) {
        for (oracle, count) in asked.by_oracle().filter(|(_, count)| *count > 0) {
            *self.asked.entry(oracle.into()).or_default() += count;
        }
    }
}

impl From<&KeptCase> for KeptRecord {
    fn from(kept: &KeptCase) -> Self {
        Self { case: kept.number, behaviours: kept.behaviours.iter().map(ToString::to_string).collect() }
    }
}

impl CampaignPast {
    /// How far each island has come without a gap, and what it found and kept up to there. Of parts that two programs made at once, one counts. A part with a
    /// finding whose file is gone does not count: its cases are made again.
    fn new(mut parts: Vec<IslandProgress>, findings: Vec<FindingRecord>) -> Self {
        parts.retain(|part| part.tally.found.keys().all(|defect| findings.iter().any(|finding| finding.defect == *defect)));
        parts.sort_by_key(|part| (part.island, part.from, std::cmp::Reverse(part.to)));
        let mut past = Self { islands: BTreeMap::new(), kept: Vec::new(), tally: CaseTally::default(), findings };
        for part in parts {
            let end = past.islands.entry(part.island).or_default();
            if part.from == *end && part.to > *end {
                *end = part.to;
                past.tally.add(part.tally);
                past.kept.extend(part.kept.into_iter().map(|kept| kept.case));
            }
        }
        past
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(island: u64, from: u64, to: u64) -> IslandProgress {
        IslandProgress {
            island,
            from,
            to,
            tally: CaseTally { found: [(String::from("O-1"), to - from)].into(), ..CaseTally::default() },
            kept: Vec::new(),
        }
    }

    #[test]
    fn e_6_a_island_goes_on_where_its_parts_have_no_gap() {
        let parts = vec![part(3, 4, 9), part(3, 0, 4), part(3, 10, 12), part(5, 1, 2), part(3, 0, 4), part(3, 0, 3)];
        let finding = FindingRecord {
            defect: "O-1".into(),
            decision_count: 1,
            case: 3,
            decisions: Vec::new(),
            violations: Vec::new(),
            command: String::new(),
        };
        let past = CampaignPast::new(parts.clone(), vec![finding]);
        assert_eq!((past.islands.get(&3), past.islands.get(&5)), (Some(&9), Some(&0)));
        assert_eq!(past.tally.found.get("O-1"), Some(&9));
        let past = CampaignPast::new(parts, Vec::new());
        assert_eq!(
            (past.islands.get(&3), past.tally.found.get("O-1")),
            (None, None),
            "the file of the finding is gone, so its cases are made again"
        );
    }
}
