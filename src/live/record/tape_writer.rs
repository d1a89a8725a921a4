//! The thread between proxy and disk: it feeds the open exchanges, gives up some of them, and hands their lines to the disk in batches.
//!
//! It looks for work when it is woken (an exchange has begun or ended, or much waits) and, while answers stream, ten times a second: what waited is
//! then one batch. Each look takes processor time, perhaps from the client.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::client_folders;
use super::disk::LineBatch;
use super::exchange::{ExchangeInput, ExchangeVerdict, LineSink, OpenTape, RecordedExchange};
use super::link::TapeWriterEvent;
use super::{BEHIND_BYTES_MAX, RecordOptions, RecorderState, TapeSummary};
use reenact_engine::time::Micros;
use reenact_redact::Redactor;
use reenact_scenario::tape::{ClientFolder, TapeHeader};
use reenact_wire::date::rfc3339_text;

/// How often it looks for pieces of answers that stream.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A batch of this size is handed on at once.
const BATCH_BYTES: usize = 1 << 20;

/// The limit of all open bodies together: requests that are coming, and answers whose secrets are not decided (K-12).
const OPEN_BYTES_MAX: usize = 256 << 20;

/// Keeps the books of one tape.
pub(super) struct TapeWriter {
    tape: OpenTape<LineQueue>,
    exchanges: BTreeMap<u32, RecordedExchange>,
    /// The memory of the open bodies, and its limit.
    open_bytes: usize,
    open_bytes_max: usize,
    summary: TapeSummary,
    notice: fn(&str),
}

/// The lines on their way to the disk.
struct LineQueue {
    batch: LineBatch,
    batches: Sender<LineBatch>,
    shared: Arc<RecorderState>,
}

/// The first line of the tape.
pub(super) fn header(options: &RecordOptions, redactor: &mut Redactor) -> TapeHeader {
    TapeHeader {
        recorder: concat!("reenact ", env!("CARGO_PKG_VERSION"), " record").into(),
        recorded_at: Some(wall_clock()),
        upstream: Some(options.upstream.authority().to_owned()),
        redactions: std::iter::once("headers").chain(options.rules.names()).map(str::to_owned).collect(),
        folders: options.client.as_ref().map(|_| folders(redactor, options.notice)).unwrap_or_default(),
        ..TapeHeader::default()
    }
}

/// The time of day, as `2026-11-21T02:03:04Z`.
fn wall_clock() -> String {
    #[expect(clippy::disallowed_methods, reason = "a tape says when it was recorded")]
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
    rfc3339_text(seconds)
}

/// The folders of a client that is started here: it has those of its starter. A secret in a path is replaced as it is in bodies, so that the
/// path is found there.
fn folders(redactor: &mut Redactor, notice: fn(&str)) -> Vec<(ClientFolder, String)> {
    let known = client_folders::inherited().filter_map(|(folder, path)| match folder_prefix(&path) {
        Some(path) => Some((folder, redactor.text(&path))),
        None => {
            let shown = redactor.text(&path.display().to_string());
            notice(&format!(
                "the client's folder {} is `{shown}`, which other text in its requests may also contain, so that `drive` \
                 does not replace it; record in a folder with a longer name",
                folder.as_str()
            ));
            None
        }
    });
    known.collect()
}

/// A path as it stands before what is in it; `None` for the root, which stands before everything, and for what depends on where one is.
fn folder_prefix(path: &Path) -> Option<String> {
    let shown = path.display().to_string();
    let trimmed = shown.trim_end_matches(std::path::is_separator);
    (path.is_absolute() && !trimmed.is_empty()).then(|| trimmed.to_owned())
}

impl TapeWriter {
    pub(super) fn new(
        header: &TapeHeader,
        redactor: Redactor,
        batches: Sender<LineBatch>,
        shared: Arc<RecorderState>,
        notice: fn(&str),
    ) -> Self {
        Self {
            tape: OpenTape::begin(header, redactor, LineQueue { batch: LineBatch::default(), batches, shared }),
            exchanges: BTreeMap::new(),
            open_bytes: 0,
            open_bytes_max: OPEN_BYTES_MAX,
            summary: TapeSummary::default(),
            notice,
        }
    }

