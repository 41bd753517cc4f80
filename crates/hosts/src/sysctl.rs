//! Settings of a namespace's network stack, through `/proc/sys/net`.
//!
//! From the kernel's Documentation/networking/ip-sysctl.rst. `/proc/sys/net` shows the namespace of the thread that opens it;
//! its owner may write there, also inside a user namespace. A setting that this kernel does not have is ignored.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::Result;
use crate::error::Doing as _;

/// Quiet IPv6: no autoconfiguration, router solicitation, duplicate detection or link-local address. Before interfaces exist.
const QUIET_IPV6: &[(&str, &str)] = &[
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.dad_transmits", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.autoconf", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
];

const NO_IPV6: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];

/// A host whose TCP begins each flow as if it were the first.
const HOST: &[(&str, &str)] = &[
    // No flow inherits the threshold or RTT of the flow before.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // ECN on request only; routes with `features ecn`, or a congestion control that needs it, ask.
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    // Flows that open one connection after another use a port again a second after its last connection.
    ("net.ipv4.tcp_tw_reuse", "1"),
    // Addresses are /32 and sources are preferred per route: a reverse path check has nothing to say.
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
];

/// RFC 9768 in both directions.
const ACCURATE_ECN: (&str, &str) = ("net.ipv4.tcp_ecn", "3");

/// A router of IPv4 that sends nothing of its own.
const ROUTER: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
];

/// A host that also passes on what is not its own, without remarks about better ways.
const GATEWAY: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
];

const GATEWAY_IPV6: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.forwarding", "1"),
];

/// A host that answers in the name of others: their ports below 1024 need no right, and errors of theirs are not this host's to report.
const FAR_EDGE: &[(&str, &str)] = &[
    ("net.ipv4.ip_unprivileged_port_start", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
];

/// Smallest and initial sizes that tcp(7) gives; only the maxima are ours.
const BUFFER_MINIMUM: u64 = 4096;
const BUFFER_INITIAL: u64 = 131_072;
/// A buffer counts memory, a window payload. A page-sized buffer per 1448-byte segment plus its header is below 4 to 1.
const MEMORY_PER_WINDOW: u64 = 4;

/// Prepares the namespace of the calling thread for an end host whose windows reach `max_window` bytes.
pub fn prepare_host(max_window: u64, ipv6: bool) -> Result<()> {
    let buffer = buffer_limits(max_window);
    set_all(if ipv6 { QUIET_IPV6 } else { NO_IPV6 })?;
    set_all(HOST)?;
    set("net.ipv4.tcp_rmem", &buffer)?;
    set("net.ipv4.tcp_wmem", &buffer)
}

/// Has every connection of the calling thread's namespace ask for AccECN and accept it (`tcp_ecn` = 3, from Linux 6.18 on). A kernel that does
/// not know AccECN stays as it is.
pub fn request_accurate_ecn() -> Result<()> {
    let (key, value) = ACCURATE_ECN;
    match fs::write(path(key), value) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        outcome => outcome.doing(|| format!("set {key} = {value}")),
    }
}

/// What TCP does about ECN in the calling thread's namespace, as `net.ipv4.tcp_ecn` counts: 0 never, 1 asks, 2 answers, 3 AccECN.
pub fn set_ecn(value: u8) -> Result<()> {
    set("net.ipv4.tcp_ecn", &value.to_string())
}

/// Prepares the namespace of the calling thread for a relay: it answers in the name of any host, at any port.
pub fn prepare_far_edge() -> Result<()> {
    set_all(FAR_EDGE)
}

/// Prepares the namespace of the calling thread to pass packets on between its interfaces, after [`prepare_host`].
pub fn prepare_gateway(ipv6: bool) -> Result<()> {
    set_all(GATEWAY)?;
    set_all(if ipv6 { GATEWAY_IPV6 } else { &[] })
}

/// Prepares the namespace of the calling thread for the link: it only carries frames and sends none of its own.
pub fn prepare_link() -> Result<()> {
    set_all(NO_IPV6)
}

/// Prepares the namespace of the calling thread for a router, before it has interfaces.
pub fn prepare_router() -> Result<()> {
    set_all(NO_IPV6)?;
    set_all(ROUTER)
}

/// Reads a setting by its dotted name.
pub fn get(key: &str) -> Result<String> {
    fs::read_to_string(path(key))
        .map(|text| text.trim().to_owned())
        .doing(|| format!("read {key}"))
}

/// Writes a setting that this kernel must have, by its dotted name.
pub fn set(key: &str, value: &str) -> Result<()> {
    fs::write(path(key), value).doing(|| format!("set {key} = {value}"))
}

fn set_all(settings: &[(&str, &str)]) -> Result<()> {
    for (key, value) in settings {
        match fs::write(path(key), value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome.doing(|| format!("set {key} = {value}"))?,
        }
    }
    Ok(())
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
    fn buffers_hold_the_window_and_stay_in_the_range_of_the_kernel() {
        assert_eq!(buffer_limits(0), "4096 131072 131072");
        assert_eq!(buffer_limits(16 << 20), "4096 131072 67108864");
        assert_eq!(buffer_limits(u64::MAX), "4096 131072 2147483647");
    }
}
