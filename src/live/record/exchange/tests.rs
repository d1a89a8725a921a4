//! Exchanges without a client, an upstream and a disk: each edge, and streams that are cut at every byte.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::*;
use reenact_redact::RedactionRules;
use reenact_scenario::tape::line::TapeDecoder;
use reenact_scenario::tape::{Exchange, Tape, TapeHeader};

const ID: u32 = 7;
const ASKED_AT: Micros = Micros(1_000);
const QUESTION: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\
    \"content\":[],\"model\":\"m\",\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße\"}}\n\n\
    event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Compiled once: that takes longer than all stories.
static RULES: LazyLock<Arc<RedactionRules>> = LazyLock::new(|| RedactionRules::with(&[]).unwrap());

/// Lines in memory, with a disk that may be too slow.
#[derive(Default)]
struct MemoryLines {
    lines: String,
    is_behind: bool,
}

impl LineSink for MemoryLines {
    fn lines(&mut self) -> &mut String {
        &mut self.lines
    }

    fn hand_on(&mut self) -> io::Result<()> {
        if self.is_behind { Err(io::Error::other("the disk is slower than its answer")) } else { Ok(()) }
    }
}

/// An exchange under way, and what it writes.
struct Story {
    exchange: RecordedExchange,
    tape: OpenTape<MemoryLines>,
    /// The time of the next input, a microsecond later each time.
    now: Micros,
}

impl Story {
    /// A request whose head has come.
    fn begin(headers: &[(&str, &str)]) -> Self {
        let tape = OpenTape::begin(&TapeHeader::default(), Redactor::new(&RULES), MemoryLines::default());
        let head = ProxiedRequestHead { method: "POST".into(), path: "/v1/messages".into(), headers: listed(headers) };
        Self { exchange: RecordedExchange::new(ID, ASKED_AT, head), tape, now: ASKED_AT }
    }

    /// A request that is whole, and the head of its answer.
    fn answered(headers: &[(&str, &str)]) -> Self {
        let mut story = Self::begin(&[]);
        story.hear_all([ExchangeInput::RequestBytes(QUESTION.into()), ExchangeInput::RequestEnd, head(headers)]);
        story
    }

    fn hear(&mut self, input: ExchangeInput) -> ExchangeVerdict {
        self.now.0 += 1;
        self.exchange.step(self.now, input, &mut self.tape)
    }

    fn hear_all(&mut self, inputs: impl IntoIterator<Item = ExchangeInput>) {
        for input in inputs {
            assert_eq!(self.hear(input), ExchangeVerdict::Pending);
        }
    }

    fn read(&self) -> Tape {
        let mut decoder = TapeDecoder::new();
        self.tape.sink.lines.lines().for_each(|line| decoder.feed(line.as_bytes()).unwrap());
        decoder.finish().unwrap()
    }

    /// The one exchange that the tape holds from its request to its end.
    fn recorded(&self) -> Exchange {
        let [exchange] = &self.read().exchanges[..] else { panic!("one exchange: {}", self.tape.sink.lines) };
        exchange.clone()
    }

    /// The exchange is over without an end on the tape, and nothing more is heard of it.
    fn assert_lost(mut self, verdict: ExchangeVerdict, why: &str) {
        let ExchangeVerdict::Lost(problem) = verdict else { panic!("{verdict:?}") };
        assert!(problem.contains(why), "{problem}");
        assert!(self.read().exchanges.is_empty() && self.exchange.held_bytes() == 0);
        let before = self.tape.sink.lines.len();
        self.hear_all([bytes(STREAM), ExchangeInput::ResponseEnd, ExchangeInput::ClientGone]);
        assert_eq!(self.tape.sink.lines.len(), before, "it is over");
    }
}

fn listed(headers: &[(&str, &str)]) -> Vec<HttpHeader> {
    headers.iter().map(|(name, value)| HttpHeader::new(name, value)).collect()
}

fn head(headers: &[(&str, &str)]) -> ExchangeInput {
    ExchangeInput::ResponseHead { status: 200, headers: listed(headers) }
}

fn piece(bytes: &[u8]) -> ExchangeInput {
    ExchangeInput::ResponseBytes(Bytes::copy_from_slice(bytes))
}

fn bytes(text: &str) -> ExchangeInput {
    piece(text.as_bytes())
}

const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];

