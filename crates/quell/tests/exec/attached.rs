//! A link in front of what runs already: a host of its own with a bridge, and two namespaces at it that stand for containers. `docker` is a
//! script that knows the first of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{Netlink, VethEnd};
use quell_hosts::tcx;
use quell_testing::not_run;
use rustix::process::{Pid, Signal, kill_process};

use crate::Case;
use crate::fixture::{Fake, QUELL, read_json};
use crate::steering::path;

pub(crate) const CASES: &[Case] = &[
    (
        "a_container_is_slow_as_long_as_the_link_is_in_front_of_it",
        a_container_is_slow_as_long_as_the_link_is_in_front_of_it,
    ),
    (
        "what_crosses_a_link_in_front_arrives_as_it_was_sent",
        what_crosses_a_link_in_front_arrives_as_it_was_sent,
    ),
    (
        "a_killed_link_leaves_everything_as_before",
        a_killed_link_leaves_everything_as_before,
    ),
    (
        "a_link_ends_with_its_container_or_with_its_program",
        a_link_ends_with_its_container_or_with_its_program,
    ),
    (
        "what_no_link_can_be_in_front_of_is_refused",
        what_no_link_can_be_in_front_of_is_refused,
    ),
    (
        "the_recipes_and_the_compose_file_are_accepted",
        the_recipes_and_the_compose_file_are_accepted,
    ),
];

const CLIENT: [&str; 2] = ["10.9.0.1", "fd09::1"];
const SERVER: [&str; 2] = ["10.9.0.2", "fd09::2"];
const PORT: u16 = 7;
/// Bytes each way.
const MUCH: usize = 30_000_000;
/// Links that are killed; `QUELL_TEST_KILLS` asks for another number.
const KILLS: usize = 8;

/// What stands in for Docker: "web" runs, "idle" does not, and "sidecar" has the network of another one.
const DOCKER: &str = r#"#!/bin/sh
[ "$1 $2 $3 $5" = "container inspect --format --" ] || exit 64
case "$6" in
web) echo "PROCESS bridge" ;;
idle) echo "0 bridge" ;;
sidecar) echo "4711 container:web" ;;
*) echo "Error response from daemon: No such container: $6" >&2; exit 1 ;;
esac
"#;

struct Lab {
    folder: tempfile::TempDir,
    host: Namespace,
    /// Of the container, and of the server beside it.
    ends: [Namespace; 2],
    /// The container's process.
    process: Child,
}

impl Lab {
    /// Nothing, where this machine cannot do it.
    fn new(test: &str) -> Option<Self> {
        let has_ip = Command::new("ip").arg("-V").output().is_ok();
        if let Err(why) = tcx::check() {
            not_run(test, &why.to_string());
            return None;
        }
        if !has_ip {
            not_run(test, "ip is missing");
            return None;
        }
        let make = || Namespace::new().unwrap();
        let (host, ends) = (make(), [make(), make()]);
        for (namespace, setting) in [
            (&host, "disable_ipv6"),
            (&ends[0], "accept_dad"),
            (&ends[1], "accept_dad"),
        ] {
            let value = if setting == "accept_dad" { "0" } else { "1" };
            // No address comes up later than the first dump.
            let set =
                |of| fs::write(format!("/proc/sys/net/ipv6/conf/{of}/{setting}"), value).unwrap();
            namespace.run(|| ["all", "default"].map(set)).unwrap();
        }
        host.run(|| ip("link add br0 type bridge; link set br0 up; link set lo up"))
            .unwrap();
        for (index, end) in ends.iter().enumerate() {
            let mac = |last| [0x02, 0x77, 8, 0, last, index as u8];
            let of = |name, last| VethEnd {
                name,
                mac: mac(last),
                mtu: 1500,
            };
            let here = format!("port{index}");
            let made = host.run(|| {
                Netlink::open()?.add_veth(&of(&here, 1), &of("eth0", 2), end)?;
                ip(&format!("link set {here} master br0 up"));
                quell_hosts::Result::Ok(())
            });
            made.unwrap().unwrap();
            let [v4, v6] = [CLIENT, SERVER][index];
            end.run(|| {
                ip(&format!(
                    "link set lo up; link set eth0 up; addr add {v4}/24 dev eth0; addr add {v6}/64 dev eth0 nodad"
                ));
            })
            .unwrap();
        }
        let sleep = || Command::new("sleep").arg("600").spawn().unwrap();
        let process = ends[0].run(sleep).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let docker = folder.path().join("docker");
        fs::write(
            &docker,
            DOCKER.replace("PROCESS", &process.id().to_string()),
        )
        .unwrap();
        fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
        ends[1].run(echo).unwrap();
        Some(Self {
            folder,
            host,
            ends,
            process,
        })
    }

