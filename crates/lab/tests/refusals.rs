//! Wrong scenarios and the exact words in which they are refused.
//!
//! Each case changes one good scenario by replacing some text, so that line numbers are those of [`GOOD`].
#![allow(clippy::unwrap_used)]

use quell_lab::World;
use quell_lab::scenario::{Override, Scenario};

const GOOD: &str = r#"schema = 1
name = "good"
[link]
rate = "40mbit"
[link.queue]
kind = "fifo"
limit = "100ms"
[[group]]
name = "a"
count = 2
congestion-control = "dctcp"
rtt = "7ms"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "7ms"
app = { kind = "cbr", size = "186B", interval = "20ms" }
[[at]]
time = "5s"
set = { "link.rate" = "20mbit" }
[run]
duration = "10s"
"#;

fn refusal(text: &str) -> String {
    match Scenario::load("f.toml", text, &[], Some(World::Live)) {
        Ok(_) => "accepted".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn the_good_scenario_is_good() {
    assert_eq!(refusal(GOOD), "accepted");
}

#[test]
fn each_mistake_is_named_with_file_line_key_what_was_found_and_what_is_allowed() {
    for (from, to, message) in [
        // Syntax.
        (
            "count = 2",
            "count = = 2",
            "f.toml:10: this is not TOML: extra `=`, expected nothing",
        ),
        // Unknown keys.
        (
            "rate = \"40mbit\"",
            "raet = \"40mbit\"",
            "f.toml:4: link.raet = \"40mbit\": unknown key (did you mean rate?); [link] has rate, overhead, mpu, queue, reverse\n\
          f.toml:3: link.rate: is missing; must be a rate from 1kbit to 1tbit",
        ),
        (
            "limit = \"100ms\"",
            "limits = \"100ms\"",
            "f.toml:7: link.queue.limits = \"100ms\": unknown key (did you mean limit?); \"fifo\" has limit, rule, count_in_service",
        ),
        (
            "congestion-control = ",
            "congestion_control = ",
            "f.toml:11: group.a.congestion_control = \"dctcp\": unknown key (did you mean congestion-control?); [[group]] has \
          name, count, congestion-control, ecn, rtt, app, direction, start, stop, access-rate, pacing, gso",
        ),
        (
            "[run]",
            "[ruin]",
            "f.toml:21: ruin = a table: unknown key (did you mean run?); a scenario has schema, name, description, link, group, at, run\n\
          f.toml:1: run: is missing; must be a table [run]",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", betta = 0.8 }",
            "f.toml:11: group.a.congestion-control.betta = 0.8: unknown key (did you mean beta?); \"cubic\" has variant, beta, \
          fast_convergence, tcp_friendliness, hystart",
        ),
        (
            "\"dctcp\"",
            "{ name = \"reno\", beta = 0.8 }",
            "f.toml:11: group.a.congestion-control.beta = 0.8: unknown key (it is an option of cubic); \"reno\" has growth",
        ),
        (
            "\"dctcp\"",
            "{ name = \"bbr\", cwnd_gain = 2 }",
            "f.toml:11: group.a.congestion-control.cwnd_gain = 2: unknown key; bbr is not one of quell's own controls \
          (reno, cubic, dctcp), and the options of a kernel's are its own",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", beta = 717 }",
            "f.toml:11: group.a.congestion-control.beta = 717: must be a fraction from 0.001 to 0.999",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", beta = \"0.8\" }",
            "f.toml:11: group.a.congestion-control.beta = \"0.8\": must be a fraction from 0.001 to 0.999",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", variant = \"linux_9\" }",
            "f.toml:11: group.a.congestion-control.variant = \"linux_9\": must be one of \"linux\", \"linux_3\", \"linux_2_0\", \
          \"rfc_9438\", \"freebsd_2010\"",
        ),
        (
            "\"dctcp\"",
            "{ name = 1 }",
            "f.toml:11: group.a.congestion-control.name = 1: must be a letter, then letters, digits, - and _, 64 at most",
        ),
        // What a kernel cannot be told.
        (
            "\"dctcp\"",
            "{ beta = 0.8, variant = \"linux\", hystart = false }",
            "f.toml:11: group.a.congestion-control.beta = 0.8: the live world runs cubic as the kernel has it and cannot set beta; \
          leave it at its default of 0.7, or use --world sim\n\
          f.toml:11: group.a.congestion-control.hystart = false: the live world runs cubic as the kernel has it and cannot set \
          hystart; leave it at its default of true, or use --world sim",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"bulk\", size = \"1kB\" }",
            "f.toml:13: group.a.app.size = \"1kB\": has an effect only with kind = \"cbr\" or \"transfer\" or \"on-off\"",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", size = \"1kB\", on = \"1s\" }",
            "f.toml:13: group.a.app.on = \"1s\": has an effect only with kind = \"on-off\"",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", sise = \"1kB\" }",
            "f.toml:13: group.a.app.sise = \"1kB\": unknown key (did you mean size?); app has kind, size, interval, repeat, on, off\n\
          f.toml:13: group.a.app.size: is missing; must be an amount of data from 1B to 1000GB",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", size = \"0B\", repeat = \"often\" }",
            "f.toml:13: group.a.app.size = \"0B\": must be an amount of data from 1B to 1000GB\n\
          f.toml:13: group.a.app.repeat = \"often\": must be a time, or a table { mean = \"1s\", distribution = \"exponential\" }",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"on-off\", on = { mean = \"1s\", distribution = \"pareto\" }, off = { mean = 1 } }",
            "f.toml:13: group.a.app.on.distribution = \"pareto\": must be one of \"fixed\", \"exponential\"\n\
          f.toml:13: group.a.app.off.mean = 1: must be a time from 0s to 86400s",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"on-off\", on = \"0s\", off = { mean = \"0s\" } }",
            "f.toml:13: group.a.app.on = \"0s\": must be longer than zero\n\
          f.toml:13: group.a.app.off = a table: must be longer than zero",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"on-off\", on = \"1s\" }",
            "f.toml:13: group.a.app.off: is missing; must be a time, or a table { mean = \"1s\", distribution = \"exponential\" }",
        ),
        (
            "kind = \"cbr\", size = \"186B\", interval",
            "kind = \"on-off\", on = \"1s\", off = \"1s\", interval",
            "f.toml:17: group.voice.app.size: is missing; datagrams have both a size and an interval",
        ),
        (
            "kind = \"cbr\", size = \"186B\", interval = \"20ms\"",
            "kind = \"on-off\", on = \"1s\", off = \"1s\", size = \"186B\"",
            "f.toml:17: group.voice.app.interval: is missing; datagrams have both a size and an interval",
        ),
        (
            "kind = \"cbr\", size = \"186B\"",
            "kind = \"on-off\", on = \"1s\", off = \"1s\", size = \"1501B\"",
            "f.toml:17: group.voice.app.size = \"1501B\": must be an amount of data from 29B to 1500B",
        ),
        (
            "name = \"voice\"\nrtt = \"7ms\"\napp = { kind = \"cbr\"",
            "name = \"voice\"\ncongestion-control = \"cubic\"\nrtt = \"7ms\"\napp = { on = \"1s\", off = \"1s\", kind = \"on-off\"",
            "f.toml:16: group.voice.congestion-control = \"cubic\": has no effect: datagrams are sent whatever the congestion",
        ),
        // What this version cannot honour.
        (
            "count = 2",
            "value = \"gold\"",
            "f.toml:10: group.a.value = \"gold\": is not supported in this version",
        ),
        (
            "count = 2",
            "access-rate = \"1gbit\"",
            "f.toml:10: group.a.access-rate = \"1gbit\": the live world has no access-rate; leave it out, or use --world sim",
        ),
        (
            "count = 2",
            "access-rate = \"0bit\"",
            "f.toml:10: group.a.access-rate = \"0bit\": must be a rate from 1kbit to 1tbit, or unlimited",
        ),
        // What is of senders of TCP only, and what a kernel cannot be told.
        (
            "name = \"voice\"",
            "name = \"voice\"\npacing = true\ngso = false",
            "f.toml:16: group.voice.pacing = true: has no effect: datagrams leave when the application sends them\n\
          f.toml:17: group.voice.gso = false: has no effect: datagrams leave when the application sends them",
        ),
        (
            "\"dctcp\"",
            "\"bbr\"\npacing = false",
            "f.toml:12: group.a.pacing = false: bbr may pace by itself in the live world, which nothing can turn off; leave pacing out",
        ),
        (
            "[[at]]",
            "[[group]]\nname = \"b\"\ngso = false\nrtt = \"7ms\"\napp = { kind = \"bulk\" }\n[[at]]",
            "f.toml:20: group.b.gso = false: must be true as for group a: in the live world all senders of a direction share one interface",
        ),
        // Wrong kinds of values.
        (
            "count = 2",
            "gso = \"on\"",
            "f.toml:10: group.a.gso = \"on\": must be true or false",
        ),
        (
            "rate = \"40mbit\"",
            "rate = 40",
            "f.toml:4: link.rate = 40: must be a rate from 1kbit to 1tbit",
        ),
        (
            "rate = \"40mbit\"",
            "rate = \"40\"",
            "f.toml:4: link.rate = \"40\": must be a rate from 1kbit to 1tbit",
        ),
        (
            "rate = \"40mbit\"",
            "rate = \"unlimited\"",
            "f.toml:4: link.rate = \"unlimited\": must be a rate from 1kbit to 1tbit",
        ),
        (
            "count = 2",
            "count = \"2\"",
            "f.toml:10: group.a.count = \"2\": must be a whole number from 0 to 100000",
        ),
        (
            "count = 2",
            "count = -1",
            "f.toml:10: group.a.count = -1: must be a whole number from 0 to 100000",
        ),
        (
            "count = 2",
            "ecn = \"ect2\"",
            "f.toml:10: group.a.ecn = \"ect2\": must be one of \"off\", \"ect0\", \"ect1\"",
        ),
        (
            "name = \"good\"",
            "name = \"../good\"",
            "f.toml:2: name = \"../good\": must be a letter or digit, then letters, digits, - and _, 64 at most (it names a folder)",
        ),
        (
            "schema = 1",
            "schema = 2",
            "f.toml:1: schema = 2: must be a whole number from 1 to 1",
        ),
        (
            "app = { kind = \"bulk\" }",
            "app = \"bulk\"",
            "f.toml:13: group.a.app = \"bulk\": must be a table",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"web\" }",
            "f.toml:13: group.a.app.kind = \"web\": must be one of \"bulk\", \"cbr\", \"transfer\", \"on-off\"",
        ),
        (
            "duration = \"10s\"",
            "duration = \"10s\"\nseeds = [1, 1]",
            "f.toml:23: run.seeds = a list: must be a list of 1 to 1000 different whole numbers, such as [1, 2, 3]",
        ),
        (
            "[link]",
            "[[link]]",
            "f.toml:3: link = a list: must be a table",
        ),
        (
            "kind = \"fifo\"",
            "kind = \"fifp\"",
            "f.toml:6: link.queue.kind = \"fifp\": must be one of \"fifo\", \"dualpi2\"; did you mean \"fifo\"?",
        ),
        (
            "kind = \"fifo\"",
            "rule = \"linux\"",
            "f.toml:5: link.queue.kind: is missing; must be one of \"fifo\", \"dualpi2\"",
        ),
        (
            "limit = \"100ms\"",
            "limit = 100",
            "f.toml:7: link.queue.limit = 100: must be an amount of data (64kB), a number of packets (100p), or a time at the link's rate (100ms)",
        ),
        // Impossible alone or together.
        (
            "limit = \"100ms\"",
            "limit = \"1kB\"",
            "f.toml:7: link.queue.limit = \"1kB\": is 1kB and never accepts a packet of 1500B",
        ),
        (
            "count = 2",
            "count = 0",
            "f.toml:10: group.a.count = 0: the group never has a flow; give it one, or raise its count in an [[at]]",
        ),
        (
            "count = 2",
            "ecn = \"off\"",
            "f.toml:10: group.a.ecn = \"off\": must be ect0 or ect1: dctcp needs ECN",
        ),
        (
            "count = 2",
            "start = \"4s\"\nstop = \"4s\"",
            "f.toml:11: group.a.stop = \"4s\": must be after start = 4s",
        ),
        (
            "count = 2",
            "start = \"10s\"",
            "f.toml:10: group.a.start = \"10s\": must be before the end of the run at 10s",
        ),
        (
            "count = 2",
            "count = 10_000",
            "f.toml:8: group = 10001 flows: at most 10000 flows are allowed in the live world: \
          each is a pair of the kernel's sockets; --world sim has room for more",
        ),
        (
            "name = \"voice\"",
            "name = \"a\"",
            "f.toml:15: group.2.name = \"a\": group 1 has this name already",
        ),
        (
            "rtt = \"7ms\"\napp = { kind = \"bulk\" }",
            "rtt = \"999us\"\napp = { kind = \"bulk\" }",
            "f.toml:12: group.a.rtt = \"999us\": must be at least 1ms, the smallest RTT of the live world",
        ),
        (
            "size = \"186B\"",
            "size = \"28B\"",
            "f.toml:17: group.voice.app.size = \"28B\": must be an amount of data from 29B to 1500B",
        ),
        (
            "interval = \"20ms\"",
            "interval = \"0s\"",
            "f.toml:17: group.voice.app.interval = \"0s\": must be a time, or a table { mean = \"20ms\", stddev = \"1ms\" }",
        ),
        (
            "name = \"voice\"",
            "name = \"voice\"\ncongestion-control = \"cubic\"",
            "f.toml:16: group.voice.congestion-control = \"cubic\": has no effect: datagrams are sent whatever the congestion",
        ),
        (
            "limit = \"100ms\"",
            "limit = \"1h\"",
            "f.toml:7: link.queue.limit = \"1h\": rate × (RTT + queue) is 18000 MB in flight and the memory budget 1073 MB; \
          lower the rate, the RTT or the queue's limit",
        ),
        (
            "40mbit",
            "1tbit",
            "f.toml:7: link.queue.limit = \"100ms\": rate × (RTT + queue) is 13375 MB in flight and the memory budget 1073 MB; \
          lower the rate, the RTT or the queue's limit",
        ),
        (
            "duration = \"10s\"",
            "duration = \"10s\"\nwarmup = \"9s\"\nsettle = \"1s\"",
            "f.toml:22: run.duration = \"10s\": leaves nothing to measure after the warm-up of 9s and the settling of 1s",
        ),
        // Timed changes.
        (
            "time = \"5s\"",
            "time = \"10s\"",
            "f.toml:19: at.1.time = \"10s\": must be before the end of the run at 10s",
        ),
        (
            "[run]",
            "[[at]]\ntime = \"5s\"\nset = { \"link.rate\" = \"0bit\" }\n[run]",
            "f.toml:22: at.2.time = \"5s\": must be after 5s, the time of the [[at]] before it",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.rate\" = \"1bit\"",
            "f.toml:20: at.1.set.link.rate = \"1bit\": must be a rate from 1kbit to 1tbit, or 0bit for an outage",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.rate\" = \"100kbit\"",
            "f.toml:20: at.1.set.link.rate = \"100kbit\": does not suit the queue: limit = 100ms: is 1250B at 100kbit \
          and never accepts a packet of 1500B",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.overhead\" = 14",
            "f.toml:20: at.1.set.link.overhead = 14: cannot change during a run; what can: link.rate, link.reverse.rate, \
          link.queue.{limit}, link.reverse.queue.{limit}, group.{a, voice}.count",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.queue.rule\" = \"slots\"",
            "f.toml:20: at.1.set.link.queue.rule = \"slots\": cannot change while the queue lives",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"group.b.count\" = 1",
            "f.toml:20: at.1.set.group.b.count = 1: there is no group b; groups are: a, voice",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "",
            "f.toml:20: at.1.set = a table: changes nothing; give at least one key",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(refusal(&GOOD.replacen(from, to, 1)), message, "{to}");
    }
}

#[test]
fn a_scenario_without_groups_is_refused() {
    let text = GOOD.replace("[[group]]\nname = \"a\"", "[[unused]]\nname = \"a\"");
    let (head, tail) = text.split_once("[[unused]]").unwrap();
    let (_, tail) = tail.split_once("[[at]]").unwrap();
    let text = format!("group = []\n{head}[[at]]{tail}");
    assert_eq!(
        refusal(&text),
        "f.toml:1: group: there is no group; a scenario needs at least one [[group]]"
    );
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = GOOD
        .replace("40mbit", "fast")
        .replace("count = 2", "count = 2.5")
        .replace("10s", "soon");
    let lines: Vec<String> = refusal(&text)
        .lines()
        .map(|line| line.split(" = ").next().unwrap().to_owned())
        .collect();
    assert_eq!(
        lines,
        [
            "f.toml:4: link.rate",
            "f.toml:10: group.a.count",
            "f.toml:22: run.duration"
        ]
    );
}

#[test]
fn arguments_change_the_scenario_and_errors_name_the_argument() {
    let load =
        |argument: &str| Scenario::load("f.toml", GOOD, &[Override::set(argument).unwrap()], None);
    for (argument, message) in [
        (
            "link.rate=fast",
            "--set link.rate=fast: link.rate = fast: must be a rate from 1kbit to 1tbit",
        ),
        (
            "link.speed=1mbit",
            "--set link.speed=1mbit: link.speed = 1mbit: unknown key; [link] has rate, overhead, mpu, queue, reverse",
        ),
        (
            "lnik.rate=1mbit",
            "--set lnik.rate=1mbit: lnik = a table: unknown key (did you mean link?); a scenario has schema, name, description, link, group, at, run",
        ),
        (
            "group.b.count=1",
            "--set group.b.count=1: group.b.count: there is no group b; groups are: a, voice",
        ),
        (
            "group.voic.count=1",
            "--set group.voic.count=1: group.voic.count: there is no group voic (did you mean voice?); groups are: a, voice",
        ),
        (
            "group.count=1",
            "--set group.count=1: group.count: must name a group and its key, such as group.NAME.count",
        ),
        (
            "at.1.time=1s",
            "--set at.1.time=1s: at.1.time: timed changes are edited in the file",
        ),
        (
            "name.first=x",
            "--set name.first=x: name.first: name is \"good\" here, not a table",
        ),
        (
            "link..rate=1mbit",
            "--set link..rate=1mbit: link..rate: is not a dotted key such as link.queue.target",
        ),
        (
            "link.queue.limit=1kB",
            "--set link.queue.limit=1kB: link.queue.limit = 1kB: is 1kB and never accepts a packet of 1500B",
        ),
        (
            "group.a.congestion-control.beta=0.8",
            "--set group.a.congestion-control.beta=0.8: group.a.congestion-control.beta = 0.8: unknown key (it is an option of \
          cubic); \"dctcp\" has shift_g, alpha_on_init, feedback",
        ),
        (
            "run.warmup=20s",
            "f.toml:22: run.duration = \"10s\": leaves nothing to measure after the warm-up of 20s",
        ),
    ] {
        assert_eq!(load(argument).unwrap_err().to_string(), message);
    }
    let scenario = load("group.a.count=10").unwrap().scenario;
    assert_eq!(scenario.groups[0].count, 10);
    let scenario = load("link.reverse.rate=5mbit").unwrap().scenario;
    assert_eq!(scenario.link.reverse.rate.to_string(), "5mbit");
    let scenario = load("group.voice.app={ kind = \"bulk\" }")
        .unwrap()
        .scenario;
    assert_eq!(scenario.groups[1].control_name(), Some("cubic"));
}

/// What the live world refuses because of its kernel or its hosts is possible where those do not matter.
#[test]
fn senders_may_differ_where_they_can() {
    let other = "[[group]]\nname = \"b\"\ngso = false\npacing = false\nrtt = \"7ms\"\napp = { kind = \"bulk\" }\n";
    let text = GOOD.replace("[[at]]", &format!("{other}[[at]]"));
    let load = |text: &str, world| Scenario::load("f.toml", text, &[], Some(world));
    let scenario = load(&text, World::Sim).unwrap().scenario;
    let senders: Vec<_> = scenario
        .groups
        .iter()
        .map(|group| (group.pacing, group.gso))
        .collect();
    assert_eq!(senders, [(None, true), (None, true), (Some(false), false)]);
    // Data of the other direction comes from another host.
    let reverse = text.replace("gso = false", "gso = false\ndirection = \"reverse\"");
    assert!(load(&reverse, World::Live).is_ok());
}

/// Access links of the simulator: what they cannot carry, what they hold in memory, and what they make of the link.
#[test]
fn access_links_are_judged_where_they_exist() {
    let load = |access: &[(&str, &str)]| {
        let sets: Vec<Override> = access
            .iter()
            .map(|(key, value)| Override::set(&format!("{key}={value}")).unwrap())
            .collect();
        let loaded = Scenario::load("f.toml", GOOD, &sets, Some(World::Sim));
        loaded.map(|loaded| {
            let warnings = loaded.warnings.iter().map(ToString::to_string);
            let warnings: Vec<String> = warnings
                .filter(|text| text.contains("access-rate"))
                .collect();
            (loaded.scenario, warnings)
        })
    };
    // 186 bytes every 20 ms are 74.4 kbit/s.
    let error = load(&[("group.voice.access-rate", "74kbit")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set group.voice.access-rate=74kbit: group.voice.access-rate = 74kbit: is too slow for datagrams of 186B every 20ms: \
         they would wait longer and longer"
    );
    assert!(load(&[("group.voice.access-rate", "74400bit")]).is_ok());
    // Two senders, and the datagrams without a link of their own.
    let (a, voice) = ("group.a.access-rate", "group.voice.access-rate");
    assert_eq!(load(&[(a, "1mbit")]).unwrap().1, [""; 0]);
    assert_eq!(load(&[(a, "20mbit"), (voice, "1mbit")]).unwrap().1, [""; 0]);
    assert_eq!(
        load(&[(a, "19mbit"), (voice, "1mbit")]).unwrap().1,
        [
            "--set group.a.access-rate=19mbit: group.a.access-rate = 19mbit: the senders' own links carry 39mbit together, less than \
          link.rate = 40mbit: the link is not the bottleneck"
        ]
    );
    // Three bursts of 64 KiB a flow, where the peer is near, and as many of flows that start later.
    let told = simulated(&[
        ("count = 2\n", "count = 90_000\naccess-rate = \"10gbit\"\n"),
        ("rtt = \"7ms\"", "rtt = \"100us\""),
        (
            "set = { \"link.rate\" = \"20mbit\" }",
            "set = { \"group.a.count\" = 0 }\n[[at]]\ntime = \"6s\"\nset = { \"group.a.count\" = 90_000 }",
        ),
    ]);
    assert!(
        told.contains("group = 180001 flows: the run would take ")
            && told.ends_with("lower access rates, or have fewer flows"),
        "{told}"
    );
    let far = [(a, "1mbit"), ("group.a.count", "99999")];
    assert!(load(&far).is_ok());
    assert!(load(&[(a, "10mbit"), ("group.a.count", "9999")]).is_ok());
    let (scenario, _) = load(&[(a, "20mbit")]).unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
}

/// A control given by its name alone, by none, or as a table takes its options from arguments.
#[test]
fn arguments_give_options_to_a_congestion_control() {
    let load = |text: &str, arguments: &[&str]| {
        let sets: Vec<Override> = arguments
            .iter()
            .map(|argument| Override::set(argument).unwrap())
            .collect();
        Scenario::load("f.toml", text, &sets, Some(World::Sim)).map(|loaded| loaded.scenario)
    };
    let changed = |scenario: &Scenario| {
        let control = scenario.groups[0].congestion_control.as_ref().unwrap();
        let options: Vec<String> = control
            .changed()
            .map(|(parameter, value, _)| format!("{} = {value}", parameter.name))
            .collect();
        (control.name().to_owned(), options.join(", "))
    };
    let named = GOOD.replace("\"dctcp\"", "\"cubic\"");
    let silent = GOOD.replace("congestion-control = \"dctcp\"\n", "");
    let tabled = GOOD.replace("\"dctcp\"", "{ name = \"cubic\", hystart = false }");
    let beta = "group.a.congestion-control.beta=0.8";
    for (text, arguments, control, options) in [
        (&named, &[beta][..], "cubic", "beta = 0.8"),
        (&silent, &[beta], "cubic", "beta = 0.8"),
        (&tabled, &[beta], "cubic", "beta = 0.8, hystart = false"),
        (
            &named,
            &["group.a.congestion-control.variant=freebsd_2010"],
            "cubic",
            "variant = freebsd_2010, beta = 0.8, hystart = false",
        ),
        // Another control leaves the options of the file behind, and keeps those of arguments.
        (
            &tabled,
            &["group.a.congestion-control.name=reno"],
            "reno",
            "",
        ),
        (&tabled, &["group.a.congestion-control=dctcp"], "dctcp", ""),
        (
            &tabled,
            &[
                "group.a.congestion-control.growth=acks",
                "group.a.congestion-control.name=reno",
            ],
            "reno",
            "growth = acks",
        ),
    ] {
        let scenario = load(text, arguments).unwrap();
        assert_eq!(
            changed(&scenario),
            (control.to_owned(), options.to_owned()),
            "{arguments:?}"
        );
        // What is written reads back.
        assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
    }
    assert_eq!(
        load(&GOOD.replace("dctcp", "bbr"), &[])
            .unwrap_err()
            .to_string(),
        "f.toml:11: group.a.congestion-control = \"bbr\": the sim world has no such control; it has reno, cubic, dctcp"
    );
}

#[test]
fn another_kind_of_queue_leaves_the_parameters_of_the_file_behind_and_keeps_those_of_arguments() {
    let sets = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| Override::set(text).unwrap())
            .collect::<Vec<_>>()
    };
    let all = sets(&["link.queue.target=5ms", "link.queue.kind=dualpi2"]);
    let queue = Scenario::load("f.toml", GOOD, &all, None)
        .unwrap()
        .scenario
        .link
        .forward
        .queue;
    assert_eq!(
        (queue.kind, queue.settings.is_given("limit")),
        ("dualpi2", false)
    );
    assert_eq!(queue.settings.time("target").to_string(), "5ms");
    let same = sets(&["link.queue.kind=fifo"]);
    let queue = Scenario::load("f.toml", GOOD, &same, None)
        .unwrap()
        .scenario
        .link
        .forward
        .queue;
    assert!(queue.settings.is_given("limit"));
    let queue = Override::queue("dualpi2:target=5ms").unwrap();
    assert_eq!(
        Scenario::load("f.toml", GOOD, &queue, None)
            .unwrap()
            .scenario
            .link
            .forward
            .queue
            .kind,
        "dualpi2"
    );
}

#[test]
fn what_is_probably_a_mistake_is_a_warning() {
    let warnings = |from: &str, to: &str| {
        let text = GOOD
            .replacen(from, to, 1)
            .replace("limit = \"100ms\"\n", "\n");
        let loaded = Scenario::load("f.toml", &text, &[], None).unwrap();
        loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        warnings("kind = \"fifo\"", "kind = \"dualpi2\""),
        [
            "f.toml:8: group.a.ecn = ect0: this scalable group lands in the Classic queue of dualpi2; give it ecn = \"ect1\", \
          or the queue any_ect = true"
        ]
    );
    for good in [
        "kind = \"dualpi2\"\nany_ect = true",
        "kind = \"dualpi2\"\nl4s_ect = false",
    ] {
        assert_eq!(warnings("kind = \"fifo\"", good), [] as [&str; 0]);
    }
    assert_eq!(
        warnings("name = \"good\"", "name = \"good\""),
        [
            "f.toml:8: group.a.ecn = ect0: a fifo never marks, so this scalable group sees only drops"
        ]
    );
    assert_eq!(
        warnings("\"dctcp\"", "\"bbr\""),
        [
            "f.toml:11: group.a.congestion-control = \"bbr\": is not one of quell's own (reno, cubic, dctcp); \
          only a host whose kernel has it can run it"
        ]
    );
    assert_eq!(
        warnings("\"dctcp\"", "\"cubic\"\necn = \"ect1\""),
        [
            "f.toml:12: group.a.ecn = \"ect1\": cubic is not scalable: in an L4S queue it starves, or takes more than its share"
        ]
    );
}

/// What the simulator says of [`GOOD`] with some text replaced.
fn simulated(changes: &[(&str, &str)]) -> String {
    let mut text = GOOD.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    match Scenario::load("f.toml", &text, &[], Some(World::Sim)) {
        Ok(_) => "accepted".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn the_simulator_has_limits_of_its_own() {
    let budget = "the memory budget is 4294 MB; ";
    for (changes, words) in [
        (&[("count = 2", "count = 99_999")][..], &["accepted"][..]),
        (
            &[("count = 2", "count = 100_000")],
            &["f.toml:8: group = 100001 flows: at most 100000 flows are allowed in the sim world"],
        ),
        // The most of the published speed (`docs/speed.md`).
        (
            &[
                ("count = 2", "count = 10_000"),
                ("\"40mbit\"", "\"100gbit\""),
                ("\"100ms\"", "\"40ms\""),
                ("rtt = \"7ms\"", "rtt = \"40ms\""),
            ],
            &["accepted"],
        ),
        // Real frames would not fit; a simulated packet has no content.
        (&[("\"40mbit\"", "\"100gbit\"")], &["accepted"]),
        (
            &[
                ("\"40mbit\"", "\"1tbit\""),
                ("rtt = \"7ms\"", "rtt = \"10s\""),
                ("count = 2", "count = 20"),
            ],
            &[
                "f.toml:4: link.rate = \"1tbit\": the run would take ",
                budget,
                "lower the rate, the RTT or the queue's limit",
            ],
        ),
        // As much counts if it comes later.
        (
            &[
                ("20mbit", "1tbit"),
                ("rtt = \"7ms\"", "rtt = \"10s\""),
                ("count = 2", "count = 20"),
            ],
            &["f.toml:4: link.rate = \"40mbit\": the run would take "],
        ),
        (
            &[
                ("\"100ms\"", "\"1h\""),
                ("\"40mbit\"", "\"40gbit\""),
                ("count = 2", "count = 20"),
            ],
            &["f.toml:7: link.queue.limit = \"1h\": the run would take "],
        ),
        // Two windows of 1 GiB fit, and so does a queue that nobody can fill.
        (
            &[("\"100ms\"", "\"1h\""), ("\"40mbit\"", "\"40gbit\"")],
            &["accepted"],
        ),
        (
            &[
                ("\"100ms\"", "\"1h\""),
                ("\"40mbit\"", "\"40gbit\""),
                (
                    "app = { kind = \"bulk\" }",
                    "app = { kind = \"cbr\", size = \"1kB\", interval = \"1s\" }",
                ),
                ("congestion-control = \"dctcp\"\n", ""),
            ],
            &["accepted"],
        ),
        (
            &[(
                "duration = \"10s\"",
                "duration = \"1d\"\ninterval = \"1ms\"",
            )],
            &["f.toml:22: run.duration = \"1d\": must be a time from 1ms to 86400s"],
        ),
        (
            &[
                ("count = 2", "count = 10_000"),
                (
                    "duration = \"10s\"",
                    "duration = \"24h\"\ninterval = \"1ms\"",
                ),
            ],
            &[
                "f.toml:23: run.interval = \"1ms\": the run would take ",
                budget,
                "have a longer interval, or fewer flows or seeds",
            ],
        ),
        (
            &[("count = 2", "count = 2\ndirection = \"reverse\"")],
            &[
                "link.reverse.rate = unlimited: must be a rate: data of TCP flows (group a) goes this way",
            ],
        ),
    ] {
        let told = simulated(changes);
        for word in words {
            assert!(told.contains(word), "{changes:?}: {told}");
        }
    }
}

#[test]
fn flows_that_changes_start_count() {
    // 500 times 2 000 flows, two thousand after the other.
    let mut changes = String::new();
    for time in 1..500 {
        let (first, second) = (10 * time, 10 * time + 5);
        changes += &format!(
            "[[at]]\ntime = \"{first}ms\"\nset = {{ \"group.a.count\" = 0 }}\n\
             [[at]]\ntime = \"{second}ms\"\nset = {{ \"group.a.count\" = 2000 }}\n"
        );
    }
    let told = simulated(&[
        ("count = 2", "count = 2000"),
        (
            "[[at]]\ntime = \"5s\"\nset = { \"link.rate\" = \"20mbit\" }\n",
            &changes,
        ),
    ]);
    assert!(
        told.contains("group = 1000001 flows: the run would take "),
        "{told}"
    );
}

#[test]
fn arguments_count_as_the_file_does() {
    let set = Override::set("link.rate=1tbit").unwrap();
    let rtt = Override::set("group.a.rtt=10s").unwrap();
    let count = Override::set("group.a.count=20").unwrap();
    let sets = [set, rtt, count];
    let problems = Scenario::load("f.toml", GOOD, &sets, Some(World::Sim)).unwrap_err();
    let told = problems.to_string();
    assert!(
        told.starts_with("--set link.rate=1tbit: link.rate = 1tbit: the run would take "),
        "{told}"
    );
}
