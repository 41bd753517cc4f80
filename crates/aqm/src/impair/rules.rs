//! Rules for the packets of a path: in their order, each changes the ECN field or the DSCP of packets that it matches, drops or copies them.
//!
//! A rule draws once for each packet, whether it matches or not, from a stream of its own that has its name: neither another rule nor a change
//! of a probability moves a draw; trains of random lengths have a second one. A lost packet comes to no rule, and one that a rule drops to none behind it.

use alloc::string::String;

use crate::units::{Bytes, Ecn, Probability, Random, Time};

/// What a packet is to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// Its IP length in bytes.
    pub length: u16,
    /// The longest that its sender is told to send, where a rule that drops it says so.
    pub fits: Option<Bytes>,
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
    /// Of a datagram of UDP a bit of the payload is flipped, and its checksum made right: only the application can notice.
    Flip,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its name, which no other rule of the path has.
    pub name: String,
    /// The ECN fields that match: a bit for each [`Ecn`].
    pub from: u8,
    /// The kinds that match: a bit for each [`Kind`].
    pub kinds: u8,
    /// The DSCP that matches; `None` is any.
    pub dscp: Option<u32>,
    /// Only packets that are longer match, with their IP header; `None` is any.
    pub longer: Option<Bytes>,
    /// Whether the senders of packets that are longer are told so.
    pub signal: bool,
    /// What becomes of packets that match.
    pub to: Outcome,
    /// The DSCP that they get, below 64.
    pub to_dscp: Option<u32>,
    /// Whether Not-ECT may become CE.
    pub is_unsafe: bool,
    /// The share of them that it is about.
    pub probability: Probability,
    /// Only packets of trains match, which begin at a packet with this probability, and end at one with `leave`; `None` is all.
    pub enter: Option<Probability>,
    /// Probability at each packet that a train ends.
    pub leave: Probability,
    /// Only the first `packets` that match after each multiple of this time, which is not zero; `None` is all.
    pub every: Option<Time>,
    /// The number of these.
    pub packets: u32,
}

impl Rule {
    /// A rule about all packets.
    pub fn all(name: impl Into<String>, to: Outcome) -> Self {
        Self {
            name: name.into(),
            from: 0b1111,
            kinds: 0b1111,
            dscp: None,
            longer: None,
            signal: false,
            to,
            to_dscp: None,
            is_unsafe: false,
            probability: Probability::ratio(1, 1),
            enter: None,
            leave: Probability::ratio(1, 10),
            every: None,
            packets: 1,
        }
    }
}

/// The packets that came to a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleCounts {
    /// Name of the rule.
    pub name: String,
    /// Packets that it matched.
    pub matched: u64,
    /// All packets: by the [`Ecn`] with which they came, and by that with which they went on; those that it dropped come last.
    pub codes: [[u64; 5]; 4],
}

impl RuleCounts {
    pub(super) fn join(&mut self, other: &Self, with: fn(u64, u64) -> u64) {
        self.matched = with(self.matched, other.matched);
        let both = self.codes.as_flattened_mut().iter_mut();
        both.zip(other.codes.as_flattened())
            .for_each(|(one, other)| *one = with(*one, *other));
    }
}

/// A rule at work.
#[derive(Debug, Clone)]
pub(super) struct Active {
    pub(super) rule: Rule,
    random: Random,
    /// Begins and ends of trains of random lengths, and whether one runs.
    trains: Random,
    is_on: bool,
    /// The multiple of `every` after which the last train began, and what is left of it.
    train: (u64, u32),
    pub(super) counts: RuleCounts,
}

impl Active {
    pub(super) fn new(rule: &Rule, [random, trains]: [Random; 2]) -> Self {
        let mut counts = RuleCounts::default();
        counts.name.clone_from(&rule.name);
        Self {
            rule: rule.clone(),
            random,
            trains,
            is_on: rule.enter.is_none(),
            train: (0, 0),
            counts,
        }
    }

    /// What becomes of a packet that leaves the link at `end`, if it `goes_on` that far.
    pub(super) fn judge(&mut self, header: &mut Header, end: Time, goes_on: bool) -> Outcome {
        let is_drawn = self.random.chance(self.rule.probability);
        if let Some(enter) = self.rule.enter {
            let change = if self.is_on { self.rule.leave } else { enter };
            self.is_on ^= self.trains.chance(change);
        }
        if !goes_on {
            return Outcome::Same;
        }
        let from = usize::from(header.ecn.bits());
        let matches = self.is_on && self.fits(header) && self.is_in_train(end) && is_drawn;
        let outcome = if matches { self.rule.to } else { Outcome::Same };
        self.counts.matched += u64::from(matches);
        if let (true, Some(dscp)) = (matches, self.rule.to_dscp) {
            header.dscp = dscp as u8;
        }
        if matches && self.rule.signal {
            header.fits = self.rule.longer;
        }
        if let Outcome::Code(ecn) = outcome {
            header.ecn = ecn;
        }
        let to = match outcome {
            Outcome::Drop => 4,
            _ => usize::from(header.ecn.bits()),
        };
        self.counts.codes[from][to] += 1;
        outcome
    }