    fn quell(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(QUELL);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let folders = std::env::var("PATH").unwrap();
        let folder = self.folder.path();
        command.env("PATH", format!("{}:{folders}", folder.display()));
        command.env("XDG_RUNTIME_DIR", folder);
        command
    }

    /// The exit code, and what is said on either output, of quell on the host.
    fn said(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let run = || self.quell(arguments).output().unwrap();
        let Output {
            status,
            stdout,
            stderr,
        } = self.host.run(run).unwrap();
        (
            status.code(),
            String::from_utf8([stdout, stderr].concat()).unwrap(),
        )
    }

    /// A link in a namespace, once it stands, with the line that says so.
    fn start(&self, from: &Namespace, arguments: &[&str]) -> (Child, String) {
        let arguments = [&["exec"], arguments].concat();
        let spawn = || self.quell(&arguments).spawn().unwrap();
        let mut child = from.run(spawn).unwrap();
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.as_mut().unwrap());
        errors.read_line(&mut line).unwrap();
        assert!(line.starts_with("in front of "), "{line}");
        (child, line)
    }

    /// Open connections to the server, by IPv4 and IPv6.
    fn connections(&self) -> Vec<TcpStream> {
        let open = || {
            SERVER.map(|server| {
                let stream = TcpStream::connect((server, PORT)).unwrap();
                stream.set_nodelay(true).unwrap();
                let patience = Some(Duration::from_secs(20));
                stream.set_read_timeout(patience).unwrap();
                stream
            })
        };
        self.ends[0].run(open).unwrap().into()
    }

    /// Everything that a link could leave behind.
    fn dump(&self) -> String {
        let all = [&self.host, &self.ends[0], &self.ends[1]].into_iter();
        let dumps = all.map(|namespace| {
            let dump = || {
                let shown = ["-o link", "-o addr", "route show table all", "rule"];
                let mut text: String = shown.iter().map(|what| ip(what)).collect();
                let tc = Command::new("tc").args(["qdisc", "show"]).output();
                text += &String::from_utf8(tc.unwrap().stdout).unwrap();
                settings(Path::new("/proc/sys/net/ipv4/conf"), &mut text);
                settings(Path::new("/proc/sys/net/ipv6/conf"), &mut text);
                text
            };
            namespace.run(dump).unwrap()
        });
        dumps.collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The lines that are not in both are shown.
fn assert_as_before(before: &str, after: &str) {
    let lines = |text: &str, other: &str| -> Vec<String> {
        let known: BTreeSet<&str> = other.lines().collect();
        let new = text.lines().filter(|line| !known.contains(line));
        new.map(str::to_owned).collect()
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(
        (lines(before, after), lines(after, before)),
        (none.clone(), none)
    );
}

/// Commands of ip(8) in the namespace of the calling thread; what they print.
fn ip(commands: &str) -> String {
    let each = commands.split("; ").map(|command| {
        let output = Command::new("ip")
            .args(command.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "ip {command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    });
    each.collect()
}

/// The settings below a folder, in order.
fn settings(folder: &Path, text: &mut String) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        match entry.is_dir() {
            true => settings(&entry, text),
            // Some can only be written.
            false => {
                let value = fs::read_to_string(&entry).unwrap_or_default();
                *text += &format!("{} = {value}", entry.display());
            }
        }
    }
}

/// A server that sends everything back.
fn echo() {
    for server in SERVER {
        let listener = TcpListener::bind((server, PORT)).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
            }
        });
    }
}

/// The least of some round trips of each connection, in milliseconds.
fn round_trips(streams: &[TcpStream]) -> Vec<f64> {
    let least = |mut stream: &TcpStream| {
        let times = (0..9).map(|_| {
            let began = Instant::now();
            stream.write_all(b"?").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            began.elapsed().as_secs_f64() * 1e3
        });
        times.fold(f64::INFINITY, f64::min)
    };
    streams.iter().map(least).collect()
}

fn interrupt(child: &Child) {
    let process = Pid::from_raw(child.id() as i32).unwrap();
    kill_process(process, Signal::INT).unwrap();
}

