//! The headers that the API adds to each answer, and a tape keeps by itself: an id, and what is left of the rate limits (K-6).

use crate::plan::ResponseHead;
use reenact_wire::http::{HttpHeader, find};
use reenact_wire::prelude::*;

/// The limits of a large account: name, limit, how much a request takes of it at most.
const LIMITS: [(&str, u64, u64); 4] =
    [("requests", 4_000, 1), ("tokens", 2_400_000, 1_000), ("input-tokens", 2_000_000, 1_000), ("output-tokens", 400_000, 0)];

/// When the limits are whole again. A fixed date: the simulated API has no clock of the day.
const RESET: &str = "2026-01-01T00:01:00Z";

/// Adds the headers that the API gives every good answer; headers that the scenario gives stay as they are.
pub(super) fn add_api_headers(head: &mut ResponseHead, request_id: &str, asked: u32) {
    if head.status != 200 {
        return;
    }
    let limits = LIMITS.iter().flat_map(|(name, limit, takes)| {
        let left = limit.saturating_sub(takes.saturating_mul(u64::from(asked)));
        [("limit", limit.to_string()), ("remaining", left.to_string()), ("reset", String::from(RESET))]
            .map(|(what, value)| HttpHeader::new(&format!("anthropic-ratelimit-{name}-{what}"), &value))
    });
    let added = core::iter::once(HttpHeader::new("request-id", request_id)).chain(limits);
    let added = added.filter(|header| find(&head.headers, &header.name).is_none());
    head.headers = head.headers.iter().cloned().chain(added).collect();
}

/// The id of a request that is not one for a message.
pub(super) fn request_id(seed: u64, number: u32) -> String {
    format!("req_011{}", &blake3::hash(format!("{seed}/other/{number}").as_bytes()).to_hex().as_str()[..21])
}
