//! Programs behind the link: what this program does in a role.

use std::env;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::relayed;
use rustix::net::sockopt;

use crate::fixture::{SERVER, SOURCE, Sum};

/// The role.
pub(crate) const ROLE: &str = "QUELL_TEST_ROLE";
/// Its words.
pub(crate) const WORDS: &str = "QUELL_TEST_WORDS";

/// Patience with an answer, far above any delay of a test.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn play(role: &str) {
    let words = env::var(WORDS).unwrap_or_default();
    let words: Vec<&str> = words.split_whitespace().collect();
    match (role, &words[..]) {
        ("connect", addresses) => addresses.iter().for_each(|to| connect_once(to)),
        ("count", [to, bytes]) => count(to, bytes.parse().unwrap(), true),
        ("sum", [to, bytes]) => count(to, bytes.parse().unwrap(), false),
        ("fetch", [to]) => fetch(to),
        ("leave", [to, bytes]) => leave(to, bytes.parse().unwrap()),
        ("tell", [to]) => tell(to),
        ("bytewise", [to, bytes]) => bytewise(to, bytes.parse().unwrap()),
        ("abort", [to]) => abort(to),
        ("reset", [to]) => reset(to),
        ("many", [to, number]) => many(to, number.parse().unwrap()),
        ("datagrams", [to, tos @ ..]) => datagrams(to, tos),
        ("burst", [to, number]) => burst(to, number.parse().unwrap()),
        ("ping", [to, number]) => ping(to, number.parse().unwrap()),
        ("names", [name]) => names(name),
        ("read", [to, seconds]) => read(to, seconds.parse().unwrap(), None),
        ("read", [to, seconds, rate]) => read(to, seconds.parse().unwrap(), rate.parse().ok()),
        ("control", [to]) => control(to),
        ("far", [port]) => far(port.parse().unwrap()),
        ("serve", [port, after]) => serve(port, after.parse().unwrap()),
        ("listen", [meant, other]) => listen(meant, other),
        ("to-far", [port]) => connect_once(&format!("{}:{port}", env::var("QUELL_FAR").unwrap())),
        ("to-host", [port]) => connect_once(&format!("{}:{port}", env::var("QUELL_HOST").unwrap())),
        ("login", [place]) => crate::terminal::login(place),
        ("session", [place]) => crate::terminal::session(place),
        ("typist", [key]) => crate::keystrokes::typist(key),
        ("beside", [times, program @ ..]) => crate::beside::run(times.parse().unwrap(), program),
        ("keys", []) => crate::terminal::keys(),
        ("upload", [to, seconds]) => upload(to, seconds.parse().unwrap()),
        ("container", [kind, program @ ..]) => {
            crate::containers::enter(kind.parse().unwrap(), program);
        }
        ("sleep", [seconds]) => thread::sleep(Duration::from_secs(seconds.parse().unwrap())),
        other => panic!("no such role: {other:?}"),
    }
}

fn open(to: &str) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Downloads, for long enough that the queue of the link is full on return, and then until this process ends.
pub(crate) fn fill_the_queue() {
    let mut download = open(&format!("{SERVER}:{SOURCE}"));
    let mut buffer = vec![0; 1 << 16];
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        let _ = download.read(&mut buffer).unwrap();
    }
    thread::spawn(move || while download.read(&mut buffer).is_ok_and(|read| read > 0) {});
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Serves at a port, `after` so many milliseconds: tells connections and datagrams who has come, ten of each, and then ends.
fn serve(port: &str, after: u64) {
    println!("ready");
    thread::sleep(Duration::from_millis(after));
    let listener = TcpListener::bind(format!("0.0.0.0:{port}")).unwrap();
    let socket = UdpSocket::bind(format!("0.0.0.0:{port}")).unwrap();
    let datagrams = thread::spawn(move || {
        for _ in 0..10 {
            let (_, from) = socket.recv_from(&mut [0; 64]).unwrap();
            socket.send_to(from.to_string().as_bytes(), from).unwrap();
        }
    });
    for _ in 0..10 {
        let (mut stream, from) = listener.accept().unwrap();
        // The whole question comes before the answer.
        let mut asked = String::new();
        stream.read_to_string(&mut asked).unwrap();
        write!(stream, "{from} {}", asked.len()).unwrap();
    }
    datagrams.join().unwrap();
}

