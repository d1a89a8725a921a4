//! The readers: what each is given, and what must hold beside that it neither panics nor takes long.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::budget::PriceTable;
use reenact::engine::log;
use reenact::engine::time::Micros;
use reenact::engine::windows::WindowTable;
use reenact::files::snapshot::Snapshot;
use reenact::files::tape;
use reenact::import::{ImportOptions, import_bytes};
use reenact::redact::scan::scan;
use reenact::redact::{AnswerRedactor, HeldChunk, RedactionRules, Redactor};
use reenact::review::show_text::{self, ShowLayout};
use reenact::scenario::language::scenario_text;
use reenact::scenario::parse;
use reenact::shell::{danger, lexemes, only_reads};
use reenact::stores::judgement::{SessionAge, judge};
use reenact::stores::recognition::recognise;
use reenact::stores::rules::{HistoryEnd, results, validity};
use reenact::stores::{StoreFile, StoreFormat, shortened};
use reenact::timeline::{ReadingOptions, STALL_LIMIT, TapeReader, read_log};
use reenact::wire::assembler::{Assembler, AssemblerStep};
use reenact::wire::event::StreamEvent;
use reenact::wire::json::Json;
use reenact::wire::sse::{FramingError, SseFrame, SseFramer};

/// One reader.
pub(crate) struct ReaderTarget {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The endings of its sample files.
    pub(crate) endings: &'static [&'static str],
    /// Reads the bytes; the text is what must hold and does not.
    pub(crate) read: fn(&[u8], &Path) -> Result<(), String>,
}

/// All readers.
pub(crate) const TARGETS: [ReaderTarget; 14] = [
    ReaderTarget { name: "scenario", endings: &[".toml"], read: scenario },
    ReaderTarget { name: "tape", endings: &[".tape.jsonl"], read: read_tape },
    ReaderTarget { name: "import", endings: &[".har", ".yaml", ".yml", ".jsonl", ".json"], read: import },
    ReaderTarget { name: "stream", endings: &[".sse"], read: stream },
    ReaderTarget { name: "log", endings: &[".log"], read: boundary_log },
    ReaderTarget { name: "show", endings: &[".tape.jsonl", ".log"], read: show },
    ReaderTarget { name: "snapshot", endings: &[".snap"], read: snapshot },
    ReaderTarget { name: "prices", endings: &["prices.toml"], read: prices },
    ReaderTarget { name: "windows", endings: &["windows.toml"], read: windows },
    ReaderTarget { name: "redaction", endings: &[".sse", ".json", ".har", ".yaml", ".log"], read: redaction },
    ReaderTarget { name: "answer-redaction", endings: &[".sse", ".json", ".yaml"], read: answer_redaction },
    ReaderTarget { name: "scan", endings: &[".tape.jsonl", ".toml", ".md"], read: search },
    ReaderTarget { name: "shell", endings: &[".sh", ".md"], read: shell },
    ReaderTarget { name: "stores", endings: &[".store.jsonl", ".store.json", ".store.db", ".store.db-wal"], read: stores },
];

/// The sample files of a target, from the checkout and from one more folder.
pub(crate) fn samples(target: &ReaderTarget, root: &Path, more: Option<&Path>) -> Vec<Vec<u8>> {
    /// Larger samples leave no room for changes.
    const SAMPLE_BYTES_MAX: u64 = 64 * 1024;
    let mut folders: Vec<PathBuf> = ["scenarios", "snapshots", "tests/samples", "tests/stores", "tests/formats", "src/engine", "src/shell"]
        .map(|folder| root.join(folder))
        .into();
    folders.extend(more.map(Path::to_path_buf));
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if target.endings.iter().any(|ending| name.ends_with(ending)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files.retain(|path| fs::metadata(path).is_ok_and(|file| file.len() <= SAMPLE_BYTES_MAX));
    files.iter().filter_map(|path| fs::read(path).ok()).collect()
}

fn scenario(bytes: &[u8], _: &Path) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let _ = parse::is_scenario(&text);
    let Ok(read) = parse::scenario("x.toml", &text, &[]) else { return Ok(()) };
    let written = scenario_text(&read.scenario, &[]);
    match parse::scenario("written.toml", &written, &[]) {
        Ok(again) if again.scenario == read.scenario => Ok(()),
        Ok(_) => Err(format!("what is written reads back as another scenario:\n{written}")),
        Err(problems) => Err(format!("what is written is refused: {problems}\n{written}")),
    }
}

