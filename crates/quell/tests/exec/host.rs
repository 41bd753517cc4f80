//! What the host sees of it: nothing, before, after, and after kill -9.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Stdio;

use quell_testing::not_run;
use quell_testing::program::{text, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::Case;
use crate::fixture::{COUNT, ECHO, FROM, Fake, HOST, SERVER, WHO};

pub(crate) const CASES: &[Case] = &[
    (
        "the_host_is_as_before_however_it_ends",
        the_host_is_as_before_however_it_ends,
    ),
    (
        "with_nat_the_host_routes_and_is_as_before_when_it_ends",
        with_nat_the_host_routes_and_is_as_before_when_it_ends,
    ),
];

/// Everything of a network that can be read: links, addresses, routes, neighbours, settings.
fn network() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for name in [
        "route",
        "ipv6_route",
        "if_inet6",
        "fib_trie",
        "arp",
        "ip_tables_names",
        "packet",
    ] {
        let path = format!("/proc/thread-self/net/{name}");
        let text = fs::read_to_string(&path).unwrap_or_default();
        // Reference counts and uses of routes come and go with sockets.
        let text: Vec<String> = text
            .lines()
            .map(|line| match name {
                "ipv6_route" => {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    [&words[..6], &words[8..]].concat().join(" ")
                }
                _ => line.to_owned(),
            })
            .collect();
        found.insert(path, text.join("\n"));
    }
    let links = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let links: Vec<&str> = links
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    found.insert("links".to_owned(), links.join("\n"));
    settings(Path::new("/proc/sys/net"), &mut found);
    found
}

fn settings(folder: &Path, found: &mut BTreeMap<String, String>) {
    // The folder of an interface goes with it.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            settings(&path, found);
        } else if path.ends_with("nf_conntrack_count") {
            // Connections are remembered for a while after their end.
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.insert(path.display().to_string(), text);
        }
    }
}

/// The namespaces of networks and of process ids that processes are in.
pub(crate) fn namespaces() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let all: std::collections::BTreeSet<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .flat_map(|entry| ["ns/net", "ns/pid"].map(|kind| entry.path().join(kind)))
        .filter_map(|path| fs::read_link(path).ok())
        .collect();
    all.len()
}

/// Compares the host before, while and after programs run behind a link.
fn the_host_is_as_before_however_it_ends(fake: &Fake) {
    let options = &["--rate", "50mbit"][..];
    let before = (fake.run(network), namespaces());
    let words = format!("{SERVER}:{ECHO} 20");
    // A normal end.
    let role = [options, &["--rtt", "2ms"]].concat();
    fake.role(&role, "many", &words);
    // An error of the program, and one of quell.
    for arguments in [
        &["--quiet", "--", "false"][..],
        &["--subnet", "0", "--cc", "no-such-control", "--", "true"],
    ] {
        let arguments = [&["exec"], options, arguments].concat();
        assert!(!fake.output(&mut fake.quell(&arguments)).status.success());
    }
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let script = "echo ready; exec sleep 600";
        let program = ["--", "sh", "-c", script];
        let mut command = fake.quell(&[&["exec"], options, &program].concat());
        let mut child = fake.run(|| command.spawn().unwrap());
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0; 6])
            .unwrap();
        assert_eq!(fake.run(network), before.0, "while it runs");
        kill_process(Pid::from_child(&child), signal).unwrap();
        if signal == Signal::INT {
            // The terminal sends it to the program, too.
            kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        }
        child.wait().unwrap();
        wait_until("its namespaces are gone", || namespaces() <= before.1);
        assert_eq!(fake.run(network), before.0, "after {signal:?}");
    }
}

/// What `--net nat` adds: one interface, and nothing else that is there without it differs.
fn assert_only_its_own_interface_is_new(
    before: &BTreeMap<String, String>,
    while_it_runs: &BTreeMap<String, String>,
) {
    let links = |all: &BTreeMap<String, String>| -> Vec<String> {
        all["links"]
            .lines()
            .map(|link| link.trim().to_owned())
            .collect()
    };
    let mut new = links(while_it_runs);
    new.retain(|link| !links(before).contains(link));
    assert_eq!(new, ["quell9"]);
    for (path, text) in before {
        // What is counted or listed of all interfaces names the new one, too.
        if path.starts_with("/proc/sys") {
            assert_eq!(while_it_runs.get(path), Some(text), "{path}");
        }
    }
}

