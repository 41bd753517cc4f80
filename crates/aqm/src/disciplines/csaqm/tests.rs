use super::*;
use crate::Qdisc as _;
use crate::observer::Drop;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Bytes;
use std::string::ToString;
use std::vec::Vec;

/// Ids of what was marked and what was dropped.
#[derive(Debug, Default)]
struct Log {
    marked: Vec<u64>,
    dropped: Vec<(u64, DropReason)>,
}

impl Observer<TestPacket> for Log {
    fn marked(&mut self, _queue: QueueId, packet: &TestPacket, _reason: MarkReason, _now: Time) {
        self.marked.push(packet.id);
    }
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
        self.dropped.push((packet.id, drop.reason));
    }
}

/// At 8 Mbit/s: a thousand bytes are a millisecond.
fn made(given: &[(&str, &str)]) -> Result<Csaqm<TestPacket>, ParameterError> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    settings.check()?;
    let link = Link {
        rate: Rate::from_mbps(8),
        mtu: Bytes::new(1_500),
    };
    Csaqm::new(settings, link, Random::new(1, "queue"))
}

/// Eight packets of a thousand bytes, worth 10 to 80, with all code points in turn; the threshold computed, and what then left.
fn run(given: &[(&str, &str)]) -> (Csaqm<TestPacket>, Log, Vec<u64>) {
    let given = [&[("variant", "b")], given].concat();
    let (mut queue, mut log, now) = (made(&given).unwrap(), Log::default(), Time::ZERO);
    for id in 0..8 {
        let mut packet = TestPacket::new(id, 1_000, Ecn::from_bits(id as u8 % 4));
        packet.value = 10 * (id as u16 + 1);
        queue.enqueue(packet, now, &mut log);
    }
    queue.law.measured.assert_consistent();
    queue.update(now);
    let left = core::iter::from_fn(|| queue.dequeue(now, &mut log).map(|packet| packet.id));
    let left = left.collect();
    (queue, log, left)
}

/// D is 5 packets: the three of the lowest value are signalled; of C_v·D = 4921 bytes with a virtual queue, four. Ids 0 and 4 cannot carry a
/// mark, 3 and 7 do.
#[test]
fn what_can_be_marked_is_marked_and_the_rest_dropped() {
    let value = DropReason::Value;
    for (given, marked, dropped) in [
        (&[("measure", "queue")][..], &[1, 2][..], &[(0, value)][..]),
        (&[("measure", "virtual")], &[1, 2], &[(0, value)]),
        (
            &[("measure", "queue"), ("ecn", "false")],
            &[],
            &[(0, value), (1, value), (2, value)],
        ),
    ] {
        let (queue, log, left) = run(given);
        assert_eq!(
            (&log.marked[..], &log.dropped[..]),
            (marked, dropped),
            "{given:?}"
        );
        let sent = (0..8).filter(|&id| !log.dropped.iter().any(|drop| drop.0 == id));
        assert!(left.into_iter().eq(sent), "in order");
        queue.law.measured.assert_consistent();
    }
}

/// What leaves takes its record along, sent or dropped; in a virtual queue only what is dropped does.
#[test]
fn measured_itself_the_queue_is_its_own_record() {
    let (queue, ..) = run(&[("measure", "queue")]);
    assert_eq!(queue.law.measured.bytes(), 0);
    let (queue, ..) = run(&[("measure", "virtual")]);
    assert_eq!(queue.law.measured.bytes(), 7_000);
    // Time alone empties it there, and nothing else here.
    let now = Time::from_secs(1);
    for (measure, left) in [("queue", 2_000), ("virtual", 0)] {
        let (mut queue, mut log) = (made(&[("measure", measure)]).unwrap(), Log::default());
        for id in 0..2 {
            let packet = TestPacket::new(id, 1_000, Ecn::NotEct);
            queue.enqueue(packet, Time::ZERO, &mut log);
        }
        queue.update(now);
        assert_eq!(queue.law.measured.bytes(), left, "{measure}");
        queue.drain(now, &mut log);
        assert_eq!(queue.law.measured.bytes(), 0);
        assert_eq!(
            log.dropped,
            [(0, DropReason::Drained), (1, DropReason::Drained)]
        );
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (given, message) in [
        (
            &[("serving_rate", "1.5")][..],
            "serving_rate = 1.5: must be a fraction from 0.00002 to 1",
        ),
        (
            &[("target", "300ms")],
            "target = 300ms: must be below vq_limit, which is 200ms: a virtual queue that never holds more than its target gives no signal",
        ),
        (
            &[("measure", "queue"), ("vq_limit", "1s")],
            "vq_limit = 1s: has an effect only with measure = \"virtual\"",
        ),
    ] {
        assert_eq!(made(given).unwrap_err().to_string(), message);
    }
    // Without a virtual queue there is no maximum to stay below.
    assert!(made(&[("measure", "queue"), ("target", "300ms")]).is_ok());
}
