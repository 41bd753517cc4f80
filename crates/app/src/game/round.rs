//! The way from a command to the state that shows it.

use std::collections::VecDeque;

use quell_units::Time;

use crate::Content;

/// Number of commands before the newest whose arrival a state reports.
const EARLIER: u64 = 32;
/// Commands that a client remembers at most.
const MOST: usize = 1 << 16;

/// The server's record of the client's commands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Inbox {
    /// The newest command, and when it arrived.
    newest: Option<(u64, Time)>,
    /// Bit i: the server has the one that is i + 1 older.
    earlier: u32,
}

impl Inbox {
    /// Command `number` has arrived.
    pub(crate) fn put(&mut self, number: u64, now: Time) {
        let Some((newest, _)) = self.newest else {
            self.newest = Some((number, now));
            return;
        };
        if let Some(step) = number.checked_sub(newest).filter(|step| *step > 0) {
            // The newest of before is one of the earlier ones now.
            let earlier = (u64::from(self.earlier) << 1 | 1).checked_shl(step as u32 - 1);
            self.earlier = if step > EARLIER {
                0
            } else {
                earlier.unwrap_or(0) as u32
            };
            self.newest = Some((number, now));
        } else if let Some(age) = (newest - number)
            .checked_sub(1)
            .filter(|age| *age < EARLIER)
        {
            self.earlier |= 1 << age;
        }
    }

    /// The contents of a state: the number of the newest command and 1, or 0; in the high half which
    /// earlier ones the server has, in the low one for how many ns it has had the newest, up to 4.29 s.
    pub(crate) fn content(&self, now: Time) -> Content {
        let Some((number, arrived)) = self.newest else {
            return [0; 2];
        };
        let held = (now - arrived).as_nanos().min(u32::MAX.into());
        [number + 1, u64::from(self.earlier) << 32 | held]
    }
}

/// The commands that a state shows for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Time at which the command was sent.
    pub(crate) sent: Time,
    /// For how long the server had it; known of the newest.
    pub(crate) held: Option<Time>,
}

/// The commands that no state has shown yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox {
    /// The number of the first, and when each was sent; `None` once shown.
    first: u64,
    sent: VecDeque<Option<Time>>,
    /// The server has every command before the newest: they travel in order.
    is_ordered: bool,
}

impl Outbox {
    /// For commands that travel in order.
    pub(crate) fn ordered() -> Self {
        Self {
            is_ordered: true,
            ..Self::default()
        }
    }

    /// The next command leaves. Returns how many are given up for it.
    pub(crate) fn put(&mut self, now: Time) -> u64 {
        self.sent.push_back(Some(now));
        self.forget(self.sent.len().saturating_sub(MOST))
    }

    /// A state with this content has arrived. Returns how many commands are lost: the server does not have
    /// them, and it reports them no more.
    pub(crate) fn settle(&mut self, content: Content, mut shown: impl FnMut(Shown)) -> u64 {
        let Some(newest) = content[0].checked_sub(1) else {
            return 0;
        };
        let (earlier, held) = (content[1] >> 32, content[1] & u64::from(u32::MAX));
        if self.is_ordered {
            let count = (newest + 1).saturating_sub(self.first);
            for number in 0..count {
                if let Some(sent) = self.sent.pop_front().flatten() {
                    let held = (number + 1 == count).then(|| Time::from_nanos(held));
                    shown(Shown { sent, held });
                }
            }
            self.first += count;
            return 0;
        }
        for age in (0..=EARLIER).rev() {
            let has = age == 0 || earlier >> (age - 1) & 1 == 1;
            let Some(index) = newest
                .checked_sub(age)
                .and_then(|n| n.checked_sub(self.first))
            else {
                continue;
            };
            let entry = self.sent.get_mut(index as usize).filter(|_| has);
            if let Some(sent) = entry.and_then(Option::take) {
                let held = (age == 0).then(|| Time::from_nanos(held));
                shown(Shown { sent, held });
            }
        }
        let gone = (newest + 1)
            .saturating_sub(EARLIER + 1)
            .saturating_sub(self.first);
        self.forget(gone as usize)
    }

    /// Forgets the first `count`; returns how many of them were never shown.
    fn forget(&mut self, count: usize) -> u64 {
        let count = count.min(self.sent.len());
        self.first += count as u64;
        self.sent.drain(..count).flatten().count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn shown(outbox: &mut Outbox, content: Content) -> (Vec<u64>, u64) {
        let mut sent = Vec::new();
        let lost = outbox.settle(content, |shown| {
            sent.push(shown.sent.as_nanos() / 1_000_000)
        });
        (sent, lost)
    }

    #[test]
    fn a_state_shows_each_command_once_and_what_was_lost_never() {
        let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
        assert_eq!(shown(&mut outbox, inbox.content(ms(0))), (vec![], 0));
        for number in 0..40 {
            assert_eq!(outbox.put(ms(number)), 0);
        }
        // 0, 1 and 3 arrive, 2 is lost; a state that shows 1 is lost.
        for number in [0, 1, 3] {
            inbox.put(number, ms(10 + number));
        }
        let content = inbox.content(ms(20));
        assert_eq!(content, [4, 0b110 << 32 | 7_000_000]);
        assert_eq!(shown(&mut outbox, content), (vec![0, 1, 3], 0));
        assert_eq!(shown(&mut outbox, content), (vec![], 0));
        // Command 2 comes out of order after all; 4 to 38 are lost.
        inbox.put(2, ms(21));
        assert_eq!(shown(&mut outbox, inbox.content(ms(21))), (vec![2], 0));
        inbox.put(39, ms(50));
        // Those that are more than 32 older than 39 are given up: 4, 5 and 6.
        assert_eq!(shown(&mut outbox, inbox.content(ms(50))), (vec![39], 3));
    }

    #[test]
    fn the_newest_command_tells_how_long_the_server_had_it() {
        let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
        outbox.put(ms(1));
        outbox.put(ms(2));
        inbox.put(0, ms(11));
        inbox.put(1, ms(12));
        let mut held = Vec::new();
        outbox.settle(inbox.content(ms(15)), |shown| held.push(shown.held));
        assert_eq!(held, [None, Some(ms(3))]);
    }

    #[test]
    fn in_order_a_state_shows_every_command_up_to_the_newest() {
        let mut outbox = Outbox::ordered();
        for number in 0..100 {
            outbox.put(ms(number));
        }
        let all = |from, to| (from..to).collect::<Vec<u64>>();
        assert_eq!(shown(&mut outbox, [1, 0]), (all(0, 1), 0));
        assert_eq!(shown(&mut outbox, [90, 0]), (all(1, 90), 0));
        assert_eq!(shown(&mut outbox, [90, 0]), (vec![], 0));
    }

    #[test]
    fn a_client_without_answers_does_not_remember_for_ever() {
        let mut outbox = Outbox::default();
        let given_up: u64 = (0..100_000).map(|number| outbox.put(ms(number))).sum();
        assert_eq!(given_up, 100_000 - MOST as u64);
    }
}