fn read_tape(bytes: &[u8], folder: &Path) -> Result<(), String> {
    let path = folder.join("case.tape.jsonl");
    fs::write(&path, bytes).map_err(|error| error.to_string())?;
    if let Ok(tape) = tape::read(&path) {
        let _ = tape::warnings(&path, &tape);
        tape::write(&path, &tape).map_err(|error| error.to_string())?;
        let again = tape::read(&path).map_err(|error| format!("what is written is refused: {error}"))?;
        if again.exchanges != tape.exchanges {
            return Err("what is written reads back as other exchanges".into());
        }
    }
    Ok(())
}

/// V-8: any bytes have a text that is no wider than it should be, and moves no cursor.
fn show(bytes: &[u8], _: &Path) -> Result<(), String> {
    const COLUMNS: usize = 80;
    let timeline = if bytes.starts_with(log::MARK.as_bytes()) {
        let Ok(timeline) = read_log(&String::from_utf8_lossy(bytes), STALL_LIMIT) else { return Ok(()) };
        timeline
    } else {
        let mut reader = TapeReader::new(ReadingOptions::default());
        if bytes.split_inclusive(|byte| *byte == b'\n').any(|line| reader.feed(line).is_err()) {
            return Ok(());
        }
        reader.finish()
    };
    let text = show_text::text("case", &timeline, ShowLayout { columns: COLUMNS, window: (Micros::ZERO, None) });
    let is_broken = |line: &str| line.chars().any(|c| c.is_control() && c != '\u{1b}');
    match text.lines().find(|line| is_broken(line)) {
        Some(line) => Err(format!("a line has control characters: {line:?}")),
        None => Ok(()),
    }
}

fn import(bytes: &[u8], _: &Path) -> Result<(), String> {
    if let Ok(imported) = import_bytes(Path::new("case"), bytes, &ImportOptions::with(rules())) {
        let _ = (imported.tape(), imported.others(), imported.unreadable());
    }
    Ok(())
}

/// N-1, N-2: any chunking gives the same events, and what is assembled is JSON.
fn stream(bytes: &[u8], _: &Path) -> Result<(), String> {
    let whole = frames([bytes]);
    if whole != frames(bytes.chunks(1)) || whole != frames(bytes.chunks(7)) {
        return Err("another chunking gives other events".into());
    }
    let (mut assembler, mut notes) = (Assembler::new(), Vec::new());
    for (name, data, _) in &whole.0 {
        if let AssemblerStep::Block { block, .. } = assembler.on_event(&StreamEvent::decode(name, data), &mut notes)
            && Json::parse(block.json().as_str()).is_err()
        {
            return Err(format!("an assembled block is not JSON: {}", block.json().as_str()));
        }
    }
    let _ = assembler.at_end_of_stream();
    Ok(())
}

type FramedStream = (Vec<(String, String, String)>, Result<(), FramingError>);

fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> FramedStream {
    /// Small, so that the limit is met as well.
    const EVENT_BYTES_MAX: usize = 4096;
    let mut framer = SseFramer::with_limit(EVENT_BYTES_MAX);
    let mut events = Vec::new();
    let mut sink = |frame: SseFrame<'_>| events.push((frame.event.into(), frame.data.into(), frame.id.into()));
    let result = chunks.into_iter().try_for_each(|chunk| framer.feed(chunk, &mut sink));
    (events, result)
}

fn boundary_log(bytes: &[u8], _: &Path) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let _ = log::environment(&text);
    let _ = log::replay(&text, AgentLoop::default());
    Ok(())
}

fn snapshot(bytes: &[u8], _: &Path) -> Result<(), String> {
    let _ = Snapshot::parse(&String::from_utf8_lossy(bytes));
    Ok(())
}

fn prices(bytes: &[u8], _: &Path) -> Result<(), String> {
    let _ = PriceTable::read(&String::from_utf8_lossy(bytes));
    Ok(())
}

fn windows(bytes: &[u8], _: &Path) -> Result<(), String> {
    let _ = WindowTable::read(&String::from_utf8_lossy(bytes));
    Ok(())
}

