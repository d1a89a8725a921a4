//! `[network]` as TOML.

use super::text::{latency, range};
use super::{TomlLines, expect_keys};
use crate::prelude::*;
use crate::scenario::network::{NetworkEvent, NetworkFault, NetworkScript};

/// The section with its events, if there is one.
pub(super) fn network_section(out: &mut TomlLines, network: Option<&NetworkScript>) {
    let Some(network) = network else { return };
    let NetworkScript { latency: (low, high), loss, tick, events, skip, expect } = network;
    let usual = NetworkScript::default();
    out.table("[network]");
    if let Some(reason) = skip {
        out.text("skip", reason);
    }
    if (*low, *high) != usual.latency {
        out.raw("latency", range((*low, *high)));
    }
    if *loss > 0.0 {
        out.raw("loss", format!("{loss:?}"));
    }
    out.span("tick", *tick, usual.tick);
    for NetworkEvent { at, kind, lasts, may } in events {
        out.table("[[network.event]]");
        out.raw("at", latency(at));
        let name = NetworkFault::ALL.iter().find(|(_, known)| known == kind).map_or("", |(name, _)| *name);
        out.text("kind", name);
        if let Some(lasts) = lasts {
            out.raw("lasts", latency(lasts));
        }
        out.flag("may", *may, false);
    }
    if let Some(expect) = expect {
        out.table("[network.expect]");
        expect_keys(out, expect);
    }
}
