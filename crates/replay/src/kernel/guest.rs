//! The guest's half: first process, application, and the far end of the cable.
//!
//! ```text
//! socket of the end under test ── TCP ── [ host ]─────veth─────[ wire ] ── packet socket: the script's end
//! ```
//!
//! One thread waits for frames, for the socket and for the time of the next line, and does nothing else; so a frame is taken down at the
//! instant at which it left, and the application reads at the instant of an arrival. Both ends of the cable are in the guest's only
//! network namespace: what arrives at `wire` is for another Ethernet address, so the kernel leaves it to the packet socket.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use quell_hosts::first_process::{is_guest, mount_files, power_off};
use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{GroupConfig, Netlink, VethEnd, interface_index};
use quell_hosts::traffic::CongestionState;
use quell_hosts::{entropy, offload, sysctl};
use quell_link::{Port, monotonic};
use quell_units::Time;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr, set_tcp_congestion};
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, accept_with, bind, connect, listen, shutdown,
    socket_with,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::{RECORD, RELEASE, Record, SCRIPT, ticks};
use crate::model::BUFFER;
use crate::play::{Doing as _, Endpoint, ReplayError, play};
use crate::script::{Arrival, EcnSetting, End, MSS, Script, Subject};
use crate::state::{SenderState, State};
use crate::wire::{LOCAL, LOCAL_MAC, Numbers, PORT, REMOTE, REMOTE_MAC, TIMESTAMPS, timestamp};

const HOST: &str = "host";
const WIRE: &str = "wire";
/// Of the cable's far end; nothing is sent to it.
const WIRE_MAC: [u8; 6] = [0x02, 0x78, 0, 0, 0, 3];
/// The longest frame.
const FRAME: usize = 2_048;

/// Replays the script in the folder that `words` name. Does not return in a guest: it ends with the machine.
pub(super) fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(folder) = words.next().map(PathBuf::from).filter(|_| is_guest()) else {
        eprintln!(
            "quell-replay: `guest FOLDER` is the first process of a user-mode kernel, and nothing else"
        );
        return ExitCode::from(2);
    };
    // Its own path, which stays when the guest's /proc is mounted over the host's.
    let folder = fs::canonicalize(&folder).unwrap_or(folder);
    let record = replay(&folder).unwrap_or_else(|error| Record {
        error: Some(error.to_string()),
        ..Record::default()
    });
    let text = serde_json::to_vec(&record).map_err(std::io::Error::from);
    if let Err(error) = text.and_then(|text| fs::write(folder.join(RECORD), text)) {
        eprintln!("quell-replay: {error}");
    }
    let refused = power_off();
    eprintln!("quell-replay: cannot turn the guest off: {refused}");
    ExitCode::FAILURE
}

fn replay(folder: &Path) -> Result<Record, ReplayError> {
    entropy::add(&super::entropy())?;
    mount_files(&[folder]).doing("mount")?;
    let text = fs::read_to_string(folder.join(SCRIPT)).doing("read the script")?;
    let release = fs::read_to_string(folder.join(RELEASE)).doing("read the version")?;
    let script = Script::parse(&text).map_err(|error| ReplayError::Guest(error.to_string()))?;
    make_network(&script)?;
    let mut end = LinuxEnd::new(&script)?;
    let states = play(&script, &Subject::Linux(release), &mut end)?;
    Ok(Record {
        error: None,
        frames: end.frames,
        states: states
            .into_iter()
            .map(|(at, state)| (at.as_nanos(), state))
            .collect(),
    })
}

fn make_network(script: &Script) -> Result<(), ReplayError> {
    // A buffer is sized for four times the window.
    sysctl::prepare_host(BUFFER.most.get() / 4, false)?;
    // Documentation/networking/ip-sysctl.rst: neither asks nor agrees; both with RFC 3168; both with RFC 9768.
    let ecn = match script.ecn {
        EcnSetting::Off => "0",
        EcnSetting::Classic => "1",
        EcnSetting::Accurate => "3",
    };
    sysctl::set("net.ipv4.tcp_ecn", ecn)?;
    sysctl::set(
        "net.ipv4.tcp_timestamps",
        if script.timestamps { "1" } else { "0" },
    )?;
    let mut netlink = Netlink::open()?;
    // The kernel measures its own window in segments that fit the interface.
    let mtu = 40 + MSS + if script.timestamps { TIMESTAMPS } else { 0 };
    let end = |name, mac| VethEnd { name, mac, mtu };
    let here = Namespace::current().doing("find the network namespace")?;
    netlink.add_veth(&end(HOST, LOCAL_MAC), &end(WIRE, WIRE_MAC), &here)?;
    for name in [HOST, WIRE] {
        offload::turn_off(name, &[])?;
        netlink.set_up(interface_index(name)?)?;
    }
    for name in [HOST, WIRE] {
        netlink.wait_until_running(interface_index(name)?)?;
    }
    let host = interface_index(HOST)?;
    netlink.add_address(host, LOCAL.into())?;
    netlink.add_host_route(
        host,
        REMOTE.into(),
        LOCAL.into(),
        &GroupConfig::default(),
        0,
    )?;
    netlink.add_neighbour(host, REMOTE.into(), REMOTE_MAC)?;
    Ok(())
}

