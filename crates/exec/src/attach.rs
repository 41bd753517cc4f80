//! A link in front of what runs already: a container, a process, a network namespace.
//!
//! ```text
//!  what runs ── device ── its guards ──┬── q7-in  ──veth── to-inside  ┐
//!               what was there before ─┴── q7-out ──veth── to-outside ┴ Link
//! ```
//!
//! Nothing of the network changes: no address, route, rule or setting. Programs at the device ([`tcx`]) send what crosses it by the link, and
//! let pass what comes back from there, which has a mark. The kernel takes them away with this process, and the two pairs with the link's
//! namespace, so kill -9 leaves the device as it was; packets inside the link are lost then.
//!
//! The device is the host's end of a pair where that is here, as with the bridges of container engines: then nothing appears inside. Otherwise
//! it is the device inside.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::confine::capabilities::{CapabilitySet, effective};
use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{Device, Netlink, devices, interface_index};
use quell_hosts::tcx::{self, Attached, Hook};
use quell_hosts::{offload, sysctl};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::attach_error::AttachError;
use crate::error::{Doing as _, Result};
use crate::network::{
    INSIDE_MAC, OUTSIDE_MAC, TO_INSIDE, TO_INSIDE_MAC, TO_OUTSIDE, TO_OUTSIDE_MAC, add_wire, within,
};

/// From docker-inspect(1): the first process, 0 where there is none, and whose network it has.
const ASKED: &str = "{{.State.Pid}} {{.HostConfig.NetworkMode}}";

/// Numbers of the first namespaces of a machine: PROC_PID_INIT_INO and, since Linux 6.18, NET_NS_INIT_INO (include/uapi/linux/nsfs.h).
const FIRST_PIDS: u64 = 0xefff_fffc;
const FIRST_NETWORK: u64 = 0xefff_fff9;

/// How long the kernel may take to remove interfaces.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a link is to be put in front of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A container of Docker or Podman, by its name.
    Container(String),
    /// The network of a process.
    Process(u32),
    /// The network namespace that a file leads to.
    Namespace(PathBuf),
}

/// What a link is put in front of: found, and held.
#[derive(Debug)]
pub struct Attachment {
    target: Target,
    device: Device,
    /// Largest packet, in bytes.
    pub(crate) mtu: u16,
    /// The name of the device inside, where the device is its other end.
    inside: Option<String>,
    /// That of the device, and a socket there.
    namespace: Namespace,
    socket: OwnedFd,
    process: Option<OwnedFd>,
}

impl Target {
    /// In words.
    fn words(&self) -> String {
        match self {
            Self::Container(name) => format!("container {name}"),
            Self::Process(process) => format!("process {process}"),
            Self::Namespace(path) => path.display().to_string(),
        }
    }

    /// What a link there may be called.
    pub fn name(&self) -> String {
        let words = self.words();
        let last = words.rsplit([' ', '/']).next();
        last.unwrap_or_default().to_owned()
    }

    /// Its network, and its process where it is one.
    fn open(&self) -> Result<(Namespace, Option<OwnedFd>), AttachError> {
        let process = match self {
            Self::Container(name) => process_of(name)?,
            Self::Process(process) => *process,
            Self::Namespace(path) => {
                let namespace = Namespace::at(path);
                let entered =
                    namespace.and_then(|namespace| namespace.run(|| ()).map(|()| namespace));
                let refused = |source| AttachError::NoNamespace(self.words(), source);
                return Ok((entered.map_err(refused)?, None));
            }
        };
        let none = || AttachError::NoProcess(process);
        let id = i32::try_from(process).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(none)?;
        let held = pidfd_open(id, PidfdFlags::empty()).map_err(|_| none())?;
        let namespace = Namespace::of_process(id);
        // Otherwise the number may be another's by now.
        if has_ended(&held) {
            return Err(none());
        }
        let closed = |source| AttachError::Closed(process, source);
        Ok((namespace.map_err(closed)?, Some(held)))
    }
}

/// The first process of a running container.
fn process_of(name: &str) -> Result<u32, AttachError> {
    let own = || name.to_owned();
    let mut refused = AttachError::NoEngine;
    for engine in ["docker", "podman"] {
        let mut command = Command::new(engine);
        command.args(["container", "inspect", "--format", ASKED, "--", name]);
        let Ok(output) = command.output() else {
            continue;
        };
        if !output.status.success() {
            let answer = String::from_utf8_lossy(&output.stderr);
            let answer = answer.lines().next().unwrap_or("no answer");
            refused = AttachError::NoContainer(own(), format!("{engine}: {answer}"));
            continue;
        }
        let answer = String::from_utf8_lossy(&output.stdout);
        let (process, mode) = answer.trim().split_once(' ').unwrap_or((&answer, ""));
        return match (mode.strip_prefix("container:"), process.parse()) {
            (Some(other), _) => Err(AttachError::OfOther(own(), other.to_owned())),
            (None, Ok(0) | Err(_)) => Err(AttachError::NotRunning(own())),
            (None, Ok(process)) => Ok(process),
        };
    }
    Err(refused)
}

