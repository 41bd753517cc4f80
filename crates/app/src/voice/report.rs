//! The report of calls: delay, loss and quality of speech.

use std::collections::BTreeMap;

use quell_units::Time;

use super::score::{self, Impairment};
use crate::{
    Column, DatagramReport, Delays, Figure, FigureInfo, Form, FormInfo, KindReport, Notation, Part,
    Quantity, Times, Value, in_ms,
};

/// The sound of one call, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Packets that were played.
    pub played: u64,
    /// Packets that were lost or late.
    pub lost: u64,
    /// Runs of such packets.
    pub runs: u64,
    /// Sum of the delays from mouth to ear of the packets that were played, in ns.
    pub mouth_to_ear: u128,
}

/// The quality of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// R of the E-model; 0 if nothing was played.
    pub rating: f64,
    /// R as simplified by Cole and Rosenbluth.
    pub simplified: f64,
    /// Mean length of the runs of losses over that of random loss; 1 without loss.
    pub burst: f64,
}

impl Score {
    /// Mean opinion score.
    pub fn mos(&self) -> f64 {
        score::mos(self.rating)
    }
}

/// R in hundredths, at least 0.
pub(crate) fn hundredths(rating: f64) -> u16 {
    (rating.max(0.0) * 100.0 + 0.5) as u16
}

impl Tally {
    /// One packet: its delay from mouth to ear, or that it was not heard.
    pub(crate) fn count(&mut self, heard: Option<Time>, begins_run: bool) {
        match heard {
            Some(ear) => {
                self.played += 1;
                self.mouth_to_ear += u128::from(ear.as_nanos());
            }
            None => {
                self.lost += 1;
                self.runs += u64::from(begins_run);
            }
        }
    }

    /// All packets.
    pub const fn packets(&self) -> u64 {
        self.played + self.lost
    }

    fn append(&mut self, next: &Self) {
        self.played += next.played;
        self.lost += next.lost;
        self.runs += next.runs;
        self.mouth_to_ear += next.mouth_to_ear;
    }

    /// Its quality; `None` without a packet.
    pub fn score(&self, impairment: Impairment) -> Option<Score> {
        if self.packets() == 0 {
            return None;
        }
        let loss = self.lost as f64 / self.packets() as f64;
        let burst = if self.runs == 0 {
            1.0
        } else {
            self.lost as f64 / self.runs as f64 * (1.0 - loss)
        };
        if self.played == 0 {
            return Some(Score {
                rating: 0.0,
                simplified: 0.0,
                burst,
            });
        }
        let ear = self.mouth_to_ear as f64 / self.played as f64 / 1e6;
        Some(Score {
            rating: score::rating(impairment, ear, loss, burst),
            simplified: score::simplified_rating(impairment, ear, loss),
            burst,
        })
    }
}

/// The report of the listeners at one end of one or several calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// Deliveries of the network.
    pub datagrams: DatagramReport,
    /// Packets that came too late to be played.
    pub late: u64,
    /// Time from the arrival of a packet until it was played.
    pub wait: Delays,
    /// Time from the mouth of the talker to the ear, of each packet that was played.
    pub mouth_to_ear: Delays,
    /// The codec's sensitivity to loss; the same for all calls of a group.
    pub impairment: Option<Impairment>,
    /// Each call.
    pub calls: Vec<Tally>,
    /// R in hundredths of each window of 10 s, and in how many windows.
    pub windows: BTreeMap<u16, u32>,
}

impl Heard {
    fn ratio(&self, part: u64) -> f64 {
        part as f64 / self.datagrams.sent.max(1) as f64
    }

