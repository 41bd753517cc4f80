//! The JSON Schema and the checks come from the same tables, and agree.
#![allow(clippy::unwrap_used)]

use std::fs;

use quell_scenario::Scenario;
use quell_scenario::schema::schema;
use serde_json::Value;

fn valid(text: &str) -> bool {
    let instance: Value = toml::from_str(text).unwrap();
    jsonschema::draft202012::new(&schema())
        .unwrap()
        .is_valid(&instance)
}

fn with(queue: &str, group: &str, app: &str, run: &str) -> String {
    format!(
        "schema = 1\nname = \"x\"\n[link]\nrate = \"40mbit\"\n[link.queue]\n{queue}\n[[group]]\nname = \"a\"\nrtt = \"7ms\"\n\
         app = {{ {app} }}\n{group}\n[run]\nduration = \"10s\"\n{run}\n"
    )
}

const FIFO: &str = "kind = \"fifo\"";
const BULK: &str = "kind = \"bulk\"";

#[test]
fn the_schema_is_one_of_its_draft() {
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

#[test]
fn every_shipped_scenario_is_valid_as_written_and_as_resolved() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/dualq2015");
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(valid(&text), "{text}");
        let resolved = Scenario::parse(&text).unwrap().to_toml();
        assert!(valid(&resolved), "{resolved}");
    }
}