fn has_ended(process: &OwnedFd) -> bool {
    let mut ready = [PollFd::new(process, PollFlags::IN)];
    matches!(poll(&mut ready, Some(&Timespec::default())), Ok(1))
}

impl Attachment {
    /// Looks for what is to be behind a link, and its device: the one of this name inside, or the only one.
    ///
    /// # Errors
    ///
    /// There is no such thing, it has no network of its own or another link, or this process lacks the rights.
    pub fn find(target: Target, interface: Option<&str>) -> Result<Self> {
        let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
        if !effective().doing("read capabilities")?.contains(needed) {
            return Err(AttachError::Impossible("this user may not".to_owned()).into());
        }
        tcx::check().map_err(|error| AttachError::Impossible(error.to_string()))?;
        let (namespace, process) = target.open()?;
        if is_of_host(&namespace).doing("look at a network namespace")? {
            return Err(AttachError::OfHost(target.words()).into());
        }
        let device = within(&namespace, || choose(&target, interface))?;
        let (namespace, device, inside) = match other_end(&namespace, &device)? {
            Some((here, end)) => (here, end, Some(device.name)),
            None => (namespace, device, None),
        };
        let mtu = match u16::try_from(device.mtu) {
            Ok(mtu @ ..=1500) => mtu,
            _ => return Err(AttachError::LargePackets(device.name, device.mtu).into()),
        };
        let found = Self {
            socket: within(&namespace, || {
                socket(AddressFamily::INET, SocketType::DGRAM, None).doing("open a socket")
            })?,
            target,
            device,
            mtu,
            inside,
            namespace,
            process,
        };
        within(&found.namespace, || found.refuse_a_second())?;
        Ok(found)
    }

    /// Refuses where another link has wires here, once those of an earlier one had time to go.
    fn refuse_a_second(&self) -> Result<()> {
        self.wait_until_as_before();
        match interface_index(&self.wires()[0]) {
            Ok(wire) => {
                let owner = Netlink::open()?.device(wire)?.alias;
                Err(AttachError::Taken(self.device.name.clone(), owner).into())
            }
            Err(_) => Ok(()),
        }
    }

    /// What it is in front of, in words.
    pub fn describe(&self) -> String {
        let (words, name) = (self.target.words(), &self.device.name);
        match &self.inside {
            Some(inside) => format!("{inside} of {words}, here {name}"),
            None => format!("{name} of {words}"),
        }
    }

    /// What programs of others at the device mean for the link, in words.
    ///
    /// # Errors
    ///
    /// The kernel does not answer.
    pub fn others(&self) -> Result<Vec<String>> {
        let (name, hooks) = (&self.device.name, [Hook::Ingress, Hook::Egress]);
        let count = |hook| tcx::count(self.device.index, hook);
        let counts = within(&self.namespace, || {
            Ok(hooks
                .into_iter()
                .map(count)
                .collect::<Result<Vec<_>, _>>()?)
        })?;
        let xdp = self.device.has_xdp.then(|| {
            format!(
                "the XDP program at {name} runs in front of the link: what it drops or sends elsewhere, the link never sees"
            )
        });
        let behind = counts.iter().any(|count| *count > 0).then(|| {
            format!(
                "the tcx programs of others at {name} run behind the link, on what it lets through"
            )
        });
        Ok(xdp.into_iter().chain(behind).collect())
    }

    /// That it is gone, in words.
    pub fn gone(&self) -> Option<String> {
        let is_gone = match &self.target {
            Target::Namespace(path) => matches!(path.try_exists(), Ok(false)),
            _ => self.process.as_ref().is_some_and(has_ended),
        };
        let is_gone = is_gone || index_to_name(&self.socket, self.device.index).is_err();
        is_gone.then(|| format!("{} is gone", self.target.words()))
    }

