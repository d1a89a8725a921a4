//! Events at a tape writer that no client causes.

use super::super::exchange::ProxiedRequestHead;
use super::*;
use reenact_scenario::tape::ResponseEnd;
use reenact_wire::http::HttpHeader;

#[test]
fn k_12_when_open_bodies_take_too_much_the_youngest_ends_where_it_is() {
    const BEGUN: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
        \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    const MORE: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"sk-ant-\"}}\n\n";
    let (batches, lines) = std::sync::mpsc::channel();
    let redactor = Redactor::new(&reenact_redact::RedactionRules::with(&[]).unwrap());
    let mut writer = TapeWriter::new(&TapeHeader::default(), redactor, batches, Arc::new(RecorderState::default()), |_| ());
    writer.open_bytes_max = 3 * MORE.len();
    let hear = |writer: &mut TapeWriter, id, input| writer.take(TapeWriterEvent::Exchange { id, at: Micros(0), input, written: None });
    let hear_bytes = |writer: &mut TapeWriter, id, text: &'static str| {
        writer.tape.sink.shared.room.take(text.len());
        hear(writer, id, ExchangeInput::ResponseBytes(bytes::Bytes::from_static(text.as_bytes())));
    };
    for id in 1..=3 {
        let head = ProxiedRequestHead { method: String::from("POST"), path: String::from("/v1/messages"), headers: Vec::new() };
        writer.take(TapeWriterEvent::Request { id, at: Micros(0), head });
        hear(&mut writer, id, ExchangeInput::RequestEnd);
        let headers = vec![HttpHeader::new("content-type", "text/event-stream")];
        hear(&mut writer, id, ExchangeInput::ResponseHead { status: 200, headers });
        hear_bytes(&mut writer, id, BEGUN);
    }
    [1, 2, 3, 1, 2, 3, 1].into_iter().for_each(|id| hear_bytes(&mut writer, id, MORE));
    assert!(writer.open_bytes <= writer.open_bytes_max, "{} bytes are held", writer.open_bytes);
    (1..=3).for_each(|id| hear(&mut writer, id, ExchangeInput::ResponseEnd));
    assert_eq!(writer.open_bytes, 0);
    writer.tape.sink.hand_over();
    let mut decoder = reenact_scenario::tape::line::TapeDecoder::new();
    for batch in lines.try_iter() {
        batch.lines.lines().for_each(|line| decoder.feed(line.as_bytes()).unwrap());
    }
    let tape = decoder.finish().unwrap();
    let ends: Vec<(u32, ResponseEnd)> = tape.exchanges.iter().map(|exchange| (exchange.id, exchange.answer.end)).collect();
    assert_eq!((ends[0], ends[2]), ((1, ResponseEnd::Complete), (3, ResponseEnd::Reset)), "{:?}", writer.summary.shortened);
    assert_eq!(tape.exchanges[0].answer.body().len(), BEGUN.len() + 3 * MORE.len(), "what was open longest is whole");
    assert!(writer.summary.shortened.iter().any(|sentence| sentence.starts_with("exchange 3 is cut on the tape after ")));
    assert!(!writer.summary.is_whole());
}

#[test]
fn k_10_a_folder_is_told_apart_by_its_path_without_a_slash_behind_it() {
    let shown = |path: &str| folder_prefix(Path::new(path));
    assert_eq!(["/tmp/x", "/tmp/x/", "/tmp/x//"].map(shown), [(); 3].map(|()| Some(String::from("/tmp/x"))));
    assert_eq!(["/", "//", "", "x", "./x"].map(shown), [(); 5].map(|()| None));
}
