//! A topology carries what a wire would carry, and asks for ECN exactly where it should.

use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Cable, SPARE, can_make_networks, connect, has_ecn, not_run, tcp_info};
use quell_hosts::confine::capabilities;
use quell_hosts::netlink::{Netlink, interface_index};
use quell_hosts::probe::{self, Need};
use quell_hosts::topology::{GroupConfig, Topology, TopologyConfig};
use quell_hosts::traffic::Host;
use quell_hosts::{offload, sysctl};
use quell_testing::{Turn, bound, live};

fn groups(ecn: &[bool]) -> Vec<GroupConfig> {
    let group = |ecn: &bool| GroupConfig {
        ecn: [*ecn; 2],
        ..GroupConfig::default()
    };
    ecn.iter().map(group).collect()
}

#[test]
fn tcp_crosses_as_whole_packets_with_finished_checksums() {
    if !can_make_networks("tcp_crosses_as_whole_packets_with_finished_checksums") {
        return;
    }
    let _turn = Turn::take();
    const BYTES: usize = 8 << 20;
    let config = TopologyConfig {
        ipv6: true,
        ..TopologyConfig::default()
    };
    let topology = Topology::new(&config).unwrap();
    let [longest, wrong, frames] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let _cable = {
        let (longest, wrong, frames) = (
            Arc::clone(&longest),
            Arc::clone(&wrong),
            Arc::clone(&frames),
        );
        Cable::join(&topology, Duration::ZERO, move |_, frame| {
            longest.fetch_max(frame.bytes.len(), Ordering::Relaxed);
            wrong.fetch_add(usize::from(!frame.checksum_is_right()), Ordering::Relaxed);
            frames.fetch_add(1, Ordering::Relaxed);
            true
        })
    };
    let group = topology.groups[0];
    for receiver in [IpAddr::from(group.receiver), group.receiver_v6.into()] {
        let connection = connect(&topology.sender, &topology.receiver, receiver, |_| ());
        assert_eq!(
            connection.client.local_addr().unwrap().ip().is_ipv4(),
            receiver.is_ipv4()
        );
        assert_eq!(connection.transfer(BYTES), BYTES, "to {receiver}");
    }
    assert_eq!(
        longest.load(Ordering::Relaxed),
        14 + config.mtu as usize,
        "full frames and no super-packets"
    );
    assert_eq!(wrong.load(Ordering::Relaxed), 0, "unfinished checksums");
    assert!(frames.load(Ordering::Relaxed) > 2 * BYTES / 1448);
}

#[test]
fn a_jumbo_mtu_is_used() {
    if !can_make_networks("a_jumbo_mtu_is_used") {
        return;
    }
    let _turn = Turn::take();
    let topology = Topology::new(&TopologyConfig {
        mtu: 9000,
        ..TopologyConfig::default()
    })
    .unwrap();
    let longest = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&longest);
    let _cable = Cable::join(&topology, Duration::ZERO, move |_, frame| {
        seen.fetch_max(frame.bytes.len(), Ordering::Relaxed);
        true
    });
    let connection = connect(
        &topology.sender,
        &topology.receiver,
        topology.groups[0].receiver,
        |_| (),
    );
    assert_eq!(connection.transfer(1 << 20), 1 << 20);
    assert_eq!(longest.load(Ordering::Relaxed), 9014);
}

#[test]
fn a_host_without_offload_hands_over_one_segment_at_a_time() {
    if !can_make_networks("a_host_without_offload_hands_over_one_segment_at_a_time") {
        return;
    }
    let _turn = Turn::take();
    for gso in [[true, true], [true, false], [false, true]] {
        let topology = Topology::new(&TopologyConfig {
            gso,
            ..TopologyConfig::default()
        })
        .unwrap();
        for (host, gso) in [&topology.sender, &topology.receiver].into_iter().zip(gso) {
            let largest = host
                .run(|| {
                    let interface = interface_index(Topology::HOST_PORT)?;
                    Netlink::open()?.largest_burst(interface)
                })
                .unwrap()
                .unwrap()
                .expect("the kernel tells");
            assert_eq!(largest == 1, !gso, "{largest}");
        }
    }
}

