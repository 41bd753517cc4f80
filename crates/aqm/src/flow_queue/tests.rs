//! The store against a slow model of RFC 8290 section 4, and the properties of its hash and its slab.

use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;

type Queue = FlowQueue<TestPacket, u32>;

fn queue(buckets: u32, quantum: u64) -> Queue {
    Queue::new(buckets, Bytes::new(quantum), &mut Random::new(1, "queue"))
}

fn packet(id: u64, len: u64) -> TestPacket {
    TestPacket::new(id, len, Ecn::NotEct)
}

/// What a discipline without an AQM does.
fn serve(queue: &mut Queue) -> Option<TestPacket> {
    loop {
        let flow = queue.turn()?;
        if let Some(packet) = queue.flow(flow).1.pop() {
            queue.charge(flow, packet.len());
            return Some(packet);
        }
        queue.retire();
    }
}

/// The ids that leave, in their order.
fn served(queue: &mut Queue) -> Vec<u64> {
    std::iter::from_fn(|| serve(queue)).map(|p| p.id).collect()
}

/// RFC 8290 section 4.1.1 and 4.2 with queues that can be read at a glance.
#[derive(Default)]
struct Model {
    flows: BTreeMap<u32, (VecDeque<TestPacket>, i64)>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
}

impl Model {
    fn push(&mut self, flow: u32, packet: TestPacket) {
        let (packets, credits) = self.flows.entry(flow).or_default();
        packets.push_back(packet);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            *credits = self.quantum;
            self.new.push_back(flow);
        }
    }
    fn serve(&mut self) -> Option<TestPacket> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new {
                &mut self.new
            } else {
                &mut self.old
            };
            let flow = *list.front()?;
            let (packets, credits) = self.flows.entry(flow).or_default();
            if *credits <= 0 {
                *credits += self.quantum;
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            match packets.pop_front() {
                Some(packet) => {
                    *credits -= packet.len as i64;
                    return Some(packet);
                }
                None => {
                    list.pop_front();
                    if from_new && !self.old.is_empty() {
                        self.old.push_back(flow);
                    }
                }
            }
        }
    }
    fn fattest(&self) -> u32 {
        let bytes = |packets: &VecDeque<TestPacket>| packets.iter().map(|p| p.len).sum::<u64>();
        let most = self.flows.values().map(|f| bytes(&f.0)).max().unwrap_or(0);
        let first = self.flows.iter().find(|(_, f)| bytes(&f.0) == most);
        first.filter(|_| most > 0).map_or(0, |(flow, _)| *flow)
    }
}

