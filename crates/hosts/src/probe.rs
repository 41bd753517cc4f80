//! What this machine can do for the live world, and the command that mends what it cannot.
//!
//! Each finding is tried, not guessed from a version: a namespace is made, a veth pair joined, a packet socket opened; all of
//! it inside namespaces that vanish again. The caller's own credentials decide, so the answers are those of a run started now.

use std::fs;

use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, socket_recv_buffer_size,
};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::geteuid;
use rustix::thread::CapabilitySet;

use crate::namespace::Namespace;
use crate::netlink::{Netlink, VethEnd, interface_index};
use crate::topology::{Topology, TopologyConfig};
use crate::{capabilities, cc, offload, user_namespace};

/// Receive buffer that a link wants, in bytes: 30 ms at 1 Gbit/s.
const PACKET_BUFFER: usize = 4 << 20;

/// The finding that no run needs: without it the link works in another way.
pub const RELEASES: &str = "queue discipline fq";

/// The finding about everything that a run builds, as it builds it.
pub const HOSTS: &str = "hosts of the live world";

/// One thing that a run may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub what: String,
    /// Whether it works.
    pub ok: bool,
    /// What was found, in one line.
    pub detail: String,
    /// The command or step that would mend it, when it does not work and one is known.
    pub mend: Option<String>,
}

impl Finding {
    fn good(what: &str, detail: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            ok: true,
            detail: detail.into(),
            mend: None,
        }
    }

    fn bad(what: &str, detail: impl ToString, mend: impl Into<Option<String>>) -> Self {
        Self {
            what: what.to_owned(),
            ok: false,
            detail: detail.to_string(),
            mend: mend.into(),
        }
    }
}

/// Everything about hosts: [`user_namespaces`], then [`hosts`].
pub fn probe(needed: &[&str]) -> Vec<Finding> {
    let mut findings = vec![user_namespaces()];
    findings.extend(hosts(needed));
    findings
}

/// Namespaces, wires, packet sockets, a whole topology, BPF, and each congestion control in `needed`, with the credentials that
/// the caller has now: without root, those of a run are had after [`user_namespace::enter`].
///
/// Changes nothing, loads no module, and may be called with several threads running.
pub fn hosts(needed: &[&str]) -> Vec<Finding> {
    let mut findings = networks();
    findings.extend([kernel_types(), bpf_rights(), bpf_built_in()]);
    findings.extend(needed.iter().map(|name| congestion_control(name)));
    findings
}

/// Whether a user without rights gets a user namespace, and rights in it.
pub fn user_namespaces() -> Finding {
    let what = "user namespaces";
    match user_namespace::check() {
        Ok(()) => Finding::good(
            what,
            "a user owns the networks that it makes: no root needed",
        ),
        Err(error) => Finding::bad(what, &error, error.mend()),
    }
}

/// Namespaces, veth and packet sockets. Each needs the one before.
fn networks() -> Vec<Finding> {
    let (what, wires, sockets) = ("network namespaces", "veth", "packet sockets");
    let (buffer, releases) = ("packet buffer", RELEASES);
    let (near, far) = match (Namespace::new(), Namespace::new()) {
        (Ok(near), Ok(far)) => (near, far),
        (Err(error), _) | (_, Err(error)) => {
            let mend = if geteuid().is_root() {
                "run outside the container, or give it CAP_SYS_ADMIN"
            } else {
                "run as root, or let users make user namespaces"
            };
            return vec![Finding::bad(what, error, mend.to_owned())];
        }
    };
    let mut findings = vec![Finding::good(what, "made and entered")];
    let tried = near.run(|| {
        [
            veth(wires, &far),
            packet_socket(sockets),
            packet_buffer(buffer),
            release_queue(releases),
        ]
    });
    match tried {
        Ok(further) => {
            findings.extend(further);
            findings.push(topology());
        }
        Err(error) => {
            findings[0] = Finding::bad(what, format!("made, but not to be entered: {error}"), None)
        }
    }
    findings
}

fn veth(what: &str, far: &Namespace) -> Finding {
    let end = |name, last| VethEnd {
        name,
        mac: [0x02, 0x77, 0, 0, 1, last],
        mtu: 1500,
    };
    let made = Netlink::open()
        .and_then(|mut netlink| netlink.add_veth(&end("probe-a", 1), &end("probe-b", 2), far));
    match made.and_then(|()| offload::turn_off("probe-a")) {
        Ok(()) => Finding::good(what, "made, offloads off"),
        Err(error) => Finding::bad(what, error, "modprobe veth".to_owned()),
    }
}