#[test]
fn schema_and_checker_agree_over_a_grid() {
    let queues = [
        FIFO,
        "kind = \"fifo\"\nlimit = \"64kB\"",
        "kind = \"fifo\"\nlimit = \"100p\"",
        "kind = \"fifo\"\nlimit = 100",
        "kind = \"fifo\"\nlimit = \"100\"",
        "kind = \"fifo\"\nlimit = \"100ms\"",
        "kind = \"fifo\"\nlimit = \"100 mss\"",
        "kind = \"fifo\"\nrule = \"odd\"",
        "kind = \"fifo\"\ncount_in_service = true",
        "kind = \"fifo\"\ncount_in_service = \"true\"",
        "kind = \"fifo\"\ntarget = \"5ms\"",
        "kind = \"dualpi2\"\ntarget = \"5ms\"",
        "kind = \"dualpi2\"\ntarget = 5",
        "kind = \"dualpi2\"\nlimit = 100",
        "kind = \"dualpi2\"\nlimit = \"100 packets\"",
        "kind = \"dualpi2\"\nalpha = 0.16",
        "kind = \"dualpi2\"\nalpha = \"0.16Hz\"",
        "kind = \"dualpi2\"\nalpha = true",
        "kind = \"dualpi2\"\ncoupling_factor = 0",
        "kind = \"dualpi2\"\ncoupling_factor = 255",
        "kind = \"dualpi2\"\ncoupling_factor = 256",
        "kind = \"dualpi2\"\nl4s_ect = false",
        "kind = \"dualpi2\"\nstep_thresh = 5",
        "kind = \"dualpi2\"\nstep_thresh = \"5p\"",
        "kind = \"dualpi2\"\nstep_thresh = \"1 ms\"",
        "kind = \"dualpi2\"\nstep_thresh = \"1kB\"",
        "kind = \"nosuch\"",
        "limit = \"100ms\"",
    ];
    let groups = [
        "",
        "count = 1",
        "count = 100000",
        "count = 100001",
        "count = 1.5",
        "count = \"1\"",
        "ecn = \"ect1\"",
        "ecn = \"ECT1\"",
        "ecn = 1",
        "congestion-control = \"cubic\"",
        "congestion-control = { name = \"cubic\" }",
        "congestion-control = 1",
        "congestion-control = { name = \"cubic\", beta = 0.8 }",
        "congestion-control = { beta = 0.8 }",
        "congestion-control = { name = \"cubic\", beta = 1 }",
        "congestion-control = { name = \"cubic\", beta = 0 }",
        "congestion-control = { name = \"cubic\", beta = \"0.8\" }",
        "congestion-control = { name = \"cubic\", beta = 0.9999 }",
        "congestion-control = { name = \"cubic\", variant = \"linux_3\", hystart = false }",
        "congestion-control = { name = \"cubic\", variant = \"linux_9\" }",
        "congestion-control = { name = \"cubic\", growth = \"acks\" }",
        "congestion-control = { name = \"reno\", growth = \"acks\" }",
        "congestion-control = { growth = \"acks\" }",
        "congestion-control = { name = \"dctcp\", shift_g = 4, alpha_on_init = 1 }",
        "congestion-control = { name = \"dctcp\", shift_g = 11 }",
        "congestion-control = { name = \"dctcp\", alpha_on_init = 1.01 }",
        "congestion-control = { name = \"bbr\" }",
        "congestion-control = { name = \"bbr\", beta = 0.8 }",
        "congestion-control = { name = 1 }",
        "congestion-control = {}",
        "direction = \"reverse\"",
        "direction = \"up\"",
        "start = \"1s\"",
        "start = \"1.5 s\"",
        "start = \"1,5s\"",
        "start = \".5s\"",
        "start = 1",
        "stop = \"9s\"",
        "pacing = true",
        "value = \"gold\"",
        "value = \"none\"",
        "value = \"linear\"",
        "value = 1",
        "value = \"1\"",
        "value = [\"gold\"]",
        "value = {}",
        "value = { function = \"silver\" }",
        "value = { function = [\"silver\"] }",
        "value = { function = [] }",
        "value = { function = \"none\" }",
        "value = { function = 1 }",
        "value = { marker = \"random\", time_constant = \"50ms\" }",
        "value = { time_constant = \"50ms\", per = \"aggregate\" }",
        "value = { time_constant = 50 }",
        "value = { per = \"packet\" }",
        "value = { marker = \"none\" }",
        "value = { marker = \"random\", colour = \"red\" }",
        "gso = false",
        "gso = \"false\"",
        "pacing = 1",
        "access-rate = \"1gbit\"",
        "access-rate = \"unlimited\"",
        "access-rate = 1",
        "colour = \"red\"",
    ];
    let apps = [
        BULK,
        "kind = \"cbr\"",
        "kind = \"cbr\", size = \"186B\"",
        "kind = \"cbr\", size = \"186B\", interval = \"20ms\"",
        "kind = \"cbr\", size = \"1kB\", interval = { mean = \"20ms\" }",
        "kind = \"cbr\", size = \"1kB\", interval = {}",
        "kind = \"cbr\", size = \"186\", interval = \"20ms\"",
        "kind = \"cbr\", size = \"186B\", interval = \"20\"",
        "kind = \"bulk\", size = \"186B\"",
        "kind = \"cbr\", size = \"186B\", interval = \"20ms\", on = \"1s\"",
        "kind = \"transfer\"",
        "kind = \"transfer\", size = \"100kB\"",
        "kind = \"transfer\", size = 100",
        "kind = \"transfer\", size = \"100kB\", repeat = \"0s\"",
        "kind = \"transfer\", size = \"100kB\", repeat = 1",
        "kind = \"transfer\", size = \"100kB\", repeat = {}",
        "kind = \"transfer\", size = \"100kB\", repeat = { mean = \"1s\" }",
        "kind = \"transfer\", size = \"100kB\", repeat = { mean = \"1s\", distribution = \"exponential\" }",
        "kind = \"transfer\", size = \"100kB\", repeat = { mean = \"1s\", distribution = \"normal\" }",
        "kind = \"transfer\", size = \"100kB\", repeat = { mean = \"1s\", stddev = \"1s\" }",
        "kind = \"transfer\", size = \"100kB\", interval = \"1s\"",
        "kind = \"on-off\", on = \"1s\"",
        "kind = \"on-off\", on = \"1s\", off = \"1s\"",
        "kind = \"on-off\", on = { mean = \"1s\", distribution = \"fixed\" }, off = \"1s\"",
        "kind = \"on-off\", on = \"1s\", off = \"1s\", size = \"186B\"",
        "kind = \"on-off\", on = \"1s\", off = \"1s\", interval = \"20ms\"",
        "kind = \"on-off\", on = \"1s\", off = \"1s\", size = \"186B\", interval = \"20ms\"",
        "kind = \"on-off\", on = \"1s\", off = \"1s\", repeat = \"20ms\"",
        "kind = \"has\"",
        "kind = \"has\", ladder = \"smooth\"",
        "kind = \"has\", ladder = \"smoth\"",
        "kind = \"has\", ladder = [\"1mbit\", \"3mbit\"]",
        "kind = \"has\", ladder = \"1mbit, 3mbit\"",
        "kind = \"has\", ladder = [1000000]",
        "kind = \"has\", ladder = []",
        "kind = \"has\", preset = \"fixed-chunks\", abr = \"bola-e\"",
        "kind = \"has\", abr = \"bola\"",
        "kind = \"web\"",
        "kind = \"web\", preset = \"ccafct\", rate = 2.5",
        "kind = \"web\", preset = \"ccafct2\"",
        "kind = \"web\", size = \"2kB\"",
        "kind = \"web\", size = 2000",
        "kind = \"web\", size = { pareto = 0.9 }",
        "kind = \"web\", size = { pareto = 0.9, min = \"1kB\", max = \"1MB\" }",
        "kind = \"web\", size = { p5 = \"64KiB\", p95 = \"2MiB\" }",
        "kind = \"web\", size = { median = \"1kB\", sigma = 9 }",
        "kind = \"web\", size = { empirical = [[\"1kB\", 1]] }",
        "kind = \"web\", size = { empirical = [[\"1kB\", 1, 2]] }",
        "kind = \"web\", tls = \"1.1\"",
        "kind = \"bulk\", on = \"1s\"",
        "kind = \"web\"",
        "size = \"186B\"",
    ];
    let runs = [
        "",
        "seeds = [1, 2]",
        "seeds = []",
        "seeds = [1, 1]",
        "seeds = [-1]",
        "seeds = 1",
        "seeds = [\"1\"]",
        "warmup = \"1s\"",
        "warmup = \"1\"",
        "interval = \"10ms\"",
        "until = \"1s\"",
    ];
    let mut texts = Vec::new();
    texts.extend(queues.iter().map(|queue| with(queue, "", BULK, "")));
    texts.extend(groups.iter().map(|group| with(FIFO, group, BULK, "")));
    texts.extend(apps.iter().map(|app| with(FIFO, "", app, "")));
    texts.extend(runs.iter().map(|run| with(FIFO, "", BULK, run)));
    let good = texts[0].clone();
    for (from, to) in [
        ("schema = 1", "schema = 2"),
        ("schema = 1", ""),
        ("name = \"x\"", "name = \"a b\""),
        ("name = \"x\"", "name = \"1-x\""),
        ("\"40mbit\"", "40"),
        ("\"40mbit\"", "\"40Mbit\""),
        ("\"40mbit\"", "\"40mbps\""),
        ("\"40mbit\"", "\"unlimited\""),
        (
            "[link.queue]",
            "[link.reverse]\nrate = \"unlimited\"\n[link.queue]",
        ),
        ("[link.queue]", "[link.reverse]\nrat = 1\n[link.queue]"),
        ("[link.queue]", "overhead = 14\nmpu = \"64B\"\n[link.queue]"),
        ("[link.queue]", "overhead = 1001\n[link.queue]"),
        (
            "[run]",
            "[[at]]\ntime = \"5s\"\nset = { \"link.rate\" = \"1mbit\" }\n[run]",
        ),
        ("[run]", "[[at]]\ntime = \"5s\"\n[run]"),
        ("[run]", "[[at]]\ntime = \"5s\"\nset = {}\n[run]"),
        ("rtt = \"7ms\"", ""),
        ("duration = \"10s\"", ""),
        ("\"7ms\"", "\"µs\""),
        ("\"7ms\"", "\"7µs\""),
        ("\"7ms\"", "\" 7_0 ms \""),
        ("\"7ms\"", "\"-7ms\""),
        ("\"7ms\"", "\"7e0ms\""),
    ] {
        assert!(good.contains(from), "{from}");
        texts.push(good.replacen(from, to, 1));
    }
    for (name, function) in [
        ("own", "kind = \"inverse\"\nscale = 4"),
        ("own", "kind = \"inverse\"\nscale = 0"),
        ("own", "kind = \"inverse\"\nzero = \"1mbit\""),
        ("own", "kind = \"linear\"\nzero = \"1mbit\"\nvalue = 100"),
        ("own", "kind = \"linear\"\nzero = 1"),
        ("own", "kind = \"rational\"\nvalue = 1"),
        ("own", "kind = \"gold\""),
        ("own", "kind = \"cubic\""),
        ("own", "scale = 2"),
        ("gold", "kind = \"inverse\""),
        ("none", "kind = \"inverse\""),
        ("1st", "kind = \"inverse\""),
        ("own", "kind = \"piecewise\""),
        ("own", "kind = \"inverse\"\npoints = []"),
        (
            "own",
            "kind = \"piecewise\"\npoints = [[\"1mbit\", 9], [\"2mbit\", 1]]",
        ),
        ("own", "kind = \"piecewise\"\npoints = [[\"1mbit\", 9]]"),
        (
            "own",
            "kind = \"piecewise\"\npoints = [[\"1mbit\", 0], [\"2mbit\", 1]]",
        ),
        (
            "own",
            "kind = \"piecewise\"\npoints = [[1, 9], [\"2mbit\", 1]]",
        ),
        (
            "own",
            "kind = \"piecewise\"\npoints = [[\"1mbit\"], [\"2mbit\", 1]]",
        ),
        ("own", "kind = \"piecewise\"\npoints = \"1mbit\""),
    ] {
        texts.push(good.replacen("[run]", &format!("[value.{name}]\n{function}\n[run]"), 1));
    }
    let mut accepted = 0;
    for text in &texts {
        let checked = Scenario::parse(text);
        assert_eq!(valid(text), checked.is_ok(), "{text}\n{checked:?}");
        accepted += usize::from(checked.is_ok());
    }
    assert!(
        accepted > 30 && texts.len() - accepted > 40,
        "{accepted} of {}",
        texts.len()
    );
}