    fn fits(&self, header: &Header) -> bool {
        let rule = &self.rule;
        (rule.from >> header.ecn.bits()) & (rule.kinds >> header.kind as u8) & 1 == 1
            && rule.dscp.is_none_or(|dscp| dscp == header.dscp.into())
            && rule
                .longer
                .is_none_or(|longer| longer.get() < header.length.into())
    }

    fn is_in_train(&mut self, end: Time) -> bool {
        let Some(every) = self.rule.every else {
            return true;
        };
        let multiple = end.as_nanos() / every.as_nanos();
        if multiple > self.train.0 {
            self.train = (multiple, self.rule.packets);
        }
        let left = self.train.1;
        self.train.1 = left.saturating_sub(1);
        left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Impairer, Impairment, Loss};
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const PACKETS: u64 = 1_000_000;
    const ANY: u8 = 0b1111;
    const ECT: u8 = 0b0110;
    const CE: Outcome = Outcome::Code(Ecn::Ce);

    fn rule(name: &str, from: u8, to: Outcome, percent: u64) -> Rule {
        Rule {
            from,
            is_unsafe: true,
            probability: Probability::ratio(percent, 100),
            ..Rule::all(name, to)
        }
    }

    /// The packet with this number, 10 µs after the one before: each code, kind and two DSCPs in turn.
    fn header(n: u64) -> Header {
        let kinds = [Kind::Syn, Kind::SynAck, Kind::Ack, Kind::Data];
        Header {
            ecn: Ecn::from_bits(n as u8),
            kind: kinds[(n / 4 % 4) as usize],
            dscp: (n / 16 % 2 * 45) as u8,
            length: 40 + (n % 1_461) as u16,
            fits: None,
        }
    }

    /// The headers of packets that go on, of which this share is lost, and all counts.
    fn play(
        lost: Probability,
        rules: &[Rule],
        packets: u64,
    ) -> (Vec<Option<Header>>, Vec<RuleCounts>) {
        let impairment = Impairment {
            loss: Loss {
                good: lost,
                ..Loss::default()
            },
            rules: rules.to_vec(),
            ..Impairment::default()
        };
        let mut path = Impairer::new(Some(impairment), 3, "path");
        let fates = (0..packets).map(|n| {
            let mut header = header(n);
            let fate = path.judge(Time::from_micros(10 * n), &mut header);
            fate.map(|_| header)
        });
        (fates.collect(), path.counts().rules)
    }

    #[test]
    fn each_rule_matches_its_share_and_no_code_leaves_the_map() {
        for (from, outcome, to, percent) in [
            (ECT, CE, 3, 5),
            (ECT | 0b1000, Outcome::Code(Ecn::NotEct), 0, 100),
            (0b0100, Outcome::Code(Ecn::Ect1), 1, 50),
            (0b1000, Outcome::Drop, 4, 20),
            (ANY, Outcome::Copy, 9, 1),
            (ANY, CE, 9, 0),
        ] {
            let (_, counts) = play(
                Probability::ZERO,
                &[rule("one", from, outcome, percent)],
                PACKETS,
            );
            let RuleCounts { matched, codes, .. } = counts[0];
            assert_eq!(codes.as_flattened().iter().sum::<u64>(), PACKETS);
            let fit = (PACKETS / 4 * u64::from(from.count_ones())) as f64;
            let share = percent as f64 / 100.0;
            // Of a binomial, four standard deviations.
            let bound = 4.0 * (fit * share * (1.0 - share)).sqrt();
            assert!(
                (matched as f64 - fit * share).abs() <= bound,
                "{outcome:?}: {matched}"
            );
            let mut changed = 0;
            for (code, column) in (0..4).flat_map(|code| (0..5).map(move |column| (code, column))) {
                let number = codes[code][column];
                if code != column {
                    changed += number;
                    let may = (from >> code) & 1 == 1 && column == to;
                    assert!(may || number == 0, "{code} to {column}: {number}");
                }
            }
            let is_changing = to < 5;
            assert!(changed <= matched && is_changing == (changed > 0));
        }
    }

