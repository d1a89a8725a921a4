//! Plain English in strings, comments, titles and pages: words and phrases that made readers stumble do not come back.
//!
//! A phrase counts as whole words, in any case. Code is not looked at: names have their own check. The glossary may list words to avoid, and the
//! change log keeps old messages. A doc comment begins with a noun or is a sentence: a clause ("What the user says.") makes its readers search for the
//! thing.

use super::checkout::SourceFile;
use super::{Checkout, TidyProblem};

/// Forbidden words, and better ones. Written in pieces, so that this file does not contain them.
const BANNED: &[(&str, &str)] = &[
    (concat!("men", "d"), "correct, repair"),
    (concat!("men", "ds"), "corrects, repairs"),
    (concat!("men", "ded"), "corrected, repaired"),
    (concat!("men", "ding"), "correcting, repairing"),
    (concat!("hee", "d"), "follow, use"),
    (concat!("hee", "ds"), "follows, uses"),
    (concat!("hee", "ded"), "followed, used"),
    (concat!("les", "t"), "so that … not"),
    (concat!("when", "ce"), "from where"),
    (concat!("there", "of"), "of it"),
    (concat!("who", "ever"), "the noun: the caller, the driver, the user"),
    (concat!("whom", "ever"), "the noun: the caller, the driver, the user"),
    (concat!("for wan", "t of"), "because … is missing"),
    (concat!("told ap", "art"), "distinguished"),
    (concat!("tell ap", "art"), "distinguish"),
    (concat!("tells ap", "art"), "distinguishes"),
    (concat!("it is no", "ne"), "it is not a …"),
    (concat!("there is no", "ne"), "the noun: no file exists"),
    (concat!("there are no", "ne"), "the noun: no files exist"),
    (concat!("who can", "cels"), "a cancel"),
    (concat!("who ref", "uses"), "a refusal"),
    (concat!("in the mid", "st"), "in the middle"),
];

/// Pages that name such words on purpose.
const EXEMPT: &[&str] = &["docs/glossary.md", "CHANGELOG.md"];

/// Strings that stay: `(path, phrase)`. The prompt for a summary is part of recorded runs, and two pages show it. The word of the strategies is part of
/// generated runs. The last file is a list of names to avoid.
const KEPT: &[(&str, &str)] = &[
    ("src/engine/texts/table.rs", concat!("who", "ever")),
    ("docs/scenario.md", concat!("who", "ever")),
    ("docs/texts.md", concat!("who", "ever")),
    ("src/strategies/values.rs", concat!("men", "d")),
    ("xtask/src/tidy/names.rs", concat!("men", "d")),
];

/// Pronouns that begin a clause.
const CLAUSES: &[&str] = &["What", "Whatever", "Who", "Whom", "Whose"];

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    checkout.files.iter().filter(|file| !EXEMPT.contains(&file.path.as_str())).flat_map(problems).collect()
}

fn problems(file: &SourceFile) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (index, line) in prose(file).lines().enumerate() {
        let words = format!(" {} ", words(line));
        for (phrase, instead) in BANNED {
            if words.contains(&format!(" {phrase} ")) && !KEPT.contains(&(&file.path, phrase)) {
                problems.push(file.problem(index + 1, format!("`{phrase}` reads badly: write {instead}")));
            }
        }
    }
    problems.extend(clauses(file));
    problems
}

/// The doc comments of a Rust file that begin with a clause, each paragraph by itself.
fn clauses(file: &SourceFile) -> Vec<TidyProblem> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let doc = |line: &str| {
        ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark)).map(str::trim).unwrap_or_default().to_string()
    };
    let paragraphs: Vec<String> = file.text.lines().map(doc).collect();
    let begins = |index: usize| index == 0 || paragraphs[index - 1].is_empty();
    let is_clause = |text: &str| CLAUSES.contains(&text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default());
    let message = "a doc comment begins with a clause: name the thing (\"The output of a client\")";
    let found = paragraphs.iter().enumerate().filter(|(index, text)| begins(*index) && is_clause(text));
    found.map(|(index, _)| file.problem(index + 1, message)).collect()
}

/// The text with everything but prose blanked, line by line.
fn prose(file: &SourceFile) -> String {
    match file.path.rsplit('.').next() {
        Some("rs") => {
            let code = file.layers().code;
            file.text.chars().zip(code.chars()).map(|(c, code)| if code == ' ' || c == '\n' { c } else { ' ' }).collect()
        }
        Some("md") => file.text.clone(),
        Some("toml") if file.path.starts_with("scenarios/") => {
            let is_prose = |line: &str| line.starts_with('#') || line.starts_with("title = ");
            file.text.lines().map(|line| format!("{}\n", if is_prose(line) { line } else { "" })).collect()
        }
        _ => String::new(),
    }
}

/// The words of a line in lower case, with one blank between them; a mark that ends a clause is a word of its own.
fn words(line: &str) -> String {
    let mut out = String::new();
    for c in line.to_lowercase().chars() {
        match c {
            c if c.is_alphabetic() => out.push(c),
            '.' | ',' | ';' | ':' | '(' | ')' | '`' => out.push_str(" . "),
            _ => out.push(' '),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Checkout::from_files(&[(path, text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn each_phrase_is_found_in_strings_comments_and_pages() {
        for (phrase, _) in BANNED {
            assert_eq!(lines("src/a.rs", &format!("fn a() {{\n    b(\"x: {phrase}; y\");\n}}\n")), [2], "{phrase}");
            assert_eq!(lines("src/a.rs", &format!("/// One, {phrase}.\n")), [1], "{phrase}");
            assert_eq!(lines("docs/a.md", &format!("fine\n\nOne {phrase} two.\n")), [3], "{phrase}");
            assert_eq!(lines("scenarios/a.toml", &format!("title = \"{phrase}\"\n# {phrase}\n")), [1, 2], "{phrase}");
        }
    }

    #[test]
    fn doc_comments_begin_with_the_thing() {
        assert_eq!(lines("src/a.rs", "//! What it is.\n\n    /// Who asks.\n    a: u8,\n"), [1, 3]);
        assert_eq!(lines("src/a.rs", "/// # Errors\n///\n/// What is wrong.\nfn a() {}\n"), [3]);
        assert_eq!(
            lines("src/a.rs", "/// The text of\n/// What is not a paragraph.\n// What a plain comment says.\nconst A: &str = \"What?\";\n"),
            [0; 0]
        );
        assert_eq!(lines("docs/a.md", "What you see\n"), [0; 0]);
    }

    #[test]
    fn names_parts_of_words_and_listed_places_pass() {
        let (phrase, _) = BANNED[0];
        assert_eq!(lines("src/a.rs", &format!("fn {phrase}() {{}}\n")), [0; 0]);
        assert_eq!(lines("docs/a.md", &format!("com{phrase} and {phrase}icant\n")), [0; 0]);
        assert_eq!(lines("scenarios/a.toml", &format!("text = \"{phrase}\"\n")), [0; 0]);
        let (long, _) = BANNED.iter().find(|(phrase, _)| phrase.contains(' ')).unwrap();
        assert_eq!(lines("docs/a.md", &long.replacen(' ', "; ", 1)), [0; 0], "a phrase ends with its clause");
        assert_eq!(lines("docs/glossary.md", phrase), [0; 0]);
        assert_eq!(lines("src/engine/texts/table.rs", &format!("// {}\n", KEPT[0].1)), [0; 0]);
    }
}
