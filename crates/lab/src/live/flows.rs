//! From the hosts' samples to the figures of flows.
//!
//! Both hosts sample all their flows at the same ticks, each a little late by its own wake-up. A
//! round ends when its tick lies half an interval back: by then both have sampled, and the next
//! tick's samples have not begun. It is judged by the time of its latest sample.

use std::sync::mpsc::Receiver;

use quell_app::Recorded;
use quell_hosts::traffic::Sample;
use quell_measure::{FlowId, FlowRecorder, FlowResults, FlowRow, FlowSample, GroupId};
use quell_scenario::Lifetime;
use quell_scenario::contract::EventRow;
use quell_scenario::figures::flow_recorder;
use quell_units::{Bytes, Time};

use super::plan::Plan;

/// Collects samples and ends rounds.
#[derive(Debug)]
pub(super) struct Flows {
    recorder: FlowRecorder,
    /// Id of the first flow of each group, and the payload of its full segments in bytes.
    first: Vec<(u32, u64)>,
    /// Samples that belong to a later round.
    held: Vec<Sample>,
    patience: Time,
    ends: Time,
}

impl Flows {
    pub(super) fn new(plan: &Plan) -> Self {
        let recorder = flow_recorder(plan.scenario(), &plan.timeline, &plan.lifetimes);
        let groups = plan.scenario().groups.iter();
        let mut first: Vec<_> = groups
            .map(|group| (0, group.full_payload().get()))
            .collect();
        for (id, lifetime) in (0..).zip(&plan.lifetimes) {
            if lifetime.flow == 0 {
                first[lifetime.group].0 = id;
            }
        }
        Self {
            recorder,
            first,
            held: Vec::new(),
            patience: plan.interval / 2,
            ends: plan.duration,
        }
    }

    /// An event of an application, as a row.
    pub(super) fn event_row(&self, group: usize, flow: usize, recorded: Recorded) -> EventRow {
        EventRow {
            group: GroupId(group as u32),
            flow: FlowId(self.first[group].0 + flow as u32),
            event: recorded.event,
            repairs: recorded.repairs,
        }
    }

    /// From now on flows live so; they are those that the run began with.
    pub(super) fn replan(&mut self, lives: &[Lifetime]) {
        for (id, life) in (0..).map(FlowId).zip(lives) {
            let end = life.stop.unwrap_or(Time::MAX);
            self.recorder.set_life(id, life.start, end);
        }
    }

    /// The run ends at `end`: the round that is due then is the last one.
    pub(super) fn end_at(&mut self, end: Time) {
        self.ends = end;
        self.recorder.end_at(end);
    }

    /// Takes what has come in, and ends the rounds whose samples are complete by `now`.
    pub(super) fn take(&mut self, samples: &Receiver<Sample>, now: Time) {
        self.held.extend(samples.try_iter());
        while let Some(due) = self
            .recorder
            .next_round()
            .filter(|&due| due + self.patience <= now)
        {
            // Nothing follows the last round, however late a host takes its samples.
            let until = match due < self.ends {
                true => due + self.patience,
                false => Time::MAX,
            };
            let mut latest = due;
            let recorder = &mut self.recorder;
            let first = &self.first;
            self.held.retain(|sample| {
                let of_this_round = sample.at < until;
                if of_this_round {
                    latest = latest.max(sample.at);
                    let (first, payload) = first[sample.group];
                    let id = FlowId(first + sample.flow as u32);
                    recorder.sample(id, flow_sample(sample, payload));
                }
                !of_this_round
            });
            self.recorder.close_round(latest);
        }
    }

    pub(super) fn drain_rows(&mut self) -> impl Iterator<Item = FlowRow> + '_ {
        self.recorder.drain_rows()
    }

    /// Ends the recording: the run ended at `ended`, and both hosts have sent their last samples.
    pub(super) fn finish(&mut self, samples: &Receiver<Sample>, ended: Time) -> FlowResults {
        self.end_at(ended);
        self.take(samples, Time::MAX);
        self.recorder.finish(ended)
    }
}

/// `payload` is that of a full segment, in bytes.
fn flow_sample(sample: &Sample, payload: u64) -> FlowSample {
    FlowSample {
        delivered: sample.delivered,
        retransmitted: sample.retransmitted,
        rtt: sample.rtt,
        congestion_window: sample.cwnd.map(|segments| Bytes::new(segments * payload)),
    }
}