fn a_container_is_slow_as_long_as_the_link_is_in_front_of_it(_: &Fake) {
    let Some(lab) = Lab::new("a_container_is_slow_as_long_as_the_link_is_in_front_of_it") else {
        return;
    };
    let streams = lab.connections();
    let is_between = |least: f64, most: f64| {
        let times = round_trips(&streams);
        assert!(
            times.iter().all(|time| (least..most).contains(time)),
            "{times:?}"
        );
    };
    is_between(0.0, 20.0);
    let before = lab.dump();
    let report = lab.folder.path().join("report.json");
    let options = [
        "--container",
        "web",
        "--rtt",
        "40ms",
        "--json",
        path(&report),
    ];
    let (mut child, line) = lab.start(&lab.host, &options);
    let expected = "in front of eth0 of container web, here port0; Ctrl-C takes it away; `quell link set web down=5mbit` changes it\n";
    assert_eq!(line, expected);
    is_between(40.0, 60.0);
    let (code, text) = lab.said(&["link", "set", "web", "rtt=90ms", "down=20mbit"]);
    assert_eq!(code, Some(0), "{text}");
    is_between(90.0, 110.0);
    // The same device from either side, and a program of the link that there is not.
    let second = ["exec", "--pid", &lab.process.id().to_string(), "--", "true"];
    let (code, text) = lab.said(&second);
    let expected = format!(
        "a link is in front of port0 already, of process {}",
        child.id()
    );
    assert!(code == Some(125) && text.contains(&expected), "{text}");
    let (code, text) = lab.said(&["exec", "--join", "web", "--", "true"]);
    assert!(
        code == Some(125) && text.contains("no program behind"),
        "{text}"
    );

    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_as_before(&before, &lab.dump());
    is_between(0.0, 20.0);
    let report = read_json(&report);
    let exec = &report["exec"];
    assert_eq!(exec["attached"], "eth0 of container web, here port0");
    for way in ["down", "up"] {
        let packets = exec[way]["packets"].as_u64().unwrap();
        assert!(packets >= 36, "{way}: {packets}");
        // Nothing is left inside when the link goes.
        assert_eq!(exec[way]["lost_outside"], 0, "{way}");
    }
}

fn what_crosses_a_link_in_front_arrives_as_it_was_sent(_: &Fake) {
    let Some(lab) = Lab::new("what_crosses_a_link_in_front_arrives_as_it_was_sent") else {
        return;
    };
    let sent: Vec<u8> = (0..MUCH as u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let process = lab.process.id().to_string();
    // At the host's end, and at the device inside: of a quell that is in the container itself.
    for (from, options) in [
        (&lab.host, ["--pid", &process]),
        (&lab.ends[0], ["--netns", "/proc/self/ns/net"]),
    ] {
        let options = [&options[..], &["--delay", "1ms"]].concat();
        let (mut child, _) = lab.start(from, &options);
        for stream in lab.connections() {
            thread::scope(|scope| {
                let mut from = &stream;
                scope.spawn(|| (&stream).write_all(&sent).unwrap());
                let mut received = vec![0; MUCH];
                from.read_exact(&mut received).unwrap();
                assert!(received == sent, "by {}", stream.local_addr().unwrap());
            });
            let times = round_trips(&[stream]);
            assert!(times[0] >= 2.0, "{times:?}");
        }
        interrupt(&child);
        assert!(child.wait().unwrap().success());
    }
}

fn a_killed_link_leaves_everything_as_before(_: &Fake) {
    let Some(lab) = Lab::new("a_killed_link_leaves_everything_as_before") else {
        return;
    };
    let streams = lab.connections();
    let before = lab.dump();
    let kills = std::env::var("QUELL_TEST_KILLS").ok();
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let mut pause = 1_u64;
    for number in 0..kills {
        let arguments = ["exec", "--container", "web", "--rtt", "10ms"];
        let spawn = || lab.quell(&arguments).spawn().unwrap();
        let mut child = lab.host.run(spawn).unwrap();
        // Anything from the first steps to a link that stands.
        pause = pause
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        thread::sleep(Duration::from_millis((pause >> 33) % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        let times = round_trips(&streams);
        assert!(times.iter().all(|time| *time < 10.0), "{number}: {times:?}");
        // The kernel removes interfaces in the background.
        let began = Instant::now();
        let mut after = lab.dump();
        while after != before && began.elapsed() < Duration::from_secs(5) {
            after = lab.dump();
        }
        assert_as_before(&before, &after);
    }
}

fn a_link_ends_with_its_container_or_with_its_program(_: &Fake) {
    let Some(mut lab) = Lab::new("a_link_ends_with_its_container_or_with_its_program") else {
        return;
    };
    // It runs where quell does, with its rights, and not behind the link.
    let script = "cat /proc/$PPID/comm; readlink /proc/self/ns/net; kill -0 1; exit 7";
    let run = [
        "exec",
        "--quiet",
        "--container",
        "web",
        "--",
        "sh",
        "-c",
        script,
    ];
    let (code, text) = lab.said(&run);
    let number = rustix::fs::fstat(lab.host.as_fd()).unwrap().st_ino;
    assert_eq!((code, text), (Some(7), format!("quell\nnet:[{number}]\n")));

    let (child, _) = lab.start(&lab.host, &["--container", "web"]);
    lab.process.kill().unwrap();
    lab.process.wait().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("quell: container web is gone\n"), "{said}");
    // A namespace without a process is there as long as its file is, and its device.
    let file = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), {
        use std::os::fd::AsRawFd as _;
        lab.ends[0].as_fd().as_raw_fd()
    }));
    let (mut child, _) = lab.start(&lab.host, &["--netns", path(&file)]);
    assert_eq!(
        fs::metadata(&file).unwrap().ino(),
        rustix::fs::fstat(lab.ends[0].as_fd()).unwrap().st_ino
    );
    thread::sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None);
    lab.host.run(|| ip("link del port0")).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(125));
}