    /// Works until it is told to stop.
    pub(super) fn run(mut self, events: &Receiver<TapeWriterEvent>) -> TapeSummary {
        loop {
            loop {
                match events.try_recv() {
                    Ok(TapeWriterEvent::Stop) => {
                        self.tape.sink.hand_over();
                        self.summary.redacted = self.tape.redactor.counts().clone();
                        self.summary.explained = self.tape.redactor.explained().clone();
                        self.summary.unsearched = self.tape.redactor.unsearched();
                        return self.summary;
                    }
                    Ok(event) => self.take(event),
                    Err(_) => break,
                }
                self.tape.sink.hand_over_much();
            }
            self.tape.sink.hand_over();
            match self.exchanges.is_empty() {
                true => std::thread::park(),
                false => std::thread::park_timeout(LOOK_EVERY),
            }
        }
    }

    fn take(&mut self, event: TapeWriterEvent) {
        match event {
            // When the disk has failed it was said there: nothing is recorded any more.
            TapeWriterEvent::Request { id, at, head } if !self.tape.sink.shared.disk_failed.load(Ordering::Relaxed) => {
                self.exchanges.insert(id, RecordedExchange::new(id, at, head));
            }
            TapeWriterEvent::Exchange { id, at, input, written } => {
                if let ExchangeInput::RequestBytes(bytes) | ExchangeInput::ResponseBytes(bytes) = &input {
                    self.tape.sink.shared.room.free(bytes.len());
                }
                self.step(id, at, input);
                self.tape.sink.batch.written.extend(written);
                while self.open_bytes > self.open_bytes_max && self.give_up_youngest(at) {}
            }
            TapeWriterEvent::Request { .. } | TapeWriterEvent::Stop => (),
        }
    }

    /// Feeds an exchange, if it is still recorded, and carries out its verdict.
    fn step(&mut self, id: u32, at: Micros, input: ExchangeInput) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        self.open_bytes -= exchange.held_bytes();
        let verdict = exchange.step(at, input, &mut self.tape);
        self.open_bytes += exchange.held_bytes();
        let (problems, sentence) = match verdict {
            ExchangeVerdict::Pending => return,
            ExchangeVerdict::Ended(_) => return drop(self.exchanges.remove(&id)),
            ExchangeVerdict::Lost(why) => (&mut self.summary.lost, format!("exchange {id} is not on the tape: {why}")),
            ExchangeVerdict::Shortened(bytes, why) => {
                (&mut self.summary.shortened, format!("exchange {id} is cut on the tape after {bytes} bytes of its answer: {why}"))
            }
        };
        (self.notice)(&sentence);
        problems.push(sentence);
        self.exchanges.remove(&id);
    }

    /// Ends the youngest exchange that holds bytes, where it is: what is left is what was open longest.
    fn give_up_youngest(&mut self, at: Micros) -> bool {
        let youngest = self.exchanges.iter().rev().find(|(_, exchange)| exchange.held_bytes() > 0).map(|(id, _)| *id);
        youngest.inspect(|id| self.step(*id, at, ExchangeInput::MemoryFull { bytes_max: self.open_bytes_max })).is_some()
    }
}

impl LineQueue {
    fn hand_over_much(&mut self) {
        if self.batch.lines.len() > BATCH_BYTES {
            self.hand_over();
        }
    }

    /// Hands the lines so far to the disk.
    fn hand_over(&mut self) {
        if self.batch.lines.is_empty() && self.batch.written.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        self.shared.behind.fetch_add(batch.lines.len(), Ordering::Relaxed);
        // Without a disk thread nobody writes; its breakdown is told when it is joined.
        let _ = self.batches.send(batch);
    }
}

impl LineSink for LineQueue {
    fn lines(&mut self) -> &mut String {
        &mut self.batch.lines
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.hand_over_much();
        match self.shared.behind.load(Ordering::Relaxed) > BEHIND_BYTES_MAX {
            true => Err(io::Error::other("the disk is slower than its answer")),
            false => Ok(()),
        }
    }
}
