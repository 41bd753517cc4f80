//! TCP through the relay: destinations, ends, resets, sums, and what is forbidden.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use crate::Case;
use crate::fixture::{
    CLOSED, COUNT, ECHO, Fake, LOCAL, LOCAL_V6, OTHER, RESET, SERVER, SERVER_V6, SOURCE, WHO,
};

pub(crate) const CASES: &[Case] = &[
    (
        "connections_reach_the_host_that_was_asked_for",
        connections_reach_the_host_that_was_asked_for,
    ),
    (
        "the_end_of_one_direction_and_every_byte_are_passed_on",
        the_end_of_one_direction_and_every_byte_are_passed_on,
    ),
    (
        "what_a_program_sent_last_arrives_although_it_is_gone",
        what_a_program_sent_last_arrives_although_it_is_gone,
    ),
    (
        "both_ends_hear_what_fits_and_send_that",
        both_ends_hear_what_fits_and_send_that,
    ),
    ("resets_are_passed_on", resets_are_passed_on),
    (
        "the_host_itself_is_reached_only_where_that_was_allowed",
        the_host_itself_is_reached_only_where_that_was_allowed,
    ),
    (
        "many_connections_leave_nothing",
        many_connections_leave_nothing,
    ),
    (
        "congestion_controls_are_those_that_were_asked_for",
        congestion_controls_are_those_that_were_asked_for,
    ),
    (
        "a_program_at_the_far_edge_is_reached_without_a_relay",
        a_program_at_the_far_edge_is_reached_without_a_relay,
    ),
];

fn connections_reach_the_host_that_was_asked_for(fake: &Fake) {
    let to = [
        format!("{SERVER}:{WHO}"),
        format!("{OTHER}:{WHO}"),
        format!("[{SERVER_V6}]:{WHO}"),
    ];
    let (said, report) = fake.role(&[], "connect", &to.join(" "));
    assert_eq!(said.lines().collect::<Vec<_>>(), to);
    let relay = &report["exec"]["relay"];
    assert_eq!(relay["connections"], 3, "{report:#}");
    let listed = report["exec"]["connections"].as_array().unwrap();
    let listed: Vec<&str> = listed
        .iter()
        .map(|one| one["to"].as_str().unwrap())
        .collect();
    assert_eq!(listed, to);
    // Without IPv6 its hosts are out of reach, and the program learns it at once.
    let (said, _) = fake.role(&["--ipv4-only"], "connect", &to[2]);
    assert_eq!(said.trim(), format!("{:?}", ErrorKind::AddrNotAvailable));
}

fn the_end_of_one_direction_and_every_byte_are_passed_on(fake: &Fake) {
    for (to, bytes) in [
        (SERVER, 0_u64),
        (SERVER, 1),
        (SERVER, 60_000_000),
        (SERVER_V6, 3_000_000),
    ] {
        let to = SocketAddr::new(to.parse().unwrap(), COUNT).to_string();
        let (said, report) = fake.role(&["--rtt", "4ms"], "count", &format!("{to} {bytes}"));
        assert_eq!(said.trim(), bytes.to_string());
        assert_eq!(
            fake.ends.recv_timeout(Duration::from_secs(30)).unwrap(),
            Ok(bytes)
        );
        assert_eq!(report["exec"]["up"]["tcp_bytes"], bytes);
        assert_eq!(
            report["exec"]["connections"][0]["end"], "closed",
            "{report:#}"
        );
    }
    let to = format!("{SERVER}:{ECHO} 3000");
    let (said, _) = fake.role(&[], "bytewise", &to);
    assert_eq!(said.trim(), "3000");
}

fn both_ends_hear_what_fits_and_send_that(fake: &Fake) {
    let tunnel = [
        "--rtt",
        "10ms",
        "--rule",
        "any>drop:longer=1300B,signal=true",
    ];
    for server in [SERVER, SERVER_V6] {
        let to = |port| SocketAddr::new(server.parse().unwrap(), port);
        let (said, down) = fake.role(&tunnel, "read", &format!("{} 1", to(SOURCE)));
        assert!(said.trim().parse::<f64>().unwrap() > 100_000.0, "{said}");
        let (said, up) = fake.role(&tunnel, "count", &format!("{} 300000", to(COUNT)));
        assert_eq!(said.trim(), "300000");
        let ended = fake.ends.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(ended, Ok(300_000));
        for (report, way) in [(down, 0), (up, 1)] {
            let rules = report["summary"]["rules"].as_array().unwrap();
            let matched = [0, 1].map(|way: usize| rules[way]["matched"].as_u64().unwrap());
            // Of the first window.
            assert!(
                (1..100).contains(&matched[way]) && matched[1 - way] == 0,
                "{matched:?}"
            );
        }
    }
}

