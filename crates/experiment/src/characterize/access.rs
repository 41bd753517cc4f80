//! A home's access link: the profile's rate down, a fifth of it up, 20 ms from everything if the profile does not say, with the queue in
//! both directions. 100 and 20 Mbit/s are a usual line of cable or VDSL; the applications are the presets of
//! `docs/reference/applications.md`.

use quell_units::{Rate, Time};

use crate::characterize::profile::Profile;
use crate::characterize::test_case::{Content, Run, Setting, TestCase};
use crate::characterize::traffic::{Group, Traffic};

/// Base RTT of a home that is near what it uses.
const RTT: Time = Time::from_millis(20);
/// The rate down is so many times that up.
const ASYMMETRY: u64 = 5;

/// Base RTT of every flow.
pub fn rtt(profile: &Profile) -> Time {
    profile.asked_rtt.unwrap_or(RTT)
}

/// The home's path downwards and upwards.
pub fn paths(profile: &Profile) -> [Profile; 2] {
    let down = Profile {
        rtt: rtt(profile),
        ..profile.clone()
    };
    let up = down.at_rate(up(profile));
    [down, up]
}

fn up(profile: &Profile) -> Rate {
    Rate::from_bps(profile.rate.as_bps() / ASYMMETRY)
}

/// Every one.
pub const TEST_CASES: &[TestCase] = &[
    TestCase {
        id: "evening",
        source: "quell: scenarios/home/evening.toml",
        weight: "quell",
        title: "two downloads, a backup, a film, a call, a game and a browser",
        content: Content::Runs(Run::new(evening).at_home()),
    },
    TestCase {
        id: "upload",
        source: "quell",
        weight: "quell",
        title: "four uploads beside a call and a browser",
        content: Content::Runs(Run::new(upload).at_home()),
    },
];

fn line(setting: &Setting<'_>, groups: impl IntoIterator<Item = Group>) -> Traffic {
    Traffic::of(groups).reverse(up(setting.profile))
}

fn cubic(setting: &Setting<'_>, name: &str) -> Group {
    Group::bulk(name, rtt(setting.profile), "cubic")
}

fn marked(setting: &Setting<'_>, name: &str) -> Group {
    Group::new(name, rtt(setting.profile), &format!("\"{name}\"")).with("ecn", "\"ect1\"")
}

fn browser(setting: &Setting<'_>) -> Group {
    let app = "{ kind = \"web\", preset = \"median-2024\" }";
    Group::new("browser", rtt(setting.profile), app).control("cubic")
}

fn evening(setting: &Setting<'_>) -> Traffic {
    let app = "{ kind = \"has\", preset = \"4k\" }";
    let film = Group::new("film", rtt(setting.profile), app);
    let groups = [
        cubic(setting, "downloads").count(2),
        cubic(setting, "backup").with("direction", "\"reverse\""),
        film.control("cubic"),
        marked(setting, "voice"),
        marked(setting, "game"),
        browser(setting),
    ];
    line(setting, groups)
}

fn upload(setting: &Setting<'_>) -> Traffic {
    let uploads = cubic(setting, "uploads").count(4);
    let groups = [
        uploads.with("direction", "\"reverse\""),
        marked(setting, "voice"),
        browser(setting),
    ];
    line(setting, groups)
}
