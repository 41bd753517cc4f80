//! What this machine supports of the live world, and how to fix what is missing.
//!
//! Each finding is tried, not guessed from a version: a namespace is made, a veth pair joined, a packet socket opened, all of it
//! inside namespaces that vanish again. The caller's own credentials decide, so the answers are those of a run started now.

use std::fmt;
use std::fs;

use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, socket_recv_buffer_size,
};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::geteuid;
use rustix::thread::CapabilitySet;

use crate::confine::capabilities;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, VethEnd, interface_index};
use crate::sysctl::ReadOnly;
use crate::topology::{Topology, TopologyConfig};
use crate::{cc, offload, tcx, tproxy, user_namespace};

/// Receive buffer that a link wants, in bytes: 30 ms at 1 Gbit/s.
const PACKET_BUFFER: usize = 4 << 20;

/// Something that a run may need of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A user without rights gets a user namespace, and rights in it.
    UserNamespaces,
    /// Network namespaces can be made and entered.
    NetworkNamespaces,
    /// Pairs of veth interfaces.
    Veth,
    /// Packet sockets.
    PacketSockets,
    /// A receive buffer that holds what arrives while the link's thread sleeps.
    PacketBuffer,
    /// The queue discipline `fq`. No run needs it: without it the link waits for releases itself.
    Fq,
    /// A far edge that takes every connection: nf_tables with tproxy. Only `quell exec` needs it.
    Relay,
    /// A link in front of what runs already. Only `quell exec --container`, `--pid` and `--netns` need it.
    Attach,
    /// Everything that a run builds, as it builds it.
    Hosts,
    /// Type information of the kernel, for BPF.
    KernelTypes,
    /// The right to load BPF.
    BpfRights,
    /// BPF congestion controls in this build.
    BpfControls,
    /// The congestion control of this name.
    CongestionControl(String),
    /// A kernel for the virtual world.
    UserModeKernel,
    /// That kernel starts, and its clock is simulated.
    VirtualTime,
    /// Landlock, which confines that kernel.
    Landlock,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserNamespaces => "user namespaces",
            Self::NetworkNamespaces => "network namespaces",
            Self::Veth => "veth",
            Self::PacketSockets => "packet sockets",
            Self::PacketBuffer => "packet buffer",
            Self::Fq => "queue discipline fq",
            Self::Relay => "relay of quell exec",
            Self::Attach => "links in front of containers",
            Self::Hosts => "hosts of the live world",
            Self::KernelTypes => "kernel type information (BTF)",
            Self::BpfRights => "right to load BPF",
            Self::BpfControls => "BPF congestion controls in this build",
            Self::CongestionControl(name) => return write!(f, "congestion control {name}"),
            Self::UserModeKernel => "user-mode kernel",
            Self::VirtualTime => "virtual time",
            Self::Landlock => "Landlock",
        })
    }
}

impl Need {
    /// Whether only congestion controls that are loaded as BPF need it.
    pub fn is_of_bpf(&self) -> bool {
        matches!(
            self,
            Self::KernelTypes | Self::BpfRights | Self::BpfControls
        )
    }
}

/// Whether a need is met here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub need: Need,
    /// Whether it works.
    pub ok: bool,
    /// What was found, in one line.
    pub detail: String,
    /// The command or step that would fix it, when it does not work and one is known.
    pub fix: Option<String>,
}

impl Finding {
    fn good(need: Need, detail: impl Into<String>) -> Self {
        Self {
            need,
            ok: true,
            detail: detail.into(),
            fix: None,
        }
    }

