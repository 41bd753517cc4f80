//! Several links in a row: reading, writing, changes and refusals.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use quell_measure::{Direction, Summary};
use quell_scenario::contract::{Listener, Row, Unwritten};
use quell_scenario::schema::schema;
use quell_scenario::{Hop, Hops, Override, Scenario, World, sim};
use quell_units::{Rate, Time};

const TWO: &str = r#"schema = 1
name = "two"
[[link]]
name = "wifi"
rate = "30mbit"
delay = "2ms"
queue = "fq_codel"
[[link]]
rate = "20mbit"
queue = { kind = "dualpi2", target = "20ms" }
[link.reverse]
rate = "10mbit"
[[group]]
name = "through"
congestion-control = "prague"
rtt = "20ms"
app = "bulk"
[[group]]
name = "cross"
path = ["link2"]
rtt = "20ms"
app = "bulk"
[[group]]
name = "home"
path = ["wifi"]
rtt = "4ms"
app = { kind = "cbr", size = "200B", interval = "20ms" }
[[at]]
time = "2s"
set = { "link.wifi.rate" = "15mbit", "link.link2.queue.target" = "10ms" }
[run]
duration = "4s"
warmup = "1s"
"#;

fn load(text: &str, sets: &[&str]) -> Result<Scenario, String> {
    let sets: Vec<_> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let loaded = Scenario::load("f", text, &sets, Some(World::Sim));
    loaded
        .map(|loaded| loaded.scenario)
        .map_err(|problems| problems.to_string())
}

fn valid(text: &str) -> bool {
    let instance: serde_json::Value = toml::from_str(text).unwrap();
    let schema = jsonschema::draft202012::new(&schema()).unwrap();
    schema.is_valid(&instance)
}

#[test]
fn links_have_names_delays_and_both_directions_and_groups_have_paths() {
    let scenario = load(TWO, &[]).unwrap();
    let links: Vec<_> = scenario
        .links()
        .iter()
        .map(|link| {
            (
                link.name(),
                link.delay,
                link.forward.rate,
                link.reverse.rate,
            )
        })
        .collect();
    let ms = Time::from_millis;
    let mbps = Rate::from_mbps;
    assert_eq!(
        links,
        [
            ("wifi", ms(2), mbps(30), Rate::UNLIMITED),
            ("link2", ms(0), mbps(20), mbps(10)),
        ]
    );
    let hops = |first, last| Hops {
        first: Hop(first),
        last: Hop(last),
    };
    let paths: Vec<Hops> = scenario.groups.iter().map(|group| group.path).collect();
    assert_eq!(paths, [hops(0, 1), hops(1, 1), hops(0, 0)]);
}

