//! Figures of flows, from samples taken by their hosts.
//!
//! The recorder says when the next round of samples is due ([`FlowRecorder::next_round`]: the end
//! of an interval or of a segment). The host passes one sample of each flow, then calls
//! [`FlowRecorder::close_round`] with the time at which it really took them. Rates use that time, so a
//! late host shifts a window and does not falsify a rate. A round after several ends closes them all,
//! and everything since the last round belongs to the first.
//!
//! Goodput is payload over the time in which a flow was alive: from its start to its stop, as far as
//! that lies in the window, even while its application had nothing to send. A window lists the flows
//! that were alive in it, in the order of their start. Memory grows with the number of flows, not with
//! time.

use quell_units::{Bytes, Time};

use crate::distribution::{Dist, Distribution};
use crate::label::{FlowId, GroupId};
use crate::queue::group_resolution;
use crate::rows::{FlowRow, bits_per_second};
use crate::schedule::Schedule;
use crate::timeline::{Segment, Span, Timeline, Use};

/// The state of a flow at one time, as its host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSample {
    /// Payload delivered to the application since the start of the flow.
    pub delivered: Bytes,
    /// Segments retransmitted since the start of the flow; `None` where its sender's TCP is not known.
    pub retransmitted: Option<u64>,
    /// Smoothed RTT, if the transport has one.
    pub rtt: Option<Time>,
    /// Congestion window, if the transport has one.
    pub congestion_window: Option<Bytes>,
}

impl Default for FlowSample {
    /// The ratio of a flow that has sent nothing, and so nothing again.
    fn default() -> Self {
        Self {
            delivered: Bytes::ZERO,
            retransmitted: Some(0),
            rtt: None,
            congestion_window: None,
        }
    }
}

/// Bytes of an [`RttTally`] without its distributions, where pointers have 64 bits: estimates of memory are the same on every
/// platform.
const TALLY: u64 = 160;

/// Collects the samples of all flows of a run.
#[derive(Debug, Clone)]
pub struct FlowRecorder {
    schedule: Schedule,
    flows: Vec<Flow>,
    groups: Vec<RttTally>,
    interval_start: Time,
    /// The time at which the open segment really started.
    segment_start: Time,
    rows: Vec<FlowRow>,
    phases: Vec<Vec<GroupFlows>>,
}

#[derive(Debug, Clone)]
struct Flow {
    group: GroupId,
    life: Span,
    last: FlowSample,
    at_interval: Totals,
    at_segment: Totals,
    /// Sum over the measured segments.
    whole: Part,
}

#[derive(Debug, Clone, Copy)]
struct Totals {
    delivered: u64,
    /// `None` as soon as a part of it is not known.
    retransmitted: Option<u64>,
}

/// A flow in one stretch of time.
#[derive(Debug, Clone, Copy)]
struct Part {
    totals: Totals,
    /// Time in which it was alive.
    alive: Time,
}

/// Smoothed RTTs in ns.
#[derive(Debug, Clone)]
struct RttTally {
    segment: Distribution,
    whole: Distribution,
}

/// The flows of one group in one stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupFlows {
    /// Goodput of each flow in bit/s: payload delivered to the application over the time in which the
    /// flow was alive.
    pub goodput_bps: Vec<f64>,
    /// Time in which each flow was alive, in seconds.
    pub alive_s: Vec<f64>,
    /// Retransmitted segments; `None` if those of a flow are not known.
    pub retransmitted: Option<u64>,
    /// Smoothed RTT in milliseconds, sampled each interval.
    pub rtt_ms: Option<Dist>,
}

/// The results of a flow recorder, by [`GroupId`].
#[derive(Debug, Clone, PartialEq)]
pub struct FlowResults {
    /// Figures from the end of the warm-up to the end of the run.
    pub whole: Vec<GroupFlows>,
    /// Each phase.
    pub phases: Vec<Vec<GroupFlows>>,
}

impl FlowRecorder {
    /// Memory of a recorder for this number of groups without their flows, in bytes.
    pub fn memory(groups: usize) -> u64 {
        let group = TALLY + 2 * group_resolution(groups).memory();
        groups as u64 * group
    }

