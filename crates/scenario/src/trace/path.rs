//! Traces of what a path does, as a format gives them.

use quell_units::Time;

use crate::path_course::PathCourse;

/// What a format gives: keys of `impair`, and their values line by line, in ns or parts.
pub(super) struct PathRows {
    pub(super) keys: Vec<&'static str>,
    /// From zero on.
    pub(super) times: Vec<Time>,
    pub(super) values: Vec<u64>,
    pub(super) length: Time,
}

impl PathRows {
    pub(super) fn course(self, repeat: bool, offset: Time) -> PathCourse {
        PathCourse {
            keys: self.keys,
            times: self.times.into(),
            values: self.values.into(),
            length: self.length,
            repeat,
            offset,
        }
    }
}
