//! One exchange on its way to the tape: from what was heard of it to whole lines, without a clock, a connection or a disk (K-1, K-2, K-11, K-12).
//!
//! ```text
//!           RequestEnd            ResponseHead
//!   Asking ────────────> Asked ────────────────> Answering
//!      │                   │                         │
//!      └───────────────────┴────── an end, a loss ───┴──────> Over
//! ```
//!
//! Lines of an answer stand behind the line of their request. An answer may begin before its request is whole, and waits until then. An exchange that is
//! over ignores its inputs: the proxy goes on with it and need not know that it is not recorded any more.

#[cfg(test)]
mod tests;

use std::io;

use bytes::Bytes;

use reenact_engine::time::Micros;
use reenact_files::compression::inflater::BodyInflater;
use reenact_redact::{AnswerRedactor, HeldChunk, Redactor};
use reenact_scenario::conversation::{JsonConversation, RequestSource, ThreadLineage};
use reenact_scenario::tape::line::{NewRequest, TapeEncoder};
use reenact_scenario::tape::{Provenance, ResponseEnd, TapeHeader};
use reenact_wire::answer::AnswerReader;
use reenact_wire::http::{HttpHeader, is_event_stream};

/// A request that is larger is not a request of this API, which takes 32 MB.
const REQUEST_BYTES_MAX: usize = 128 << 20;

/// The head of a request.
#[derive(Debug)]
pub(super) struct ProxiedRequestHead {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<HttpHeader>,
}

/// Something that is heard of an exchange.
#[derive(Debug)]
pub(super) enum ExchangeInput {
    /// A piece of the request's body.
    RequestBytes(Bytes),
    /// The request is whole.
    RequestEnd,
    /// The head of the answer.
    ResponseHead { status: u16, headers: Vec<HttpHeader> },
    /// A piece of the answer's body.
    ResponseBytes(Bytes),
    /// The answer is whole.
    ResponseEnd,
    /// Upstream gives no answer, or no more of it.
    UpstreamFailure,
    /// The client does not wait for the end.
    ClientGone,
    /// The recorder stops.
    RecorderStop,
    /// The bodies of all open exchanges take too much memory: this one is to hold nothing any more (K-12).
    MemoryFull { bytes_max: usize },
}

/// The consequence of an input for the exchange.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum ExchangeVerdict {
    /// It goes on, or was over before.
    Pending,
    /// It is on the tape from its request to this end.
    Ended(ResponseEnd),
    /// It is not on the tape, for this reason: its lines so far have no end, so readers leave it out (F-2).
    Lost(String),
    /// Its answer is cut on the tape after so many bytes and goes on for the client, for this reason.
    Shortened(u64, String),
}

/// A tape that is being written: the knowledge that its exchanges share, and the way of its lines.
pub(super) struct OpenTape<S> {
    pub(super) redactor: Redactor,
    pub(super) sink: S,
    encoder: TapeEncoder,
    lineage: ThreadLineage,
}

impl<S: LineSink> OpenTape<S> {
    /// Writes its first line.
    pub(super) fn begin(header: &TapeHeader, redactor: Redactor, mut sink: S) -> Self {
        let mut encoder = TapeEncoder::new();
        sink.lines().push_str(&encoder.header(header));
        Self { redactor, sink, encoder, lineage: ThreadLineage::default() }
    }
}

/// Takes lines.
pub(super) trait LineSink {
    /// The lines that wait to be handed on. New ones are appended.
    fn lines(&mut self) -> &mut String;

    /// Hands lines on when there are many.
    ///
    /// # Errors
    /// When the disk is too far behind to take the answers that are under way.
    fn hand_on(&mut self) -> io::Result<()>;
}

/// An exchange that is being recorded.
pub(super) struct RecordedExchange {
    id: u32,
    /// When its request came. The times of its answer are counted from here.
    asked_at: Micros,
    stage: ExchangeStage,
}

enum ExchangeStage {
    /// The request is coming.
    Asking(UnfinishedRequest),
    /// The line of the request is written. The conversation is there where the API holds it.
    Asked(Option<Box<JsonConversation>>),
    /// The line of the answer's head is written.
    Answering(Box<UnfinishedResponse>),
    /// It has ended, or is not recorded any more.
    Over,
}

