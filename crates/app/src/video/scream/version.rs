//! Which SCReAM v2: that of the draft, or that of the program whose shares beside others are published.
//!
//! The rules that move these shares, in this order: how α is averaged, which marks count, the room in the target, and how fast a frame
//! leaves. The rest of the control is the draft's in both.

use quell_units::{Time, words};

use super::{ONE, VIRTUAL_RTT};

words! {
    /// Which SCReAM v2.
    pub enum Version {
        /// The draft of August 2026.
        Draft = "draft",
        /// The authors' program of October 2024, commit 76a298a.
        Record = "2024",
    }
}

/// The differences of the versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRules {
    /// α rises by 2 to the power of minus the first of the distance to the newest part. It falls by the second of itself, or,
    /// without one, as it rises.
    pub gains: (u32, Option<u32>),
    /// A mark between two reactions leads to the next one. Without it only marks of the newest report do.
    pub remembers: bool,
    /// Least time between reactions; an RTT if that is less.
    pub hold: Time,
    /// A reaction is less in an RTT that has several.
    pub splits: bool,
    /// Growth, reaction and what may be in flight depend on how little the queue delay varies.
    pub steadies: bool,
    /// The rate of the window over that of the target.
    pub room: u64,
    /// The rate of a frame's packets over the target.
    pub pace: u64,
}

impl VersionRules {
    /// That of a version.
    pub const fn of(version: Version) -> Self {
        match version {
            Version::Draft => Self {
                gains: (3, Some(7)),
                remembers: true,
                hold: VIRTUAL_RTT,
                splits: true,
                steadies: true,
                room: ONE * 6 / 5,
                pace: ONE * 3 / 2,
            },
            Version::Record => Self {
                gains: (5, None),
                remembers: false,
                hold: Time::from_millis(30),
                splits: false,
                steadies: false,
                room: ONE,
                // Its headroom is 1.5, but it sleeps between bursts of 0.5 ms: in both of its logs (examples/, 986 frames) a
                // frame's packets leave 1.27 times as fast as the target (P10 1.19, P90 1.37).
                pace: ONE * 127 / 100,
            },
        }
    }
}
