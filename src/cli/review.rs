//! `reenact review [PATH…]`: the pending snapshots, one at a time (V-3).

use std::collections::BTreeSet;
use std::io::{BufRead as _, ErrorKind, IsTerminal as _, stdin, stdout};
use std::path::PathBuf;

use console::{Key, Term, measure_text_width, truncate_str};

use super::output::{complain, print_line, print_styled, wrong_input};
use super::terminal::{columns, rows};
use super::{CommandExit, STOPPED};
use crate::files::snapshot::pending_below;
use crate::prelude::*;
use crate::review::diff_text::DiffLayout;
use crate::review::pending::{DecisionError, PendingSnapshot};
use crate::review::review_session::{ReviewChoice, ReviewDecision, ReviewSession};

#[derive(Debug, clap::Args)]
pub(super) struct ReviewArguments {
    /// Snapshots (`*.snap`), pending ones (`*.snap.new`), or folders
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// Print the changes, decide nothing
    #[arg(long)]
    list: bool,
    /// Take all of them
    #[arg(long, conflicts_with = "list")]
    accept: bool,
    /// Remove all of them
    #[arg(long, conflicts_with_all = ["list", "accept"])]
    reject: bool,
}

/// So many lines beside the head and the changes are shown.
const FRAME_LINES: usize = 5;

/// So many lines of changes are shown at least.
const LINES_MIN: usize = 5;

const KEYS: &str = "a accept  r reject  s skip  A accept the rest  u undo  b beside  w whole  q quit";

/// A key that was pressed, or a letter of a line where nobody sits at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewKey {
    Choice(ReviewChoice),
    SideBySide,
    Whole,
    Quit,
    /// Ctrl-C.
    Stop,
    Unknown(char),
}

/// How the changes of the current one are shown.
#[derive(Clone, Copy, Debug, Default)]
struct ReviewView {
    is_side_by_side: bool,
    is_whole: bool,
}

pub(super) fn run(arguments: &ReviewArguments) -> CommandExit {
    let (pending, problems) = pending_of(&arguments.paths);
    problems.iter().for_each(|problem| complain(problem));
    let exit = if problems.is_empty() { CommandExit::Fine } else { CommandExit::WrongInput };
    if pending.is_empty() {
        print_line(if problems.is_empty() { "nothing is pending" } else { "nothing else is pending" });
        return exit;
    }
    let mut session = ReviewSession::new(pending);
    let decided = match (arguments.list, arguments.accept, arguments.reject) {
        (true, ..) => list(&mut session),
        (_, true, _) => all(&mut session, ReviewChoice::Accept),
        (.., true) => all(&mut session, ReviewChoice::Reject),
        _ => ask(&mut session),
    };
    if let Err(stop) = decided {
        return exit.max(stop);
    }
    let left = session.count_of(ReviewDecision::Skipped);
    if !arguments.list {
        let [accepted, rejected] = [ReviewDecision::Accepted, ReviewDecision::Rejected].map(|decision| session.count_of(decision));
        print_line(&format!("{accepted} accepted, {rejected} rejected, {left} still pending"));
    }
    if left > 0 { exit.max(CommandExit::Failed) } else { exit }
}

/// The pending snapshots below the paths, and those that cannot be read, in words.
fn pending_of(paths: &[PathBuf]) -> (Vec<PendingSnapshot>, Vec<String>) {
    let (mut found, mut problems) = (BTreeSet::new(), Vec::new());
    for path in paths {
        let name = path.to_string_lossy();
        if path.is_dir() {
            match pending_below(path) {
                Ok(below) => found.extend(below.into_iter().map(|path| path.strip_prefix(".").map_or(path.clone(), PathBuf::from))),
                Err(error) => problems.push(format!("{name}: {error}; check the folder's permissions")),
            }
        } else if let Some(snapshot) = name.strip_suffix(".new").or(Some(&name)).filter(|name| name.ends_with(".snap")) {
            found.insert(PathBuf::from(snapshot));
        } else {
            problems.push(format!("{name}: no such folder, and no snapshot; a pending snapshot is a file `*.snap.new`"));
        }
    }
    let mut pending = Vec::new();
    for path in found {
        match PendingSnapshot::read(&path) {
            Ok(read) => pending.push(read),
            Err(error) => problems.push(error.to_string()),
        }
    }
    (pending, problems)
}

fn list(session: &mut ReviewSession) -> Result<(), CommandExit> {
    while session.current().is_some() {
        show(session, ReviewView { is_whole: true, ..ReviewView::default() });
        choose(session, ReviewChoice::Skip)?;
    }
    Ok(())
}

/// The same choice for all of them.
fn all(session: &mut ReviewSession, choice: ReviewChoice) -> Result<(), CommandExit> {
    while let Some((_, pending)) = session.current() {
        let path = pending.path.display().to_string();
        choose(session, choice)?;
        print_line(&format!("{} {path}", if choice == ReviewChoice::Accept { "accepted" } else { "rejected" }));
    }
    Ok(())
}

