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
use quell_hosts::netlink::{Device, Netlink, interface_index, interface_names};
use quell_hosts::tcx::{self, Attached, Hook, Program};
use quell_hosts::{offload, sysctl};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::attach_error::AttachError;
use crate::error::{Doing as _, Result};
use crate::network::{
    INSIDE_MAC, LARGEST, OUTSIDE_MAC, TO_INSIDE, TO_INSIDE_MAC, TO_OUTSIDE, TO_OUTSIDE_MAC,
    add_wire, exists_already, wait_until_gone, within,
};

/// From docker-inspect(1): the first process, 0 where there is none, and whose network it has.
const ASKED: &str = "{{.State.Pid}} {{.HostConfig.NetworkMode}}";

/// Numbers of the first namespaces of a machine: PROC_PID_INIT_INO and, since Linux 6.18, NET_NS_INIT_INO (include/linux/proc_ns.h).
const FIRST_PIDS: u64 = 0xeffffffc;
const FIRST_NETWORK: u64 = 0xeffffff9;

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
    /// In words.
    words: String,
    device: Device,
    /// The name of the device inside, where the device is its other end.
    inside: Option<String>,
    /// That of the device.
    namespace: Namespace,
    /// A socket there.
    socket: OwnedFd,
    held: Held,
    /// Programs that were there before, of others.
    others: usize,
    announcement: Option<(String, fn(&str))>,
}

/// By what it is seen to be there.
#[derive(Debug)]
enum Held {
    Process(OwnedFd),
    /// The file, and the namespace that it led to.
    File(PathBuf, u64),
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
        match self {
            Self::Container(name) => name.clone(),
            Self::Process(process) => format!("pid-{process}"),
            Self::Namespace(path) => {
                let name = path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        }
    }

    /// Its network, and by what it is seen to be there.
    fn open(&self) -> Result<(Namespace, Held), AttachError> {
        let process = match self {
            Self::Container(name) => process_of(name)?,
            Self::Process(process) => *process,
            Self::Namespace(path) => {
                let open = || {
                    let namespace = Namespace::at(path)?;
                    namespace.run(|| ())?;
                    Ok((
                        namespace,
                        Held::File(path.clone(), fs::metadata(path)?.ino()),
                    ))
                };
                let path = path.clone();
                return open().map_err(|source| AttachError::NoNamespace { path, source });
            }
        };
        let open = || {
            let id = i32::try_from(process).ok().and_then(Pid::from_raw)?;
            let held = pidfd_open(id, PidfdFlags::empty()).ok()?;
            let namespace = Namespace::of_process(id).ok()?;
            // Otherwise the number may be another's by now.
            (!has_ended(&held)).then_some((namespace, Held::Process(held)))
        };
        open().ok_or(AttachError::NoProcess(process))
    }
}

