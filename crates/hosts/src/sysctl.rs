//! Settings of a namespace's network stack, through `/proc/sys/net`.
//!
//! From the kernel's Documentation/networking/ip-sysctl.rst. `/proc/sys/net` shows the namespace of the thread that opens it;
//! its owner may write there, also inside a user namespace. A setting that this kernel does not have is ignored.
//!
//! Container engines mount `/proc/sys` read-only. Then a setting is made in a `/proc` of our own, which nobody else sees and the kernel gives to
//! root with CAP_SYS_ADMIN, but not in a user namespace (`mount_too_revealing`, fs/namespace.c). Where that is refused too, [`Without`] says
//! what becomes of each setting; many have their value from the start.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::error::Doing as _;
use crate::{Error, Result};

/// What becomes of a setting that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    /// The namespace works without it, and nothing that is measured differs.
    Fine,
    /// Interfaces must be told that they have no address of their own, as [`ReadOnly::announces`] says.
    Announces,
    /// Connections differ, as [`ReadOnly`] says.
    Metrics,
    /// The namespace does not do what it is there for.
    Refused,
}

/// A key, its value, and what becomes of it where it cannot be set.
type Setting = (&'static str, &'static str, Without);

/// Quiet IPv6: no autoconfiguration, router solicitation, duplicate detection or link-local address. Before interfaces exist. Without these,
/// each interface is told that it has no address of its own ([`crate::netlink::Netlink::have_no_address`]), so that there is nothing to solicit
/// from; each address is entered without duplicate detection; and nobody sends advertisements.
const QUIET_IPV6: &[Setting] = &[
    ("net.ipv6.conf.default.accept_dad", "0", Without::Fine),
    ("net.ipv6.conf.default.dad_transmits", "0", Without::Fine),
    ("net.ipv6.conf.default.accept_ra", "0", Without::Fine),
    ("net.ipv6.conf.default.autoconf", "0", Without::Fine),
    (
        "net.ipv6.conf.default.router_solicitations",
        "0",
        Without::Fine,
    ),
    (
        "net.ipv6.conf.default.addr_gen_mode",
        "1",
        Without::Announces,
    ),
];

/// An interface without an address sends nothing of IPv6 and takes nothing, as if it had none.
const NO_IPV6: &[Setting] = &[
    ("net.ipv6.conf.all.disable_ipv6", "1", Without::Announces),
    (
        "net.ipv6.conf.default.disable_ipv6",
        "1",
        Without::Announces,
    ),
];

/// A host whose TCP begins each flow as if it were the first.
const HOST: &[Setting] = &[
    // No flow inherits the threshold or RTT of the flow before.
    ("net.ipv4.tcp_no_metrics_save", "1", Without::Metrics),
    // ECN on request only; routes with `features ecn`, or a congestion control that needs it, ask. A new namespace begins so.
    ("net.ipv4.tcp_ecn", "2", Without::Refused),
    // A new namespace has these from the start.
    ("net.ipv4.tcp_sack", "1", Without::Refused),
    ("net.ipv4.tcp_timestamps", "1", Without::Refused),
    ("net.ipv4.tcp_window_scaling", "1", Without::Refused),
    ("net.ipv4.tcp_moderate_rcvbuf", "1", Without::Refused),
    ("net.ipv4.tcp_mtu_probing", "0", Without::Refused),
    // Flows that open one connection after another use a port again a second after its last connection. There are 28 232 ports.
    ("net.ipv4.tcp_tw_reuse", "1", Without::Fine),
    // Addresses are /32 and sources are preferred per route: a reverse path check has nothing to say.
    ("net.ipv4.conf.all.rp_filter", "0", Without::Fine),
    ("net.ipv4.conf.default.rp_filter", "0", Without::Fine),
];

/// RFC 9768 in both directions.
const ACCURATE_ECN: (&str, &str) = ("net.ipv4.tcp_ecn", "3");

const NO_ECN: &[Setting] = &[("net.ipv4.tcp_ecn", "0", Without::Refused)];

/// A router of IPv4 that sends nothing of its own. What it passes on leaves by another interface than it came by, so it redirects nobody.
const ROUTER: &[Setting] = &[
    ("net.ipv4.ip_forward", "1", Without::Refused),
    ("net.ipv4.conf.all.rp_filter", "0", Without::Fine),
    ("net.ipv4.conf.default.rp_filter", "0", Without::Fine),
    ("net.ipv4.conf.all.send_redirects", "0", Without::Fine),
    ("net.ipv4.conf.default.send_redirects", "0", Without::Fine),
];

