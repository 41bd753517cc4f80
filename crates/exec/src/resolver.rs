//! Names behind the link: resolv.conf names addresses of the far edge, and the relay hands each query to the host's own servers.
//!
//! The host's servers are often on its loopback (127.0.0.53), which the program cannot reach and the relay can: its sockets are the host's.
//! resolv.conf is replaced in the program's own mounts only. Services that answer over Unix sockets would bypass the link: their folders
//! are empty for the program. From resolv.conf(5) and mount_namespaces(7).
//!
//! Deviation: a host that replaces its resolv.conf by renaming another over it takes the program's one away, too; the program then sees the
//! host's new one.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use crate::mounts::own_mounts;
use crate::network::NAME_SERVICE;
use crate::subnet::{MOST_SERVERS, Subnet};

/// The file of name servers.
pub const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Where nss-resolve and nscd listen.
const SERVICES: [&str; 2] = ["/run/systemd/resolve", "/run/nscd"];

/// What the host's resolv.conf says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// At most three servers.
    pub servers: Vec<SocketAddr>,
    /// All other lines.
    pub rest: String,
}

impl Names {
    /// Of this host; empty where it has no such file.
    pub fn of_host() -> Self {
        Self::read(&fs::read_to_string(RESOLV_CONF).unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        let mut names = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["nameserver", address, ..] => names.servers.extend(server(address)),
                [first, ..] if !first.starts_with(['#', ';']) => {
                    names.rest.push_str(line.trim());
                    names.rest.push('\n');
                }
                _ => {}
            }
        }
        names.servers.truncate(MOST_SERVERS);
        names
    }

    /// Whether there are servers, and all are reached by the host itself only.
    pub fn are_of_loopback(&self) -> bool {
        let mut servers = self.servers.iter();
        !self.servers.is_empty() && servers.all(|server| server.ip().is_loopback())
    }

    /// The file for the program, with an address for each server.
    pub fn inside(&self, subnet: Subnet) -> String {
        let stand_in = |index| subnet.names(index)[0];
        self.with((0..self.servers.len()).map(stand_in))
    }

    /// The file for the program with these servers, which stand for those of the host.
    pub(crate) fn with(&self, servers: impl IntoIterator<Item = IpAddr>) -> String {
        let mut text =
            "# Written by quell exec: these servers stand for those of the host.\n".to_owned();
        for server in servers {
            let _ = writeln!(text, "nameserver {server}");
        }
        text + &self.rest
    }
}

/// An address, with the interface that a link-local one needs.
fn server(text: &str) -> Option<SocketAddr> {
    let (address, scope) = text.split_once('%').unwrap_or((text, ""));
    match address.parse().ok()? {
        IpAddr::V4(address) => Some(SocketAddr::new(address.into(), NAME_SERVICE)),
        IpAddr::V6(address) => {
            let index = fs::read_to_string(format!("/sys/class/net/{scope}/ifindex"));
            let index = index.ok().and_then(|text| text.trim().parse().ok());
            let scope = scope.parse().ok().or(index).unwrap_or(0);
            Some(std::net::SocketAddrV6::new(address, NAME_SERVICE, 0, scope).into())
        }
    }
}

/// Gives this process mounts of its own, in which resolv.conf has the content `text`. Needs CAP_SYS_ADMIN.
///
/// # Errors
///
/// A mount is refused. A host without a resolv.conf keeps none.
pub fn replace(text: &str) -> io::Result<()> {
    own_mounts()?;
    write(text)
}

/// The same in mounts that are this process's own already.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let target = fs::canonicalize(RESOLV_CONF).ok();
    let mut written = false;
    for folder in SERVICES
        .map(Path::new)
        .into_iter()
        .filter(|path| path.is_dir())
    {
        empty(folder)?;
        // A link may lead into the folder that is empty now.
        if let Some(target) = target
            .as_deref()
            .filter(|target| target.starts_with(folder))
        {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(target, text)?;
            written = true;
        }
    }
    let Some(target) = target.filter(|_| !written) else {
        return Ok(());
    };
    // A file system of our own for one file: nothing is written where others could see it. It stays, under its new name alone.
    let Some(place) = somewhere(&target) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    empty(&place)?;
    let file = place.join("resolv.conf");
    let bound = fs::write(&file, text).and_then(|()| Ok(mount_bind(&file, &target)?));
    unmount(&place, UnmountFlags::DETACH)?;
    bound
}

/// A folder that exists and does not hold `target`.
fn somewhere(target: &Path) -> Option<PathBuf> {
    let places = ["/tmp", "/run", "/mnt", "/var", "/dev"].map(PathBuf::from);
    places
        .into_iter()
        .find(|place| place.is_dir() && !target.starts_with(place))
}

fn empty(folder: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(
        "tmpfs",
        folder,
        "tmpfs",
        flags,
        c"size=64k,mode=755",
    )?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn servers_are_replaced_and_everything_else_stays() {
        let names = Names::read(
            "# generated\nnameserver 127.0.0.53\n  nameserver ::1 \nsearch example.org\noptions edns0 trust-ad\n; end\nnameserver nonsense\n",
        );
        let expected: [SocketAddr; 2] = [
            "127.0.0.53:53".parse().unwrap(),
            "[::1]:53".parse().unwrap(),
        ];
        assert_eq!(names.servers, expected);
        let inside = names.inside(Subnet::new(4));
        assert_eq!(
            inside.lines().skip(1).collect::<Vec<_>>(),
            [
                "nameserver 10.77.4.53",
                "nameserver 10.77.4.54",
                "search example.org",
                "options edns0 trust-ad"
            ]
        );
    }

    #[test]
    fn only_three_servers_count_as_in_glibc() {
        let text = "nameserver 192.0.2.1\n".repeat(5);
        assert_eq!(Names::read(&text).servers.len(), MOST_SERVERS);
        assert_eq!(Names::read("").inside(Subnet::new(0)).lines().count(), 1);
    }
}
