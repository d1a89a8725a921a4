//! The nearest right word to a misspelt one (F-7).
//!
//! Small and own, because the usual crate for this needs the standard library.

use core::mem;

use reenact_wire::prelude::*;

/// The candidate that `word` is most likely a misspelling of; `None` when none is reasonably near.
///
/// Case, `-` and `_` make no difference; of what remains a third may be wrong, and one letter always may.
#[doc(hidden)]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    let allowed = (plain.len() / 3).max(1);
    let distances = candidates.into_iter().map(|candidate| (distance(&plain, &self::plain(candidate)), candidate));
    // The first of several equally near ones: callers list the usual ones first.
    let (distance, candidate) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed && distance < plain.len()).then_some(candidate)
}

fn plain(word: &str) -> Vec<char> {
    // A word as long as a paragraph is no misspelling, and would be slow to compare.
    word.chars().filter(|character| !matches!(character, '-' | '_')).flat_map(char::to_lowercase).take(64).collect()
}

/// How many letters must be put in, left out, changed or swapped with their neighbour (Damerau and Levenshtein, each place once).
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut this = last.clone();
    for row in 1..=left.len() {
        this[0] = row;
        for column in 1..=right.len() {
            let same = left[row - 1] == right[column - 1];
            let mut best = (last[column] + 1).min(this[column - 1] + 1).min(last[column - 1] + usize::from(!same));
            if row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1] {
                best = best.min(before[column - 2] + 1);
            }
            this[column] = best;
        }
        mem::swap(&mut before, &mut last);
        mem::swap(&mut last, &mut this);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_7_distances() {
        let of = |left: &str, right: &str| distance(&plain(left), &plain(right));
        assert_eq!(of("", ""), 0);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("modle", "model"), 1, "neighbours swapped");
        assert_eq!(of("max-Tokens", "max_tokens"), 0);
        assert_eq!(of("kitten", "sitting"), 3);
    }

    #[test]
    fn f_7_only_what_is_near_is_offered() {
        let keys = ["model", "memory", "stream"];
        assert_eq!(nearest("modle", keys), Some("model"));
        assert_eq!(nearest("steam", keys), Some("stream"));
        assert_eq!(nearest("temperature", keys), None);
        assert_eq!(nearest("x", ["y"]), None, "one wrong letter of one is all of it");
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("model", []), None);
    }
}