    #[test]
    fn another_rule_or_a_loss_moves_no_draw() {
        let marker = || rule("marker", ECT, CE, 10);
        let mut never = rule("never", ANY, Outcome::Drop, 50);
        never.dscp = Some(7);
        let (alone, counts) = play(Probability::ZERO, &[marker()], PACKETS / 10);
        let (beside, all) = play(Probability::ZERO, &[never, marker()], PACKETS / 10);
        assert!(alone == beside && counts[0] == all[1]);
        let (lossy, _) = play(Probability::ratio(1, 10), &[marker()], PACKETS / 10);
        let kept = lossy.iter().zip(&alone).filter(|(one, _)| one.is_some());
        assert!(kept.clone().count() < 95_000 && kept.clone().all(|(one, other)| one == other));
    }

    #[test]
    fn trains_have_random_lengths_and_move_no_other_draw() {
        let whole = Probability::ratio(1, 1);
        let marker = |enter, leave| Rule {
            enter,
            leave,
            ..rule("marker", ECT, CE, 10)
        };
        let always = marker(Some(whole), Probability::ZERO);
        let (plain, _) = play(Probability::ZERO, &[marker(None, whole)], PACKETS / 10);
        assert_eq!(play(Probability::ZERO, &[always], PACKETS / 10).0, plain);
        let ratio = |of| Probability::ratio(1, of);
        let some = marker(Some(ratio(30)), ratio(10));
        let (trains, _) = play(
            Probability::ZERO,
            core::slice::from_ref(&some),
            PACKETS / 10,
        );
        let is_plain = |(n, (one, plain)): (u64, _)| one == plain || one == &Some(header(n));
        assert!((0..).zip(trains.iter().zip(&plain)).all(is_plain));
        // A quarter of the time: 10 of 40 packets.
        let every = Rule {
            probability: whole,
            from: ANY,
            to: Outcome::Drop,
            ..some
        };
        let (fates, counts) = play(Probability::ZERO, &[every], PACKETS);
        let share = counts[0].matched as f64 / PACKETS as f64;
        assert!((0.24..0.26).contains(&share), "{share}");
        let ends = fates
            .windows(2)
            .filter(|pair| pair[0].is_none() && pair[1].is_some());
        let mean = counts[0].matched as f64 / ends.count() as f64;
        assert!((9.5..10.5).contains(&mean), "{mean}");
    }

    #[test]
    fn a_flip_is_anywhere_and_changes_nothing_else() {
        let flip = rule("flip", ANY, Outcome::Flip, 100);
        let impairment = Impairment {
            rules: vec![flip],
            ..Impairment::default()
        };
        let mut path = Impairer::new(Some(impairment), 3, "path");
        let fates: Vec<_> = (1..100)
            .map(|n| path.judge(Time::from_micros(n), &mut header(n)).unwrap())
            .collect();
        let high = fates.iter().filter(|fate| fate.flip.unwrap() >> 63 == 1);
        assert!((30..70).contains(&high.count()));
        assert!(
            fates
                .iter()
                .all(|fate| fate.damage.is_none() && !fate.is_doubled)
        );
        assert_eq!(path.counts().rules[0].matched, 99);
    }

    #[test]
    fn a_rule_sees_what_those_in_front_of_it_have_left_and_trains_are_exact() {
        let mut to_dscp = rule("ce", 0b0010, CE, 100);
        to_dscp.to_dscp = Some(9);
        let mut hole = rule("hole", ANY, Outcome::Drop, 100);
        (hole.dscp, hole.kinds) = (Some(9), 1 << Kind::Data as u8);
        hole.longer = Some(Bytes::new(100));
        (hole.every, hole.packets) = (Some(Time::from_millis(10)), 7);
        let rules = [
            rule("ect1", 0b0100, Outcome::Code(Ecn::Ect1), 100),
            to_dscp,
            hole,
        ];
        let (fates, counts) = play(Probability::ZERO, &rules, 6_400);
        assert_eq!(
            [0, 1, 2].map(|n| counts[n].matched),
            [1_600, 3_200, 6 * 7],
            "six times 10 ms in 64"
        );
        let is_ect = |n: &u64| (ECT >> header(*n).ecn.bits()) & 1 == 1;
        let holes = (1_000..6_400).step_by(1_000).flat_map(|start| {
            let fit = (start..)
                .filter(|n| is_ect(n) && header(*n).kind == Kind::Data && header(*n).length > 100);
            fit.take(7).collect::<Vec<u64>>()
        });
        let holes: Vec<u64> = holes.collect();
        for (n, fate) in (0..).zip(fates) {
            let (mut after, is_there) = (header(n), !holes.contains(&n));
            if is_ect(&n) {
                (after.ecn, after.dscp) = (Ecn::Ce, 9);
            }
            assert_eq!(fate, is_there.then_some(after), "{n}");
        }
    }
}
