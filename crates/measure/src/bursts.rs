//! Bursts of drops: how many packets, and packets of how many flows, a full queue drops at once.
//!
//! After the first drop the windows keep growing for one more RTT, because no sender can know
//! earlier. So a burst begins with a drop at t and contains every drop in [t, t + base RTT + q/R): one
//! RTT *including* the queue q that the drop found. A window of the base RTT alone would cut most
//! bursts of a full queue in two.
//!
//! A sender detects a loss only when later segments have arrived, somewhat after that RTT, so the
//! losses of one overflow may end in a second, small burst. Bursts that are less than an RTT apart are
//! one *event*: all losses of one overflow.
//!
//! Sources: GSP slides (IETF 89, "simultaneous drops"); the fraction of flows that lose a packet in
//! a congestion event is called the "degree of loss synchronisation" in the literature. Deviation: q
//! counts the IP bytes that wait, without the packet in service.

use std::collections::BTreeSet;

use quell_aqm::{Drop, Observer, Packet, QueueId};
use quell_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// Groups the drops of a queue, or of the queues of a dual one together, into bursts.
#[derive(Debug, Clone)]
pub struct BurstRecorder {
    base_rtt: Time,
    rate: Rate,
    warmup: Time,
    backlog: u64,
    current: Option<Event>,
    bursts: Bursts,
}

/// An event that has not ended.
#[derive(Debug, Clone)]
struct Event {
    start: Time,
    /// When it ends unless there is another drop.
    end: Time,
    /// The bursts that have ended.
    bursts: Bursts,
    burst: Burst,
}

/// A burst that has not ended.
#[derive(Debug, Clone)]
struct Burst {
    end: Time,
    drops: u64,
    /// Flows that have lost a packet.
    flows: BTreeSet<u64>,
}

/// Counters of the events that began after the warm-up and have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bursts {
    /// Events.
    pub events: u64,
    /// Bursts.
    pub count: u64,
    /// Drops in them.
    pub drops: u64,
    /// Flows that lost a packet, summed over the bursts.
    pub flows: u64,
    /// Bursts of a single drop.
    pub single: u64,
    /// Drops in the largest burst.
    pub largest: u64,
}

impl Bursts {
    /// H: mean number of flows that lose a packet in a burst; `None` without bursts.
    pub fn mean_flows(&self) -> Option<f64> {
        (self.count > 0).then(|| self.flows as f64 / self.count as f64)
    }
    /// S = H/N: mean share of `flows` flows that lose a packet in a burst; `None` without bursts.
    pub fn synchronisation(&self, flows: u64) -> Option<f64> {
        Some(self.mean_flows()? / flows.max(1) as f64)
    }
    fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.count += other.count;
        self.drops += other.drops;
        self.flows += other.flows;
        self.single += other.single;
        self.largest = self.largest.max(other.largest);
    }
}

/// Mean time between two drops of one flow, N·time/drops, in seconds; `None` without drops.
pub fn drop_interval_s(flows: u64, time: Time, drops: u64) -> Option<f64> {
    (drops > 0).then(|| flows as f64 * (time.as_nanos() as f64 / 1e9) / drops as f64)
}

impl BurstRecorder {
    /// A recorder for an empty queue in front of a link of `rate`, and flows with this base RTT. Events that begin
    /// before `warmup` do not count.
    pub fn new(base_rtt: Time, rate: Rate, warmup: Time) -> Self {
        Self {
            base_rtt,
            rate,
            warmup,
            backlog: 0,
            current: None,
            bursts: Bursts::default(),
        }
    }

    /// The counters of every event that has ended by `now`.
    pub fn finish(&mut self, now: Time) -> Bursts {
        self.close_if_over(now);
        self.bursts
    }

    fn close_if_over(&mut self, now: Time) {
        if let Some(event) = self.current.take_if(|event| event.end <= now)
            && event.start >= self.warmup
        {
            self.bursts.add(&event.all());
        }
    }
}

impl Event {
    fn new(now: Time) -> Self {
        Self {
            start: now,
            end: now,
            bursts: Bursts::default(),
            burst: Burst::new(now),
        }
    }
    fn all(&self) -> Bursts {
        let mut all = self.bursts;
        all.events = 1;
        all.add(&self.burst.counted());
        all
    }
    /// A drop at `now`, one RTT before `end`.
    fn add(&mut self, flow: u64, now: Time, end: Time) {
        self.end = end;
        if now >= self.burst.end {
            if self.burst.drops > 0 {
                self.bursts.add(&self.burst.counted());
            }
            self.burst = Burst::new(end);
        }
        self.burst.drops += 1;
        self.burst.flows.insert(flow);
    }
}

impl Burst {
    fn new(end: Time) -> Self {
        Self {
            end,
            drops: 0,
            flows: BTreeSet::new(),
        }
    }
    fn counted(&self) -> Bursts {
        Bursts {
            events: 0,
            count: 1,
            drops: self.drops,
            flows: self.flows.len() as u64,
            single: u64::from(self.drops == 1),
            largest: self.drops,
        }
    }
}

