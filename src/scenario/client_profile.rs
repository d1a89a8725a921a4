//! Profiles of real clients: how one is started and resumed, where it keeps its session, and how its output and its exit codes are read (K-7, K-9).
//!
//! A profile is a file of the same language as a scenario, read by the same reader, or the section `[client]` of a scenario. What it leaves out is not
//! judged. In commands, variables and files stand `{base_url}`, `{base_url_v1}`, `{home}`, `{work}`, `{tmp}`, `{session}` and `{prompt}`.

use crate::language::forms::{Readable, TextTable, word_forms};
use crate::language::keys::keys;
use crate::language::tables::{Section, Sections};
use crate::parse::nearest::nearest;
use crate::parse::reader::TableReader;
use crate::parse::{Diagnostics, data_file};
use reenact_engine::budget::Date;
use reenact_wire::prelude::*;

keys! {
    /// `[client]`: a profile of the client that is driven (K-7). Keys that are left out are not judged.
    #[derive(Eq)]
    pub struct ClientProfile check check_names {
        /// The name of the client.
        name: Arc<str> = Arc::default(), required, not_blank("give the client a name"), example("\"my-agent\"");
        /// The version that the profile was checked with.
        version: Option<Arc<str>> = None, example("\"1.2.3\"");
        /// The day on which it was checked.
        date: Option<Date> as Option<Readable<Date>> = None;
        /// Remarks on the client and on this profile.
        about: Option<Arc<str>> = None;
        /// The command that starts it, a word each.
        start: Vec<String> = Vec::new(), example("[\"my-agent\", \"-p\", \"{prompt}\"]");
        /// The command that resumes its session.
        resume: Vec<String> = Vec::new(), example("[\"my-agent\", \"--resume\", \"{session}\", \"-p\", \"{prompt}\"]");
        /// Variables of its environment.
        env: Vec<(String, String)> as TextTable = Vec::new(), example("{ MY_API_URL = \"{base_url_v1}\" }");
        /// Whether it needs a terminal.
        terminal: bool = false;
        /// The names of processes that may outlive it.
        may_stay: Vec<String> = Vec::new(), example("[\"my-daemon\"]");
        /// Where the id of its session is.
        session: Option<SessionPlace> as Option<Section<SessionPlace>> = None, example("{ member = \"session_id\" }");
        /// Where it stores its session.
        store: Option<StorePlace> as Option<Section<StorePlace>> = None, example("{ files = \"{home}/.my-agent/*.jsonl\", format = \"claude-code\" }");
        /// How its output is read.
        output: OutputPlaces as Section<OutputPlaces> = OutputPlaces::default();
        /// The meaning of its exit codes.
        exit: ExitCodes as Section<ExitCodes> = ExitCodes::default();
        /// Files that are put in place before it starts.
        files: Vec<ProfileFile> as Sections<ProfileFile> = Vec::new(), key("file"), example("[{ path = \"{home}/.my-agent.json\", text = \"{}\" }]");
    }
}

keys! {
    /// A file that is put in place before a client starts.
    #[derive(Eq)]
    pub struct ProfileFile {
        /// Where it is.
        path: Arc<str> = Arc::default(), required, not_blank("say where the file is"), example("\"{home}/.my-agent.json\""), checked(problem_with_path);
        /// The content of the file.
        text: Arc<str> = Arc::default();
    }
}

keys! {
    /// Where the id of a client's session is: in its output, or in the name of a file. Either `member` or `files` is needed.
    #[derive(Eq)]
    pub struct SessionPlace check check_session {
        /// The member of a JSON line of the output that holds it; the first line that has one counts.
        member: Option<Arc<str>> = None, example("\"session_id\"");
        /// Files: the last `*` of their path stands for the id. The newest file counts.
        files: Option<Arc<str>> = None, example("\"{home}/.my-agent/sessions/*.jsonl\"");
    }
}

