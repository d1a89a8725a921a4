//! The programs that are interpreted over files in memory. What they print is what GNU's print.

use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

use super::program_end::{ProgramEnd, located, system_text};
use super::transfers::{copy, rename};
use super::{VirtualEntry, VirtualWorkspace, name, parent};
use crate::workspace::{FileProblem, Workspace, normal_path};

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Program {
    Cat(Vec<String>),
    Copy { is_recursive: bool, from: Vec<String>, to: String },
    Echo { text: String, has_line_end: bool },
    Exit(Option<i32>),
    Fail,
    Head { lines: usize, files: Vec<String> },
    List { shows_hidden: bool, shows_itself: bool, paths: Vec<String> },
    MakeFolder { makes_parents: bool, paths: Vec<String> },
    Move { from: Vec<String>, to: String },
    Nothing,
    Remove { is_recursive: bool, is_forced: bool, paths: Vec<String> },
    Sleep(Micros),
    Tail { lines: TailLines, files: Vec<String> },
    Touch(Vec<String>),
    WorkingDirectory,
    Count { lines: bool, words: bool, bytes: bool, files: Vec<String> },
}

/// The lines that `tail` shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TailLines {
    Last(usize),
    /// From this line on, from 1.
    From(usize),
}

/// Arguments apart into letters of options and the rest.
struct Arguments {
    letters: Vec<char>,
    rest: Vec<String>,
}

impl Arguments {
    /// Options are letters of `known`; any other one is not interpreted.
    fn parse(program: &str, words: &[String], known: &str) -> Result<Self, String> {
        let mut arguments = Self { letters: Vec::new(), rest: Vec::new() };
        let mut are_over = false;
        for word in words {
            match word.strip_prefix('-').filter(|letters| !are_over && !letters.is_empty()) {
                Some("-") => are_over = true,
                Some(letters) if letters.chars().all(|letter| known.contains(letter)) => arguments.letters.extend(letters.chars()),
                Some(_) => return Err(format!("`{program} {word}`")),
                None if word == "-" => return Err(format!("`{program} -`")),
                None => arguments.rest.push(word.clone()),
            }
        }
        Ok(arguments)
    }

    fn has(&self, letter: char) -> bool {
        self.letters.contains(&letter)
    }

    /// At least so many words that are no options.
    fn at_least(self, program: &str, count: usize) -> Result<Self, String> {
        if self.rest.len() < count { Err(format!("`{program}` with so few arguments")) } else { Ok(self) }
    }

    /// Sources and a target.
    fn sources_and_target(self, program: &str) -> Result<(Vec<String>, String), String> {
        let mut from = self.at_least(program, 2)?.rest;
        let to = from.pop().unwrap_or_default();
        Ok((from, to))
    }
}

impl Program {
    /// The program that these words start.
    ///
    /// # Errors
    /// The part that is not interpreted.
    pub(super) fn from_words(words: &[String]) -> Result<Self, String> {
        let Some((program, rest)) = words.split_first() else { return Ok(Self::Nothing) };
        let program = program.as_str();
        let arguments = |known: &str| Arguments::parse(program, rest, known);
        Ok(match program {
            "true" | ":" => Self::Nothing,
            "false" => Self::Fail,
            "pwd" => {
                arguments("")?;
                Self::WorkingDirectory
            }
            "echo" => echo(rest)?,
            "exit" if rest.len() <= 1 => {
                let code = rest.first().map(|code| code.parse::<u8>().map_err(|_| format!("`exit {code}`"))).transpose()?;
                Self::Exit(code.map(i32::from))
            }
            "sleep" if rest.is_empty() => return Err(String::from("`sleep` with so few arguments")),
            "sleep" => Self::Sleep(rest.iter().try_fold(Micros::ZERO, |sum, word| Ok::<_, String>(Micros(sum.0 + span(word)?.0)))?),
            "cat" => Self::Cat(arguments("")?.at_least(program, 1)?.rest),
            "touch" => Self::Touch(arguments("")?.at_least(program, 1)?.rest),
            "ls" => listing(arguments("1aA")?),
            "mkdir" => {
                let arguments = arguments("p")?.at_least(program, 1)?;
                Self::MakeFolder { makes_parents: arguments.has('p'), paths: arguments.rest }
            }
            "rm" => {
                let arguments = arguments("rRf")?;
                let arguments = if arguments.has('f') { arguments } else { arguments.at_least(program, 1)? };
                Self::Remove {
                    is_recursive: arguments.has('r') || arguments.has('R'),
                    is_forced: arguments.has('f'),
                    paths: arguments.rest,
                }
            }
            "cp" => {
                let arguments = arguments("rRf")?;
                let is_recursive = arguments.has('r') || arguments.has('R');
                let (from, to) = arguments.sources_and_target(program)?;
                Self::Copy { is_recursive, from, to }
            }
            "mv" => {
                let (from, to) = arguments("f")?.sources_and_target(program)?;
                Self::Move { from, to }
            }
            "head" => head(rest)?,
            "tail" => tail(rest)?,
            "wc" => {
                let arguments = arguments("lwc")?.at_least(program, 1)?;
                let all = arguments.letters.is_empty();
                let [lines, words, bytes] = ['l', 'w', 'c'].map(|letter| all || arguments.has(letter));
                Self::Count { lines, words, bytes, files: arguments.rest }
            }
            _ => return Err(format!("`{program}`")),
        })
    }