struct UnfinishedRequest {
    head: ProxiedRequestHead,
    body: Vec<u8>,
    /// The inputs of the answer meanwhile, and the number of their bytes.
    early: Vec<(Micros, ExchangeInput)>,
    early_bytes: usize,
}

struct UnfinishedResponse {
    status: u16,
    inflater: BodyInflater,
    redactor: AnswerRedactor,
    /// The conversation that the API holds, if it does, and the message that continues it as far as it came.
    conversation: Option<(Box<JsonConversation>, AnswerReader)>,
    /// When its last bytes came.
    last_at: Micros,
    /// How many bytes were fed and not written yet, and how many were written.
    held_bytes: usize,
    written_bytes: u64,
}

impl RecordedExchange {
    /// Its request has begun.
    pub(super) fn new(id: u32, now: Micros, head: ProxiedRequestHead) -> Self {
        let request = UnfinishedRequest { head, body: Vec::new(), early: Vec::new(), early_bytes: 0 };
        Self { id, asked_at: now, stage: ExchangeStage::Asking(request) }
    }

    /// The memory of its bodies.
    pub(super) fn held_bytes(&self) -> usize {
        match &self.stage {
            ExchangeStage::Asking(request) => request.body.len() + request.early_bytes,
            ExchangeStage::Answering(answer) => answer.held_bytes,
            ExchangeStage::Asked(_) | ExchangeStage::Over => 0,
        }
    }

    /// The only door in. `now` is on one clock for all exchanges of a tape.
    pub(super) fn step(&mut self, now: Micros, input: ExchangeInput, tape: &mut OpenTape<impl LineSink>) -> ExchangeVerdict {
        self.advance(now, input, tape).unwrap_or_else(|problem| {
            self.stage = ExchangeStage::Over;
            ExchangeVerdict::Lost(problem)
        })
    }

    /// An error is the reason why the exchange is lost.
    fn advance(&mut self, now: Micros, input: ExchangeInput, tape: &mut OpenTape<impl LineSink>) -> Result<ExchangeVerdict, String> {
        match input {
            ExchangeInput::RequestBytes(bytes) => self.on_request_bytes(&bytes)?,
            ExchangeInput::RequestEnd => self.on_request_end(tape)?,
            ExchangeInput::ResponseHead { .. } | ExchangeInput::ResponseBytes(_) => match &mut self.stage {
                ExchangeStage::Asking(request) => {
                    if let ExchangeInput::ResponseBytes(bytes) = &input {
                        request.early_bytes += bytes.len();
                    }
                    request.early.push((now, input));
                }
                _ => self.on_response(now, input, tape)?,
            },
            ExchangeInput::ResponseEnd => return self.on_end(now, ResponseEnd::Complete, tape),
            ExchangeInput::UpstreamFailure | ExchangeInput::RecorderStop => return self.on_end(now, ResponseEnd::Reset, tape),
            ExchangeInput::ClientGone => return self.on_end(now, ResponseEnd::ClientGone, tape),
            ExchangeInput::MemoryFull { bytes_max } => {
                return self.on_memory_full(format!("open bodies took more than {} MiB together", bytes_max >> 20), tape);
            }
        }
        Ok(ExchangeVerdict::Pending)
    }

