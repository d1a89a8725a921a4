//! The decision whether a server on this machine takes a request: from web pages, and under host names that may be anybody's (K-6).
//!
//! A page of any site can make a browser send requests to loopback. The browser names the site in `Origin`. So a request with an origin is turned
//! away, unless this origin is allowed by name. With its own domain name bound to 127.0.0.1 a site gets round that check, because then it is the same
//! origin. The browser still names the domain in `Host`. So the host is checked as well.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, VARY,
};
use hyper::http::request;
use hyper::http::uri::Authority;
use hyper::{Method, Uri};

use reenact_wire::prelude::*;

/// The header in which browsers mark a request that a page of another site causes, with an origin or without one.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A browser asks for this before it lets a public page reach a private address.
const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// How many reasons are named, and how much of a header is shown: both come from outside.
const REASONS_MAX: usize = 8;
const SHOWN_MAX: usize = 100;

/// How much of a request that is turned away is read, so that its client gets to read the answer.
const DISCARD_BYTES_MAX: usize = 32 << 20;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(5);

/// The allowed callers beside the programs of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// Web pages of these origins.
    pub origins: Vec<WebOrigin>,
    /// Clients that call this machine by these names.
    pub hosts: Vec<HostName>,
}

/// An origin as browsers write it: `http://localhost:3000`, without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(String);

impl WebOrigin {
    /// Reads one.
    ///
    /// # Errors
    /// When browsers do not write an origin so.
    pub fn read(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if text != "null" && (!is_word(scheme) || !is_word(rest) || rest.contains(['/', '?', '#', '@', '*'])) {
            return Err(String::from("write an origin as browsers do, scheme, host and port and nothing else: http://localhost:3000"));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

/// A name of this machine without a port: `host.docker.internal`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// Reads one, or an IP address.
    ///
    /// # Errors
    /// When it is more than a name.
    pub fn read(text: &str) -> Result<Self, String> {
        let bare = text.trim_start_matches('[').trim_end_matches(']');
        let is_name = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_name && bare.parse::<IpAddr>().is_err() {
            return Err(String::from("write a host name or an IP address, without a port: host.docker.internal"));
        }
        Ok(Self(normal_host(bare)))
    }
}

/// The base URL of a port for clients on this machine. Who listens at all addresses is reached at loopback.
pub fn local_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

/// A warning about a port that is open to other machines; `None` for loopback. `consequence` says what each of them can do.
pub fn exposure_note(address: SocketAddr, consequence: &str) -> Option<String> {
    let is_open = !address.ip().to_canonical().is_loopback();
    is_open.then(|| {
        format!(
            "note: {address} is open to other machines: anyone who can reach port {} of this machine {consequence}; \
             leave out --listen to serve this machine alone",
            address.port()
        )
    })
}

/// The rules at an open port.
#[derive(Clone, Debug)]
pub(super) struct AccessGuard {
    rules: AccessRules,
    listen: IpAddr,
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AccessDecision {
    /// It is a client's. The answer to a web page names its origin.
    Granted { origin: Option<HeaderValue> },
    /// A browser asks whether it may send a request. These headers say yes.
    Preflight(HeaderMap),
    /// It goes no further.
    Refused(AccessRefusal),
}

/// Why a request goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccessRefusal {
    pub(super) status: u16,
    /// A sentence that ends with what to set.
    pub(super) reason: String,
}

impl AccessRefusal {
    /// The body of the answer, in the shape of the API's errors.
    pub(super) fn body(&self) -> String {
        let error = serde_json::json!({ "type": "permission_error", "message": format!("reenact: {}", self.reason) });
        serde_json::json!({ "type": "error", "error": error }).to_string()
    }
}

impl AccessGuard {
    pub(super) fn new(rules: AccessRules, listen: IpAddr) -> Self {
        Self { rules, listen: listen.to_canonical() }
    }

    /// Decides by the head of a request alone.
    pub(super) fn decide(&self, head: &request::Parts) -> AccessDecision {
        let host = head.headers.get_all(HOST).iter().map(HeaderValue::as_bytes).chain(named_host(&head.uri));
        if let Some(host) = host.into_iter().find(|host| !self.knows_host(host)) {
            return AccessDecision::Refused(AccessRefusal {
                status: 421,
                reason: format!(
                    "the request is for the host {}, and only loopback and the address of --listen are served: \
                     add --allow-host NAME if this is a name of this machine",
                    shown(host)
                ),
            });
        }
        let mut origins = head.headers.get_all(ORIGIN).iter();
        let refused = |reason: String| AccessDecision::Refused(AccessRefusal { status: 403, reason });
        match (origins.next(), origins.next()) {
            (None, _) if is_of_another_site(&head.headers) => {
                refused(String::from("a web page of another site caused the request: add --allow-origin URL if you trust this page"))
            }
            (None, _) => AccessDecision::Granted { origin: None },
            (Some(origin), None) if self.rules.origins.iter().any(|allowed| allowed.0.as_bytes() == origin.as_bytes()) => {
                match preflight(head, origin) {
                    Some(headers) => AccessDecision::Preflight(headers),
                    None => AccessDecision::Granted { origin: Some(origin.clone()) },
                }
            }
            (Some(origin), _) => {
                let shown = shown(origin.as_bytes());
                refused(format!("the request is from a web page of the origin {shown}: add --allow-origin {shown} if you trust this page"))
            }
        }
    }

    fn knows_host(&self, host: &[u8]) -> bool {
        let Some(host) = core::str::from_utf8(host).ok().and_then(|host| host.parse::<Authority>().ok()) else { return false };
        if host.as_str().contains('@') {
            return false;
        }
        let name = normal_host(host.host().trim_start_matches('[').trim_end_matches(']'));
        let is_own = match name.parse::<IpAddr>() {
            // A site has its name from a name server, so an address is never a site's. Who listens at all addresses has all of them.
            Ok(address) => address.is_loopback() || address == self.listen || self.listen.is_unspecified(),
            Err(_) => name == "localhost",
        };
        is_own || self.rules.hosts.iter().any(|allowed| allowed.0 == name)
    }
}

/// Adds the headers that an answer to a page of this origin needs.
pub(super) fn mark_for_origin(origin: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    headers.append(VARY, HeaderValue::from_static("origin"));
}

/// Reads what is left of a request that is turned away. A client that is still sending would otherwise find the connection broken.
pub(super) async fn discard(mut body: Incoming) {
    let rest = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, |data| data.len());
            if bytes > DISCARD_BYTES_MAX {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME_MAX, rest).await;
}

/// The host of `GET http://HOST/path`, as requests to a proxy have it.
fn named_host(uri: &Uri) -> Option<&[u8]> {
    Some(uri.authority()?.as_str().as_bytes())
}

/// One form for each host: small letters, no dot at the end, IPv4 addresses as such.
fn normal_host(bare: &str) -> String {
    let name = bare.trim_end_matches('.').to_ascii_lowercase();
    name.parse::<IpAddr>().map(|address| address.to_canonical().to_string()).unwrap_or(name)
}

fn is_of_another_site(headers: &HeaderMap) -> bool {
    headers.get_all(FETCH_SITE).iter().any(|site| site == "cross-site" || site == "same-site")
}

/// The answer to the question of a browser, if the request is one: all that it asks for.
fn preflight(head: &request::Parts, origin: &HeaderValue) -> Option<HeaderMap> {
    let method = head.headers.get(ACCESS_CONTROL_REQUEST_METHOD).filter(|_| head.method == Method::OPTIONS)?;
    let mut headers = HeaderMap::new();
    mark_for_origin(origin, &mut headers);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, method.clone());
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(wanted) = head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    if head.headers.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    Some(headers)
}

