//! The figures of a run computed a second time, from its series and its capture: for runs that ended early, whose figures must
//! be those of the time that they had.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Row, RowAccessor as _};
use serde_json::Value;

use crate::pcapng;

/// Between two runs of a test differs when they are interrupted; a failed test prints it. `QUELL_TEST_TIME_MS` repeats it.
pub(crate) fn some_time_ms(from: u64, to: u64) -> u64 {
    let given = std::env::var("QUELL_TEST_TIME_MS").ok();
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::from(since.subsec_nanos()));
    let drawn = from + (nanos / 1_000) % (to - from);
    let time = given.and_then(|text| text.parse().ok()).unwrap_or(drawn);
    println!("interrupted at about {time} ms: QUELL_TEST_TIME_MS={time} repeats it");
    time
}

fn rows(file: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

fn near(what: &str, one: f64, other: f64, most: f64) {
    assert!((one - other).abs() <= most, "{what}: {one} and {other}");
}

/// What a stretch of the series adds up to.
#[derive(Default)]
struct Sums {
    length: i64,
    delivered: i64,
    retransmitted: i64,
    rtts: Vec<f64>,
}

/// Checks the result in `folder`, all of whose flows are bulk and live from the start to the end. Hosts take their samples up to
/// `late` ns after their time.
pub(crate) fn check(folder: &Path, late: i64) {
    let text = fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["partial"], true);
    let ns = |key: &str| (summary[key].as_f64().unwrap() * 1e9).round() as i64;
    let (warmup, end) = (ns("warmup_s"), ns("duration_s"));
    assert!(end > warmup, "{end} {warmup}");
    flows(folder, &summary, (warmup, end), late);
    queues(folder, &summary, (warmup, end));
    if folder.join("packets.pcapng").exists() {
        capture(folder, &summary, (warmup, end));
    }
}

