//! TCP options of the segments in flight that have any: SACK blocks, and AccECN's counters.
//!
//! Places are reused, last freed first, so the store grows only to the largest number of such
//! segments in flight at once.

use quell_tcp::{AccEcnOption, SackBlocks, Segment};

/// The options of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    pub(crate) sacks: SackBlocks,
    pub(crate) accecn: AccEcnOption,
}

/// Options, by place.
#[derive(Debug, Default)]
pub(crate) struct OptionStore {
    options: Vec<Options>,
    free: Vec<u32>,
    /// Every packet has a place, because more is remembered of it by that number.
    each: bool,
}

impl OptionStore {
    /// The place of a segment without options.
    pub(crate) const NONE: u32 = u32::MAX;

    /// A store in which every packet has a place, if `each`, whether it has options or not.
    pub(crate) fn of(each: bool) -> Self {
        Self {
            each,
            ..Self::default()
        }
    }

    /// The place of a packet that has no options.
    #[inline]
    pub(crate) fn put_nothing(&mut self) -> u32 {
        if self.each {
            self.keep(Options::default())
        } else {
            Self::NONE
        }
    }

    /// Keeps the options of `segment`, if it has any, and returns their place.
    #[inline]
    pub(crate) fn put(&mut self, segment: &Segment) -> u32 {
        if segment.sacks.is_empty() && !segment.accecn.is_present() {
            self.put_nothing()
        } else {
            self.keep(Options {
                sacks: segment.sacks,
                accecn: segment.accecn,
            })
        }
    }

    fn keep(&mut self, options: Options) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.options[place as usize] = options;
                place
            }
            None => {
                self.options.push(options);
                self.options.len() as u32 - 1
            }
        }
    }

    /// Takes the options at `place` out.
    #[inline]
    pub(crate) fn take(&mut self, place: u32) -> Options {
        if place == Self::NONE {
            return Options::default();
        }
        self.free.push(place);
        self.options[place as usize]
    }

    /// The place of a copy of a packet with this one.
    pub(crate) fn copy(&mut self, place: u32) -> u32 {
        match self.options.get(place as usize) {
            Some(&options) => self.keep(options),
            None => Self::NONE,
        }
    }

    /// Segments in flight that have options.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.options.len() - self.free.len()
    }
}
