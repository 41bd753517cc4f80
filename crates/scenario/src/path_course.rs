//! What a path does over time: columns of delays, jitter and losses.

use std::fmt::Write as _;
use std::sync::Arc;

use quell_aqm::link_trace::TraceError;
use quell_aqm::path_trace::PathTrace;
use quell_units::Time;
use quell_units::notation::write_fraction;

/// Probabilities are in parts of this.
pub(crate) const PARTS: u64 = 1_000_000;

/// What a path does over time, as a trace says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathCourse {
    /// The keys of `impair` that the trace gives.
    pub keys: Vec<&'static str>,
    /// Times from zero on.
    pub times: Arc<[Time]>,
    /// The values of the keys at each time, one after the other: ns, or millionths.
    pub values: Arc<[u64]>,
    /// The end of the last values.
    pub length: Time,
    /// Whether the trace starts again at its end. Otherwise the last values stay.
    pub repeat: bool,
    /// The place in the trace where the run starts.
    pub offset: Time,
}

impl PathCourse {
    /// The trace as a path plays it, where `step` gives what the path does from the values of the keys.
    ///
    /// # Errors
    ///
    /// Times do not rise, or the trace is too short.
    pub fn played<T: Copy + Default>(
        &self,
        step: impl Fn(&[u64]) -> T,
    ) -> Result<PathTrace<T>, TraceError> {
        let steps = self.rows().map(|(at, values)| (at, step(values)));
        PathTrace::new(steps.collect(), self.length, self.repeat, self.offset)
    }

    pub(crate) fn check(&self) -> Result<(), TraceError> {
        self.played(|_| ()).map(|_| ())
    }

    /// Times, and the values of the keys from then on.
    pub fn rows(&self) -> impl Iterator<Item = (Time, &[u64])> {
        let values = self.values.chunks(self.keys.len().max(1));
        self.times.iter().copied().zip(values)
    }

    /// The table on one line, with the trace as CSV in it, which reads back as the same.
    pub(crate) fn table(&self) -> String {
        let mut data = "time_ns".to_owned();
        // Writing to a String cannot fail.
        for key in &self.keys {
            let unit = if is_time(key) { "_ns" } else { "" };
            let _ = write!(data, ",{key}{unit}");
        }
        for (at, values) in self.rows() {
            let _ = write!(data, "\\n{}", at.as_nanos());
            for (key, value) in self.keys.iter().zip(values) {
                let value = match is_time(key) {
                    true => value.to_string(),
                    false => write_fraction(*value, PARTS),
                };
                let _ = write!(data, ",{value}");
            }
        }
        let separators = ",".repeat(self.keys.len());
        let _ = write!(data, "\\n{}{separators}\\n", self.length.as_nanos());
        let (repeat, offset) = (self.repeat, self.offset);
        format!("{{ repeat = {repeat}, offset = \"{offset}\", data = \"{data}\" }}")
    }

    /// `delay 18ms to 61ms, loss 0 to 4 %; which shrinks once, at most by 5ms (packets keep their order)`.
    pub(crate) fn summary(&self) -> String {
        let mut parts = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            let all = || self.rows().filter_map(|(_, values)| values.get(place));
            let (Some(&low), Some(&high)) = (all().min(), all().max()) else {
                continue;
            };
            let in_words = |value| match is_time(key) {
                true => Time::from_nanos(value).to_string(),
                false => format!("{} %", write_fraction(value, PARTS / 100)),
            };
            let (least, most) = (in_words(low), in_words(high));
            parts.push(match low == high {
                true => format!("{key} {least}"),
                false => format!("{key} {least} to {most}"),
            });
            if *key == "delay" {
                let falls = all().zip(all().skip(1)).map(|(a, b)| a.saturating_sub(*b));
                let falls: Vec<u64> = falls.filter(|fall| *fall > 0).collect();
                if let Some(most) = falls.iter().max() {
                    let most = Time::from_nanos(*most);
                    let often = match falls.len() {
                        1 => "once".to_owned(),
                        count => format!("{count} times"),
                    };
                    parts.push(format!(
                        "which shrinks {often}, at most by {most} (packets keep their order)"
                    ));
                }
            }
        }
        parts.join(", ")
    }
}

/// Whether the values of a key are times.
fn is_time(key: &str) -> bool {
    matches!(key, "delay" | "jitter")
}