    fn on_request_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let ExchangeStage::Asking(request) = &mut self.stage else { return Ok(()) };
        request.body.extend_from_slice(bytes);
        match request.body.len() > REQUEST_BYTES_MAX {
            true => Err(String::from("its request is larger than 128 MiB")),
            false => Ok(()),
        }
    }

    /// The request is whole, or as whole as it will be.
    fn on_request_end(&mut self, tape: &mut OpenTape<impl LineSink>) -> Result<(), String> {
        let ExchangeStage::Asking(request) = &mut self.stage else { return Ok(()) };
        let UnfinishedRequest { head, body, early, .. } = request;
        let (body, early) = (decoded(&head.headers, std::mem::take(body))?, std::mem::take(early));
        // Keys that stand in headers are known from here on, and bodies may repeat them.
        let headers = tape.redactor.headers(&head.headers);
        let body = tape.redactor.body(&body);
        let path = tape.redactor.path(&head.path);
        let recorded = tape.lineage.recorded_request((&head.method, &path), &body);
        let placement = tape.lineage.place(self.id, recorded.as_ref(), RequestSource::Recording);
        let conversation = recorded.and_then(|request| request.conversation).map(Box::new);
        let line = tape.encoder.request(&NewRequest {
            id: self.id,
            thread: &placement.thread.name(),
            parent: placement.relation.parent(),
            provenance: Provenance::Recorded,
            at: Some(self.asked_at),
            method: &head.method,
            path: &path,
            headers: &headers,
            body: &body,
        });
        tape.sink.lines().push_str(&line);
        self.stage = ExchangeStage::Asked(conversation);
        early.into_iter().try_for_each(|(at, input)| self.on_response(at, input, tape))
    }

    fn on_response(&mut self, now: Micros, input: ExchangeInput, tape: &mut OpenTape<impl LineSink>) -> Result<(), String> {
        let at = Micros(now.0.saturating_sub(self.asked_at.0));
        match (&mut self.stage, input) {
            (ExchangeStage::Asked(conversation), ExchangeInput::ResponseHead { status, headers }) => {
                let answer = UnfinishedResponse::begin((self.id, at), status, &headers, conversation.take(), tape)?;
                self.stage = ExchangeStage::Answering(Box::new(answer));
                Ok(())
            }
            (ExchangeStage::Answering(answer), ExchangeInput::ResponseBytes(bytes)) => answer.feed((self.id, at), &bytes, tape),
            _ => Ok(()),
        }
    }

    fn on_end(&mut self, now: Micros, how: ResponseEnd, tape: &mut OpenTape<impl LineSink>) -> Result<ExchangeVerdict, String> {
        self.on_request_end(tape)?;
        match std::mem::replace(&mut self.stage, ExchangeStage::Over) {
            ExchangeStage::Over => return Ok(ExchangeVerdict::Pending),
            ExchangeStage::Answering(mut answer) => {
                answer.finish(self.id, tape);
                answer.hold(tape);
            }
            ExchangeStage::Asking(_) | ExchangeStage::Asked(_) => (),
        }
        let at = Micros(now.0.saturating_sub(self.asked_at.0));
        tape.sink.lines().push_str(&tape.encoder.end(self.id, Some(at), how));
        Ok(ExchangeVerdict::Ended(how))
    }

    /// An answer ends where it is; a request that is not whole is of no use.
    fn on_memory_full(&mut self, why: String, tape: &mut OpenTape<impl LineSink>) -> Result<ExchangeVerdict, String> {
        match std::mem::replace(&mut self.stage, ExchangeStage::Over) {
            ExchangeStage::Answering(mut answer) => {
                answer.finish(self.id, tape);
                tape.sink.lines().push_str(&tape.encoder.end(self.id, Some(answer.last_at), ResponseEnd::Reset));
                Ok(ExchangeVerdict::Shortened(answer.written_bytes, why))
            }
            ExchangeStage::Over => Ok(ExchangeVerdict::Pending),
            ExchangeStage::Asking(_) | ExchangeStage::Asked(_) => Err(why),
        }
    }
}

impl UnfinishedResponse {
    /// Writes the line of the head. `at` is the time from the request.
    fn begin(
        (id, at): (u32, Micros),
        status: u16,
        headers: &[HttpHeader],
        conversation: Option<Box<JsonConversation>>,
        tape: &mut OpenTape<impl LineSink>,
    ) -> Result<Self, String> {
        let inflater = BodyInflater::from_headers(headers)
            .map_err(|name| format!("its answer is encoded as {name}, which cannot be searched for secrets"))?;
        // The line stands for the decoded body, and these speak of the encoded one.
        let speaks_of_it =
            |header: &&HttpHeader| ["content-encoding", "content-length"].iter().any(|name| header.name.eq_ignore_ascii_case(name));
        let kept: Vec<HttpHeader> = headers.iter().filter(|header| inflater.is_plain() || !speaks_of_it(header)).cloned().collect();
        let kept = tape.redactor.headers(&kept);
        let decoded = (!inflater.is_plain()).then_some(inflater.names.as_str());
        tape.sink.lines().push_str(&tape.encoder.decoded_head(id, Some(at), status, &kept, decoded));
        let conversation = conversation.map(|conversation| (conversation, AnswerReader::new(is_event_stream(headers) == Some(true))));
        let redactor = AnswerRedactor::from_headers(headers);
        Ok(Self { status, inflater, redactor, conversation, last_at: at, held_bytes: 0, written_bytes: 0 })
    }

