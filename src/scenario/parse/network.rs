//! `[network]`: what lies between engine and model server on a simulated network (M-11).

use super::expect::expect;
use super::fault::FaultProbability;
use super::reader::TableReader;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::scenario::network::{NetworkEvent, NetworkFault, NetworkScript};

/// The longest step: with longer ones nothing would come in time.
const TICK_MAX: Micros = Micros::from_secs(1);

/// Reads the section.
pub(super) fn network(reader: &mut TableReader<'_, '_>) -> NetworkScript {
    let usual = NetworkScript::default();
    let network = NetworkScript {
        latency: latency(reader).unwrap_or(usual.latency),
        loss: reader.get("loss").map_or(usual.loss, |FaultProbability(loss)| loss),
        tick: reader.get("tick").unwrap_or(usual.tick),
        events: reader.entries("event", "[[network.event]]", event),
        skip: reader.get("skip"),
        expect: reader.section("expect", "[network.expect]", expect),
    };
    for key in ["latency", "loss", "tick", "event", "expect"] {
        reader.one_of(&["skip", key]);
    }
    if network.skip.as_ref().is_some_and(|reason| reason.trim().is_empty())
        && let Some(member) = reader.member("skip")
    {
        reader.report.value(member.value.place, "`skip` says why this is not run on a network: give the reason".into(), None);
    }
    if let Some(member) = reader.member("tick")
        && !(Micros::from_millis(1)..=TICK_MAX).contains(&network.tick)
    {
        reader.report.value(member.value.place, "a tick takes from 1ms to 1s".into(), None);
    }
    network
}

/// One figure, or a range.
fn latency(reader: &mut TableReader<'_, '_>) -> Option<(Micros, Micros)> {
    let member = reader.member("latency")?;
    match reader.get::<Latency>("latency")? {
        Latency::Fixed(span) => Some((span, span)),
        Latency::Uniform(low, high) => Some((low, high)),
        _ => {
            let help = Some("write latency = \"20ms\", or a range: latency = \"5ms..80ms\"".into());
            reader.report.value(member.value.place, "packets take one time, or anything in a range".into(), help);
            None
        }
    }
}

fn event(reader: &mut TableReader<'_, '_>) -> Option<NetworkEvent> {
    for key in ["at", "kind"] {
        if reader.member(key).is_none() {
            let message = format!("[[network.event]] needs `{key}`");
            reader.lacks(&[key], message, Some("write e.g. at = \"1s..3s\", kind = \"hold\", lasts = \"2s\"".into()));
        }
    }
    let kind = reader.choice("kind", &NetworkFault::ALL);
    let (at, lasts) = (span(reader, "at"), span(reader, "lasts"));
    if let (Some(NetworkFault::Reset), Some(member)) = (kind, reader.member("lasts")) {
        reader.report.value(member.place, "a reset happens in an instant: remove `lasts`".into(), None);
    }
    let may = reader.get("may").unwrap_or_default();
    Some(NetworkEvent { at: at?, kind: kind?, lasts, may })
}

/// A time, or how to draw one.
fn span(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<Latency> {
    let member = reader.member(key)?;
    let span = reader.get::<Latency>(key)?;
    if matches!(span, Latency::Recorded { .. } | Latency::Table(_)) {
        let help = Some(format!("write {key} = \"2s\", or a range: {key} = \"1s..3s\""));
        reader.report.value(member.value.place, "no recording and no table says when a network fails".into(), help);
    }
    Some(span)
}
