//! From what happens to lines of a tape: bodies are decoded, secrets replaced, lines encoded, and handed to the disk in batches.
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
use std::time::Duration;

use super::super::client_folders;
use super::disk::LineBatch;
use super::room::room_for;
use super::{BEHIND_BYTES_MAX, RecordOptions, RecorderState, TapeSummary, TapeWriterEvent};
use reenact_engine::time::Micros;
use reenact_files::compression::inflater::BodyInflater;
use reenact_files::redact::{AnswerRedactor, HeldChunk, Redactor};
use reenact_scenario::tape::asks_for_message;
use reenact_scenario::tape::line::{NewRequest, TapeEncoder};
use reenact_scenario::tape::{ClientFolder, Provenance, ResponseEnd, TapeHeader};
use reenact_scenario::thread::{self, MAIN, OTHER, ThreadLineage};
use reenact_wire::answer::AnswerReader;
use reenact_wire::http::{HttpHeader, is_event_stream};
use reenact_wire::server_threads::{CompleteRequest, JsonConversation, ServerThreads};

/// How often it looks for pieces of answers that stream.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A batch of this size is handed on at once.
const BATCH_BYTES: usize = 1 << 20;

/// Room is given back when there is this much of it: each time costs a lock.
const ROOM_TOLD_BYTES: usize = 256 << 10;

/// A request that is larger is not a request of this API, which takes 32 MB.
const REQUEST_BYTES_MAX: usize = 128 << 20;

/// The limit of all open bodies together: requests that are coming, and answers whose secrets are not decided (K-12).
const OPEN_BYTES_MAX: usize = 256 << 20;

/// Keeps the books of one tape.
pub(super) struct TapeWriter {
    redactor: Redactor,
    encoder: TapeEncoder,
    lineage: ThreadLineage,
    held: ServerThreads,
    exchanges: BTreeMap<u32, UnfinishedExchange>,
    batch: LineBatch,
    batches: Sender<LineBatch>,
    shared: Arc<RecorderState>,
    /// Room that is free again and was not told yet.
    room: usize,
    /// The memory of the open bodies, and its limit.
    open_bytes: usize,
    open_bytes_max: usize,
    summary: TapeSummary,
    notice: fn(&str),
}

/// An exchange that has not ended.
enum UnfinishedExchange {
    /// The request is coming.
    Asking(UnfinishedRequest),
    /// Its line is written; there may be an answer. Where the API holds the conversation, so does the tape writer when it is answered.
    Asked(Option<Box<JsonConversation>>, Option<Box<UnfinishedResponse>>),
    /// Not recorded any more.
    Lost,
}

struct UnfinishedRequest {
    at: Micros,
    method: String,
    path: String,
    headers: Vec<HttpHeader>,
    body: Vec<u8>,
    /// The events of the answer meanwhile, and the number of their bytes.
    early: Vec<TapeWriterEvent>,
    early_bytes: usize,
}

struct UnfinishedResponse {
    status: u16,
    inflate: BodyInflater,
    redactor: AnswerRedactor,
    /// The reader of the answer, where the API holds it.
    reply: Option<AnswerReader>,
    /// When its last bytes came.
    last_at: Micros,
    /// How many bytes were fed and not written yet, and how many were written.
    held_bytes: usize,
    written_bytes: u64,
}

impl UnfinishedExchange {
    /// The memory of its bodies.
    fn held_bytes(&self) -> usize {
        match self {
            Self::Asking(asking) => asking.body.len() + asking.early_bytes,
            Self::Asked(_, answer) => answer.as_ref().map_or(0, |answer| answer.held_bytes),
            Self::Lost => 0,
        }
    }
}

