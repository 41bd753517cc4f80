//! Scenarios to start from, with comments: `quell new NAME` prints them.
//!
//! Each is a file beside this one. Its figures are realistic, and it says where they come from.

/// A scenario to start from.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Its name on the command line, which is also the scenario's.
    pub name: &'static str,
    /// Its description in a sentence.
    pub summary: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every one.
pub const STARTS: &[Start] = &[
    Start {
        name: "access",
        summary: "A home's access link, 100 Mbit/s down and 20 Mbit/s up, with its uploads and calls.",
        text: include_str!("starts/access.toml"),
    },
    Start {
        name: "home",
        summary: "A household in the evening: downloads and a backup beside a film, a call, a game and a browser.",
        text: include_str!("starts/home.toml"),
    },
    Start {
        name: "lan",
        summary: "A gigabit port of an office switch: file copies, a backup and a call.",
        text: include_str!("starts/lan.toml"),
    },
    Start {
        name: "datacentre",
        summary: "A 10 Gbit/s port of a rack switch: DCTCP, step marking, and many short answers at once.",
        text: include_str!("starts/datacentre.toml"),
    },
    Start {
        name: "satellite",
        summary: "A geostationary satellite, 600 ms away, 50 Mbit/s down and 5 Mbit/s up.",
        text: include_str!("starts/satellite.toml"),
    },
];