keys! {
    /// Where a client stores its session, and how.
    #[derive(Eq)]
    pub struct StorePlace {
        /// The files; `*` stands for any text without a slash.
        files: Arc<str> = Arc::default(), required, not_blank("say where the files are"), example("\"{home}/.my-agent/sessions/*.jsonl\"");
        /// The name of the format.
        format: Arc<str> = Arc::default(), required, not_blank("name the format"), example("\"claude-code\"");
    }
}

keys! {
    /// How the output of a client is read.
    #[derive(Eq)]
    pub struct OutputPlaces {
        /// A JSON line with these members, and these values, is the result of a run.
        result: Vec<(String, String)> as TextTable = Vec::new(), example("{ type = \"result\" }");
        /// The signals after which it prints no result.
        no_result_after: Vec<ClientSignal> = Vec::new(), example("[\"SIGTERM\"]");
        /// Where the texts of the model are.
        text: Option<OutputTextPlace> as Option<Section<OutputTextPlace>> = None;
    }
}

keys! {
    /// Where the texts of the model are in the output of a client.
    #[derive(Eq)]
    pub struct OutputTextPlace check check_text {
        /// Only JSON lines with these members, and these values, hold text. Without lines and without `at` the whole output is text.
        lines: Vec<(String, String)> as TextTable = Vec::new(), example("{ type = \"assistant\" }");
        /// The path to the text in a line: members with dots between them, `[]` for each entry of an array.
        at: Option<Arc<str>> = None, example("\"message.content[].text\"");
        /// Which answers' texts are printed.
        of: PrintedAnswers = PrintedAnswers::All;
        /// Whether the text is printed that came in an attempt which failed, when another attempt is made. Without this it is not judged.
        failed_attempts: Option<FailedAttempts> = None, example("\"hidden\"");
    }
}

words! {
    /// A signal after which a client may end in a way of its own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ClientSignal {
        /// Ctrl-C.
        Interrupt = "SIGINT",
        /// A request to end.
        Terminate = "SIGTERM",
        /// Its terminal went away.
        HangUp = "SIGHUP",
    }
}

word_forms!(ClientSignal);

words! {
    /// The output of a client for an attempt that failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FailedAttempts {
        /// Nothing: it prints an answer when it has come whole.
        Hidden = "hidden",
        /// The text as it comes, once for each attempt.
        Shown = "shown",
    }
}

word_forms!(FailedAttempts);

words! {
    /// The answers whose texts a client prints.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PrintedAnswers {
        /// All answers.
        All = "all",
        /// The last answer of a run.
        Last = "last",
    }
}

word_forms!(PrintedAnswers);

keys! {
    /// The exit codes of a client. One that a signal ends counts as 128 and the number of the signal.
    #[derive(Eq)]
    pub struct ExitCodes {
        /// When the prompt was answered.
        ok: Vec<u32> = Vec::new(), example("[0]");
        /// When the API failed for good.
        failed: Vec<u32> = Vec::new(), example("[1]");
        /// After SIGINT.
        sigint: Vec<u32> = Vec::new(), key("SIGINT"), example("[0, 130]");
        /// After SIGTERM.
        sigterm: Vec<u32> = Vec::new(), key("SIGTERM"), example("[143]");
    }
}

/// Reads the file of a profile. `name` is what messages call the file.
///
/// # Errors
/// Everything that is wrong in it, with its place (F-7).
pub fn read(name: &str, text: &str) -> Result<ClientProfile, Diagnostics> {
    data_file::read(name, text)
}

/// The names in curly brackets that a run has values for.
const NAMES: [&str; 8] = ["base", "base_url", "base_url_v1", "home", "work", "tmp", "session", "prompt"];

/// A name that is nearly one of a run's is misspelt: nothing would stand for it.
fn check_names(profile: &ClientProfile, reader: &mut TableReader<'_, '_>) {
    let env: Vec<String> = profile.env.iter().map(|(_, value)| value.clone()).collect();
    for (key, words) in [("start", &profile.start), ("resume", &profile.resume), ("env", &env)] {
        for name in words.iter().flat_map(|word| braced(word)).filter(|name| !NAMES.contains(name)) {
            if let Some(near) = nearest(name, NAMES) {
                reader.value_problem(key, format!("a run has no value for `{{{name}}}`; did you mean `{{{near}}}`?"));
            }
        }
    }
}

