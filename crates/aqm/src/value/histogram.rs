//! Bytes per packet value: all that a resource node of Per Packet Value knows of its traffic, and the thresholds that follow from it.
//!
//! Source: the "PV histogram" of the slides "A Congestion Control Independent L4S Scheduler" (ANRW 2020), which do not say how
//! it is made; this form is ours. Values are the 16-bit codes of [`Packet::value`](crate::Packet::value), a larger one is worth more.
//!
//! Two levels, a counter per value and a sum per 256 values, so that a threshold is found in at most 512 steps whatever is inside.
//! A histogram is either of what is there ([`ValueHistogram::add`] and [`ValueHistogram::remove`], exact), or of what came lately
//! ([`ValueHistogram::add`] and [`ValueHistogram::age`], which halves everything). To age touches no counter: what is added later weighs
//! twice as much instead. A group of 256 is brought back to weight 1 when something is added to it after 16 ageings, and each of its counters
//! is then rounded down to whole bytes; that is the only rounding. No allocation but in [`ValueHistogram::new`].
//!
//! Up to 2⁴⁷ bytes between two ageings, and inside, are counted exactly; beyond that counters saturate.

use alloc::boxed::Box;
use alloc::vec;

use crate::units::Probability;

/// Values in a group, as a power of two.
const GROUP_BITS: u32 = 8;
const GROUP: usize = 1 << GROUP_BITS;
const GROUPS: usize = 1 << (u16::BITS - GROUP_BITS);
/// Amounts are compared in units of 2⁻¹⁶ bytes, so that those of groups of all weights up to 2¹⁶ are exact.
const FRACTION_BITS: u32 = 16;

/// The sum of a group's counters.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    sum: u64,
    /// The number of times that the histogram had aged when a byte weighed 1 here.
    since: u64,
}

/// Bytes for each packet value from 0 to a highest one.
#[derive(Debug, Clone)]
pub struct ValueHistogram {
    counters: Box<[u64]>,
    /// One for each that 16 bits can have, so that none has to be looked for beyond the end.
    groups: Box<[Group; GROUPS]>,
    /// The sum of the counters, as long as nothing has aged.
    total: u64,
    age: u64,
    /// The age when something was last added.
    last_added: u64,
}

impl ValueHistogram {
    /// Nothing, for values up to `highest`; larger ones count as `highest`.
    pub fn new(highest: u16) -> Self {
        Self {
            counters: vec![0; usize::from(highest) + 1].into_boxed_slice(),
            groups: Box::new([Group::default(); GROUPS]),
            total: 0,
            age: 0,
            last_added: 0,
        }
    }

    /// The highest value that is distinguished.
    #[inline]
    pub fn highest(&self) -> u16 {
        // At most 2¹⁶ counters.
        (self.counters.len() - 1) as u16
    }

    /// Counts `bytes` of `value` in.
    #[inline]
    pub fn add(&mut self, value: u16, bytes: u64) {
        let value = value.min(self.highest());
        let weight = if self.age == 0 {
            self.total = self.total.saturating_add(bytes);
            1
        } else {
            self.last_added = self.age;
            self.weight(value)
        };
        let amount = bytes.saturating_mul(weight);
        let counter = &mut self.counters[usize::from(value)];
        *counter = counter.saturating_add(amount);
        let group = &mut self.groups[group_of(value)];
        group.sum = group.sum.saturating_add(amount);
    }

    /// Counts out `bytes` of `value` that were counted in before; never more than there are.
    #[inline]
    pub fn remove(&mut self, value: u16, bytes: u64) {
        let value = value.min(self.highest());
        let weight = if self.age == 0 {
            self.total = self.total.saturating_sub(bytes);
            1
        } else {
            self.weight(value)
        };
        let amount = bytes.saturating_mul(weight);
        let counter = &mut self.counters[usize::from(value)];
        debug_assert!(amount <= *counter || self.age > 0, "no counter is negative");
        let amount = amount.min(*counter);
        *counter -= amount;
        let group = &mut self.groups[group_of(value)];
        group.sum = group.sum.saturating_sub(amount);
    }

