//! DCTCP as BPF: loads and leaves, follows RFC 8257 in the integers of Linux, and falls back to Reno.
//!
//! The numbers are recomputed here by a second model, from the definitions of RFC 8257 section 3.3 in units of 1/1024.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::common::{Cable, Connection, can_load_bpf, connect, has_ecn, tcp_info};
use quell_hosts::cc::{self, Control};
use quell_hosts::confine::capabilities;
use quell_hosts::sysctl;
use quell_hosts::topology::{Topology, TopologyConfig};
use quell_hosts::traffic::Host;
use quell_testing::{Missed, Turn, bound, live};
use rustix::net::sockopt::{set_socket_send_buffer_size, tcp_congestion};

/// What the BPF program shows of one socket: the last round and the last reduction. Windows are in packets, alpha in units of
/// 1/1024. The order of the fields is that of `struct dctcp_view` in `bpf/dctcp.bpf.c`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct View {
    /// Whole rounds (windows of data) so far.
    rounds: u32,
    /// Alpha before the last round's update.
    alpha_before: u32,
    /// Alpha now: 1024 is a mark on every packet.
    alpha: u32,
    /// Packets delivered in the last round.
    round_delivered: u32,
    /// Of these, marked CE.
    round_ce: u32,
    /// Reductions by marks so far.
    reductions: u32,
    /// Alpha at the last of them.
    reduction_alpha: u32,
    /// Window before it.
    reduction_cwnd: u32,
    /// Threshold, and so the window, after it.
    reduction_ssthresh: u32,
    /// Reductions by loss so far.
    losses: u32,
}

impl View {
    /// Of this socket; `None` if it does not run the control now.
    fn of(control: &Control, socket: impl AsFd) -> Option<Self> {
        control
            .view(socket)
            .unwrap()
            .and_then(|bytes| Self::parse(&bytes))
    }
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes
            .chunks_exact(4)
            .map(|word| word.try_into().map_or(0, u32::from_ne_bytes));
        let mut next = || words.next();
        Some(Self {
            rounds: next()?,
            alpha_before: next()?,
            alpha: next()?,
            round_delivered: next()?,
            round_ce: next()?,
            reductions: next()?,
            reduction_alpha: next()?,
            reduction_cwnd: next()?,
            reduction_ssthresh: next()?,
            losses: next()?,
        })
    }
}

/// Alpha after a round, in 1/1024: (1 - g) alpha + g M with g = 1/16; below 16 the decay takes the rest.
fn next_alpha(alpha: u32, delivered: u32, ce: u32) -> u32 {
    let (alpha, delivered, ce) = (u64::from(alpha), u64::from(delivered), u64::from(ce));
    let decayed = if alpha < 16 { 0 } else { alpha - alpha / 16 };
    let gained = if ce == 0 {
        0
    } else {
        1024 * ce / 16 / delivered.max(1)
    };
    (decayed + gained).min(1024) as u32
}

/// The window after a reduction: cwnd (1 - alpha / 2), at least 2 packets.
fn reduced(cwnd: u32, alpha: u32) -> u32 {
    let (cwnd, alpha) = (u64::from(cwnd), u64::from(alpha));
    (cwnd - cwnd * alpha / 2048).max(2) as u32
}

/// A flow that sends as fast as it may until it is dropped.
struct Flow {
    client: TcpStream,
    threads: Vec<JoinHandle<()>>,
}

impl Flow {
    fn start(connection: Connection) -> Self {
        let Connection { client, mut server } = connection;
        let mut out = client.try_clone().unwrap();
        let writer = thread::spawn(move || while out.write_all(&[0x55; 1 << 14]).is_ok() {});
        let reader = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while server.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        });
        Self {
            client,
            threads: vec![writer, reader],
        }
    }

    /// Looks at the flow every half millisecond, each round and the last look once, until `enough`.
    fn rounds(&self, control: &Control, mut enough: impl FnMut(&View) -> bool) -> Vec<View> {
        let (began, mut seen) = (Instant::now(), Vec::<View>::new());
        loop {
            let view = View::of(control, &self.client).expect("the socket runs our DCTCP");
            let done = enough(&view);
            let new_round = seen.last().is_none_or(|last| last.rounds != view.rounds);
            if new_round || done {
                seen.push(view);
            }
            if done {
                return seen;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "no end after {} rounds: {view:?}",
                view.rounds
            );
            thread::sleep(Duration::from_micros(500));
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        let _ = self.client.shutdown(Shutdown::Both);
        self.threads
            .drain(..)
            .for_each(|thread| thread.join().unwrap());
    }
}