    /// Waits until the kernel has taken the wires away, which it does in the background once the link has ended.
    pub(crate) fn wait_until_as_before(&self) {
        let began = Instant::now();
        let is_there = |name: &String| name_to_index(&self.socket, name).is_ok();
        while self.wires().iter().any(is_there) && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The names of the wires beside the device: for what comes from inside, and for what goes there.
    fn wires(&self) -> [String; 2] {
        ["in", "out"].map(|side| format!("q{}-{side}", self.device.index))
    }
}

/// Whether this is the network of the machine itself, as far as can be seen from here.
fn is_of_host(namespace: &Namespace) -> io::Result<bool> {
    let number = |path: &str| fs::metadata(path).map(|file| file.ino());
    let own = rustix::fs::fstat(namespace.as_fd())?.st_ino;
    let sees_host = number("/proc/self/ns/pid")? == FIRST_PIDS;
    // Not everybody with these rights may look at the first process.
    let of_first = || number("/proc/1/ns/net").is_ok_and(|first| first == own);
    Ok(own == FIRST_NETWORK || sees_host && of_first())
}

/// The device of the calling thread's namespace.
fn choose(target: &Target, interface: Option<&str>) -> Result<Device> {
    let mut devices = devices()?;
    devices.retain(|device| device.carries);
    let names = devices.iter().map(|device| device.name.clone()).collect();
    let is_wanted = |device: &Device| interface.is_none_or(|name| device.name == name);
    let mut wanted = devices.into_iter().filter(is_wanted);
    match (wanted.next(), wanted.next()) {
        (Some(device), None) => Ok(device),
        (None, _) if interface.is_none() => Err(AttachError::NoDevice(target.words()).into()),
        _ => Err(AttachError::WhichDevice(target.words(), names).into()),
    }
}

/// The other end of a pair, where it is in the calling thread's namespace, and that.
fn other_end(inside: &Namespace, device: &Device) -> Result<Option<(Namespace, Device)>> {
    let here = Namespace::current().doing("find this network namespace")?;
    let number = within(inside, || Ok(Netlink::open()?.number_of(&here)?))?;
    match device.other_end {
        Some((index, of)) if number == Some(of) => {
            Ok(Some((here, Netlink::open()?.device(index)?)))
        }
        _ => Ok(None),
    }
}

/// The detour of a device by a link; without the first two of its programs nothing takes it any more.
#[derive(Debug)]
pub(crate) struct Detour(Vec<Attached>);

impl Detour {
    /// Makes the pairs between the device and `link`, in whose namespace the link's ports then are; nothing takes the detour yet. Their indexes.
    pub(crate) fn wires(attachment: &Attachment, link: &Namespace) -> Result<Vec<u32>> {
        let owner = format!("quell, process {}", std::process::id());
        let make = |(name, (mac, port)): (&String, _)| {
            add_wire((name, mac), port, attachment.mtu, link)?;
            // What leaves the link is a packet as a wire has it, whatever it is sent by next.
            offload::turn_off(name, &[])?;
            let _ = sysctl::set(&format!("net.ipv6.conf.{name}.disable_ipv6"), "1");
            let index = interface_index(name)?;
            Netlink::open()?.set_alias(index, owner.clone())?;
            Netlink::open()?.have_no_address(index);
            Netlink::open()?.set_up(index)?;
            Ok(index)
        };
        let inside = (INSIDE_MAC, (TO_INSIDE, TO_INSIDE_MAC));
        let ends = [inside, (OUTSIDE_MAC, (TO_OUTSIDE, TO_OUTSIDE_MAC))];
        let names = attachment.wires();
        let each = || names.iter().zip(ends).map(make).collect();
        within(&attachment.namespace, each)
    }

    /// Sends what crosses the device by these wires, from now on.
    pub(crate) fn begin(attachment: &Attachment, wires: &[u32]) -> Result<Self> {
        let (device, inside, outside) = (attachment.device.index, wires[0], wires[1]);
        // Where what is behind the link comes from, and where it is sent to.
        let (from, to) = match attachment.inside {
            Some(_) => (Hook::Ingress, Hook::Egress),
            None => (Hook::Egress, Hook::Ingress),
        };
        let mut mark = [0; 4];
        let random = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut mark));
        random.doing("draw a mark")?;
        // One that no packet has by chance, and not 0.
        let mark = u32::from_ne_bytes(mark) | 1;
        within(&attachment.namespace, || {
            let back = tcx::give_back(outside, mark, device, from)?;
            let forth = tcx::give_back(inside, mark, device, to)?;
            let guard = tcx::guard(device, from, mark, inside)?;
            Ok(Self(vec![
                guard,
                tcx::guard(device, to, mark, outside)?,
                back,
                forth,
            ]))
        })
    }

    /// Nothing takes the detour any more; what did so comes back.
    pub(crate) fn end(&mut self) {
        self.0.drain(..2);
    }
}