    /// Halves everything.
    #[inline]
    pub fn age(&mut self) {
        self.age += 1;
    }

    /// All bytes, rounded down. Quick if nothing has aged, else from the sums of the groups.
    #[inline]
    pub fn total(&self) -> u64 {
        if self.age == 0 {
            self.total
        } else {
            self.fine_total() >> FRACTION_BITS
        }
    }

    /// The bytes of `value`, rounded down.
    pub fn bytes_of(&self, value: u16) -> u64 {
        let value = usize::from(value.min(self.highest()));
        fine(
            self.counters[value],
            self.age_of(self.groups[value >> GROUP_BITS]),
        ) >> FRACTION_BITS
    }

    /// The bytes of all values above `value`, rounded down.
    pub fn bytes_above(&self, value: u16) -> u64 {
        let own = usize::from(value.min(self.highest())) >> GROUP_BITS;
        let groups = (own + 1..self.groups.len()).map(|group| self.fine_sum(group));
        let within = self.values(own).filter(|&(of, _)| of > value);
        let amounts = groups.chain(within.map(|(_, amount)| amount));
        amounts.fold(0, u64::saturating_add) >> FRACTION_BITS
    }

    /// The lowest value of which there is something.
    pub fn lowest(&self) -> Option<u16> {
        self.lowest_from(0)
    }

    /// The lowest value from `least` on of which there is something.
    pub fn lowest_from(&self, least: u16) -> Option<u16> {
        let first = usize::from(least) >> GROUP_BITS;
        let mut occupied = (first..self.groups.len()).filter(|&group| self.groups[group].sum > 0);
        occupied.find_map(|group| {
            let mut values = self.values_from(group, least.into());
            values
                .find(|&(_, amount)| amount > 0)
                .map(|(value, _)| value)
        })
    }

    /// The smallest value above which there are at most `limit` bytes: dropping this one and everything below leaves no more than
    /// `limit`. 0, which drops nothing, if that is true of all there is.
    pub fn quantile_from_top(&self, limit: u64) -> u16 {
        if self.age == 0 && self.total <= limit {
            return 0;
        }
        let mut left = to_fine(limit);
        for group in (0..self.groups.len()).rev() {
            match left.checked_sub(self.fine_sum(group)) {
                Some(rest) => left = rest,
                None => {
                    for (value, amount) in self.values(group).rev() {
                        match left.checked_sub(amount) {
                            Some(rest) => left = rest,
                            None => return value,
                        }
                    }
                }
            }
        }
        0
    }

    /// The largest value there is that has, with everything below it, at most `bytes`: dropping it and everything below drops no
    /// more than `bytes`. 0, which drops nothing, if there is none.
    pub fn quantile_from_bottom(&self, bytes: u64) -> u16 {
        self.fine_quantile_from_bottom(to_fine(bytes))
    }

    /// [`ValueHistogram::quantile_from_bottom`] of the share `share` of all bytes.
    pub fn quantile(&self, share: Probability) -> u16 {
        let total = u128::from(self.fine_total());
        if share == Probability::ZERO || total == 0 {
            return 0;
        }
        // Below 2⁶⁴ · 2⁶²; rounded down.
        let part = (total * u128::from(share.raw())) >> Probability::BITS;
        self.fine_quantile_from_bottom(part as u64)
    }

    /// The end of the share `share` of all bytes, counted from the bottom: the value, and the part of its bytes that still belongs to the
    /// share, rounded down. `None` if everything does, or if there is nothing.
    pub fn split(&self, share: Probability) -> Option<(u16, Probability)> {
        let total = u128::from(self.fine_total());
        let mut left = ((total * u128::from(share.raw())) >> Probability::BITS) as u64;
        for group in 0..self.groups.len() {
            match left.checked_sub(self.fine_sum(group)) {
                Some(rest) => left = rest,
                None => {
                    for (value, amount) in self.values(group) {
                        match left.checked_sub(amount) {
                            Some(rest) => left = rest,
                            None => return Some((value, Probability::ratio(left, amount))),
                        }
                    }
                }
            }
        }
        None
    }

