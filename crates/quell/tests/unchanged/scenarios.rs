//! The scenarios whose results must not change: every queue in each of its forms, every control, every application, every marker, every
//! kind of change during a run.
//!
//! Small and short, because what is compared is every byte, not a figure.

/// A name, and the text of the scenario file.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Two DCTCP and one CUBIC flow with an ACK-clocked sender of 50 datagrams a second beside them.
const MIX: &str = r#"
[[group]]
name = "scalable"
count = 2
congestion-control = "dctcp"
ecn = "ect1"
rtt = "8ms"
app = "bulk"
[[group]]
name = "classic"
congestion-control = "cubic"
rtt = "12ms"
app = "bulk"
[[group]]
name = "voice"
rtt = "8ms"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms", stddev = "1ms" } }
"#;

/// All forms, and the parameters that choose other code. A kind that is not named here runs with its defaults.
const QUEUES: &[&str] = &[
    r#"{ kind = "fifo" }"#,
    r#"{ kind = "fifo", limit = "20p", rule = "slots" }"#,
    r#"{ kind = "fifo", limit = "30kB", rule = "bytes_strict" }"#,
    r#"{ kind = "fifo", limit = "30kB", rule = "bytes_loose", count_in_service = true }"#,
    r#"{ kind = "dualpi2" }"#,
    r#"{ kind = "dualpi2", protection = "docsis", scheduler = "wrr" }"#,
    r#"{ kind = "dualpi2", form = "rfc9332" }"#,
    r#"{ kind = "dualpi2", form = "rfc9332", scheduler = "ts_fifo", range = "0s" }"#,
    r#"{ kind = "dualq_2015" }"#,
    r#"{ kind = "dualq_2015", unit = "time" }"#,
    r#"{ kind = "curvy_red" }"#,
    r#"{ kind = "dualq_curvy_red" }"#,
    r#"{ kind = "dualq_curvy_red", arithmetic = "integer", input = "classic" }"#,
    r#"{ kind = "codel" }"#,
    r#"{ kind = "codel", form = "rfc8289" }"#,
    r#"{ kind = "fq_codel", ce_threshold = "1ms" }"#,
    r#"{ kind = "cobalt" }"#,
    r#"{ kind = "pie" }"#,
    r#"{ kind = "pie", form = "rfc8033", decay = "zero" }"#,
    r#"{ kind = "fq_pie" }"#,
    r#"{ kind = "pi2" }"#,
    r#"{ kind = "red" }"#,
    r#"{ kind = "red", adaptive = true, ecn = true }"#,
    r#"{ kind = "red", form = "floyd" }"#,
    r#"{ kind = "step" }"#,
    r#"{ kind = "step", at = "enqueue", not_ect = "pass" }"#,
    r#"{ kind = "gsp" }"#,
    r#"{ kind = "gsp", adaptive = true, delay = "sojourn" }"#,
    r#"{ kind = "drop_min_value" }"#,
    r#"{ kind = "drop_min_value", form = "fifo" }"#,
    r#"{ kind = "pvpie" }"#,
    r#"{ kind = "csaqm" }"#,
    r#"{ kind = "csaqm", measure = "queue", variant = "q" }"#,
    r#"{ kind = "vdq_csaqm" }"#,
    r#"{ kind = "vdq_csaqm", variant = "b_smooth" }"#,
    r#"{ kind = "vdq_csaqm", variant = "v" }"#,
];

