//! The web in the simulator: closed forms on idle links, the two tails of lost packets, and what queues do to it.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use quell_measure::{AppSummary, AppTimes, Summary};
use quell_scenario::{Override, Scenario, sim};

/// A run with one group `web`, and with `more` groups.
fn run(link: &str, rtt: &str, app: &str, duration: &str, more: &str) -> Summary {
    let text = format!(
        "schema = 1\nname = \"web\"\n[link]\n{link}\n{more}\n[[group]]\nname = \"web\"\nrtt = \"{rtt}\"\napp = {app}\n\
         [run]\nduration = \"{duration}\"\n"
    );
    let scenario = Scenario::load("web", &text, &[] as &[Override], None)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .scenario;
    let measured = sim::run(&scenario, 1, &AtomicBool::new(false), &mut ());
    measured.unwrap_or_else(|error| panic!("{error}")).summary
}

fn web(summary: &Summary) -> &AppSummary {
    let groups = summary.figures.groups.iter();
    let mut apps = groups.filter_map(|group| group.app.as_ref());
    apps.find(|app| app.kind == "web").unwrap()
}

fn times<'a>(summary: &'a Summary, name: &str) -> &'a AppTimes {
    let times = web(summary).times(name);
    times.unwrap_or_else(|| panic!("{name} of {:?}", web(summary)))
}

fn number(summary: &Summary, name: &str) -> f64 {
    web(summary).number(name).unwrap()
}

fn fifo(mbps: u32) -> String {
    format!("rate = \"{mbps}mbit\"\nqueue = {{ kind = \"fifo\", limit = \"10000p\" }}")
}

/// n packets over an idle link: rounds of slow start that double from ten packets, each ended by what it has to serialise.
fn closed_form(packets: i32, rtt: f64, serialisation: f64) -> f64 {
    let rounds = (1..).find(|r| 10 * (2_i32.pow(*r) - 1) >= packets).unwrap();
    let ended = |r: i32| {
        let behind = packets - 10 * (2_i32.pow(r as u32 - 1) - 1) + r - 1;
        f64::from(r + 1) * rtt + f64::from(behind) * serialisation
    };
    (1..=rounds as i32).map(ended).fold(0.0, f64::max)
}

#[test]
fn an_item_alone_takes_the_time_of_its_closed_form() {
    for (mbps, rtt) in [(40, 7.0), (40, 20.0), (20, 20.0), (100, 20.0)] {
        let serialisation = 12.0 / f64::from(mbps);
        for packets in [1, 10, 11, 30, 70] {
            let size = packets * 1_448;
            let app = format!("{{ kind = \"web\", rate = 1, size = \"{size}B\" }}");
            let summary = run(&fifo(mbps), &format!("{rtt}ms"), &app, "20s", "");
            // The FIN of a full window waits for an ACK.
            let found = times(&summary, "completion_last_byte_ms").min;
            let expected = closed_form(packets, rtt, serialisation);
            println!("{mbps} Mbit/s, {rtt} ms, {packets}: {found:.3}, closed form {expected:.3}");
            // The SYN-ACK is serialised as well, and ends the last round of an initial window exactly.
            let bound = if packets <= 30 { 0.1 } else { 0.03 * expected };
            assert!(
                (found - expected).abs() < bound,
                "{mbps} {rtt} {packets}: {found} {expected}"
            );
        }
    }
}

/// The demonstration's optimum is size/link + 2 RTT.
#[test]
fn normalised_times_of_an_idle_link_have_their_ceiling() {
    let app = "{ kind = \"web\", rate = 1, size = \"100kB\" }";
    let summary = run(&fifo(40), "7ms", app, "60s", "");
    let found = times(&summary, "normalised_from_81kB").max;
    println!("ceiling at 100 kB: {found:.3}, closed form 0.84");
    assert!((found - 0.84).abs() < 0.02, "{found}");
}