    fn fine_quantile_from_bottom(&self, amount: u64) -> u16 {
        let (mut left, mut quantile) = (amount, 0);
        let mut last_passed = None;
        for group in 0..self.groups.len() {
            let sum = self.fine_sum(group);
            if sum <= left {
                left -= sum;
                if sum > 0 {
                    last_passed = Some(group);
                }
                continue;
            }
            for (value, amount) in self.values(group) {
                if amount > left {
                    return self.highest_of(last_passed).max(quantile);
                }
                left -= amount;
                if amount > 0 {
                    quantile = value;
                }
            }
        }
        self.highest_of(last_passed).max(quantile)
    }

    /// The highest value of which there is something in `group`; 0 if none.
    fn highest_of(&self, group: Option<usize>) -> u16 {
        let highest = |group| {
            let mut values = self.values(group).rev();
            values
                .find(|&(_, amount)| amount > 0)
                .map(|(value, _)| value)
        };
        group.and_then(highest).unwrap_or(0)
    }

    /// The values of a group in their order, with how much there is of each in 2⁻¹⁶ bytes.
    fn values(&self, group: usize) -> impl DoubleEndedIterator<Item = (u16, u64)> + '_ {
        self.values_from(group, 0)
    }

    /// [`ValueHistogram::values`] from `least` on.
    fn values_from(
        &self,
        group: usize,
        least: usize,
    ) -> impl DoubleEndedIterator<Item = (u16, u64)> + '_ {
        let age = self.age_of(self.groups[group]);
        let first = group << GROUP_BITS;
        let last = (first + GROUP).min(self.counters.len());
        (first.max(least)..last).map(move |value| (value as u16, fine(self.counters[value], age)))
    }

    fn fine_sum(&self, group: usize) -> u64 {
        fine(self.groups[group].sum, self.age_of(self.groups[group]))
    }

    fn fine_total(&self) -> u64 {
        // What was below 2⁶⁴ units of 2⁻¹⁶ bytes 64 ageings ago, in groups that may be 16 ageings old, is nothing now.
        if self.age - self.last_added > u64::from(u64::BITS + FRACTION_BITS) {
            return 0;
        }
        (0..self.groups.len()).fold(0, |total: u64, group| {
            total.saturating_add(self.fine_sum(group))
        })
    }

    /// The number of times that the histogram has aged since a byte weighed 1 in `group`.
    #[inline]
    fn age_of(&self, group: Group) -> u64 {
        self.age - group.since
    }

    /// The weight of a byte of `value`, at most 2¹⁶.
    #[inline]
    fn weight(&mut self, value: u16) -> u64 {
        let age = self.age_of(self.groups[group_of(value)]);
        if age > u64::from(FRACTION_BITS) {
            self.rescale(group_of(value));
            return 1;
        }
        1 << age
    }

    /// Lets a byte weigh 1 in `group`.
    #[cold]
    fn rescale(&mut self, group: usize) {
        let age = self.age_of(self.groups[group]);
        let last = ((group + 1) << GROUP_BITS).min(self.counters.len());
        let mut sum: u64 = 0;
        for counter in &mut self.counters[group << GROUP_BITS..last] {
            *counter = shifted(*counter, age);
            sum = sum.saturating_add(*counter);
        }
        self.groups[group] = Group {
            sum,
            since: self.age,
        };
    }
}

#[inline]
fn group_of(value: u16) -> usize {
    usize::from(value >> GROUP_BITS)
}

/// `bytes` in units of 2⁻¹⁶ bytes.
fn to_fine(bytes: u64) -> u64 {
    bytes.saturating_mul(1 << FRACTION_BITS)
}

/// An amount that was counted where a byte weighed 1 `age` ageings ago, in units of 2⁻¹⁶ bytes.
#[inline]
fn fine(amount: u64, age: u64) -> u64 {
    match u64::from(FRACTION_BITS).checked_sub(age) {
        Some(more) => amount.saturating_mul(1 << more),
        None => shifted(amount, age - u64::from(FRACTION_BITS)),
    }
}