/// Listens to two servers that speak for ever; how the first one ends, and whether the other goes on.
fn listen(meant: &str, other: &str) {
    let mut buffer = vec![0; 1 << 16];
    let mut streams = [meant, other].map(open);
    for stream in &mut streams {
        let patience = Some(Duration::from_secs(2));
        stream.set_read_timeout(patience).unwrap();
        assert!(stream.read(&mut buffer).unwrap() > 0);
    }
    println!("ready");
    let [meant, other] = &mut streams;
    let end = loop {
        match meant.read(&mut buffer) {
            Ok(0) => break "ended".to_owned(),
            Ok(_) => {}
            Err(error) => break format!("{:?}", error.kind()),
        }
    };
    // More than was waiting meanwhile.
    for _ in 0..20 {
        assert!(other.read(&mut buffer).unwrap() > 0);
    }
    println!("{end}, the other goes on");
}

/// Prints what the server says, or why there is no connection.
fn connect_once(to: &str) {
    let mut said = String::new();
    let answer = TcpStream::connect(to).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.read_to_string(&mut said)
    });
    match answer {
        Ok(_) => println!("{said}"),
        Err(error) => println!("{:?}", error.kind()),
    }
}

/// Bytes without a period that any buffer has.
pub(crate) fn pattern(bytes: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 1_u64;
    let mut left = bytes;
    std::iter::from_fn(move || {
        let length = left.min(61_441) as usize;
        left -= length as u64;
        (length > 0).then(|| {
            let next = |_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            (0..length).map(next).collect()
        })
    })
}

/// Sends bytes, finishes its half, and compares the sum that comes back, and that nothing follows where it is read to the end.
fn count(to: &str, bytes: u64, to_the_end: bool) {
    let mut stream = open(to);
    let mut sum = Sum::default();
    for part in pattern(bytes) {
        sum.add(&part);
        stream.write_all(&part).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = vec![0; sum.text().len()];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, sum.text().as_bytes());
    if to_the_end {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    println!("{}", sum.bytes);
}

/// Loads a page of which every byte is known; prints how many there were.
fn fetch(to: &str) {
    let mut stream = open(to);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    let head = said
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let body = &said[head..];
    assert!(body.iter().all(|byte| *byte == b'x'));
    println!("{}", body.len());
}

/// Sends bytes, and is gone.
fn leave(to: &str, bytes: u64) {
    let mut stream = open(to);
    for part in pattern(bytes) {
        stream.write_all(&part).unwrap();
    }
}

/// Sends a datagram, and is gone.
fn tell(to: &str) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.send_to(b"goodbye", to).unwrap();
}

/// Sends one byte and waits for it to come back, over and over.
fn bytewise(to: &str, bytes: usize) {
    let mut stream = open(to);
    stream.set_nodelay(true).unwrap();
    for byte in 0..bytes {
        let byte = byte as u8;
        stream.write_all(&[byte]).unwrap();
        let mut back = [0];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, [byte]);
    }
    println!("{bytes}");
}

/// Sends something and resets the connection.
fn abort(to: &str) {
    let mut stream = open(to);
    stream.write_all(b"something").unwrap();
    // It has left before the reset, so that there is a connection to reset.
    thread::sleep(Duration::from_millis(200));
    sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}

/// Connects where the server resets.
fn reset(to: &str) {
    let read = TcpStream::connect(to).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.read(&mut [0; 1])
    });
    println!("{:?}", read.unwrap_err().kind());
}

/// Opens connections one after the other, some of which exchange a word. Quell, which is the parent, then has no socket more than before.
fn many(to: &str, number: usize) {
    let before = sockets_of_parent();
    for index in 0..number {
        let mut stream = open(to);
        if index % 2 == 0 {
            stream.write_all(b"word").unwrap();
            stream.read_exact(&mut [0; 4]).unwrap();
        }
    }
    let began = Instant::now();
    while sockets_of_parent() > before && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
    println!("{number} {}", sockets_of_parent().saturating_sub(before));
}

/// How many sockets the parent of this process has.
fn sockets_of_parent() -> usize {
    let folder = format!("/proc/{}/fd", std::os::unix::process::parent_id());
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}

