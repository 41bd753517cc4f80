//! The far edge's way to the host's network with `--net pasta`: the program pasta, of the package passt.
//!
//! ```text
//!  link ──veth── wire 10.77.d.1   outside, which forwards   tap (TAP of pasta) ──pasta── its sockets in the host's network
//! ```
//!
//! pasta translates what it reads from the TAP interface to ordinary sockets. It answers to the one address that it has seen last, which is
//! the program's: only the program's packets come by the TAP interface, so no address has to be translated a second time. Addresses,
//! routes and neighbours of that interface are entered here, as everywhere; pasta configures nothing and answers no question about addresses.
//!
//! It runs as the caller, in the caller's network namespace and in quell's user namespace, with the two rights that it needs to enter `outside`:
//! as root, too, so that it has no right over the host. All that is passed to it was there in the version of Debian 12 (2023-03-09).
//!
//! It ends with quell, however quell ends: as a child that is killed then. So does the process that it finds the namespace by, its own child.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_confine::capabilities::{CapabilitySet, hand_on_only, keep_only};
use quell_hosts::child::{self, Child};
use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{Mac, Netlink, RouteTcp, interface_index};
use quell_hosts::ready;
use quell_hosts::spawn_handshake::{self, FarEnd, Heard, Line};
use rustix::event::{PollFd, PollFlags, Timespec, pause, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    DumpableBehavior, Pid, Signal, pidfd_send_signal, set_dumpable_behavior,
    set_parent_process_death_signal, setsid,
};

use crate::error::{Doing as _, Error, Result};
use crate::network::{NetworkConfig, bring_up, within};
use crate::program::Found;
use crate::relay::targets::Loopback;
use crate::resolver::Names;
use crate::subnet::Subnet;

/// The program.
const PROGRAM: &str = "pasta";
/// Its interface in the namespace `outside`.
const TAP: &str = "tap";
/// What makes such interfaces.
const TUN: &str = "/dev/net/tun";
/// The address that pasta sends from; locally administered.
const PASTA_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x21];
/// From its start to its interface; it takes a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Until it has passed on what it was sent last.
const LINGER: Duration = Duration::from_secs(1);
/// As much of what it says as fits into a message.
const MOST_SAID: usize = 2000;
/// What it needs until it is set up: to enter a namespace and to make an interface there.
const RIGHTS: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::NET_ADMIN);

/// What pasta shall do.
#[derive(Debug, Clone)]
pub(crate) struct PastaConfig {
    pub(crate) subnet: Subnet,
    pub(crate) mtu: u16,
    pub(crate) ipv6: bool,
    /// Whether the host's loopback answers at an address of its own.
    pub(crate) loopback: bool,
    /// What stands for the host's name server.
    pub(crate) names: Option<IpAddr>,
}

/// pasta, which waits for its start.
#[derive(Debug)]
pub(crate) struct WaitingPasta {
    child: Child,
    line: Line,
    said: File,
    loopback: bool,
}

/// pasta; it is ended with this.
#[derive(Debug)]
pub(crate) struct Pasta {
    child: Child,
    /// Of this process and no later one of its number.
    descriptor: OwnedFd,
    said: File,
}

impl PastaConfig {
    /// Refuses what pasta cannot do.
    pub(crate) fn new(
        subnet: Subnet,
        mtu: u16,
        ipv6: bool,
        loopback: &Loopback,
        names: Option<&Names>,
    ) -> Result<Self> {
        if let Loopback::Ports(_) = loopback {
            return Err(Error::Pasta(
                "pasta opens all of this host's loopback or nothing: --host-loopback without ports, or --net relay".to_owned(),
            ));
        }
        Ok(Self {
            subnet,
            mtu,
            ipv6,
            loopback: *loopback == Loopback::Open,
            names: names.and_then(|names| stand_in(names, subnet, ipv6)),
        })
    }

