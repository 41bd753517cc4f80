//! One mistake at a time, and several.

use super::*;

#[test]
fn the_good_scenario_is_good() {
    assert_eq!(refusal(GOOD), "accepted");
}

#[test]
fn each_mistake_is_named_with_file_line_key_what_was_found_and_what_is_allowed() {
    let listed = |names: &mut dyn Iterator<Item = &'static str>| -> String {
        let quoted: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        quoted.join(", ")
    };
    let kinds = listed(&mut quell_aqm::disciplines::KINDS.iter().map(|entry| entry.name));
    let applications = listed(&mut quell_app::NAMES.iter().copied());
    let sized = quell_app::KINDS.iter().filter(|kind| {
        let mut rows = kind.parameters.iter();
        rows.any(|row| row.name == "size")
    });
    let sized: Vec<String> = sized.map(|kind| format!("\"{}\"", kind.name)).collect();
    let sized = sized.join(" or ");
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
            "f.toml:3: link.rate: is missing; must be a rate from 1kbit to 1tbit\n\
          f.toml:4: link.raet = \"40mbit\": unknown key (did you mean rate?); [link] has name, rate, overhead, mpu, bins-per-octave, access, impair, delay, remark, values, queue, reverse",
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
          name, count, congestion-control, ecn, rtt, receiver, app, direction, path, start, stop, access-rate, value, pacing, gso, initial-window, mss",
        ),
        (
            "[run]",
            "[ruin]",
            "f.toml:1: run: is missing; must be a table [run]\n\
          f.toml:21: ruin = a table: unknown key (did you mean run?); a scenario has schema, name, description, link, value, group, at, expect, run",
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
            "f.toml:11: group.a.congestion-control.beta = 0.8: unknown key (it is an option of cubic, bbr2); \"reno\" has growth",
        ),
        (
            "\"dctcp\"",
            "{ name = \"bbr\", cwnd_gain = 2 }",
            "f.toml:11: group.a.congestion-control.cwnd_gain = 2: unknown key; \"bbr\" has no options",
        ),
        (
            "\"dctcp\"",
            "{ name = \"westwood\", cwnd_gain = 2 }",
            "f.toml:11: group.a.congestion-control.cwnd_gain = 2: unknown key; westwood is not one of quell's own controls \
          (CONTROLS), and the options of a kernel's are its own",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", beta = 717 }",
            "f.toml:11: group.a.congestion-control.beta = 717: must be a fraction from 0.001 to 0.999",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", beta = \"0.8\" }",
            "f.toml:11: group.a.congestion-control.beta = \"0.8\": must be a fraction from 0.001 to 0.999; write 0.8 without quotes",
        ),
        (
            "\"dctcp\"",
            "{ name = \"cubic\", variant = \"linux_9\" }",
            "f.toml:11: group.a.congestion-control.variant = \"linux_9\": must be one of \"linux\", \"linux_3\", \"linux_2_0\", \
          \"rfc_9438\", \"freebsd_2010\"; did you mean \"linux_3\"?",
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
            "f.toml:13: group.a.app.size = \"1kB\": has an effect only with kind = SIZED",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", size = \"1kB\", on = \"1s\" }",
            "f.toml:13: group.a.app.on = \"1s\": has an effect only with kind = \"on-off\"",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", sise = \"1kB\" }",
            "f.toml:13: group.a.app.sise = \"1kB\": unknown key (did you mean size?); app with kind = \"transfer\" has kind, size, repeat\n\
          f.toml:13: group.a.app.size: is missing; must be an amount of data from 1B to 1000GB",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", size = \"0B\", repeat = \"often\" }",
            "f.toml:13: group.a.app.size = \"0B\": must be an amount of data from 1B to 1000GB\n\
          f.toml:13: group.a.app.repeat = \"often\": must be a time from 0s to 86400s, or a table { mean = \"1s\", distribution = \"exponential\" }",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"on-off\", on = { mean = \"1s\", distribution = \"pareto\" }, off = { mean = 1 } }",
            "f.toml:13: group.a.app.on.distribution = \"pareto\": must be one of \"fixed\", \"exponential\"\n\
          f.toml:13: group.a.app.off.mean = 1: must be a time from 0s to 86400s; it has no unit: write \"1s\" for seconds or \"1ms\" for milliseconds",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"on-off\", on = \"0s\", off = { mean = \"0s\" } }",
            "f.toml:13: group.a.app.on = \"0s\": must be a time from 1ns to 86400s, or a table { mean = \"1s\", distribution = \"exponential\" }\n\
          f.toml:13: group.a.app.off = a table: must be a time from 1ns to 86400s, or a table { mean = \"1s\", distribution = \"exponential\" }",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"on-off\", on = \"1s\" }",
            "f.toml:13: group.a.app.off: is missing; must be a time from 1ns to 86400s, or a table { mean = \"1s\", distribution = \"exponential\" }",
        ),
        (
            "kind = \"cbr\", size = \"186B\", interval",
            "kind = \"on-off\", on = \"1s\", off = \"1s\", interval",
            "f.toml:17: group.voice.app.size: is missing; size and interval are given together",
        ),
        (
            "kind = \"cbr\", size = \"186B\", interval = \"20ms\"",
            "kind = \"on-off\", on = \"1s\", off = \"1s\", size = \"186B\"",
            "f.toml:17: group.voice.app.interval: is missing; size and interval are given together",
        ),
        (
            "kind = \"cbr\", size = \"186B\"",
            "kind = \"on-off\", on = \"1s\", off = \"1s\", size = \"1501B\"",
            "f.toml:17: group.voice.app.size = \"1501B\": must be an amount of data from 29B to 1500B",
        ),
        (
            "name = \"voice\"\nrtt = \"7ms\"\napp = { kind = \"cbr\"",
            "name = \"voice\"\ncongestion-control = \"cubic\"\nrtt = \"7ms\"\napp = { on = \"1s\", off = \"1s\", kind = \"on-off\"",
            "f.toml:16: group.voice.congestion-control = \"cubic\": has no effect: datagrams are sent regardless of congestion",
        ),
        // What this world cannot honour.
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
            "name = \"voice\"\npacing = true\ngso = false\ninitial-window = 3\nmss = \"536B\"",
            "f.toml:16: group.voice.pacing = true: has no effect: datagrams leave when the application sends them\n\
          f.toml:17: group.voice.gso = false: has no effect: datagrams leave when the application sends them\n\
          f.toml:18: group.voice.initial-window = 3: has no effect: datagrams have no window\n\
          f.toml:19: group.voice.mss = \"536B\": has no effect: the application says how long datagrams are",
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
            "f.toml:4: link.rate = 40: must be a rate from 1kbit to 1tbit; it has no unit: write \"40mbit\" for 40 Mbit/s",
        ),
        (
            "rate = \"40mbit\"",
            "rate = \"40\"",
            "f.toml:4: link.rate = \"40\": must be a rate from 1kbit to 1tbit; it has no unit: write \"40mbit\" for 40 Mbit/s",
        ),
        (
            "rate = \"40mbit\"",
            "rate = \"unlimited\"",
            "f.toml:4: link.rate = \"unlimited\": must be a rate from 1kbit to 1tbit",
        ),
        (
            "count = 2",
            "count = \"2\"",
            "f.toml:10: group.a.count = \"2\": must be a whole number from 0 to 100000; write 2 without quotes",
        ),
        (
            "count = 2",
            "count = -1",
            "f.toml:10: group.a.count = -1: must be a whole number from 0 to 100000",
        ),
        (
            "count = 2",
            "ecn = \"ect2\"",
            "f.toml:10: group.a.ecn = \"ect2\": must be one of \"off\", \"ect0\", \"ect1\"; did you mean \"ect0\"?",
        ),
        (
            "name = \"good\"",
            "name = \"../good\"",
            "f.toml:2: name = \"../good\": must be a letter or digit, then letters, digits, - and _, 64 at most (it names a folder)",
        ),
        (
            "schema = 1",
            "schema = 2",
            "f.toml:1: schema = 2: must be 1, the only one there is",
        ),
        (
            "app = { kind = \"bulk\" }",
            "app = \"bluk\"",
            "f.toml:13: group.a.app.kind = \"bluk\": must be one of APPLICATIONS; did you mean \"bulk\"?",
        ),
        (
            "app = { kind = \"bulk\" }",
            "app = 1",
            "f.toml:13: group.a.app = 1: must be \"bulk\", or a table such as { kind = \"transfer\", size = \"1MB\" }",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"file\" }",
            "f.toml:13: group.a.app.kind = \"file\": must be one of APPLICATIONS; did you mean \"transfer\"?",
        ),
        (
            "duration = \"10s\"",
            "duration = \"10s\"\nseeds = [1, 1]",
            "f.toml:23: run.seeds = [1, 1]: has 1 twice; each seed is a separate run",
        ),
        (
            "kind = \"fifo\"",
            "kind = \"fifp\"",
            "f.toml:6: link.queue.kind = \"fifp\": must be one of KINDS; did you mean \"fifo\"?",
        ),
        (
            "kind = \"fifo\"",
            "rule = \"linux\"",
            "f.toml:5: link.queue.kind: is missing; must be one of KINDS",
        ),
        (
            "limit = \"100ms\"",
            "limit = 100",
            "f.toml:7: link.queue.limit = 100: must be an amount of data (64kB), a number of packets (100p), or a time at the link's rate (100ms); it has no unit: \
          write \"100p\" for packets, \"100kB\" for data or \"100ms\" for time",
        ),
        // Impossible alone or together.
        (
            "limit = \"100ms\"",
            "limit = \"1kB\"",
            "f.toml:7: link.queue.limit = \"1kB\": never accepts a packet of 1500B; it must be 1500B or more",
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
        // Hosts write into a datagram what modelled ones keep beside it.
        (
            "size = \"186B\"",
            "size = \"43B\"",
            "f.toml:17: group.voice.app.size = \"43B\": must be at least 44B, the smallest datagram of the live world: it \
          carries a sequence number and a time",
        ),
        (
            "interval = \"20ms\"",
            "interval = \"0s\"",
            "f.toml:17: group.voice.app.interval = \"0s\": must be a time from 10us to 60s, or a table { mean = \"20ms\", stddev = \"1ms\" }",
        ),
        (
            "name = \"voice\"",
            "name = \"voice\"\ncongestion-control = \"cubic\"",
            "f.toml:16: group.voice.congestion-control = \"cubic\": has no effect: datagrams are sent regardless of congestion",
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
            "\"link.queue.limit\" = \"90ms\", \"link.rate\" = \"100kbit\"",
            "f.toml:20: at.1.set.link.rate = \"100kbit\": does not suit the queue: limit = 90ms: is 1125B at 100kbit \
          and never accepts a packet of 1500B; at 100kbit it must be 120ms or more, or an amount such as 3kB",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.overhead\" = 14",
            "f.toml:20: at.1.set.link.overhead = 14: cannot change during a run; what can: link.rate, link.reverse.rate, \
          link.impair.{loss, enter, leave, bad, reorder, hold, duplicate, corrupt, delay, jitter, spread, shape}, \
          link.reverse.impair.{loss, enter, leave, bad, reorder, hold, duplicate, corrupt, delay, jitter, spread, shape}, \
          link.queue.{limit}, link.reverse.queue.{limit}, group.{a, voice}.{count, rtt}, group.voice.app.{interval}",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.queue.rule\" = \"slots\"",
            "f.toml:20: at.1.set.link.queue.rule = \"slots\": cannot change while the queue lives",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"group.voice.app.size\" = \"300B\"",
            "f.toml:20: at.1.set.group.voice.app.size = \"300B\": cannot change during a run; what can: link.rate, link.reverse.rate, \
          link.impair.{loss, enter, leave, bad, reorder, hold, duplicate, corrupt, delay, jitter, spread, shape}, \
          link.reverse.impair.{loss, enter, leave, bad, reorder, hold, duplicate, corrupt, delay, jitter, spread, shape}, \
          link.queue.{limit}, link.reverse.queue.{limit}, group.{a, voice}.{count, rtt}, group.voice.app.{interval}",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"group.voice.app.interval\" = \"5us\"",
            "f.toml:20: at.1.set.group.voice.app.interval = \"5us\": must be a time from 10us to 60s, or a table { mean = \"20ms\", \
          stddev = \"1ms\" }",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"group.b.app.interval\" = \"5ms\"",
            "f.toml:20: at.1.set.group.b.app.interval = \"5ms\": there is no group b; groups are: a, voice",
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
        let message = message
            .replace("KINDS", &kinds)
            .replace("SIZED", &sized)
            .replace("CONTROLS", &controls())
            .replace("APPLICATIONS", &applications);
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
fn problems_come_by_line_in_whichever_order_the_tables_stand() {
    let (rest, run) = GOOD.split_once("[run]").unwrap();
    let (head, tables) = rest.split_once("[link]").unwrap();
    let text = format!("{head}[run]{run}[link]{tables}")
        .replace("40mbit", "fast")
        .replace("count = 2", "count = 2.5")
        .replace("10s", "soon");
    let override_ = Override::set("run.warmup=never").unwrap();
    let problems = Scenario::load("f.toml", &text, &[override_], None).unwrap_err();
    let places: Vec<_> = problems
        .all()
        .iter()
        .map(|problem| (&problem.origin, problem.key.as_str()))
        .collect();
    let argument = Origin::Argument("--set run.warmup=never".to_owned());
    assert_eq!(
        places,
        [
            (&Origin::Line(4), "run.duration"),
            (&Origin::Line(6), "link.rate"),
            (&Origin::Line(12), "group.a.count"),
            (&argument, "run.warmup"),
        ]
    );
}
