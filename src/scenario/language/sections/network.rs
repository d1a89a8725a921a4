//! `[network]`: what lies between engine and model server on a simulated network (M-11).

use crate::language::description::{ValueShape, WrittenForm};
use crate::language::forms::word_forms;
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::toml::TomlValue;
use crate::latency::Latency;
use crate::network::{NetworkEvent, NetworkFault};
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::span::RANGE_HELP;
use crate::parse::tree::TreeValue;
use reenact_wire::prelude::*;

word_forms!(NetworkFault);

keys! {
    /// `[[network.event]]`: an event of the network.
    pub(crate) struct NetworkEventKeys {
        /// The time of the event.
        at: Option<Latency> as Option<EventTime> = None, required, help(EVENT_HELP);
        /// The kind of failure.
        kind: Option<NetworkFault> = None, required, help(EVENT_HELP);
        /// How long. By default to the end. A reset has no length.
        lasts: Option<Latency> as Option<EventTime> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

const EVENT_HELP: &str = "write e.g. at = \"1s..3s\", kind = \"hold\", lasts = \"2s\"";

impl ConvertedTable for NetworkEvent {
    type Keys = NetworkEventKeys;

    fn from_keys(keys: NetworkEventKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let NetworkEventKeys { at, kind, lasts, may } = keys;
        if kind == Some(NetworkFault::Reset) && reader.member("lasts").is_some() {
            reader.key_problem("lasts", "a reset happens in an instant: remove `lasts`".into());
        }
        Some(Self { at: at?, kind: kind?, lasts, may })
    }

    fn to_keys(&self) -> NetworkEventKeys {
        let Self { at, kind, lasts, may } = self.clone();
        NetworkEventKeys { at: Some(at), kind: Some(kind), lasts, may }
    }
}

/// A time, or how to draw one.
struct EventTime;

impl KeyForm for EventTime {
    type Value = Latency;

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "a duration or a range of them", help: RANGE_HELP, example: "\"1s..3s\"" };
        ValueShape::Written(form, Box::new(Latency::shape()))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Latency> {
        let span = Latency::read(value, at, report)?;
        if matches!(span, Latency::Recorded { .. } | Latency::Table(_)) {
            let help = Some(format!("write {key} = \"2s\", or a range: {key} = \"1s..3s\"", key = at.key));
            report.value(value.place, "a network event needs a time or a range, not a recording or a table".into(), help);
        }
        Some(span)
    }

    fn write(value: &Latency) -> TomlValue {
        Latency::write(value)
    }
}
