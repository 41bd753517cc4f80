//! A home's access link: 100 Mbit/s down, 20 Mbit/s up, 20 ms from everything, with the queue in both directions. The link is a usual
//! one of cable or VDSL, the applications are the presets of `docs/reference/applications.md`.

use quell_units::{Rate, Time};

use crate::item::{Content, Item, Run, Setting};
use crate::traffic::{Group, Traffic};

/// Base RTT.
const RTT: Time = Time::from_millis(20);
/// What queues hold: 100 ms at the rate of the link.
const BUFFER: u64 = 833;

/// Every one.
pub const ITEMS: &[Item] = &[
    Item {
        id: "evening",
        source: "quell: scenarios/home/evening.toml",
        weight: "quell",
        title: "two downloads, a backup, a film, a call, a game and a browser",
        content: Content::Runs(Run::new(evening).in_both_ways().with_buffer(BUFFER)),
    },
    Item {
        id: "upload",
        source: "quell",
        weight: "quell",
        title: "four uploads beside a call and a browser",
        content: Content::Runs(Run::new(upload).in_both_ways().with_buffer(BUFFER)),
    },
];

fn line(groups: impl IntoIterator<Item = Group>) -> Traffic {
    Traffic::of(groups)
        .link(Rate::from_bps(100_000_000), BUFFER)
        .reverse(Rate::from_bps(20_000_000))
}

fn cubic(name: &str) -> Group {
    Group::bulk(name, RTT, "cubic")
}

fn marked(name: &str) -> Group {
    Group::new(name, RTT, &format!("\"{name}\"")).with("ecn", "\"ect1\"")
}

fn browser() -> Group {
    let app = "{ kind = \"web\", preset = \"median-2024\" }";
    Group::new("browser", RTT, app).control("cubic")
}

fn evening(_setting: &Setting<'_>) -> Traffic {
    let film = Group::new("film", RTT, "{ kind = \"has\", preset = \"4k\" }");
    line([
        cubic("downloads").count(2),
        cubic("backup").with("direction", "\"reverse\""),
        film.control("cubic"),
        marked("voice"),
        marked("game"),
        browser(),
    ])
}

fn upload(_setting: &Setting<'_>) -> Traffic {
    line([
        cubic("uploads").count(4).with("direction", "\"reverse\""),
        marked("voice"),
        browser(),
    ])
}
