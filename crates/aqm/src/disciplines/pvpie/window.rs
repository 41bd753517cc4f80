//! A window of recent arrivals: the bytes of each packet value, and the bytes that were signalled.
//!
//! A sliding window to the packet: each arrival is remembered with its time until it is older than the window. Of traffic that brings
//! more than [`MOST`] packets in a window the last [`MOST`] count: a share of them is known to 0.1 % of everything (1/(2·√MOST)).

use alloc::collections::VecDeque;

use crate::units::{Bytes, Probability, Time};
use crate::value::ValueHistogram;

/// Arrivals that are remembered, 16 bytes each: 4 MiB at most.
pub(super) const MOST: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct Window {
    span: Time,
    arrivals: VecDeque<Arrival>,
    bytes: ValueHistogram,
    signalled: u64,
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Time,
    len: u32,
    value: u16,
    signalled: bool,
}

impl Window {
    /// The last `span`, of values up to `highest`.
    pub(super) fn new(span: Time, highest: u16) -> Self {
        Self {
            span,
            arrivals: VecDeque::new(),
            bytes: ValueHistogram::new(highest),
            signalled: 0,
        }
    }
    pub(super) fn set_span(&mut self, span: Time) {
        self.span = span;
    }

    /// A packet arrives now. The two oldest are forgotten if they may be, so that the window stays small between two updates.
    #[inline]
    pub(super) fn count(&mut self, now: Time, value: u16, len: Bytes, signalled: bool) {
        let is_full = self.arrivals.len() >= MOST;
        for force in [is_full, false] {
            self.forget_oldest(now, force);
        }
        // No packet is as long.
        let len = u32::try_from(len.get()).unwrap_or(u32::MAX);
        self.arrivals.push_back(Arrival {
            at: now,
            len,
            value,
            signalled,
        });
        self.bytes.add(value, len.into());
        if signalled {
            self.signalled += u64::from(len);
        }
    }

    /// Forgets everything older than the window.
    pub(super) fn forget(&mut self, now: Time) {
        while self.forget_oldest(now, false) {}
    }

    #[inline]
    fn forget_oldest(&mut self, now: Time, force: bool) -> bool {
        match self.arrivals.front() {
            Some(&oldest) if now - oldest.at > self.span || force => {
                self.arrivals.pop_front();
                self.bytes.remove(oldest.value, oldest.len.into());
                if oldest.signalled {
                    self.signalled -= u64::from(oldest.len);
                }
                true
            }
            _ => false,
        }
    }

    /// The eCDF.
    pub(super) fn bytes(&self) -> &ValueHistogram {
        &self.bytes
    }
    /// The part of all bytes that was signalled; none of nothing.
    pub(super) fn signalled(&self) -> Probability {
        match self.bytes.total() {
            0 => Probability::ZERO,
            total => Probability::ratio(self.signalled, total),
        }
    }
    /// The lowest and the highest value; `None` if nothing arrived.
    pub(super) fn range(&self) -> Option<(u16, u16)> {
        let lowest = self.bytes.lowest()?;
        Some((lowest, self.bytes.quantile(Probability::ONE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::vec::Vec;

    /// Against a plain list that is searched.
    #[test]
    fn it_holds_what_came_in_the_last_span_and_nothing_else() {
        let span = Time::from_micros(500);
        let mut window = Window::new(span, 4_095);
        /// When, which value, how long, whether signalled.
        type One = (Time, u16, u64, bool);
        let mut all: Vec<One> = Vec::new();
        let (mut random, mut now) = (Random::new(2, "test"), Time::ZERO);
        for n in 0..5_000 {
            // Now and then a pause, in which everything grows old.
            let gap = if n % 500 == 0 { 700_000 } else { 5_000 };
            now += Time::from_nanos(random.below(gap));
            let (value, len) = (1 + random.below(40) as u16 * 100, 40 + random.below(1_460));
            let signalled = random.below(3) == 0;
            window.count(now, value, Bytes::new(len), signalled);
            all.push((now, value, len, signalled));
            window.forget(now);
            all.retain(|&(at, ..)| now - at <= span);
            let bytes =
                |of: &dyn Fn(&One) -> bool| all.iter().filter(|a| of(a)).map(|a| a.2).sum::<u64>();
            let total = bytes(&|_| true);
            assert_eq!(window.bytes().total(), total);
            assert_eq!(window.bytes().bytes_of(value), bytes(&|a| a.1 == value));
            let exact = Probability::ratio(bytes(&|a| a.3), total);
            assert_eq!(window.signalled(), exact);
            let values = || all.iter().map(|a| a.1);
            assert_eq!(window.range(), values().min().zip(values().max()));
        }
        window.forget(now + span);
        assert_eq!(
            window.range(),
            Some((all[all.len() - 1].1, all[all.len() - 1].1))
        );
        window.forget(now + span + Time::from_nanos(1));
        assert_eq!(
            (window.range(), window.signalled()),
            (None, Probability::ZERO)
        );
    }

    #[test]
    fn it_stays_bounded_and_then_holds_the_latest() {
        let mut window = Window::new(Time::from_secs(1), 10);
        for n in 0..MOST + 7 {
            let value = if n < 7 { 1 } else { 2 };
            window.count(Time::ZERO, value, Bytes::new(100), n < 8);
        }
        assert_eq!(window.arrivals.len(), MOST);
        assert_eq!(window.range(), Some((2, 2)));
        assert_eq!(window.bytes().total(), 100 * MOST as u64);
    }
}