/// The first line of the tape.
pub(super) fn header(options: &RecordOptions, redactor: &mut Redactor) -> TapeHeader {
    TapeHeader {
        recorder: concat!("reenact ", env!("CARGO_PKG_VERSION"), " record").into(),
        recorded_at: Some(super::proxy::wall_clock()),
        upstream: Some(options.upstream.authority().to_owned()),
        redactions: std::iter::once("headers").chain(options.rules.names()).map(str::to_owned).collect(),
        folders: options.client.as_ref().map(|_| folders(redactor, options.notice)).unwrap_or_default(),
        ..TapeHeader::default()
    }
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
    pub(super) fn new(redactor: Redactor, batches: Sender<LineBatch>, shared: Arc<RecorderState>, notice: fn(&str)) -> Self {
        Self {
            redactor,
            encoder: TapeEncoder::new(),
            lineage: ThreadLineage::new(),
            held: ServerThreads::default(),
            exchanges: BTreeMap::new(),
            batch: LineBatch::default(),
            batches,
            shared,
            room: 0,
            open_bytes: 0,
            open_bytes_max: OPEN_BYTES_MAX,
            summary: TapeSummary::default(),
            notice,
        }
    }

    /// Works until it is told to stop.
    pub(super) fn run(mut self, header: &TapeHeader, events: &Receiver<TapeWriterEvent>) -> TapeSummary {
        let line = self.encoder.header(header);
        self.write(&line);
        self.hand_over();
        loop {
            loop {
                match events.try_recv() {
                    Ok(TapeWriterEvent::Stop) => {
                        self.hand_over();
                        self.summary.redacted = self.redactor.counts().clone();
                        self.summary.explained = self.redactor.explained().clone();
                        self.summary.unsearched = self.redactor.unsearched();
                        return self.summary;
                    }
                    Ok(event) => self.take(event),
                    Err(_) => break,
                }
                if self.batch.lines.len() > BATCH_BYTES {
                    self.hand_over();
                }
                if self.room > ROOM_TOLD_BYTES {
                    self.tell_room();
                }
            }
            self.hand_over();
            self.tell_room();
            match self.exchanges.is_empty() {
                true => std::thread::park(),
                false => std::thread::park_timeout(LOOK_EVERY),
            }
        }
    }

    fn take(&mut self, event: TapeWriterEvent) {
        let Some(id) = event.id() else { return };
        let held = |writer: &Self| writer.exchanges.get(&id).map_or(0, UnfinishedExchange::held_bytes);
        let before = held(self);
        self.note(event);
        self.open_bytes = self.open_bytes - before + held(self);
        while self.open_bytes > self.open_bytes_max && self.give_up_youngest() {}
    }

    /// Ends the youngest exchange that holds bytes, where it is: what is left is what was open longest.
    fn give_up_youngest(&mut self) -> bool {
        let youngest = self.exchanges.iter().rev().find(|(_, exchange)| exchange.held_bytes() > 0);
        let Some((&id, exchange)) = youngest else { return false };
        self.open_bytes -= exchange.held_bytes();
        let why = format!("open bodies took more than {} MiB together", self.open_bytes_max >> 20);
        match exchange {
            UnfinishedExchange::Asked(_, Some(_)) => self.shorten(id, &why),
            _ => self.lose(id, &why),
        }
        true
    }

    /// Ends an answer on the tape; for its client it goes on.
    fn shorten(&mut self, id: u32, why: &str) {
        let Some(UnfinishedExchange::Asked(_, Some(mut answer))) = self.exchanges.insert(id, UnfinishedExchange::Lost) else { return };
        let at = answer.last_at;
        self.finish_answer(id, &mut answer);
        let line = self.encoder.end(id, Some(at), ResponseEnd::Reset);
        self.write(&line);
        let sentence = format!("exchange {id} is cut on the tape after {} bytes of its answer: {why}", answer.written_bytes);
        (self.notice)(&sentence);
        self.summary.shortened.push(sentence);
    }

    /// Decides the secrets of what is held of an answer, and writes it.
    fn finish_answer(&mut self, id: u32, answer: &mut UnfinishedResponse) {
        let (encoder, lines) = (&mut self.encoder, &mut self.batch.lines);
        let UnfinishedResponse { redactor, reply, written_bytes, .. } = answer;
        redactor.finish(&mut self.redactor, &mut |chunk| {
            *written_bytes += chunk.bytes.len() as u64;
            write_chunk(encoder, lines, id, reply.as_mut(), &chunk);
        });
    }

    fn note(&mut self, event: TapeWriterEvent) {
        match event {
            TapeWriterEvent::Request { id, at, method, path, headers } => {
                let asking = UnfinishedRequest { at, method, path, headers, body: Vec::new(), early: Vec::new(), early_bytes: 0 };
                let exchange = if self.is_recording() { UnfinishedExchange::Asking(asking) } else { UnfinishedExchange::Lost };
                self.exchanges.insert(id, exchange);
            }
            TapeWriterEvent::RequestBody { id, bytes } => {
                self.room += room_for(bytes.len()) as usize;
                if let Some(UnfinishedExchange::Asking(asking)) = self.exchanges.get_mut(&id) {
                    asking.body.extend_from_slice(&bytes);
                    if asking.body.len() > REQUEST_BYTES_MAX {
                        self.lose(id, "its request is larger than 128 MiB");
                    }
                }
            }
            TapeWriterEvent::RequestEnd { id } => self.on_request_complete(id),
            TapeWriterEvent::Head { id, .. } => self.on_answer_event(id, event),
            TapeWriterEvent::Chunk { id, ref bytes, .. } => {
                self.room += room_for(bytes.len()) as usize;
                self.on_answer_event(id, event);
            }
            TapeWriterEvent::End { id, at, how, written } => {
                self.on_request_complete(id);
                self.end(id, at, how);
                self.batch.written.push(written);
            }
            TapeWriterEvent::Stop => (),
        }
    }

    /// Whether lines can still be written. When the disk has failed it was said there.
    fn is_recording(&self) -> bool {
        !self.shared.disk_failed.load(Ordering::Relaxed)
    }

    /// A line of an answer waits for the line of its request.
    fn on_answer_event(&mut self, id: u32, event: TapeWriterEvent) {
        match self.exchanges.get_mut(&id) {
            Some(UnfinishedExchange::Asking(asking)) => {
                if let TapeWriterEvent::Chunk { bytes, .. } = &event {
                    asking.early_bytes += bytes.len();
                }
                asking.early.push(event);
            }
            Some(UnfinishedExchange::Asked(..)) => self.answer(event),
            Some(UnfinishedExchange::Lost) | None => (),
        }
    }

    /// The request is whole, or as whole as it will be.
    fn on_request_complete(&mut self, id: u32) {
        let Some(exchange @ UnfinishedExchange::Asking(_)) = self.exchanges.get_mut(&id) else { return };
        let UnfinishedExchange::Asking(asking) = std::mem::replace(exchange, UnfinishedExchange::Asked(None, None)) else { return };
        let body = match decoded(&asking.headers, asking.body) {
            Ok(body) => body,
            Err(problem) => return self.lose(id, &problem),
        };
        // Keys that stand in headers are known from here on, and bodies may repeat them.
        let headers = self.redactor.headers(&asking.headers);
        let body = self.redactor.body(&body);
        let path = self.redactor.path(&asking.path);
        let (thread, parent) = self.place(id, (&asking.method, &path), &body);
        let request = NewRequest {
            id,
            thread: &thread,
            parent,
            provenance: Provenance::Recorded,
            at: Some(asking.at),
            method: &asking.method,
            path: &path,
            headers: &headers,
            body: &body,
        };
        let line = self.encoder.request(&request);
        self.write(&line);
        asking.early.into_iter().for_each(|event| self.answer(event));
    }

    /// The thread of conversation that a request belongs to, and the exchange that it continues from.
    fn place(&mut self, id: u32, (method, path): (&str, &str), body: &[u8]) -> (Arc<str>, Option<u32>) {
        let text = std::str::from_utf8(body).ok().filter(|_| asks_for_message(method, path));
        let whole = text.map(|text| self.held.complete_request(text).unwrap_or_else(|_| CompleteRequest::as_it_is(text)));
        let Some((whole, said)) = whole.and_then(|whole| thread::ConversationDigest::from_body(&whole.body).map(|said| (whole, said)))
        else {
            return (if body.is_empty() && asks_for_message(method, path) { MAIN } else { OTHER }.into(), None);
        };
        self.exchanges.insert(id, UnfinishedExchange::Asked(whole.conversation.map(Box::new), None));
        let placement = self.lineage.place(id, &said);
        (placement.thread, placement.parent)
    }

    fn answer(&mut self, event: TapeWriterEvent) {
        match event {
            TapeWriterEvent::Head { id, at, status, headers } => self.head(id, at, status, &headers),
            TapeWriterEvent::Chunk { id, at, bytes } => self.chunk(id, at, &bytes),
            _ => (),
        }
    }

    fn head(&mut self, id: u32, at: Micros, status: u16, headers: &[HttpHeader]) {
        let inflate = match BodyInflater::from_headers(headers) {
            Ok(inflate) => inflate,
            Err(name) => return self.lose(id, &format!("its answer is encoded as {name}, which cannot be searched for secrets")),
        };
        let kept: Vec<HttpHeader> = match inflate.is_plain() {
            true => self.redactor.headers(headers),
            // They speak of the encoded body.
            false => {
                let speaks_of_it =
                    |header: &&HttpHeader| ["content-encoding", "content-length"].iter().any(|name| header.name.eq_ignore_ascii_case(name));
                let others: Vec<HttpHeader> = headers.iter().filter(|header| !speaks_of_it(header)).cloned().collect();
                self.redactor.headers(&others)
            }
        };
        let decoded = (!inflate.is_plain()).then_some(inflate.names.as_str());
        let line = self.encoder.decoded_head(id, Some(at), status, &kept, decoded);
        self.write(&line);
        if let Some(UnfinishedExchange::Asked(held, answer)) = self.exchanges.get_mut(&id) {
            let reply = held.is_some().then(|| AnswerReader::new(is_event_stream(headers) == Some(true)));
            let redactor = AnswerRedactor::from_headers(headers);
            *answer = Some(Box::new(UnfinishedResponse { status, inflate, redactor, reply, last_at: at, held_bytes: 0, written_bytes: 0 }));
        }
    }

    fn chunk(&mut self, id: u32, at: Micros, bytes: &[u8]) {
        if self.shared.behind.load(Ordering::Relaxed) > BEHIND_BYTES_MAX {
            return self.lose(id, "the disk is slower than its answer");
        }
        let Some(UnfinishedExchange::Asked(_, Some(answer))) = self.exchanges.get_mut(&id) else { return };
        let (encoder, batch, shared) = (&mut self.encoder, &mut self.batch, &self.shared);
        let UnfinishedResponse { inflate, redactor, reply, last_at, held_bytes, written_bytes, .. } = &mut **answer;
        *last_at = at;
        let fed = inflate.feed(bytes, &mut |bytes| {
            *held_bytes += bytes.len();
            redactor.feed(&mut self.redactor, HeldChunk { at, bytes }, &mut |chunk| {
                *held_bytes -= chunk.bytes.len();
                *written_bytes += chunk.bytes.len() as u64;
                write_chunk(encoder, &mut batch.lines, id, reply.as_mut(), &chunk);
            });
            // A few bytes may unpack to many lines: they do not wait for the end of this event.
            if batch.lines.len() > BATCH_BYTES {
                hand_over(batch, &self.batches, shared);
            }
            match shared.behind.load(Ordering::Relaxed) > BEHIND_BYTES_MAX {
                true => Err(io::Error::other("the disk is slower than its answer")),
                false => Ok(()),
            }
        });
        if let Err(error) = fed {
            let problem = format!("its answer does not fit the encoding {} of its header ({error})", inflate.names);
            return self.lose(id, &problem);
        }
        // A client may continue as soon as it has the message, before the body has ended.
        if reply.as_ref().is_some_and(AnswerReader::is_whole) {
            self.hold(id);
        }
    }

    /// Holds the conversation of an exchange whose answer is a whole message, once.
    fn hold(&mut self, id: u32) {
        let Some(UnfinishedExchange::Asked(held, Some(answer))) = self.exchanges.get_mut(&id) else { return };
        let replied = answer.reply.take().filter(|_| answer.status == 200).and_then(AnswerReader::finish);
        if let (Some(conversation), Some(replied)) = (held.take(), replied) {
            self.held.hold(*conversation, &replied);
        }
    }

    fn end(&mut self, id: u32, at: Micros, how: ResponseEnd) {
        let Some(UnfinishedExchange::Asked(held, answer)) = self.exchanges.remove(&id) else { return };
        if let Some(mut answer) = answer {
            self.finish_answer(id, &mut answer);
            answer.held_bytes = 0;
            self.exchanges.insert(id, UnfinishedExchange::Asked(held, Some(answer)));
            self.hold(id);
            self.exchanges.remove(&id);
        }
        let line = self.encoder.end(id, Some(at), how);
        self.write(&line);
    }

    /// Gives an exchange up: its lines so far have no end, so readers leave it out (F-2).
    fn lose(&mut self, id: u32, problem: &str) {
        self.exchanges.insert(id, UnfinishedExchange::Lost);
        let sentence = format!("exchange {id} is not on the tape: {problem}");
        (self.notice)(&sentence);
        self.summary.lost.push(sentence);
    }

    fn tell_room(&mut self) {
        self.shared.room.add_permits(std::mem::take(&mut self.room));
    }

    fn write(&mut self, line: &str) {
        self.batch.lines.push_str(line);
    }

    fn hand_over(&mut self) {
        hand_over(&mut self.batch, &self.batches, &self.shared);
    }
}