/// The names that stand in curly brackets.
fn braced(word: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let names = word.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    names.filter(move |name| !name.is_empty() && name.bytes().all(is_of_name))
}

/// A profile writes into the folders of a run alone.
fn problem_with_path(path: &str) -> Option<String> {
    let is_inside = ["{home}/", "{work}/", "{tmp}/"].iter().any(|folder| path.starts_with(folder)) || !path.starts_with(['/', '{', '~']);
    let is_good = is_inside && !path.split('/').any(|part| part == "..");
    (!is_good).then(|| format!("`{path}` is not in the client's folders; begin it with {{home}}/, {{work}}/ or {{tmp}}/"))
}

fn check_text(place: &OutputTextPlace, reader: &mut TableReader<'_, '_>) {
    if place.at.is_none() && !place.lines.is_empty() {
        reader.key_problem("lines", "`lines` needs `at`, the path to the text in a line: add it, or remove this key".into());
    }
}

fn check_session(_: &SessionPlace, reader: &mut TableReader<'_, '_>) {
    if reader.one_of(&["member", "files"]).is_none() {
        let message = format!("{} needs a place", reader.title());
        reader.lacks(&["member", "files"], message, Some("give `member` or `files`".into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_7_a_profile_is_read_and_a_slip_in_it_is_found_with_its_place() {
        let text = "name = \"a\"\nversion = \"1\"\ndate = \"2026-11-22\"\nstart = [\"a\", \"{prompt}\"]\n[session]\nmember = \"id\"\n[exit]\nSIGINT = [130]\n\
                    [output.text]\nlines = { type = \"t\", \"m.role\" = \"assistant\" }\nat = \"m.text\"\nof = \"last\"\n[[file]]\npath = \"{home}/x\"\n";
        let profile = read("a.toml", text).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
        assert_eq!((&*profile.name, profile.exit.sigint.as_slice(), profile.files.len()), ("a", &[130][..], 1));
        let place = profile.output.text.unwrap();
        assert_eq!((place.lines.len(), place.of), (2, PrintedAnswers::Last));
        for (wrong, expected) in [
            ("nmae = \"a\"\n", "did you mean `name`"),
            ("start = [\"a\"]\n", "needs `name`"),
            ("name = \"a\"\n[exit]\nSIGTEM = [1]\n", "did you mean `SIGTERM`"),
            ("name = \"a\"\n[session]\n", "needs a place"),
            ("name = \"a\"\nstart = [\"a\", \"{promt}\"]\n", "did you mean `{prompt}`"),
            ("name = \"a\"\n[env]\nA = \"{base_ulr}/x\"\n", "did you mean `{base_url}`"),
            ("name = \"a\"\n[[file]]\npath = \"/etc/x\"\n", "not in the client's folders"),
            ("name = \"a\"\n[[file]]\npath = \"{home}/../x\"\n", "not in the client's folders"),
            ("name = \"a\"\n[session]\nmember = \"a\"\nfiles = \"b\"\n", "files"),
            ("name = \"a\"\n[output.text]\nof = \"lst\"\n", "did you mean `last`"),
            ("name = \"a\"\n[output]\nno_result_after = [\"SIGTEM\"]\n", "did you mean `SIGTERM`"),
            ("name = \"a\"\n[output.text]\nfailed_attempts = \"hiden\"\n", "did you mean `hidden`"),
            ("name = \"a\"\n[output.text]\nat = \"t\"\nlines = { type = 1 }\n", "expected text"),
            ("name = \"a\"\n[output.text]\nlines = { type = \"a\" }\n", "needs `at`"),
        ] {
            let error = read("a.toml", wrong).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("a.toml:"), "{error}");
        }
    }
}
