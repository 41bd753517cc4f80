//! TCP whose hosts leave checksums and segmentation to the link, as veth has it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::support::{Topology, can_run, direction, note};
use quell_aqm::{Departure, Drop, Observer};
use quell_link::{Descriptor, DirectionConfig, GroupConfig, LinkConfig, Wakeup};
use quell_testing::{Missed, Run, live};
use quell_units::{Rate, Time};

const PORT: u16 = 5_001;
const BYTES: usize = 12_000_000;

/// Packets that left the queue, and the longest.
#[derive(Default)]
struct Log(u64, u64);

impl Observer<Descriptor> for Log {
    fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
    fn departed(&mut self, _packet: &Descriptor, departure: &Departure) {
        self.0 += 1;
        self.1 = self.1.max(departure.link_bytes.get());
    }
}

#[test]
fn super_packets_cross_the_queue_as_wire_packets_and_arrive_whole() {
    let test = "super_packets_cross_the_queue_as_wire_packets_and_arrive_whole";
    live(test, |run| super_packets(test, run));
}

fn super_packets(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let ipv6 = std::fs::exists("/proc/sys/net/ipv6").unwrap();
    for (host, frames, limit, wakeup) in [
        ("10.9.0.2", 1 << 16, "60p", Wakeup::Lazy),
        ("fd09::2", 1 << 16, "60p", Wakeup::PerPacket),
        // Only zeros.
        ("10.9.0.2", 1 << 15, "60p", Wakeup::PerPacket),
        // More than the pool holds.
        ("10.9.0.2", LinkConfig::FEWEST_FRAMES, "4000p", Wakeup::Lazy),
    ] {
        let address = (host, PORT);
        let is_short = limit == "60p";
        let delay = Time::from_millis(if is_short { 3 } else { 60 });
        if host.contains(':') && !ipv6 {
            continue;
        }
        let group = GroupConfig {
            port: PORT,
            delay,
            ..GroupConfig::default()
        };
        let forward = direction(Rate::from_mbps(200), "fifo", &[("limit", limit)]);
        let config = LinkConfig {
            groups: vec![group],
            frames,
            zeros: frames == 1 << 15,
            wakeup: Some(wakeup),
            ..LinkConfig::new(forward, DirectionConfig::unlimited(1_500))
        };
        let byte = |at: usize| if config.zeros { 0 } else { (at * at / 7) as u8 };
        let sent: Vec<u8> = (0..BYTES).map(byte).collect();
        let mut arrived = Vec::new();
        let listener = topology.right.run(|| TcpListener::bind(address).unwrap());
        let (report, [log, _]) =
            topology.with_link(config, [Log::default(), Log::default()], || {
                let mut to = topology.left.run(|| TcpStream::connect(address).unwrap());
                let (mut from, _) = listener.accept().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        to.write_all(&sent).unwrap();
                        std::mem::drop(to);
                    });
                    from.read_to_end(&mut arrived).unwrap();
                });
            });
        note(run, &report, delay * 2);
        assert!(arrived == sent, "{host}: {} bytes", arrived.len());
        assert_eq!(report.lost_outside(), 0, "{report:#?}");
        assert!(report.forward.is_conserved() && report.reverse.is_conserved());
        assert_eq!(log.1, 1_500, "the queue sees wire packets");
        assert!(log.0 >= BYTES as u64 / 1_460, "{} packets", log.0);
        assert_eq!(report.forward.dropped > 0, is_short, "{report:#?}");
        assert_eq!(report.pool_exhausted > 0, !is_short, "{report:#?}");
    }
    Ok(())
}
