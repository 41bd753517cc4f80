use std::sync::{Arc, Mutex};

use super::*;
use crate::Error;
use pcap_parser::pcapng::{Block, parse_block_le};
use quell_measure::GroupId;
use quell_units::{Bytes, Ecn};

#[derive(Debug, Clone, Copy)]
struct Plain {
    id: u32,
    arrival: Time,
    length: u64,
}

impl Packet for Plain {
    fn len(&self) -> Bytes {
        Bytes::new(self.length)
    }
    fn memory(&self) -> Bytes {
        Bytes::new(2_304)
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }
    fn mark_ce(&mut self) {}
    fn flow(&self) -> u64 {
        0
    }
    fn value(&self) -> u16 {
        0
    }
    fn set_value(&mut self, _value: u16) {}
    fn arrival(&self) -> Time {
        self.arrival
    }
    fn set_arrival(&mut self, at: Time) {
        self.arrival = at;
    }
}

impl Labelled for Plain {
    fn group(&self) -> Option<GroupId> {
        Some(GroupId(0))
    }
}

impl Traceable for Plain {
    type Id = u32;
    fn id(&self) -> u32 {
        self.id
    }
}

/// Keeps everything.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Output for Kept {
    fn packet(&mut self, block: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(block);
    }
    fn failure(&mut self) -> Option<Error> {
        None
    }
    fn finish(&mut self) -> Result<u64, Error> {
        Ok(0)
    }
}

impl Kept {
    /// A line for each packet: interface, arrival in µs, comment.
    fn told(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap().clone();
        let mut rest = &bytes[..];
        let mut told = Vec::new();
        while !rest.is_empty() {
            let (left, block) = parse_block_le(rest).unwrap();
            rest = left;
            let Block::EnhancedPacket(packet) = block else {
                panic!("{block:?}");
            };
            let at = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let comment = String::from_utf8(packet.options[0].value.to_vec()).unwrap();
            let comment = comment.trim_end_matches('\0').to_owned();
            told.push(format!("{} {} {comment}", packet.if_id, at / 1_000));
        }
        told
    }
}

fn us(micros: u64) -> Time {
    Time::from_micros(micros)
}

fn plain(id: u32, arrival: u64) -> Plain {
    Plain {
        id,
        arrival: us(arrival),
        length: 1_500,
    }
}

/// Of one link.
fn trace(one_time: bool) -> (Trace<u32>, Kept) {
    trace_of(1, one_time)
}

/// With a dual queue in forward direction and a single one in reverse direction of each link.
fn trace_of(links: usize, one_time: bool) -> (Trace<u32>, Kept) {
    let kept = Kept::default();
    let queues: [&'static [&'static str]; 2] = [&["l4s", "classic"], &["queue"]];
    let trace = Trace::new(
        queues.repeat(links),
        vec!["g".to_owned()],
        Vec::new(),
        one_time,
        Box::new(kept.clone()),
    );
    (trace, kept)
}

fn enter(trace: &mut Trace<u32>, lane: usize, queue: QueueId, packet: Plain) {
    trace.enqueued(lane, queue, &packet, packet.arrival);
}

#[test]
fn packets_are_told_in_the_order_of_arrival_with_their_fate() {
    let (mut trace, kept) = trace(true);
    enter(&mut trace, 0, QueueId::CLASSIC, plain(1, 0));
    enter(&mut trace, 0, QueueId::L4S, plain(2, 10));
    trace.marked(0, &plain(2, 10), MarkReason::Coupled);
    trace.dequeued(0, &plain(2, 10), us(500));
    // The L4S packet has left, but the older one has not: nothing is told yet.
    assert!(kept.told().is_empty());
    // An acknowledgement in the other direction comes later than both.
    enter(&mut trace, 1, QueueId::SINGLE, plain(3, 600));
    trace.dequeued(1, &plain(3, 600), us(600));
    assert!(kept.told().is_empty());
    trace.dequeued(0, &plain(1, 0), us(1_234));
    let told = [
        "0 0 queue=classic sojourn_ms=1.234000 fate=delivered group=g",
        "0 10 queue=l4s sojourn_ms=0.490000 fate=marked:coupled group=g",
        "1 600 queue=queue sojourn_ms=0.000000 fate=delivered group=g",
    ];
    assert_eq!(kept.told(), told);
}

