//! Single items of the web over an idle link, whose times have a closed form.
//!
//! With R the base RTT, s the time of a full packet and n packets, in rounds of 10, 20, 40 … packets: the largest of
//! (r + 1) R + (n − 10 (2^(r − 1) − 1) + r − 1) s over all rounds r, from the request for the connection, which the user's end
//! opens, to the last byte. Here R = 7 ms and s = 0.3 ms.

use serde_json::Value;

/// Four groups that rarely meet: medians are those of single items.
pub(crate) const SCENARIO: &str = r#"schema = 1
name = "idle-items"
[link]
rate = "40mbit"
queue = { kind = "fifo", limit = "1s" }
[[group]]
name = "segment"
rtt = "7ms"
congestion-control = "reno"
app = { kind = "web", rate = 1, size = "1kB" }
[[group]]
name = "window"
rtt = "7ms"
congestion-control = "reno"
app = { kind = "web", rate = 1, size = "14480B" }
[[group]]
name = "two-windows"
rtt = "7ms"
congestion-control = "reno"
app = { kind = "web", rate = 1, size = "43440B" }
[[group]]
name = "large"
rtt = "7ms"
congestion-control = "reno"
app = { kind = "web", rate = 0.3, size = "1MB" }
[run]
duration = "20s"
warmup = "0s"
"#;

/// By group, in milliseconds: the last byte is there.
pub(crate) const LAST_BYTE: [f64; 4] = [14.3, 17.0, 27.3, 226.9];
/// The end of the file, with Linux. A FIN does not fit the window that an item of ten segments fills: it leaves when the first of
/// them is acknowledged, 2.5 R + s after the request, and takes half an R more.
pub(crate) const END_OF_LINUX: [f64; 4] = [14.3, 21.3, 27.3, 226.9];

/// Medians of a figure by group, in milliseconds.
pub(crate) fn medians(summary: &Value, figure: &str) -> [f64; 4] {
    [0, 1, 2, 3].map(|group| {
        let pointer = format!("/groups/{group}/app/{figure}/p50");
        summary.pointer(&pointer).and_then(Value::as_f64).unwrap()
    })
}

/// What no lateness excuses: every item completed, on a connection of its own, and nothing was lost.
pub(crate) fn assert_complete(summary: &Value) {
    for group in summary["groups"].as_array().unwrap() {
        let app = |figure: &str| group["app"][figure].as_u64().unwrap();
        assert!(app("completed") > 2, "{summary:#}");
        assert_eq!((app("failed"), app("refused")), (0, 0), "{summary:#}");
        assert!(app("unfinished") <= 1, "{summary:#}");
    }
    assert_eq!(summary["link"]["lost_outside"], 0);
    assert!(
        summary["link"]
            .get("unclassified")
            .is_none_or(|count| *count == 0)
    );
}
