//! The network between engine and model server when a scenario runs on a simulated network (M-11): its latency, its losses and its failures.
//!
//! Times are those of the scenario. Each is drawn under a key of its own, so that one more event moves no other.

use super::expectations::Expectations;
use super::latency::Latency;
use crate::language::description::{ValueShape, WrittenForm};
use crate::language::forms::Probability;
use crate::language::keys::{KeyForm, KeyPosition, keys};
use crate::language::tables::{Section, Sections};
use crate::language::text;
use crate::language::toml::TomlValue;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::span::RANGE_HELP;
use crate::parse::tree::TreeValue;
use reenact_engine::random::Seed;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

keys! {
    /// `[network]`: a simulated network between engine and model server (M-11).
    pub struct NetworkScript check check_network {
        /// How long a packet takes: this, or anything between the two.
        latency: (Micros, Micros) as PacketLatency = (Micros::ZERO, Micros::ZERO);
        /// How often a packet is lost, from 0 to 1. Nothing is sent again, so that the connection is dead from then on.
        loss: f64 as Probability = 0.0;
        /// The length of one step of time, from 1ms to 1s. Shorter times are 0.
        tick: Micros = Micros::from_millis(10), example("\"1ms\"");
        /// The events of the network.
        events: Vec<NetworkEvent> as Sections<NetworkEvent> = Vec::new(), key("event"), example("[{ at = \"1s\", kind = \"reset\" }]");
        /// Why the scenario is not run on a network.
        skip: Option<String> = None, not_blank("`skip` says why this is not run on a network: give the reason");
        /// The conditions at the end on the network. By default the same as without one.
        expect: Option<Expectations> as Option<Section<Expectations>> = None;
    }
}

/// Something that happens to the network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkEvent {
    /// The time of the event.
    pub at: Latency,
    /// The kind of event.
    pub kind: NetworkFault,
    /// How long; `None` for to the end. What happens in an instant has no length.
    pub lasts: Option<Latency>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

words! {
    /// A failure of a network, or its end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NetworkFault {
        /// Packets wait; afterwards they arrive.
        Hold = "hold",
        /// Packets are dropped. Connections from before stay dead when it is over.
        Partition = "partition",
        /// The server's process ends, and its connections with it; afterwards it is started again.
        Crash = "crash",
        /// All connections break, on both sides.
        Reset = "reset",
    }
}

/// One change of the network at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkChange {
    /// The time of the event.
    pub at: Micros,
    /// The failure that begins or ends.
    pub kind: NetworkFault,
    /// Whether it begins or ends.
    pub side: NetworkPhase,
}

/// Which end of something that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkPhase {
    /// It begins.
    Begins,
    /// It is over.
    Ends,
}

impl NetworkScript {
    /// Everything that happens, in order, with the times of this seed. At the same time, what was written first comes first.
    pub fn changes(&self, seed: Seed) -> Vec<NetworkChange> {
        let mut changes = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            let mut draws = seed.draws("network-event", &format!("{index}"));
            let at = event.at.draw(&mut draws, None, 0).unwrap_or_default();
            changes.push(NetworkChange { at, kind: event.kind, side: NetworkPhase::Begins });
            let lasts = event.lasts.as_ref().and_then(|lasts| lasts.draw(&mut draws, None, 0));
            changes.extend(lasts.map(|lasts| NetworkChange { at: at + lasts, kind: event.kind, side: NetworkPhase::Ends }));
        }
        changes.sort_by_key(|change| change.at);
        changes
    }

    /// When each event begins, with the times of this seed.
    pub fn begins(&self, seed: Seed) -> Vec<Micros> {
        let at = |(index, event): (usize, &NetworkEvent)| {
            let mut draws = seed.draws("network-event", &format!("{index}"));
            event.at.draw(&mut draws, None, 0).unwrap_or_default()
        };
        self.events.iter().enumerate().map(at).collect()
    }

    /// Whether connections may break, so that an answer may be asked for again.
    pub fn is_rough(&self) -> bool {
        self.loss > 0.0 || !self.events.is_empty()
    }
}

/// The longest step: with longer ones nothing would come in time.
const TICK_MAX: Micros = Micros::from_secs(1);

/// Holds the keys of `[network]` against each other.
fn check_network(network: &NetworkScript, reader: &mut TableReader<'_, '_>) {
    for key in ["latency", "loss", "tick", "event", "expect"] {
        reader.one_of(&["skip", key]);
    }
    if reader.member("tick").is_some() && !(Micros::from_millis(1)..=TICK_MAX).contains(&network.tick) {
        reader.value_problem("tick", "a tick takes from 1ms to 1s".into());
    }
}

/// One figure, or a range.
struct PacketLatency;

impl KeyForm for PacketLatency {
    type Value = (Micros, Micros);

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "a duration or a range of them", help: RANGE_HELP, example: "\"5ms..80ms\"" };
        ValueShape::Written(form, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<(Micros, Micros)> {
        match Latency::read(value, at, report)? {
            Latency::Fixed(span) => Some((span, span)),
            Latency::Uniform(low, high) => Some((low, high)),
            _ => {
                let help = Some("write latency = \"20ms\", or a range: latency = \"5ms..80ms\"".into());
                report.value(value.place, "packets take one time, or anything in a range".into(), help);
                None
            }
        }
    }

    fn write(value: &(Micros, Micros)) -> TomlValue {
        TomlValue::Inline(text::range(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_11_each_event_has_draws_of_its_own() {
        let range = Latency::Uniform(Micros::ZERO, Micros::from_secs(9));
        let event = |kind| NetworkEvent { at: range.clone(), kind, lasts: Some(range.clone()), may: false };
        let of = |kinds: &[NetworkFault]| NetworkScript { events: kinds.iter().copied().map(event).collect(), ..NetworkScript::default() };
        let one = of(&[NetworkFault::Hold]).changes(Seed(3));
        let two = of(&[NetworkFault::Hold, NetworkFault::Crash]).changes(Seed(3));
        assert_eq!(one, two.iter().copied().filter(|change| change.kind == NetworkFault::Hold).collect::<Vec<_>>());
        assert!(two.is_sorted_by_key(|change| change.at));
        assert_ne!(one, of(&[NetworkFault::Hold]).changes(Seed(4)));
    }
}