#[test]
fn k_1_a_whole_exchange_is_on_the_tape_with_its_times() {
    let mut story = Story::answered(EVENTS);
    story.hear_all([bytes(&STREAM[..20]), bytes(&STREAM[20..])]);
    assert_eq!(story.hear(ExchangeInput::ResponseEnd), ExchangeVerdict::Ended(ResponseEnd::Complete));
    let exchange = story.recorded();
    assert_eq!((exchange.id, exchange.at, &*exchange.body), (ID, Some(ASKED_AT), QUESTION.as_bytes()));
    let answer = &exchange.answer;
    assert_eq!((answer.status, answer.end, answer.body()), (200, ResponseEnd::Complete, STREAM.as_bytes().to_vec()));
    // Counted from the request: its body and its end took a microsecond each.
    let times = [answer.head_at, answer.chunks[0].at, answer.chunks[1].at, answer.end_at].map(|at| at.unwrap().0);
    assert_eq!(times, [3, 4, 5, 6]);
}

#[test]
fn k_11_each_end_is_on_the_tape_as_it_was() {
    for (end, how) in [
        (ExchangeInput::UpstreamFailure, ResponseEnd::Reset),
        (ExchangeInput::RecorderStop, ResponseEnd::Reset),
        (ExchangeInput::ClientGone, ResponseEnd::ClientGone),
    ] {
        let mut story = Story::answered(EVENTS);
        story.hear_all([bytes(&STREAM[..99])]);
        assert_eq!(story.hear(end), ExchangeVerdict::Ended(how));
        story.hear_all([bytes("late"), ExchangeInput::ResponseEnd, ExchangeInput::MemoryFull { bytes_max: 1 }]);
        let answer = story.recorded().answer;
        assert_eq!((answer.status, answer.end, answer.body()), (200, how, STREAM.as_bytes()[..99].to_vec()));
    }
}

#[test]
fn k_11_a_request_that_got_no_answer_is_kept_as_far_as_it_came() {
    for inputs in [vec![], vec![ExchangeInput::RequestBytes("{\"mod".into())], vec![ExchangeInput::RequestEnd]] {
        let came: Vec<u8> =
            if inputs.iter().any(|input| matches!(input, ExchangeInput::RequestBytes(_))) { b"{\"mod".into() } else { vec![] };
        let mut story = Story::begin(&[]);
        story.hear_all(inputs);
        assert_eq!(story.hear(ExchangeInput::UpstreamFailure), ExchangeVerdict::Ended(ResponseEnd::Reset));
        let exchange = story.recorded();
        assert_eq!((exchange.answer.status, exchange.answer.head_at, &*exchange.body), (0, None, &came[..]));
    }
}

#[test]
fn k_1_an_answer_that_comes_before_its_request_is_whole_stands_behind_it_with_its_own_times() {
    let mut story = Story::begin(&[]);
    story.hear_all([head(EVENTS), bytes(STREAM)]);
    assert!(story.read().exchanges.is_empty() && story.exchange.held_bytes() == STREAM.len());
    story.hear_all([ExchangeInput::RequestBytes(QUESTION.into()), ExchangeInput::RequestEnd]);
    assert_eq!(story.hear(ExchangeInput::ResponseEnd), ExchangeVerdict::Ended(ResponseEnd::Complete));
    let exchange = story.recorded();
    assert_eq!((&*exchange.body, exchange.answer.body()), (QUESTION.as_bytes(), STREAM.as_bytes().to_vec()));
    assert_eq!((exchange.answer.head_at, exchange.answer.chunks[0].at), (Some(Micros(1)), Some(Micros(2))));
}

#[test]
fn k_2_a_body_that_cannot_be_searched_for_secrets_is_not_on_the_tape() {
    let mut request = Story::begin(&[("content-encoding", "compress")]);
    let verdict = request.hear(ExchangeInput::RequestEnd);
    request.assert_lost(verdict, "its request is encoded as compress");
    let mut request = Story::begin(&[("content-encoding", "gzip")]);
    request.hear_all([ExchangeInput::RequestBytes(QUESTION.into())]);
    let verdict = request.hear(ExchangeInput::ClientGone);
    request.assert_lost(verdict, "its request does not fit the encoding gzip");
    let mut answer = Story::answered(&[("content-encoding", "gzip")]);
    let verdict = answer.hear(bytes(STREAM));
    answer.assert_lost(verdict, "its answer does not fit the encoding gzip");
    let mut answer = Story::begin(&[]);
    answer.hear_all([ExchangeInput::RequestEnd]);
    let verdict = answer.hear(head(&[("content-encoding", "compress")]));
    answer.assert_lost(verdict, "its answer is encoded as compress");
}