    /// The mean over calls.
    fn mean(&self, of: fn(&Score) -> f64) -> Option<f64> {
        let impairment = self.impairment?;
        let scores = self.calls.iter().filter_map(|call| call.score(impairment));
        let (sum, count) = scores.fold((0.0, 0_u32), |(sum, count), score| {
            (sum + of(&score), count + 1)
        });
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The nearest rank among the windows; `None` without one.
    fn window(&self, thousandths: u64) -> Option<f64> {
        let count: u64 = self.windows.values().map(|&count| u64::from(count)).sum();
        let rank = (count * thousandths).div_ceil(1_000).max(1);
        let mut below = 0;
        let found = self.windows.iter().find(|(_, count)| {
            below += u64::from(**count);
            below >= rank
        });
        found.map(|(&rating, _)| f64::from(rating) / 100.0)
    }

    fn window_mos(&self, thousandths: u64) -> Option<f64> {
        self.window(thousandths).map(score::mos)
    }

    fn merge(&mut self, other: &Self) {
        self.datagrams.merge(&other.datagrams);
        self.add(other);
    }

    fn append(&mut self, next: &Self) {
        self.datagrams.append(&next.datagrams);
        self.add(next);
    }

    /// Everything but the datagrams.
    fn add(&mut self, other: &Self) {
        self.late += other.late;
        self.wait.merge(&other.wait);
        self.mouth_to_ear.merge(&other.mouth_to_ear);
        self.impairment = self.impairment.or(other.impairment);
        for (&rating, count) in &other.windows {
            *self.windows.entry(rating).or_default() += count;
        }
    }
}

/// The report of calls, at both ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VoiceReport {
    /// At the receiver.
    pub heard: Box<Heard>,
    /// At the sender: nothing if the receiver does not talk.
    pub back: Box<Heard>,
}

impl VoiceReport {
    /// The mean opinion score at the receiver, mean of all calls; `None` without a packet.
    pub fn mos(&self) -> Option<f64> {
        self.heard.mean(Score::mos)
    }
    /// R at the receiver, mean of all calls; `None` without a packet.
    pub fn rating(&self) -> Option<f64> {
        self.heard.mean(|score| score.rating)
    }
    /// The burst ratio at the receiver, mean of all calls; `None` without a packet.
    pub fn burst_ratio(&self) -> Option<f64> {
        self.heard.mean(|score| score.burst)
    }
}

const MS: Notation = Notation::Plain(1);
const TWO: Notation = Notation::Plain(2);