#[test]
fn routes_carry_initial_windows_and_segment_sizes() {
    if !can_make_networks("routes_carry_initial_windows_and_segment_sizes") {
        return;
    }
    let _turn = Turn::take();
    let wanted = [(None, None), (Some(3), None), (Some(25), Some(536))];
    let group = |(initial_window, mss)| GroupConfig {
        initial_window,
        mss,
        ..GroupConfig::default()
    };
    let topology = Topology::new(&TopologyConfig {
        groups: wanted.into_iter().map(group).collect(),
        ..TopologyConfig::default()
    })
    .unwrap();
    let _cable = Cable::plain(&topology);
    for (group, (initial_window, mss)) in topology.groups.iter().zip(wanted) {
        let to = IpAddr::from(group.receiver);
        let connection = connect(&topology.sender, &topology.receiver, to, |_| ());
        for end in [&connection.client, &connection.server] {
            let info = tcp_info(end);
            assert_eq!(info.tcpi_snd_cwnd, initial_window.unwrap_or(10));
            // Twelve bytes of each segment are the timestamp.
            assert_eq!(info.tcpi_snd_mss, mss.unwrap_or(1_460) - 12);
        }
    }
}

#[test]
fn ecn_is_negotiated_for_the_groups_that_want_it_and_no_other() {
    if !can_make_networks("ecn_is_negotiated_for_the_groups_that_want_it_and_no_other") {
        return;
    }
    let _turn = Turn::take();
    let wanted = [false, true, true, false];
    let topology = Topology::new(&TopologyConfig {
        groups: groups(&wanted),
        ipv6: true,
        ..Default::default()
    })
    .unwrap();
    let _cable = Cable::plain(&topology);
    for (group, wanted) in topology.groups.iter().zip(wanted) {
        let down: [IpAddr; 2] = [group.receiver.into(), group.receiver_v6.into()];
        let up: [IpAddr; 2] = [group.sender.into(), group.sender_v6.into()];
        let forward = down.map(|to| connect(&topology.sender, &topology.receiver, to, |_| ()));
        let reverse = up.map(|to| connect(&topology.receiver, &topology.sender, to, |_| ()));
        for connection in forward.iter().chain(&reverse) {
            let to = connection.client.peer_addr().unwrap();
            assert_eq!(
                has_ecn(&connection.client),
                wanted,
                "asked on the way to {to}"
            );
            assert_eq!(has_ecn(&connection.server), wanted, "granted at {to}");
        }
    }
}

#[test]
fn each_of_300_groups_has_its_own_pair_of_addresses() {
    let test = "each_of_300_groups_has_its_own_pair_of_addresses";
    if !can_make_networks(test) {
        return;
    }
    live(test, |_| {
        let began = Instant::now();
        let topology = Topology::new(&TopologyConfig {
            groups: groups(&[false; 300]),
            ipv6: true,
            ..Default::default()
        })
        .unwrap();
        bound!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
        each_has_its_own(&topology);
        Ok(())
    });
}

fn each_has_its_own(topology: &Topology) {
    let _cable = Cable::plain(topology);
    for group in [0, 127, 249, 250, 299].map(|number| topology.groups[number]) {
        let connection = connect(&topology.sender, &topology.receiver, group.receiver, |_| ());
        assert_eq!(
            connection.client.local_addr().unwrap().ip(),
            IpAddr::from(group.sender)
        );
        assert_eq!(
            connection.server.peer_addr().unwrap().ip(),
            IpAddr::from(group.sender)
        );
    }
}

#[test]
fn neighbours_are_known_from_the_start_and_arp_finds_the_others() {
    if !can_make_networks("neighbours_are_known_from_the_start_and_arp_finds_the_others") {
        return;
    }
    let _turn = Turn::take();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let arps = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&arps);
    let _cable = Cable::join(&topology, Duration::ZERO, move |_, frame| {
        seen.fetch_add(usize::from(frame.is_arp()), Ordering::Relaxed);
        true
    });
    connect(
        &topology.sender,
        &topology.receiver,
        topology.groups[0].receiver,
        |_| (),
    )
    .transfer(1 << 16);
    assert_eq!(
        arps.load(Ordering::Relaxed),
        0,
        "the groups' addresses need no ARP"
    );

    // A further pair of addresses, without neighbour entries.
    for (host, local, remote) in [
        (&topology.sender, SPARE[0], SPARE[1]),
        (&topology.receiver, SPARE[1], SPARE[0]),
    ] {
        host.run(|| {
            let (mut netlink, interface) = (
                Netlink::open().unwrap(),
                interface_index(Topology::HOST_PORT).unwrap(),
            );
            netlink.add_address(interface, local.into()).unwrap();
            netlink
                .add_host_route(
                    interface,
                    remote.into(),
                    local.into(),
                    &GroupConfig::default(),
                    0,
                )
                .unwrap();
        })
        .unwrap();
    }
    assert_eq!(
        connect(&topology.sender, &topology.receiver, SPARE[1], |_| ()).transfer(1 << 16),
        1 << 16
    );
    assert!(
        arps.load(Ordering::Relaxed) >= 2,
        "a question and an answer"
    );
}