    /// Its arguments, but for the namespace.
    fn arguments(&self) -> Vec<String> {
        let mac = PASTA_MAC.map(|byte| format!("{byte:02x}")).join(":");
        let mtu = self.mtu.to_string();
        // In front, without words, and with no port of the host or of the namespace passed to the other side.
        let mut words: Vec<String> = [
            "-f",
            "-q",
            "-t",
            "none",
            "-u",
            "none",
            "-T",
            "none",
            "-U",
            "none",
            "--no-dhcp",
            "--no-dhcpv6",
            "--no-ndp",
            "--no-ra",
            "-I",
            TAP,
            "-m",
            &mtu,
            "-M",
            &mac,
            "-n",
            "24",
        ]
        .map(str::to_owned)
        .to_vec();
        let families = if self.ipv6 { 2 } else { 1 };
        let ends = self.subnet.inside().into_iter().zip(self.subnet.host());
        for (inside, gateway) in ends.take(families) {
            words.extend(["-a".to_owned(), inside.to_string()]);
            words.extend(["-g".to_owned(), gateway.to_string()]);
        }
        if !self.ipv6 {
            words.push("-4".to_owned());
        }
        // Otherwise the gateway's address is that of the host's loopback.
        if !self.loopback {
            words.push("--no-map-gw".to_owned());
        }
        if let Some(names) = self.names {
            words.extend(["--dns-forward".to_owned(), names.to_string()]);
        }
        words
    }
}

/// The address that stands for the first server that pasta can reach; it passes queries to one server of each family.
fn stand_in(names: &Names, subnet: Subnet, ipv6: bool) -> Option<IpAddr> {
    let mut servers = names.servers.iter().map(|server| server.ip());
    let first = servers.clone().find(IpAddr::is_ipv4);
    let first = first.or_else(|| servers.find(|_| ipv6))?;
    Some(subnet.names(0)[usize::from(first.is_ipv6())])
}

/// Finds the program, and whether its kind of interface can be made.
///
/// # Errors
///
/// In words for whoever asked for pasta.
pub(crate) fn find() -> Result<Found> {
    let found = Found::new(&[OsString::from(PROGRAM)]).map_err(|_| {
        Error::Pasta(
            "the program pasta is not found in PATH: install the package passt, or use --net relay"
                .to_owned(),
        )
    })?;
    match OpenOptions::new().read(true).write(true).open(TUN) {
        Ok(_) => Ok(found),
        Err(error) => {
            let fix = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "an administrator may open it to all, as most distributions do: chmod 666 /dev/net/tun"
                }
                _ => "the kernel needs it: modprobe tun, or give it to the container",
            };
            Err(Error::Pasta(format!(
                "pasta makes an interface by {TUN}, and that cannot be opened: {error}; {fix}"
            )))
        }
    }
}

impl WaitingPasta {
    /// Makes the process that becomes pasta, before this one has threads and while it has its rights. It finds `outside` by a process that
    /// it makes itself: a path to a namespace must not lead to a process with more rights than pasta's.
    pub(crate) fn fork(program: &Found, outside: &Namespace, config: &PastaConfig) -> Result<Self> {
        let said = memfd_create("pasta", MemfdFlags::CLOEXEC).doing("make a file in memory")?;
        let said = File::from(said);
        let theirs = said.try_clone().doing("copy a descriptor")?;
        let (line, far) = spawn_handshake::pair().doing("make a pair of sockets")?;
        let arguments = config.arguments();
        let mut line = Some(line);
        let child = child::fork(|| {
            line = None;
            become_pasta(program, arguments, outside, theirs, far)
        })?;
        let Some(mut line) = line else {
            return Err(Error::Gone("the line to pasta"));
        };
        match line.hear().doing("hear of pasta")? {
            Heard::Ready(_) => Ok(Self {
                child,
                line,
                said,
                loopback: config.loopback,
            }),
            Heard::Refused(error) => Err(error).doing("make a process for pasta"),
            Heard::Closed => Err(Error::Gone("the process of pasta")),
        }
    }

