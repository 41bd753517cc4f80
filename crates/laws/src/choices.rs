//! Choices made by random bytes, which shrink where they break a law.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use quell_units::Time;

/// Choices out of bytes; zero when they have run out.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn byte(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u64::from(*first)
    }
    /// A big-endian number of `bytes` bytes.
    pub fn number(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | self.byte())
    }
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.byte() as usize % all.len()]
    }
    pub fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }
    /// A time from nothing to seconds, each order of magnitude as likely as the others.
    pub fn time(&mut self) -> Time {
        let shift = self.byte() % 26;
        Time::from_nanos(self.number(2) << shift >> 8)
    }
}

/// Calls `law` with `cases` lists of up to `most` bytes. If it panics, the shortest such list is in the message.
pub(crate) fn random_bytes(cases: u32, most: usize, law: impl Fn(&[u8])) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let lists = prop::collection::vec(any::<u8>(), 1..most);
    let outcome = TestRunner::new(config).run(&lists, |bytes| {
        law(&bytes);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