    /// Writes what is decided with the next bytes.
    fn feed(&mut self, (id, at): (u32, Micros), bytes: &[u8], tape: &mut OpenTape<impl LineSink>) -> Result<(), String> {
        tape.sink.hand_on().map_err(|behind| behind.to_string())?;
        self.last_at = at;
        let Self { inflater, redactor, conversation, held_bytes, written_bytes, .. } = self;
        let fed = inflater.feed(bytes, &mut |bytes| {
            *held_bytes += bytes.len();
            redactor.feed(&mut tape.redactor, HeldChunk { at, bytes }, &mut |chunk| {
                *held_bytes -= chunk.bytes.len();
                *written_bytes += chunk.bytes.len() as u64;
                write_chunk(id, &chunk, conversation.as_mut(), &mut tape.encoder, &mut tape.sink);
            });
            // A few bytes may unpack to many lines: they do not wait for the end of this input.
            tape.sink.hand_on()
        });
        fed.map_err(|error| format!("its answer does not fit the encoding {} of its header ({error})", self.inflater.names))?;
        // A client may continue as soon as it has the message, before the body has ended.
        if self.conversation.as_ref().is_some_and(|(_, reader)| reader.is_whole()) {
            self.hold(tape);
        }
        Ok(())
    }

    /// Decides the secrets of what is held, and writes it.
    fn finish(&mut self, id: u32, tape: &mut OpenTape<impl LineSink>) {
        self.redactor.finish(&mut tape.redactor, &mut |chunk| {
            self.written_bytes += chunk.bytes.len() as u64;
            write_chunk(id, &chunk, self.conversation.as_mut(), &mut tape.encoder, &mut tape.sink);
        });
    }

    /// Holds the conversation, once, where the answer is a whole message.
    fn hold(&mut self, tape: &mut OpenTape<impl LineSink>) {
        let Some((conversation, reader)) = self.conversation.take().filter(|_| self.status == 200) else { return };
        if let Some(replied) = reader.finish() {
            tape.lineage.hold(*conversation, &replied);
        }
    }
}

/// Writes a chunk's line. The message is read from what is written: a later request continues the tape.
fn write_chunk(
    id: u32,
    chunk: &HeldChunk,
    conversation: Option<&mut (Box<JsonConversation>, AnswerReader)>,
    encoder: &mut TapeEncoder,
    sink: &mut impl LineSink,
) {
    if let Some((_, reader)) = conversation {
        reader.feed(&chunk.bytes);
    }
    encoder.push_chunk(sink.lines(), id, Some(chunk.at), &chunk.bytes);
}

/// A request's body as it reads.
fn decoded(headers: &[HttpHeader], body: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut inflater = BodyInflater::from_headers(headers)
        .map_err(|name| format!("its request is encoded as {name}, which cannot be searched for secrets"))?;
    if inflater.is_plain() {
        return Ok(body);
    }
    let mut unpacked = Vec::new();
    let fed = inflater.feed(&body, &mut |bytes| {
        unpacked.extend_from_slice(&bytes);
        Ok(())
    });
    match fed {
        Err(error) => Err(format!("its request does not fit the encoding {} of its header ({error})", inflater.names)),
        Ok(()) if unpacked.len() > REQUEST_BYTES_MAX => Err(String::from("unpacked its request is larger than 128 MiB")),
        Ok(()) => Ok(unpacked),
    }
}