    /// Starts it, and sets its interface up in `outside`.
    pub(crate) fn start(mut self, outside: &Namespace, config: &NetworkConfig) -> Result<Pasta> {
        self.line.go().doing("start pasta")?;
        let heard = self.line.hear().doing("hear of pasta")?;
        let pasta = Pasta {
            descriptor: self.child.descriptor().doing("watch pasta")?,
            child: self.child,
            said: self.said,
        };
        if let Heard::Refused(error) = heard {
            return Err(Error::Pasta(format!("pasta cannot be executed: {error}")));
        }
        within(outside, || {
            pasta.wait_for_interface()?;
            set_up(config, self.loopback)
        })?;
        pasta.check()?;
        Ok(pasta)
    }
}

/// In the copy.
fn become_pasta(
    program: &Found,
    arguments: Vec<String>,
    outside: &Namespace,
    said: File,
    line: FarEnd,
) -> u8 {
    let holder = Cell::new(None);
    let prepare = || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Out of reach of the terminal's keys.
        setsid()?;
        holder.set(Some(hold(outside)?));
        hand_on_only(RIGHTS).map(drop).map_err(io::Error::other)
    };
    let command = || {
        let holder: Pid = holder.get().ok_or(io::ErrorKind::NotFound)?;
        let namespace = format!("/proc/{}/ns/net", holder.as_raw_nonzero());
        let mut command = Command::new(program.path());
        command
            .arg0(PROGRAM)
            .args(arguments)
            .args(["--netns-only", "--netns", &namespace])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        Ok(command)
    };
    line.become_program(prepare, command)
}

/// A process without rights or descriptors in `outside`, which ends with this one.
fn hold(outside: &Namespace) -> io::Result<Pid> {
    let (mut here, mut there) = UnixStream::pair()?;
    let holder = child::fork(|| {
        let held = set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(io::Error::from)
            .and_then(|()| outside.enter())
            .and_then(|()| keep_only(CapabilitySet::empty()).map_err(io::Error::other))
            .and_then(|_| Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?))
            .and_then(|()| there.write_all(b"h"));
        child::close_all_but(&[]);
        while held.is_ok() {
            pause();
        }
        1
    });
    let holder = holder.map_err(io::Error::other)?;
    drop(there);
    here.read_exact(&mut [0])?;
    Ok(holder.id())
}

/// The interface of pasta: packets of the wire's size and nothing larger, and everything that is not the program's behind it.
fn set_up(config: &NetworkConfig, loopback: bool) -> Result<()> {
    let (tap, lo) = (interface_index(TAP)?, interface_index("lo")?);
    let mut netlink = Netlink::open()?;
    netlink.set_mtu(tap, u32::from(config.mtu))?;
    bring_up(TAP, true)?;
    let (hops, hosts) = (config.subnet.names(0), config.subnet.host());
    let ends = hops.into_iter().zip(hosts).zip(config.subnet.far());
    for ((hop, host), own) in ends.take(config.families()) {
        netlink.add_controlled_route(tap, hop, RouteTcp::default())?;
        netlink.add_neighbour(tap, hop, PASTA_MAC)?;
        netlink.add_default_route(tap, hop, own, RouteTcp::default())?;
        match loopback {
            true => {
                netlink.add_controlled_route(tap, host, RouteTcp::default())?;
                netlink.add_neighbour(tap, host, PASTA_MAC)?;
            }
            // Nobody listens here: it refuses at once, and pasta asks no router of the host's for it.
            false => netlink.add_address(lo, host)?,
        }
    }
    let hops = hops.into_iter().take(config.families());
    Ok(ready::wait_until_reachable(hops)?)
}

impl Pasta {
    /// Its process, and with it its child.
    pub(crate) fn id(&self) -> Pid {
        self.child.id()
    }