    /// The files that it reads.
    pub(super) fn sources(&self) -> &[String] {
        match self {
            Self::Cat(files) | Self::Head { files, .. } | Self::Tail { files, .. } | Self::Count { files, .. } => files,
            _ => &[],
        }
    }

    /// Runs it.
    pub(super) fn run(&self, workspace: &mut VirtualWorkspace) -> ProgramEnd {
        let mut end = ProgramEnd::default();
        match self {
            Self::Nothing | Self::Sleep(_) => (),
            Self::Fail => end.code = 1,
            Self::Exit(code) => end.code = code.unwrap_or_default(),
            Self::Echo { text, has_line_end } => end.output = format!("{text}{}", if *has_line_end { "\n" } else { "" }),
            Self::WorkingDirectory => end.output = format!("{}\n", workspace.working_directory()),
            Self::Cat(files) => cat(workspace, files, &mut end),
            Self::List { shows_hidden, shows_itself, paths } => list(workspace, paths, (*shows_hidden, *shows_itself), &mut end),
            Self::MakeFolder { makes_parents, paths } => {
                paths.iter().for_each(|path| make_folder(workspace, path, *makes_parents, &mut end))
            }
            Self::Touch(paths) => paths.iter().for_each(|path| touch(workspace, path, &mut end)),
            Self::Remove { is_recursive, is_forced, paths } => {
                paths.iter().for_each(|path| remove(workspace, path, *is_recursive, *is_forced, &mut end));
            }
            Self::Copy { from, to, .. } | Self::Move { from, to }
                if from.len() > 1 && !located(workspace, to).is_ok_and(|path| workspace.is_folder(&path)) =>
            {
                let program = if matches!(self, Self::Copy { .. }) { "cp" } else { "mv" };
                let problem = located(workspace, to)
                    .and_then(|path| workspace.entry(&path).map(|_| FileProblem::NotFolder))
                    .unwrap_or_else(|problem| problem);
                end.fail(1, &format!("{program}: target '{to}': {}", system_text(&problem)));
            }
            Self::Copy { is_recursive, from, to } => from.iter().for_each(|from| copy(workspace, from, to, *is_recursive, &mut end)),
            Self::Move { from, to } => from.iter().for_each(|from| rename(workspace, from, to, &mut end)),
            Self::Head { lines, files } => shown_parts(workspace, "head", files, &mut end, |text| first_lines(text, *lines)),
            Self::Tail { lines, files } => shown_parts(workspace, "tail", files, &mut end, |text| last_lines(text, *lines)),
            Self::Count { lines, words, bytes, files } => count(workspace, files, [*lines, *words, *bytes], &mut end),
        }
        end
    }
}