impl<P: Packet> Observer<P> for BurstRecorder {
    fn enqueued(&mut self, _queue: QueueId, packet: &P, _now: Time) {
        self.backlog += packet.len().get();
    }
    fn dequeued(&mut self, _queue: QueueId, packet: &P, _now: Time) {
        self.backlog = self.backlog.saturating_sub(packet.len().get());
    }
    fn dropped(&mut self, packet: P, drop: Drop, now: Time) {
        if drop.queued {
            self.backlog = self.backlog.saturating_sub(packet.len().get());
        }
        self.close_if_over(now);
        let queueing = self.rate.time_for(Bytes::new(self.backlog));
        let end = now + self.base_rtt + queueing;
        let event = self.current.get_or_insert_with(|| Event::new(now));
        event.add(packet.flow(), now, end);
    }
    fn rate_changed(&mut self, rate: Rate, _now: Time) {
        self.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_aqm::DropReason;
    use quell_units::Ecn;

    struct Of(u64);

    impl Packet for Of {
        fn len(&self) -> Bytes {
            Bytes::new(1_000)
        }
        fn memory(&self) -> Bytes {
            self.len()
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark_ce(&mut self) {}
        fn flow(&self) -> u64 {
            self.0
        }
        fn value(&self) -> u16 {
            0
        }
        fn set_value(&mut self, _value: u16) {}
        fn arrival(&self) -> Time {
            Time::ZERO
        }
        fn set_arrival(&mut self, _at: Time) {}
    }

    fn drop_of(recorder: &mut BurstRecorder, flow: u64, queued: bool, at_ms: u64) {
        let drop = Drop {
            queue: QueueId::SINGLE,
            reason: DropReason::Limit,
            queued,
        };
        recorder.dropped(Of(flow), drop, Time::from_millis(at_ms));
    }

    /// 100 ms, 8 Mbit/s: each packet of 1 000 bytes that waits adds 1 ms.
    fn recorder(waiting: u64) -> BurstRecorder {
        let mut recorder =
            BurstRecorder::new(Time::from_millis(100), Rate::from_mbps(8), Time::ZERO);
        for _ in 0..waiting {
            recorder.enqueued(QueueId::SINGLE, &Of(0), Time::ZERO);
        }
        recorder
    }

    #[test]
    fn a_burst_lasts_one_rtt_with_the_queue_that_its_first_drop_found() {
        let mut recorder = recorder(31);
        recorder.dequeued(QueueId::SINGLE, &Of(0), Time::ZERO);
        // 100 ms + 30 ms: 1 029 ms is inside, 1 030 ms begins the next, whatever came between. Both
        // are one event.
        for (flow, at) in [(1, 900), (2, 950), (1, 1_029), (3, 1_030)] {
            drop_of(&mut recorder, flow, false, at);
        }
        let expected = Bursts {
            events: 1,
            count: 2,
            drops: 4,
            flows: 3,
            single: 1,
            largest: 3,
        };
        assert_eq!(recorder.finish(Time::from_secs(2)), expected);
        assert_eq!(expected.mean_flows(), Some(1.5));
        assert_eq!(expected.synchronisation(10), Some(0.15));
    }

    #[test]
    fn an_rtt_of_silence_ends_an_event() {
        let mut recorder = recorder(30);
        // 229 ms is 129 ms after the last drop, 359 ms is 130 ms after it.
        for at in [0, 100, 229, 359] {
            drop_of(&mut recorder, 1, false, at);
        }
        let bursts = recorder.finish(Time::from_secs(2));
        assert_eq!((bursts.events, bursts.count, bursts.drops), (2, 3, 4));
    }

    #[test]
    fn a_rate_and_a_drop_from_the_queue_change_the_window_that_follows() {
        let mut recorder = recorder(30);
        Observer::<Of>::rate_changed(&mut recorder, Rate::from_mbps(16), Time::ZERO);
        // 29 packets are left: 100 ms + 14.5 ms.
        for at in [1_000, 1_114, 1_115] {
            drop_of(&mut recorder, 1, at == 1_000, at);
        }
        assert_eq!(recorder.finish(Time::from_secs(2)).count, 2);
    }

    #[test]
    fn events_of_the_warm_up_and_at_the_end_do_not_count() {
        let mut recorder = BurstRecorder::new(
            Time::from_millis(100),
            Rate::from_mbps(8),
            Time::from_secs(1),
        );
        // The first began before the warm-up ended, and so does not count at all, with its second
        // burst; the last might go on.
        for at in [950, 1_049, 1_050, 1_500, 1_950] {
            drop_of(&mut recorder, 1, false, at);
        }
        let bursts = recorder.finish(Time::from_secs(2));
        assert_eq!((bursts.events, bursts.count, bursts.drops), (1, 1, 1));
        assert_eq!(Bursts::default().mean_flows(), None);
    }

    #[test]
    fn the_interval_of_a_flow_is_that_of_all_times_their_number() {
        // E2 of the slides: 67 drops of 10 flows in 30 s are one per flow in 4.48 s.
        let interval = drop_interval_s(10, Time::from_secs(30), 67).unwrap();
        assert!((interval - 4.48).abs() < 0.005);
        assert_eq!(drop_interval_s(10, Time::from_secs(30), 0), None);
    }
}
