//! Values that are secrets because they stood in a header: they are looked for everywhere (K-2).
//!
//! They are kept in groups, each with a search of its own. Two groups of one size become one, so that there are few: to learn many values and to look
//! for them takes little more than a pass over them (K-12).

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// A value that stood in a header is looked for everywhere when it is at least this long: shorter ones are words.
const VALUE_BYTES_MIN: usize = 12;

/// How much of values is kept, in bytes.
const VALUES_BYTES_MAX: usize = 8 << 20;

/// The values.
#[derive(Clone, Debug, Default)]
pub(super) struct LearnedValues {
    known: BTreeSet<Vec<u8>>,
    bytes: usize,
    groups: Vec<LearnedGroup>,
    is_full: bool,
}

#[derive(Clone, Debug)]
struct LearnedGroup {
    values: Vec<Vec<u8>>,
    search: AhoCorasick,
}

impl LearnedValues {
    /// Remembers a value.
    pub(super) fn learn(&mut self, value: &[u8]) {
        if value.len() < VALUE_BYTES_MIN || self.known.contains(value) {
            return;
        }
        if self.bytes + value.len() > VALUES_BYTES_MAX {
            self.is_full = true;
            return;
        }
        self.bytes += value.len();
        self.known.insert(value.to_vec());
        let mut values = vec![value.to_vec()];
        while let Some(group) = self.groups.pop_if(|group| group.values.len() <= values.len()) {
            values.extend(group.values);
        }
        let search =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::ContiguousNFA)).build(&values);
        match search {
            Ok(search) => self.groups.push(LearnedGroup { values, search }),
            Err(_) => self.is_full = true,
        }
    }

    /// Where they stand in a text.
    pub(super) fn find<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
        self.groups.iter().flat_map(move |group| group.search.find_iter(text)).map(|found| found.range())
    }

    /// Whether there were more than are kept.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_thousands_of_values_are_looked_for_in_few_passes() {
        let value = |number: usize| format!("value-of-a-header-{number:05}");
        let mut learned = LearnedValues::default();
        (0..5_000).for_each(|number| learned.learn(value(number).as_bytes()));
        assert!(learned.groups.len() < 16 && !learned.is_full(), "{}", learned.groups.len());
        for number in [0, 63, 64, 300, 4_999] {
            let text = format!("it was {} then", value(number));
            assert!(learned.find(text.as_bytes()).eq(core::iter::once(7..7 + value(number).len())));
        }
        assert_eq!(learned.find(b"value-of-a-header-5000 and value-of-a-heade").count(), 0);
        (0..9).for_each(|number| learned.learn(&vec![number; 1 << 20]));
        assert!(learned.is_full());
    }
}