#[test]
fn offloads_are_off_and_settings_in_force_in_every_namespace() {
    if !can_make_networks("offloads_are_off_and_settings_in_force_in_every_namespace") {
        return;
    }
    let _turn = Turn::take();
    let topology = Topology::new(&TopologyConfig {
        max_window: 8 << 20,
        ..Default::default()
    })
    .unwrap();
    for host in [&topology.sender, &topology.receiver] {
        host.run(|| {
            assert_eq!(offload::features_on(Topology::HOST_PORT).unwrap(), [""; 0]);
            assert_eq!(sysctl::get("net.ipv4.tcp_no_metrics_save").unwrap(), "1");
            assert_eq!(sysctl::get("net.ipv4.tcp_ecn").unwrap(), "2");
            assert!(
                sysctl::get("net.ipv4.tcp_rmem")
                    .unwrap()
                    .ends_with("33554432")
            );
            assert!(
                sysctl::get("net.ipv4.tcp_wmem")
                    .unwrap()
                    .ends_with("33554432")
            );
        })
        .unwrap();
    }
    topology
        .link
        .run(|| {
            for port in [&topology.to_sender, &topology.to_receiver] {
                assert_eq!(offload::features_on(port.name).unwrap(), [""; 0]);
                assert_eq!(interface_index(port.name).unwrap(), port.index);
            }
        })
        .unwrap();
}

#[test]
fn a_fresh_veth_has_offloads_to_turn_off() {
    // Guards the test above: reading back must be able to find something.
    if !can_make_networks("a_fresh_veth_has_offloads_to_turn_off") {
        return;
    }
    let _turn = Turn::take();
    use quell_hosts::namespace::Namespace;
    use quell_hosts::netlink::VethEnd;
    let [near, far] = [Namespace::new().unwrap(), Namespace::new().unwrap()];
    near.run(|| {
        let end = |name, last| VethEnd {
            name,
            mac: [2, 0, 0, 0, 0, last],
            mtu: 1500,
        };
        Netlink::open()
            .unwrap()
            .add_veth(&end("a", 1), &end("b", 2), &far)
            .unwrap();
        let before = offload::features_on("a").unwrap();
        for feature in [
            "tx-checksum-ip-generic",
            "tx-tcp-segmentation",
            "tx-generic-segmentation",
            "tx-udp-segmentation",
        ] {
            assert!(
                before.iter().any(|on| on == feature),
                "{feature} in {before:?}"
            );
        }
        offload::turn_off("a", &offload::LINK_TAKES).unwrap();
        let kept = offload::features_on("a").unwrap();
        assert!(!kept.is_empty() && kept.iter().all(|on| offload::LINK_TAKES.contains(&&**on)));
        offload::turn_off("a", &[]).unwrap();
        assert_eq!(offload::features_on("a").unwrap(), [""; 0]);
    })
    .unwrap();
}

#[test]
fn a_host_still_works_after_its_thread_dropped_its_privileges() {
    if !can_make_networks("a_host_still_works_after_its_thread_dropped_its_privileges") {
        return;
    }
    let _turn = Turn::take();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let _cable = Cable::plain(&topology);
    let listener = topology
        .receiver
        .run(|| std::net::TcpListener::bind((topology.groups[0].receiver, 80)).unwrap())
        .unwrap();
    let target = listener.local_addr().unwrap();
    topology
        .sender
        .run(|| {
            let kept = capabilities::drop_to_network().unwrap();
            assert_eq!(kept, capabilities::KEPT);
            TcpStream::connect(target).unwrap();
            rustix::net::socket(
                rustix::net::AddressFamily::PACKET,
                rustix::net::SocketType::RAW,
                None,
            )
            .unwrap();
            assert!(
                topology.link.enter().is_err(),
                "no way into other namespaces any more"
            );
        })
        .unwrap();
}

