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
        "names_are_asked_for_through_the_link",
        names_are_asked_for_through_the_link,
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

fn names_are_asked_for_through_the_link(fake: &Fake) {
    let (said, _) = fake.role(&["--rtt", "300ms"], "names", "name.test");
    let words: Vec<&str> = said.split_whitespace().collect();
    // At least one query and its answer crossed the link.
    assert!(words[0].parse::<u64>().unwrap() >= 300, "{said}");
    assert_eq!(words[1..], [SERVER]);
}