/// Every round and reduction seen must be what the model computes; most rounds must be seen.
fn follows_the_model(seen: &[View]) -> Result<(), Missed> {
    let updated = seen.iter().filter(|view| view.rounds > 0);
    for view in updated {
        assert_eq!(
            view.alpha,
            next_alpha(view.alpha_before, view.round_delivered, view.round_ce),
            "{view:?}"
        );
    }
    for view in seen.iter().filter(|view| view.reductions > 0) {
        assert_eq!(
            view.reduction_ssthresh,
            reduced(view.reduction_cwnd, view.reduction_alpha),
            "{view:?}"
        );
    }
    let in_a_row = seen
        .windows(2)
        .filter(|pair| pair[1].rounds == pair[0].rounds + 1);
    let checked = in_a_row
        .inspect(|pair| assert_eq!(pair[1].alpha_before, pair[0].alpha, "{pair:?}"))
        .count();
    bound!(
        checked > seen.len() / 2,
        "too few rounds in a row: {checked} of {}",
        seen.len()
    );
    Ok(())
}

fn connect_with(control: &Control, topology: &Topology) -> Connection {
    connect(
        &topology.sender,
        &topology.receiver,
        topology.groups[0].receiver,
        |socket| {
            control.apply(socket).unwrap();
            set_socket_send_buffer_size(socket, 1 << 17).unwrap();
        },
    )
}

const DELAY: Duration = Duration::from_millis(4);

#[test]
fn the_model_has_the_published_constants() {
    assert_eq!(next_alpha(1024, 10, 0), 960, "decays by 1/16");
    assert_eq!(
        next_alpha(0, 10, 10),
        64,
        "a round full of marks gives 1/16"
    );
    assert_eq!(next_alpha(1024, 10, 10), 1024, "all marks, all the time: 1");
    assert_eq!(
        (next_alpha(16, 10, 0), next_alpha(15, 10, 0)),
        (15, 0),
        "reaches 0"
    );
    assert_eq!(
        (reduced(100, 1024), reduced(100, 0), reduced(3, 1024)),
        (50, 100, 2)
    );
}

#[test]
fn loads_under_a_name_of_this_process_and_leaves_nothing() {
    if !can_load_bpf("loads_under_a_name_of_this_process_and_leaves_nothing") {
        return;
    }
    let _turn = Turn::take();
    let control = cc::load("dctcp").unwrap();
    let name = control.kernel_name().to_owned();
    assert!(
        control.is_bpf(),
        "this kernel has its own dctcp, so ours is not tested"
    );
    assert_eq!(cc::owner(&name), Some(std::process::id()));
    assert!(cc::available().unwrap().contains(&name));

    let again = cc::load("dctcp").unwrap();
    assert_eq!(again.kernel_name(), name, "a second load shares the first");
    assert!(!again.unload());
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    control.apply(&socket).unwrap();
    assert_eq!(tcp_congestion(&socket).unwrap(), name);
    assert_eq!(
        View::of(&control, &socket),
        None,
        "not connected: no state yet"
    );
    drop(socket);

    assert!(control.unload());
    assert!(!cc::available().unwrap().contains(&name));
    let later = cc::load("dctcp").unwrap();
    assert!(later.unload(), "and it can be loaded again");
}

#[test]
fn alpha_and_window_follow_the_marks() {
    let test = "alpha_and_window_follow_the_marks";
    if can_load_bpf(test) {
        live(test, |_| follow_the_marks());
    }
}

fn follow_the_marks() -> Result<(), Missed> {
    const EVERY: usize = 16;
    let control = cc::load("dctcp").unwrap();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let [data, marked, other_ecn] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let _cable = {
        let (data, marked, other_ecn) = (
            Arc::clone(&data),
            Arc::clone(&marked),
            Arc::clone(&other_ecn),
        );
        Cable::join(&topology, DELAY, move |to, frame| {
            if to == Host::Receiver && frame.payload() > 0 {
                other_ecn.fetch_add(usize::from(frame.ecn() != 2), Ordering::Relaxed);
                if data.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1 {
                    frame.mark_ce();
                    marked.fetch_add(1, Ordering::Relaxed);
                }
            }
            true
        })
    };
    let connection = connect_with(&control, &topology);
    assert!(has_ecn(&connection.client) && has_ecn(&connection.server));
    let flow = Flow::start(connection);
    let seen = flow.rounds(&control, |view| view.rounds >= 250);
    follows_the_model(&seen)?;

    // One packet in 16 marked: alpha settles about 1024 / 16, and the window about the 2 / p of random marks; regular marks fall
    // into step with the rounds, which moves both by up to a factor of two.
    let settled: Vec<_> = seen.iter().filter(|view| view.rounds > 100).collect();
    let mean = |of: fn(&View) -> u32| {
        settled.iter().map(|view| f64::from(of(view))).sum::<f64>() / settled.len() as f64
    };
    let (alpha, window) = (mean(|view| view.alpha), mean(|view| view.reduction_cwnd));
    bound!((32.0..128.0).contains(&alpha), "alpha {alpha}");
    bound!((8.0..64.0).contains(&window), "window {window}");
    let last = settled[settled.len() - 1];
    bound!(last.reductions > 50 && last.losses == 0, "{last:?}");

    // The receiver told the sender of each mark, within what is on the way or was sent twice.
    let told = tcp_info(&flow.client).tcpi_delivered_ce as usize;
    let given = marked.load(Ordering::Relaxed);
    bound!(told.abs_diff(given) <= 16, "{told} of {given} marks told");
    assert_eq!(other_ecn.load(Ordering::Relaxed), 0, "all data is ECT(0)");
    Ok(())
}