/// A flood that fills the link a little too much makes RED drop every packet with one probability, which the queue's own
/// counts tell. First order: the SYN-ACK costs a second, the only data packet with its FIN 0.2 s.
#[test]
fn lost_syns_cost_a_second_and_lost_last_packets_a_fifth() {
    let link = "rate = \"40mbit\"\nqueue = { kind = \"red\", limit = \"400kB\", min = \"20kB\", max = \"200kB\", probability = 0.05 }";
    let flood = "[[group]]\nname = \"flood\"\nrtt = \"7ms\"\napp = { kind = \"cbr\", size = \"1000B\", interval = { mean = \"211us\", stddev = \"60us\" } }";
    let app = "{ kind = \"web\", rate = 200, size = \"1448B\" }";
    let summary = run(link, "7ms", app, "300s", flood);
    let queue = &summary.figures.queues[0];
    let p = queue.dropped as f64 / (queue.packets + queue.dropped) as f64;
    let second = number(&summary, "slower_than_1s");
    let fifth = number(&summary, "slower_than_200ms") - second;
    let items = number(&summary, "completed");
    println!("p = {p:.4}: 1 s {second:.4}, 0.2 s {fifth:.4}, of {items} items");
    assert!((0.004..0.05).contains(&p), "{p}");
    // Four deviations, and the second order.
    let bound = 4.0 * (p / items).sqrt() + 3.0 * p * p + 0.1 * p;
    assert!((second - p).abs() < bound, "{second} {p}");
    assert!((fifth - p).abs() < bound, "{fifth} {p}");
    // The counters of TCP say so too, of each item that was slow.
    for (least, share) in [("1s", second), ("200ms", fifth + second)] {
        let of = |cause| number(&summary, &format!("slow_{least}_{cause}"));
        let causes = ["handshake", "timeout", "probe", "recovery", "unrepaired"].map(of);
        println!("{least}: {causes:?}");
        assert_eq!(causes.iter().sum::<f64>(), (share * items).round());
        assert!(
            (causes[0] / items - second).abs() < 2.0 * p * p,
            "{causes:?}"
        );
        assert_eq!(causes[4], 0.0, "an idle link: {causes:?}");
    }
}

/// M/G/1 processor sharing: an item of size x takes x/(C (1 − ρ)) on average.
#[test]
fn items_share_a_fair_queue_as_jobs_share_a_processor() {
    // CoDel out of the way.
    let link = "rate = \"40mbit\"\nqueue = { kind = \"fq_codel\", limit = \"30000p\", target = \"10s\", interval = \"100s\", memory_limit = \"1GB\" }";
    for (rate, size, load) in [(4.83, 500_000.0, 0.5), (2.415, 1_000_000.0, 0.5)] {
        let app = format!("{{ kind = \"web\", rate = {rate}, size = \"{size}B\" }}");
        let summary = run(link, "1ms", &app, "1000s", "");
        let mean = times(&summary, "completion_ms").mean;
        // With headers.
        let alone = size / 1_448.0 * 1_500.0 * 8.0 / 40e6 * 1e3;
        let slope = mean / alone;
        println!("{size} B at a load of {load}: {slope:.3} ideal times");
        assert!((slope * (1.0 - load) - 1.0).abs() < 0.1, "{slope}");
    }
}

/// Items of two users beside the downloads of the demonstration.
fn beside_downloads(queue: &str, app: &str) -> Summary {
    let link = format!("rate = \"40mbit\"\nqueue = {queue}");
    let downloads = "[[group]]\nname = \"l4s\"\ncount = 4\ncongestion-control = \"dctcp\"\necn = \"ect1\"\nrtt = \"7ms\"\napp = \"bulk\"\n\
        [[group]]\nname = \"classic\"\ncount = 2\nrtt = \"7ms\"\napp = \"bulk\"";
    run(&link, "7ms", app, "60s", downloads)
}

/// The median follows the queue's delay. The 99th percentile does not: where a queue drops more than one packet in a hundred, it is the
/// second that a lost SYN-ACK costs, however short the queue is.
#[test]
fn queues_order_small_items_as_their_delay_does() {
    let app = "{ kind = \"web\", rate = 100 }";
    let p50 = |queue: &str| {
        let summary = beside_downloads(queue, app);
        let found = times(&summary, "completion_from_3kB_ms");
        println!(
            "{queue}: P50, P90, P99 of 3 to 9 kB {:.1}, {:.1}, {:.1} ms",
            found.p50,
            found.p90,
            found.p99.unwrap()
        );
        println!(
            "    0.2 s {:.4}, 1 s {:.4}",
            number(&summary, "slower_than_200ms"),
            number(&summary, "slower_than_1s")
        );
        found.p50
    };
    let tail = p50("{ kind = \"fifo\", limit = \"100ms\" }");
    let pie = p50("\"pie\"");
    let dual = p50("\"dualpi2\"");
    let fair = p50("\"fq_codel\"");
    assert!(tail > 1.5 * pie && tail > 1.5 * dual, "{tail} {pie} {dual}");
    assert!(fair < pie && fair < dual, "{fair} {pie} {dual}");
}

