//! `record`, `record-burst`, `record-memory`: what the recorder costs its client, beside no proxy and the proxies of others. Redaction and writing to the
//! disk are on, and each tape is looked at: it has a line for each event.

use super::client::{self, ReceivedAnswer};
use super::outcome::{BarLimit, ReportLine, TIMES, count, megabytes, time};
use super::rounds::{self, median};
use super::start;
use super::upstream::{self, AnswerSpec};
use super::ways::{self, ClientWay};

/// How many runs; a figure is the median over them.
const RUNS: usize = 5;
/// Each run takes the ways in turns so often, so that what else the machine does meets all of them.
const SLICES: usize = 8;
/// How many events come through a way at a turn.
const EVENTS: usize = 125;

/// The ways, by their place in a round.
const DIRECT: usize = 0;
const OURS: usize = 1;

/// How long events are on their way: in each run, by way, all of them in order.
struct EventDelays {
    runs: Vec<Vec<Vec<f64>>>,
}

impl EventDelays {
    fn measure(ways: &[&ClientWay]) -> Self {
        let runs = (0..RUNS).map(|_| {
            let mut delays = vec![Vec::new(); ways.len()];
            for _ in 0..SLICES {
                for (way, delays) in ways.iter().zip(&mut delays) {
                    let got = client::ask(way.port, AnswerSpec::Paced(EVENTS));
                    assert_eq!(got.delays_ns.len(), EVENTS, "every event comes");
                    delays.extend(got.delays_ns);
                }
            }
            delays.iter_mut().for_each(|delays| delays.sort_unstable_by(f64::total_cmp));
            delays
        });
        Self { runs: runs.collect() }
    }

    /// The delay that a way adds in each run, at the given percentile of the events.
    fn added(&self, way: usize, percent: usize) -> Vec<f64> {
        let at = |delays: &[f64]| delays[delays.len() * percent / 100];
        self.runs.iter().map(|run| at(&run[way]) - at(&run[DIRECT])).collect()
    }

    /// Ours beside another.
    fn bar(&self, name: &'static str, percent: usize, (other, way): (&str, usize), most: f64) -> ReportLine {
        let (ours, theirs) = (median(self.added(OURS, percent)), median(self.added(way, percent)));
        ReportLine::Bar {
            name,
            ours: more(ours),
            theirs: format!("{other} {}", more(theirs)),
            figure: ours / theirs,
            unit: TIMES,
            limit: BarLimit::AtMost(most),
        }
    }

    /// The figures without any proxy, in the middle run of each.
    fn direct(&self) -> ReportLine {
        let at = |percent: usize| time(median(self.runs.iter().map(|run| run[DIRECT][run[DIRECT].len() * percent / 100]).collect()));
        ReportLine::Orientation { name: "direct", figure: format!("p50 {}, p99 {}", at(50), at(99)) }
    }

    fn spread(&self, name: &'static str, way: usize) -> ReportLine {
        let text = |percent: usize| {
            let mut added = self.added(way, percent);
            added.sort_unstable_by(f64::total_cmp);
            format!("{} to {}", more(added[0]), more(added[RUNS - 1]))
        };
        ReportLine::Orientation { name, figure: format!("p50 {}, p99 {}", text(50), text(99)) }
    }
}

/// A difference: a noisy machine may take away as much as a proxy adds.
fn more(nanoseconds: f64) -> String {
    format!("{}{}", if nanoseconds < 0.0 { '-' } else { '+' }, time(nanoseconds.abs()))
}

