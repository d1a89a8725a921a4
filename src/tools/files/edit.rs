//! Edit and MultiEdit: texts of a file replaced (B-2, B-3). Pure functions over the text.

use serde::Deserialize;

use reenact_wire::prelude::*;

use super::edited_text::EditedText;

/// One replacement.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub(crate) struct TextEdit {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    #[serde(default)]
    replace_all: bool,
    /// How often the old text must be there.
    expected_replacements: Option<usize>,
}

/// The input of Edit.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct EditInput {
    pub(crate) file_path: String,
    #[serde(flatten)]
    pub(crate) edit: TextEdit,
}

/// The input of MultiEdit.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MultiEditInput {
    pub(crate) file_path: String,
    pub(crate) edits: Vec<TextEdit>,
}

/// A text with all edits made.
pub(crate) struct EditResult {
    pub(crate) text: String,
    /// How many replacements were made.
    pub(crate) replacements: usize,
    /// Notes for a person: edits that depend on each other, or overlap.
    pub(crate) notes: Vec<String>,
}

impl TextEdit {
    /// The mistake in the edit that shows without any file.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match self {
            _ if self.old_string.is_empty() => Some("the old text is empty"),
            _ if self.old_string == self.new_string => Some("old and new text are the same"),
            _ if self.expected_replacements == Some(0) => Some("`expected_replacements` is 0, so there is nothing to do"),
            _ => None,
        }
    }

    /// The text with this edit made, and how many replacements that were.
    fn apply(&self, form: &EditedText, text: &str) -> Result<(String, usize), String> {
        let (old, new) = (form.as_written(&self.old_string), form.as_written(&self.new_string));
        let count = text.matches(&*old).count();
        let expected = self.expected_replacements.or_else(|| (!self.replace_all).then_some(1));
        match expected {
            _ if count == 0 => Err(String::from("the old text is not in the file")),
            Some(expected) if expected != count => {
                Err(format!("the old text is there {}, and {} was expected", times(count), times(expected)))
            }
            _ => Ok((text.replace(&*old, &new), count)),
        }
    }
}

fn times(count: usize) -> String {
    plural(count as u64, "time")
}

/// Makes all edits, each on the text as those before left it; all or none (B-3).
///
/// # Errors
/// Which edit cannot be made, and why.
pub(crate) fn apply_all(form: &EditedText, edits: &[TextEdit]) -> Result<EditResult, String> {
    let of = |index: usize, problem: &str| if edits.len() == 1 { problem.to_owned() } else { format!("edit {}: {problem}", index + 1) };
    let mut result = EditResult { text: form.text.clone(), replacements: 0, notes: notes(form, edits) };
    for (index, edit) in edits.iter().enumerate() {
        if let Some(problem) = edit.problem() {
            return Err(of(index, problem));
        }
        let (text, count) = edit.apply(form, &result.text).map_err(|problem| of(index, &problem))?;
        result.text = text;
        result.replacements += count;
    }
    Ok(result)
}

/// Edits that depend on earlier ones, and edits of one place (B-3).
fn notes(form: &EditedText, edits: &[TextEdit]) -> Vec<String> {
    let mut notes = Vec::new();
    let place = |edit: &TextEdit| {
        let old = form.as_written(&edit.old_string).into_owned();
        form.text.find(&old).filter(|_| !old.is_empty()).map(|at| at..at + old.len())
    };
    for (index, later) in edits.iter().enumerate() {
        for (number, earlier) in edits[..index].iter().enumerate() {
            if !earlier.new_string.is_empty() && later.old_string.contains(&earlier.new_string) {
                notes.push(format!("edit {} replaces text that edit {} makes", index + 1, number + 1));
            } else if let (Some(a), Some(b)) = (place(earlier), place(later))
                && a.start < b.end
                && b.start < a.end
            {
                notes.push(format!("edits {} and {} overlap", number + 1, index + 1));
            }
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> TextEdit {
        TextEdit { old_string: old.into(), new_string: new.into(), replace_all: false, expected_replacements: None }
    }

    fn applied(text: &str, edits: &[TextEdit]) -> Result<String, String> {
        apply_all(&EditedText::from_bytes(text.as_bytes()).unwrap(), edits).map(|result| result.text)
    }

    #[test]
    fn b_2_an_edit_replaces_what_is_there_once() {
        assert_eq!(applied("a b", &[edit("b", "$1\\n$&")]).unwrap(), "a $1\\n$&", "specials are literal");
        assert_eq!(applied("a b", &[edit("c", "d")]).unwrap_err(), "the old text is not in the file");
        assert_eq!(applied("a a", &[edit("a", "b")]).unwrap_err(), "the old text is there 2 times, and 1 time was expected");
        assert_eq!(applied("a", &[edit("", "b")]).unwrap_err(), "the old text is empty");
        assert_eq!(applied("a", &[edit("a", "a")]).unwrap_err(), "old and new text are the same");
        let all = TextEdit { replace_all: true, ..edit("a", "b") };
        assert_eq!(applied("a a", core::slice::from_ref(&all)).unwrap(), "b b");
        let two = TextEdit { expected_replacements: Some(2), ..edit("a", "b") };
        assert_eq!(applied("a a", core::slice::from_ref(&two)).unwrap(), "b b");
        assert_eq!(applied("a", &[two]).unwrap_err(), "the old text is there 1 time, and 2 times was expected");
        assert_eq!(applied("a\r\nb\r\n", &[edit("a\nb", "c\nd")]).unwrap(), "c\nd\n", "line ends are put back when it is written");
    }

    #[test]
    fn b_3_edits_see_those_before_and_are_all_or_none() {
        assert_eq!(applied("a", &[edit("a", "b"), edit("b", "c")]).unwrap(), "c");
        assert_eq!(applied("a", &[edit("a", "b"), edit("a", "c")]).unwrap_err(), "edit 2: the old text is not in the file");
        let notes = |text: &str, edits: &[TextEdit]| notes(&EditedText::from_bytes(text.as_bytes()).unwrap(), edits);
        assert_eq!(notes("abc", &[edit("a", "x"), edit("xb", "y")]), ["edit 2 replaces text that edit 1 makes"]);
        assert_eq!(notes("abc", &[edit("ab", "x"), edit("bc", "y")]), ["edits 1 and 2 overlap"]);
        assert_eq!(notes("abc", &[edit("a", ""), edit("b", "y")]), [] as [&str; 0]);
    }
}