#[test]
fn without_ipv6_nothing_crosses_before_the_first_flow() {
    if !can_make_networks("without_ipv6_nothing_crosses_before_the_first_flow") {
        return;
    }
    let _turn = Turn::take();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let frames = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&frames);
    let _cable = Cable::join(&topology, Duration::ZERO, move |to: Host, frame| {
        seen.fetch_add(1, Ordering::Relaxed);
        eprintln!("to the {to}: {:02x?}", frame.bytes);
        true
    });
    // Unsolicited reports come within a second of an interface's start (RFC 3810 section 9.11).
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(frames.load(Ordering::Relaxed), 0);
}

#[test]
fn the_ports_of_the_link_keep_packets_until_their_times_where_the_kernel_can() {
    if !can_make_networks(
        "the_ports_of_the_link_keep_packets_until_their_times_where_the_kernel_can",
    ) {
        return;
    }
    let _turn = Turn::take();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let found = probe::probe(&[]);
    let found = found
        .iter()
        .find(|finding| finding.need == Need::Fq)
        .unwrap();
    assert_eq!(topology.fq, found.ok, "{found:?}");
    // The hosts' own interfaces have none: their TCP shall not be paced by one.
    for (namespace, ports, fq) in [
        (
            &topology.link,
            &["to-sender", "to-receiver"][..],
            topology.fq,
        ),
        (&topology.sender, &[Topology::HOST_PORT], false),
        (&topology.receiver, &[Topology::HOST_PORT], false),
    ] {
        let shown = namespace.run(|| {
            let tc = std::process::Command::new("tc")
                .args(["-s", "qdisc", "show"])
                .output();
            tc.map(|output| String::from_utf8(output.stdout).unwrap())
        });
        let Ok(shown) = shown.unwrap() else {
            not_run("the options of fq", "no tc here");
            return;
        };
        for port in ports {
            let line = shown
                .lines()
                .find(|line| line.contains(&format!("dev {port} root")))
                .unwrap_or_default();
            assert_eq!(line.starts_with("qdisc fq "), fq, "{port}: {shown}");
            // tc prints the hash's mask plus one, in 32 bits.
            let options = ["limit 1000000p", "flow_limit 1000000p", "nopacing"];
            assert!(
                !fq || options.iter().all(|option| line.contains(option)),
                "{line}"
            );
        }
    }
}

#[test]
fn the_probe_finds_here_what_these_tests_use() {
    if !can_make_networks("the_probe_finds_here_what_these_tests_use") {
        return;
    }
    let _turn = Turn::take();
    let findings = probe::probe(&["reno", "no-such-cc"]);
    let of = |need: Need| {
        findings
            .iter()
            .find(|finding| finding.need == need)
            .unwrap_or_else(|| panic!("{need} in {findings:#?}"))
    };
    let control = |name: &str| Need::CongestionControl(name.to_owned());
    for need in [
        Need::NetworkNamespaces,
        Need::Veth,
        Need::PacketSockets,
        Need::PacketBuffer,
        control("reno"),
    ] {
        assert!(of(need).ok, "{findings:#?}");
    }
    let missing = of(control("no-such-cc"));
    assert!(!missing.ok && missing.fix.is_some(), "{missing:?}");
}

#[test]
fn the_first_packet_crosses() {
    // Each time: the first SYN is neither lost on the way up nor sent a second time, a second later and without ECN.
    if !can_make_networks("the_first_packet_crosses") {
        return;
    }
    let _turn = Turn::take();
    for _ in 0..20 {
        let topology = Topology::new(&TopologyConfig {
            groups: groups(&[true]),
            ..Default::default()
        })
        .unwrap();
        let _cable = Cable::plain(&topology);
        for (from, to, address) in [
            (
                &topology.sender,
                &topology.receiver,
                topology.groups[0].receiver,
            ),
            (
                &topology.receiver,
                &topology.sender,
                topology.groups[0].sender,
            ),
        ] {
            let connection = connect(from, to, address, |_| ());
            assert!(has_ecn(&connection.client));
            assert_eq!(tcp_info(&connection.client).tcpi_total_retrans, 0);
        }
    }
}