/// What follows `congestion-control =`, and further keys of the group. A control that is not named here runs with its defaults.
const CONTROLS: &[&str] = &[
    r#""reno""#,
    r#"{ name = "reno", growth = "acks" }"#,
    r#"{ name = "cubic", variant = "linux" }
ecn = "ect0""#,
    r#"{ name = "cubic", variant = "linux_3", beta = 0.8 }"#,
    r#"{ name = "cubic", variant = "linux_2_0" }"#,
    r#"{ name = "cubic", variant = "rfc_9438", hystart = false }"#,
    r#"{ name = "cubic", variant = "freebsd_2010" }
pacing = true"#,
    r#"{ name = "dctcp", shift_g = 5, alpha_on_init = 0.5 }
gso = false"#,
    r#"{ name = "dctcp", feedback = "accecn" }
ecn = "ect1"
access-rate = "50mbit""#,
    r#""prague""#,
    r#"{ name = "prague", feedback = "dctcp", rtt_target = "10ms", first_ce = "halve", alpha_mode = "1", rate_mode = false }
gso = false"#,
    r#""htcp""#,
    r#"{ name = "htcp", use_rtt_scaling = false, use_bandwidth_switch = false, hz = 1000 }"#,
    r#"{ name = "compound", low_window = "2p" }"#,
    r#"{ name = "compound", low_window = "2p", paced = false, eta = 2 }"#,
    r#"{ name = "ledbat", target = "20ms" }"#,
    r#"{ name = "ledbat", target = "20ms", slow_start = true, gain = 0.5 }"#,
    r#""bbr1""#,
    r#"{ name = "bbr2", loss_threshold = 0.1 }"#,
    r#"{ name = "bbr2", ecn = true, ecn_max_rtt = "0s", revision = "2020" }"#,
    r#"{ name = "bbr3", ecn = true, ecn_max_rtt = "0s" }"#,
    r#""bbr3""#,
    r#"{ name = "bbr3", variant = "google_2026" }"#,
    r#"{ name = "bbr3", variant = "draft" }"#,
];

/// What follows `app =`. A kind that is not named here runs as in its own example.
const APPLICATIONS: &[&str] = &[
    r#"{ kind = "cbr", size = "1200B", interval = "4ms" }"#,
    r#"{ kind = "transfer", size = "1MB" }"#,
    r#"{ kind = "transfer", size = "40kB", repeat = { mean = "200ms", distribution = "exponential" } }"#,
    r#"{ kind = "on-off", on = "300ms", off = "200ms" }"#,
    r#"{ kind = "on-off", on = { mean = "400ms", distribution = "exponential" }, off = "100ms", size = "500B", interval = "2ms" }"#,
];

/// What follows `value =` of the first group.
const VALUES: &[&str] = &[
    r#""silver""#,
    r#"{ function = "own", marker = "token_bucket", depth = "5ms" }"#,
    r#"{ function = "gold", marker = "fast_adapting" }"#,
    r#"{ function = "inverse", marker = "table" }"#,
    r#"{ function = ["gold", "own"], marker = "multi_timescale", timescales = 2 }"#,
];

/// Links that move, wait for their medium, or lose packets behind the queue.
const LINKS: &[&str] = &[
    r#"rate = { data = "time_s,rate_mbps\n0,20\n0.3,5\n0.7,0\n0.8,\n", offset = "100ms" }"#,
    r#"rate = { data = "1\n2\n2\n5\n9\n10\n", scale = 1.5, framing = "mahimahi" }"#,
    r#"rate = { data = "time,rate\n0s,20mbit\n500ms,5mbit\n1s,\n", mode = "opportunities" }"#,
    r#"rate = "20mbit"
access = { packets = 8, time = "4ms", backoff = "2ms" }"#,
    r#"rate = "20mbit"
impair = { loss = 0.001, enter = 0.001, leave = 0.3, reorder = 0.01, hold = "2ms", jitter = "1ms" }"#,
];

