//! Runs of DualPI2 scenarios, counted as the evaluation behind arXiv 2209.01078 counts.
//!
//! Its figures are those of github.com/olgaalb/dualpi2eval at 8cd6f68, recomputed from the files
//! `stat_*` of each run, 250 samples of a second each. Its kernel was Linux 5.10 with TCP Prague 0.6,
//! CUBIC with its defaults, senders behind `fq`. Rates are those of Ethernet frames; `mark` is CE per
//! packet delivered, `drop` dropped per packet offered.

use quell_measure::{GroupSummary, QueueSummary, Summary};

/// Bytes of a full-sized packet in an Ethernet frame: the length of a TCP packet and 14.
const FRAME: f64 = 1_514.0;

/// One line of a table, published or ours. Rates in Mbit/s, ratios in %, delays in ms as mean and
/// 99th percentile; of the L4S queue first, then of Classic.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Of the link, in %.
    pub utilisation: f64,
    /// Of one flow that is alive.
    pub rates: [f64; 2],
    /// Of the UDP flow.
    pub udp: f64,
    /// CE marks in the L4S queue.
    pub mark_l4s: f64,
    /// Of both queues.
    pub drops: [f64; 2],
    /// Of both queues.
    pub delays: [[f64; 2]; 2],
}

/// Ours, and what the source does not report.
#[derive(Debug, Clone, Copy)]
pub struct Ours {
    /// What the source reports too.
    pub figures: Figures,
    /// Marks of L4S by the coupled probability.
    pub coupled: u64,
    /// Of the saturation.
    pub overload: u64,
    /// Of the step.
    pub step: u64,
    /// Packets that the L4S queue delivered.
    pub delivered: u64,
    /// Drops of Classic by the AQM.
    pub aqm: u64,
    /// Packets that met the AQM of Classic.
    pub offered: u64,
}

impl Ours {
    /// Coupled marks per L4S packet, pooled over the run: the time average would give a second with
    /// few packets the weight of one with many.
    pub fn p_l4s(&self) -> f64 {
        self.coupled as f64 / self.delivered as f64
    }
    /// AQM drops per Classic packet that met the AQM, pooled likewise.
    pub fn p_classic(&self) -> f64 {
        self.aqm as f64 / self.offered as f64
    }
    /// 2√p_C / p_L, which is 1 by RFC 9332's coupling with k = 2.
    pub fn coupling(&self) -> f64 {
        2.0 * self.p_classic().sqrt() / self.p_l4s()
    }
}

/// The figures of several runs of one scenario, which has a queue `l4s` and a queue `classic`.
pub fn ours(runs: &[Summary]) -> Ours {
    let mean =
        |figure: &dyn Fn(&Summary) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
    let sum = |figure: &dyn Fn(&Summary) -> u64| runs.iter().map(figure).sum::<u64>();
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let marks = |reason: &str| sum(&|run| queue(run, "l4s").marks[reason]);
    let delay = |name: &str| {
        let dist = |run: &Summary| {
            queue(run, name)
                .delay_ms
                .map_or([0.0; 2], |d| [d.mean, d.p99])
        };
        [0, 1].map(|index| mean(&|run| dist(run)[index]))
    };
    let drops = |name: &str| {
        let dropped = sum(&|run| queue(run, name).dropped);
        percent(dropped, dropped + sum(&|run| queue(run, name).packets))
    };
    let delivered = sum(&|run| queue(run, "l4s").packets);
    let aqm = sum(&|run| queue(run, "classic").drops["aqm"]);
    Ours {
        figures: Figures {
            utilisation: mean(&|run| 100.0 * run.figures.link.utilisation),
            rates: ["l4s", "classic"].map(|name| {
                mean(&|run| {
                    group(run, name)
                        .map_or(0.0, |group| rate(run, group, FRAME) / group.count as f64)
                })
            }),
            udp: mean(&|run| group(run, "udp").map_or(0.0, |group| rate(run, group, FRAME - 2.0))),
            mark_l4s: percent(sum(&|run| queue(run, "l4s").marked), delivered),
            drops: ["l4s", "classic"].map(drops),
            delays: ["l4s", "classic"].map(delay),
        },
        coupled: marks("coupled"),
        overload: marks("overload"),
        step: marks("step"),
        delivered,
        aqm,
        offered: aqm + sum(&|run| queue(run, "classic").packets),
    }
}

fn queue<'a>(run: &'a Summary, name: &str) -> &'a QueueSummary {
    let mut queues = run.figures.queues.iter();
    let found = queues.find(|queue| queue.name == name);
    found.unwrap_or_else(|| panic!("there is no queue {name}"))
}

/// The group of this name.
pub fn group<'a>(run: &'a Summary, name: &str) -> Option<&'a GroupSummary> {
    run.figures.groups.iter().find(|group| group.name == name)
}

/// Rate of full-sized packets of TCP, in Mbit/s of frames.
pub fn rate_of(run: &Summary, group: &GroupSummary) -> f64 {
    rate(run, group, FRAME)
}

/// Frames of so many bytes, in Mbit/s.
fn rate(run: &Summary, group: &GroupSummary, frame: f64) -> f64 {
    group.packets as f64 * frame * 8.0 / (run.duration_s - run.warmup_s) / 1e6
}

/// Three significant digits, and no more than three decimals.
pub fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A mean and its 99th percentile.
pub fn delay([mean, p99]: [f64; 2]) -> String {
    format!("{}/{}", digits(mean), digits(p99))
}

/// Published beside ours.
pub fn beside(published: f64, ours: f64) -> String {
    format!("{} / {}", digits(published), digits(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let shown = [0.0, 0.1304, 6.447, 14.96, 99.94, 99.97, 100.0].map(digits);
        assert_eq!(
            shown,
            ["0.000", "0.130", "6.45", "15.0", "99.9", "100", "100"]
        );
    }
}
