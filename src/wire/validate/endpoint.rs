//! The API's demands on a request beside its conversation: a key, a version, members that it knows, a model that exists (N-6).
//!
//! The checks are one table of data. Each is a pure function, gives no refusal by itself, and says what the API says. The caller decides: a refusal, or
//! a remark. Only clients over HTTP have a head, so a simulated run does not ask for one.

use super::super::raw_json::RawObject;
use super::super::request::Request;
use super::Refusal;
use crate::prelude::*;

/// The head of a request, as far as the API decides by it. The key itself is not kept: it is a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestHead {
    /// Whether there is a key: `x-api-key`, or a token of `authorization: Bearer`.
    pub has_key: bool,
    /// `anthropic-version`.
    pub version: Option<Arc<str>>,
    /// Whether betas are asked for: `anthropic-beta`, or `?beta=true`.
    pub has_betas: bool,
}

impl RequestHead {
    /// Reads a head. A header without a value is none.
    pub fn read(path: &str, header: impl Fn(&str) -> Option<Arc<str>>) -> Self {
        let given = |name: &str| header(name).filter(|value| !value.trim().is_empty());
        let token = |value: Arc<str>| value.strip_prefix("Bearer ").is_some_and(|token| !token.trim().is_empty());
        let query = path.split_once('?').map_or("", |(_, query)| query);
        Self {
            has_key: given("x-api-key").is_some() || given("authorization").is_some_and(token),
            version: given("anthropic-version"),
            has_betas: given("anthropic-beta").is_some() || query.split('&').any(|pair| pair == "beta=true"),
        }
    }
}

/// A request, with what decides about it.
#[derive(Clone, Copy, Debug, Hash)]
pub struct EndpointQuery<'a> {
    /// Its head.
    pub head: &'a RequestHead,
    /// Its body; `None` for a request without one.
    pub request: Option<&'a Request>,
    /// The models that exist beside those of the API's own name.
    pub models: &'a [Arc<str>],
}

/// A mistake that the API finds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndpointFinding {
    /// The refusal.
    pub refusal: Refusal,
    /// The weight of the finding.
    pub weight: FindingWeight,
    /// Whether the head alone shows it.
    pub is_of_head: bool,
}

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingWeight {
    /// The API refuses the request.
    Refused,
    /// The API may take it: nobody outside can know.
    Remark,
}

/// One check: a rule of ours by a short name, the status, and how to find it.
struct EndpointCheck {
    name: &'static str,
    status: u16,
    /// Whether the head alone shows it.
    is_of_head: bool,
    weight: fn(&RequestHead) -> FindingWeight,
    /// The messages of the API, one for each mistake.
    find: fn(&EndpointQuery<'_>) -> Vec<String>,
}

/// The checks in the order in which the API makes them.
const CHECKS: &[EndpointCheck] = &[
    EndpointCheck { name: "no_key", status: 401, is_of_head: true, weight: refused, find: no_key },
    EndpointCheck { name: "no_version", status: 400, is_of_head: true, weight: refused, find: no_version },
    EndpointCheck { name: "unknown_version", status: 400, is_of_head: true, weight: remark, find: unknown_version },
    EndpointCheck { name: "unknown_model", status: 404, is_of_head: false, weight: refused, find: unknown_model },
    EndpointCheck { name: "sampling_member", status: 400, is_of_head: false, weight: refused, find: sampling_members },
    EndpointCheck { name: "beta_member", status: 400, is_of_head: false, weight: refused, find: beta_members },
    EndpointCheck { name: "unknown_member", status: 400, is_of_head: false, weight: remark_under_betas, find: unknown_members },
];

/// The versions of the API.
const VERSIONS: [&str; 3] = ["2023-01-01", "2023-06-01", SECOND_VERSION];

/// The version without members for sampling.
const SECOND_VERSION: &str = "2026-10-21";

/// The members of a body that every request may have, beside those that every request has.
const MEMBERS: [&str; 11] = [
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "thinking",
    "tool_choice",
];

/// Members for sampling: older versions have them.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// Members of betas, each with a beta that has it.
const BETA_MEMBERS: [(&str, &str); 8] = [
    ("billing_policy", "fallback-credit-2026-07-01"),
    ("compaction", "compact-2026-09-04"),
    ("context_management", "context-management-2025-06-27"),
    ("fallback_credit_token", "fallback-credit-2026-07-01"),
    ("fallbacks", "server-side-fallback-2026-07-01"),
    ("mcp_servers", "mcp-client-2025-11-20"),
    ("output_format", "structured-outputs-2025-11-13"),
    ("thread", "message-threads-2026-08-12"),
];

/// All that the API finds, in the order of its checks.
pub fn findings(query: &EndpointQuery<'_>) -> Vec<EndpointFinding> {
    let of_check = |check: &EndpointCheck| {
        let EndpointCheck { name, status, is_of_head, weight, find } = *check;
        let weight = weight(query.head);
        let found = move |message| EndpointFinding { refusal: Refusal { status, name, message }, weight, is_of_head };
        find(query).into_iter().map(found).collect::<Vec<_>>()
    };
    CHECKS.iter().flat_map(of_check).collect()
}

/// The betas that a request needs for its members, for `anthropic-beta`.
pub fn needed_betas(request: &Request) -> Vec<&'static str> {
    let names = member_names(request);
    BETA_MEMBERS.iter().filter(|(member, _)| names.iter().any(|name| name == member)).map(|(_, beta)| *beta).collect()
}