fn listing(arguments: Arguments) -> Program {
    let Arguments { letters, rest: paths } = arguments;
    let shows_hidden = letters.contains(&'a') || letters.contains(&'A');
    // Of the two the last one counts.
    let shows_itself = letters.iter().rfind(|letter| **letter != '1') == Some(&'a');
    Program::List { shows_hidden, shows_itself, paths }
}

fn head(words: &[String]) -> Result<Program, String> {
    let (count, files) = line_count("head", words)?;
    let lines = count.map_or(Ok(10), |count| count.parse().map_err(|_| format!("`head -n {count}`")))?;
    Ok(Program::Head { lines, files })
}

fn tail(words: &[String]) -> Result<Program, String> {
    let (count, files) = line_count("tail", words)?;
    let lines = match count.as_deref() {
        None => Some(TailLines::Last(10)),
        Some(count) => match count.strip_prefix('+') {
            Some(from) => from.parse().ok().map(TailLines::From),
            None => count.parse().ok().map(TailLines::Last),
        },
    };
    Ok(Program::Tail { lines: lines.ok_or("`tail` with this count")?, files })
}

/// `echo`, where all shells agree about it.
fn echo(words: &[String]) -> Result<Program, String> {
    let (has_line_end, words) = match words {
        [first, rest @ ..] if first == "-n" => (false, rest),
        _ => (true, words),
    };
    let text = words.join(" ");
    let is_option =
        words.first().is_some_and(|word| word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|letter| "neE".contains(letter)));
    if text.contains('\\') || is_option {
        return Err(String::from("`echo` with what shells print in different ways"));
    }
    Ok(Program::Echo { text, has_line_end })
}

fn span(word: &str) -> Result<Micros, String> {
    let (number, factor) = match word.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (
            number,
            if word.ends_with('m') {
                60.0
            } else if word.ends_with('h') {
                3_600.0
            } else {
                1.0
            },
        ),
        None => (word, 1.0),
    };
    let seconds = number.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && (0.0..1e9).contains(seconds));
    // Whole microseconds: the multiplication gives the same everywhere.
    seconds.map(|seconds| Micros((seconds * factor * 1e6) as u64)).ok_or_else(|| format!("`sleep {word}`"))
}

/// The count of `-n 5` or `-5`, and the files.
fn line_count(program: &str, words: &[String]) -> Result<(Option<String>, Vec<String>), String> {
    let (count, files) = match words {
        [first, count, rest @ ..] if first == "-n" => (Some(count.clone()), rest),
        [first, rest @ ..] if first.starts_with('-') => {
            let count = first.strip_prefix("-n").or_else(|| first.strip_prefix('-')).unwrap_or_default();
            (Some(count.to_owned()), rest)
        }
        rest => (None, rest),
    };
    let is_count = count.as_ref().is_none_or(|count| {
        let figures = count.strip_prefix('+').filter(|_| program == "tail").unwrap_or(count);
        !figures.is_empty() && figures.bytes().all(|byte| byte.is_ascii_digit())
    });
    // `tail -2` is an old form, for a single file.
    let is_old_form = program == "tail" && words.first().is_some_and(|word| word.starts_with('-') && !word.starts_with("-n"));
    if !is_count || files.is_empty() || (is_old_form && files.len() > 1) || files.iter().any(|file| file.starts_with('-')) {
        return Err(format!("`{program}` with these arguments"));
    }
    Ok((count, files.to_vec()))
}

fn text(workspace: &VirtualWorkspace, path: &str) -> Result<String, FileProblem> {
    let path = located(workspace, path)?;
    let file = workspace.file(&path)?;
    workspace.check_readable(&path)?;
    Ok(String::from_utf8_lossy(&file.content).into_owned())
}

fn cat(workspace: &VirtualWorkspace, files: &[String], end: &mut ProgramEnd) {
    for file in files {
        match text(workspace, file) {
            Ok(text) => end.output.push_str(&text),
            Err(problem) => {
                let shown = if file.is_empty() { "''" } else { file };
                end.fail(1, &format!("cat: {shown}: {}", system_text(&problem)));
            }
        }
    }
}

