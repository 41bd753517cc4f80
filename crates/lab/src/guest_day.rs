//! The time of day in a guest.
//!
//! Nothing that is measured depends on it, but certificates do: one that was made today is not valid yet in a guest whose clock begins in the past.
//! So a guest for programs gets a day that is still ahead, and all others the same instant always. Every clock begins at 22:13:20 UTC.
//!
//! The kernel stirs its command line and its first time of day into its random pool (`random_init_early` and `random_init`,
//! drivers/char/random.c), so every guest starts at [`START`], and its first process puts the clock forward. `quell_clock` in the kernels that
//! quell builds does that without a trace; clock_settime(2), for the others, adds the time to the pool (`do_settimeofday64`,
//! kernel/time/timekeeping.c), so that what a program or a congestion control draws is another number on another day.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, Timespec, clock_settime};
use serde::{Deserialize, Serialize};

/// What every guest's clock shows when its kernel starts: 14 November 2023, 22:13:20 UTC. Any instant works that is always the same.
pub(crate) const START: Duration = Duration::from_secs(1_700_000_000);

const SECONDS_PER_DAY: u64 = 86_400;
/// Where a kernel takes minutes to put its clock forward by.
const FORWARD: &str = "/sys/module/quell_clock/parameters/forward";

/// The day on which a guest begins, at 22:13:20 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestDay {
    /// Days after that of [`START`].
    days: u32,
}

impl GuestDay {
    /// That of every guest without programs.
    pub const FIRST: Self = Self { days: 0 };

    /// The first one that begins after `now`: what was valid at `now`, and is for a day, is valid then.
    pub fn after(now: SystemTime) -> Self {
        let since = now.duration_since(SystemTime::UNIX_EPOCH + START);
        let seconds = since.unwrap_or_default().as_secs();
        Self {
            days: u32::try_from(seconds / SECONDS_PER_DAY + 1).unwrap_or(u32::MAX),
        }
    }

    /// Seconds since 1970 at its begin.
    pub fn unix_seconds(self) -> u64 {
        START.as_secs() + u64::from(self.days) * SECONDS_PER_DAY
    }

    /// Puts the clock of this machine forward to it. The machine is a guest that has just started.
    pub(crate) fn set(self) -> io::Result<()> {
        if self == Self::FIRST {
            return Ok(());
        }
        let minutes = u64::from(self.days) * SECONDS_PER_DAY / 60;
        match fs::write(FORWARD, minutes.to_string()) {
            // The guest's files are not its own to make, so a file that is missing cannot be made either.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::PermissionDenied
                ) => {}
            outcome => return outcome,
        }
        let forward = Duration::from_secs(u64::from(self.days) * SECONDS_PER_DAY);
        let now = SystemTime::now() + forward;
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let time = Timespec::try_from(now).map_err(|_| ErrorKind::InvalidInput)?;
        Ok(clock_settime(ClockId::Realtime, time)?)
    }
}

/// Days from 1 March of year 0 to 1 January 1970, in the calendar of ISO 8601.
const TO_1970: u64 = 719_468;
/// Days of 400 years, after which the calendar repeats.
const ERA: u64 = 146_097;

/// A day of ISO 8601, `2026-11-28`.
impl fmt::Display for GuestDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.unix_seconds() / SECONDS_PER_DAY + TO_1970;
        let (era, day) = (days / ERA, days % ERA);
        // Years begin in March, so that the day that some lack is their last.
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let of_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        write!(f, "{:04}-{month:02}-{of_month:02}", era * 400 + year + next)
    }
}

/// Why a text is no day of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a day such as 2026-11-28, from 2023-11-14 to 2091-12-02")]
pub struct NoDay;

/// The last day: a kernel puts its clock forward by 68 years at most.
const LAST: u32 = 24_855;

impl FromStr for GuestDay {
    type Err = NoDay;

    fn from_str(text: &str) -> Result<Self, NoDay> {
        // Each day has one text, so the one that is looked for is found by counting.
        let days = (0..=LAST).map(|days| Self { days });
        let mut days = days.skip_while(|day| day.to_string() != text);
        days.next().ok_or(NoDay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_and_read_as_in_iso_8601() {
        // Computed by date(1): date -u -d 2028-02-29 +%s, and so on.
        for (text, seconds) in [
            ("2023-11-14", 1_699_920_000),
            ("2023-12-31", 1_703_980_800),
            ("2024-01-01", 1_704_067_200),
            ("2024-02-29", 1_709_164_800),
            ("2026-11-28", 1_795_824_000),
            ("2028-03-01", 1_835_481_600),
            ("2091-12-02", 3_847_392_000),
        ] {
            let day: GuestDay = text.parse().unwrap();
            // 22:13:20
            assert_eq!(day.unix_seconds(), seconds + 80_000, "{text}");
            assert_eq!(day.to_string(), text);
        }
        for text in [
            "2023-11-13",
            "2091-12-03",
            "2026-02-29",
            "2026-2-1",
            "today",
            "",
        ] {
            assert_eq!(text.parse::<GuestDay>(), Err(NoDay), "{text}");
        }
    }

    #[test]
    fn what_becomes_valid_now_for_a_day_is_valid_in_the_guest() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for now in [
            0,
            1_700_000_000,
            1_700_086_399,
            1_700_086_400,
            1_795_824_000,
        ] {
            let begin = GuestDay::after(at(now)).unix_seconds();
            assert!(begin > now, "{now}");
            assert!(
                now < START.as_secs() || begin <= now + SECONDS_PER_DAY,
                "{now}"
            );
        }
    }
}