/// Whole files that have what the others lack.
const WHOLE: &[(&str, &str)] = &[
    (
        "changes-repeat",
        r#"[link]
rate = "20mbit"
queue = "pie"
[[group]]
name = "some"
count = 3
rtt = "15ms"
app = "bulk"
[[at]]
time = "700ms"
repeat = "900ms"
set = { "link.rate" = "5mbit" }
[[at]]
time = "1s"
repeat = "900ms"
set = { "link.rate" = "20mbit", "group.some.count" = 2 }
"#,
    ),
    (
        "applications-change",
        r#"[link]
rate = "10mbit"
queue = "pie"
[[group]]
name = "user"
count = 2
rtt = "15ms"
app = { kind = "web", rate = 20 }
[[group]]
name = "datagrams"
rtt = "15ms"
app = { kind = "cbr", size = "400B", interval = { mean = "10ms", stddev = "2ms" } }
[[group]]
name = "picture"
rtt = "15ms"
app = { kind = "rtc", rate = "2mbit" }
[[at]]
time = "1s"
set = { "group.user.app.rate" = 5, "group.datagrams.app.interval" = "2ms", "group.picture.app.rate" = "1mbit" }
[[at]]
time = "2s"
set = { "group.user.app.rate" = 60, "group.datagrams.app.interval" = "30ms", "group.picture.app.rate" = "3mbit" }
"#,
    ),
    (
        "both-directions",
        r#"[link]
rate = "10mbit"
overhead = 22
mpu = "64B"
queue = "fq_codel"
[link.reverse]
rate = "2mbit"
overhead = -4
queue = { kind = "dualpi2" }
[[group]]
name = "down"
count = 2
rtt = "20ms"
app = "bulk"
[[group]]
name = "up"
rtt = "20ms"
direction = "reverse"
congestion-control = "reno"
app = "bulk"
start = "500ms"
stop = "2500ms"
"#,
    ),
    (
        "changes",
        r#"[link]
rate = "10mbit"
queue = { kind = "dualpi2", target = "15ms" }
[[group]]
name = "many"
count = 1
congestion-control = "dctcp"
ecn = "ect1"
rtt = "10ms"
app = "bulk"
[[group]]
name = "talk"
rtt = "10ms"
app = { kind = "cbr", size = "200B", interval = "20ms" }
[[at]]
time = "1s"
set = { "group.many.count" = 6, "link.queue.target" = "5ms" }
[[at]]
time = "2s"
set = { "link.rate" = "4mbit", "group.many.count" = 2, "group.talk.count" = 0 }
"#,
    ),
    (
        "links-queues",
        r#"[[link]]
name = "first"
rate = "5mbit"
queue = { kind = "codel", ecn = true }
[[link]]
name = "second"
rate = "8mbit"
queue = "dualpi2"
[[group]]
name = "A"
count = 3
rtt = "20ms"
app = "bulk"
[[group]]
name = "B"
path = ["second"]
count = 3
rtt = "20ms"
app = "bulk"
[[group]]
name = "scalable"
congestion-control = "prague"
rtt = "10ms"
app = "bulk"
[[at]]
time = "2s"
set = { "link.first.rate" = "10mbit" }
"#,
    ),
    (
        "links-networks",
        r#"[[link]]
name = "city"
rate = "16mbit"
queue = "csaqm"
[[link]]
name = "transit"
rate = "10mbit"
queue = "vdq_csaqm"
remark = [{ groups = ["gold", "scalable"], function = "gold" }, { groups = ["other"], function = "own", period = "20ms" }]
[value.own]
kind = "piecewise"
points = [["100kbit", 1000000], ["5mbit", 20000], ["5mbit", 200], ["1gbit", 1]]
[[group]]
name = "gold"
count = 2
rtt = "20ms"
value = "gold"
app = "bulk"
[[group]]
name = "scalable"
congestion-control = "dctcp"
ecn = "ect1"
rtt = "20ms"
value = "silver"
app = "bulk"
[[group]]
name = "other"
count = 2
path = ["transit"]
rtt = "20ms"
value = "gold"
app = "bulk"
[[group]]
name = "call"
rtt = "20ms"
app = { kind = "cbr", size = "200B", interval = "20ms" }
"#,
    ),
    (
        "at-once",
        r#"[link]
rate = "100mbit"
queue = { kind = "fifo", limit = "40p" }
[[group]]
name = "incast"
count = 40
congestion-control = "reno"
rtt = "1ms"
app = { kind = "transfer", size = "20kB", repeat = "10ms" }
"#,
    ),
];

fn case(name: &str, body: &str) -> Case {
    Case {
        name: name.to_owned(),
        text: format!(
            "schema = 1\nname = \"{name}\"\n{body}[run]\nduration = \"3s\"\nwarmup = \"500ms\"\nseeds = [1, 7]\n"
        ),
    }
}

