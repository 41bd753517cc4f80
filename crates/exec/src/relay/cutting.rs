//! Cuts connections of a relay.

use std::sync::atomic::Ordering;

use quell_units::Time;

use super::Work;
use super::cut::{Cut, How};
use super::tally::Counts;
use super::tcp::Pair;

impl Work {
    /// Does what was asked meanwhile.
    pub(super) fn cut_asked(&mut self) {
        while let Ok((cut, answer)) = self.cuts.try_recv() {
            // Whoever asked may have gone.
            let _ = answer.send(self.cut(cut));
        }
    }

    /// Does what was planned for now.
    pub(super) fn cut_planned(&mut self) {
        let now = self.now();
        while let Some((_, cut)) = self.planned.pop_front_if(|(at, _)| *at <= now) {
            self.cut(cut);
        }
    }

    fn cut(&mut self, cut: Cut) -> usize {
        if let How::New(treatment) = cut.how {
            self.newcomers.treat(cut.filter, treatment);
            return 0;
        }
        let now = self.now();
        let is_meant = |pair: &Pair| {
            let age = now - Time::from_nanos(pair.began);
            !pair.is_silent && cut.filter.fits(pair.way()) && age >= cut.older
        };
        let pairs = self.pairs.iter().enumerate();
        let meant = pairs.filter(|(_, pair)| pair.as_ref().is_some_and(is_meant));
        let places: Vec<usize> = meant.map(|(place, _)| place).collect();
        for &place in &places {
            let pair = self.pairs.get_mut(place).and_then(Option::as_mut);
            match (cut.how, pair) {
                (How::Rst, _) => self.close(place, "cut"),
                (How::Fin, Some(pair)) => {
                    pair.end();
                    self.advance(place);
                }
                (How::Silent, Some(pair)) => {
                    let was_sent = pair.is_sent();
                    pair.is_silent = true;
                    if !was_sent {
                        let unfinished = &self.tally.counts.unfinished;
                        unfinished.fetch_sub(1, Ordering::Relaxed);
                    }
                }
                (How::New(_), _) | (_, None) => {}
            }
        }
        Counts::add(&self.tally.counts.cut, places.len() as u64);
        places.len()
    }
}
