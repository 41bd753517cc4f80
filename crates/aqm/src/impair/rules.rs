//! Rules for the packets of a path: in their order, each changes the ECN field or the DSCP of packets that it matches, drops or copies them.
//!
//! A rule draws a fixed number of times for each packet, whether it matches or not, from a stream of its own that has its name. So neither
//! another rule nor a change of a probability moves any draw. A lost packet comes to no rule, one that a rule drops to none behind it; what a
//! rule matches is judged by what those in front of it have left.

use alloc::format;
use alloc::string::String;

use crate::units::{Ecn, Probability, Random, Time};

/// What a packet is to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
    /// A TCP segment with SYN and without ACK.
    Syn,
    /// A TCP segment with SYN and ACK.
    SynAck,
    /// Another TCP segment without payload.
    Ack,
    /// Anything else.
    #[default]
    Data,
}

impl Kind {
    /// The kind of a TCP segment.
    pub fn of_segment(has_syn: bool, has_ack: bool, has_payload: bool) -> Self {
        match (has_syn, has_ack, has_payload) {
            (true, false, _) => Self::Syn,
            (true, true, _) => Self::SynAck,
            (false, _, false) => Self::Ack,
            (false, _, true) => Self::Data,
        }
    }
}

/// What rules see of a packet, and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP, below 64.
    pub dscp: u8,
    /// What it is.
    pub kind: Kind,
    /// Its group of flows.
    pub group: Option<u16>,
}

/// What becomes of a packet that a rule matches, besides its DSCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its ECN field stays.
    Same,
    /// It gets this ECN field.
    Code(Ecn),
    /// It is dropped.
    Drop,
    /// A copy follows at the same instant.
    Copy,
}

/// When a rule is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Train {
    /// All the time.
    Always,
    /// From a packet to another, with these probabilities of a beginning and of an end at each packet (Gilbert 1960).
    Random {
        /// Probability of a beginning.
        enter: Probability,
        /// Probability of an end.
        leave: Probability,
    },
    /// For the first packets that fit after each multiple of a time.
    Every {
        /// The time; not zero.
        every: Time,
        /// The number of packets.
        packets: u32,
    },
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its name, which no other rule of the path has.
    pub name: String,
    /// The ECN fields that fit: a bit for each [`Ecn`].
    pub from: u8,
    /// The kinds that fit: a bit for each [`Kind`].
    pub kinds: u8,
    /// The DSCP that fits; `None` is any.
    pub dscp: Option<u8>,
    /// The group that fits; `None` is any.
    pub group: Option<u16>,
    /// Whether it is active.
    pub train: Train,
    /// The share of packets that it matches of those that fit while it is active.
    pub probability: Probability,
    /// What becomes of them.
    pub to: Outcome,
    /// The DSCP that they get.
    pub to_dscp: Option<u8>,
}

/// The column of [`RuleCounts::codes`] with packets that the rule dropped.
pub const DROPPED: usize = 4;

/// The packets that came to a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleCounts {
    /// Name of the rule.
    pub name: String,
    /// Packets that it matched.
    pub matched: u64,
    /// All packets: by the [`Ecn`] with which they came, and by that with which they went on, or [`DROPPED`].
    pub codes: [[u64; DROPPED + 1]; 4],
}

impl RuleCounts {
    /// Replaces each number by one made of it and of that of `other`.
    pub(super) fn join(&mut self, other: &Self, with: fn(u64, u64) -> u64) {
        self.matched = with(self.matched, other.matched);
        let numbers = self.codes.iter_mut().zip(&other.codes);
        for (one, other) in numbers.flat_map(|(one, other)| one.iter_mut().zip(other)) {
            *one = with(*one, *other);
        }
    }
}

/// A rule at work.
#[derive(Debug, Clone)]
pub(super) struct Active {
    pub(super) rule: Rule,
    random: Random,
    /// Whether a random train goes on.
    is_on: bool,
    /// The multiple after which the last train began, and what is left of it.
    train: (u64, u32),
    pub(super) counts: RuleCounts,
}

impl Active {
    pub(super) fn new(rule: Rule, seed: u64, component: &str) -> Self {
        Self {
            random: Random::new(seed, &format!("{component}.rule.{}", rule.name)),
            is_on: false,
            train: (0, 0),
            counts: RuleCounts {
                name: rule.name.clone(),
                ..RuleCounts::default()
            },
            rule,
        }
    }