/// A host that answers in the name of others: errors of theirs are not this host's to report, and it knows no better way.
const FAR_EDGE: &[Setting] = &[
    ("net.ipv4.conf.all.send_redirects", "0", Without::Fine),
    ("net.ipv4.conf.default.send_redirects", "0", Without::Fine),
];
/// Ports below 1024 need no right.
const LOW_PORTS: (&str, &str) = ("net.ipv4.ip_unprivileged_port_start", "0");

/// What a host does without because `/proc/sys` cannot be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOnly {
    /// Connections begin with what earlier ones to the same host measured.
    keeps_metrics: bool,
    /// Interfaces that come up announce themselves.
    announces: bool,
    /// The window that buffers hold, in bytes, where it is less than was asked for.
    window: Option<u64>,
}

impl ReadOnly {
    /// What this and another host do without.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let windows = [self.window, other.window].into_iter().flatten();
        Self {
            keeps_metrics: self.keeps_metrics || other.keeps_metrics,
            announces: self.announces || other.announces,
            window: windows.min(),
        }
    }

    /// Whether an interface that comes up must be told first that it has no address of its own.
    pub fn announces(self) -> bool {
        self.announces
    }

    /// A warning for a result, if it may differ; flows need windows of `needed` bytes.
    pub fn warning(self, needed: u64) -> Option<String> {
        let metrics = self
            .keeps_metrics
            .then(|| "a connection may begin with the RTT that an earlier one measured".to_owned());
        let window = self.window.filter(|window| *window < needed);
        let window = window.map(|window| {
            let mega = |bytes: u64| bytes.div_ceil(100_000) as f64 / 10.0;
            format!(
                "TCP windows reach {} MB, and this link needs {} MB",
                mega(window),
                mega(needed)
            )
        });
        let all: Vec<String> = [window, metrics].into_iter().flatten().collect();
        (!all.is_empty()).then(|| {
            format!(
                "/proc/sys cannot be written here, as in most containers: {}",
                all.join("; ")
            )
        })
    }
}

/// Smallest and initial sizes that tcp(7) gives; only the maxima are ours.
const BUFFER_MINIMUM: u64 = 4096;
const BUFFER_INITIAL: u64 = 131_072;
/// A buffer counts memory, a window payload. A page-sized buffer per 1448-byte segment plus its header is below 4 to 1.
const MEMORY_PER_WINDOW: u64 = 4;

/// Prepares the namespace of the calling thread for an end host whose windows reach `max_window` bytes.
pub fn prepare_host(max_window: u64, ipv6: bool) -> Result<ReadOnly> {
    let buffer = buffer_limits(max_window);
    let mut without = set_all(if ipv6 { QUIET_IPV6 } else { NO_IPV6 })?;
    without = without.and(set_all(HOST)?);
    for key in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        if !is_set(key, &buffer)? {
            without = without.and(ReadOnly {
                window: window_of(&get(key)?).filter(|window| *window < max_window),
                ..ReadOnly::default()
            });
        }
    }
    Ok(without)
}

/// Has every connection of the calling thread's namespace ask for AccECN and accept it (`tcp_ecn` = 3, from Linux 6.18 on). A kernel that does
/// not know AccECN stays as it is, and so does one whose settings cannot be written.
pub fn request_accurate_ecn() -> Result<()> {
    let (key, value) = ACCURATE_ECN;
    match write(key, value) {
        Err(error) if error.kind() == ErrorKind::InvalidInput || is_read_only(&error) => Ok(()),
        outcome => outcome.doing(|| format!("set {key} = {value}")),
    }
}

/// Has no connection of the calling thread's namespace take part in ECN unless its route or its control wants it.
pub fn refuse_ecn() -> Result<()> {
    set_all(NO_ECN).map(drop)
}

/// What TCP does about ECN in the calling thread's namespace, as `net.ipv4.tcp_ecn` counts: 0 never, 1 asks, 2 answers, 3 AccECN. False
/// where it stays as it is, because settings cannot be written.
pub fn set_ecn(value: u8) -> Result<bool> {
    is_set("net.ipv4.tcp_ecn", &value.to_string())
}

/// Prepares the namespace of the calling thread for a relay: it answers in the name of any host, at any port. False where ports below 1024
/// need a right all the same (CAP_NET_BIND_SERVICE).
pub fn prepare_far_edge() -> Result<bool> {
    set_all(FAR_EDGE)?;
    is_set(LOW_PORTS.0, LOW_PORTS.1)
}

/// Prepares the namespace of the calling thread for the link: it only carries frames and sends none of its own.
pub fn prepare_link() -> Result<ReadOnly> {
    set_all(NO_IPV6)
}

