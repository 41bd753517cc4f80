//! The measurements that an experiment file may name.

/// What is measured of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Summary,
    Bursts,
    Items,
    Path,
    Rounds,
    Sizes,
    Cubic,
}

impl Measure {
    pub(crate) const ALL: [(&'static str, Self); 7] = [
        ("summary", Self::Summary),
        ("bursts", Self::Bursts),
        ("items", Self::Items),
        ("path", Self::Path),
        ("rounds", Self::Rounds),
        ("sizes", Self::Sizes),
        ("cubic", Self::Cubic),
    ];
}
