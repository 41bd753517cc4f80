//! Each direction of the link by itself, with what it loses of the packets that open connections and of those that acknowledge
//! (RFC 7928 section 9.2: they are small, and their loss costs an application most).
//!
//! A group counts where its data goes. So what else is in the queues of a direction is the way back of the groups of the other one: ACKs,
//! and SYN-ACKs. A result has no counts of SYNs, so they come from the log of packets ([`crate::characterize::packet_log`]), SYN-ACKs with them.

use quell_aqm::observer::Drop;
use quell_measure::{Direction, Figures, GroupSummary, Histograms, QueueSummary};
use quell_sim::Packet;
use quell_tcp::Flags;
use quell_units::Time;

use crate::characterize::figures::{Named, pooled, quantile};
use crate::characterize::run_figures::{delivered, of_queues};

/// Figures of both directions, by name, where both have a rate. `back` names the groups whose data goes in the reverse one.
pub(crate) fn of_directions(
    figures: &Figures,
    histograms: &Histograms,
    measured: f64,
    back: &[String],
) -> Vec<(String, Named)> {
    let Some(reverse) = figures.link.reverse.filter(|_| figures.links.is_empty()) else {
        return Vec::new();
    };
    let used = [figures.link.utilisation, reverse.utilisation];
    let all = Direction::BOTH.into_iter().zip(used);
    all.map(|(direction, utilisation)| {
        let is_back = direction == Direction::Reverse;
        let groups = figures.groups.iter();
        let groups: Vec<&GroupSummary> = groups
            .filter(|group| back.contains(&group.name) == is_back)
            .collect();
        let queues = figures.queues.iter();
        let queues: Vec<&QueueSummary> = queues.filter(|one| one.direction == direction).collect();
        let mut named = of_queues(queues.iter().copied());
        named.insert("utilisation".to_owned(), utilisation);
        let goodput = groups.iter().map(|group| delivered(group, measured));
        named.insert("goodput_bps".to_owned(), goodput.sum());
        let delays = histograms.queues.iter();
        let delays = delays.filter(|one| one.direction == direction);
        let delays = pooled(delays.map(|one| &one.delay_ns[..]));
        if let Some(p99) = quantile(&delays, 990) {
            named.insert("delay_ms.p99".to_owned(), p99 as f64 / 1e6);
        }
        losses(&groups, &queues, &mut named);
        (direction.name().to_owned(), named)
    })
    .collect()
}

/// Adds the loss ratios of the data, and of the packets that acknowledge data of the other direction.
fn losses(groups: &[&GroupSummary], queues: &[&QueueSummary], named: &mut Named) {
    let data = groups.iter().fold((0, 0), |(passed, lost), group| {
        (passed + group.packets, lost + group.dropped)
    });
    let all = queues.iter().fold((0, 0), |(passed, lost), queue| {
        (passed + queue.packets, lost + queue.dropped)
    });
    let acks = (all.0.saturating_sub(data.0), all.1.saturating_sub(data.1));
    for (name, (passed, lost)) in [("loss_ratio", data), ("ack_loss_ratio", acks)] {
        named.remove(name);
        named.extend(ratio(lost, passed + lost).map(|ratio| (name.to_owned(), ratio)));
    }
    let marked: u64 = groups.iter().map(|group| group.marked).sum();
    named.extend(ratio(marked, data.0).map(|ratio| ("mark_ratio".to_owned(), ratio)));
}

fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// SYNs and SYN-ACKs that came to a queue from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Syns {
    from: Time,
    offered: u64,
    lost: u64,
}

impl Syns {
    /// None yet; only those from `from` on count.
    pub(crate) const fn new(from: Time) -> Self {
        Self {
            from,
            offered: 0,
            lost: 0,
        }
    }

    /// Counts a packet that enters the queue.
    pub(crate) fn entered(&mut self, packet: &Packet, now: Time) {
        self.offered += u64::from(self.counts(packet, now));
    }

    /// Counts a packet that is dropped.
    pub(crate) fn dropped(&mut self, packet: &Packet, drop: &Drop, now: Time) {
        if self.counts(packet, now) {
            self.offered += u64::from(!drop.queued);
            self.lost += 1;
        }
    }

    fn counts(&self, packet: &Packet, now: Time) -> bool {
        now >= self.from && packet.flags().has(Flags::SYN)
    }

    /// The share that was lost; `None` without any.
    pub(crate) fn loss_ratio(&self) -> Option<f64> {
        ratio(self.lost, self.offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_measure::Summary;

    /// Of a run with a downlink and an uplink: 1000 data packets and 5 losses down beside 90 ACKs and 10 losses of them; 200 data packets up
    /// without a loss beside 500 ACKs.
    fn summary() -> Summary {
        let queue = |direction: &str, packets: u64, dropped: u64| {
            serde_json::json!({
                "name": "queue", "hop": "link", "direction": direction, "packets": packets, "bytes": 0, "marked": 0, "dropped": dropped,
                "mark_ratio": 0.0, "drop_ratio": 0.0, "marks": {}, "drops": {}, "delay_ms": null, "backlog_bytes": null })
        };
        let group = |name: &str, packets: u64, marked: u64, dropped: u64| {
            serde_json::json!({
                "name": name, "count": 1, "congestion_control": "reno", "goodput_bps": [1e6], "alive_s": [10.0], "jain": 1.0,
                "packets": packets, "marked": marked, "dropped": dropped, "retransmitted": 0, "delay_ms": null, "rtt_ms": null, "app": null })
        };
        serde_json::from_value(serde_json::json!({
            "schema": 1, "scenario": "t", "world": "sim", "seed": 1, "duration_s": 10.0, "warmup_s": 0.0, "partial": false, "warnings": [],
            "link": { "rate_bps": 100, "utilisation": 0.75, "lost_outside": 0, "reverse": { "rate_bps": 10, "utilisation": 0.5 } },
            "queues": [queue("forward", 1_090, 15), queue("reverse", 700, 0)],
            "groups": [group("down", 1_000, 4, 5), group("up", 200, 0, 0)], "jain": 1.0, "phases": [] }))
        .unwrap()
    }

    #[test]
    fn what_is_not_data_of_a_direction_acknowledges_that_of_the_other() {
        let figures = summary().figures;
        let none = Histograms {
            schema: 1,
            queues: Vec::new(),
            groups: Vec::new(),
        };
        let back = ["up".to_owned()];
        let found = of_directions(&figures, &none, 10.0, &back);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["forward", "reverse"]);
        let of = |direction: usize, name: &str| found[direction].1.get(name).copied();
        assert_eq!(of(0, "loss_ratio"), Some(5.0 / 1_005.0));
        assert_eq!(of(0, "ack_loss_ratio"), Some(0.1));
        assert_eq!(of(0, "mark_ratio"), Some(0.004));
        assert_eq!(of(1, "loss_ratio"), Some(0.0));
        assert_eq!(of(1, "ack_loss_ratio"), Some(0.0));
        assert_eq!(
            (of(0, "utilisation"), of(1, "utilisation")),
            (Some(0.75), Some(0.5))
        );
        assert_eq!(of(1, "goodput_bps"), Some(1e6));
        // Without a rate back there is one direction, and it is the whole.
        let mut one_way = figures;
        one_way.link.reverse = None;
        assert!(of_directions(&one_way, &none, 10.0, &back).is_empty());
    }
}