#[test]
fn k_12_limits_end_an_exchange_on_the_tape() {
    let mut large = Story::begin(&[]);
    let piece = Bytes::from(vec![b' '; 32 << 20]);
    large.hear_all((0..4).map(|_| ExchangeInput::RequestBytes(piece.clone())));
    let verdict = large.hear(ExchangeInput::RequestBytes("x".into()));
    large.assert_lost(verdict, "its request is larger than 128 MiB");

    let mut slow = Story::answered(EVENTS);
    slow.tape.sink.is_behind = true;
    let verdict = slow.hear(bytes(STREAM));
    slow.assert_lost(verdict, "the disk is slower than its answer");

    let mut asking = Story::begin(&[]);
    asking.hear_all([ExchangeInput::RequestBytes(QUESTION.into())]);
    let verdict = asking.hear(ExchangeInput::MemoryFull { bytes_max: 1 << 20 });
    asking.assert_lost(verdict, "open bodies took more than 1 MiB together");

    let mut answering = Story::answered(EVENTS);
    answering.hear_all([bytes(&STREAM[..99])]);
    let verdict = answering.hear(ExchangeInput::MemoryFull { bytes_max: 1 << 20 });
    assert_eq!(verdict, ExchangeVerdict::Shortened(99, "open bodies took more than 1 MiB together".into()));
    answering.hear_all([bytes(&STREAM[99..]), ExchangeInput::ResponseEnd]);
    let answer = answering.recorded().answer;
    assert_eq!(
        (answer.end, answer.end_at, answer.body().len()),
        (ResponseEnd::Reset, Some(Micros(4)), 99),
        "cut where its last bytes came"
    );
}

#[test]
fn k_11_a_stream_cut_at_any_byte_is_on_the_tape_to_that_byte() {
    for at in 0..=STREAM.len() {
        let mut story = Story::answered(EVENTS);
        story.hear_all((at > 0).then(|| piece(&STREAM.as_bytes()[..at])));
        assert_eq!(story.hear(ExchangeInput::UpstreamFailure), ExchangeVerdict::Ended(ResponseEnd::Reset));
        assert_eq!(story.recorded().answer.body(), &STREAM.as_bytes()[..at]);
    }
}

#[test]
fn k_1_a_compressed_stream_is_on_the_tape_as_it_reads_wherever_it_is_cut() {
    // One block of raw deflate that is stored as it is, after its length.
    let length = u16::try_from(STREAM.len()).unwrap();
    let packed = [&[1], &length.to_le_bytes()[..], &(!length).to_le_bytes(), STREAM.as_bytes()].concat();
    let headers = [EVENTS, &[("content-encoding", "deflate"), ("content-length", "9"), ("x-kept", "1")]].concat();
    for at in 1..packed.len() {
        let mut story = Story::answered(&headers);
        story.hear_all([piece(&packed[..at]), piece(&packed[at..])]);
        assert_eq!(story.hear(ExchangeInput::ResponseEnd), ExchangeVerdict::Ended(ResponseEnd::Complete));
        let answer = story.recorded().answer;
        assert_eq!((answer.body(), &*answer.headers), (STREAM.as_bytes().to_vec(), &listed(&[EVENTS[0], ("x-kept", "1")])[..]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn k_1_each_piece_is_on_the_tape_as_it_came(cuts in prop::collection::btree_set(1..STREAM.len(), 0..20)) {
        let mut story = Story::answered(EVENTS);
        let bounds: Vec<usize> = std::iter::once(0).chain(cuts).chain([STREAM.len()]).collect();
        let pieces: Vec<&[u8]> = bounds.windows(2).map(|bounds| &STREAM.as_bytes()[bounds[0]..bounds[1]]).collect();
        story.hear_all(pieces.iter().map(|bytes| piece(bytes)));
        prop_assert_eq!(story.hear(ExchangeInput::ResponseEnd), ExchangeVerdict::Ended(ResponseEnd::Complete));
        let chunks = story.recorded().answer.chunks;
        prop_assert_eq!(chunks.iter().map(|chunk| &*chunk.bytes).collect::<Vec<_>>(), pieces);
        prop_assert!(chunks.iter().zip(4..).all(|(chunk, at)| chunk.at == Some(Micros(at))), "each has its own time");
    }
}
