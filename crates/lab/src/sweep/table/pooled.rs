//! Delays of all seeds together: histograms merge by adding counts.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The percentiles that are given, in thousandths.
const PERCENTILES: [(&str, u64); 5] = [
    ("p50", 500),
    ("p75", 750),
    ("p90", 900),
    ("p99", 990),
    ("p999", 999),
];

/// Merged histograms of delays, by the name that their figures have.
#[derive(Debug, Default)]
pub(super) struct Pooled {
    delays: BTreeMap<String, BTreeMap<u64, u64>>,
}

impl Pooled {
    /// Adds those of a run.
    pub(super) fn add(&mut self, histograms: &Json) {
        for (list, kind) in [("queues", "queue"), ("groups", "group")] {
            for one in histograms[list].as_array().into_iter().flatten() {
                let of = |key: &str| one[key].as_str().unwrap_or_default();
                let hop = match of("hop") {
                    "" | "link" => String::new(),
                    hop => format!("{hop}."),
                };
                let reverse = if of("direction") == "reverse" {
                    "reverse."
                } else {
                    ""
                };
                let name = format!("{hop}{reverse}{kind}.{}.delay_ms", of("name"));
                let counts = self.delays.entry(name).or_default();
                for pair in one["delay_ns"].as_array().into_iter().flatten() {
                    if let (Some(value), Some(count)) = (pair[0].as_u64(), pair[1].as_u64()) {
                        *counts.entry(value).or_default() += count;
                    }
                }
            }
        }
    }

    /// Calls `take` with every percentile in ms, by name.
    pub(super) fn visit(&self, take: &mut dyn FnMut(&str, f64)) {
        for (name, counts) in &self.delays {
            let total: u64 = counts.values().sum();
            for (percentile, thousandths) in PERCENTILES {
                if let Some(value) = quantile(counts, total, thousandths) {
                    take(&format!("{name}.{percentile}.pooled"), value as f64 / 1e6);
                }
            }
        }
    }
}

/// The smallest value with at least this share of all at or below it.
fn quantile(counts: &BTreeMap<u64, u64>, total: u64, thousandths: u64) -> Option<u64> {
    let rank = (u128::from(total) * u128::from(thousandths))
        .div_ceil(1_000)
        .max(1);
    let mut below = 0_u128;
    let reached = |&(_, count): &(&u64, &u64)| {
        below += u128::from(*count);
        below >= rank
    };
    counts.iter().find(reached).map(|(&value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_of_all_seeds_are_one_distribution() {
        let run = |pairs: Json| {
            json!({
                "queues": [{ "name": "queue", "hop": "link", "direction": "forward", "delay_ns": pairs }],
                "groups": [{ "name": "a", "delay_ns": [] }],
            })
        };
        let mut pooled = Pooled::default();
        // 98 packets of 1 ms and 2 of 50 ms: the nearest rank of P99 is the 99th.
        pooled.add(&run(json!([[1_000_000, 60]])));
        pooled.add(&run(json!([[1_000_000, 38], [50_000_000, 2]])));
        let mut found = BTreeMap::new();
        pooled.visit(&mut |name, value| {
            found.insert(name.to_owned(), value);
        });
        assert_eq!(found["queue.queue.delay_ms.p50.pooled"], 1.0);
        assert_eq!(found["queue.queue.delay_ms.p90.pooled"], 1.0);
        assert_eq!(found["queue.queue.delay_ms.p99.pooled"], 50.0);
        assert_eq!(found.len(), 5);
    }
}