    fn bad(need: Need, detail: impl ToString, fix: impl Into<Option<String>>) -> Self {
        Self {
            need,
            ok: false,
            detail: detail.to_string(),
            fix: fix.into(),
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
/// the caller has now. Without root, a run has its credentials after [`user_namespace::enter`].
///
/// Changes nothing, loads no module, and may be called while several threads run.
pub fn hosts(needed: &[&str]) -> Vec<Finding> {
    let mut findings = networks();
    findings.extend([kernel_types(), bpf_rights(), bpf_built_in()]);
    findings.extend(needed.iter().map(|name| congestion_control(name)));
    findings
}

/// Whether a user without rights gets a user namespace, and rights in it.
pub fn user_namespaces() -> Finding {
    let need = Need::UserNamespaces;
    match user_namespace::check() {
        Ok(()) => Finding::good(
            need,
            "a user owns the networks that it makes: no root needed",
        ),
        Err(error) => Finding::bad(need, &error, error.fix()),
    }
}

/// Namespaces, veth and packet sockets. Each needs the one before.
fn networks() -> Vec<Finding> {
    let need = Need::NetworkNamespaces;
    let (near, far) = match (Namespace::new(), Namespace::new()) {
        (Ok(near), Ok(far)) => (near, far),
        (Err(error), _) | (_, Err(error)) => {
            let fix = if geteuid().is_root() {
                "run outside the container, or start it with --cap-add SYS_ADMIN,NET_ADMIN,NET_RAW; --world virtual needs none of this"
            } else {
                "run as root, or let users make user namespaces"
            };
            return vec![Finding::bad(need, error, fix.to_owned())];
        }
    };
    let mut findings = vec![Finding::good(need, "made and entered")];
    let tried = near.run(|| {
        [
            veth(&far),
            packet_socket(),
            packet_buffer(),
            release_queue(),
        ]
    });
    match tried {
        Ok(further) => {
            findings.extend(further);
            findings.push(topology());
            findings.push(relay());
            findings.push(attach());
        }
        Err(error) => {
            let detail = format!("made, but cannot be entered: {error}");
            findings[0] = Finding::bad(Need::NetworkNamespaces, detail, None);
        }
    }
    findings
}

fn veth(far: &Namespace) -> Finding {
    let need = Need::Veth;
    let end = |name, last| VethEnd {
        name,
        mac: [0x02, 0x77, 0, 0, 1, last],
        mtu: 1500,
    };
    let made = Netlink::open()
        .and_then(|mut netlink| netlink.add_veth(&end("probe-a", 1), &end("probe-b", 2), far));
    match made.and_then(|()| offload::turn_off("probe-a", &[])) {
        Ok(()) => Finding::good(need, "made, offloads off"),
        Err(error) => Finding::bad(need, error, "modprobe veth".to_owned()),
    }
}

/// What a run builds first, as it builds it.
fn topology() -> Finding {
    let need = Need::Hosts;
    match Topology::new(&TopologyConfig::default()) {
        Ok(topology) if topology.without != ReadOnly::default() => Finding::good(
            need,
            "two hosts and a link between them, set up; /proc/sys cannot be written, as in most containers, so TCP windows and what connections \
             remember are the host's, and results warn where that matters",
        ),
        Ok(_) => Finding::good(need, "two hosts and a link between them, set up"),
        Err(error) => Finding::bad(need, error, None),
    }
}

/// Tried as `quell exec` builds it.
fn relay() -> Finding {
    let need = Need::Relay;
    match tproxy::check() {
        Ok(()) => Finding::good(need, "connections to any address are taken in a namespace"),
        Err(error) => Finding::bad(
            need,
            format!("{error}; quell exec runs with --net none only"),
            "modprobe nft_tproxy, or a kernel built with CONFIG_NFT_TPROXY".to_owned(),
        ),
    }
}

fn attach() -> Finding {
    let need = Need::Attach;
    match tcx::check() {
        Ok(()) => Finding::good(need, "a program at an interface (tcx), and away again"),
        Err(error) => Finding::bad(
            need,
            format!("{error}; put the program behind quell exec instead"),
            as_root("outside user namespaces, on Linux 6.6 or later"),
        ),
    }
}

/// After [`veth`], on whose interface it is tried.
fn release_queue() -> Finding {
    let need = Need::Fq;
    let made = interface_index("probe-a").and_then(|interface| Netlink::open()?.add_fq(interface));
    match made {
        Ok(()) => Finding::good(need, "the kernel releases packets at their times"),
        Err(error) => Finding::bad(
            need,
            format!("{error}; the link's thread wakes for each release instead"),
            "modprobe sch_fq".to_owned(),
        ),
    }
}

fn packet_socket() -> Finding {
    let need = Need::PacketSockets;
    match rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None) {
        Ok(_) => Finding::good(need, "opened"),
        Err(error) => Finding::bad(need, error, "modprobe af_packet".to_owned()),
    }
}

/// The link's receive buffer must hold what arrives while its thread sleeps. Only the host's root may exceed the limit; the
/// owner of a user namespace may not.
fn packet_buffer() -> Finding {
    let need = Need::PacketBuffer;
    let ask = || {
        let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None)?;
        let forced = set_socket_recv_buffer_size_force(&socket, PACKET_BUFFER);
        forced.or_else(|_| set_socket_recv_buffer_size(&socket, PACKET_BUFFER))?;
        // socket(7): the kernel doubles what is asked for and returns the double.
        rustix::io::Result::Ok(socket_recv_buffer_size(&socket)? / 2)
    };
    let fix = format!("sysctl -w net.core.rmem_max={PACKET_BUFFER}");
    match ask() {
        Ok(got) if got >= PACKET_BUFFER => Finding::good(need, format!("{got} bytes")),
        Ok(got) => Finding::bad(
            need,
            format!("at most {got} bytes: bursts may be lost outside the queue"),
            fix,
        ),
        Err(error) => Finding::bad(need, error, fix),
    }
}

fn kernel_types() -> Finding {
    let need = Need::KernelTypes;
    match fs::metadata("/sys/kernel/btf/vmlinux") {
        Ok(file) => Finding::good(need, format!("{} bytes", file.len())),
        Err(error) => Finding::bad(
            need,
            error,
            "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (distributions' kernels are)"
                .to_owned(),
        ),
    }
}

fn bpf_rights() -> Finding {
    let need = Need::BpfRights;
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON | CapabilitySet::NET_ADMIN;
    let fix = || as_root("outside containers and user namespaces");
    let initial = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.trim_end().ends_with(" 4294967295"));
    match capabilities::effective() {
        Ok(has) if has.contains(needed) && initial => {
            Finding::good(need, "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN")
        }
        Ok(_) if !initial => Finding::bad(need, "nobody loads BPF inside a user namespace", fix()),
        Ok(has) => Finding::bad(need, format!("missing: {}", names(needed - has)), fix()),
        Err(error) => Finding::bad(need, error, fix()),
    }
}

/// What is right for whoever lacks a right, at this place: to be root, where that is not so already.
fn as_root(place: &str) -> String {
    match geteuid().is_root() {
        true => format!("run {place}: this root lacks the right"),
        false => format!("run as root, {place}"),
    }
}

fn bpf_built_in() -> Finding {
    let need = Need::BpfControls;
    match cc::loadable() {
        names if names.is_empty() => {
            let fix = "apt-get install clang libelf-dev zlib1g-dev pkg-config, then build with --features bpf-cc";
            Finding::bad(
                need,
                "none: built without the feature bpf-cc",
                fix.to_owned(),
            )
        }
        names => Finding::good(need, names.join(", ")),
    }
}

fn congestion_control(name: &str) -> Finding {
    let need = Need::CongestionControl(name.to_owned());
    match cc::load(name) {
        Ok(control) if control.is_bpf() => Finding::good(need, "loadable as BPF"),
        Ok(_) => Finding::good(need, "in this kernel"),
        Err(error) if cc::loadable().contains(&name) => {
            Finding::bad(need, error, as_root("outside containers"))
        }
        Err(error) if cc::has_module(name) => {
            Finding::bad(need, error, format!("modprobe tcp_{name}"))
        }
        Err(error) => Finding::bad(
            need,
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