/// The delay that the recorder adds to each event of a stream as models send it.
pub(crate) fn added() -> Vec<ReportLine> {
    let upstream = upstream::start();
    let (direct, ours) = (ways::direct(upstream), ClientWay::recorder(&start::build_ours(), upstream));
    let (nginx, mitmdump) = (ClientWay::nginx(upstream), ClientWay::mitmdump(upstream));
    let mut ways = vec![&direct, &ours];
    let place = |ways: &mut Vec<_>, way| {
        ways.push(way);
        ways.len() - 1
    };
    let nginx = nginx.as_ref().map(|way| place(&mut ways, way));
    let mitmdump = mitmdump.as_ref().map(|way| place(&mut ways, way));
    let delays = EventDelays::measure(&ways);
    assert_eq!(ours.lines_with("{\"end\""), RUNS * SLICES, "every exchange is on the tape");
    assert!(ours.lines_with("{\"chunk\"") >= RUNS * SLICES * EVENTS, "every event is on the tape by itself");
    let mut lines = Vec::new();
    match nginx {
        Ok(way) => {
            lines.push(delays.bar("record-p50", 50, ("nginx", way), 1.2));
            lines.push(delays.bar("record-p99", 99, ("nginx", way), 1.5));
        }
        Err(why) => lines.push(ReportLine::NotMeasured { name: "record-p50, record-p99", why: why.clone() }),
    }
    match mitmdump {
        Ok(way) => lines.push(delays.bar("record-mitmdump", 50, ("mitmdump", way), 0.5)),
        Err(why) => lines.push(ReportLine::NotMeasured { name: "record-mitmdump", why: why.clone() }),
    }
    lines.push(delays.direct());
    lines.push(delays.spread("added by the recorder", OURS));
    lines.extend(nginx.ok().map(|way| delays.spread("added by nginx", way)));
    lines.extend(mitmdump.ok().map(|way| delays.spread("added by mitmdump", way)));
    lines
}

/// How many events come at once.
const BURST: usize = 20_000;

/// Many events at once.
pub(crate) fn burst() -> Vec<ReportLine> {
    let upstream = upstream::start();
    let (direct, ours) = (ways::direct(upstream), ClientWay::recorder(&start::build_ours(), upstream));
    let nginx = ClientWay::nginx(upstream);
    let all = |got: ReceivedAnswer| assert_eq!(got.delays_ns.len(), BURST, "every event comes");
    let ask = |way: &ClientWay| all(client::ask(way.port, AnswerSpec::Burst(BURST)));
    // Where there is no nginx, the direct way takes its turn: the others are not to be measured otherwise.
    let third = nginx.as_ref().unwrap_or(&direct);
    let rounds = rounds::in_turns_of(21, std::time::Duration::ZERO, [&mut || ask(&direct), &mut || ask(&ours), &mut || ask(third)]);
    let exchanges = ours.lines_with("{\"end\"");
    assert!(ours.lines_with("{\"chunk\"") >= exchanges * BURST, "every event is on the tape by itself");
    let mut lines = vec![ReportLine::Bar {
        name: "record-burst",
        ours: time(rounds.median(OURS)),
        theirs: format!("direct {}", time(rounds.median(DIRECT))),
        figure: rounds.ratio(OURS, DIRECT),
        unit: TIMES,
        limit: BarLimit::AtMost(1.3),
    }];
    lines.push(ReportLine::Orientation { name: "recorder, quartiles", figure: rounds.quartiles(OURS) });
    lines.push(ReportLine::Orientation { name: "direct, quartiles", figure: rounds.quartiles(DIRECT) });
    if nginx.is_ok() {
        lines.push(ReportLine::Orientation { name: "nginx, quartiles", figure: rounds.quartiles(2) });
    }
    lines
}

/// A stream after which memory has reached its plateau, and one of 16 times its length.
const SHORT_MEGABYTES: usize = 64;
const LONG_MEGABYTES: usize = 1_024;

/// How the recorder's memory grows with the length of a stream.
pub(crate) fn memory() -> Vec<ReportLine> {
    let upstream = upstream::start();
    let program = start::build_ours();
    let peak = |megabytes: usize| {
        let ours = ClientWay::recorder(&program, upstream);
        let got = client::ask(ours.port, AnswerSpec::Bulk(megabytes));
        assert!(got.bytes >= megabytes << 20, "the whole stream comes");
        assert_eq!(ours.lines_with("{\"end\""), 1, "the exchange is on the tape");
        let speed = format!("{:.0} MB/s", count(got.bytes) / got.took_ns * 1e3);
        ways::memory_peak_bytes(ours.process()).map(|peak| (peak, speed))
    };
    let peaks = peak(SHORT_MEGABYTES).and_then(|short| Ok((short, peak(LONG_MEGABYTES)?)));
    match peaks {
        Ok(((short, _), (long, speed))) => vec![
            ReportLine::Bar {
                name: "record-memory",
                ours: megabytes(long),
                theirs: format!("1/16 as long: {}", megabytes(short)),
                figure: count(long) / count(short),
                unit: TIMES,
                limit: BarLimit::AtMost(1.5),
            },
            ReportLine::Orientation { name: "1 GB through the recorder", figure: speed },
        ],
        Err(why) => vec![ReportLine::NotMeasured { name: "record-memory", why }],
    }
}