fn what_no_link_can_be_in_front_of_is_refused(_: &Fake) {
    let Some(lab) = Lab::new("what_no_link_can_be_in_front_of_is_refused") else {
        return;
    };
    lab.ends[0]
        .run(|| ip("link add more type veth peer name most; link set more up; link set most up"))
        .unwrap();
    let before = lab.dump();
    let alone = Namespace::new().unwrap();
    let lonely = || Command::new("sleep").arg("600").spawn().unwrap();
    let mut lonely = alone.run(lonely).unwrap();
    let number = lonely.id().to_string();
    for (arguments, words) in [
        (
            &["--container", "web"][..],
            "container web has eth0, most, more: name one with --interface",
        ),
        (
            &["--container", "web", "--interface", "eth1"],
            "no interface eth1 that is up; it has eth0",
        ),
        (&["--container", "idle"], "idle is not running"),
        (
            &["--container", "sidecar"],
            "uses the network of container web: --container web",
        ),
        (
            &["--container", "wbe"],
            "no container is called wbe: docker: Error response",
        ),
        (
            &["--container", "web", "--world", "virtual"],
            "no link is put in front of it",
        ),
        (&["--pid", &number], "has no network"),
        (&["--pid", "2147483647"], "there is no process 2147483647"),
        (
            &["--netns", "/etc/passwd"],
            "/etc/passwd is no network namespace",
        ),
        (&["--netns", "/no/such/file"], "No such file"),
        (&["--interface", "eth0"], "only beside --container"),
        (
            &[
                "--container",
                "web",
                "--interface",
                "eth0",
                "--down",
                "fast",
            ],
            "fast",
        ),
        (
            &["--container", "web", "--name", "a/b", "--interface", "eth0"],
            "no name of a link",
        ),
        (
            &["--container", "web", "--", "no-such-program"],
            "no such program",
        ),
    ] {
        let (code, text) = lab.said(&[&["exec"], arguments].concat());
        let code = code.unwrap();
        assert!(
            [125, 127].contains(&code) && text.contains(words),
            "{code} {text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    for beside in [
        "--join=web",
        "--net=none",
        "--far=true",
        "--mtu=1400",
        "--publish=80",
    ] {
        let (code, text) = lab.said(&["exec", "--container", "web", beside]);
        assert!(
            code == Some(125) && text.contains("cannot be used with"),
            "{text}"
        );
    }
    lonely.kill().unwrap();
    lonely.wait().unwrap();
    // Where the first process of the machine is seen, its network is nobody's to slow down.
    let (code, text) = lab.said(&["exec", "--pid", "1", "--", "true"]);
    if fs::metadata("/proc/self/ns/pid").unwrap().ino() == 0xeffffffc {
        let is_refused = text.contains("this host's own network") || text.contains("no process 1");
        assert!(code == Some(125) && is_refused, "{text}");
    }
    assert_as_before(&before, &lab.dump());
}

fn the_recipes_and_the_compose_file_are_accepted(_: &Fake) {
    let Some(lab) = Lab::new("the_recipes_and_the_compose_file_are_accepted") else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let recipes = fs::read_to_string(root.join("docs/guides/recipes.md")).unwrap();
    let recipes = recipes
        .lines()
        .filter(|line| line.contains("--container web"));
    let mut commands: Vec<(&Namespace, Vec<String>)> = recipes
        .map(|line| {
            let line = line.split(" #").next().unwrap();
            let words = line
                .split_whitespace()
                .skip(2)
                .take_while(|word| *word != "--");
            (&lab.host, words.map(str::to_owned).collect())
        })
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    let compose = fs::read_to_string(root.join("examples/compose/compose.yaml")).unwrap();
    let command = compose
        .lines()
        .find_map(|line| line.trim().strip_prefix("command: "));
    let words: Vec<String> = serde_json::from_str(command.unwrap()).unwrap();
    assert_eq!(words[0], "exec");
    // As the container whose network others have, it is in front of its own.
    commands.push((&lab.ends[0], words[1..].to_vec()));
    for (from, words) in commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (mut child, line) = lab.start(from, &words);
        let times = round_trips(&lab.connections());
        assert!(
            times.iter().all(|time| *time > 5.0),
            "{words:?}: {line}{times:?}"
        );
        interrupt(&child);
        assert!(child.wait().unwrap().success(), "{words:?}");
    }
}
