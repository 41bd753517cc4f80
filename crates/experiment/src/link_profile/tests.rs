use std::sync::atomic::AtomicBool;

use quell_lab::Scenario;
use quell_lab::scenario::{Direction, DirectionSpec, sim};
use quell_measure::Summary;
use quell_units::{Bytes, Rate, Time, notation};

use super::*;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text).unwrap()
}

fn run(scenario: &Scenario) -> Summary {
    let never = AtomicBool::new(false);
    sim::run(scenario, 1, &never, &mut ()).unwrap().summary
}

/// Datagrams of this size in both directions, each so often.
fn datagrams(profile: &LinkProfile, rtt: &str, sizes: [(Bytes, Time); 2]) -> String {
    let mut text = format!("{}\n{}", profile.head(), profile.link);
    for (direction, (size, every)) in Direction::BOTH.into_iter().zip(sizes) {
        let way = direction.name();
        text += &format!(
            "\n[[group]]\nname = \"{way}\"\nrtt = \"{rtt}\"\ndirection = \"{way}\"\n\
             app = {{ kind = \"cbr\", size = \"{size}\", interval = \"{every}\" }}\n"
        );
    }
    text + "\n[run]\nduration = \"6s\"\nwarmup = \"1s\"\n"
}

/// The longest random time of a packet in one direction.
fn random(side: &DirectionSpec) -> Time {
    let jitter = side
        .impair
        .as_ref()
        .map_or(Time::ZERO, |impair| impair.jitter);
    let access = side.medium.map(|medium| medium.delay + medium.backoff);
    jitter + access.unwrap_or(Time::ZERO)
}

#[test]
fn every_file_is_a_profile_with_a_name_of_its_own() {
    let mut names: Vec<String> = Vec::new();
    for (file, text) in ALL {
        let profile = LinkProfile::read(file, text).unwrap();
        assert_eq!(*file, format!("{}.toml", profile.name));
        assert_eq!(profile.measured, profile.source != "quell", "{file}");
        let Tree::Table(table) = tree::read(file, text).unwrap().value else {
            panic!("{file}")
        };
        let known = "schema name title aliases source measured rtt notes link";
        for (key, _) in table.iter() {
            assert!(known.split(' ').any(|known| known == key), "{file}: {key}");
        }
        for text in [profile.title, profile.source, profile.notes] {
            assert!(!text.contains(['"', '\\', '\n']), "{text}");
        }
        names.push(profile.name);
        names.extend(profile.aliases);
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert!(names.len() == count && count > 30);
    assert_eq!(
        LinkProfile::named("lighthouse-mobile").unwrap().name,
        "devtools-fast-3g"
    );
    let error = LinkProfile::named("3g-fsat").unwrap_err().to_string();
    assert_eq!(error, "there is no profile 3g-fsat; did you mean 3g-fast?");
    let error = LinkProfile::named("zzzzzz").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no profile zzzzzz (quell profiles lists them)"
    );
}

/// Datagrams at more than the rate fill both directions; what gets through is the rate, within 1 % in 5 s.
#[test]
fn each_profile_carries_its_rates() {
    for profile in LinkProfile::all() {
        let link = &scenario(&profile.scenario()).links[0];
        let sides = [&link.forward, &link.reverse];
        // Many packets on a slow link, and not too many on a fast one.
        let sizes = sides.map(|side| {
            let size = Bytes::new(if side.rate < Rate::from_mbps(10) {
                72
            } else {
                1_500
            });
            let every = side.rate.time_for(size) / 10 * 8;
            (size, every.max(Time::from_micros(10)))
        });
        let summary = run(&scenario(&datagrams(&profile, "1ms", sizes)));
        for (direction, side) in Direction::BOTH.into_iter().zip(sides) {
            let queues = summary.figures.queues.iter();
            let bytes: f64 = queues
                .filter(|queue| queue.direction == direction)
                .map(|queue| queue.bytes as f64 + queue.packets as f64 * f64::from(side.overhead))
                .sum();
            let mut expected = side.rate.as_bps() as f64;
            if let Some(medium) = side.medium {
                // Each access sends so many packets, or for so long, after half of the longest wait.
                let one = side.rate.time_for(Bytes::new(1_500));
                let most = medium.time.as_nanos() / one.as_nanos();
                let sends = (one * most.min(u64::from(medium.packets))).as_nanos() as f64;
                let waits = (medium.delay + medium.backoff / 2).as_nanos() as f64;
                expected *= sends / (sends + waits);
            }
            let share = bytes * 8.0 / 5.0 / expected;
            assert!(
                (0.99..=1.01).contains(&share),
                "{} {direction:?}: {share}",
                profile.name
            );
        }
    }
}

/// A small datagram there and one back take the base RTT and their time on the link, within 1 %; only what is random may add to it.
#[test]
fn each_profile_has_its_base_rtt() {
    for profile in LinkProfile::all() {
        let rtt = notation::time(&profile.rtt).unwrap();
        let size = Bytes::new(48);
        let sizes = [(size, Time::from_millis(50)); 2];
        let scenario = scenario(&datagrams(&profile, &profile.rtt, sizes));
        let summary = run(&scenario);
        let least = |place: usize| {
            let app = summary.figures.groups[place].app.as_ref();
            app.and_then(|app| app.times("one_way_delay_ms"))
                .unwrap()
                .min
        };
        let link = &scenario.links[0];
        let sides = [&link.forward, &link.reverse];
        let wire = |side: &DirectionSpec| {
            let bytes = size + Bytes::new(side.overhead.unsigned_abs().into());
            side.rate.time_for(bytes.max(side.mpu))
        };
        let both = |of: &dyn Fn(&DirectionSpec) -> Time| of(sides[0]) + of(sides[1]);
        let ms = |time: Time| time.as_nanos() as f64 / 1e6;
        let (found, shortest) = (least(0) + least(1), ms(rtt + both(&wire)));
        let longest = shortest + ms(both(&random));
        let is_right = (0.99 * shortest..=1.01 * longest).contains(&found);
        assert!(
            is_right,
            "{}: {found} ms, from {shortest} to {longest}",
            profile.name
        );
    }
}

#[test]
fn the_scenario_of_a_profile_holds_its_link() {
    let profile = LinkProfile::named("loadero-4g").unwrap();
    let whole = scenario(&profile.scenario());
    assert_eq!(whole.groups.len(), 2);
    assert!(
        whole
            .groups
            .iter()
            .all(|group| group.rtt == Time::from_millis(45))
    );
    assert_eq!(whole.links[0].reverse.rate, Rate::from_mbps(50));
    assert_eq!(profile.rates(), "100mbit/50mbit");
    assert!(profile.link_scenario().contains("[exec]\nrtt = \"45ms\"\n"));
}
