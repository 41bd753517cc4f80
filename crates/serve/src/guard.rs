//! Who may ask what. A page of any site can send requests to an address of this machine, so each one shows that it comes from our page.
//!
//! 1. `Host` is an address of this connection or a name of this machine, with our port: a site whose name leads here is refused.
//! 2. Everything but the files of the page needs the token.
//! 3. What changes something has our `Origin` too, and is JSON: no form of another site can send that.
//! 4. Every answer has headers that keep others from showing, reading or guessing it. None of them allows another origin anything.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode, Uri};

use crate::token::Token;

/// What an answer has, whatever it is.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
    ),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Why a request is not answered, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self {
            status,
            why: why.into(),
        }
    }

    fn forbidden(why: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, why)
    }
}

/// What a request says of itself.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
    /// Our end of its connection.
    pub(crate) local: SocketAddr,
    /// Whether it is for a file of the page.
    pub(crate) is_page: bool,
}

/// What a request that is let through has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing: it is for a file of the page.
    Nothing,
    /// The token.
    Token,
}

/// Lets a request through, or says why not.
pub(crate) fn check(asked: &Asked<'_>, token: &Token) -> Result<Shown, Refusal> {
    let host = only(asked.headers, &HOST)
        .filter(|host| asked.uri.authority().is_none() && is_ours(host, asked.local));
    if host.is_none() {
        return Err(Refusal::forbidden(
            "the request is for another host; open the address that quell serve printed",
        ));
    }
    if asked.is_page {
        return Ok(Shown::Nothing);
    }
    let shown = only(asked.headers, &AUTHORIZATION)
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    if !token.is(shown.as_bytes()) {
        return Err(Refusal::forbidden(
            "the token is missing or wrong; open the address that quell serve printed",
        ));
    }
    if *asked.method == Method::POST {
        let origin = only(asked.headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        if !origin.is_some_and(|origin| is_ours(origin, asked.local)) {
            return Err(Refusal::forbidden(
                "the request comes from a page of another origin",
            ));
        }
        let kind = only(asked.headers, &CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let why = "the request must have Content-Type: application/json";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
    }
    Ok(Shown::Token)
}

/// The value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

/// Whether `host`, with its port, is this machine as this connection reached it. Any name but `localhost` may lead anywhere tomorrow.
fn is_ours(host: &str, local: SocketAddr) -> bool {
    // An address of an IPv4 socket that also takes IPv6 is the one that was meant.
    let local = SocketAddr::new(local.ip().to_canonical(), local.port());
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
        _ => (host, Some(80)),
    };
    let address = match name.strip_prefix('[') {
        Some(rest) => rest
            .strip_suffix(']')
            .and_then(|text| text.parse().ok())
            .map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    };
    let is_here = match address {
        Some(address) => {
            address == local.ip()
                || (local.ip().is_loopback()
                    && [IpAddr::from([127, 0, 0, 1]), IpAddr::V6(1.into())].contains(&address))
        }
        None => local.ip().is_loopback() && name.eq_ignore_ascii_case("localhost"),
    };
    is_here && port == Some(local.port())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_ours_by_its_address_and_port_only() {
        let loopback: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        let other: SocketAddr = "[::ffff:10.0.0.5]:8080".parse().unwrap();
        let plain: SocketAddr = "[::1]:80".parse().unwrap();
        for (host, local, expected) in [
            ("127.0.0.1:8080", loopback, true),
            ("localhost:8080", loopback, true),
            ("LocalHost:8080", loopback, true),
            ("[::1]:8080", loopback, true),
            ("127.0.0.1", loopback, false),
            ("127.0.0.1:80", loopback, false),
            ("127.0.0.1:08081", loopback, false),
            ("127.0.0.2:8080", loopback, false),
            ("127.1:8080", loopback, false),
            ("2130706433:8080", loopback, false),
            ("example.org:8080", loopback, false),
            ("localhost.example.org:8080", loopback, false),
            ("localhost.:8080", loopback, false),
            ("a@127.0.0.1:8080", loopback, false),
            ("::1:8080", loopback, false),
            ("[::1:8080", loopback, false),
            ("", loopback, false),
            (":8080", loopback, false),
            ("10.0.0.5:8080", other, true),
            ("127.0.0.1:8080", other, false),
            ("localhost:8080", other, false),
            ("10.0.0.6:8080", other, false),
            ("[::1]", plain, true),
            ("localhost", plain, true),
        ] {
            assert_eq!(is_ours(host, local), expected, "{host} at {local}");
        }
    }
}