/// The socket of the end under test.
enum Socket {
    /// Of a sender: connected, or not yet.
    Sender(OwnedFd),
    Listener(OwnedFd),
    Receiver(OwnedFd),
    /// Of a client or server: connected, or not yet.
    Both(OwnedFd),
    /// Of an end that has aborted.
    Gone,
}

impl Socket {
    fn open(&self) -> Option<&OwnedFd> {
        match self {
            Self::Sender(socket)
            | Self::Listener(socket)
            | Self::Receiver(socket)
            | Self::Both(socket) => Some(socket),
            Self::Gone => None,
        }
    }
}

/// The end under test, and what has left it.
struct LinuxEnd {
    socket: Socket,
    wire: Port,
    timer: OwnedFd,
    /// When the script began.
    zero: Time,
    has_timestamps: bool,
    numbers: Numbers,
    /// What the application has still to write, and whether it closes then.
    unwritten: u64,
    closes: bool,
    /// It may read, and there may be more to read.
    reads: bool,
    /// Data flows both ways once a connection is accepted.
    is_two_way: bool,
    frames: Vec<(u64, Vec<u8>)>,
    /// When something left, with its timestamp.
    timestamps: Vec<(Time, u32)>,
}

impl LinuxEnd {
    fn new(script: &Script) -> Result<Self, ReplayError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
            .doing("open a socket")?;
        set_socket_reuseaddr(&socket, true).doing("set up a socket")?;
        bind(&socket, &SocketAddrV4::new(LOCAL, PORT)).doing("bind a socket")?;
        if let Some(control) = script.end.control() {
            set_tcp_congestion(&socket, control)
                .map_err(|_| ReplayError::Control(control.to_owned()))?;
        }
        let socket = match &script.end {
            End::Sender(_) => Socket::Sender(socket),
            End::Client(_) => Socket::Both(socket),
            End::Receiver | End::Server(_) => {
                listen(&socket, 1).doing("listen")?;
                Socket::Listener(socket)
            }
        };
        // Not before everything sleeps does the tick stop, after which the kernel shows when it ticks.
        thread::sleep(Duration::from_millis(100));
        let list = fs::read_to_string("/proc/timer_list").doing("read /proc/timer_list")?;
        let zero = ticks::beginning(&list).ok_or(ReplayError::Ticks)?;
        Ok(Self {
            socket,
            wire: Port::open(WIRE).doing("open a packet socket")?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
                .doing("make a timer")?,
            zero,
            has_timestamps: script.timestamps,
            numbers: Numbers::default(),
            unwritten: 0,
            closes: false,
            reads: !script.end.opens(),
            is_two_way: script.end.is_two_way(),
            frames: Vec::new(),
            timestamps: Vec::new(),
        })
    }

    /// Since the script began.
    fn now(&self) -> Time {
        monotonic() - self.zero
    }

    /// Everything that can be done now: the application accepts, reads and writes, and what left is taken down.
    fn work(&mut self) -> Result<(), ReplayError> {
        self.take_down()?;
        if let Socket::Listener(listener) = &self.socket {
            match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(connection) if self.is_two_way => self.socket = Socket::Both(connection),
                Ok(connection) => self.socket = Socket::Receiver(connection),
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(error).doing("accept"),
            }
        }
        if let Socket::Receiver(socket) | Socket::Both(socket) = &self.socket {
            let mut buffer = vec![0; 1 << 16];
            while self.reads {
                match read(socket, &mut buffer) {
                    Ok(0) => self.reads = false,
                    Ok(_) => {}
                    Err(Errno::AGAIN) => break,
                    Err(_) => self.reads = false,
                }
            }
        }
        if let Socket::Sender(socket) | Socket::Both(socket) = &self.socket {
            // All of it at once: where a write ends shows in what leaves.
            while self.unwritten > 0 {
                match write(socket, &vec![0; self.unwritten as usize]) {
                    Ok(written) => self.unwritten -= written as u64,
                    Err(Errno::AGAIN) => break,
                    Err(error) => return Err(error).doing("write"),
                }
            }
            if self.closes && self.unwritten == 0 {
                self.closes = false;
                shutdown(socket, Shutdown::Write).doing("close")?;
            }
        }
        self.take_down()
    }
    fn take_down(&mut self) -> Result<(), ReplayError> {
        let mut buffer = [0; FRAME];
        // What is there together left at one instant: each look at the clock would move it.
        let mut at = None;
        loop {
            let length = match read(&self.wire, &mut buffer) {
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error).doing("read a frame"),
            };
            let frame = &buffer[..length];
            let at = *at.get_or_insert_with(|| self.now());
            if let Some(decoded) = self.numbers.decode(frame) {
                self.timestamps.push((at, decoded.timestamp));
                self.frames.push((at.as_nanos(), frame.to_vec()));
            }
        }
    }
}