/// Prepares the namespace of the calling thread for a router, before it has interfaces.
pub fn prepare_router() -> Result<ReadOnly> {
    let without = set_all(NO_IPV6)?;
    Ok(without.and(set_all(ROUTER)?))
}

/// Reads a setting by its dotted name.
pub fn get(key: &str) -> Result<String> {
    fs::read_to_string(path(key))
        .map(|text| text.trim().to_owned())
        .doing(|| format!("read {key}"))
}

/// Writes a setting that this kernel must have, by its dotted name.
pub fn set(key: &str, value: &str) -> Result<()> {
    match write(key, value) {
        Err(error) if is_read_only(&error) => Err(Error::ReadOnlySettings {
            key: key.to_owned(),
            value: value.to_owned(),
        }),
        outcome => outcome.doing(|| format!("set {key} = {value}")),
    }
}

/// Writes a setting that this kernel must have; false where it cannot be written, and has another value.
fn is_set(key: &str, value: &str) -> Result<bool> {
    match set(key, value) {
        Err(Error::ReadOnlySettings { .. }) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Writes settings; what the namespace does without.
fn set_all(settings: &[Setting]) -> Result<ReadOnly> {
    let mut all = ReadOnly::default();
    for (key, value, without) in settings {
        match set(key, value) {
            Err(Error::System { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            Err(Error::ReadOnlySettings { .. }) if *without != Without::Refused => {
                all.keeps_metrics |= *without == Without::Metrics;
                all.announces |= *without == Without::Announces;
            }
            outcome => outcome?,
        }
    }
    Ok(all)
}

/// Writes a setting, unless it cannot be written and has this value.
fn write(key: &str, value: &str) -> io::Result<()> {
    let refused = match fs::write(path(key), value) {
        Err(error) if is_read_only(&error) => error,
        outcome => return outcome,
    };
    let same = |text: String| text.split_whitespace().eq(value.split_whitespace());
    if fs::read_to_string(path(key)).is_ok_and(same) {
        return Ok(());
    }
    write_in_own_proc(key, value).map_err(|_| refused)
}

/// Whether a file was not written because of how `/proc/sys` is mounted, or because a security module forbids it.
fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied
    )
}

fn write_in_own_proc(key: &str, value: &str) -> io::Result<()> {
    let proc = own_proc()?;
    let name = format!("sys/{}", key.replace('.', "/"));
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = openat(&proc, name, flags, Mode::empty())?;
    fs::File::from(file).write_all(value.as_bytes())
}

/// A `/proc` that has no place in any tree of mounts, and is gone with its descriptor.
fn own_proc() -> rustix::io::Result<OwnedFd> {
    let proc = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&proc)?;
    fsmount(
        &proc,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
}

/// The window that a buffer with these limits holds, in bytes: half of its maximum (`net.ipv4.tcp_adv_win_scale` = 1).
fn window_of(limits: &str) -> Option<u64> {
    let maximum: u64 = limits.split_whitespace().nth(2)?.parse().ok()?;
    Some(maximum / 2)
}

/// `minimum initial maximum` of a buffer that holds a window of `max_window` bytes.
fn buffer_limits(max_window: u64) -> String {
    let maximum = max_window
        .saturating_mul(MEMORY_PER_WINDOW)
        .clamp(BUFFER_INITIAL, i32::MAX as u64);
    format!("{BUFFER_MINIMUM} {BUFFER_INITIAL} {maximum}")
}

fn path(key: &str) -> PathBuf {
    // No key here has a dot inside a component (an interface name could).
    PathBuf::from("/proc/sys").join(key.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_warned_of_what_a_host_does_without() {
        assert_eq!(ReadOnly::default().warning(u64::MAX), None);
        let limits = ReadOnly {
            window: window_of("4096 131072 6291456"),
            ..ReadOnly::default()
        };
        assert_eq!(limits.warning(3 << 20), None, "half of 6 MiB");
        let both = limits.and(ReadOnly {
            keeps_metrics: true,
            window: window_of("4096 16384 4194304"),
            ..ReadOnly::default()
        });
        let said = both.warning(12_500_000).unwrap();
        assert!(
            said.contains("windows reach 2.1 MB, and this link needs 12.5 MB; a connection"),
            "{said}"
        );
    }

    #[test]
    fn buffers_hold_the_window_and_stay_in_the_range_of_the_kernel() {
        assert_eq!(buffer_limits(0), "4096 131072 131072");
        assert_eq!(buffer_limits(16 << 20), "4096 131072 67108864");
        assert_eq!(buffer_limits(u64::MAX), "4096 131072 2147483647");
    }
}
