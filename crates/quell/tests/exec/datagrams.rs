//! UDP through the relay: ports, the TOS byte both ways, marks of the link, names.

use crate::Case;
use crate::fixture::{ECHO, Fake, SERVER, SERVER_V6};

pub(crate) const CASES: &[Case] = &[
    (
        "datagrams_keep_their_ports_and_their_tos_byte",
        datagrams_keep_their_ports_and_their_tos_byte,
    ),
    (
        "marks_of_the_link_reach_the_remote_host",
        marks_of_the_link_reach_the_remote_host,
    ),
    (
        "packets_with_ect0_continue_with_ect1_where_that_was_asked_for",
        packets_with_ect0_continue_with_ect1_where_that_was_asked_for,
    ),
    (
        "names_are_asked_for_through_the_link",
        names_are_asked_for_through_the_link,
    ),
    (
        "what_the_link_is_not_for_passes_it_by",
        what_the_link_is_not_for_passes_it_by,
    ),
];

fn datagrams_keep_their_ports_and_their_tos_byte(fake: &Fake) {
    // All codepoints of ECN, and some of DiffServ.
    let all = ["0", "1", "2", "3", "184", "187"];
    for to in [format!("{SERVER}:{ECHO}"), format!("[{SERVER_V6}]:{ECHO}")] {
        let (said, report) = fake.role(&[], "datagrams", &format!("{to} {}", all.join(" ")));
        let expected = all.map(|tos| format!("{tos} {tos}\n").repeat(2)).concat();
        assert_eq!(said, expected, "{to}");
        assert_eq!(report["exec"]["relay"]["exchanges"], 2);
    }
}

fn marks_of_the_link_reach_the_remote_host(fake: &Fake) {
    // 1,000 bytes are 8 ms at 1 Mbit/s, so all but the first few find a queue above the step.
    let options = ["--up", "1mbit", "--up-queue", "step:threshold=10ms"];
    let (said, report) = fake.role(&options, "burst", &format!("{SERVER}:{ECHO} 40"));
    let words: Vec<u64> = said
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let marked = report["exec"]["up"]["marked"].as_u64().unwrap();
    assert_eq!(words, [40, marked], "{report:#}");
    assert!((20..40).contains(&marked), "{marked}");
}

fn packets_with_ect0_continue_with_ect1_where_that_was_asked_for(fake: &Fake) {
    let port = |port: u16| format!("--ect1={port}");
    let (this, other) = (port(ECHO), port(ECHO + 1));
    // TOS bytes of what is sent, and asked back: ECT(0) alone and beside EF, Not-ECT, CE.
    let words = format!("{SERVER}:{ECHO} 2 186 0 3");
    for (option, expected, rewritten) in [
        (Some("--ect1"), ["1 1", "185 185", "0 0", "3 3"], 4),
        (Some(this.as_str()), ["1 1", "185 185", "0 0", "3 3"], 4),
        (Some(other.as_str()), ["2 2", "186 186", "0 0", "3 3"], 0),
        (None, ["2 2", "186 186", "0 0", "3 3"], 0),
    ] {
        let options: Vec<&str> = option.into_iter().collect();
        let (said, report) = fake.role(&options, "datagrams", &words);
        let expected = expected.map(|line| format!("{line}\n").repeat(2)).concat();
        assert_eq!(said, expected, "{option:?}");
        for direction in ["down", "up"] {
            let count = &report["exec"][direction]["ect1_rewritten"];
            assert_eq!(count, rewritten, "{option:?} {direction}");
        }
    }
}

fn names_are_asked_for_through_the_link(fake: &Fake) {
    let (said, _) = fake.role(&["--rtt", "300ms"], "names", "name.test");
    let words: Vec<&str> = said.split_whitespace().collect();
    // At least one query and its answer crossed the link.
    assert!(words[0].parse::<u64>().unwrap() >= 300, "{said}");
    assert_eq!(words[1..], [SERVER]);
}

fn what_the_link_is_not_for_passes_it_by(fake: &Fake) {
    let (port, network) = (format!("udp/{ECHO}"), format!("net:{SERVER}/32"));
    let (host, other) = (
        format!("tcp,host:{SERVER}"),
        format!("tcp,udp/{}", ECHO + 1),
    );
    let words = format!("{SERVER}:{ECHO} 3");
    for (option, list, is_meant) in [
        ("--only", &port, true),
        ("--only", &host, true),
        ("--only", &other, false),
        ("--except", &other, true),
        ("--except", &network, false),
    ] {
        let (said, report) = fake.role(&["--rtt", "200ms", option, list], "ping", &words);
        let times = said.lines().map(|line| line.parse::<u64>().unwrap());
        let shortest = times.min().unwrap();
        assert_eq!(shortest >= 200_000, is_meant, "{option} {list}: {said}");
        for way in ["down", "up"] {
            let passed = report["exec"][way]["passed_by"].as_u64().unwrap();
            assert_eq!(passed >= 3, !is_meant, "{option} {list}: {report:#}");
        }
    }
    let mut wrong = fake.quell(&["exec", "--only", "tcp/https", "--", "true"]);
    let output = fake.output(&mut wrong);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert!(
        why.contains("--only \"tcp/https\": must be a protocol"),
        "{why}"
    );
}