/// Shows one after the other and does what the keys say.
fn ask(session: &mut ReviewSession) -> Result<(), CommandExit> {
    let terminal = Some(Term::stdout()).filter(|_| stdin().is_terminal() && stdout().is_terminal());
    let mut line = Vec::new();
    let (mut view, mut is_shown) = (ReviewView::default(), false);
    while session.current().is_some() || takes_back(terminal.as_ref(), session, &mut line)? {
        if !is_shown {
            if let Some(terminal) = &terminal {
                let _ = terminal.clear_screen(); // a terminal that cannot do it scrolls
            }
            show(session, view);
            print_line(KEYS);
        }
        is_shown = false;
        match next_key(terminal.as_ref(), &mut line) {
            ReviewKey::Choice(choice) => {
                view = ReviewView::default();
                choose(session, choice)?;
            }
            ReviewKey::SideBySide => view.is_side_by_side = !view.is_side_by_side,
            ReviewKey::Whole => view.is_whole = !view.is_whole,
            ReviewKey::Quit => return Ok(()),
            ReviewKey::Stop => std::process::exit(STOPPED.into()),
            ReviewKey::Unknown(key) => {
                print_line(&format!("`{}` is no choice: {KEYS}", key.escape_debug()));
                is_shown = true;
            }
        }
    }
    Ok(())
}

/// All are decided: whether the last decision is taken back. Where there is no terminal the end of the list is the end.
fn takes_back(terminal: Option<&Term>, session: &mut ReviewSession, line: &mut Vec<char>) -> Result<bool, CommandExit> {
    if terminal.is_none() || session.count() == 0 {
        return Ok(false);
    }
    print_line("that was the last one; `u` takes the last decision back, any other key ends");
    match next_key(terminal, line) {
        ReviewKey::Choice(ReviewChoice::Undo) => {
            choose(session, ReviewChoice::Undo)?;
            Ok(session.current().is_some())
        }
        ReviewKey::Stop => std::process::exit(STOPPED.into()),
        _ => Ok(false),
    }
}

/// Does what was chosen. A file that is another one now is shown again; one that cannot be written ends the review.
fn choose(session: &mut ReviewSession, choice: ReviewChoice) -> Result<(), CommandExit> {
    match session.choose(choice) {
        Ok(()) => Ok(()),
        Err(error @ DecisionError::OtherFile(_)) => {
            complain(&error.to_string());
            Ok(())
        }
        Err(error) => Err(wrong_input(&error.to_string())),
    }
}

fn show(session: &ReviewSession, view: ReviewView) {
    let Some((number, pending)) = session.current() else { return };
    let layout = if view.is_side_by_side { DiffLayout::SideBySide(columns()) } else { DiffLayout::Unified };
    let changes = pending.changes(layout);
    let mut head = vec![format!("{number} of {}  {}", session.count(), pending.path.display())];
    head.extend(pending.title().into_iter().chain(pending.source()).map(|line| format!("  {}", super::output::one_line(&line))));
    head.push(format!("  {}", changes.summary));
    print_line(&head.join("\n"));
    print_line("");
    let lines: Vec<&str> = changes.text.lines().collect();
    let width = columns().max(1);
    let frame = head.iter().map(|line| rows_of(line, width)).sum::<usize>() + FRAME_LINES;
    let room = if view.is_whole { usize::MAX } else { rows().saturating_sub(frame).max(LINES_MIN) };
    let mut left = room;
    let fitting = lines.iter().take_while(|line| {
        let rows = rows_of(line, width);
        let fits = rows <= left;
        left = left.saturating_sub(rows);
        fits
    });
    let mut shown: Vec<Cow<'_, str>> = fitting.map(|line| Cow::from(*line)).collect();
    let is_cut = shown.is_empty() && !lines.is_empty();
    if is_cut {
        // The first line alone is longer than the screen.
        shown.push(truncate_str(lines[0], room * width - 1, "…"));
    }
    if !shown.is_empty() {
        print_styled(&shown.join("\n"));
    }
    if shown.len() < lines.len() {
        print_line(&format!("… {} more; `w` shows them", plural((lines.len() - shown.len()) as u64, "line")));
    } else if is_cut {
        print_line("… `w` shows the whole line");
    }
    print_line("");
}

/// How many rows of a terminal of this width a line takes.
fn rows_of(line: &str, width: usize) -> usize {
    measure_text_width(line).div_ceil(width).max(1)
}

/// The next key, or the next letter of the lines of standard input; its end is a quit.
fn next_key(terminal: Option<&Term>, line: &mut Vec<char>) -> ReviewKey {
    let letter = match terminal {
        Some(terminal) => match terminal.read_key() {
            // Ctrl-D ends the input.
            Ok(Key::Escape | Key::Char('\u{4}')) => 'q',
            Ok(Key::Char(letter)) => letter,
            Ok(Key::CtrlC) => return ReviewKey::Stop,
            Ok(_) => '?',
            Err(error) if error.kind() == ErrorKind::Interrupted => return ReviewKey::Stop,
            Err(_) => return ReviewKey::Quit,
        },
        None => loop {
            if let Some(letter) = line.pop() {
                break letter;
            }
            let mut text = String::new();
            match stdin().lock().read_line(&mut text) {
                Ok(1..) => line.extend(text.trim().chars().rev()),
                _ => return ReviewKey::Quit,
            }
        },
    };
    match letter {
        'a' => ReviewKey::Choice(ReviewChoice::Accept),
        'r' => ReviewKey::Choice(ReviewChoice::Reject),
        's' => ReviewKey::Choice(ReviewChoice::Skip),
        'A' => ReviewKey::Choice(ReviewChoice::AcceptAll),
        'u' => ReviewKey::Choice(ReviewChoice::Undo),
        'b' => ReviewKey::SideBySide,
        'w' => ReviewKey::Whole,
        'q' => ReviewKey::Quit,
        other => ReviewKey::Unknown(other),
    }
}