fn refused(_: &RequestHead) -> FindingWeight {
    FindingWeight::Refused
}

fn remark(_: &RequestHead) -> FindingWeight {
    FindingWeight::Remark
}

fn remark_under_betas(head: &RequestHead) -> FindingWeight {
    if head.has_betas { FindingWeight::Remark } else { FindingWeight::Refused }
}

fn no_key(query: &EndpointQuery<'_>) -> Vec<String> {
    listed(!query.head.has_key, || "x-api-key header is required".into())
}

fn no_version(query: &EndpointQuery<'_>) -> Vec<String> {
    listed(query.head.version.is_none(), || "anthropic-version: header is required".into())
}

/// A later version than those of today may be right.
fn unknown_version(query: &EndpointQuery<'_>) -> Vec<String> {
    let unknown = query.head.version.iter().filter(|version| !VERSIONS.contains(&&***version));
    unknown.map(|version| format!("anthropic-version: \"{version}\" is not a valid version")).collect() // plausible
}

fn unknown_model(query: &EndpointQuery<'_>) -> Vec<String> {
    let Some(Request { model, .. }) = query.request else { return Vec::new() };
    listed(!exists(model, query.models), || format!("model: {model}"))
}

/// Whether the API has a model: those of its own name, and those that are given.
pub fn exists(model: &str, given: &[Arc<str>]) -> bool {
    model.starts_with("claude-") || given.iter().any(|known| **known == *model)
}

fn sampling_members(query: &EndpointQuery<'_>) -> Vec<String> {
    let is_second = query.head.version.as_deref() == Some(SECOND_VERSION);
    extra_inputs(query, |name| is_second && SAMPLING.contains(&name))
}

fn beta_members(query: &EndpointQuery<'_>) -> Vec<String> {
    extra_inputs(query, |name| !query.head.has_betas && is_of_beta(name))
}

fn unknown_members(query: &EndpointQuery<'_>) -> Vec<String> {
    extra_inputs(query, |name| !MEMBERS.contains(&name) && !SAMPLING.contains(&name) && !is_of_beta(name))
}

fn is_of_beta(name: &str) -> bool {
    BETA_MEMBERS.iter().any(|(member, _)| *member == name)
}

fn extra_inputs(query: &EndpointQuery<'_>, is_extra: impl Fn(&str) -> bool) -> Vec<String> {
    let names = query.request.map(member_names).unwrap_or_default();
    names.iter().filter(|name| is_extra(name)).map(|name| format!("{name}: Extra inputs are not permitted")).collect()
}

/// The names of the members that a request need not have.
fn member_names(request: &Request) -> Vec<String> {
    let members = RawObject::parse(request.extra.as_str());
    members.map_or_else(|_| Vec::new(), |members| members.members().map(|(name, _)| String::from(name)).collect())
}