fn link(queue: &str) -> String {
    format!("[link]\nrate = \"10mbit\"\nqueue = {queue}\n")
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, queue) in QUEUES.iter().enumerate() {
        cases.push(case(&format!("queue-{number}"), &(link(queue) + MIX)));
    }
    for name in other_queues() {
        let queue = link(&format!("{{ kind = \"{name}\" }}"));
        cases.push(case(&format!("queue-{name}"), &(queue + MIX)));
    }
    for (number, control) in CONTROLS.iter().enumerate() {
        cases.push(controlled(&number.to_string(), control));
    }
    for name in other_controls() {
        cases.push(controlled(name, &format!("\"{name}\"")));
    }
    for (number, app) in APPLICATIONS.iter().enumerate() {
        cases.push(applied(&number.to_string(), &format!("app = {app}")));
    }
    for entry in other_applications() {
        cases.push(applied(entry.name, entry.example));
        for (number, line) in entry.more_examples.iter().enumerate() {
            cases.push(applied(&format!("{}-{number}", entry.name), line));
        }
    }
    for (number, value) in VALUES.iter().enumerate() {
        let own = "[value.own]\nkind = \"piecewise\"\npoints = [[\"100kbit\", 1000000], [\"5mbit\", 20000], [\"5mbit\", 200], [\"1gbit\", 1]]\n";
        let group = format!(
            "[[group]]\nname = \"valued\"\ncount = 2\nrtt = \"10ms\"\nvalue = {value}\napp = \"bulk\"\n[[group]]\nname = \"plain\"\nrtt = \"10ms\"\napp = \"bulk\"\n"
        );
        cases.push(case(
            &format!("value-{number}"),
            &(link("\"csaqm\"") + own + &group),
        ));
    }
    for (number, keys) in LINKS.iter().enumerate() {
        let link = format!("[link]\n{keys}\nqueue = \"dualpi2\"\n");
        cases.push(case(&format!("link-{number}"), &(link + MIX)));
    }
    for (name, body) in WHOLE {
        cases.push(case(name, body));
    }
    cases
}

fn controlled(name: &str, control: &str) -> Case {
    let group = format!(
        "[[group]]\nname = \"flows\"\ncount = 3\nrtt = \"15ms\"\napp = \"bulk\"\ncongestion-control = {control}\n"
    );
    // RED marks and drops, early and late.
    let queue = link(r#"{ kind = "red", ecn = true, limit = "60ms" }"#);
    case(&format!("control-{name}"), &(queue + &group))
}

fn applied(name: &str, app: &str) -> Case {
    let group = format!(
        "[[group]]\nname = \"some\"\ncount = 3\nrtt = \"15ms\"\n{app}\n[[group]]\nname = \"beside\"\nrtt = \"15ms\"\napp = \"bulk\"\n"
    );
    case(&format!("application-{name}"), &(link("\"pie\"") + &group))
}

/// The controls that [`CONTROLS`] does not name.
fn other_controls() -> impl Iterator<Item = &'static str> {
    let is_named = |name: &str| {
        let name = format!("\"{name}\"");
        CONTROLS.iter().any(|control| control.contains(&name))
    };
    let names = quell_tcp::cc::KINDS.iter().map(|kind| kind.name);
    names.filter(move |name| !is_named(name))
}

/// The kinds of applications that no case has. All of them have bulk flows.
fn other_applications() -> impl Iterator<Item = &'static quell_app::Entry> {
    let is_named = |name: &str| {
        let kind = format!("{{ kind = \"{name}\"");
        name == "bulk" || APPLICATIONS.iter().any(|app| app.starts_with(&kind))
    };
    let entries = quell_app::KINDS.iter();
    entries.filter(move |entry| entry.modelled && !is_named(entry.name))
}

/// The kinds of queues that [`QUEUES`] does not name.
fn other_queues() -> impl Iterator<Item = &'static str> {
    let is_named = |name: &str| {
        let kind = format!("{{ kind = \"{name}\"");
        QUEUES.iter().any(|queue| queue.starts_with(&kind))
    };
    let names = quell_aqm::disciplines::KINDS.iter().map(|entry| entry.name);
    names.filter(move |name| !is_named(name))
}
