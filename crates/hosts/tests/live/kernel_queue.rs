//! A queue of the kernel on the way to the receiver: it carries, it holds its rate, it drops and counts, and what cannot be is
//! refused by name.

use std::process::Command;
use std::time::Instant;

use crate::common::{Cable, can_make_networks, connect, not_run};
use quell_hosts::kernel_queue::KernelQueue;
use quell_hosts::topology::{Topology, TopologyConfig};
use quell_hosts::{Error, KernelQueueError, offload, sysctl};
use quell_testing::Turn;

fn can_run(test: &str) -> bool {
    let has_tc = Command::new("/usr/sbin/tc")
        .arg("-V")
        .output()
        .or_else(|_| Command::new("tc").arg("-V").output())
        .is_ok_and(|told| told.status.success());
    if !has_tc {
        not_run(test, "there is no tc (iproute2)");
    }
    has_tc && can_make_networks(test)
}

fn topology(discipline: &str, ipv6: bool) -> Result<Topology, Error> {
    Topology::new(&TopologyConfig {
        kernel_queue: Some(KernelQueue {
            discipline: discipline.to_owned(),
            rate_bps: 20_000_000,
            burst: 1_514,
        }),
        ipv6,
        ..TopologyConfig::default()
    })
}

#[test]
fn tcp_crosses_at_the_rate_and_overflows_the_queue() {
    let test = "tcp_crosses_at_the_rate_and_overflows_the_queue";
    if !can_run(test) {
        return;
    }
    let _turn = Turn::take();
    // Twenty frames: less than a window soon is.
    let topology = match topology("bfifo limit 30280", false) {
        Err(Error::KernelQueue(why @ KernelQueueError::NoSuchDiscipline { .. })) => {
            return not_run(test, &why.to_string());
        }
        made => made.unwrap(),
    };
    let router = topology.router.as_ref().unwrap();
    router
        .run(|| {
            for interface in ["from-link", "out"] {
                assert_eq!(offload::features_on(interface).unwrap(), [""; 0]);
            }
            assert_eq!(sysctl::get("net.ipv4.ip_forward").unwrap(), "1");
        })
        .unwrap();
    let _cable = Cable::plain(&topology);
    assert_eq!(
        topology.kernel_queue_statistics().unwrap().unwrap().packets,
        0
    );
    let bytes = 4 << 20;
    let began = Instant::now();
    let receiver = topology.groups[0].receiver;
    let connection = connect(&topology.sender, &topology.receiver, receiver, |_| ());
    assert_eq!(connection.transfer(bytes), bytes);
    let took = began.elapsed().as_secs_f64();
    let counted = topology.kernel_queue_statistics().unwrap().unwrap();
    let segments = bytes as u64 / 1_448;
    assert!(counted.packets > segments, "{counted:?}");
    // Full frames are 1 514 bytes to htb: fewer would be without the Ethernet header, more would be super-packets.
    let mean = counted.bytes as f64 / counted.packets as f64;
    assert!((1_400.0..1_514.5).contains(&mean), "{counted:?}");
    assert!(counted.dropped > 0, "{counted:?}");
    // A busy machine is slower, never faster; a queue of frames may still be in there at the end.
    let rate = (counted.bytes - 2 * 30_280) as f64 * 8.0 / took;
    assert!(rate < 20_100_000.0, "{rate} in {took} s");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let test = "what_cannot_be_is_refused_by_name";
    if !can_run(test) {
        return;
    }
    let _turn = Turn::take();
    for (discipline, ipv6, says) in [
        ("no_such_queue", false, "no such discipline"),
        ("bfifo limit", false, "tc qdisc add dev out"),
        ("bfifo parent 1:2", false, "parent"),
        ("bfifo", true, "IPv4"),
    ] {
        let told = topology(discipline, ipv6).unwrap_err();
        assert!(matches!(told, Error::KernelQueue(_)), "{told:?}");
        assert!(told.to_string().contains(says), "{told}");
    }
}
