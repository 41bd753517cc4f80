//! Several links in a row.

use std::fs;
use std::path::Path;

use quell_testing::{Missed, bound, live};
use serde_json::{Value, json};

use crate::Case;
use crate::clients::{ROLE, WORDS};
use crate::fixture::{ECHO, Fake, SERVER, SOURCE, read_json};

pub(crate) const CASES: &[Case] = &[
    (
        "the_delays_of_links_in_a_row_add_up",
        the_delays_of_links_in_a_row_add_up,
    ),
    (
        "the_narrow_one_of_two_links_limits_and_is_named",
        the_narrow_one_of_two_links_limits_and_is_named,
    ),
    (
        "a_link_of_several_is_named_or_refused",
        a_link_of_several_is_named_or_refused,
    ),
];

pub(crate) const LINKS: &str = "schema = 1
name = \"home\"
[[link]]
name = \"line\"
rate = \"40mbit\"
delay = \"6ms\"
queue = { kind = \"fifo\", limit = \"50ms\" }
reverse = { rate = \"40mbit\" }
[[link]]
name = \"wifi\"
rate = \"10mbit\"
delay = \"4ms\"
queue = { kind = \"fifo\", limit = \"50ms\" }
[run]
duration = \"5s\"
";

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

fn the_delays_of_links_in_a_row_add_up(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.toml");
    fs::write(&file, LINKS).unwrap();
    live("the_delays_of_links_in_a_row_add_up", |run| {
        // What both delay, there and back; and with a base RTT what is left of it behind the last.
        for (rtt, least) in [(None, 20.0), (Some("30ms"), 30.0)] {
            let mut options = vec!["--scenario", path(&file)];
            options.extend(rtt.iter().flat_map(|rtt| ["--rtt", *rtt]));
            let (said, report) = fake.role(&options, "ping", &format!("{SERVER}:{ECHO} 40"));
            let late = number(&report, "/summary/link/lateness_ms/p99");
            run.was_late(late, 1.0);
            let mut times: Vec<f64> = said.lines().map(|line| line.parse().unwrap()).collect();
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2] / 1_000.0;
            assert!(times[0] >= least * 1_000.0, "{} µs", times[0]);
            bound!(median < least + 4.0, "{median} ms");
            assert_eq!(number(&report, "/exec/rtt_ms"), least);
        }
        Ok::<(), Missed>(())
    });
}

fn the_narrow_one_of_two_links_limits_and_is_named(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("home.toml"), folder.path().join("out"));
    fs::write(&file, LINKS).unwrap();
    let own = std::env::current_exe().unwrap();
    let arguments = [
        "exec",
        "--scenario",
        path(&file),
        "--far-cc",
        "cubic",
        "--queue",
        "wifi=pie",
        "--set",
        "link.line.queue.limit=40ms",
        "--at",
        "2s",
        "link.line.rate=5mbit",
        "--packets",
        "--out",
        path(&out),
        "--",
        path(&own),
    ];
    live("the_narrow_one_of_two_links_limits_and_is_named", |run| {
        let _ = fs::remove_dir_all(&out);
        let mut command = fake.quell(&arguments);
        command
            .env(ROLE, "read")
            .env(WORDS, format!("{SERVER}:{SOURCE} 4"));
        let output = fake.output(&mut command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let (summary, exec) = (
            read_json(&out.join("summary.json")),
            read_json(&out.join("exec.json")),
        );
        run.was_late(number(&summary, "/link/lateness_ms/p99"), 1.0);
        let link = "line 40mbit fifo + wifi 10mbit/unlimited pie, 20ms";
        assert_eq!(exec["link"], link);
        assert!(said.contains(link), "{said}");
        // Two seconds are the Wi-Fi's, and two the line's, which is then the narrower one.
        let links = &exec["limited_by"]["down"]["links"];
        assert_eq!(
            (&links[0]["name"], &links[1]["name"]),
            (&json!("line"), &json!("wifi"))
        );
        for index in 0..2 {
            let share = number(links, &format!("/{index}/share"));
            bound!((0.3..0.65).contains(&share), "{links:#}");
        }
        let goodput = number(&summary, "/queues/0/bytes") * 8.0 / 4e6;
        bound!((5.0..=8.0).contains(&goodput), "{goodput} Mbit/s");
        let line = said
            .lines()
            .find(|line| line.contains("downloads were limited by"));
        let line = line.unwrap();
        assert!(line.contains("line ") && line.contains("wifi "), "{line}");
        assert!(
            said.contains("  down  line  ") && said.contains("\n        wifi  "),
            "{said}"
        );
        assert!(said.contains("  felt  while data flowed"), "{said}");
        // Results name each link.
        let names = summary["links"].as_array().unwrap().iter();
        assert_eq!(
            names.map(|link| &link["name"]).collect::<Vec<_>>(),
            ["line", "wifi"]
        );
        let hops: Vec<&Value> = summary["queues"]
            .as_array()
            .unwrap()
            .iter()
            .map(|queue| &queue["hop"])
            .collect();
        assert_eq!(hops, ["line", "line", "wifi"]);
        let rates =
            [0, 1].map(|phase| number(&summary, &format!("/phases/{phase}/links/0/rate_bps")));
        assert_eq!(rates, [40e6, 5e6]);
        assert!(fs::metadata(out.join("packets.pcapng")).unwrap().len() > 100_000);
        let text = fs::read_to_string(out.join("scenario.toml")).unwrap();
        assert!(
            text.contains("limit = \"40ms\"") && text.contains("kind = \"pie\""),
            "{text}"
        );
        Ok::<(), Missed>(())
    });
}

fn a_link_of_several_is_named_or_refused(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.toml");
    fs::write(&file, LINKS).unwrap();
    let scenario = ["exec", "--scenario", path(&file)];
    for (options, why) in [
        (&["--down", "5mbit"][..], "--set 'link.line.rate=20mbit'"),
        (&["--queue", "pie"], "line=pie or wifi=pie"),
        (&["--at", "1s", "up=5mbit"], "link.wifi.reverse.rate"),
        (&["--rtt", "19ms"], "at least 20ms"),
    ] {
        let arguments = [&scenario, options, &["--", "true"]].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{options:?}: {errors}");
        assert!(errors.contains(why), "{options:?}: {errors}");
    }
    let arguments = [
        &scenario[..],
        &["--quiet", "--", "sh", "-c", "echo $QUELL_LINK"],
    ]
    .concat();
    let output = fake.output(&mut fake.quell(&arguments));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        said.trim(),
        "line 40mbit fifo + wifi 10mbit/unlimited fifo, 20ms"
    );
}
