//! Clients of ports of the host that are published.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use quell_fixture::Link;
use serde_json::Value;

use crate::Case;
use crate::clients::{ROLE, WORDS};
use crate::fixture::{Fake, HOST, QUELL, read_json};

pub(crate) const CASES: &[Case] = &[
    (
        "clients_of_published_ports_are_served_through_the_link",
        clients_of_published_ports_are_served_through_the_link,
    ),
    (
        "clients_of_published_ports_are_refused_held_and_limited",
        clients_of_published_ports_are_refused_held_and_limited,
    ),
    (
        "a_port_that_cannot_be_published_is_refused_before_anything_starts",
        a_port_that_cannot_be_published_is_refused_before_anything_starts,
    ),
];

/// Base RTT of the link.
const RTT: Duration = Duration::from_millis(40);
/// Bytes of a question.
const BYTES: usize = 300_000;

/// Asks the server at `to`; what it says, with how many bytes it has got, and the asker's own port.
fn ask(to: &str) -> (String, u16) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(&vec![7; BYTES]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(began.elapsed() >= RTT, "{:?}", began.elapsed());
    (said, stream.local_addr().unwrap().port())
}

fn clients_of_published_ports_are_served_through_the_link(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let own = std::env::current_exe().unwrap();
    let elsewhere = format!("{HOST}:9000:8000");
    let mut command = fake.quell(&[
        "exec",
        "--rtt",
        "40ms",
        "--json",
        report.to_str().unwrap(),
        "--publish",
        "0:8000",
        "--publish",
        &elsewhere,
        "--publish",
        "0/udp:8000",
        "--",
        own.to_str().unwrap(),
    ]);
    // The first client comes before there is a server.
    command.env(ROLE, "serve").env(WORDS, "8000 700");
    let mut child = fake.run(|| command.spawn().unwrap());
    let out = child.stdout.as_mut().unwrap();
    out.read_exact(&mut [0; 6]).unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();
    let place = |line: String, kind: &str| {
        let (at, rest) = line.split_once(' ').unwrap();
        assert!(rest.starts_with("leads to port 8000"), "{line}");
        at.strip_suffix(kind).unwrap().to_owned()
    };
    let streams = place(line(), "");
    assert_eq!(place(line(), ""), format!("{HOST}:9000"));
    let warning = line();
    assert!(
        warning.contains("whoever reaches 192.0.2.2:9000"),
        "{warning}"
    );
    let datagrams = place(line(), "/udp");

    for _ in 0..5 {
        let (said, port) = fake.run(|| ask(&streams));
        let expected = format!(".254:{port} {BYTES}");
        assert!(
            said.starts_with("10.77.") && said.ends_with(&expected),
            "{said}"
        );
        let (said, port) = fake.internet.run(|| ask(&format!("{HOST}:9000"))).unwrap();
        assert_eq!(said, format!("192.0.2.1:{port} {BYTES}"));
    }
    let socket = fake.run(|| UdpSocket::bind("127.0.0.1:0").unwrap());
    socket.connect(&datagrams).unwrap();
    let own = socket.local_addr().unwrap().port();
    for _ in 0..10 {
        let mut buffer = [0; 64];
        let began = Instant::now();
        socket.send(b"hello").unwrap();
        let length = socket.recv(&mut buffer).unwrap();
        let said = std::str::from_utf8(&buffer[..length]).unwrap();
        assert!(said.ends_with(&format!(".254:{own}")), "{said}");
        assert!(began.elapsed() >= RTT);
    }
    assert!(child.wait().unwrap().success());
    let report = read_json(&report);
    let relay = &report["exec"]["relay"];
    assert_eq!(
        (&relay["connections"], &relay["exchanges"]),
        (&10.into(), &1.into()),
        "{relay}"
    );
    let connections = report["exec"]["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 10);
    for connection in connections {
        assert_eq!(connection["served"], true);
        assert_eq!(connection["down_bytes"], BYTES);
        assert_eq!(connection["end"], "closed");
    }
}

fn clients_of_published_ports_are_refused_held_and_limited(fake: &Fake) {
    let own = std::env::current_exe().unwrap();
    let mut options = vec!["--rtt", "40ms", "--set", "new=refuse to :8000"];
    options.extend(["--publish", "127.0.0.1:9001:8000"]);
    fake.run(|| {
        let link = Link::start_by(QUELL, &options).unwrap();
        let mut server = link.command(own.to_str().unwrap());
        server.env(ROLE, "serve").env(WORDS, "8000 0");
        let silent = std::process::Stdio::null;
        server.stdout(silent()).stderr(silent());
        let mut server = server.spawn().unwrap();
        let at = "127.0.0.1:9001";
        // Why there is no answer to a question.
        let lacks = || {
            let mut stream = TcpStream::connect(at).unwrap();
            let patience = Some(Duration::from_secs(2));
            stream.set_read_timeout(patience).unwrap();
            // A reset is heard of once, by the writer or the reader.
            let asked = stream.write_all(&vec![7; BYTES]);
            let answered = asked.and_then(|()| stream.read(&mut [0]));
            answered.unwrap_err().kind()
        };
        assert_eq!(lacks(), ErrorKind::ConnectionReset);
        link.set(&["new=blackhole to :8000"]).unwrap();
        assert_eq!(lacks(), ErrorKind::WouldBlock);
        link.set(&["new=accept"]).unwrap();
        // Another server than the program's.
        link.set(&["new=refuse to :9001"]).unwrap();
        ask(at);
        link.set(&["new=accept-delay=1s"]).unwrap();
        let began = Instant::now();
        ask(at);
        assert!(began.elapsed() >= Duration::from_secs(1));
        link.set(&["new=limit=100kB"]).unwrap();
        assert_eq!(lacks(), ErrorKind::ConnectionReset);
        // It cannot read the question to its end.
        assert_eq!(server.wait().unwrap().code(), Some(101));
        let report: Value = serde_json::from_str(&link.finish().unwrap()).unwrap();
        let counted = ["turned_away", "unanswered", "delayed", "limited"];
        let counted = counted.map(|name| report["exec"]["relay"][name].as_u64());
        assert_eq!(counted, [Some(1); 4], "{report}");
        let limited = &report["exec"]["connections"][2];
        assert_eq!(limited["end"], "limit", "{report}");
        assert_eq!(limited["down_bytes"], 100_000);
    });
}

fn a_port_that_cannot_be_published_is_refused_before_anything_starts(fake: &Fake) {
    let taken = fake.run(|| TcpListener::bind("127.0.0.1:0").unwrap());
    let taken = taken.local_addr().unwrap().port().to_string();
    for (options, expected) in [
        (&["--publish", &taken][..], "cannot publish 127.0.0.1:"),
        (&["--publish", "http"], "must be [ADDR:]PORT"),
        (&["--publish", "53/udp"], "from 1024 on"),
        (
            &["--publish", "192.0.2.99:8000"],
            "cannot publish 192.0.2.99:8000",
        ),
        (
            &["--publish", "[::1]:0:80", "--ipv4-only"],
            "no IPv6 inside",
        ),
        (&["--publish", "0:80", "--net", "none"], "needs --net relay"),
        (
            &["--set", "new=refuse", "--net", "none"],
            "only connections of",
        ),
    ] {
        let arguments = [&["exec"], options, &["--", "echo", "started"]].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{options:?}: {why}");
        assert!(why.contains(expected) && output.stdout.is_empty(), "{why}");
    }
}
