//! A value that changes during a run at times which are known before: a parameter with its
//! [changes](crate::ApplicationKind::change).

use quell_units::Time;

/// A value, and what it becomes.
#[derive(Debug, Clone)]
pub(crate) struct TimedValue<T> {
    value: T,
    /// Later values, the latest first.
    later: Vec<(Time, T)>,
}

impl<T: Copy> TimedValue<T> {
    /// A value that never changes.
    pub(crate) const fn new(value: T) -> Self {
        Self {
            value,
            later: Vec::new(),
        }
    }

    /// The value becomes `to` at `at`. These times never fall.
    pub(crate) fn change(&mut self, at: Time, to: T) {
        self.later.insert(0, (at, to));
    }

    /// The value at `at`, which never falls.
    #[inline]
    pub(crate) fn at(&mut self, at: Time) -> T {
        while let Some(&(from, value)) = self.later.last()
            && from <= at
        {
            self.value = value;
            self.later.pop();
        }
        self.value
    }

    /// Whether nothing follows the value that was asked for last.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.later.is_empty()
    }

    /// End of something that begins at `from` and has `left` parts. `span` is how long this many
    /// parts take under a value, [`Time::MAX`] where they never pass; `parts` is the reverse.
    pub(crate) fn pass(
        &mut self,
        from: Time,
        mut left: u128,
        span: impl Fn(T, u128) -> Time,
        parts: impl Fn(T, Time) -> u128,
    ) -> Time {
        let mut at = from;
        loop {
            let value = self.at(at);
            let end = at + span(value, left);
            let Some(&(until, _)) = self.later.last().filter(|(until, _)| *until < end) else {
                return end;
            };
            left = left.saturating_sub(parts(value, until - at));
            at = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn a_value_holds_until_the_next_and_changes_that_have_passed_are_skipped() {
        let mut value = TimedValue::new(1);
        assert!(value.is_settled());
        for (at, to) in [(10, 2), (20, 3), (20, 4), (30, 5)] {
            value.change(MS(at), to);
        }
        let found: Vec<_> = [0, 9, 10, 19, 20, 29, 35]
            .into_iter()
            .map(|at| value.at(MS(at)))
            .collect();
        assert_eq!(found, [1, 1, 2, 2, 4, 4, 5]);
        assert!(value.is_settled());
    }

    #[test]
    fn what_is_left_at_a_change_passes_at_the_new_pace() {
        // Ten parts of 10 ms, then of 1 ms, then never, then of 2 ms.
        let pass = |from, left| {
            let mut value = TimedValue::new(Some(MS(10)));
            for (at, to) in [(40, Some(MS(1))), (43, None), (100, Some(MS(2)))] {
                value.change(MS(at), to);
            }
            value.pass(
                MS(from),
                left,
                |pace, left| pace.map_or(Time::MAX, |pace| pace * left as u64),
                |pace, time| pace.map_or(0, |pace| (time.as_nanos() / pace.as_nanos()).into()),
            )
        };
        assert_eq!(pass(0, 4), MS(40));
        assert_eq!(pass(0, 7), MS(43));
        assert_eq!(pass(0, 10), MS(106));
        assert_eq!(pass(50, 1), MS(102));
        let mut never = TimedValue::new(());
        assert_eq!(
            never.pass(MS(1), 1, |(), _| Time::MAX, |(), _| 0),
            Time::MAX
        );
    }
}