fn with_nat_the_host_routes_and_is_as_before_when_it_ends(fake: &Fake) {
    let test = "with_nat_the_host_routes_and_is_as_before_when_it_ends";
    if !rustix::process::geteuid().is_root() {
        return not_run(test, "only root may add an interface to its host");
    }
    let nat = [
        "exec", "--net", "nat", "--subnet", "9", "--rate", "50mbit", "--rtt", "2ms",
    ];
    let refused = |more: &[&str]| {
        let arguments = [&nat[..], more, &["--", "true"]].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        assert_eq!(output.status.code(), Some(125));
        text(&output.stderr)
    };
    let unforwarding = fake.run(network);
    // It is said, and not done.
    let why = refused(&[]);
    assert!(why.contains("sysctl -w net.ipv4.ip_forward=1"), "{why}");
    assert_eq!(fake.run(network), unforwarding);
    for (option, part) in [
        (&["--far-cc", "reno"][..], "the remote servers send"),
        (&["--far", "sleep 1"], "needs --net none"),
        (&["--host-loopback"], "at $QUELL_FAR"),
    ] {
        let why = refused(option);
        assert!(why.contains(part), "{why}");
    }

    let forward = |value: &str| fs::write("/proc/sys/net/ipv4/ip_forward", value).unwrap();
    fake.run(|| forward("1"));
    let before = (fake.run(network), namespaces());
    let words = format!("{SERVER}:{FROM} {SERVER}:{WHO}");
    let (said, report) = fake.role(&nat[1..], "connect", &words);
    assert_eq!(said, format!("{HOST}\n{SERVER}:{WHO}\n"));
    assert_eq!(report["exec"]["net"], "nat");
    assert_eq!(report["exec"]["far_congestion_control"], Value::Null);
    wait_until("its interface is gone", || fake.run(network) == before.0);
    // The same table again: the first one is gone. No relay stands between, so marks cross untouched.
    let (said, _) = fake.role(&nat[1..], "count", &format!("{SERVER}:{COUNT} 1000000"));
    assert_eq!(said, "1000000\n");
    let (said, _) = fake.role(
        &nat[1..],
        "datagrams",
        &format!("{SERVER}:{ECHO} 0 1 2 3 187"),
    );
    assert_eq!(
        said,
        ["0 0", "1 1", "2 2", "3 3", "187 187"]
            .map(|line| format!("{line}\n").repeat(2))
            .concat()
    );
    for signal in [Signal::TERM, Signal::KILL] {
        wait_until("its interface is gone", || fake.run(network) == before.0);
        let program = ["--", "sh", "-c", "echo ready; exec sleep 600"];
        let mut command = fake.quell(&[&nat[..], &program].concat());
        let mut child = fake.run(|| command.spawn().unwrap());
        let out = child.stdout.as_mut().unwrap();
        out.read_exact(&mut [0; 6]).unwrap();
        assert_only_its_own_interface_is_new(&before.0, &fake.run(network));
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        wait_until("its namespaces are gone", || namespaces() <= before.1);
    }
    wait_until("its interface is gone", || fake.run(network) == before.0);
    several_take_a_number_each(fake);
    wait_until("its interface is gone", || fake.run(network) == before.0);
    let _ = fake.ends.try_iter().count();
    fake.run(|| forward("0"));
}

/// They all look for a free number at the same time.
fn several_take_a_number_each(fake: &Fake) {
    const MANY: usize = 5;
    let script = "echo $QUELL_FAR; read line";
    let nat = ["exec", "--quiet", "--net", "nat", "--", "sh", "-c", script];
    let start = || {
        let mut command = fake.quell(&nat);
        command.stdin(Stdio::piped());
        fake.run(|| command.spawn().unwrap())
    };
    let children: Vec<_> = (0..MANY).map(|_| start()).collect();
    let mut far = BTreeSet::new();
    let mut outputs = Vec::new();
    // All of them run until the last one has begun.
    let mut children = children.into_iter().map(|mut child| {
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        far.insert(line);
        child
    });
    let running: Vec<_> = children.by_ref().collect();
    drop(children);
    for child in running {
        outputs.push(child.wait_with_output().unwrap());
    }
    for output in &outputs {
        assert!(
            output.status.code().is_some_and(|code| code < 125),
            "{}",
            text(&output.stderr)
        );
    }
    assert_eq!(far.len(), MANY, "{far:?}");
}
