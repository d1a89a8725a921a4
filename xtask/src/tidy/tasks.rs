//! Rooms that wait for several things at once do so in a written order, and lose no task's panic (M-11).
//!
//! `select!` without `biased;` begins at a drawn branch, which differs in every process. A task that is never joined takes its panic with it;
//! a `JoinSet` hands it to its owner. Test modules are free.

use super::lexer::{self, Token};
use super::{Checkout, SourceFile, TidyProblem};

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    checkout.rust_files().filter(|file| file.room().is_some()).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyProblem> {
    let (tokens, _) = lexer::without_tests(&lexer::tokens(&file.layers().code));
    let found = (0..tokens.len()).filter_map(|at| Some((at, problem(&tokens, at)?)));
    found.map(|(at, message)| file.problem(tokens[at].line, message.to_string())).collect()
}

/// The mistake at the token `at`, if there is one.
fn problem(tokens: &[Token], at: usize) -> Option<&'static str> {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    if text(at) == "select" && text(at + 1) == "!" && text(at + 3) != "biased" {
        return Some(
            "`select!` without `biased;` begins at a drawn branch: write `biased;` and the branches in the order in which they count",
        );
    }
    let is_tokios = matches!(at.checked_sub(2).map(text), Some("tokio" | "task"));
    match text(at) {
        "spawn" | "spawn_local" if is_tokios && text(at.wrapping_sub(1)) == "::" => {
            Some("a task that is never joined loses its panic: spawn it in a `JoinSet` and check the results")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(code: &str) -> usize {
        check(&Checkout::from_files(&[("src/live/x.rs", code)])).len()
    }

    #[test]
    fn m_11_drawn_branches_and_lost_tasks_are_found() {
        assert_eq!(problems("fn f() { tokio::select! { biased; _ = a => (), _ = b => () } }"), 0);
        assert_eq!(problems("fn f() { tokio::select! { _ = a => (), _ = b => () } }"), 1);
        assert_eq!(problems("fn f() { tokio::spawn(a); }"), 1);
        assert_eq!(problems("fn f() { tokio::task::spawn_local(a); }"), 1);
        assert_eq!(problems("fn f() { tasks.spawn(a); scope.spawn(b); }"), 0);
        assert_eq!(problems("#[cfg(test)]\nmod tests { fn f() { tokio::spawn(a); } }"), 0);
    }
}