fn what_a_program_sent_last_arrives_although_it_is_gone(fake: &Fake) {
    // Often: what is sent may be anywhere between the two sockets when the program's end is seen.
    for round in 0..16 {
        let bytes = [1, 30_000][round % 2];
        let rtt = ["0ms", "5ms", "40ms", "11ms"][round / 2 % 4];
        let options = ["--rtt", rtt, "--up", "20mbit"];
        let to = SocketAddr::new(SERVER.parse().unwrap(), COUNT).to_string();
        fake.role(&options, "leave", &format!("{to} {bytes}"));
        assert_eq!(
            fake.ends.recv_timeout(Duration::from_secs(30)).unwrap(),
            Ok(bytes),
            "round {round}"
        );
        let (_, report) = fake.role(&options, "tell", &format!("{SERVER}:{ECHO}"));
        let exchanges = &report["exec"]["relay"]["exchanges"];
        assert_eq!(*exchanges, 1, "round {round}: {report:#}");
    }
}

fn resets_are_passed_on(fake: &Fake) {
    let (_, report) = fake.role(&[], "abort", &format!("{SERVER}:{COUNT}"));
    let end = fake.ends.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    assert_eq!(report["exec"]["relay"]["reset"], 1, "{report:#}");
    let reset = format!("{:?}", ErrorKind::ConnectionReset);
    for port in [RESET, CLOSED] {
        // Nobody listens at CLOSED: what TPROXY has accepted is reset then.
        let (said, _) = fake.role(&[], "reset", &format!("{SERVER}:{port}"));
        assert_eq!(said.trim(), reset);
    }
}

fn the_host_itself_is_reached_only_where_that_was_allowed(fake: &Fake) {
    let port = LOCAL.to_string();
    let open = format!("--host-loopback={LOCAL}");
    let (said, _) = fake.role(&[&open], "to-host", &port);
    assert_eq!(said.trim(), "local");
    let (said, _) = fake.role(&["--host-loopback"], "to-host", &port);
    assert_eq!(said.trim(), "local");
    // One that listens at [::1] alone has no other address inside.
    let (said, _) = fake.role(&["--host-loopback"], "to-host", &LOCAL_V6.to_string());
    assert_eq!(said.trim(), "local6");
    let reset = format!("{:?}", ErrorKind::ConnectionReset);
    let other = format!("--host-loopback={}", LOCAL + 9);
    let (said, report) = fake.role(&[&other], "to-host", &port);
    assert_eq!(said.trim(), reset);
    assert_eq!(report["exec"]["relay"]["forbidden"], 1);
    let (said, _) = fake.role(&[], "connect", &format!("10.77.0.254:{LOCAL}"));
    assert_eq!(said.trim(), reset);
    // Its own loopback is the program's, and empty.
    let (said, _) = fake.role(
        &["--host-loopback"],
        "connect",
        &format!("127.0.0.1:{LOCAL}"),
    );
    assert_eq!(said.trim(), format!("{:?}", ErrorKind::ConnectionRefused));
}

fn many_connections_leave_nothing(fake: &Fake) {
    let (said, report) = fake.role(&[], "many", &format!("{SERVER}:{ECHO} 1000"));
    assert_eq!(said.trim(), "1000 0");
    let relay = &report["exec"]["relay"];
    assert_eq!(
        (&relay["connections"], &relay["refused"]),
        (&1000.into(), &0.into())
    );

    let listed = report["exec"]["connections"].as_array().unwrap();
    assert_eq!(listed.len(), 1000);
}

fn congestion_controls_are_those_that_were_asked_for(fake: &Fake) {
    for (inside, outside) in [("reno", "cubic"), ("cubic", "reno")] {
        let options = ["--cc", inside, "--far-cc", outside];
        let (said, report) = fake.role(&options, "control", &format!("{SERVER}:{ECHO}"));
        assert_eq!(said.trim(), inside);
        let exec = &report["exec"];
        assert_eq!(exec["congestion_control"], inside);
        assert_eq!(exec["far_congestion_control"], outside);
        assert_eq!(exec["connections"][0]["far_control"], outside, "{exec:#}");
    }
}

fn a_program_at_the_far_edge_is_reached_without_a_relay(fake: &Fake) {
    let own = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("far");
    // Both programs are this one, in different roles. The server is slow to listen.
    let text = format!(
        "#!/bin/sh\nsleep 1.2\n{}=far {}=4321 exec {}\n",
        crate::clients::ROLE,
        crate::clients::WORDS,
        own.display()
    );
    std::fs::write(&script, text).unwrap();
    let far = format!("sh {}", script.display());
    for net in ["none", "relay"] {
        let (said, report) = fake.role(&["--net", net, "--far", &far], "to-far", "4321");
        assert_eq!(said.trim(), "far");
        assert_eq!(report["exec"]["relay"]["connections"], 0);
        // Its start is no part of the run.
        let ran = report["summary"]["duration_s"].as_f64().unwrap();
        assert!(ran < 1.2, "{ran}");
    }
    let (said, _) = fake.role(&["--net", "none"], "connect", &format!("{SERVER}:{WHO}"));
    assert_eq!(said.trim(), format!("{:?}", ErrorKind::NetworkUnreachable));
}