/// The figures of one direction, whose names begin with a prefix. `$columns` are shown.
macro_rules! figures {
    ($prefix:literal, $ear:literal, [$mos:expr, $late:expr, $loss:expr, $p99:expr, $delay:expr, $window:expr]) => {
        Form {
            table: Some("calls"),
            figures: &[
                Figure::<Heard>::new(concat!($prefix, "sent"), Quantity::Count, concat!("packets sent to ", $ear), |heard| {
                    Value::Count(heard.datagrams.sent)
                }),
                Figure::<Heard>::new(concat!($prefix, "received"), Quantity::Count, "packets that arrived", |heard| {
                    Value::Count(heard.datagrams.received)
                }),
                Figure::<Heard>::new(concat!($prefix, "lost"), Quantity::Count, "packets that did not arrive; those in flight at the end are among them", |heard| {
                    Value::Count(heard.datagrams.lost)
                }),
                Figure::<Heard>::new(concat!($prefix, "late"), Quantity::Count, "packets that arrived too late to be played", |heard| {
                    Value::Count(heard.late)
                }),
                Figure::<Heard>::new(concat!($prefix, "mos"), Quantity::MaybeNumber, "mean opinion score, 1 to 4.5, of the whole call; mean of all calls; null without a packet", |heard| {
                    Value::Number(heard.mean(Score::mos))
                })
                .shown($mos),
                Figure::<Heard>::new(concat!($prefix, "r_factor"), Quantity::MaybeNumber, "R of the E-model (G.107) of the whole call, up to 93.4, from its mean delay and its loss; what is in flight at the end is left out; mean of all calls; null without a packet", |heard| {
                    Value::Number(heard.mean(|score| score.rating))
                }),
                Figure::<Heard>::new(concat!($prefix, "mos_window_min"), Quantity::MaybeNumber, "lowest mean opinion score of a window of 10 s; windows begin at multiples of 10 s of the run and within the measured time, and have 50 packets at least; null without one", |heard| {
                    Value::Number(heard.window_mos(0))
                })
                .shown($window),
                Figure::<Heard>::new(concat!($prefix, "mos_window_p5"), Quantity::MaybeNumber, "5th percentile of the same", |heard| {
                    Value::Number(heard.window_mos(50))
                }),
                Figure::<Heard>::new(concat!($prefix, "mos_window_p50"), Quantity::MaybeNumber, "median of the same", |heard| {
                    Value::Number(heard.window_mos(500))
                }),
                Figure::<Heard>::new(concat!($prefix, "network_loss_ratio"), Quantity::Ratio, "lost / sent", |heard| {
                    Value::Number(Some(heard.ratio(heard.datagrams.lost)))
                }),
                Figure::<Heard>::new(concat!($prefix, "late_ratio"), Quantity::Ratio, "late / sent", |heard| {
                    Value::Number(Some(heard.ratio(heard.late)))
                })
                .shown($late),
                Figure::<Heard>::new(concat!($prefix, "loss_ratio"), Quantity::Ratio, "(lost + late) / sent: what the ear misses", |heard| {
                    Value::Number(Some(heard.ratio(heard.datagrams.lost + heard.late)))
                })
                .shown($loss),
                Figure::<Heard>::new(concat!($prefix, "burst_ratio"), Quantity::MaybeNumber, "mean length of the runs of missing packets over that of random loss: 1 for random loss and without loss; mean of all calls; null without a packet", |heard| {
                    Value::Number(heard.mean(|score| score.burst))
                }),
                Figure::<Heard>::new(concat!($prefix, "r_simplified"), Quantity::MaybeNumber, "R as simplified by Cole and Rosenbluth, for comparison; mean of all calls; null without a packet", |heard| {
                    Value::Number(heard.mean(|score| score.simplified))
                }),
                Figure::<Heard>::new(concat!($prefix, "jitter_ms"), Quantity::Number, "ms; interarrival jitter at the end (RFC 3550)", |heard| {
                    Value::Number(Some(in_ms(heard.datagrams.jitter)))
                }),
                Figure::<Heard>::new(concat!($prefix, "one_way_delay_ms"), Quantity::Times, "ms; from the sending to the receiving application; null if nothing arrived", |heard| {
                    let datagrams = &heard.datagrams;
                    Value::Times(Times::of(&datagrams.delays, datagrams.mean_delay.map(in_ms)))
                })
                .shown($p99),
                Figure::<Heard>::new(concat!($prefix, "playout_delay_ms"), Quantity::Times, "ms; from the arrival of a packet until it is played; null if none was", |heard| {
                    Value::Times(Times::of(&heard.wait, None))
                }),
                Figure::<Heard>::new(concat!($prefix, "mouth_to_ear_ms"), Quantity::Times, "ms; coding, network and playout together, of the packets that were played; null if none was", |heard| {
                    Value::Times(Times::of(&heard.mouth_to_ear, None))
                })
                .shown($delay),
            ],
        }
    };
}

const HEARD: Form<Heard> = figures!(
    "",
    "the receiver",
    [
        &[Column::new("MOS", TWO)],
        &[Column::new("late %", Notation::Percent(2)).rank(2)],
        &[Column::new("loss %", Notation::Percent(2))],
        &[
            Column::of("P50 ms", Part::P50, MS).rank(1),
            Column::of("P99 ms", Part::P99, MS)
        ],
        &[Column::of("mouth to ear ms", Part::Mean, MS)],
        &[Column::new("MOS of worst 10 s", TWO).rank(0)]
    ]
);

const BACK: Form<Heard> = figures!(
    "back_",
    "the sender",
    [
        &[Column::new("back MOS", TWO)],
        &[],
        &[Column::new("back loss %", Notation::Percent(2)).rank(3)],
        &[],
        &[Column::of("back ms", Part::Mean, MS).rank(4)],
        &[]
    ]
);