/// Hands the lines so far to the disk.
fn hand_over(batch: &mut LineBatch, batches: &Sender<LineBatch>, shared: &RecorderState) {
    if batch.lines.is_empty() && batch.written.is_empty() {
        return;
    }
    let batch = std::mem::take(batch);
    shared.behind.fetch_add(batch.lines.len(), Ordering::Relaxed);
    // Without a disk thread nobody writes; its breakdown is told when it is joined.
    let _ = batches.send(batch);
}

/// Writes a chunk's line. What continues the tape is what later requests are understood by.
fn write_chunk(encoder: &mut TapeEncoder, lines: &mut String, id: u32, reply: Option<&mut AnswerReader>, chunk: &HeldChunk) {
    if let Some(reply) = reply {
        reply.feed(&chunk.bytes);
    }
    encoder.push_chunk(lines, id, Some(chunk.at), &chunk.bytes);
}

/// A request's body as it reads.
fn decoded(headers: &[HttpHeader], body: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut inflate = BodyInflater::from_headers(headers)
        .map_err(|name| format!("its request is encoded as {name}, which cannot be searched for secrets"))?;
    if inflate.is_plain() {
        return Ok(body);
    }
    let mut unpacked = Vec::new();
    let fed = inflate.feed(&body, &mut |bytes| {
        unpacked.extend_from_slice(&bytes);
        Ok(())
    });
    match fed {
        Err(error) => Err(format!("its request does not fit the encoding {} of its header ({error})", inflate.names)),
        Ok(()) if unpacked.len() > REQUEST_BYTES_MAX => Err(String::from("unpacked its request is larger than 128 MiB")),
        Ok(()) => Ok(unpacked),
    }
}