#[test]
fn without_marks_alpha_reaches_zero_and_a_loss_still_halves() {
    let test = "without_marks_alpha_reaches_zero_and_a_loss_still_halves";
    if can_load_bpf(test) {
        live(test, |_| reaches_zero_and_halves());
    }
}

fn reaches_zero_and_halves() -> Result<(), Missed> {
    let control = cc::load("dctcp").unwrap();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let lose_one = Arc::new(AtomicBool::new(false));
    let losing = Arc::clone(&lose_one);
    let _cable = Cable::join(&topology, DELAY, move |to, frame| {
        let data = to == Host::Receiver && frame.payload() > 0;
        !(data && losing.swap(false, Ordering::Relaxed))
    });
    let flow = Flow::start(connect_with(&control, &topology));
    let seen = flow.rounds(&control, |view| view.alpha == 0);
    follows_the_model(&seen)?;
    let last = seen[seen.len() - 1];
    // From 1024 by 1/16 each round to 15, then 0: counted by the model alone.
    let expected = (0..)
        .scan(1024, |alpha, _| {
            Some(std::mem::replace(alpha, next_alpha(*alpha, 1, 0)))
        })
        .position(|alpha| alpha == 0);
    // The look that found it may have come a round late.
    let late = last.rounds as usize - expected.unwrap();
    bound!(late <= 2, "{last:?}, expected after {expected:?} rounds");
    assert_eq!((last.reductions, last.losses), (0, 0));

    lose_one.store(true, Ordering::Relaxed);
    let seen = flow.rounds(&control, |view| view.losses > 0);
    let last = seen[seen.len() - 1];
    assert_eq!(last.losses, 1, "once per loss episode");
    assert_eq!(
        tcp_info(&flow.client).tcpi_snd_ssthresh,
        (last.reduction_cwnd / 2).max(2)
    );
    Ok(())
}

#[test]
fn without_ecn_at_the_peer_it_is_reno_and_not_ect() {
    if !can_load_bpf("without_ecn_at_the_peer_it_is_reno_and_not_ect") {
        return;
    }
    let _turn = Turn::take();
    let control = cc::load("dctcp").unwrap();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    topology
        .receiver
        .run(|| sysctl::set("net.ipv4.tcp_ecn", "0").unwrap())
        .unwrap();
    let ect = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&ect);
    let _cable = Cable::join(&topology, Duration::ZERO, move |_, frame| {
        seen.fetch_add(
            usize::from(frame.payload() > 0 && frame.ecn() != 0),
            Ordering::Relaxed,
        );
        true
    });
    let from_here = Mutex::new(true);
    let connection = connect(
        &topology.sender,
        &topology.receiver,
        topology.groups[0].receiver,
        |socket| {
            // The listener is prepared first and keeps the default; only the connecting socket asks.
            if !std::mem::replace(&mut *from_here.lock().unwrap(), false) {
                control.apply(socket).unwrap();
            }
        },
    );
    assert!(!has_ecn(&connection.client));
    assert_eq!(tcp_congestion(&connection.client).unwrap(), "reno");
    assert_eq!(connection.transfer(1 << 20), 1 << 20);
    assert_eq!(ect.load(Ordering::Relaxed), 0);
}

#[test]
fn a_thread_without_privileges_may_use_and_read_what_was_loaded_before() {
    if !can_load_bpf("a_thread_without_privileges_may_use_and_read_what_was_loaded_before") {
        return;
    }
    let _turn = Turn::take();
    let control = cc::load("dctcp").unwrap();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let _cable = Cable::plain(&topology);
    let connection = connect_with(&control, &topology);
    thread::scope(|scope| {
        scope.spawn(|| {
            capabilities::drop_to_network().unwrap();
            assert_eq!(
                View::of(&control, &connection.client).unwrap().alpha,
                1024,
                "RFC 8257 section 4.2: begins at 1"
            );
        });
    });
}