/// Sends a datagram with each TOS byte and asks for the same back; prints what the other side saw and what came. Two sockets at once, whose
/// answers must not mix.
fn datagrams(to: &str, all: &[&str]) {
    let any = if to.starts_with('[') {
        "[::]:0"
    } else {
        "0.0.0.0:0"
    };
    let sockets = [0_u8, 1].map(|number| {
        let socket = UdpSocket::bind(any).unwrap();
        socket.connect(to).unwrap();
        (number, socket)
    });
    let is_ipv4 = !to.starts_with('[');
    for (_, socket) in &sockets {
        match is_ipv4 {
            true => sockopt::set_ip_recvtos(socket, true).unwrap(),
            false => sockopt::set_ipv6_recvtclass(socket, true).unwrap(),
        }
    }
    for tos in all {
        let tos: u8 = tos.parse().unwrap();
        for (number, socket) in &sockets {
            let payload = [tos, 0, *number, tos];
            relayed::send(socket.as_fd(), is_ipv4, &payload, tos).unwrap();
        }
        for (number, socket) in &sockets {
            let mut buffer = [0; 16];
            let began = Instant::now();
            let datagram = loop {
                match relayed::receive(socket.as_fd(), &mut buffer) {
                    Ok(datagram) => break datagram,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        assert!(began.elapsed() < PATIENCE, "no answer");
                        thread::sleep(Duration::from_millis(1));
                    }
                    Err(error) => panic!("{error}"),
                }
            };
            assert_eq!((datagram.length, buffer[2], buffer[3]), (4, *number, tos));
            println!("{} {}", buffer[1], datagram.tos);
        }
    }
}

/// Sends many datagrams with ECT(1) at once; prints how many arrived with CE, by what the other side says.
fn burst(to: &str, number: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(to).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    for _ in 0..number {
        relayed::send(socket.as_fd(), true, &[0; 1000], 1).unwrap();
    }
    let (mut came, mut marked) = (0, 0);
    let mut buffer = [0; 1500];
    while came < number {
        let Ok(length) = socket.recv(&mut buffer) else {
            break;
        };
        assert_eq!(length, 1000);
        came += 1;
        marked += usize::from(buffer[1] == 3);
    }
    println!("{came} {marked}");
}

/// Prints round-trip times of datagrams in microseconds.
fn ping(to: &str, number: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    for _ in 0..number {
        let began = Instant::now();
        socket.send(&[0; 100]).unwrap();
        socket.recv(&mut [0; 100]).unwrap();
        println!("{}", began.elapsed().as_micros());
    }
}

/// Resolves a name; prints how long it took, in milliseconds, and the addresses.
fn names(name: &str) {
    let began = Instant::now();
    let found: Vec<String> = (name, 80)
        .to_socket_addrs()
        .unwrap()
        .map(|address| address.ip().to_string())
        .collect();
    println!("{} {}", began.elapsed().as_millis(), found.join(" "));
}

/// Reads for some seconds, at most `rate` bytes in each; prints how many.
fn read(to: &str, seconds: u64, rate: Option<u64>) {
    let stream = open(to);
    if rate.is_some() {
        // A program that reads slowly has a small window.
        sockopt::set_socket_recv_buffer_size(&stream, 32 << 10).unwrap();
    }
    let mut stream = stream;
    let began = Instant::now();
    let mut bytes = 0_u64;
    let mut buffer = vec![0; 1 << 15];
    while began.elapsed() < Duration::from_secs(seconds) {
        let read = stream.read(&mut buffer).unwrap() as u64;
        bytes += read;
        if let Some(rate) = rate {
            thread::sleep(Duration::from_secs_f64(read as f64 / rate as f64));
        }
    }
    println!("{bytes}");
}

/// Sends for some seconds, as much as goes.
fn upload(to: &str, seconds: u64) {
    let mut stream = open(to);
    let began = Instant::now();
    let zeros = [0; 1 << 14];
    while began.elapsed() < Duration::from_secs(seconds) {
        stream.write_all(&zeros).unwrap();
    }
}

/// Prints the congestion control of a connection, once it was answered there.
fn control(to: &str) {
    let mut stream = open(to);
    stream.write_all(b"?").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    println!("{}", sockopt::tcp_congestion(&stream).unwrap());
}

/// A server of one word.
fn far(port: u16) {
    let listener = TcpListener::bind(("0.0.0.0", port)).unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        stream.write_all(b"far").unwrap();
    }
}