    /// Judges a packet that leaves the link at `end`, if it `goes_on` that far. Returns what becomes of it.
    pub(super) fn judge(&mut self, header: &mut Header, end: Time, goes_on: bool) -> Outcome {
        let is_drawn = self.random.chance(self.rule.probability);
        if let Train::Random { enter, leave } = self.rule.train {
            self.is_on ^= self.random.chance(if self.is_on { leave } else { enter });
        }
        if !goes_on {
            return Outcome::Same;
        }
        let from = header.ecn.bits();
        let matches = self.fits(header) && self.is_active(end) && is_drawn;
        let outcome = if matches { self.rule.to } else { Outcome::Same };
        self.counts.matched += u64::from(matches);
        if let (true, Some(dscp)) = (matches, self.rule.to_dscp) {
            header.dscp = dscp;
        }
        if let Outcome::Code(ecn) = outcome {
            header.ecn = ecn;
        }
        let to = match outcome {
            Outcome::Drop => DROPPED,
            _ => usize::from(header.ecn.bits()),
        };
        self.counts.codes[usize::from(from)][to] += 1;
        outcome
    }

    fn fits(&self, header: &Header) -> bool {
        let rule = &self.rule;
        (rule.from >> header.ecn.bits()) & 1 == 1
            && (rule.kinds >> header.kind as u8) & 1 == 1
            && rule.dscp.is_none_or(|dscp| dscp == header.dscp)
            && (rule.group.is_none() || rule.group == header.group)
    }