#[test]
fn every_fate_has_its_word() {
    let (mut trace, kept) = trace(true);
    let refused = Drop {
        queue: QueueId::CLASSIC,
        reason: DropReason::Limit,
        queued: false,
    };
    trace.dropped(0, &plain(1, 0), &refused, us(0));
    let aqm = Drop {
        reason: DropReason::Aqm,
        queued: true,
        ..refused
    };
    enter(&mut trace, 0, QueueId::CLASSIC, plain(2, 5));
    trace.dropped(0, &plain(2, 5), &aqm, us(7));
    // Marked on arrival, before it is accepted, beside an acknowledgement with the same number; and still there at the end.
    let acknowledgement = Plain {
        length: 52,
        ..plain(3, 8)
    };
    enter(&mut trace, 0, QueueId::CLASSIC, acknowledgement);
    trace.marked(0, &plain(3, 8), MarkReason::Aqm);
    enter(&mut trace, 0, QueueId::CLASSIC, plain(3, 8));
    enter(&mut trace, 0, QueueId::CLASSIC, plain(4, 9));
    trace.dequeued(0, &acknowledgement, us(9));
    trace.dequeued(0, &plain(3, 8), us(10));
    trace.end(us(20));
    let told = [
        "0 0 queue=classic sojourn_ms=0.000000 fate=dropped:limit group=g",
        "0 5 queue=classic sojourn_ms=0.002000 fate=dropped:aqm group=g",
        "0 8 queue=classic sojourn_ms=0.001000 fate=delivered group=g",
        "0 8 queue=classic sojourn_ms=0.002000 fate=marked:aqm group=g",
        "0 9 queue=classic sojourn_ms=0.011000 fate=queued group=g",
    ];
    assert_eq!(kept.told(), told);
}

#[test]
fn packets_of_one_instant_are_told_apart() {
    let (mut trace, kept) = trace(true);
    for id in 0..3 {
        enter(&mut trace, 0, QueueId::CLASSIC, plain(id, 5));
    }
    for (id, at) in [(2, 6), (0, 7), (1, 8)] {
        trace.dequeued(0, &plain(id, 5), us(at));
    }
    let sojourn = |told: &String| told.split([' ', '=']).nth(5).map(str::to_owned);
    let sojourns: Vec<String> = kept.told().iter().filter_map(sojourn).collect();
    assert_eq!(sojourns, ["0.002000", "0.003000", "0.001000"]);
}

#[test]
fn directions_with_their_own_time_wait_for_each_other() {
    let (mut trace, kept) = trace(false);
    enter(&mut trace, 0, QueueId::L4S, plain(1, 100));
    trace.dequeued(0, &plain(1, 100), us(200));
    // Something older may still come from the other side.
    assert!(kept.told().is_empty());
    enter(&mut trace, 1, QueueId::SINGLE, plain(2, 50));
    trace.dequeued(1, &plain(2, 50), us(60));
    assert_eq!(kept.told().len(), 1);
    trace.advance(1, us(100));
    let first: Vec<String> = kept
        .told()
        .iter()
        .map(|told| told[..5].to_owned())
        .collect();
    assert_eq!(first, ["1 50 ", "0 100"]);
}

