//! A link in front of what runs already: a host of its own with a bridge, and two namespaces at it that stand for containers. `docker` is a
//! script that knows the first of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::namespace::Namespace;
use quell_hosts::tcx;
use quell_testing::not_run;
use quell_testing::program::write_program;
use rustix::process::{Pid, Signal, kill_process};

use crate::Case;
use crate::fixture::{Fake, QUELL, read_json};
use crate::steering::path;

pub(crate) const CASES: &[Case] = &[
    ("a_link_in_front_delays_and_goes_again", delays_and_goes),
    ("a_link_in_front_passes_all_on_as_it_was", passes_all_on),
    ("a_killed_link_in_front_leaves_nothing", killed),
    ("a_link_in_front_ends_with_what_it_is_for", ends),
    ("a_link_in_front_of_others_programs_warns", warns),
    ("a_link_waits_for_what_it_is_for", waits),
    ("a_link_in_front_is_refused_with_a_remedy", refused),
    ("recipes_and_compose_file_put_links_in_front", documented),
];

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

/// No address comes up later than the first dump.
const SETUP: &str = "cd /proc/sys/net/ipv6/conf; echo 1 >default/disable_ipv6; ip link set lo up
ip link add br0 type bridge; ip link set br0 up; index=0
for process in PROCESSES; do
nsenter -t $process -n sh -ec 'for of in all default; do echo 0 >/proc/sys/net/ipv6/conf/$of/accept_dad; done'
ip link add port$index type veth peer name eth0 netns $process; ip link set port$index master br0 up
index=$((index + 1))
nsenter -t $process -n sh -ec \"ip link set lo up; ip link set eth0 up; \\
ip addr add 10.9.0.$index/24 dev eth0; ip addr add fd09::$index/64 dev eth0 nodad\"
done";

/// Everything that a link could leave behind.
const SHOW: &str = "ip -o link; ip -o addr; ip route show table all; ip rule; ip -6 rule; tc qdisc; \
    grep -rs . /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf || true";

struct Lab {
    folder: tempfile::TempDir,
    host: Namespace,
    /// Of the container, and of the server beside it, each with a process.
    ends: [Namespace; 2],
    processes: Vec<Child>,
}

impl Lab {
    /// Nothing, where this machine cannot do it.
    fn new() -> Option<Self> {
        let has = |program| Command::new(program).arg("-V").output().is_ok();
        if tcx::check().is_err() || !has("ip") || !has("tc") {
            not_run("a link in front", "no tcx, no root, no ip or no tc");
            return None;
        }
        let make = || Namespace::new().unwrap();
        let (host, ends) = (make(), [make(), make()]);
        let sleep = |end: &Namespace| {
            let mut command = Command::new("sleep");
            command.arg("600").stdout(Stdio::null());
            end.run(|| command.spawn().unwrap()).unwrap()
        };
        let processes = [sleep(&ends[0]), sleep(&ends[1])];
        let ids = [&processes[0], &processes[1]].map(|process| process.id().to_string());
        shell(&host, &SETUP.replace("PROCESSES", &ids.join(" ")));
        let folder = tempfile::tempdir().unwrap();
        let docker = folder.path().join("docker");
        write_program(&docker, &DOCKER.replace("PROCESS", &ids[0]));
        ends[1].run(echo).unwrap();
        let processes = processes.into();
        Some(Self {
            folder,
            host,
            ends,
            processes,
        })
    }

    /// quell with these words in a namespace, where `docker` is the script.
    fn spawn(&self, from: &Namespace, words: &str) -> Child {
        let (folders, folder) = (std::env::var("PATH").unwrap(), self.folder.path());
        let mut command = Command::new(QUELL);
        command
            .args(words.split(' '))
            .env("XDG_RUNTIME_DIR", folder);
        command.env("PATH", format!("{}:{folders}", folder.display()));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        from.run(|| command.spawn().unwrap()).unwrap()
    }

    /// The exit code, and what is said on either output, of quell on the host.
    fn said(&self, words: &str) -> (i32, String) {
        let child = self.spawn(&self.host, words);
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let code = output.status.code().unwrap();
        (code, String::from_utf8(text).unwrap())
    }