/// The first process of a running container.
fn process_of(name: &str) -> Result<u32, AttachError> {
    let mut refused = None;
    for engine in ["docker", "podman"] {
        let mut command = Command::new(engine);
        command.args(["container", "inspect", "--format", ASKED, "--", name]);
        let Ok(output) = command.output() else {
            continue;
        };
        if !output.status.success() {
            let answer = String::from_utf8_lossy(&output.stderr);
            let answer = answer.lines().next().unwrap_or("no answer");
            refused = refused.or(Some(format!("{engine}: {answer}")));
            continue;
        }
        let answer = String::from_utf8_lossy(&output.stdout);
        let (process, mode) = answer.trim().split_once(' ').unwrap_or((&answer, ""));
        if let Some(other) = mode.strip_prefix("container:") {
            let (name, other) = (name.to_owned(), other.to_owned());
            return Err(AttachError::OfOther { name, other });
        }
        return match process.parse() {
            Ok(0) | Err(_) => Err(AttachError::NotRunning(name.to_owned())),
            Ok(process) => Ok(process),
        };
    }
    Err(match refused {
        Some(answer) => AttachError::NoContainer {
            name: name.to_owned(),
            answer,
        },
        None => AttachError::NoEngine,
    })
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
    pub fn find(target: &Target, interface: Option<&str>) -> Result<Self> {
        let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
        if !effective().doing("read capabilities")?.contains(needed) {
            return Err(AttachError::Impossible("this user may not".to_owned()).into());
        }
        tcx::check().map_err(|error| AttachError::Impossible(error.to_string()))?;
        let words = target.words();
        let (inside, held) = target.open()?;
        if is_of_host(&inside).doing("look at a network namespace")? {
            return Err(AttachError::OfHost(words).into());
        }
        let device = within(&inside, || choose(&words, interface))?;
        let (namespace, device, inside) = match other_end(&inside, &device)? {
            Some(end) => {
                let here = Namespace::current().doing("find this network namespace")?;
                (here, end, Some(device.name))
            }
            None => (inside, device, None),
        };
        if device.mtu > u32::from(LARGEST) {
            let (device, mtu) = (device.name, device.mtu);
            return Err(AttachError::LargePackets { device, mtu }.into());
        }
        let (present, socket) = within(&namespace, || {
            let open = socket(AddressFamily::INET, SocketType::DGRAM, None);
            Ok((tcx::present(device.index)?, open.doing("open a socket")?))
        })?;
        if present.quell.is_some() {
            return Err(taken(&device, present.quell).into());
        }
        Ok(Self {
            words,
            device,
            inside,
            namespace,
            socket,
            held,
            others: present.others,
            announcement: None,
        })
    }

    /// What it is in front of, in words.
    pub fn describe(&self) -> String {
        let (words, name) = (&self.words, &self.device.name);
        match &self.inside {
            Some(inside) => format!("{inside} of {words}, here {name}"),
            None => format!("{name} of {words}"),
        }
    }

    /// Has `say` print `line` once the link stands.
    pub fn announce(&mut self, line: String, say: fn(&str)) {
        self.announcement = Some((line, say));
    }

    pub(crate) fn stands(&self) {
        if let Some((line, say)) = &self.announcement {
            say(line);
        }
    }

    /// Largest packet, in bytes.
    pub(crate) fn mtu(&self) -> u16 {
        u16::try_from(self.device.mtu).unwrap_or(LARGEST)
    }

    /// That it is gone, in words.
    pub(crate) fn gone(&self) -> Option<String> {
        let is_held = match &self.held {
            Held::Process(process) => !has_ended(process),
            // What may not be looked at any more without rights is there.
            Held::File(path, number) => match fs::metadata(path) {
                Ok(file) => file.ino() == *number,
                Err(error) => error.kind() != io::ErrorKind::NotFound,
            },
        };
        let is_there = is_held && index_to_name(&self.socket, self.device.index).is_ok();
        (!is_there).then(|| format!("{} is gone", self.words))
    }

    /// Waits until the kernel has taken the wires away, which it does in the background once the link has ended.
    pub(crate) fn wait_until_as_before(&self) {
        let began = Instant::now();
        let is_there = |name: &str| name_to_index(&self.socket, name).is_ok();
        while self.wires().iter().any(|name| is_there(name)) && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The names of the wires beside the device: what it sends and what it gets.
    fn wires(&self) -> [String; 2] {
        ["in", "out"].map(|side| format!("q{}-{side}", self.device.index))
    }

    /// What puts a result in doubt.
    pub(crate) fn doubt(&self) -> Option<String> {
        (self.others > 0).then(|| {
            let Self { device, others, .. } = self;
            format!(
                "{others} tcx programs of others at {} see each packet once it comes out of the link",
                device.name
            )
        })
    }
}

fn taken(device: &Device, process: Option<u32>) -> AttachError {
    AttachError::Taken {
        device: device.name.clone(),
        process,
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
fn choose(words: &str, interface: Option<&str>) -> Result<Device> {
    let mut devices = Vec::new();
    for name in interface_names()? {
        devices.push(Netlink::open()?.device(interface_index(&name)?)?);
    }
    devices.retain(|device| device.carries);
    let names = devices.iter().map(|device| device.name.clone());
    let names: Vec<String> = names.collect();
    let words = words.to_owned();
    match interface {
        _ if devices.is_empty() => Err(AttachError::NoDevice(words).into()),
        Some(name) => {
            let found = devices.into_iter().find(|device| device.name == name);
            found.ok_or_else(|| {
                let (name, devices) = (name.to_owned(), names);
                AttachError::OtherDevices {
                    words,
                    name,
                    devices,
                }
                .into()
            })
        }
        None => match devices.pop() {
            Some(device) if devices.is_empty() => Ok(device),
            _ => Err(AttachError::WhichDevice {
                words,
                devices: names,
            }
            .into()),
        },
    }
}

/// The other end of a pair, where it is in the calling thread's namespace.
fn other_end(inside: &Namespace, device: &Device) -> Result<Option<Device>> {
    let Some((index, number)) = device.other_end else {
        return Ok(None);
    };
    let here = Namespace::current().doing("find this network namespace")?;
    let here = within(inside, || Ok(Netlink::open()?.number_of(&here)?))?;
    match here == Some(number) {
        true => Ok(Some(Netlink::open()?.device(index)?)),
        false => Ok(None),
    }
}

/// The detour of a device by a link.
#[derive(Debug)]
pub(crate) struct Detour {
    /// Removed first, so that nothing new comes.
    guards: Vec<Attached>,
    _back: [Attached; 2],
}

impl Detour {
    /// Makes the pairs between the device and `link`, in whose namespace the link's ports then are; nothing takes the detour yet. Returns what
    /// the guards are made by.
    pub(crate) fn wires(attachment: &Attachment, link: &Namespace) -> Result<[u32; 2]> {
        let device = &attachment.device;
        within(&attachment.namespace, || {
            let ends = [
                (INSIDE_MAC, (TO_INSIDE, TO_INSIDE_MAC)),
                (OUTSIDE_MAC, (TO_OUTSIDE, TO_OUTSIDE_MAC)),
            ];
            let mut made = [0; 2];
            for (index, (name, (mac, port))) in attachment.wires().iter().zip(ends).enumerate() {
                wait_until_gone(name);
                // Two that begin at the same time cannot both make it.
                add_wire((name, mac), port, attachment.mtu(), link).map_err(|error| {
                    match exists_already(&error) {
                        true => {
                            let present = tcx::present(device.index).unwrap_or_default();
                            taken(device, present.quell).into()
                        }
                        false => error,
                    }
                })?;
                // What leaves the link is a packet as a wire has it, whatever it is sent by next.
                offload::turn_off(name, &[])?;
                let _ = sysctl::set(&format!("net.ipv6.conf.{name}.disable_ipv6"), "1");
                made[index] = interface_index(name)?;
                Netlink::open()?.have_no_address(made[index]);
                Netlink::open()?.set_up(made[index])?;
            }
            Ok(made)
        })
    }

    /// Sends what crosses the device by the wires: from now on.
    pub(crate) fn begin(attachment: &Attachment, [inside, outside]: [u32; 2]) -> Result<Self> {
        let device = attachment.device.index;
        // Where what is behind the link comes from, and where it is sent to.
        let [from, to] = match attachment.inside {
            Some(_) => [Hook::Ingress, Hook::Egress],
            None => [Hook::Egress, Hook::Ingress],
        };
        let mark = mark()?;
        let back = |hook| Program::Back {
            mark,
            to: device,
            hook,
        };
        let guard = |detour| Program::Guard { mark, detour };
        within(&attachment.namespace, || {
            Ok(Self {
                _back: [
                    Attached::new(outside, Hook::Ingress, back(from))?,
                    Attached::new(inside, Hook::Ingress, back(to))?,
                ],
                guards: vec![
                    Attached::new(device, from, guard(inside))?,
                    Attached::new(device, to, guard(outside))?,
                ],
            })
        })
    }

    /// Nothing takes the detour any more; what did so comes back.
    pub(crate) fn end(&mut self) {
        self.guards.clear();
    }
}

/// One that no packet has by chance.
fn mark() -> Result<u32> {
    let mut bytes = [0; 4];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.doing("draw a mark")?;
    Ok(u32::from_ne_bytes(bytes) | 1)
}
