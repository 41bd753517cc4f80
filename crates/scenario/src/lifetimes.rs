//! Which flows there are, and when each starts and stops: the same in every world.
//!
//! A group has `count` flows from its `start`; a timed change of its count starts further flows or
//! stops the newest ones. Flows that a scenario starts at the same instant would move in step, which
//! no real ones do: each start is shifted by a uniformly drawn part of the group's base RTT, or of
//! the interval of its datagrams, from the seed.

use quell_units::{Random, Time};

use crate::{Group, Scenario, Setting};

/// The time in which one flow lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Index into [`Scenario::groups`].
    pub group: usize,
    /// Index within the group, in the order of starting.
    pub flow: usize,
    /// The time at which the flow starts.
    pub start: Time,
    /// The time at which the flow stops; `None` is the end of the run.
    pub stop: Option<Time>,
}

/// Every flow of a run with `seed`, group by group in the order of starting. A flow that would
/// start only after the end, or stop before its start, is left out.
pub fn lifetimes(scenario: &Scenario, seed: u64) -> Vec<Lifetime> {
    let mut all = Vec::new();
    for (index, group) in scenario.groups.iter().enumerate() {
        all.extend(group_flows(scenario, index, group, seed));
    }
    all
}

fn group_flows(scenario: &Scenario, index: usize, group: &Group, seed: u64) -> Vec<Lifetime> {
    let mut random = Random::new(seed, &format!("start.{}", group.name));
    let shift = match group.app.datagrams() {
        Some(datagrams) => datagrams.interval.mean,
        None => group.rtt,
    };
    let end = group.stop.unwrap_or(Time::MAX).min(scenario.run.duration);
    let mut flows: Vec<Lifetime> = Vec::new();
    let mut living: Vec<usize> = Vec::new();
    for (at, count) in counts(scenario, index, group) {
        while living.len() > count {
            // Newest first.
            let newest = living.pop().expect("more than count are living");
            flows[newest].stop = Some(at);
        }
        while living.len() < count {
            living.push(flows.len());
            flows.push(Lifetime {
                group: index,
                flow: flows.len(),
                start: at + Time::from_nanos(random.below(shift.as_nanos())),
                stop: group.stop,
            });
        }
    }
    flows.retain(|flow| flow.start < flow.stop.unwrap_or(end).min(end));
    for (number, flow) in flows.iter_mut().enumerate() {
        flow.flow = number;
    }
    flows
}

/// The number of flows from each time on. Changes before the group's start set what it starts with.
fn counts(scenario: &Scenario, index: usize, group: &Group) -> Vec<(Time, usize)> {
    let mut counts = vec![(group.start, group.count as usize)];
    for change in &scenario.changes {
        for setting in &change.set {
            match *setting {
                Setting::Count { group, count } if group == index => {
                    if change.time <= counts[0].0 {
                        counts[0].1 = count as usize;
                    } else {
                        counts.push((change.time, count as usize));
                    }
                }
                _ => {}
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(group: &str, changes: &[(&str, u32)]) -> Scenario {
        let at: String = changes
            .iter()
            .map(|(time, count)| {
                format!("[[at]]\ntime = \"{time}\"\nset = {{ \"group.g.count\" = {count} }}\n")
            })
            .collect();
        let text = format!(
            "schema = 1\nname = \"t\"\n[link]\nrate = \"10mbit\"\nqueue = {{ kind = \"fifo\" }}\n\
             [[group]]\nname = \"g\"\nrtt = \"10ms\"\napp = {{ kind = \"bulk\" }}\n{group}\n\
             {at}[run]\nduration = \"60s\"\n"
        );
        Scenario::parse(&text).unwrap()
    }

    /// The lifetimes of the first group: the start, rounded down to seconds, and the stop.
    fn of(scenario: &Scenario) -> Vec<(u64, Option<u64>)> {
        let seconds = |time: Time| time.as_nanos() / 1_000_000_000;
        let flows = lifetimes(scenario, 1);
        assert!(flows.iter().enumerate().all(|(i, flow)| flow.flow == i));
        flows
            .iter()
            .map(|flow| (seconds(flow.start), flow.stop.map(seconds)))
            .collect()
    }

    #[test]
    fn flows_stop_newest_first() {
        let changes = [("10s", 4), ("20s", 1), ("30s", 2)];
        assert_eq!(
            of(&scenario("count = 2", &changes)),
            [
                (0, None),
                (0, Some(20)),
                (10, Some(20)),
                (10, Some(20)),
                (30, None)
            ]
        );
    }

    #[test]
    fn a_change_before_the_start_sets_what_the_group_starts_with() {
        let group = "count = 1\nstart = \"15s\"\nstop = \"40s\"";
        assert_eq!(
            of(&scenario(group, &[("10s", 3), ("30s", 2)])),
            [(15, Some(40)), (15, Some(40)), (15, Some(30))]
        );
    }

    #[test]
    fn starts_are_spread_over_one_rtt_by_the_seed() {
        let scenario = scenario("count = 50", &[]);
        let starts = |seed| -> Vec<Time> {
            let flows = lifetimes(&scenario, seed);
            flows.iter().map(|flow| flow.start).collect()
        };
        assert_eq!(starts(1), starts(1));
        assert_ne!(starts(1), starts(2));
        assert!(starts(1).iter().all(|&start| start < Time::from_millis(10)));
        assert!(starts(1).iter().any(|&start| start > Time::from_millis(5)));
    }
}
