//! What leaves before the first acknowledgement: the handshake's two packets, and the initial window in full packets. The same in every
//! world.

use serde_json::Value;

/// One flow over a path of 100 ms, which opens within 100 ms and is stopped before its second flight leaves.
pub(crate) const SCENARIO: &str = r#"schema = 1
name = "first-flight"
[link]
rate = "100mbit"
queue = { kind = "fifo", limit = "100ms" }
[[group]]
name = "a"
rtt = "100ms"
app = "bulk"
[run]
duration = "230ms"
"#;

/// Initial window in segments, maximum segment size in bytes: RFC 3390's largest, Linux's, RFC 791's host, and others.
pub(crate) const CASES: [(u64, u64); 5] =
    [(10, 1_460), (3, 1_460), (1, 1_460), (10, 536), (24, 300)];

/// The arguments that ask for them.
pub(crate) fn arguments((segments, mss): (u64, u64)) -> [String; 4] {
    let set = || "--set".to_owned();
    [
        set(),
        format!("group.a.initial-window={segments}"),
        set(),
        format!("group.a.mss={mss}B"),
    ]
}

/// What the forward queue of the summary has carried.
pub(crate) fn check(world: &str, case: (u64, u64), summary: &Value) {
    let (segments, mss) = case;
    let count = |what: &str| summary["queues"][0][what].as_u64().unwrap();
    assert_eq!(count("packets"), segments + 2, "{world} {case:?}");
    // A SYN of 52 to 60 bytes, depending on its options, and an ACK of 52.
    let handshake = count("bytes") - segments * (mss + 40);
    assert!(
        (104..=112).contains(&handshake),
        "{world} {case:?} {handshake}"
    );
    let window = summary["groups"][0]["count"].as_u64();
    assert_eq!(window, Some(1));
}
