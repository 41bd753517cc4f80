//! Whole frames through a real link: what is around the IP packet stays as it was.

use crate::support::raw::RawSocket;
use crate::support::{Topology, Unobserved, burst, can_run, direction, note};
use quell_link::{DirectionConfig, GroupConfig, LinkConfig, ecn_field};
use quell_testing::{Missed, Run, Turn, bound, live};
use quell_units::{Ecn, Rate, Time};

fn config(forward: DirectionConfig) -> LinkConfig {
    LinkConfig::new(forward, DirectionConfig::unlimited(1_500))
}

fn group(port: u16, delay: Time) -> GroupConfig {
    GroupConfig {
        port,
        delay,
        ..GroupConfig::default()
    }
}

#[test]
fn tagged_frames_leave_as_they_came_but_for_a_mark() {
    let test = "tagged_frames_leave_as_they_came_but_for_a_mark";
    live(test, |run| tagged_frames(test, run));
}

fn tagged_frames(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let frame = |tags: usize, number: u16| {
        let network = |number| {
            let mut header =
                etherparse::Ipv4Header::new(0, 64, 0.into(), [10, 9, 0, 1], [10, 9, 0, 2]).unwrap();
            (header.identification, header.ecn) = (number, 1.try_into().unwrap());
            etherparse::IpHeaders::Ipv4(header, Default::default())
        };
        let vlan = |id: u16| id.try_into().unwrap();
        let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let builder = match tags {
            0 => builder.ip(network(number)),
            1 => builder.single_vlan(vlan(5)).ip(network(number)),
            _ => builder.double_vlan(vlan(7), vlan(8)).ip(network(number)),
        };
        let mut frame = Vec::new();
        builder
            .udp(4_000, 5_001)
            .write(&mut frame, &[number as u8; 1_000])
            .unwrap();
        frame
    };
    let groups = vec![group(5_001, Time::from_millis(2))];
    let config = LinkConfig {
        groups,
        ..config(direction(Rate::from_mbps(50), "dualpi2", &[]))
    };
    let sent: Vec<_> = (0..90)
        .map(|number| frame(usize::from(number) % 3, number))
        .collect();
    let (left, right) = (
        RawSocket::open(&topology.left, "eth0"),
        RawSocket::open(&topology.right, "eth0"),
    );
    let mut marked = [0; 3];
    let (report, _) = topology.with_link(config, [Unobserved, Unobserved], || {
        sent.iter().for_each(|frame| left.send(frame));
        for (index, sent) in sent.iter().enumerate() {
            // The hosts' own start-up is not ours.
            let received =
                std::iter::from_fn(|| right.receive()).find(|frame| frame[..6] == sent[..6]);
            let received = received.expect("a frame was lost");
            let mut with_mark = sent.clone();
            ecn_field::set(&mut with_mark[14 + 4 * (index % 3)..], Ecn::Ce);
            assert!(
                received == *sent || received == with_mark,
                "{index}: {received:02x?}\n{sent:02x?}"
            );
            marked[index % 3] += u32::from(received == with_mark);
        }
    });
    // 90 packets at 50 Mbit/s queue for 15 ms, far above the step threshold of 1 ms.
    note(run, &report, Time::from_millis(4));
    bound!(marked.iter().all(|marked| *marked > 10), "{marked:?}");
    assert!(
        report.forward.is_conserved() && report.lost_outside() == 0,
        "{report:#?}"
    );
    assert_eq!(report.forward.marked, u64::from(marked.iter().sum::<u32>()));
    Ok(())
}

#[test]
fn frames_that_do_not_fit_are_counted_as_lost_outside() {
    let test = "frames_that_do_not_fit_are_counted_as_lost_outside";
    let _turn = Turn::take();
    if !can_run(test) {
        return;
    }
    let topology = Topology::new();
    topology
        .link
        .ip("link set left mtu 9000\nlink set right mtu 9000");
    topology.left.ip("link set eth0 mtu 9000");
    topology.right.ip("link set eth0 mtu 9000");
    let (sender, receiver) = (
        topology.left.udp("10.9.0.1:4000"),
        topology.right.udp("10.9.0.2:5001"),
    );
    let (report, _) = topology.with_link(
        config(direction(Rate::from_mbps(50), "fifo", &[])),
        [Unobserved, Unobserved],
        || {
            assert_eq!(burst(&sender, &receiver, 1, 1_000).len(), 1);
            let destination = receiver.local_addr().unwrap();
            for _ in 0..3 {
                sender.send_to(&[255; 5_000], destination).unwrap();
            }
            // What is sent after them arrives first.
            let [(number, _)] = burst(&sender, &receiver, 1, 1_000)[..] else {
                panic!("nothing arrives");
            };
            assert_eq!(number, 0);
        },
    );
    assert_eq!(
        (report.forward.lost.truncated, report.lost_outside()),
        (3, 3),
        "{report:#?}"
    );
    assert!(report.forward.is_conserved(), "{report:#?}");
}
