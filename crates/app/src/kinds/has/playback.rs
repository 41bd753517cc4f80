//! The buffer of a player, and what its user sees.
//!
//! Playback begins when the buffer holds enough, stalls at the instant at which it runs dry, and goes
//! on when it holds enough again. All of it is exact to the nanosecond, because the times at which
//! anything can change are computed: nothing ticks. A buffer that is filled at the instant at which it
//! runs dry is no stall.

use std::collections::VecDeque;

use quell_units::Time;

use super::ladder::Ladder;
use super::report::Watched;

/// The state of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Picture {
    /// Nothing has played yet.
    Startup,
    Playing,
    Stalled,
    /// All has been played.
    Over,
}

/// Segments that were downloaded and not played to their end.
#[derive(Debug, Clone)]
pub struct Playback {
    segment: Time,
    /// Enough to begin with.
    startup: Time,
    /// Enough to go on with after a stall.
    resume: Time,
    /// The most that the buffer holds.
    most: Time,
    picture: Picture,
    /// Levels of the segments, the next to be played first.
    held: VecDeque<u8>,
    /// Part of the first that has been played.
    played: Time,
    /// Whether the last segment has been downloaded.
    is_complete: bool,
    /// Level of the segment that was begun last.
    shown: Option<usize>,
    /// Beginning of the session.
    began: Time,
    /// Up to when all has been counted.
    counted: Time,
}

impl Playback {
    /// An empty buffer.
    pub fn new(segment: Time, startup: Time, resume: Time, most: Time) -> Self {
        let room = most.as_nanos() / segment.as_nanos().max(1) + 2;
        Self {
            segment,
            startup,
            resume,
            most,
            picture: Picture::Startup,
            held: VecDeque::with_capacity(room as usize),
            played: Time::ZERO,
            is_complete: false,
            shown: None,
            began: Time::ZERO,
            counted: Time::ZERO,
        }
    }

    /// The session begins.
    pub fn begin(&mut self, now: Time) {
        self.began = now;
        self.counted = now;
    }

    /// Playing time in the buffer.
    pub fn level(&self) -> Time {
        self.segment * self.held.len() as u64 - self.played
    }
    /// Whether the user waits for more.
    pub fn is_stalled(&self) -> bool {
        self.picture == Picture::Stalled
    }
    /// Whether all has been played.
    pub fn is_over(&self) -> bool {
        self.picture == Picture::Over
    }

    /// Plays, or waits, until `now`.
    pub fn advance(&mut self, now: Time, ladder: &Ladder, watched: &mut Watched) {
        let mut left = now - self.counted;
        self.counted += left;
        match self.picture {
            Picture::Over => return,
            Picture::Startup => return watched.waited(left),
            Picture::Stalled => return watched.stalled_on(left),
            Picture::Playing => {}
        }
        watched.played(self.level(), left.min(self.level()));
        while !left.is_zero() {
            let Some(&level) = self.held.front() else {
                break;
            };
            if self.played.is_zero() {
                watched.shown(usize::from(level), self.shown, ladder);
                self.shown = Some(usize::from(level));
            }
            let step = left.min(self.segment - self.played);
            left = left - step;
            self.played += step;
            if self.played == self.segment {
                self.held.pop_front();
                self.played = Time::ZERO;
            }
        }
        if self.held.is_empty() && self.is_complete {
            self.picture = Picture::Over;
        } else if !left.is_zero() {
            self.picture = Picture::Stalled;
            watched.stalled(left);
        }
    }

    /// A segment of this level is there; it is the last one if `is_last`. Call [`Playback::advance`]
    /// first.
    pub fn push(&mut self, level: usize, is_last: bool, watched: &mut Watched) {
        self.held.push_back(level as u8);
        self.is_complete = is_last;
        let enough = match self.picture {
            Picture::Startup => self.startup,
            Picture::Stalled => self.resume,
            Picture::Playing | Picture::Over => return,
        };
        // Without room for another segment there is no more to wait for.
        if self.level() >= enough || self.level() + self.segment > self.most || is_last {
            if self.picture == Picture::Startup {
                watched.started(self.counted - self.began);
            }
            self.picture = Picture::Playing;
        }
    }
}