/// A header as it can be printed.
fn shown(value: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(value).chars().take(SHOWN_MAX).collect();
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}

/// The requests that were turned away: each reason once, with how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedRequests {
    reasons: Vec<(String, u64)>,
    /// Those with further reasons.
    others: u64,
}

impl RefusedRequests {
    /// Counts one, and returns whether its reason is new and named.
    pub(super) fn count(&mut self, reason: &str) -> bool {
        if let Some((_, count)) = self.reasons.iter_mut().find(|(known, _)| known == reason) {
            *count += 1;
            return false;
        }
        let is_named = self.reasons.len() < REASONS_MAX;
        match is_named {
            true => self.reasons.push((reason.into(), 1)),
            false => self.others += 1,
        }
        is_named
    }

    /// Whether nobody was turned away.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// A sentence for each reason.
    pub fn texts(&self) -> Vec<String> {
        let of = |count: u64, reason: &str| format!("turned away {}: {reason}", plural(count, "request"));
        let others = (self.others > 0).then(|| of(self.others, "hosts and origins that are not named here"));
        self.reasons.iter().map(|(reason, count)| of(*count, reason)).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(listen: &str, origins: &[&str], hosts: &[&str]) -> AccessGuard {
        let origins = origins.iter().map(|text| WebOrigin::read(text).unwrap()).collect();
        let hosts = hosts.iter().map(|text| HostName::read(text).unwrap()).collect();
        AccessGuard::new(AccessRules { origins, hosts }, listen.parse().unwrap())
    }

    fn decide(guard: &AccessGuard, method: &str, uri: &str, headers: &[(&str, &str)]) -> AccessDecision {
        let mut request = hyper::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.decide(&request.body(()).unwrap().into_parts().0)
    }

    fn status(decision: &AccessDecision) -> u16 {
        match decision {
            AccessDecision::Granted { .. } => 200,
            AccessDecision::Preflight(_) => 204,
            AccessDecision::Refused(refusal) => refusal.status,
        }
    }

    #[test]
    fn k_6_hosts_are_loopback_the_own_address_and_those_that_are_allowed() {
        let of = |guard: &AccessGuard, host: &str| status(&decide(guard, "POST", "/v1/messages", &[("host", host)]));
        let plain = guard("127.0.0.1", &[], &["host.docker.internal", "fd00::7"]);
        for host in [
            "localhost",
            "LOCALHOST:80",
            "localhost.:1",
            "127.0.0.1:7",
            "127.9.9.9",
            "[::1]:7",
            "[::ffff:127.0.0.1]:7",
            "Host.Docker.Internal:9",
            "[fd00::7]:9",
        ] {
            assert_eq!(of(&plain, host), 200, "{host}");
        }
        for host in [
            "rebound.example:80",
            "localhost.rebound.example",
            "127.0.0.1.rebound.example",
            "localhost@rebound.example",
            "user@localhost",
            "192.168.1.5",
            "0.0.0.0:80",
            "[::2]",
            "",
            "a b",
        ] {
            assert_eq!(of(&plain, host), 421, "{host}");
        }
        assert_eq!(of(&guard("192.168.1.5", &[], &[]), "192.168.1.5:80"), 200);
        assert_eq!(of(&guard("0.0.0.0", &[], &[]), "192.168.1.5:80"), 200);
        assert_eq!(of(&guard("0.0.0.0", &[], &[]), "rebound.example"), 421);
        // A program that names no host is no browser.
        assert_eq!(status(&decide(&plain, "GET", "/", &[])), 200);
        assert_eq!(status(&decide(&plain, "GET", "http://rebound.example/", &[("host", "localhost")])), 421, "as a proxy is asked");
        assert_eq!(status(&decide(&plain, "GET", "/", &[("host", "localhost"), ("host", "rebound.example")])), 421);
    }

    #[test]
    fn k_6_an_origin_is_allowed_by_its_exact_name() {
        let guard = guard("127.0.0.1", &["http://localhost:3000"], &[]);
        let of = |origin: &str| status(&decide(&guard, "POST", "/", &[("host", "localhost"), ("origin", origin)]));
        assert_eq!(of("http://localhost:3000"), 200);
        for origin in
            ["http://localhost", "http://localhost:30000", "https://localhost:3000", "http://localhost:3000.x.example", "null", ""]
        {
            assert_eq!(of(origin), 403, "{origin}");
        }
        let twice = [("origin", "http://localhost:3000"), ("origin", "http://x.example")];
        assert_eq!(status(&decide(&guard, "POST", "/", &twice)), 403);
        assert_eq!(status(&decide(&guard, "GET", "/", &[("sec-fetch-site", "cross-site")])), 403, "an image of a page has no origin");
        assert_eq!(status(&decide(&guard, "GET", "/", &[("sec-fetch-site", "none")])), 200, "typed by the user");
        for wrong in ["*", "http://*", "localhost:3000", "http://localhost:3000/", "http://a@b", ""] {
            assert!(WebOrigin::read(wrong).is_err(), "{wrong}");
        }
        for wrong in ["host:80", "a/b", "", "*"] {
            assert!(HostName::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn k_6_a_preflight_is_answered_for_allowed_origins_alone() {
        let guard = guard("127.0.0.1", &["http://localhost:3000"], &[]);
        let asked = [("access-control-request-method", "POST"), ("access-control-request-headers", "x-api-key")];
        let of = |origin: &'static str| decide(&guard, "OPTIONS", "/v1/messages", &[&asked[..], &[("origin", origin)]].concat());
        let AccessDecision::Preflight(headers) = of("http://localhost:3000") else { panic!("it is one") };
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "http://localhost:3000");
        assert_eq!(
            (&headers[ACCESS_CONTROL_ALLOW_METHODS], &headers[ACCESS_CONTROL_ALLOW_HEADERS]),
            (&"POST".parse().unwrap(), &"x-api-key".parse().unwrap())
        );
        assert_eq!(status(&of("http://x.example")), 403);
    }

    #[test]
    fn k_6_links_lead_to_this_machine_and_open_ports_are_named() {
        let url = |address: &str| local_url(address.parse().unwrap());
        assert_eq!(url("127.0.0.1:80"), "http://127.0.0.1:80");
        assert_eq!(url("[::1]:80"), "http://[::1]:80");
        assert_eq!(url("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(url("[::]:80"), "http://[::1]:80");
        let note = |address: &str| exposure_note(address.parse().unwrap(), "can look");
        assert_eq!((note("127.0.0.1:80"), note("[::1]:80"), note("[::ffff:127.0.0.1]:80")), (None, None, None));
        assert!(note("0.0.0.0:80").unwrap().contains("anyone who can reach port 80 of this machine can look"));
    }

    #[test]
    fn k_12_reasons_from_outside_are_few_and_short() {
        let mut refused = RefusedRequests::default();
        for number in 0..100 {
            refused.count(&format!("host {number}"));
            refused.count(&format!("host {number}"));
        }
        let texts = refused.texts();
        assert_eq!(texts.len(), REASONS_MAX + 1);
        assert!(texts[0].starts_with("turned away 2 requests: host 0") && texts[REASONS_MAX].contains("184 requests"), "{texts:?}");
        assert_eq!(shown(&[b'x'; 5000]).len(), SHOWN_MAX);
        assert_eq!(shown(b"a\x1b[31m"), "a\u{fffd}[31m");
    }
}
