//! A host with services on its loopback, and an Internet behind it: 198.51.100.0/24 and 2001:db8::/32.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{GroupConfig, Netlink, RouteTcp, VethEnd, interface_index};
use quell_hosts::{ready, relayed};
use rustix::net::sockopt;
use serde_json::Value;

pub(crate) const QUELL: &str = env!("CARGO_BIN_EXE_quell");

/// A server of the Internet, and another address of it.
pub(crate) const SERVER: &str = "198.51.100.7";
pub(crate) const SERVER_V6: &str = "2001:db8::7";
pub(crate) const OTHER: &str = "198.51.100.8";

/// The fake host's own address in the Internet.
pub(crate) const HOST: &str = "192.0.2.2";

/// Echoes; counts until the end and then answers; resets; says who was asked; says who asks; sends for ever; sends 4 Mbit/s; nobody.
pub(crate) const ECHO: u16 = 7;
pub(crate) const COUNT: u16 = 9;
pub(crate) const RESET: u16 = 13;
pub(crate) const WHO: u16 = 15;
pub(crate) const FROM: u16 = 16;
pub(crate) const SOURCE: u16 = 19;
pub(crate) const TRICKLE: u16 = 20;
pub(crate) const CLOSED: u16 = 21;
/// A web server, and the length of its page; `/N` has N bytes instead.
pub(crate) const WEB: u16 = 80;
pub(crate) const PAGE: usize = 2_000_000;
/// A service of the host's loopback.
pub(crate) const LOCAL: u16 = 8080;
/// One that listens at `[::1]` alone.
pub(crate) const LOCAL_V6: u16 = 8081;

/// A name whose answer does not fit into a datagram.
pub(crate) const LONG_NAME: &str = "long.test";

/// Bytes of a message of [`TRICKLE`], each tenth of a second: 4 Mbit/s.
const TRICKLED: usize = 50_000;

