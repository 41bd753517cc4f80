//! Several links in a row with real TCP: a scenario, and what must hold of its results on every machine.

use serde_json::Value;

/// A download and an upload over both links, and a download over the first alone. After 6 s the bottleneck moves to the first link.
pub(crate) const SCENARIO: &str = r#"schema = 1
name = "in-a-row"

[[link]]
name = "first"
rate = "20mbit"
delay = "2ms"
queue = "dualpi2"
[link.reverse]
rate = "5mbit"
queue = "fq_codel"

[[link]]
name = "second"
rate = "12mbit"
queue = { kind = "fifo", limit = "60ms" }

[[group]]
name = "through"
congestion-control = "cubic"
rtt = "20ms"
app = "bulk"

[[group]]
name = "short"
congestion-control = "cubic"
path = ["first"]
rtt = "20ms"
app = "bulk"
stop = "6s"

[[group]]
name = "up"
congestion-control = "cubic"
direction = "reverse"
rtt = "20ms"
app = "bulk"

[[at]]
time = "6s"
set = { "link.first.rate" = "6mbit" }

[run]
duration = "10s"
warmup = "2s"
settle = "1s"
"#;

pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

fn names(of: &Value) -> Vec<&str> {
    let all = of.as_array().unwrap().iter();
    all.map(|one| one["name"].as_str().unwrap()).collect()
}

/// What a summary says of the links that does not depend on how fast the machine is.
pub(crate) fn check(summary: &Value) {
    assert_eq!(names(&summary["links"]), ["first", "second"]);
    for (group, path) in [
        (0, &["first", "second"][..]),
        (1, &["first"]),
        (2, &["second", "first"]),
    ] {
        let told = &summary["groups"][group];
        match path {
            [_, _] => assert_eq!(names(&told["links"]), path),
            _ => assert_eq!(told["links"].as_array().map_or(1, Vec::len), 1),
        }
        assert!(number(told, "/packets") > 100.0, "{told:#}");
    }
    for group in [0, 2] {
        let told = &summary["groups"][group];
        let of_links = |key: &str| {
            let of = |link: usize| number(told, &format!("/links/{link}/{key}"));
            of(0) + of(1)
        };
        // Of what is inside at the ends of the measurement one link has told and the other has not.
        let (whole, parts) = (number(told, "/delay_ms/mean"), of_links("delay_ms/mean"));
        assert!((whole / parts - 1.0).abs() < 0.05, "{whole} {parts}");
        for key in ["marked", "dropped"] {
            assert_eq!(number(told, &format!("/{key}")), of_links(key), "{key}");
        }
        assert_eq!(number(told, "/packets"), number(told, "/links/1/packets"));
    }
    let hops = summary["queues"].as_array().unwrap().iter();
    let hops: Vec<&str> = hops.map(|queue| queue["hop"].as_str().unwrap()).collect();
    assert!(
        hops.contains(&"first") && hops.contains(&"second"),
        "{hops:?}"
    );
}

/// By phase, how busy both links were: the first one with the short group, then with the lower rate. The second is never full while the
/// first one is.
pub(crate) fn busy(summary: &Value) -> [[f64; 2]; 2] {
    [0, 1].map(|phase| {
        [0, 1].map(|link| {
            number(
                summary,
                &format!("/phases/{phase}/links/{link}/utilisation"),
            )
        })
    })
}
