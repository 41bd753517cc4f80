//! `--only` and `--except`: the packets that the link is for, as words.

use std::net::{IpAddr, ToSocketAddrs as _};

use quell_link::Kind;

pub use quell_link::Only;

/// Why a word names no packets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnlyError {
    /// It is none of the forms.
    #[error(
        "{0:?}: must be a protocol, such as tcp, udp or icmp, one of its ports, such as tcp/443, host:NAME or net:10.0.0.0/8"
    )]
    Form(String),
    /// A name has no address.
    #[error("host:{name}: {source}")]
    Host {
        /// The name.
        name: String,
        /// What the resolver says.
        source: std::io::Error,
    },
}

/// The packets of a list of words; names are resolved now.
///
/// # Errors
///
/// A word is wrong, or a name has no address.
pub fn read(list: &[String], inverted: bool) -> Result<Only, OnlyError> {
    let mut kinds = Vec::new();
    for word in list {
        let form = || OnlyError::Form(word.clone());
        if let Some(name) = word.strip_prefix("host:") {
            let addresses = (name, 0).to_socket_addrs();
            let addresses = addresses.map_err(|source| OnlyError::Host {
                name: name.to_owned(),
                source,
            })?;
            kinds.extend(addresses.map(|address| alone(address.ip())));
        } else if let Some(network) = word.strip_prefix("net:") {
            kinds.push(of_network(network).ok_or_else(form)?);
        } else {
            kinds.push(of_protocol(word).ok_or_else(form)?);
        }
    }
    Ok(Only { kinds, inverted })
}

fn alone(address: IpAddr) -> Kind {
    Kind::Network(address, longest(address))
}

const fn longest(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn of_network(text: &str) -> Option<Kind> {
    let Some((address, length)) = text.split_once('/') else {
        return text.parse().ok().map(alone);
    };
    let address: IpAddr = address.parse().ok()?;
    let length = length.parse().ok()?;
    (length <= longest(address)).then_some(Kind::Network(address, length))
}

fn of_protocol(text: &str) -> Option<Kind> {
    let (name, port) = match text.split_once('/') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let number = match name {
        "icmp" => 1,
        "tcp" => 6,
        "udp" => 17,
        "icmpv6" => 58,
        _ => return None,
    };
    match port {
        None => Some(Kind::Protocol(number)),
        Some(port) if matches!(number, 6 | 17) => {
            let port = port.parse().ok().filter(|port| *port > 0)?;
            Some(Kind::Port(number, port))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn words_name_protocols_ports_hosts_and_networks() {
        let list = |words: &str| {
            let words: Vec<String> = words.split(',').map(str::to_owned).collect();
            read(&words, false)
        };
        let network = |text: &str, length| Kind::Network(text.parse().unwrap(), length);
        assert_eq!(
            list("tcp/443,udp,host:192.0.2.9,net:10.0.0.0/8,net:2001:db8::1")
                .unwrap()
                .kinds,
            [
                Kind::Port(6, 443),
                Kind::Protocol(17),
                network("192.0.2.9", 32),
                network("10.0.0.0", 8),
                network("2001:db8::1", 128),
            ]
        );
        for wrong in [
            "",
            "tcp/",
            "tcp/0",
            "tcp/http",
            "icmp/8",
            "sctp",
            "443",
            "net:10.0.0.0/33",
            "net:x",
        ] {
            let why = list(wrong).unwrap_err().to_string();
            assert!(why.contains("such as tcp/443"), "{why}");
        }
        let why = list("host:none.invalid").unwrap_err().to_string();
        assert!(why.starts_with("host:none.invalid: "), "{why}");
    }
}