/// The fake host.
pub(crate) struct Fake {
    host: Namespace,
    pub(crate) internet: Namespace,
    /// How the connections of [`COUNT`] ended.
    pub(crate) ends: Receiver<Result<u64, std::io::ErrorKind>>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let (host, internet) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        let ends = [
            ("wan", 1, [HOST, "2001:db8:1::2"]),
            ("isp", 2, ["192.0.2.1", "2001:db8:1::1"]),
        ];
        let mac = |last| [0x02, 0x77, 9, 0, 0, last];
        host.run(|| {
            let end = |(name, last, _)| VethEnd {
                name,
                mac: mac(last),
                mtu: 1500,
            };
            let mut netlink = Netlink::open().unwrap();
            netlink
                .add_veth(&end(ends[0]), &end(ends[1]), &internet)
                .unwrap();
        })
        .unwrap();
        for (namespace, here, there) in [(&host, 0, 1), (&internet, 1, 0)] {
            namespace
                .run(|| {
                    let mut netlink = Netlink::open().unwrap();
                    let port = interface_index(ends[here].0).unwrap();
                    // Both count: otherwise the address of the link stays tentative for a second or two.
                    for name in ["all", ends[here].0] {
                        let path = format!("/proc/sys/net/ipv6/conf/{name}/accept_dad");
                        fs::write(path, "0").unwrap();
                    }
                    netlink.set_up(interface_index("lo").unwrap()).unwrap();
                    netlink.set_up(port).unwrap();
                    for (own, other) in ends[here].2.iter().zip(ends[there].2) {
                        let [own, other] = [own, other].map(|text| text.parse::<IpAddr>().unwrap());
                        netlink.add_address(port, own).unwrap();
                        let route =
                            netlink.add_host_route(port, other, own, &GroupConfig::default(), 0);
                        route.unwrap();
                        netlink
                            .add_neighbour(port, other, mac(ends[there].1))
                            .unwrap();
                        if here == 0 {
                            netlink
                                .add_default_route(port, other, own, RouteTcp::default())
                                .unwrap();
                        }
                    }
                    if here == 1 {
                        for own in [SERVER, OTHER, SERVER_V6] {
                            netlink.add_address(port, own.parse().unwrap()).unwrap();
                        }
                    }
                })
                .unwrap();
        }
        for (namespace, (name, _, own), more) in [
            (&host, ends[0], &[][..]),
            (&internet, ends[1], &[SERVER, OTHER, SERVER_V6]),
        ] {
            namespace
                .run(|| {
                    let port = interface_index(name).unwrap();
                    Netlink::open().unwrap().wait_until_running(port).unwrap();
                    let own = own.iter().chain(more).map(|own| own.parse().unwrap());
                    ready::wait_until_delivered(own).unwrap();
                })
                .unwrap();
        }
        let (said, ends) = mpsc::channel();
        internet.run(|| serve_internet(&said)).unwrap();
        host.run(serve_host).unwrap();
        Self {
            host,
            internet,
            ends,
        }
    }

    /// `quell` with these arguments, on the fake host; it reads nothing.
    pub(crate) fn quell(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(QUELL);
        command
            .args(arguments)
            .env_remove("QUELL_DEPTH")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command on the fake host.
    pub(crate) fn output(&self, command: &mut Command) -> Output {
        self.run(|| command.output().unwrap())
    }

    /// Runs `f` in the network of the fake host.
    pub(crate) fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.host.run(f).unwrap()
    }

    /// What a role behind the link prints; quell and the role must succeed. The report is returned, too.
    pub(crate) fn role(&self, options: &[&str], role: &str, words: &str) -> (String, Value) {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report.json");
        let own = std::env::current_exe().unwrap();
        let mut arguments = vec!["exec", "--json", report.to_str().unwrap()];
        arguments.extend(options);
        arguments.extend(["--", own.to_str().unwrap()]);
        let mut command = self.quell(&arguments);
        command
            .env(super::clients::ROLE, role)
            .env(super::clients::WORDS, words);
        let output = self.output(&mut command);
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = fs::read_to_string(&report).unwrap_or_default();
        assert!(output.status.success(), "{role} {words}: {errors}\n{said}");
        (
            String::from_utf8(output.stdout).unwrap(),
            read_json(&report),
        )
    }
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Serves each connection on a thread of its own.
fn serve(address: &str, port: u16, how: impl Fn(TcpStream) + Send + Clone + 'static) {
    let listener = TcpListener::bind((address.parse::<IpAddr>().unwrap(), port)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let how = how.clone();
            thread::spawn(move || how(stream.unwrap()));
        }
    });
}

fn serve_internet(said: &Sender<Result<u64, std::io::ErrorKind>>) {
    for address in [SERVER, OTHER, SERVER_V6] {
        serve(address, ECHO, |mut stream| {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
        });
        let said = said.clone();
        serve(address, COUNT, move |mut stream| {
            let mut sum = Sum::default();
            let mut buffer = vec![0; 1 << 16];
            let end = loop {
                match stream.read(&mut buffer) {
                    Ok(0) => break Ok(sum.bytes),
                    Ok(read) => sum.add(&buffer[..read]),
                    Err(error) => break Err(error.kind()),
                }
            };
            // What was sent has an answer although its sender has finished.
            let _ = stream.write_all(sum.text().as_bytes());
            let _ = said.send(end);
        });
        serve(address, RESET, |stream| {
            sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        });
        serve(address, WHO, |mut stream| {
            let local = stream.local_addr().unwrap();
            stream.write_all(local.to_string().as_bytes()).unwrap();
        });
        serve(address, FROM, |mut stream| {
            let from = stream.peer_addr().unwrap().ip();
            stream.write_all(from.to_string().as_bytes()).unwrap();
        });
        serve(address, SOURCE, |mut stream| {
            let zeros = vec![0; 1 << 16];
            while stream.write_all(&zeros).is_ok() {}
        });
        serve(address, WEB, |mut stream| {
            let mut heard = Vec::new();
            let mut byte = [0];
            while !heard.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                heard.push(byte[0]);
            }
            let asked = String::from_utf8_lossy(&heard);
            let page = asked.split(['/', ' ']).nth(2);
            let page = page.and_then(|page| page.parse().ok()).unwrap_or(PAGE);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {page}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&vec![b'x'; page]);
        });
        serve(address, TRICKLE, |mut stream| {
            while stream.write_all(&[0; TRICKLED]).is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        });
        echo_datagrams(SocketAddr::new(address.parse().unwrap(), ECHO));
    }
}