impl Endpoint for LinuxEnd {
    fn run_until(&mut self, at: Time) -> Result<(), ReplayError> {
        let due = self.zero + at;
        let nanos = due.as_nanos();
        let due = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: (nanos / 1_000_000_000) as i64,
                tv_nsec: (nanos % 1_000_000_000) as i64,
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &due).doing("set a timer")?;
        loop {
            self.work()?;
            let mut wanted = PollFlags::empty();
            if self.unwritten > 0 {
                wanted |= PollFlags::OUT;
            }
            if self.reads {
                wanted |= PollFlags::IN;
            }
            let mut waits = vec![
                PollFd::from_borrowed_fd(self.timer.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.wire.as_fd(), PollFlags::IN),
            ];
            // A socket that is not connected, or at its end, always has something to say.
            if let Some(socket) = self.socket.open().filter(|_| !wanted.is_empty()) {
                waits.push(PollFd::from_borrowed_fd(socket.as_fd(), wanted));
            }
            poll(&mut waits, None).doing("wait")?;
            if !waits[0].revents().is_empty() {
                return self.work();
            }
        }
    }
    fn open(&mut self) -> Result<(), ReplayError> {
        if let Socket::Sender(socket) | Socket::Both(socket) = &self.socket {
            match connect(socket, &SocketAddrV4::new(REMOTE, PORT)) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(error) => return Err(error).doing("connect"),
            }
            self.reads = self.is_two_way;
        }
        self.work()
    }
    fn write(&mut self, bytes: u64) -> Result<(), ReplayError> {
        self.unwritten += bytes;
        self.work()
    }
    fn close(&mut self) -> Result<(), ReplayError> {
        self.closes = true;
        self.work()
    }
    fn abort(&mut self) -> Result<(), ReplayError> {
        if let Socket::Both(socket) = &self.socket {
            set_socket_linger(socket, Some(Duration::ZERO)).doing("set up a socket")?;
            self.socket = Socket::Gone;
        }
        self.work()
    }
    fn arrive(&mut self, arrival: &Arrival) -> Result<(), ReplayError> {
        let timestamps = self.has_timestamps.then(|| {
            let now = self.now();
            let until = arrival.echo.unwrap_or(now);
            let mut before = self
                .timestamps
                .iter()
                .rev()
                .filter(|(at, _)| *at <= until + crate::judge::LINUX_TOLERANCE);
            (
                timestamp(arrival.sent.unwrap_or(now)),
                before.next().map_or(0, |(_, timestamp)| *timestamp),
            )
        });
        let frame = self.numbers.encode(&arrival.segment, timestamps);
        write(&self.wire, &frame).doing("send a frame")?;
        self.work()
    }
    fn state(&mut self) -> Result<SenderState, ReplayError> {
        let (Socket::Sender(socket) | Socket::Both(socket)) = &self.socket else {
            return Err(ReplayError::NoSender);
        };
        let state = CongestionState::of(socket).doing("ask for the state of a connection")?;
        Ok(SenderState {
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            resent: state.retransmitted,
            state: *State::ALL
                .get(usize::from(state.state))
                .ok_or(ReplayError::NoSender)?,
        })
    }
}