    /// A recorder for `groups` groups, without flows yet. Without `interval` there are no rows and no RTTs.
    pub fn new(timeline: Timeline, interval: Option<Time>, groups: usize) -> Self {
        let empty = Distribution::new(group_resolution(groups));
        let tally = RttTally {
            segment: empty.clone(),
            whole: empty,
        };
        Self {
            schedule: Schedule::new(timeline, interval),
            flows: Vec::new(),
            groups: vec![tally; groups],
            interval_start: Time::ZERO,
            segment_start: Time::ZERO,
            rows: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Adds a flow of `group` that starts at `now`. Ids count up from 0.
    pub fn start(&mut self, group: GroupId, now: Time) -> FlowId {
        self.flows.push(Flow {
            group,
            life: Span {
                start: now,
                end: Time::MAX,
            },
            last: FlowSample::default(),
            at_interval: Totals::NONE,
            at_segment: Totals::NONE,
            whole: Part {
                totals: Totals::NONE,
                alive: Time::ZERO,
            },
        });
        FlowId(self.flows.len() as u32 - 1)
    }

    /// Ends `flow` at `now`; its last sample stays.
    pub fn stop(&mut self, flow: FlowId, now: Time) {
        if let Some(flow) = self.flows.get_mut(flow.index()) {
            flow.life.end = flow.life.end.min(now);
        }
    }

    /// Plans the life of `flow` anew; its figures stay.
    pub fn set_life(&mut self, flow: FlowId, start: Time, end: Time) {
        if let Some(flow) = self.flows.get_mut(flow.index()) {
            flow.life = Span { start, end };
        }
    }

    /// Takes a sample of `flow`. Only the last sample before the end of a round counts.
    pub fn sample(&mut self, flow: FlowId, sample: FlowSample) {
        if let Some(flow) = self.flows.get_mut(flow.index()) {
            flow.last = sample;
        }
    }

    /// When the next round of samples is due; `None` after the end.
    pub fn next_round(&self) -> Option<Time> {
        Some(self.schedule.next()).filter(|&at| at < Time::MAX)
    }

    /// Closes a round whose samples were taken at `now`. Does nothing before the round is due.
    pub fn close_round(&mut self, now: Time) {
        while let Some(due) = self.schedule.due(now) {
            // Several intervals missed by a late host are one row.
            if due.interval {
                self.close_interval(now);
            }
            if let Some(segment) = due.segment {
                self.close_segment(segment, now);
            }
        }
    }

    /// Takes the rows of the intervals that have ended.
    pub fn drain_rows(&mut self) -> impl Iterator<Item = FlowRow> + '_ {
        self.rows.drain(..)
    }

    /// Ends the run early, at `end`: the round that is due then is the last one. Rounds that have closed stay closed; an
    /// `end` after the planned one changes nothing.
    pub fn end_at(&mut self, end: Time) {
        self.schedule.end_at(end);
    }

    /// The results of a run that ended at `end`, its planned end or earlier, after the samples of a last round.
    pub fn finish(&mut self, end: Time) -> FlowResults {
        self.end_at(end);
        self.close_round(end);
        let span = self.schedule.whole();
        let whole = self.figures(span, |flow| flow.whole, |group| &group.whole);
        FlowResults {
            whole,
            phases: std::mem::take(&mut self.phases),
        }
    }

    fn close_interval(&mut self, at: Time) {
        let length = at - self.interval_start;
        if length.is_zero() {
            return;
        }
        let start = std::mem::replace(&mut self.interval_start, at);
        let span = Span { start, end: at };
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if !flow.lives_in(span) {
                continue;
            }
            let delta = flow.totals().since(flow.at_interval);
            flow.at_interval = flow.totals();
            self.rows.push(FlowRow {
                time: at,
                length,
                group: flow.group,
                flow: FlowId(index as u32),
                delivered: Bytes::new(delta.delivered),
                rtt: flow.last.rtt,
                congestion_window: flow.last.congestion_window,
                retransmitted: delta.retransmitted,
            });
            // A stopped flow has no RTT.
            let rtt = flow.last.rtt.filter(|_| flow.life.end >= at);
            if let (Some(rtt), Some(group)) = (rtt, self.groups.get_mut(flow.group.index())) {
                group.segment.record(rtt.as_nanos());
            }
        }
    }