/// Answers each datagram with the TOS byte that it asks for in its first byte, and says in the second which one it had.
fn echo_datagrams(address: SocketAddr) {
    let socket: OwnedFd = UdpSocket::bind(address).unwrap().into();
    match address.is_ipv4() {
        true => sockopt::set_ip_recvtos(&socket, true).unwrap(),
        false => sockopt::set_ipv6_recvtclass(&socket, true).unwrap(),
    }
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        loop {
            match relayed::receive(&socket, &mut buffer) {
                Ok(datagram) if datagram.length >= 2 => {
                    let wanted = buffer[0];
                    buffer[1] = datagram.tos;
                    match address.is_ipv4() {
                        true => sockopt::set_ip_tos(&socket, wanted).unwrap(),
                        false => sockopt::set_ipv6_tclass(&socket, wanted.into()).unwrap(),
                    }
                    let payload = &buffer[..datagram.length];
                    let to = datagram.from.unwrap();
                    let flags = rustix::net::SendFlags::empty();
                    rustix::net::sendto(&socket, payload, flags, &to).unwrap();
                }
                Ok(_) => {}
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    });
}

fn serve_host() {
    for address in ["127.0.0.1", "::1"] {
        serve(address, LOCAL, |mut stream| {
            stream.write_all(b"local").unwrap();
        });
    }
    serve("::1", LOCAL_V6, |mut stream| {
        stream.write_all(b"local6").unwrap();
    });
    // A resolver whose every name is the server's, and that has no address of IPv6.
    let socket = UdpSocket::bind("127.0.0.53:53").unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let query = &buffer[..length];
            let mut answer = answer(query);
            if query[12..].starts_with(&label(LONG_NAME)) {
                // RFC 1035 section 4.1.1: cut short, and nothing but the question is left.
                answer.truncate(question_end(query));
                answer[2] |= 2;
                answer[7] = 0;
            }
            let _ = socket.send_to(&answer, from);
        }
    });
    serve("127.0.0.53", 53, |mut stream| {
        // RFC 1035 section 4.2.2: each message has its length in front.
        let mut length = [0; 2];
        while stream.read_exact(&mut length).is_ok() {
            let mut query = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut query).unwrap();
            let answer = answer(&query);
            let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
            stream.write_all(&[&length[..], &answer].concat()).unwrap();
        }
    });
}

/// The first label of a name, as in a message.
fn label(name: &str) -> Vec<u8> {
    let first = name.split('.').next().unwrap();
    [&[first.len() as u8], first.as_bytes()].concat()
}

/// RFC 1035 section 4: where the one question of a query ends.
fn question_end(query: &[u8]) -> usize {
    12 + query[12..].iter().position(|&byte| byte == 0).unwrap() + 5
}

/// RFC 1035 section 4: the header, one question, and an answer that points at its name.
fn answer(query: &[u8]) -> Vec<u8> {
    let end = question_end(query);
    let is_a = query[end - 4..end - 2] == [0, 1];
    let mut answer = query[..end].to_vec();
    answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
    if is_a {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 51, 100, 7]);
    }
    answer
}

/// A sum over bytes that depends on their order (Fletcher's, with larger words).
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) bytes: u64,
    one: u64,
    two: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for &byte in bytes {
            self.one = self.one.wrapping_add(u64::from(byte));
            self.two = self.two.wrapping_add(self.one);
        }
    }

    pub(crate) fn text(&self) -> String {
        format!("{} {:x} {:x}", self.bytes, self.one, self.two)
    }
}