    /// A link in a namespace, once it stands, with the line that says so.
    fn start(&self, from: &Namespace, words: &str) -> (Child, String) {
        let mut child = self.spawn(from, &format!("exec {words}"));
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.as_mut().unwrap());
        errors.read_line(&mut line).unwrap();
        assert!(line.starts_with("in front of "), "{line}");
        (child, line)
    }

    /// Open connections to the server, by IPv4 and IPv6.
    fn connections(&self) -> [TcpStream; 2] {
        let open = |server| {
            let stream = TcpStream::connect((server, PORT)).unwrap();
            stream.set_nodelay(true).unwrap();
            let patience = Some(Duration::from_secs(20));
            stream.set_read_timeout(patience).unwrap();
            stream
        };
        self.ends[0].run(|| SERVER.map(open)).unwrap()
    }

    /// What [`SHOW`] shows of all three.
    fn dump(&self) -> String {
        [&self.host, &self.ends[0], &self.ends[1]]
            .map(|namespace| shell(namespace, SHOW))
            .concat()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn shell(namespace: &Namespace, script: &str) -> String {
    let run = || Command::new("sh").args(["-ec", script]).output().unwrap();
    let output = namespace.run(run).unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
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

/// The least of some round trips of each connection is in this range, in milliseconds.
fn assert_round_trips(streams: &[TcpStream], least: f64, most: f64) {
    for mut stream in streams {
        let times = (0..9).map(|_| {
            let began = Instant::now();
            stream.write_all(b"?").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            began.elapsed().as_secs_f64() * 1e3
        });
        let time = times.fold(f64::INFINITY, f64::min);
        assert!(
            (least..most).contains(&time),
            "{time} ms, from {least} to {most}"
        );
    }
}

/// Shows the lines of which only one dump has.
fn assert_same(before: &str, after: &str) {
    let [before, after] = [before, after].map(|text| text.lines().collect::<BTreeSet<_>>());
    let changed: Vec<_> = before.symmetric_difference(&after).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Ends a link as Ctrl-C does; its exit code.
fn interrupt(mut child: Child) -> Option<i32> {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    child.wait().unwrap().code()
}

fn delays_and_goes(_: &Fake) {
    let Some(lab) = Lab::new() else { return };
    let streams = lab.connections();
    assert_round_trips(&streams, 0.0, 20.0);
    let before = lab.dump();
    let report = lab.folder.path().join("report.json");
    let options = format!("--container web --rtt 40ms --json {}", path(&report));
    let (child, line) = lab.start(&lab.host, &options);
    let expected = "in front of eth0 of container web, here port0; Ctrl-C takes it away; `quell link set web down=5mbit` changes it\n";
    assert_eq!(line, expected);
    assert_round_trips(&streams, 40.0, 60.0);
    let (code, text) = lab.said("link set web rtt=90ms down=20mbit");
    assert_eq!(code, 0, "{text}");
    assert_round_trips(&streams, 90.0, 110.0);
    // The same device, and a program of the link that there is not.
    let (code, text) = lab.said(&format!("exec --pid {}", lab.processes[0].id()));
    let expected = format!("port0 already, of quell, process {}", child.id());
    assert!(code == 125 && text.contains(&expected), "{text}");
    let (code, text) = lab.said("exec --join web -- true");
    assert!(code == 125 && text.contains("no program behind"), "{text}");

    assert_eq!(interrupt(child), Some(0));
    assert_same(&before, &lab.dump());
    assert_round_trips(&streams, 0.0, 20.0);
    let exec = &read_json(&report)["exec"];
    assert_eq!(exec["attached"], "eth0 of container web, here port0");
    for way in ["down", "up"] {
        // A packet of each of two connections for each of 18 round trips, and none left inside.
        assert!(exec[way]["packets"].as_u64().unwrap() >= 36, "{exec}");
        assert_eq!(exec[way]["lost_outside"], 0, "{way}");
    }
}

fn passes_all_on(_: &Fake) {
    let Some(lab) = Lab::new() else { return };
    let sent = (0..MUCH as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    let sent: Vec<u8> = sent.collect();
    let process = format!("--delay 1ms --pid {}", lab.processes[0].id());
    // At the host's end; at the device inside, of a quell that is in the container itself.
    let own = "--delay 1ms --netns /proc/self/ns/net";
    for (from, words) in [(&lab.host, &process[..]), (&lab.ends[0], own)] {
        let (child, _) = lab.start(from, words);
        for mut stream in lab.connections() {
            let (mut other, sent_too) = (stream.try_clone().unwrap(), sent.clone());
            let sender = thread::spawn(move || other.write_all(&sent_too).unwrap());
            let mut received = vec![0; MUCH];
            stream.read_exact(&mut received).unwrap();
            assert!(received == sent, "by {}", stream.local_addr().unwrap());
            sender.join().unwrap();
            assert_round_trips(&[stream], 2.0, 20.0);
        }
        assert_eq!(interrupt(child), Some(0));
    }
    // A device that is on one of the host's is no pair with that one. Not every kernel has such.
    let id = lab.processes[0].id();
    let add = format!("ip link add mac0 link br0 netns {id} type macvlan && echo made || true");
    if shell(&lab.host, &add) == "made\n" {
        shell(&lab.ends[0], "ip link set mac0 up");
        let (child, line) = lab.start(&lab.host, &format!("--pid {id} --interface mac0"));
        assert!(
            line.contains(&format!("mac0 of process {id}; Ctrl-C")),
            "{line}"
        );
        assert_eq!(interrupt(child), Some(0));
    }
}

fn killed(_: &Fake) {
    let Some(lab) = Lab::new() else { return };
    let (streams, before) = (lab.connections(), lab.dump());
    let kills = std::env::var("QUELL_TEST_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut pause = 1_u64;
    for _ in 0..kills {
        let mut child = lab.spawn(&lab.host, "exec --container web --rtt 10ms");
        // Anything from the first steps to a link that stands.
        pause = pause.wrapping_mul(6_364_136_223_846_793_005) + 1;
        thread::sleep(Duration::from_millis((pause >> 33) % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_round_trips(&streams, 0.0, 10.0);
        // The kernel removes interfaces in the background.
        let began = Instant::now();
        while lab.dump() != before && began.elapsed() < Duration::from_secs(5) {}
        assert_same(&before, &lab.dump());
    }
}

fn ends(_: &Fake) {
    let Some(mut lab) = Lab::new() else { return };
    // A program runs where quell does, with its rights, and not behind the link.
    let script = "cat\t/proc/$PPID/comm;readlink\t/proc/self/ns/net;kill\t-0\t1;exit\t7";
    let (code, text) = lab.said(&format!("exec -q --container web -- sh -c {script}"));
    let number = rustix::fs::fstat(lab.host.as_fd()).unwrap().st_ino;
    assert_eq!((code, text), (7, format!("quell\nnet:[{number}]\n")));

    let (child, _) = lab.start(&lab.host, "--container web");
    lab.processes[0].kill().unwrap();
    lab.processes[0].wait().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("quell: container web is gone\n"), "{said}");
    // A namespace without a process is there as long as its device.
    let (mut child, _) = lab.start(&lab.ends[0], "--netns /proc/self/ns/net");
    thread::sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None);
    shell(&lab.host, "ip link del port0");
    assert_eq!(child.wait().unwrap().code(), Some(125));
}

/// An XDP program that lets all pass, at the interface INDEX, as long as this runs.
const XDP: &str = "import ctypes, struct, time
def bpf(command, *words):
    attributes = struct.pack('%dQ' % len(words), *words)
    made = ctypes.CDLL(None).syscall(CALL, command, attributes, len(attributes))
    assert made >= 0
    return made
program = ctypes.create_string_buffer(struct.pack('2Q', 2 << 32 | 0xb7, 0x95))
licence = ctypes.create_string_buffer(b'MIT')
program = bpf(5, 2 << 32 | 6, ctypes.addressof(program), ctypes.addressof(licence), 0, 0, 0, 0, 0)
link = bpf(28, INDEX << 32 | program, 2 << 32 | 37, 0, 0)
print(flush=True); time.sleep(600)";

fn warns(_: &Fake) {
    let Some(mut lab) = Lab::new() else { return };
    let index = || quell_hosts::netlink::interface_index("port0").unwrap();
    // It lets what has no mark go on, as everything here.
    let other = || tcx::guard(index(), tcx::Hook::Ingress, 0, index());
    let _others = lab.host.run(other).unwrap();
    let script = XDP.replace("CALL", &libc::SYS_bpf.to_string());
    let script = script.replace("INDEX", &lab.host.run(index).unwrap().to_string());
    let mut python = Command::new("python3");
    python.args(["-c", &script]).stdout(Stdio::piped());
    let mut xdp = lab.host.run(|| python.spawn().unwrap()).unwrap();
    let printed = BufReader::new(xdp.stdout.take().unwrap());
    lab.processes.push(xdp);
    assert!(printed.lines().next().is_some());
    let expected = "warning: the XDP program at port0 runs in front of the link: what it drops or sends elsewhere, the link never sees\n\
        warning: the tcx programs of others at port0 run behind the link, on what it lets through\n";
    let said = lab.said("exec -q --container web -- true");
    assert_eq!(said, (0, expected.to_owned()));
}

fn waits(_: &Fake) {
    let Some(mut lab) = Lab::new() else { return };
    let before = lab.dump();
    let (mut child, _) = lab.start(&lab.host, "--container web --wait 3s --rtt 40ms");
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut until = |start: &str| {
        let is_it = |line: &std::io::Result<String>| line.as_ref().unwrap().starts_with(start);
        assert!(errors.any(|line| is_it(&line)), "{start}");
    };
    assert_round_trips(&lab.connections(), 40.0, 60.0);
    for comes_back in [true, false] {
        let gone = lab.processes[0].id().to_string();
        lab.processes[0].kill().unwrap();
        lab.processes[0].wait().unwrap();
        until("quell: container web is gone: waits for it for 3s");
        assert_round_trips(&lab.connections(), 0.0, 20.0);
        if comes_back {
            let sleep = || Command::new("sleep").arg("600").spawn().unwrap();
            lab.processes[0] = lab.ends[0].run(sleep).unwrap();
            let docker = lab.folder.path().join("docker");
            let script = fs::read_to_string(&docker).unwrap();
            let id = lab.processes[0].id().to_string();
            write_program(&docker, &script.replace(&gone, &id));
            until("in front of eth0 of container web");
            assert_round_trips(&lab.connections(), 40.0, 60.0);
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert_same(&before, &lab.dump());
}

/// Arguments, and what is said.
const REFUSED: &str = "\
    --container web | container web has eth0, most, more: name one with --interface
    --container web --interface eth1 | container web has eth0, most, more
    --container idle | idle is not running
    --container sidecar | uses the network of container web: --container web
    --container wbe | no container is called wbe: docker: Error response
    --container web --world virtual | no link is put in front of it
    --container web --interface eth0 --down fast | fast
    --container web --interface eth0 --name a/b | no name of a link
    --container web -- no-such-program | no such program
    --pid LONELY | has no network
    --pid 2147483647 | there is no process 2147483647
    --netns /etc/passwd | /etc/passwd is no network namespace
    --netns /no/such/file | No such file
    --interface eth0 | required arguments were not provided
    --container web --pid 1 | cannot be used with
    --container web --join web | cannot be used with
    --container web --mtu 1400 | cannot be used with
    --container web --wait 1s --out RESULT | leave one of both out
    --pid 1 --wait 1s | does not come back
    --container web --publish 80 | cannot be used with";

fn refused(_: &Fake) {
    let Some(mut lab) = Lab::new() else { return };
    let more =
        "ip link add more type veth peer name most; ip link set more up; ip link set most up";
    shell(&lab.ends[0], more);
    let sleep = || Command::new("sleep").arg("600").spawn().unwrap();
    lab.processes
        .push(Namespace::new().unwrap().run(sleep).unwrap());
    let (before, lonely) = (lab.dump(), lab.processes[2].id().to_string());
    for line in REFUSED.replace("LONELY", &lonely).lines() {
        let (arguments, words) = line.split_once(" | ").unwrap();
        let (code, text) = lab.said(&format!("exec {}", arguments.trim()));
        let is_line = text.starts_with("error: ") || text.lines().count() == 1;
        assert!([125, 127].contains(&code) && is_line, "{code} {text}");
        assert!(text.contains(words), "{text}");
    }
    // This process is in the machine's own network, where that is not a container's.
    let number = |path: &str| fs::metadata(path).map_or(0, |file| file.ino());
    let own = number("/proc/self/ns/net");
    let of_host = number("/proc/self/ns/pid") == 0xefff_fffc && own == number("/proc/1/ns/net");
    if own == 0xefff_fff9 || of_host {
        let (code, text) = lab.said(&format!("exec --pid {}", std::process::id()));
        assert!(code == 125 && text.contains("host's own"), "{text}");
    }
    assert_same(&before, &lab.dump());
}

fn documented(_: &Fake) {
    let Some(lab) = Lab::new() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let recipes = read("docs/guides/recipes.md");
    let recipes = recipes
        .lines()
        .filter_map(|line| line.strip_prefix("quell exec --container"));
    let mut commands: Vec<(&Namespace, String)> = recipes
        .map(|line| {
            (
                &lab.host,
                format!("--container{}", line.split(" -- ").next().unwrap()),
            )
        })
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    let compose = read("examples/compose/compose.yaml");
    let mut lines = compose.lines();
    let command = lines.find_map(|line| line.trim().strip_prefix("command: "));
    let words: Vec<&str> = serde_json::from_str(command.unwrap()).unwrap();
    assert_eq!(words[0], "exec");
    // As the container whose network others have, it is in front of its own.
    commands.push((&lab.ends[0], words[1..].join(" ")));
    for (from, words) in commands {
        let (child, _) = lab.start(from, &words);
        assert_round_trips(&lab.connections(), 30.0, 400.0);
        assert_eq!(interrupt(child), Some(0), "{words:?}");
    }
}