fn shifted(amount: u64, by: u64) -> u64 {
    if by < u64::from(u64::BITS) {
        amount >> by
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    /// The definitions, computed from a plain list: (value, amount) in rising order of values.
    struct Plain(Vec<(u16, u64)>);

    impl Plain {
        fn of(histogram: &ValueHistogram) -> Self {
            let of = |value| (value, histogram.bytes_of(value));
            Self(
                (0..=histogram.highest())
                    .map(of)
                    .filter(|&(_, n)| n > 0)
                    .collect(),
            )
        }
        fn above(&self, value: u16) -> u64 {
            self.0
                .iter()
                .filter(|&&(v, _)| v > value)
                .map(|&(_, n)| n)
                .sum()
        }
        fn up_to(&self, value: u16) -> u64 {
            self.0
                .iter()
                .filter(|&&(v, _)| v <= value)
                .map(|&(_, n)| n)
                .sum()
        }
        fn top_quantile(&self, limit: u64) -> u16 {
            let mut values = core::iter::once(0).chain(self.0.iter().map(|&(v, _)| v));
            values.find(|&v| self.above(v) <= limit).unwrap()
        }
        fn bottom_quantile(&self, bytes: u64) -> u16 {
            let values = self.0.iter().map(|&(v, _)| v);
            values
                .filter(|&v| self.up_to(v) <= bytes)
                .max()
                .unwrap_or(0)
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Add(u16, u64),
        /// Which of those inside, and how much of it in 256ths.
        Remove(usize, u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let value = prop_oneof![0_u16..600, Just(u16::MAX), any::<u16>()];
        prop::collection::vec(
            prop_oneof![
                3 => (value, 1_u64..9_000).prop_map(|(value, bytes)| Step::Add(value, bytes)),
                2 => (any::<usize>(), 0_u64..=256).prop_map(|(which, part)| Step::Remove(which, part)),
            ],
            1..80,
        )
    }

    proptest! {
            #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn counters_and_quantiles_equal_a_plain_list(
                highest in prop_oneof![Just(u16::MAX), Just(0), Just(255), Just(256), 1_u16..700],
                steps in steps(), limits in prop::collection::vec(0_u64..200_000, 8),
            ) {
                let mut histogram = ValueHistogram::new(highest);
                let mut plain: BTreeMap<u16, u64> = BTreeMap::new();
                for step in steps {
                    match step {
                        Step::Add(value, bytes) => {
                            histogram.add(value, bytes);
                            *plain.entry(value.min(highest)).or_default() += bytes;
                        }
                        Step::Remove(which, part) => {
                            let which = which % plain.len().max(1);
     let Some((&value, bytes)) = plain.iter_mut().nth(which) else {
    continue;
                            };
                            let removed = *bytes * part / 256;
                            *bytes -= removed;
                            histogram.remove(value, removed);
                        }
                    }
                }
                plain.retain(|_, bytes| *bytes > 0);
                let plain = Plain(plain.into_iter().collect());
                prop_assert_eq!(&Plain::of(&histogram).0, &plain.0);
                let total = plain.0.iter().map(|&(_, n)| n).sum::<u64>();
                prop_assert_eq!(histogram.total(), total);
                prop_assert_eq!(histogram.fine_total(), to_fine(total));
                prop_assert_eq!(histogram.lowest(), plain.0.first().map(|&(v, _)| v));
                for least in [0, 1, 255, 256, 599, highest, u16::MAX] {
                    let found = plain.0.iter().map(|&(v, _)| v).find(|&v| v >= least);
                    prop_assert_eq!(histogram.lowest_from(least), found);
                    prop_assert_eq!(histogram.bytes_above(least), plain.above(least));
                }
                for limit in limits.into_iter().chain([0, total, total.saturating_sub(1), u64::MAX]) {
                    prop_assert_eq!(histogram.quantile_from_top(limit), plain.top_quantile(limit));
                    prop_assert_eq!(histogram.quantile_from_bottom(limit), plain.bottom_quantile(limit));
                }
                let one = Probability::ONE.raw();
                for share in [0, 1, one / 3, one / 2, one - 1, one] {
                    let part = (u128::from(total) * u128::from(share)) >> 62;
                    let exact = if share == 0 { 0 } else { plain.bottom_quantile(part as u64) };
                    prop_assert_eq!(histogram.quantile(Probability::from_raw(share)), exact);
                    // What the split takes from the bottom is the share, but for one rounding of its last value.
                    let split = histogram.split(Probability::from_raw(share));
                    prop_assert_eq!(split.is_none(), share == one || total == 0);
                    if let Some((value, of_value)) = split {
                        let bytes = histogram.bytes_of(value) as f64;
                        let below = (plain.up_to(value) as f64) - bytes;
                        let taken = below + bytes * of_value.as_f64();
                        prop_assert!(bytes > 0.0 && of_value < Probability::ONE);
                        prop_assert!((taken - total as f64 * share as f64 / one as f64).abs() < 0.001);
                    }
                }
            }

            /// Against Σ bytes · 2^−age in exact arithmetic: each counter is right to two bytes and its group's sum equals its counters.
            #[test]
            fn ageing_halves_everything_but_for_whole_bytes(
                rounds in prop::collection::vec((prop::collection::vec((0_u16..1_200, 40_u64..9_000), 0..6), 0_u64..24), 1..20),
            ) {
                let mut histogram = ValueHistogram::new(1_023);
                let (mut added, mut now) = (Vec::new(), 0_u64);
                for (adds, ages) in rounds {
                    for (value, bytes) in adds {
                        histogram.add(value, bytes);
                        added.push((value.min(1_023), bytes, now));
                    }
                    for _ in 0..ages {
                        histogram.age();
                    }
                    now += ages;
                    for value in added.iter().map(|&(value, ..)| value) {
                        let of_value = added.iter().filter(|&&(v, ..)| v == value);
                        let exact: f64 = of_value.map(|&(_, n, at)| n as f64 * 0.5_f64.powi((now - at) as i32)).sum();
                        let counted = histogram.bytes_of(value) as f64;
                        prop_assert!(counted <= exact && exact < counted + 2.0, "{counted} {exact}");
                    }
                    for group in 0..=group_of(histogram.highest()) {
                        let stored: u64 = histogram.counters[group << 8..(group + 1) << 8].iter().sum();
                        prop_assert_eq!(stored, histogram.groups[group].sum);
                    }
                }
            }
        }

    #[test]
    fn ageing_keeps_every_quantile_where_it_was() {
        let mut histogram = ValueHistogram::new(u16::MAX);
        for value in (1..60_000).step_by(7) {
            histogram.add(value, 1_500);
        }
        let quantiles = |histogram: &ValueHistogram| {
            let shares = (0..=20).map(|n| Probability::ratio(n, 20));
            shares
                .map(|share| histogram.quantile(share))
                .collect::<Vec<_>>()
        };
        let before = quantiles(&histogram);
        let total = histogram.total();
        for age in 1..=10 {
            histogram.age();
            assert_eq!(quantiles(&histogram), before);
            assert_eq!(histogram.total(), total >> age);
        }
    }

    #[test]
    fn what_is_long_past_is_forgotten_and_nothing_overflows() {
        let mut histogram = ValueHistogram::new(4_095);
        for _ in 0..10 {
            histogram.add(7, u64::MAX);
            assert_eq!(histogram.quantile(Probability::ONE), 7);
        }
        for _ in 0..1_000 {
            histogram.age();
        }
        assert_eq!((histogram.total(), histogram.lowest()), (0, None));
        assert_eq!(histogram.quantile(Probability::ONE), 0);
        histogram.add(9, 1_000);
        assert_eq!((histogram.total(), histogram.lowest()), (1_000, Some(9)));
        assert_eq!(histogram.bytes_of(7), 0);
    }
}