#[test]
fn the_links_of_a_path_wait_for_each_other() {
    let (mut trace, kept) = trace_of(3, false);
    let pass = |trace: &mut Trace<u32>, lane, id, at: u64| {
        let queue = if lane % 2 == 0 {
            QueueId::CLASSIC
        } else {
            QueueId::SINGLE
        };
        enter(trace, lane, queue, plain(id, at));
        trace.dequeued(lane, &plain(id, at), us(at + 10));
    };
    // One packet crosses three links, another comes back over the last one.
    pass(&mut trace, 0, 1, 100);
    pass(&mut trace, 2, 1, 110);
    pass(&mut trace, 4, 1, 120);
    pass(&mut trace, 5, 2, 110);
    assert!(
        kept.told().is_empty(),
        "two directions have not come so far"
    );
    trace.advance(1, us(115));
    trace.advance(3, us(200));
    let told = |kept: &Kept| -> Vec<String> {
        let told = kept.told();
        told.iter().map(|told| told[..5].to_owned()).collect()
    };
    // At the same time the first lane goes first.
    assert_eq!(told(&kept), ["0 100", "2 110", "5 110"]);
    trace.advance(1, us(200));
    assert_eq!(told(&kept).len(), 3, "others have not come so far");
    trace.end(us(300));
    assert_eq!(told(&kept)[3..], ["4 120"]);
}

#[test]
fn a_packet_that_waits_for_ever_does_not_hold_all_others_in_memory() {
    let (mut trace, kept) = trace(true);
    enter(&mut trace, 0, QueueId::CLASSIC, plain(u32::MAX, 0));
    let all = 3 * MOST_KEPT as u32;
    for id in 1..=all {
        enter(&mut trace, 0, QueueId::L4S, plain(id, u64::from(id)));
        trace.dequeued(0, &plain(id, u64::from(id)), us(u64::from(id)));
        assert!(trace.lanes[0].line.len() <= MOST_KEPT);
    }
    trace.end(us(u64::from(all)));
    let told = kept.told();
    assert_eq!(told.len() as u32, all + 1);
    // Once each, and late only the one that waited.
    let late = told
        .iter()
        .position(|told| told.contains("fate=queued"))
        .unwrap();
    assert!(late >= 2 * MOST_KEPT, "{late}");
    let times = |told: &String| told.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    let others: Vec<u64> = told.iter().map(times).filter(|&at| at > 0).collect();
    assert!(others.is_sorted());
}

#[test]
fn a_header_finds_its_packet_whatever_was_announced_between() {
    let (mut trace, kept) = trace(true);
    for id in [7, 8] {
        trace.announce(0, id, Header::captured(&[id as u8; 8]));
    }
    for id in [8, 7] {
        enter(&mut trace, 0, QueueId::L4S, plain(id, 1));
        trace.dequeued(0, &plain(id, 1), us(2));
    }
    let bytes = kept.0.lock().unwrap().clone();
    let (rest, first) = parse_block_le(&bytes).unwrap();
    let (_, second) = parse_block_le(rest).unwrap();
    for (block, id) in [(first, 8), (second, 7)] {
        let Block::EnhancedPacket(packet) = block else {
            panic!("{block:?}");
        };
        assert_eq!((&packet.data[..8], packet.caplen), (&[id; 8][..], 8));
        assert_eq!(packet.origlen, 1_500);
    }
    assert!(trace.lanes[0].announced.is_empty());
}

/// Slot 7 has a packet that is lost between two links, and then another one, which a rule between them has changed from ECT(0) to ECT(1).
#[test]
fn the_header_of_a_lost_packet_goes_to_no_other_and_a_changed_code_is_shown() {
    let (mut trace, kept) = trace(false);
    for number in [1, 2] {
        let header = [0x45, 2, 0, 0, 0, number, 0, 0, 64, 17, 0, 0];
        trace.announce(0, 7, Header::captured(&header));
    }
    enter(&mut trace, 0, QueueId::L4S, plain(7, 1));
    trace.end(us(2));
    let bytes = kept.0.lock().unwrap().clone();
    let Block::EnhancedPacket(packet) = parse_block_le(&bytes).unwrap().1 else {
        panic!("{bytes:?}");
    };
    assert_eq!(packet.data[..6], [0x45, 1, 0, 0, 0, 2]);
    assert!(trace.lanes[0].announced.is_empty());
}
