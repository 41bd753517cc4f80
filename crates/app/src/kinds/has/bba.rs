//! BBA-0: the level is a function of the buffer alone.
//!
//! T.-Y. Huang, R. Johari, N. McKeown, M. Trunnell, M. Watson, "A Buffer-Based Approach to Rate
//! Adaptation", SIGCOMM 2014. Up to a reservoir of 3/8 of the buffer (90 of 240 s) the map gives the
//! lowest rate, from 9/10 on the highest, and between them it is a line. The level rises when the map
//! reaches the next rate above, and falls when it reaches the next below.

use super::situation::{Choice, Situation};

/// Beginning and end of the line, in parts of the buffer.
const RESERVOIR: (u128, u128) = (3, 8);
const FULL: (u128, u128) = (9, 10);

pub(super) fn decide(situation: &Situation<'_>) -> Choice {
    let (ladder, last) = (situation.ladder, situation.last);
    let most = u128::from(situation.most.as_nanos());
    let level = u128::from(situation.buffer.as_nanos());
    let (from, to) = (
        most * RESERVOIR.0 / RESERVOIR.1,
        (most * FULL.0 / FULL.1).max(1),
    );
    let (low, high) = (
        u128::from(ladder.rate(0)),
        u128::from(ladder.rate(ladder.top())),
    );
    let above = level.clamp(from, to) - from;
    let map = low + (high - low) * above / (to - from).max(1);
    let is_reached = |level: &usize| u128::from(ladder.rate(*level)) <= map;
    let quality = if last < ladder.top() && is_reached(&(last + 1)) {
        (0..ladder.levels()).rev().find(is_reached).unwrap_or(0)
    } else if last > 0 && map <= u128::from(ladder.rate(last - 1)) {
        // The lowest level whose rate is not below the map.
        let not_below = |level: &usize| u128::from(ladder.rate(*level)) >= map;
        (0..ladder.levels()).find(not_below).unwrap_or(0)
    } else {
        last
    };
    Choice::at_once(quality)
}
