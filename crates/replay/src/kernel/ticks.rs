//! When the guest's kernel ticks, from `/proc/timer_list` (`kernel/time/timer_list.c`).

use quell_units::Time;

use crate::model::{HZ, PHASE};

/// Ticks whose number is a multiple of this are multiples on each level of the timer wheel that a script's times reach.
const ROUND: u64 = 512;
/// Time between two ticks, in nanoseconds.
const PERIOD: u64 = 1_000_000_000 / HZ as u64;

/// An instant of CLOCK_MONOTONIC, `PHASE` behind a tick whose number is a multiple of [`ROUND`], after the instant that the list shows.
/// `None` where the list has not what it takes: high-resolution timers, and a tick that has been stopped once.
pub(super) fn beginning(list: &str) -> Option<Time> {
    let number = |before: &str| -> Option<u64> {
        let (_, rest) = list.split_once(before)?;
        let digits = rest.trim_start_matches([' ', ':', '\t']);
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    let now = number("now at ")?;
    let stopped = number(".last_tick")?;
    let jiffies = number("\njiffies: ")?;
    if stopped == 0 {
        return None;
    }
    // The last tick before now has the number `jiffies`.
    let phase = stopped % PERIOD;
    let last = now - (now + PERIOD - phase) % PERIOD;
    let ahead = ROUND - jiffies % ROUND;
    Some(Time::from_nanos(last + ahead * PERIOD) + PHASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.12 in a guest; shortened.
    const LIST: &str = "Timer List Version: v0.10\nHRTIMER_MAX_CLOCK_BASES: 8\nnow at 1023500000 nsecs\n\ncpu: 0\n  .nohz           : 1\n\
                        .last_tick      : 1010000000 nsecs\n  .tick_stopped   : 0\njiffies: 4294892550\n";

    #[test]
    fn a_script_begins_behind_a_round_tick() {
        // Ticks are at 2 ms and every 4 ms from then on; the last one was at 1 022 ms and has the number 4 294 892 550, which is 6 behind
        // a multiple of 512.
        let tick = 1_022 + (512 - 4_294_892_550_u64 % 512) * 4;
        assert_eq!(beginning(LIST), Some(Time::from_millis(tick + 1)));
        assert_eq!(beginning(&LIST.replace("1010000000", "0")), None);
        assert_eq!(beginning("now at 5 nsecs\n"), None);
    }
}
