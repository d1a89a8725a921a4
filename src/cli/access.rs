//! Where a server listens, and who may ask it: options that `serve` and `record` share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::live::access::{AccessRules, HostName, WebOrigin};

#[derive(Debug, clap::Args)]
pub(super) struct AccessArguments {
    /// The address to listen on, with a port or without: `127.0.0.1`, `[::1]:0`; others than loopback are open to other machines
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = listen_address)]
    listen: ListenAddress,
    /// The port to listen on; any free port when not given
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Answer web pages of this origin, e.g. `http://localhost:3000`; requests of all other pages are turned away
    #[arg(long = "allow-origin", value_name = "URL", value_parser = WebOrigin::read)]
    origins: Vec<WebOrigin>,
    /// Answer clients that call this machine by this name, e.g. `host.docker.internal`; when not given, loopback and the address of --listen
    #[arg(long = "allow-host", value_name = "NAME", value_parser = HostName::read)]
    hosts: Vec<HostName>,
}

/// An address, and the port if one is written with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListenAddress {
    ip: IpAddr,
    port: Option<u16>,
}

impl AccessArguments {
    /// Where to listen.
    pub(super) fn address(&self) -> Result<SocketAddr, String> {
        match (self.listen.port, self.port) {
            (Some(one), Some(other)) if one != other => {
                Err(format!("--listen names port {one} and --port names port {other}: leave one of them out"))
            }
            (one, other) => Ok(SocketAddr::new(self.listen.ip, one.or(other).unwrap_or(0))),
        }
    }

    pub(super) fn rules(&self) -> AccessRules {
        AccessRules { origins: self.origins.clone(), hosts: self.hosts.clone() }
    }
}

fn listen_address(text: &str) -> Result<ListenAddress, String> {
    let localhost = |text: &str| if text == "localhost" { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { text.parse().ok() };
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Some(ip) = localhost(bare) {
        return Ok(ListenAddress { ip, port: None });
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(ListenAddress { ip: address.ip(), port: Some(address.port()) });
    }
    let of_localhost = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    of_localhost
        .map(|port| ListenAddress { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), port: Some(port) })
        .ok_or_else(|| String::from("write an IP address, with a port or without: 127.0.0.1, 0.0.0.0:8080, ::1 or [::1]:8080"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_6_an_address_to_listen_on_may_have_a_port() {
        for (text, ip, port) in [
            ("127.0.0.1", "127.0.0.1", None),
            ("localhost", "127.0.0.1", None),
            ("localhost:7", "127.0.0.1", Some(7)),
            ("0.0.0.0:80", "0.0.0.0", Some(80)),
            ("::1", "::1", None),
            ("[::1]", "::1", None),
            ("[::1]:0", "::1", Some(0)),
        ] {
            assert_eq!(listen_address(text), Ok(ListenAddress { ip: ip.parse().unwrap(), port }), "{text}");
        }
        for wrong in ["", "example.com", "127.0.0.1:port", "[::1", "127.0.0.1:70000"] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }
}