#[test]
fn what_is_resolved_reads_back_as_the_same_and_suits_the_schema() {
    let scenario = load(TWO, &[]).unwrap();
    let text = scenario.to_toml();
    let again = load(&text, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(again, scenario);
    assert_eq!(
        (again.to_toml(), again.canonical()),
        (text.clone(), scenario.canonical())
    );
    assert!(valid(TWO) && valid(&text), "{text}");
    let json: serde_json::Value = serde_json::from_str(&scenario.canonical()).unwrap();
    assert_eq!(json["link"][0]["name"], "wifi");
    assert_eq!(json["at"][0]["set"][0][0], "wifi.forward");
}

#[test]
fn a_list_of_one_link_is_the_table() {
    let list = TWO
        .replacen(
            "[[link]]\nrate = \"20mbit\"\nqueue = { kind = \"dualpi2\", target = \"20ms\" }\n",
            "",
            1,
        )
        .replacen("path = [\"link2\"]\n", "", 1)
        .replacen("name = \"wifi\"\n", "", 1)
        .replacen("path = [\"wifi\"]\n", "path = [\"link\"]\n", 1)
        .replacen("delay = \"2ms\"\n", "", 1)
        .replacen("link.wifi.rate", "link.rate", 1)
        .replacen(", \"link.link2.queue.target\" = \"10ms\"", "", 1);
    let table = list.replacen("[[link]]", "[link]", 1);
    let scenario = load(&table, &[]).unwrap();
    assert_eq!(load(&list, &[]).unwrap(), scenario);
    assert!(!scenario.to_toml().contains("[[link]]") && !scenario.to_toml().contains("path"));
    // A name of its own stands in results, and its keys may have it.
    let named = load(
        &table,
        &[
            "link.name=dsl",
            "link.rate=5mbit",
            "group.home.path=[\"dsl\"]",
        ],
    );
    let named = named.unwrap();
    assert_eq!(
        (named.links()[0].name(), named.links()[0].forward.rate),
        ("dsl", Rate::from_mbps(5))
    );
    assert_eq!(
        load(&named.to_toml(), &["link.dsl.rate=5mbit"]).unwrap(),
        named
    );
    assert_ne!(named.canonical(), scenario.canonical());
}

#[test]
fn arguments_name_the_link() {
    let scenario = load(
        TWO,
        &["link.wifi.rate=7mbit", "link.link2.reverse.queue=pie"],
    )
    .unwrap();
    assert_eq!(scenario.links()[0].forward.rate, Rate::from_mbps(7));
    assert_eq!(scenario.links()[1].reverse.queue.kind, "pie");
    let sets = Override::queue("wifi=fifo:limit=50p").unwrap();
    let loaded = Scenario::load("f", TWO, &sets, None).unwrap();
    assert_eq!(loaded.scenario.links()[0].forward.queue.kind, "fifo");
    for (set, expected) in [
        (
            "link.rate=7mbit",
            "there are 2 links, so the key must name one: link.wifi, link.link2",
        ),
        (
            "link.dsl.rate=7mbit",
            "there are 2 links, so the key must name one: link.wifi, link.link2",
        ),
    ] {
        let why = load(TWO, &[set]).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_would_be_right() {
    let cases = [
        (
            "rtt = \"4ms\"",
            "rtt = \"3ms\"",
            "f:26: group.home.rtt = \"3ms\": must be at least 4ms, what the links of its path delay, there and back",
        ),
        (
            "path = [\"link2\"]",
            "path = [\"link3\"]",
            "there is no link link3 (did you mean link2?); links are: wifi, link2",
        ),
        (
            "path = [\"link2\"]",
            "path = [\"link2\", \"wifi\"]",
            "must be links that follow one another, in the order of the file",
        ),
        (
            "path = [\"link2\"]",
            "path = []",
            "is empty; a group crosses at least one link",
        ),
        (
            "path = [\"link2\"]",
            "path = \"link2\"",
            "must be a list of names of links",
        ),
        (
            "name = \"wifi\"",
            "name = \"link2\"",
            "link 1 has this name already",
        ),
        (
            "name = \"wifi\"",
            "name = \"queue\"",
            "is a key of links; choose another name",
        ),
        ("name = \"wifi\"", "name = \"1st\"", "must be a letter"),
        (
            "rate = \"20mbit\"",
            "rate = \"unlimited\"",
            "link.link2.rate = \"unlimited\": must be a rate: data of TCP flows (group cross) goes this way",
        ),
        (
            "link.wifi.rate",
            "link.rate",
            "there are 2 links, so the key must name one: link.wifi, link.link2",
        ),
        (
            "link.wifi.rate",
            "link.wifi.delay",
            "cannot change during a run; what can: link.wifi.rate, link.wifi.reverse.rate, link.wifi.impair.{loss,",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(TWO.contains(from), "{from}");
        let loaded = load(&TWO.replacen(from, to, 1), &[]);
        let why = loaded.map(|_| ()).expect_err(to);
        assert!(why.contains(expected), "{to}: {why}");
    }
    let nobody = "[[link]]\nrate = \"20mbit\"\nqueue = \"fifo\"\nname = \"spare\"\n[[group]]\nname = \"through\"\npath = [\"wifi\", \"link2\"]";
    let why = load(
        &TWO.replacen("[[group]]\nname = \"through\"", nobody, 1),
        &[],
    )
    .unwrap_err();
    assert!(why.contains("no group crosses this link"), "{why}");
    let alone = "schema = 1\nname = \"x\"\n[link]\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\n\
        rtt = \"9ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n";
    let why = load(alone, &[]).unwrap_err();
    assert!(
        why.contains("link.delay = \"1ms\": has no effect on one link"),
        "{why}"
    );
    let why = load("schema = 1\nname = \"x\"\nlink = 7\n", &[]).unwrap_err();
    assert!(why.contains("link = 7: must be a table"), "{why}");
    let mixed = load(
        TWO,
        &["link.link2.bins-per-octave=32", "group.through.value=gold"],
    )
    .unwrap_err();
    assert!(
        mixed.contains("must be 64 as link.wifi.bins-per-octave"),
        "{mixed}"
    );
    for world in [World::Live, World::Virtual] {
        let loaded = Scenario::load("f", TWO, &[], Some(world)).unwrap();
        assert_eq!(loaded.scenario.links.len(), 2);
    }
    let most: String = (0..17)
        .map(|_| "[[link]]\nrate = \"1mbit\"\nqueue = \"fifo\"\n")
        .collect();
    let rest = &TWO[TWO.find("[[group]]").unwrap()..];
    let why = load(&format!("schema = 1\nname = \"m\"\n{most}{rest}"), &[]).unwrap_err();
    assert!(why.contains("at most 16 links are allowed"), "{why}");
}

struct Deaf;
impl Listener for Deaf {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}

fn summary(text: &str, sets: &[&str]) -> Summary {
    let scenario = load(text, sets).unwrap_or_else(|why| panic!("{why}"));
    let stop = AtomicBool::new(false);
    sim::run(&scenario, 1, &stop, &mut Deaf).unwrap().summary
}

#[test]
fn results_tell_what_each_link_did_and_what_a_group_met_at_each() {
    let summary = summary(TWO, &[]);
    let figures = &summary.figures;
    let links: Vec<&str> = figures.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(links, ["wifi", "link2"]);
    assert_eq!(figures.link.rate_bps, figures.links[0].rate_bps);
    // 30 Mbit/s for one second of the three, and 15 for two.
    assert_eq!(figures.links[0].rate_bps, Some(20_000_000));
    let reverse = figures.links[1].reverse.unwrap();
    assert_eq!(reverse.rate_bps, Some(10_000_000));
    assert!(figures.links[1].utilisation > 0.9 && figures.links[1].bottleneck_share > 0.5);
    let through = &figures.groups[0];
    let places: Vec<&str> = through.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(places, ["wifi", "link2"]);
    assert_eq!(
        through.marked,
        through.links.iter().map(|link| link.marked).sum::<u64>()
    );
    assert_eq!(through.packets, through.links[1].packets);
    // The mean of the sums is the sum of the means, but for packets between the links at the ends of the measurement.
    let whole = through.delay_ms.unwrap().mean;
    let parts: f64 = through
        .links
        .iter()
        .map(|link| link.delay_ms.unwrap().mean)
        .sum();
    assert!((whole - parts).abs() < 0.02 * parts, "{whole} {parts}");
    let home = &figures.groups[2];
    assert_eq!(
        (home.links.len(), home.delay_ms),
        (1, home.links[0].delay_ms)
    );
    assert_eq!(
        figures
            .queues
            .iter()
            .filter(|queue| queue.hop == "link2")
            .count(),
        3
    );
    assert_eq!(summary.phases.len(), 2);
    assert_eq!(
        summary.phases[1].figures.links[0].rate_bps,
        Some(15_000_000)
    );
}

#[test]
fn each_key_of_several_links_changes_what_is_measured() {
    let json = |sets: &[&str]| serde_json::to_string(&summary(TWO, sets).figures).unwrap();
    let mut all = vec![json(&[])];
    for set in [
        "link.wifi.delay=1ms",
        "link.wifi.name=air",
        "link.wifi.rate=10mbit",
        "link.wifi.queue=fifo",
        "link.wifi.overhead=100",
        "link.wifi.mpu=1500B",
        "link.link2.rate=10mbit",
        "link.link2.reverse.rate=300kbit",
        "link.link2.queue.target=5ms",
        "link.wifi.impair.loss=0.01",
        "link.link2.impair.loss=0.01",
        "link.link2.reverse.impair.loss=0.01",
        "link.wifi.access.packets=8",
        "group.cross.path=[\"wifi\", \"link2\"]",
    ] {
        // What names the link otherwise goes along.
        let text = match set {
            "link.wifi.name=air" => TWO
                .replace("link.wifi", "link.air")
                .replace("[\"wifi\"]", "[\"air\"]"),
            _ => TWO.to_owned(),
        };
        let scenario = load(&text, &[set]);
        let stop = AtomicBool::new(false);
        let measured = sim::run(&scenario.unwrap(), 1, &stop, &mut Deaf).unwrap();
        all.push(serde_json::to_string(&measured.summary.figures).unwrap());
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// As in `quell_sim`'s tests, with all that a result holds.
#[test]
fn a_second_link_without_a_limit_gives_the_figures_of_one() {
    let one = "schema = 1\nname = \"one\"\n[[link]]\nname = \"a\"\nrate = \"20mbit\"\nqueue = \"dualpi2\"\n[[group]]\nname = \"a\"\n\
        count = 2\ncongestion-control = \"prague\"\nrtt = \"10ms\"\napp = \"bulk\"\n[[group]]\nname = \"b\"\nrtt = \"20ms\"\napp = \"bulk\"\n\
        [[group]]\nname = \"c\"\nrtt = \"10ms\"\napp = { kind = \"cbr\", size = \"200B\", interval = \"5ms\" }\n\
        [[at]]\ntime = \"3s\"\nset = { \"link.a.rate\" = \"10mbit\" }\n[run]\nduration = \"6s\"\nwarmup = \"1s\"\nsettle = \"500ms\"\n";
    let two = one.replacen(
        "[[group]]",
        "[[link]]\nname = \"b\"\nrate = \"unlimited\"\nqueue = \"fifo\"\n[[group]]",
        1,
    );
    let one = summary(one, &[]);
    let two = summary(&two, &[]);
    for (one, two) in [
        (&one.figures, &two.figures),
        (&one.phases[0].figures, &two.phases[0].figures),
        (&one.phases[1].figures, &two.phases[1].figures),
    ] {
        assert_eq!(two.link, one.link);
        assert_eq!(two.queues[..2], one.queues[..]);
        for (one, two) in one.groups.iter().zip(&two.groups) {
            let mut two = two.clone();
            assert_eq!(two.links.len(), 2);
            assert_eq!(two.links[0].packets, one.packets);
            assert_eq!(two.links[0].delay_ms, one.delay_ms);
            two.links.clear();
            // Over both links a packet counts behind the last one: what is in service at an end of a stretch is not there yet.
            assert!(two.packets.abs_diff(one.packets) <= 1, "{two:?} {one:?}");
            let [mean, alone] = [&two, one].map(|group| group.delay_ms.unwrap().mean);
            assert!((mean - alone).abs() <= 0.02 * alone, "{mean} {alone}");
            (two.packets, two.delay_ms) = (one.packets, one.delay_ms);
            assert_eq!(two, *one);
        }
    }
}

#[test]
fn data_that_goes_back_crosses_the_links_the_other_way_round() {
    let text = TWO
        .replace("app = \"bulk\"", "app = \"bulk\"\ndirection = \"reverse\"")
        .replace(
            "rate = \"30mbit\"",
            "rate = \"30mbit\"\nreverse = { rate = \"6mbit\", queue = \"pie\" }",
        );
    let figures = summary(&text, &[]).figures;
    let through = &figures.groups[0];
    let places: Vec<&str> = through.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(places, ["link2", "wifi"]);
    assert_eq!(through.packets, through.links[1].packets);
    assert!(through.delay_ms.unwrap().mean > through.links[1].delay_ms.unwrap().mean);
    let queues = figures
        .queues
        .iter()
        .filter(|queue| queue.direction == Direction::Reverse);
    assert_eq!(
        queues.map(|queue| &queue.hop[..]).collect::<Vec<_>>(),
        ["wifi", "link2"]
    );
    let goodput: f64 = through.goodput_bps.iter().sum();
    assert!(goodput < 6e6, "{goodput}");
}

#[test]
fn each_link_moves_and_loses_by_itself() {
    let traced = "rate = { data = \"time_s,rate_mbps\\n0,30\\n0.5,10\\n1,\\n\" }";
    let text = TWO.replacen("rate = \"30mbit\"", traced, 1);
    let why = load(&text, &[]).unwrap_err();
    assert!(
        why.contains("cannot be set: the link follows a trace"),
        "{why}"
    );
    let text = text.replacen("\"link.wifi.rate\" = \"15mbit\", ", "", 1);
    let figures = summary(
        &text,
        &["link.wifi.impair.loss=0.2", "group.home.app.interval=1ms"],
    )
    .figures;
    let [wifi, access] = &figures.links[..] else {
        panic!("{figures:?}");
    };
    // Half of the time 30 Mbit/s, and half of it 10; the other link has its own rate.
    assert_eq!(
        (wifi.rate_bps, access.rate_bps),
        (Some(20_000_000), Some(20_000_000))
    );
    assert_eq!(access.lost_outside, 0);
    // Of 3 000 packets and more: a standard deviation is 0.7 %.
    let sent = figures.groups[0].links[0].packets + figures.groups[2].packets;
    let lost = wifi.lost_outside as f64 / sent as f64;
    assert!(
        sent > 3_000 && (0.17..0.23).contains(&lost),
        "{lost} {sent}"
    );
    let through = &figures.groups[0];
    assert!(through.links[1].packets < through.links[0].packets);
    assert!(through.retransmitted > Some(0));
}
