//! Variables of the environment that keep a client from asking a proxy for a server on this machine.
//!
//! A client whose environment names a proxy (`HTTP_PROXY`, `ALL_PROXY`) would send requests for loopback there. The proxy has another loopback. So each
//! client that is started here gets `NO_PROXY` with the names of loopback. What the variable held before stays in it.

use reenact_wire::prelude::*;

/// Both spellings are in use, and programs differ in which one wins.
const NAMES: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// IPv6 has no brackets here: the Anthropic SDK for Python takes `[::1]` for a name with a port, and refuses to start.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The variables for a client, where `before` gives the values that it would have otherwise. `host` is the server's, without brackets.
pub(super) fn variables(host: &str, before: impl Fn(&str) -> Option<String>) -> [(&'static str, String); 2] {
    let before: Vec<String> = NAMES.into_iter().filter_map(before).collect();
    let mut entries: Vec<&str> = Vec::new();
    let known = before.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|entry| !entry.is_empty());
    for entry in known.chain(LOOPBACK_NAMES).chain([host]) {
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    // A star stands for everything, and only alone.
    let value = if entries.contains(&"*") { String::from("*") } else { entries.join(",") };
    NAMES.map(|name| (name, value.clone()))
}

/// The same for a client that has the environment of this process.
#[expect(clippy::disallowed_methods, reason = "the client has this environment, and an entry of it must not be lost")]
pub fn inherited_variables(host: &str) -> [(&'static str, String); 2] {
    variables(host, |name| std::env::var(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_7_proxies_are_never_asked_for_loopback() {
        let of = |before: &[(&str, &str)]| {
            let find = |name: &str| before.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string());
            let [(_, upper), (_, lower)] = variables("127.0.0.1", find);
            assert_eq!(upper, lower);
            upper
        };
        assert_eq!(of(&[]), "localhost,127.0.0.1,::1");
        assert_eq!(of(&[("NO_PROXY", "a.example, 127.0.0.1"), ("no_proxy", "b.example")]), "a.example,127.0.0.1,b.example,localhost,::1");
        assert_eq!(of(&[("NO_PROXY", "*")]), "*");
    }
}