/// What a run builds first, as it builds it.
fn topology() -> Finding {
    let what = HOSTS;
    match Topology::new(&TopologyConfig::default()) {
        Ok(_) => Finding::good(what, "two hosts and a link between them, set up"),
        Err(error) => Finding::bad(what, error, None),
    }
}

/// After [`veth`], on whose interface it is tried.
fn release_queue(what: &str) -> Finding {
    let made = interface_index("probe-a").and_then(|interface| Netlink::open()?.add_fq(interface));
    match made {
        Ok(()) => Finding::good(what, "the kernel releases packets at their times"),
        Err(error) => Finding::bad(
            what,
            format!("{error}; the link's thread wakes for each release instead"),
            "modprobe sch_fq".to_owned(),
        ),
    }
}

fn packet_socket(what: &str) -> Finding {
    match rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None) {
        Ok(_) => Finding::good(what, "opened"),
        Err(error) => Finding::bad(what, error, "modprobe af_packet".to_owned()),
    }
}

/// The link's receive buffer must hold what comes in while its thread sleeps. Only the host's root may pass over the limit,
/// the owner of a user namespace may not.
fn packet_buffer(what: &str) -> Finding {
    let ask = || {
        let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None)?;
        let forced = set_socket_recv_buffer_size_force(&socket, PACKET_BUFFER);
        forced.or_else(|_| set_socket_recv_buffer_size(&socket, PACKET_BUFFER))?;
        // socket(7): the kernel doubles what is asked for and returns the double.
        rustix::io::Result::Ok(socket_recv_buffer_size(&socket)? / 2)
    };
    let mend = format!("sysctl -w net.core.rmem_max={PACKET_BUFFER}");
    match ask() {
        Ok(got) if got >= PACKET_BUFFER => Finding::good(what, format!("{got} bytes")),
        Ok(got) => Finding::bad(
            what,
            format!("at most {got} bytes: bursts may be lost outside the queue"),
            mend,
        ),
        Err(error) => Finding::bad(what, error, mend),
    }
}

fn kernel_types() -> Finding {
    let what = "kernel type information (BTF)";
    match fs::metadata("/sys/kernel/btf/vmlinux") {
        Ok(file) => Finding::good(what, format!("{} bytes", file.len())),
        Err(error) => Finding::bad(
            what,
            error,
            "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (distributions' kernels are)"
                .to_owned(),
        ),
    }
}

fn bpf_rights() -> Finding {
    let what = "right to load BPF";
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON | CapabilitySet::NET_ADMIN;
    let mend = || "run as root, outside containers and user namespaces".to_owned();
    let initial = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.trim_end().ends_with(" 4294967295"));
    match capabilities::effective() {
        Ok(has) if has.contains(needed) && initial => {
            Finding::good(what, "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN")
        }
        Ok(_) if !initial => Finding::bad(what, "inside a user namespace nobody loads BPF", mend()),
        Ok(has) => Finding::bad(what, format!("missing: {}", names(needed - has)), mend()),
        Err(error) => Finding::bad(what, error, mend()),
    }
}

fn bpf_built_in() -> Finding {
    let what = "BPF congestion controls in this build";
    match cc::loadable() {
        names if names.is_empty() => {
            let mend = "apt-get install clang libelf-dev zlib1g-dev pkg-config, then build with --features bpf-cc";
            Finding::bad(
                what,
                "none: built without the feature bpf-cc",
                mend.to_owned(),
            )
        }
        names => Finding::good(what, names.join(", ")),
    }
}

fn congestion_control(name: &str) -> Finding {
    let what = format!("congestion control {name}");
    match cc::load(name) {
        Ok(control) if control.is_bpf() => Finding::good(&what, "loadable as BPF"),
        Ok(_) => Finding::good(&what, "in this kernel"),
        Err(error) if cc::loadable().contains(&name) => {
            Finding::bad(&what, error, "run as root".to_owned())
        }
        Err(error) if cc::has_module(name) => {
            Finding::bad(&what, error, format!("modprobe tcp_{name}"))
        }
        Err(error) => Finding::bad(
            &what,
            error,
            "a kernel built with it; quell kernel build makes one for the virtual world".to_owned(),
        ),
    }
}

fn names(set: CapabilitySet) -> String {
    set.iter_names()
        .map(|(name, _)| format!("CAP_{name}"))
        .collect::<Vec<_>>()
        .join(", ")
}