#[derive(Debug, Clone)]
enum Operation {
    Push { flow: u32, len: u64 },
    Serve,
    DropFromFattest,
    Quantum(u64),
    Reset,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (0..6_u32, prop_oneof![Just(40_u64), Just(1_500), 1..3_000_u64])
            .prop_map(|(flow, len)| Operation::Push { flow, len }),
        7 => Just(Operation::Serve),
        1 => Just(Operation::DropFromFattest),
        1 => prop_oneof![Just(300_u64), Just(1_514), Just(1)].prop_map(Operation::Quantum),
        1 => Just(Operation::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_serves_what_the_rfc_says(operations in prop::collection::vec(operation(), 1..300)) {
        let mut queue = queue(6, 1_514);
        let mut model = Model { quantum: 1_514, ..Model::default() };
        let mut id = 0;
        for operation in operations {
            match operation {
                Operation::Push { flow, len } => {
                    queue.push(FlowId(flow), packet(id, len));
                    model.push(flow, packet(id, len));
                    id += 1;
                }
                Operation::Serve => prop_assert_eq!(serve(&mut queue), model.serve()),
                Operation::DropFromFattest => {
                    let fattest = queue.fattest();
                    prop_assert_eq!(fattest.0, model.fattest());
                    let dropped = model.flows.entry(fattest.0).or_default().0.pop_front();
                    prop_assert_eq!(queue.flow(fattest).1.pop(), dropped);
                }
                Operation::Quantum(bytes) => {
                    queue.set_quantum(Bytes::new(bytes));
                    model.quantum = bytes as i64;
                }
                Operation::Reset => {
                    let mut taken = Vec::new();
                    queue.reset(|packet| taken.push(packet));
                    let all = model.flows.values_mut().flat_map(|f| f.0.drain(..));
                    prop_assert_eq!(taken, all.collect::<Vec<_>>());
                    model.new.clear();
                    model.old.clear();
                }
            }
            let inside: Vec<&TestPacket> = model.flows.values().flat_map(|f| &f.0).collect();
            prop_assert_eq!(queue.backlog().packets, inside.len() as u64);
            prop_assert_eq!(queue.backlog().bytes.get(), inside.iter().map(|p| p.len).sum::<u64>());
            prop_assert_eq!(queue.memory().get(), inside.iter().map(|p| p.len + 256).sum::<u64>());
            for (flow, (packets, _)) in &model.flows {
                let bytes = packets.iter().map(|p| p.len).sum::<u64>();
                prop_assert_eq!(queue.backlog_of(FlowId(*flow)).get(), bytes);
            }
            prop_assert_eq!(queue.active(), (model.new.len() as u32, model.old.len() as u32));
        }
    }
}

#[test]
fn a_new_flow_goes_before_old_ones_once() {
    let mut queue = queue(8, 1_500);
    for id in 0..4 {
        queue.push(FlowId(1), packet(id, 1_500));
    }
    // Flow 1 uses its first quantum up and becomes old.
    assert_eq!(serve(&mut queue).map(|p| p.id), Some(0));
    queue.push(FlowId(2), packet(10, 100));
    assert_eq!(serve(&mut queue).map(|p| p.id), Some(10));
    // Flow 2 is empty now. Refilled in time it is still new and goes first, as long as its quantum lasts …
    queue.push(FlowId(2), packet(11, 1_400));
    assert_eq!(serve(&mut queue).map(|p| p.id), Some(11));
    // … and then it waits for its turn among the old flows.
    queue.push(FlowId(2), packet(12, 100));
    assert_eq!(served(&mut queue), [1, 12, 2, 3]);
}

#[test]
fn an_empty_new_flow_passes_through_the_old_ones() {
    // RFC 8290 section 4.2: otherwise a flow could refill between its turns and be new for ever.
    let mut queue = queue(8, 1_500);
    for id in 0..3 {
        queue.push(FlowId(1), packet(id, 1_500));
    }
    queue.push(FlowId(2), packet(10, 100));
    assert_eq!(serve(&mut queue).map(|p| p.id), Some(0));
    assert_eq!(serve(&mut queue).map(|p| p.id), Some(10));
    // Asked for more, flow 2 has nothing: flow 1 is served and flow 2 is old now.
    assert_eq!(serve(&mut queue).map(|p| p.id), Some(1));
    assert_eq!(queue.active(), (0, 2));
    queue.push(FlowId(2), packet(11, 100));
    assert_eq!(queue.active(), (0, 2));
    assert_eq!(served(&mut queue), [11, 2]);
    assert_eq!(queue.active(), (0, 0));
}

#[test]
fn flows_share_in_bytes_whatever_their_packets_are() {
    let mut queue = queue(8, 1_514);
    for id in 0..2_000 {
        queue.push(FlowId(0), packet(id, 1_500));
        queue.push(FlowId(1), packet(id, 300));
        queue.push(FlowId(2), packet(id, 77));
    }
    let before: Vec<u64> = (0..3).map(|f| queue.backlog_of(FlowId(f)).get()).collect();
    for _ in 0..1_500 {
        serve(&mut queue);
    }
    let sent = |f: u32| before[f as usize] - queue.backlog_of(FlowId(f)).get();
    // DRR (Shreedhar and Varghese 1995): a round gives each a quantum, a packet more or less.
    for flow in 1..3 {
        assert!(
            sent(0).abs_diff(sent(flow)) <= 1_514 + 1_500,
            "{} {}",
            sent(0),
            sent(flow)
        );
    }
}

#[test]
fn keys_spread_over_the_buckets_as_at_random() {
    // Keys as a world may give them: small and in a row. n keys thrown at random into n buckets leave n/e of them empty, with a variance
    // of n·(1/e − 2/e²): 377 ± 10 here, and five standard deviations are allowed.
    for (seed, stride) in [(1, 1), (2, 1), (3, 1 << 32), (4, 977)] {
        let queue = Queue::new(1_024, Bytes::new(1_514), &mut Random::new(seed, "queue"));
        let mut hits = [0; 1_024];
        for key in 0..1_024_u64 {
            hits[queue.flow_of(key * stride).index()] += 1;
        }
        let empty = hits.iter().filter(|&&n| n == 0).count();
        assert!((327..=427).contains(&empty), "{empty}");
    }
    // The salt moves them.
    let other = Queue::new(1_024, Bytes::new(1_514), &mut Random::new(9, "queue"));
    let queue = queue(1_024, 1_514);
    let moved = (0..1_024).filter(|&key| queue.flow_of(key) != other.flow_of(key));
    assert!(moved.count() > 1_000);
    // One bucket takes all.
    assert!((0..99).all(|key| super::tests::queue(1, 1).flow_of(key) == FlowId(0)));
}

#[test]
fn slots_are_used_again() {
    let mut queue = queue(16, 1_514);
    for round in 0..50_u32 {
        for id in 0..40_u64 {
            queue.push(FlowId((id as u32 * 7 + round) % 16), packet(id, 100 + id));
        }
        assert_eq!(served(&mut queue).len(), 40);
    }
    assert_eq!(queue.store.slots.len(), 40);
}

#[test]
fn an_empty_store_is_small() {
    // What the head of the file states.
    assert_eq!(size_of::<Flow>() + size_of::<u64>(), 32);
}
