//! What the host sees of it: nothing, before, after, and after kill -9.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use quell_testing::program::wait_until;
use rustix::process::{Pid, Signal, kill_process};

use crate::Case;
use crate::fixture::{ECHO, Fake, SERVER};

pub(crate) const CASES: &[Case] = &[(
    "the_host_is_as_before_however_it_ends",
    the_host_is_as_before_however_it_ends,
)];

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
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            settings(&path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.insert(path.display().to_string(), text);
        }
    }
}

/// The network namespaces that processes are in.
fn namespaces() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let all: std::collections::BTreeSet<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok())
        .collect();
    all.len()
}

fn the_host_is_as_before_however_it_ends(fake: &Fake) {
    let before = (fake.run(network), namespaces());
    let words = format!("{SERVER}:{ECHO} 20");
    // A normal end.
    fake.role(&["--rate", "50mbit", "--rtt", "2ms"], "many", &words);
    // An error of the program, and one of quell.
    for arguments in [
        &["exec", "--quiet", "--", "false"][..],
        &[
            "exec",
            "--subnet",
            "0",
            "--cc",
            "no-such-control",
            "--",
            "true",
        ],
    ] {
        assert!(!fake.output(&mut fake.quell(arguments)).status.success());
    }
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let script = "echo ready; exec sleep 600";
        let mut command = fake.quell(&["exec", "--rate", "50mbit", "--", "sh", "-c", script]);
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
