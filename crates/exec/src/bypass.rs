//! Ways around the link that can be seen before the program starts: what somebody else does for it does not cross the link.
//!
//! A program that asks a daemon over a Unix socket has that daemon send and receive, in the host's network. A proxy on the host's loopback is no
//! way around the link but one that ends: the loopback inside is the program's own.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::relay::targets::Loopback;
use crate::subnet::Subnet;

/// Programs that have a daemon work for them, and its socket. A socket in the home folder begins with `~`.
const CLIENTS: [(&[&str], &str); 6] = [
    (&["docker", "docker-compose"], "/run/docker.sock"),
    (
        &["nix", "nix-build", "nix-shell", "nix-env"],
        "/nix/var/nix/daemon-socket/socket",
    ),
    (&["snap"], "/run/snapd.socket"),
    (&["pkcon"], "/run/dbus/system_bus_socket"),
    (
        &["chromium", "chromium-browser"],
        "~/.config/chromium/SingletonSocket",
    ),
    (
        &["google-chrome", "google-chrome-stable"],
        "~/.config/google-chrome/SingletonSocket",
    ),
];

/// Variables that name the address of a daemon.
const DAEMONS: [&str; 3] = ["DOCKER_HOST", "CONTAINER_HOST", "NIX_REMOTE"];

/// Variables that name a proxy, in either case (curl(1), wget(1)).
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy"];

/// What of the caller decides.
pub(crate) struct Surroundings<'a> {
    /// The value of a variable.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether there is something at a path, a link that leads nowhere included: that of Chromium names a process.
    pub(crate) is_there: &'a dyn Fn(&Path) -> bool,
}

/// A warning for each way around the link of this program.
pub(crate) fn bypasses(
    program: &str,
    loopback: &Loopback,
    subnet: Subnet,
    surroundings: &Surroundings<'_>,
) -> Vec<String> {
    let mut found = Vec::new();
    for name in DAEMONS {
        let value = (surroundings.variable)(name);
        if let Some(value) = value.filter(|value| value.starts_with("unix:") || value == "daemon") {
            found.push(format!(
                "{name}={value} is a daemon outside of the link: what it fetches does not cross the link"
            ));
        }
    }
    let name = Path::new(program).file_name().unwrap_or_default();
    let home = (surroundings.variable)("HOME").unwrap_or_default();
    for (names, socket) in CLIENTS {
        let path = match socket.strip_prefix("~/") {
            Some(rest) => Path::new(&home).join(rest),
            None => PathBuf::from(socket),
        };
        if names.iter().any(|one| name == *one) && (surroundings.is_there)(&path) {
            found.push(format!(
                "{} is there: {} may have a process outside of the link work for it, whose packets do not cross the link",
                path.display(),
                name.display()
            ));
        }
    }
    for name in PROXIES {
        let named = [name.to_owned(), name.to_uppercase()];
        let mut named = named.into_iter().filter_map(|name| {
            let value = (surroundings.variable)(&name)?;
            port_on_loopback(&value).map(|port| (name, value, port))
        });
        let Some((name, value, port)) = named.next() else {
            continue;
        };
        let host = subnet.host()[0];
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        let remedy = match loopback {
            Loopback::Closed => format!("give --host-loopback, and {name}=http://{host}{port}"),
            Loopback::Open | Loopback::Ports(_) => format!("give {name}=http://{host}{port}"),
        };
        found.push(format!(
            "{name}={value} is on this host's loopback, which is another one for the program: {remedy}"
        ));
    }
    found
}

/// The port of a proxy, where its address is one of the host's loopback.
fn port_on_loopback(proxy: &str) -> Option<Option<u16>> {
    let rest = proxy.split_once("://").map_or(proxy, |(_, rest)| rest);
    let rest = rest.split(['/', '?']).next().unwrap_or(rest);
    let authority = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_loopback = host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
    is_loopback.then(|| port.and_then(|port| port.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(
        program: &str,
        variables: &[(&str, &str)],
        files: &[&str],
        loopback: &Loopback,
    ) -> String {
        let surroundings = Surroundings {
            variable: &|name| {
                let mut all = variables.iter();
                all.find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned())
            },
            is_there: &|path| files.iter().any(|file| Path::new(file) == path),
        };
        bypasses(program, loopback, Subnet::new(2), &surroundings).join("\n")
    }

    #[test]
    fn a_daemon_that_works_for_the_program_is_named_and_only_for_its_clients() {
        let socket = "/run/docker.sock";
        let closed = Loopback::Closed;
        assert!(found("/usr/bin/docker", &[], &[socket], &closed).contains(socket));
        assert_eq!(found("docker", &[], &[], &closed), "");
        assert_eq!(found("curl", &[], &[socket], &closed), "");
        let remote = [("DOCKER_HOST", "unix:///run/user/1000/docker.sock")];
        assert!(found("make", &remote, &[], &closed).starts_with("DOCKER_HOST=unix:"));
        let remote = [("DOCKER_HOST", "tcp://198.51.100.7:2375")];
        assert_eq!(found("make", &remote, &[], &closed), "");
        let home = [("HOME", "/home/a")];
        let running = "/home/a/.config/chromium/SingletonSocket";
        assert!(found("chromium", &home, &[running], &closed).contains(running));
    }

    #[test]
    fn a_proxy_on_the_loopback_is_named_with_the_address_that_works() {
        let at = |name, value, loopback: &Loopback| found("curl", &[(name, value)], &[], loopback);
        for value in [
            "http://127.0.0.1:3128",
            "localhost:3128",
            "http://user:word@[::1]:3128/",
            "socks5h://proxy.localhost:3128",
        ] {
            let why = at("https_proxy", value, &Loopback::Closed);
            assert!(
                why.ends_with("give --host-loopback, and https_proxy=http://10.77.2.254:3128"),
                "{why}"
            );
            let why = at("HTTPS_PROXY", value, &Loopback::Open);
            assert!(
                why.ends_with(": give HTTPS_PROXY=http://10.77.2.254:3128"),
                "{why}"
            );
        }
        for value in ["http://198.51.100.7:3128", "", "http://localhost.example:1"] {
            assert_eq!(at("http_proxy", value, &Loopback::Closed), "", "{value}");
        }
    }
}