    /// Waits until its interface is in the calling thread's namespace.
    fn wait_for_interface(&self) -> Result<()> {
        let began = Instant::now();
        while interface_index(TAP).is_err() {
            self.check()?;
            if began.elapsed() > PATIENCE {
                let seconds = PATIENCE.as_secs();
                return Err(Error::Pasta(format!(
                    "pasta has made no interface within {seconds} s{}",
                    self.words()
                )));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Fails once it has ended, in its words.
    pub(crate) fn check(&self) -> Result<()> {
        let mut ready = [PollFd::new(&self.descriptor, PollFlags::IN)];
        let at_once = Timespec::default();
        match poll(&mut ready, Some(&at_once)) {
            Ok(1..) => Err(Error::Pasta(format!("pasta has ended{}", self.words()))),
            _ => Ok(()),
        }
    }

    /// What it has said, as the end of a message.
    fn words(&self) -> String {
        let mut said = vec![0; MOST_SAID];
        let length = self.said.read_at(&mut said, 0).unwrap_or(0);
        match shown(&String::from_utf8_lossy(&said[..length])) {
            words if words.is_empty() => " without a word".to_owned(),
            words => format!(": {words}"),
        }
    }

    /// Waits until it has passed on what it was sent: it sleeps once nothing is left to read.
    pub(crate) fn settle(&self) {
        let began = Instant::now();
        let mut asleep = 0;
        while asleep < 3 && began.elapsed() < LINGER {
            asleep = match is_asleep(self.child.id()) {
                true => asleep + 1,
                false => 0,
            };
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Pasta {
    fn drop(&mut self) {
        // It may have ended, and somebody who waits for any child may have heard of it.
        let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// proc_pid_stat(5): the state follows the name, which is in parentheses.
fn is_asleep(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    let state = |text: String| Some(text.rsplit_once(") ")?.1.starts_with('S'));
    status.ok().and_then(state).unwrap_or(true)
}

/// Its complaints on one line, without those about the system's log, which a container lacks, and without its list of options.
fn shown(said: &str) -> String {
    let lines = said.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("Usage:"));
    let complaints = lines.filter(|line| {
        !line.is_empty() && !line.starts_with("Failed to send") && !line.starts_with("No external")
    });
    complaints.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    fn config(loopback: bool, ipv6: bool, names: &str) -> PastaConfig {
        let names = (!names.is_empty()).then(|| Names {
            servers: names.split(' ').map(|one| one.parse().unwrap()).collect(),
            rest: String::new(),
        });
        let loopback = match loopback {
            true => Loopback::Open,
            false => Loopback::Closed,
        };
        PastaConfig::new(Subnet::new(3), 1400, ipv6, &loopback, names.as_ref()).unwrap()
    }

    #[test]
    fn no_port_is_opened_and_the_loopback_answers_only_where_that_was_asked_for() {
        for (loopback, ipv6) in [(false, false), (false, true), (true, false), (true, true)] {
            let words = config(loopback, ipv6, "").arguments();
            for ports in ["-t", "-u", "-T", "-U"] {
                let at = words.iter().position(|word| word == ports).unwrap();
                assert_eq!(words[at + 1], "none", "{ports}");
            }
            let has = |word: &str| words.iter().any(|found| found == word);
            assert_eq!(has("--no-map-gw"), !loopback);
            assert_eq!(has("-4"), !ipv6);
            assert_eq!(has("fd77:0:3::2"), ipv6);
            assert!(has("10.77.3.2") && has("10.77.3.254") && has("1400"));
        }
        let ports = Loopback::Ports(vec![80]);
        let refused = PastaConfig::new(Subnet::new(3), 1500, true, &ports, None);
        assert!(refused.unwrap_err().to_string().contains("without ports"));
    }

    #[test]
    fn the_first_server_of_ipv4_has_a_stand_in_or_else_the_first_of_ipv6() {
        for (servers, ipv6, expected) in [
            ("[2001:db8::1]:53 192.0.2.1:53", true, Some("10.77.3.53")),
            ("[2001:db8::1]:53", true, Some("fd77:0:3::35")),
            ("[2001:db8::1]:53", false, None),
            ("", true, None),
        ] {
            let names = config(false, ipv6, servers).names;
            assert_eq!(
                names.map(|address| address.to_string()).as_deref(),
                expected
            );
        }
    }

    #[test]
    fn its_complaints_are_shown_and_nothing_else() {
        let said = "Failed to send 46 bytes to syslog\nNo external routable interface for IPv6\nCouldn't open network namespace x\n";
        assert_eq!(shown(said), "Couldn't open network namespace x");
        let said = "pasta: unrecognized option '--no-ra'\nUsage: pasta [OPTION]...\n  -d\n";
        assert_eq!(shown(said), "pasta: unrecognized option '--no-ra'");
    }
}