fn listed(is_wrong: bool, message: impl FnOnce() -> String) -> Vec<String> {
    if is_wrong { vec![message()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn head(version: &str) -> RequestHead {
        RequestHead { has_key: true, version: Some(version.into()), has_betas: false }
    }

    /// The API's first message, with its weight, or `taken`.
    fn said(head: &RequestHead, model: &str, extra: &str) -> String {
        let request = Request { extra: Json::trusted(extra), ..Request::new(model, 10) };
        let query = EndpointQuery { head, request: Some(&request), models: &["local-7b".into()] };
        findings(&query).first().map_or_else(
            || "taken".into(),
            |EndpointFinding { refusal, weight, .. }| format!("{weight:?} {} {} {}", refusal.name, refusal.status, refusal.message),
        )
    }

    #[test]
    fn n_6_the_endpoint_table() {
        let first = head("2023-06-01");
        let betas = RequestHead { has_betas: true, ..first.clone() };
        let second = head("2026-10-21");
        let model = "claude-sonnet-4-5";
        let table = [
            (&first, model, "{}", "taken"),
            (&second, model, "{}", "taken"),
            (&RequestHead { has_key: false, ..first.clone() }, model, "{}", "Refused no_key 401 x-api-key header is required"),
            (&RequestHead { version: None, ..first.clone() }, model, "{}", "Refused no_version 400 anthropic-version: header is required"),
            (&head("2031-01-01"), model, "{}", "Remark unknown_version 400 anthropic-version: \"2031-01-01\" is not a valid version"),
            (&first, "gpt-4o", "{}", "Refused unknown_model 404 model: gpt-4o"),
            (&first, "claude-next-9", "{}", "taken"),
            (&first, "local-7b", "{}", "taken"),
            (&first, "claude", "{}", "Refused unknown_model 404 model: claude"),
            (&first, model, r#"{"metadata":{},"tool_choice":{"type":"auto"},"top_p":0.5}"#, "taken"),
            (&first, model, r#"{"max_output_tokens":5}"#, "Refused unknown_member 400 max_output_tokens: Extra inputs are not permitted"),
            (&betas, model, r#"{"max_output_tokens":5}"#, "Remark unknown_member 400 max_output_tokens: Extra inputs are not permitted"),
            (&first, model, r#"{"context_management":{}}"#, "Refused beta_member 400 context_management: Extra inputs are not permitted"),
            (&betas, model, r#"{"context_management":{}}"#, "taken"),
            (&first, model, r#"{"temperature":0.5}"#, "taken"),
            (&second, model, r#"{"temperature":0.5}"#, "Refused sampling_member 400 temperature: Extra inputs are not permitted"),
            (&second, model, r#"{"top_k":5}"#, "Refused sampling_member 400 top_k: Extra inputs are not permitted"),
        ];
        for (head, model, extra, expected) in table {
            assert_eq!(said(head, model, extra), expected, "{head:?} {model} {extra}");
        }
        let broken: Vec<&str> = table.iter().map(|row| row.3).collect();
        for check in CHECKS {
            assert!(broken.iter().any(|said| said.contains(&format!(" {} ", check.name))), "{} has no row", check.name);
        }
    }

    #[test]
    fn n_6_the_first_check_that_hits_is_what_the_api_says() {
        let nothing = RequestHead::default();
        let request = Request { extra: Json::trusted(r#"{"a":1,"b":2}"#), ..Request::new("gpt-4o", 10) };
        let names = |request| {
            let found = findings(&EndpointQuery { head: &nothing, request, models: &[] });
            found.iter().map(|finding| (finding.refusal.name, finding.is_of_head)).collect::<Vec<_>>()
        };
        assert_eq!(names(None), [("no_key", true), ("no_version", true)], "a request without a body has a head");
        let of_body = [("unknown_model", false), ("unknown_member", false), ("unknown_member", false)];
        assert_eq!(names(Some(&request)), [&[("no_key", true), ("no_version", true)], &of_body[..]].concat());
    }

    #[test]
    fn n_6_a_member_of_a_beta_names_the_beta_that_it_needs() {
        let of = |extra: &str| needed_betas(&Request { extra: Json::trusted(extra), ..Request::new("claude-sonnet-4-5", 10) });
        assert_eq!(of(r#"{"context_management":{},"metadata":{}}"#), ["context-management-2025-06-27"]);
        assert_eq!(of("{}"), [""; 0]);
    }
}