    fn close_segment(&mut self, segment: Segment, at: Time) {
        // Where hosts sample late, a segment really starts and ends a little after its time.
        let real = Span {
            start: std::mem::replace(&mut self.segment_start, at),
            end: at,
        };
        let measured = segment.counts_for != Use::Nothing;
        let part = |flow: &Flow| Part {
            totals: flow.totals().since(flow.at_segment),
            alive: flow.alive(segment.span, real),
        };
        if segment.counts_for == Use::Phase {
            let figures = self.figures(segment.span, part, |group| &group.segment);
            self.phases.push(figures);
        }
        for flow in &mut self.flows {
            let part = part(flow);
            flow.at_segment = flow.totals();
            if measured {
                flow.whole.add(part);
            }
        }
        for group in &mut self.groups {
            if measured {
                group.whole.merge(&group.segment);
            }
            group.segment.clear();
        }
    }

    fn figures(
        &self,
        span: Span,
        part: impl Fn(&Flow) -> Part,
        rtts: impl Fn(&RttTally) -> &Distribution,
    ) -> Vec<GroupFlows> {
        let mut groups: Vec<GroupFlows> = self
            .groups
            .iter()
            .map(|group| GroupFlows {
                goodput_bps: Vec::new(),
                alive_s: Vec::new(),
                retransmitted: Some(0),
                rtt_ms: rtts(group).dist(1e6),
            })
            .collect();
        for flow in self.flows.iter().filter(|flow| flow.lives_in(span)) {
            if let Some(group) = groups.get_mut(flow.group.index()) {
                let Part { totals, alive } = part(flow);
                let goodput = bits_per_second(totals.delivered, alive);
                group.goodput_bps.push(goodput);
                group.alive_s.push(alive.as_nanos() as f64 / 1e9);
                group.retransmitted = sum(group.retransmitted, totals.retransmitted);
            }
        }
        groups
    }
}

impl Flow {
    /// False for a stretch of length zero.
    fn lives_in(&self, span: Span) -> bool {
        let length = !span.length().is_zero();
        length && self.life.start < span.end && self.life.end > span.start
    }
    /// Time in which it was alive in the stretch `planned`, which really started and ended as in `real`.
    fn alive(&self, planned: Span, real: Span) -> Time {
        if !self.lives_in(planned) {
            return Time::ZERO;
        }
        let start = match self.life.start > planned.start {
            true => self.life.start.max(real.start),
            false => real.start,
        };
        let end = match self.life.end < planned.end {
            true => self.life.end.min(real.end),
            false => real.end,
        };
        // Saturates: a stretch that a late host sampled together with the one before has no time left.
        end - start
    }
    fn totals(&self) -> Totals {
        Totals {
            delivered: self.last.delivered.get(),
            retransmitted: self.last.retransmitted,
        }
    }
}

impl Part {
    fn add(&mut self, other: Self) {
        self.totals.delivered += other.totals.delivered;
        self.totals.retransmitted = sum(self.totals.retransmitted, other.totals.retransmitted);
        self.alive += other.alive;
    }
}

impl Totals {
    const NONE: Self = Self {
        delivered: 0,
        retransmitted: Some(0),
    };

    /// Never negative, even if a counter of a host decreased.
    fn since(self, earlier: Self) -> Self {
        let again = self.retransmitted.zip(earlier.retransmitted);
        Self {
            delivered: self.delivered.saturating_sub(earlier.delivered),
            retransmitted: again.map(|(now, earlier)| now.saturating_sub(earlier)),
        }
    }
}

