//! `framing` and `framing-long-line`: from bytes to dispatched events.

use super::body;
use super::outcome::{BarLimit, ReportLine, TIMES, count, throughput, time};
use super::peers::{self, CHUNK, ParsedFigures};
use super::rounds;

const BODY_BYTES: usize = 8 << 20;
const LONG_LINE_BYTES: usize = 2 << 20;
/// The payload of one packet on an ordinary network.
const PACKET: usize = 1_460;

pub(crate) fn against_others() -> Vec<ReportLine> {
    let body = body::of_at_least(BODY_BYTES);
    let found = peers::ours(&body, CHUNK);
    assert_eq!((peers::sse_core(&body), peers::sse_stream(&body)), (found, found), "all parsers see the same events");
    let rounds =
        rounds::in_turns([&mut || rounds::used(peers::ours(&body, CHUNK)), &mut || rounds::used(peers::sse_core(&body)), &mut || {
            rounds::used(peers::sse_stream(&body))
        }]);
    let (core, stream) = (rounds.ratio(1, 0), rounds.ratio(2, 0));
    let (name, way) = if core < stream { ("sse-core", 1) } else { ("sse-stream", 2) };
    let speed = |way| throughput(body.len(), rounds.median(way));
    vec![
        ReportLine::Bar {
            name: "framing",
            ours: speed(0),
            theirs: format!("{name} {}", speed(way)),
            figure: rounds.ratio(way, 0),
            unit: TIMES,
            limit: BarLimit::AtLeast(1.0),
        },
        ReportLine::Orientation { name: "sse-core", figure: speed(1) },
        ReportLine::Orientation { name: "sse-stream", figure: speed(2) },
        ReportLine::Orientation { name: "our time for one event", figure: time(rounds.median(0) / count(found.events)) },
    ]
}

pub(crate) fn long_line() -> Vec<ReportLine> {
    let line = |bytes: usize| [b"data: ".as_slice(), &vec![b'x'; bytes], b"\n\n"].concat();
    let (short, long) = (line(LONG_LINE_BYTES), line(2 * LONG_LINE_BYTES));
    assert_eq!(peers::ours(&long, PACKET), ParsedFigures { events: 1, data_bytes: 2 * LONG_LINE_BYTES });
    let rounds = rounds::in_turns([&mut || rounds::used(peers::ours(&long, PACKET)), &mut || rounds::used(peers::ours(&short, PACKET))]);
    vec![ReportLine::Bar {
        name: "framing-long-line",
        ours: format!("4 MiB {}", time(rounds.median(0))),
        theirs: format!("2 MiB {}", time(rounds.median(1))),
        figure: rounds.ratio(0, 1),
        unit: TIMES,
        limit: BarLimit::AtMost(2.6),
    }]
}