fn flows(folder: &Path, summary: &Value, (warmup, end): (i64, i64), late: i64) {
    let mut flows: BTreeMap<(String, i64), Sums> = BTreeMap::new();
    let mut last = 0;
    for row in rows(&folder.join("flows.parquet")) {
        let (time, length) = (row.get_long(0).unwrap(), row.get_long(1).unwrap());
        last = time.max(last);
        if time - length < warmup {
            continue;
        }
        let key = (row.get_string(2).unwrap().clone(), row.get_long(3).unwrap());
        let sums = flows.entry(key).or_default();
        sums.length += length;
        sums.delivered += row.get_long(4).unwrap();
        sums.retransmitted += row.get_long(8).unwrap();
        sums.rtts.extend(row.get_long(6).ok().map(|rtt| rtt as f64));
    }
    assert!((end..=end + late).contains(&last), "{last} after {end}");
    for group in summary["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        let of_group = || flows.iter().filter(|((group, _), _)| group == name);
        let list = |key: &str| -> Vec<f64> {
            let list = group[key].as_array().unwrap();
            list.iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let (goodput, alive) = (list("goodput_bps"), list("alive_s"));
        assert_eq!(of_group().count(), goodput.len(), "{name}");
        for (index, (_, sums)) in of_group().enumerate() {
            let measured = (end - warmup) as f64;
            near("measured", sums.length as f64, measured, 2.0 * late as f64);
            near("alive", alive[index] * 1e9, sums.length as f64, 1.0);
            let rate = sums.delivered as f64 * 8e9 / sums.length as f64;
            near(name, goodput[index], rate, rate * 1e-9);
        }
        let rtts: Vec<f64> = of_group().flat_map(|(_, sums)| sums.rtts.clone()).collect();
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64 / 1e6;
        near("RTT", group["rtt_ms"]["mean"].as_f64().unwrap(), mean, 1e-6);
        let again: i64 = of_group().map(|(_, sums)| sums.retransmitted).sum();
        assert_eq!(group["retransmitted"], again, "{name}");
        // What the application had when it was asked, which is not at quite the same time.
        let delivered: i64 = of_group().map(|(_, sums)| sums.delivered).sum();
        let bytes = group["app"]["bytes"].as_f64().unwrap();
        let meanwhile = goodput.iter().sum::<f64>() / 8e9 * 2.0 * late as f64;
        near("application", bytes, delivered as f64, 2.0 * meanwhile);
    }
}

fn queues(folder: &Path, summary: &Value, (warmup, end): (i64, i64)) {
    let mut sums: BTreeMap<String, [i64; 4]> = BTreeMap::new();
    let mut delays: BTreeMap<String, f64> = BTreeMap::new();
    let mut last = 0;
    for row in rows(&folder.join("queues.parquet")) {
        let (time, length) = (row.get_long(0).unwrap(), row.get_long(1).unwrap());
        last = time.max(last);
        if time - length < warmup || row.get_string(2).unwrap() != "forward" {
            continue;
        }
        let name = row.get_string(3).unwrap().clone();
        let counts = sums.entry(name.clone()).or_default();
        for (sum, column) in counts.iter_mut().zip(4..) {
            *sum += row.get_long(column).unwrap();
        }
        let mean = row.get_long(8).unwrap_or(0) as f64;
        *delays.entry(name).or_default() += mean * row.get_long(4).unwrap() as f64;
    }
    assert_eq!(last, end);
    let forward = summary["queues"].as_array().unwrap().iter();
    let mut bits = 0.0;
    for queue in forward.filter(|queue| queue["direction"] == "forward") {
        let name = queue["name"].as_str().unwrap();
        let counts =
            ["packets", "bytes", "marked", "dropped"].map(|key| queue[key].as_i64().unwrap());
        assert_eq!(sums[name], counts, "{name}");
        if let Some(mean) = queue["delay_ms"]["mean"].as_f64() {
            // Means of rows are rounded down to a nanosecond.
            near(name, mean, delays[name] / counts[0] as f64 / 1e6, 2e-6);
        }
        bits += counts[1] as f64 * 8.0;
    }
    let rate = summary["link"]["rate_bps"].as_f64().unwrap();
    let measured = (end - warmup) as f64 / 1e9;
    let packet = 1_500.0 * 8.0 / rate / measured;
    let utilisation = summary["link"]["utilisation"].as_f64().unwrap();
    near("utilisation", utilisation, bits / rate / measured, packet);
}

fn capture(folder: &Path, summary: &Value, (warmup, end): (i64, i64)) {
    let packets = pcapng::read(&folder.join("packets.pcapng"));
    let forward = || {
        packets
            .iter()
            .filter(|packet| packet.interface == "forward")
    };
    // A packet counts when it leaves the queue; what happens at an edge may lie on either side.
    let counts = |packet: &&pcapng::Packet| {
        let at = packet.at as i64 + (packet.sojourn_ms() * 1e6).round() as i64;
        (warmup..end).contains(&at)
    };
    let left = |packet: &&pcapng::Packet| {
        let fate = packet.says("fate");
        fate == "delivered" || fate.starts_with("marked:")
    };
    for queue in summary["queues"].as_array().unwrap() {
        let name = queue["name"].as_str().unwrap();
        if queue["direction"] != "forward" {
            continue;
        }
        let of_queue = || {
            forward()
                .filter(|packet| packet.says("queue") == name)
                .filter(counts)
        };
        let count = |key: &str| queue[key].as_f64().unwrap();
        let delivered: Vec<_> = of_queue().filter(left).collect();
        near(name, count("packets"), delivered.len() as f64, 2.0);
        let bytes: u64 = delivered.iter().map(|packet| packet.length).sum();
        near(name, count("bytes"), bytes as f64, 3_000.0);
        let dropped = of_queue().filter(|packet| packet.says("fate").starts_with("dropped:"));
        near(name, count("dropped"), dropped.count() as f64, 2.0);
        if !delivered.is_empty() {
            let sum: f64 = delivered.iter().map(|packet| packet.sojourn_ms()).sum();
            let mean = queue["delay_ms"]["mean"].as_f64().unwrap();
            near(name, mean, sum / delivered.len() as f64, mean * 1e-2 + 1e-6);
        }
    }
    let measured = (end - warmup) as f64 / 1e9;
    for group in summary["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        let of_group = forward().filter(|packet| packet.says("group") == name);
        let bytes: u64 = of_group
            .filter(counts)
            .filter(left)
            .map(|packet| packet.length)
            .sum();
        let payload = bytes as f64 * 1_448.0 / 1_500.0 * 8.0 / measured;
        let goodput = group["goodput_bps"].as_array().unwrap().iter();
        let goodput: f64 = goodput.map(|rate| rate.as_f64().unwrap()).sum();
        // What is on its way at either end, and what was sent twice.
        near(name, goodput, payload, payload * 0.15);
    }
}