fn list(workspace: &VirtualWorkspace, paths: &[String], (shows_hidden, shows_itself): (bool, bool), end: &mut ProgramEnd) {
    let here = [String::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for path in paths {
        let found = located(workspace, path).and_then(|absolute| Ok((workspace.facts(&absolute)?, absolute)));
        match found {
            Ok((facts, absolute)) if facts.is_folder => folders.push((path, absolute)),
            Ok(_) => files.push(format!("{path}\n")),
            Err(problem) => end.fail(2, &format!("ls: cannot access '{path}': {}", system_text(&problem))),
        }
    }
    files.sort();
    folders.sort();
    end.output.extend(files);
    for (path, folder) in folders {
        if let Err(problem) = workspace.check_readable(&folder) {
            end.fail(2, &format!("ls: cannot open directory '{path}': {}", system_text(&problem)));
            continue;
        }
        if paths.len() > 1 {
            let gap = if end.output.is_empty() { "" } else { "\n" };
            end.output.push_str(&format!("{gap}{path}:\n"));
        }
        let itself = [".", ".."].into_iter().filter(|_| shows_itself);
        let names =
            itself.chain(workspace.children(&folder).map(|(path, _)| name(path))).filter(|name| shows_hidden || !name.starts_with('.'));
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        end.output.extend(names.into_iter().map(|name| format!("{name}\n")));
    }
}

fn make_folder(workspace: &mut VirtualWorkspace, shown: &str, makes_parents: bool, end: &mut ProgramEnd) {
    let path = normal_path(workspace.working_directory(), shown);
    let (blocking, problem) = if workspace.is_folder(&path) {
        (shown, if makes_parents { None } else { Some(String::from("File exists")) })
    } else if workspace.entries.contains_key(&*path) {
        (shown, Some(String::from("File exists")))
    } else if !makes_parents && !workspace.is_folder(parent(&path)) {
        (shown, Some(system_text(&workspace.entry(parent(&path)).map_or_else(|problem| problem, |_| FileProblem::NotFolder))))
    } else if let Some(file) = file_above(workspace, &path, shown) {
        (file, Some(system_text(&FileProblem::NotFolder)))
    } else {
        let result = workspace.check_writable(&path).map(|()| workspace.make_folders(&path));
        (shown, result.err().map(|problem| system_text(&problem)))
    };
    if let Some(problem) = problem {
        end.fail(1, &format!("mkdir: cannot create directory '{blocking}': {problem}"));
    }
}

/// The part of the path as it is written that leads to a file, where a folder should be.
fn file_above<'a>(workspace: &VirtualWorkspace, path: &str, shown: &'a str) -> Option<&'a str> {
    let (mut path, mut shown) = (parent(path), shown.rsplit_once('/')?.0);
    while path != "/" {
        if workspace.entries.contains_key(path) {
            return (!workspace.is_folder(path)).then_some(shown);
        }
        (path, shown) = (parent(path), shown.rsplit_once('/')?.0);
    }
    None
}

fn touch(workspace: &mut VirtualWorkspace, shown: &str, end: &mut ProgramEnd) {
    let result = located(workspace, shown).and_then(|path| match workspace.entry(&path).cloned() {
        Ok(VirtualEntry::File(file)) => workspace.check_writable(&path).map(|()| workspace.put(&path, &file.content)),
        Ok(VirtualEntry::Folder) => Ok(()),
        Err(FileProblem::Missing) if !workspace.is_folder(parent(&path)) => Err(FileProblem::Missing),
        Err(FileProblem::Missing) => workspace.check_writable(&path).map(|()| workspace.put(&path, b"")),
        Err(problem) => Err(problem),
    });
    if let Err(problem) = result {
        // A slash behind a file is found out later than a folder that is not there.
        let is_file = shown.ends_with('/') && workspace.file(&normal_path(workspace.working_directory(), shown)).is_ok();
        let what = if is_file { "setting times of" } else { "cannot touch" };
        end.fail(1, &format!("touch: {what} '{shown}': {}", system_text(&problem)));
    }
}

