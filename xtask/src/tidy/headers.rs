//! Every file says what it is for, and files and functions stay short enough to be read at once.
//!
//! A file or a function that has a reason to be longer (it is as long as its table of cases) is listed here with that reason.

use super::checkout::SourceFile;
use super::lexer::{self, Token};
use super::{Checkout, TidyProblem};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// Files that may be longer: path, reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Functions that may be longer: path, name, reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let mut problems: Vec<TidyProblem> = checkout.rust_files().flat_map(check_file).collect();
    problems.extend(stale_entries(checkout));
    problems
}

fn check_file(file: &SourceFile) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    if !file.text.starts_with("//!") {
        problems.push(file.problem(1, "begins without `//!`: write a header with the purpose of the file"));
    }
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX && !LONG_FILES.iter().any(|(path, _)| *path == file.path) {
        problems.push(file.problem(FILE_LINES_MAX + 1, format!("has {lines} lines, more than {FILE_LINES_MAX}: split it by concept")));
    }
    for (name, line, lines) in functions(&lexer::tokens(&file.layers().code)) {
        let is_listed = LONG_FUNCTIONS.iter().any(|(path, function, _)| *path == file.path && *function == name);
        if lines > FUNCTION_LINES_MAX && !is_listed {
            problems.push(file.problem(line, format!("`{name}` has {lines} lines, more than {FUNCTION_LINES_MAX}: split it by step")));
        }
    }
    problems
}

/// Entries of the two tables whose file is gone: a table that lies is worse than none.
fn stale_entries(checkout: &Checkout) -> Vec<TidyProblem> {
    let listed = LONG_FILES.iter().map(|(path, _)| *path).chain(LONG_FUNCTIONS.iter().map(|(path, _, _)| *path));
    let stale = listed.filter(|path| checkout.file("xtask/Cargo.toml").is_some() && checkout.file(path).is_none());
    let message = "is listed in xtask/src/tidy/headers.rs but does not exist: remove the entry";
    stale.map(|path| TidyProblem { path: path.to_string(), line: 1, message: message.to_string() }).collect()
}

/// Every function with a body: its name, the line of its `fn`, and how many lines it takes.
fn functions(tokens: &[Token]) -> Vec<(String, usize, usize)> {
    let mut functions = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_item = token.text == "fn" && tokens.get(at + 1).is_some_and(|next| next.text != "(");
        if !is_item {
            continue;
        }
        let Some(open) = body(tokens, at + 1) else { continue };
        let end = lexer::behind_closing(tokens, open);
        functions.push((tokens[at + 1].text.clone(), token.line, tokens[end - 1].line - token.line + 1));
    }
    functions
}

/// The brace that opens the body of the function whose signature begins at `at`; none for a declaration without one.
fn body(tokens: &[Token], mut at: usize) -> Option<usize> {
    loop {
        match tokens.get(at)?.text.as_str() {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = lexer::behind_closing(tokens, at),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        check(&Checkout::from_files(&[("src/wire.rs", text)])).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_file_without_a_header_is_found() {
        assert!(messages("use core::fmt;\n")[0].contains("begins without"));
        assert!(messages("// a comment\n")[0].contains("begins without"));
        assert_eq!(messages("//! A file.\n"), [""; 0]);
    }

    #[test]
    fn a_long_file_is_found() {
        let lines = |count: usize| format!("//! A file.\n{}", "// one more\n".repeat(count - 1));
        assert_eq!(messages(&lines(FILE_LINES_MAX)), [""; 0]);
        assert!(messages(&lines(FILE_LINES_MAX + 1))[0].contains("has 501 lines"));
    }

    #[test]
    fn a_long_function_is_found() {
        let function = |lines: usize| format!("//! A file.\nfn f(a: [u8; 2]) -> u8 {{\n{}}}\nfn g() {{}}\n", "    a;\n".repeat(lines - 2));
        assert_eq!(messages(&function(FUNCTION_LINES_MAX)), [""; 0]);
        assert!(messages(&function(FUNCTION_LINES_MAX + 1))[0].contains("`f` has 71 lines"));
    }

    #[test]
    fn declarations_and_function_pointers_are_not_functions() {
        let names = functions(&lexer::tokens("trait A { fn a(&self); fn b(&self) {} } const F: fn(u8) -> u8 = c;"));
        assert_eq!(names.into_iter().map(|(name, _, _)| name).collect::<Vec<_>>(), ["b"]);
    }
}