    /// Whether the rule is active for a packet that fits.
    fn is_active(&mut self, end: Time) -> bool {
        match self.rule.train {
            Train::Always => true,
            Train::Random { .. } => self.is_on,
            Train::Every { every, packets } => {
                let multiple = end.as_nanos() / every.as_nanos();
                if multiple > self.train.0 {
                    self.train = (multiple, packets);
                }
                let is_active = self.train.1 > 0;
                self.train.1 = self.train.1.saturating_sub(1);
                is_active
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Impairer, Impairment, Loss};
    use super::*;
    use std::vec::Vec;

    const PACKETS: u64 = 1_000_000;
    const ANY: u8 = 0b1111;
    const ECT: u8 = 0b0110;
    const CODES: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    fn rule(name: &str, from: u8, to: Outcome, percent: u64) -> Rule {
        Rule {
            name: name.into(),
            from,
            kinds: ANY,
            dscp: None,
            group: None,
            train: Train::Always,
            probability: Probability::ratio(percent, 100),
            to,
            to_dscp: None,
        }
    }

    /// The packet with this number, 10 µs after the one before: each code, kind, two DSCPs and two groups in turn.
    fn header(n: u64) -> Header {
        let kinds = [Kind::Syn, Kind::SynAck, Kind::Ack, Kind::Data];
        Header {
            ecn: CODES[(n % 4) as usize],
            dscp: if n / 4 % 2 == 0 { 0 } else { 45 },
            kind: kinds[(n / 8 % 4) as usize],
            group: Some((n / 32 % 2) as u16),
        }
    }

    /// The headers of packets that go on, and all counts.
    fn play(
        impairment: Option<Impairment>,
        rules: &[Rule],
        packets: u64,
    ) -> (Vec<Option<Header>>, Vec<RuleCounts>) {
        let mut path = Impairer::new(impairment, 3, "path").with_rules(rules, 3, "path");
        let fates = (0..packets).map(|n| {
            let mut header = header(n);
            let fate = path.judge(Time::from_micros(10 * n), &mut header);
            fate.map(|_| header)
        });
        (fates.collect(), path.counts().rules)
    }

    #[test]
    fn each_rule_matches_its_share_and_no_code_leaves_the_map() {
        let to = Outcome::Code;
        for (from, outcome, percent) in [
            (ECT, to(Ecn::Ce), 5),
            (ECT | 0b1000, to(Ecn::NotEct), 100),
            (1 << Ecn::Ect0.bits(), to(Ecn::Ect1), 50),
            (1 << Ecn::Ce.bits(), Outcome::Drop, 20),
            (ANY, Outcome::Copy, 1),
            (ANY, to(Ecn::Ect0), 0),
        ] {
            let (_, counts) = play(None, &[rule("one", from, outcome, percent)], PACKETS);
            let RuleCounts { matched, codes, .. } = counts[0];
            let all: u64 = codes.iter().flatten().sum();
            assert_eq!(all, PACKETS);
            let fit = PACKETS / 4 * u64::from(from.count_ones());
            let share = percent as f64 / 100.0;
            // Of a binomial, four standard deviations.
            let bound = 4.0 * (fit as f64 * share * (1.0 - share)).sqrt();
            assert!(
                (matched as f64 - fit as f64 * share).abs() <= bound,
                "{outcome:?}: {matched} of {fit}"
            );
            for (code, row) in CODES.iter().zip(codes) {
                let own = usize::from(code.bits());
                for (column, number) in row.iter().enumerate() {
                    let may = match outcome {
                        _ if column == own => true,
                        _ if (from >> code.bits()) & 1 == 0 => false,
                        Outcome::Code(ecn) => column == usize::from(ecn.bits()),
                        Outcome::Drop => column == DROPPED,
                        Outcome::Same | Outcome::Copy => false,
                    };
                    assert!(may || *number == 0, "{code:?} to {column}: {number}");
                }
            }
            // Whatever is not on the diagonal was matched.
            let stayed: u64 = CODES
                .iter()
                .map(|code| codes[usize::from(code.bits())][usize::from(code.bits())])
                .sum();
            assert!(PACKETS - stayed <= matched);
        }
    }

    #[test]
    fn another_rule_or_a_loss_moves_no_draw() {
        let marker = || rule("marker", ECT, Outcome::Code(Ecn::Ce), 10);
        let never = Rule {
            dscp: Some(7),
            ..rule("never", ANY, Outcome::Drop, 50)
        };
        let (alone, counts) = play(None, &[marker()], PACKETS / 10);
        let (beside, all) = play(None, &[never, marker()], PACKETS / 10);
        assert!(alone == beside && counts[0] == all[1]);
        let impairment = Impairment {
            loss: Loss {
                good: Probability::ratio(1, 10),
                ..Loss::default()
            },
            ..Impairment::default()
        };
        let (lossy, _) = play(Some(impairment), &[marker()], PACKETS / 10);
        let kept = lossy.iter().zip(&alone).filter(|(one, _)| one.is_some());
        assert!(kept.clone().count() < 95_000 && kept.clone().all(|(one, other)| one == other));
    }

    #[test]
    fn a_rule_sees_what_those_in_front_of_it_have_left() {
        let rules = [
            rule("ect1", 1 << Ecn::Ect0.bits(), Outcome::Code(Ecn::Ect1), 100),
            Rule {
                to_dscp: Some(9),
                ..rule("ce", 1 << Ecn::Ect1.bits(), Outcome::Code(Ecn::Ce), 100)
            },
            Rule {
                dscp: Some(9),
                kinds: 1 << Kind::Data as u8,
                group: Some(1),
                ..rule("hole", ANY, Outcome::Drop, 100)
            },
        ];
        let (fates, counts) = play(None, &rules, 6_400);
        assert_eq!([0, 1, 2].map(|n| counts[n].matched), [1_600, 3_200, 400]);
        for (n, fate) in (0..).zip(fates) {
            let before = header(n);
            let is_ect = (ECT >> before.ecn.bits()) & 1 == 1;
            let after = match is_ect {
                true if before.kind == Kind::Data && before.group == Some(1) => None,
                true => Some(Header {
                    ecn: Ecn::Ce,
                    dscp: 9,
                    ..before
                }),
                false => Some(before),
            };
            assert_eq!(fate, after);
        }
    }

    #[test]
    fn trains_are_as_long_and_as_far_apart_as_asked() {
        let drop = |train| Rule {
            train,
            ..rule("train", ECT, Outcome::Drop, 100)
        };
        let every = Train::Every {
            every: Time::from_millis(300),
            packets: 10,
        };
        let (fates, _) = play(None, &[drop(every)], PACKETS);
        let lost: Vec<u64> = (0..)
            .zip(&fates)
            .filter_map(|(n, fate)| fate.is_none().then_some(n))
            .collect();
        // 10 s in steps of 0.3 s, from the first on.
        assert_eq!(lost.len(), 33 * 10);
        for (train, lost) in (1_u64..).zip(lost.chunks(10)) {
            let fit = (30_000 * train..).filter(|n| (ECT >> header(*n).ecn.bits()) & 1 == 1);
            assert!(lost.iter().copied().eq(fit.take(10)));
        }
        let random = Train::Random {
            enter: Probability::ratio(1, 100),
            leave: Probability::ratio(1, 4),
        };
        let (_, counts) = play(None, &[drop(random)], PACKETS);
        // Of 500 000 that fit 1 in 26; trains make the count vary, by 1.2 % here.
        let matched = counts[0].matched as f64;
        assert!((matched * 26.0 / 500_000.0 - 1.0).abs() < 0.05, "{matched}");
    }
}