#[test]
fn pages_take_the_rounds_of_their_closed_forms() {
    let page = |objects: u32, protocol: &str| {
        format!(
            "{{ kind = \"web\", model = \"pages\", recipe = \"equal\", objects = {objects}, object-size = \"1000B\", \
             protocol = \"{protocol}\", parse = \"0s\", reading = \"1s\", keep-alive = \"0s\" }}"
        )
    };
    for (objects, protocol, rounds) in [
        (6, "http1", 6.0),
        (26, "http1", 9.0),
        (1, "http2", 4.0),
        (10, "http2", 4.0),
    ] {
        let mut loads = Vec::new();
        for rtt in [10.0, 100.0] {
            let summary = run(
                &fifo(1_000),
                &format!("{rtt}ms"),
                &page(objects, protocol),
                "60s",
                "",
            );
            let load = times(&summary, "page_load_ms");
            println!(
                "{objects} objects, {protocol}, {rtt} ms: {:.2} to {:.2} ms, closed form {}",
                load.min,
                load.max,
                rounds * rtt
            );
            assert!(
                (load.min / (rounds * rtt) - 1.0).abs() < 0.03,
                "{} {}",
                load.min,
                rounds * rtt
            );
            assert_eq!(web(&summary).times("page_load_warm_ms"), None);
            loads.push(load.min);
        }
        // Page load is linear in the RTT, with the rounds as its slope.
        let slope = (loads[1] - loads[0]) / 90.0;
        assert!((slope / rounds - 1.0).abs() < 0.02, "{slope} {rounds}");
    }
}

#[test]
fn a_page_loads_faster_behind_a_short_queue() {
    let app = |more: &str| {
        format!("{{ kind = \"web\", preset = \"median-2024\", reading = \"1s\"{more} }}")
    };
    let p50 = |queue: &str, more: &str| {
        let found = times(&beside_downloads(queue, &app(more)), "page_load_ms").p50;
        println!("{queue}{more}: page load {found:.0} ms");
        found
    };
    let plain = r#", parse = "0s""#;
    let (tail, short) = (
        p50("{ kind = \"fifo\", limit = \"200ms\" }", plain),
        p50("\"fq_codel\"", plain),
    );
    assert!(tail > 1.2 * short, "{tail} {short}");
}

/// The radio buttons of the demonstration: 0, 10 and 100 items per second.
#[test]
fn the_rate_of_items_changes_during_a_run() {
    let app = "{ kind = \"web\", rate = 10, size = \"1kB\" }";
    let changes = [(20, 100), (40, 0), (60, 10)].map(|(at, rate)| {
        format!("[[at]]\ntime = \"{at}s\"\nset = {{ \"group.web.app.rate\" = {rate} }}\n")
    });
    let summary = run(&fifo(40), "7ms", app, "80s", &changes.concat());
    let started = |phase: usize| {
        let group = &summary.phases[phase].figures.groups[0];
        group.app.as_ref().unwrap().number("started").unwrap()
    };
    // Each within four deviations of Poisson arrivals.
    for (phase, expected) in [(0, 200.0_f64), (1, 2_000.0), (2, 0.0), (3, 200.0)] {
        let found = started(phase);
        println!("phase {phase}: {found} items, {expected} on average");
        assert!(
            (found - expected).abs() <= 4.0 * expected.sqrt(),
            "{phase}: {found}"
        );
    }
}

/// The window of a connection begins small and grows as data comes: of short items that is no news.
#[test]
fn growing_windows_of_short_items_are_worth_no_warning() {
    let app = "{ kind = \"web\", rate = 2, size = \"400kB\" }";
    let summary = run(&fifo(100), "50ms", app, "30s", "");
    assert_eq!(summary.warnings, [] as [&str; 0]);
}