/// Known only where both are.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? + other?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_memory_of_a_group_is_what_it_takes_and_not_much_more() {
        let taken = size_of::<RttTally>() as u64;
        assert!((taken..=taken + taken / 8).contains(&TALLY), "{taken}");
    }

    const GROUP: GroupId = GroupId(0);

    fn seconds(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    fn recorder(warmup: u64, changes: &[Time], end: u64) -> FlowRecorder {
        let timeline = Timeline::new(seconds(warmup), changes, Time::ZERO, seconds(end));
        FlowRecorder::new(timeline, Some(seconds(2)), 1)
    }

    fn sample(kilobytes: u64, retransmitted: u64, rtt_ms: u64) -> FlowSample {
        FlowSample {
            delivered: Bytes::new(kilobytes * 1_000),
            retransmitted: Some(retransmitted),
            rtt: Some(Time::from_millis(rtt_ms)),
            congestion_window: Some(Bytes::new(14_480)),
        }
    }

    #[test]
    fn goodput_is_what_arrived_within_exactly_the_measured_window() {
        let mut recorder = recorder(5, &[], 8);
        let flow = recorder.start(GROUP, Time::ZERO);
        let mut rounds = Vec::new();
        while let Some(now) = recorder.next_round() {
            // 1 MB/s during the warm-up, then 2 MB/s.
            let s = now.as_nanos() / 1_000_000_000;
            rounds.push(s);
            recorder.sample(flow, sample(1_000 * (s + s.saturating_sub(5)), s, 10 * s));
            recorder.close_round(now);
        }
        assert_eq!(rounds, [2, 4, 5, 6, 8]);
        let results = recorder.finish(seconds(8));
        let group = &results.whole[0];
        assert_eq!(
            (&group.goodput_bps[..], group.retransmitted),
            (&[16e6][..], Some(3))
        );
        // Of the intervals that end at 6 s and 8 s.
        assert_eq!(group.rtt_ms.unwrap().mean, 70.0);
        let rows: Vec<FlowRow> = recorder.drain_rows().collect();
        assert_eq!(rows.len(), 4);
        let row = (rows[2].goodput_bps(), rows[2].retransmitted);
        assert_eq!(row, (12e6, Some(2)));
        assert_eq!(rows[2].rtt, Some(Time::from_millis(60)));
    }

    /// A program's TCP is its own; beside a flow that is known the sum of both is not.
    #[test]
    fn what_is_not_known_of_a_flow_is_not_known_of_its_group() {
        let timeline = Timeline::new(seconds(2), &[seconds(4)], Time::ZERO, seconds(6));
        let mut recorder = FlowRecorder::new(timeline, Some(seconds(2)), 3);
        let flows = [0, 1, 1, 2].map(|group| recorder.start(GroupId(group), Time::ZERO));
        for s in [2, 4, 6] {
            recorder.sample(flows[0], sample(s, s, 10));
            recorder.sample(flows[1], sample(s, s, 10));
            let unknown = FlowSample {
                retransmitted: None,
                ..sample(s, 0, 10)
            };
            recorder.sample(flows[2], unknown);
            recorder.close_round(seconds(s));
        }
        let results = recorder.finish(seconds(6));
        let of = |groups: &[GroupFlows]| -> Vec<Option<u64>> {
            groups.iter().map(|group| group.retransmitted).collect()
        };
        // The last one was never sampled: it has sent nothing.
        assert_eq!(of(&results.whole), [Some(4), None, Some(0)]);
        assert_eq!(of(&results.phases[1]), [Some(2), None, Some(0)]);
        let rows: Vec<_> = recorder.drain_rows().map(|row| row.retransmitted).collect();
        assert_eq!(rows[4..8], [Some(2), Some(2), None, Some(0)]);
    }

    #[test]
    fn a_late_round_is_judged_by_its_real_length() {
        let mut recorder = recorder(4, &[], 8);
        let flow = recorder.start(GROUP, Time::ZERO);
        for (now, kilobytes) in [(2_000, 200), (4_500, 450), (6_000, 600), (8_500, 850)] {
            recorder.sample(flow, sample(kilobytes, 0, 10));
            recorder.close_round(Time::from_millis(now));
        }
        assert_eq!(recorder.finish(seconds(8)).whole[0].goodput_bps, [0.8e6]);
        assert!(recorder.drain_rows().all(|row| row.goodput_bps() == 0.8e6));
    }

    #[test]
    fn phases_list_the_flows_that_lived_in_them() {
        let mut recorder = recorder(0, &[seconds(4)], 8);
        let first = recorder.start(GROUP, Time::ZERO);
        for now in [2, 4] {
            recorder.sample(first, sample(500 * now, 0, 10));
            recorder.close_round(seconds(now));
        }
        recorder.stop(first, seconds(4));
        let second = recorder.start(GROUP, seconds(4));
        for now in [6, 8] {
            recorder.sample(second, sample(1_000 * (now - 4), 0, 20));
            recorder.close_round(seconds(now));
        }
        let results = recorder.finish(seconds(8));
        assert_eq!(results.phases[0][0].goodput_bps, [4e6]);
        assert_eq!(results.phases[1][0].goodput_bps, [8e6]);
        assert_eq!(results.phases[1][0].rtt_ms.unwrap().p1, 20.0);
        // Each of them over the 4 of 8 s in which it lived.
        assert_eq!(results.whole[0].goodput_bps, [4e6, 8e6]);
        assert_eq!(results.whole[0].alive_s, [4.0, 4.0]);
        assert_eq!(recorder.drain_rows().count(), 4);
    }

    #[test]
    fn a_flow_is_judged_over_the_time_in_which_it_was_alive() {
        // 1 MB/s each: from the start to the end, to 5 s, from 3 s on, between, and in the warm-up only.
        let lives = [(0, 99), (0, 5), (3, 99), (4, 6), (0, 2)];
        let mut recorder = recorder(2, &[seconds(6)], 8);
        for (start, stop) in lives {
            let flow = recorder.start(GROUP, seconds(start));
            recorder.stop(flow, seconds(stop));
        }
        while let Some(now) = recorder.next_round() {
            for (id, (start, stop)) in (0..).zip(lives) {
                let alive = now.min(seconds(stop)) - seconds(start);
                let kilobytes = alive.as_nanos() / 1_000_000;
                recorder.sample(FlowId(id), sample(kilobytes, 0, 10));
            }
            recorder.close_round(now);
        }
        let results = recorder.finish(seconds(8));
        for (figures, alive) in [
            (&results.whole, &[6.0, 3.0, 5.0, 2.0][..]),
            (&results.phases[0], &[4.0, 3.0, 3.0, 2.0]),
            (&results.phases[1], &[2.0, 2.0]),
        ] {
            assert_eq!(figures[0].alive_s, alive);
            assert!(figures[0].goodput_bps.iter().all(|rate| *rate == 8e6));
        }
    }

    #[test]
    fn a_run_that_ends_early_has_no_row_and_no_round_after_its_end() {
        let mut recorder = recorder(2, &[], 60);
        let flow = recorder.start(GROUP, Time::ZERO);
        recorder.sample(flow, sample(250, 0, 10));
        recorder.close_round(seconds(2));
        recorder.end_at(seconds(5));
        let mut rounds = Vec::new();
        while let Some(now) = recorder.next_round() {
            rounds.push(now);
            let millis = now.as_nanos() / 1_000_000;
            recorder.sample(flow, sample(millis / 8, 0, 10));
            recorder.close_round(now);
        }
        assert_eq!(rounds, [seconds(4), seconds(5)]);
        let results = recorder.finish(seconds(5));
        assert_eq!(results.whole[0].alive_s, [3.0]);
        let last = recorder.drain_rows().last().unwrap();
        assert_eq!((last.time, last.length), (seconds(5), seconds(1)));
        assert_eq!(last.delivered, Bytes::new(125_000));
        // In the warm-up nothing is measured.
        let mut early = self::recorder(2, &[], 60);
        early.start(GROUP, Time::ZERO);
        let whole = &early.finish(seconds(1)).whole[0];
        assert!(whole.goodput_bps.is_empty() && whole.alive_s.is_empty());
    }

    #[test]
    fn a_run_that_stops_early_reports_what_it_has() {
        let mut recorder = recorder(2, &[], 60);
        let flow = recorder.start(GROUP, Time::ZERO);
        recorder.close_round(seconds(2));
        recorder.sample(flow, sample(125, 0, 10));
        let results = recorder.finish(seconds(3));
        assert_eq!(results.whole[0].goodput_bps, [1e6]);
        assert_eq!(recorder.next_round(), None);
        assert_eq!(results.whole[0].rtt_ms.unwrap().mean, 10.0);
    }
}
