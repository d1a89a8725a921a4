//! `[network]` reads back.

use super::*;
use crate::network::{NetworkEvent, NetworkFault, NetworkScript};

#[test]
fn m_11_networks_read_back() {
    let (one, two) = (Micros::from_millis(5), Micros::from_secs(2));
    let event = |kind, lasts| NetworkEvent { at: Latency::Uniform(one, two), kind, lasts, may: false };
    let expect = Expectations { terminal: Some("completed".into()), requests: Some(3), ..Expectations::default() };
    for network in [
        NetworkScript::default(),
        NetworkScript { latency: (one, one), ..NetworkScript::default() },
        NetworkScript {
            latency: (one, two),
            loss: 0.125,
            tick: Micros::from_millis(2),
            events: vec![
                event(NetworkFault::Hold, Some(Latency::Fixed(two))),
                event(NetworkFault::Partition, None),
                event(NetworkFault::Crash, Some(Latency::LogUniform(one, two))),
                NetworkEvent { at: Latency::LogNormal { p50: one, p99: two }, kind: NetworkFault::Reset, lasts: None, may: true },
            ],
            expect: Some(expect),
            skip: None,
        },
        NetworkScript { skip: Some("it is about \"one\" machine".into()), ..NetworkScript::default() },
    ] {
        reads_back(&Scenario { prompts: vec![prompt("x")], network: Some(network), ..Scenario::default() });
    }
}