impl KindReport for VoiceReport {
    fn forms() -> Vec<FormInfo> {
        let mut form = HEARD.info();
        form.figures.extend(BACK.info().figures);
        vec![form]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        let mut figures = HEARD.of(&self.heard);
        figures.extend(BACK.of(&self.back));
        figures
    }
    fn merge(&mut self, other: &Self) {
        for (mine, others) in self.directions(other) {
            mine.merge(others);
            mine.calls.extend(&others.calls);
        }
    }
    fn append(&mut self, next: &Self) {
        for (mine, next) in self.directions(next) {
            mine.append(next);
            if mine.calls.is_empty() {
                mine.calls.clone_from(&next.calls);
                continue;
            }
            for (call, next) in mine.calls.iter_mut().zip(&next.calls) {
                call.append(next);
            }
        }
    }
}

impl VoiceReport {
    fn directions<'a>(&'a mut self, other: &'a Self) -> [(&'a mut Heard, &'a Heard); 2] {
        [
            (&mut *self.heard, &*other.heard),
            (&mut *self.back, &*other.back),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lost: u64) -> Heard {
        let call = Tally {
            played: 1_000 - lost,
            lost,
            runs: lost,
            mouth_to_ear: 50_000_000 * u128::from(1_000 - lost),
        };
        Heard {
            impairment: Some(Impairment {
                equipment: 0,
                robustness: 251,
                is_g729: false,
            }),
            calls: vec![call],
            ..Heard::default()
        }
    }

    fn report(lost: u64) -> VoiceReport {
        VoiceReport {
            heard: Box::new(heard(lost)),
            back: Box::default(),
        }
    }

    #[test]
    fn calls_are_averaged_and_stretches_of_one_call_are_one_call() {
        // R 91.8 without loss and 76.0 with 5 %; 2.5 % of one call give 83.1.
        let (mut calls, mut call) = (report(0), report(0));
        calls.merge(&report(50));
        call.append(&report(50));
        let mean = calls.rating().unwrap();
        assert!((mean - (91.75 + 75.97) / 2.0).abs() < 0.1, "{mean}");
        let one = call.rating().unwrap();
        assert!((one - 83.15).abs() < 0.1, "{one}");
        assert!(calls.mos().unwrap() < call.mos().unwrap() + 0.1);
        assert_eq!(call.heard.calls[0].packets(), 2_000);
    }

    #[test]
    fn both_ends_are_one_report() {
        let mut both = report(0);
        both.merge(&VoiceReport {
            heard: Box::default(),
            back: Box::new(heard(50)),
        });
        assert_eq!((both.heard.calls.len(), both.back.calls.len()), (1, 1));
        assert!(both.back.mean(Score::mos) < both.mos());
        let form = &VoiceReport::forms()[0];
        for (declared, (figure, _)) in form.figures.iter().zip(both.figures()) {
            assert_eq!(declared.name, figure.name);
        }
    }

    #[test]
    fn the_worst_window_is_seen() {
        let heard = Heard {
            windows: BTreeMap::from([(5_000, 1), (9_000, 18), (9_320, 1)]),
            ..Heard::default()
        };
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 0.005;
        assert!(near(heard.window_mos(0), 2.58));
        assert!(near(heard.window_mos(50), 2.58));
        assert!(near(heard.window_mos(500), 4.34));
        assert_eq!(Heard::default().window_mos(500), None);
    }

    #[test]
    fn nothing_heard_is_the_worst_score() {
        let silent = Tally {
            lost: 10,
            runs: 1,
            ..Tally::default()
        };
        let score = silent.score(heard(0).impairment.unwrap()).unwrap();
        assert_eq!((score.rating, score.mos()), (0.0, 1.0));
        assert_eq!(Tally::default().score(heard(0).impairment.unwrap()), None);
    }
}