fn remove(workspace: &mut VirtualWorkspace, shown: &str, is_recursive: bool, is_forced: bool, end: &mut ProgramEnd) {
    let is_dots = matches!(shown.trim_end_matches('/').rsplit('/').next(), Some("." | ".."));
    if is_recursive && is_dots {
        return end.fail(1, &format!("rm: refusing to remove '.' or '..' directory: skipping '{shown}'"));
    }
    if is_recursive && !shown.is_empty() && shown.bytes().all(|byte| byte == b'/') {
        let text = "rm: it is dangerous to operate recursively on '/'\nrm: use --no-preserve-root to override this failsafe";
        return end.fail(1, text);
    }
    let path = located(workspace, shown);
    let entry = path.as_ref().map_err(Clone::clone).and_then(|path| workspace.entry(path));
    let problem = match entry {
        Err(FileProblem::Missing | FileProblem::NotFolder) if is_forced => return,
        Err(problem) => system_text(&problem),
        Ok(VirtualEntry::Folder) if !is_recursive => system_text(&FileProblem::IsFolder),
        Ok(_) => {
            let path = path.unwrap_or_default();
            match workspace.check_readable(&path) {
                Ok(()) => return workspace.displace(&path),
                Err(problem) => system_text(&problem),
            }
        }
    };
    end.fail(1, &format!("rm: cannot remove '{shown}': {problem}"));
}

fn first_lines(text: &str, count: usize) -> &str {
    let end = text.split_inclusive('\n').take(count).map(str::len).sum();
    &text[..end]
}

fn last_lines(text: &str, lines: TailLines) -> &str {
    let all = text.split_inclusive('\n').count();
    let skipped = match lines {
        TailLines::Last(count) => all.saturating_sub(count),
        TailLines::From(line) => line.saturating_sub(1),
    };
    let begin: usize = text.split_inclusive('\n').take(skipped).map(str::len).sum();
    &text[begin..]
}

fn shown_parts(workspace: &VirtualWorkspace, program: &str, files: &[String], end: &mut ProgramEnd, part: impl Fn(&str) -> &str) {
    for file in files {
        let (text, is_folder) = match text(workspace, file) {
            Ok(text) => (text, false),
            // A folder can be opened, and not read.
            Err(FileProblem::IsFolder) => (String::new(), true),
            Err(problem) => {
                end.fail(1, &format!("{program}: cannot open '{file}' for reading: {}", system_text(&problem)));
                continue;
            }
        };
        if files.len() > 1 {
            let gap = if end.output.is_empty() { "" } else { "\n" };
            end.output.push_str(&format!("{gap}==> {file} <==\n"));
        }
        if is_folder {
            end.fail(1, &format!("{program}: error reading '{file}': Is a directory"));
        }
        end.output.push_str(part(&text));
    }
}

fn count(workspace: &VirtualWorkspace, files: &[String], shown: [bool; 3], end: &mut ProgramEnd) {
    let mut rows: Vec<([usize; 3], &str)> = Vec::new();
    let (mut total, mut size, mut has_folder) = ([0; 3], 0, false);
    for file in files {
        let text = match text(workspace, file) {
            Ok(text) => text,
            Err(problem) => {
                end.fail(1, &format!("wc: {file}: {}", system_text(&problem)));
                if problem != FileProblem::IsFolder {
                    continue;
                }
                has_folder = true;
                String::new()
            }
        };
        let counts = [text.matches('\n').count(), text.split_ascii_whitespace().count(), text.len()];
        size += text.len();
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        rows.push((counts, file));
    }
    if files.len() > 1 {
        rows.push((total, "total"));
    }
    // As wide as the number of all bytes; a folder has no size that is known before.
    let is_single = files.len() == 1 && shown.iter().filter(|shown| **shown).count() == 1;
    let width = if is_single { 1 } else { size.to_string().len().max(if has_folder { 7 } else { 1 }) };
    for (counts, file) in rows {
        let figures: Vec<String> =
            counts.iter().zip(shown).filter(|(_, shown)| *shown).map(|(count, _)| format!("{count:>width$}")).collect();
        end.output.push_str(&format!("{} {file}\n", figures.join(" ")));
    }
}