/// W-1: what cannot be read has a place in the text. P-2: what runs beside others need not be asked about.
fn shell(bytes: &[u8], _: &Path) -> Result<(), String> {
    let command = String::from_utf8_lossy(bytes);
    if let Some(error) = lexemes(&command).err().filter(|error| error.at > command.len()) {
        return Err(format!("{error}, and the command has {} bytes", command.len()));
    }
    match danger(&command).filter(|_| only_reads(&command)) {
        None => Ok(()),
        Some(danger) => Err(format!("the command only reads, and {danger}")),
    }
}

/// K-2: a body keeps its length, and nothing is found in what was redacted.
fn redaction(bytes: &[u8], _: &Path) -> Result<(), String> {
    let redacted = Redactor::new(rules()).body(bytes);
    if redacted.len() != bytes.len() {
        return Err(format!("a body of {} bytes has {} when it is redacted", bytes.len(), redacted.len()));
    }
    match scan(&redacted, rules()).findings.first() {
        None => Ok(()),
        Some(finding) => Err(format!("a redacted body still holds a secret: {finding:?}")),
    }
}

/// K-2: an answer keeps its chunks, and nothing is found in what was redacted.
fn answer_redaction(bytes: &[u8], _: &Path) -> Result<(), String> {
    let chunks: Vec<&[u8]> = bytes.chunks(1_000).collect();
    let once = redacted_chunks(chunks.iter().copied());
    if !once.iter().map(Vec::len).eq(chunks.iter().map(|chunk| chunk.len())) {
        return Err("a redacted answer has other chunks".into());
    }
    let twice = redacted_chunks(once.iter().map(Vec::as_slice));
    if twice != once {
        return Err("a redacted answer still holds a secret".into());
    }
    Ok(())
}

fn redacted_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let (mut redactor, mut answer, mut out) = (Redactor::new(rules()), AnswerRedactor::from_headers(&[]), Vec::new());
    let mut sink = |chunk: HeldChunk| out.push(chunk.bytes);
    for chunk in chunks {
        answer.feed(&mut redactor, HeldChunk { at: Micros(0), bytes: chunk.to_vec() }, &mut sink);
    }
    answer.finish(&mut redactor, &mut sink);
    out
}

/// A search reads anything, and each finding has a place in the file.
fn search(bytes: &[u8], _: &Path) -> Result<(), String> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let is_outside = |line: usize, column: usize| lines.get(line - 1).is_none_or(|text| column > text.len() + 1);
    match scan(bytes, rules()).findings.into_iter().find(|finding| is_outside(finding.line, finding.column)) {
        None => Ok(()),
        Some(finding) => Err(format!("a secret is said to be where the file has nothing: {finding:?}")),
    }
}

/// V-9: every format takes any bytes, and the rules take what it reads.
fn stores(bytes: &[u8], _: &Path) -> Result<(), String> {
    /// A database: to a case that is its log.
    const DATABASE: &[u8] = include_bytes!("../../../tests/stores/opencode.store.db");
    let _ = recognise("case", bytes);
    if shortened(bytes).len() > bytes.len() {
        return Err("a text is longer than before it was cut".into());
    }
    let logged = [StoreFile { name: "db", bytes: DATABASE }, StoreFile { name: "db-wal", bytes }];
    let alone = [StoreFile { name: "case", bytes }];
    let cases = StoreFormat::ALL.map(|format| (format, &alone[..]));
    for (format, files) in cases.into_iter().chain([(StoreFormat::Opencode, &logged[..])]) {
        let Ok(conversations) = format.read(files) else { continue };
        for conversation in conversations {
            let _ = (results(conversation.context(), format.dialect(), HistoryEnd::Closed), validity(conversation.context()));
            let _ = judge(&conversation, format, SessionAge::Settled);
            if conversation.context_from > conversation.messages.len() {
                return Err("the context begins behind the last message".into());
            }
        }
    }
    Ok(())
}

fn rules() -> &'static Arc<RedactionRules> {
    static RULES: OnceLock<Arc<RedactionRules>> = OnceLock::new();
    RULES.get_or_init(|| RedactionRules::with(&[]).expect("the shipped rules are right"))
}
