//! The figures of a program behind a link, for expectations: those of its summary, of both directions, of the program, and of what was felt.

use serde_json::{Map, Value, json};

/// The figures, by the names that expectations have: of `summary.json` and `exec.json`.
pub(crate) fn figures(summary: Value, exec: &Value) -> Value {
    let mut all = summary;
    for way in ["down", "up"] {
        let mut side = exec[way].clone();
        let link = match way {
            "down" => &all["link"],
            _ => &all["link"]["reverse"],
        };
        for figure in ["utilisation", "rate_bps"] {
            side[figure] = link[figure].clone();
        }
        let count = |name: &str| side[name].as_f64().unwrap_or_default();
        let lost = 100.0 * (count("dropped") + count("lost_outside")) / count("packets");
        side["lost_percent"] = json!(lost.is_finite().then_some(lost));
        all[way] = side;
    }
    all["program"] = json!({ "exit": exec["exit_code"], "seconds": all["duration_s"] });
    all["felt"] = felt(&exec["felt"]);
    all
}

/// What was felt: the worst of all packets, and that of each kind. Where nothing crossed the link, nothing was.
fn felt(impact: &Value) -> Value {
    let mut felt = Map::new();
    felt.insert("state".to_owned(), impact["state"].clone());
    if impact["state"] == "unused" {
        return felt.into();
    }
    let plain = impact.as_object().into_iter().flatten();
    let plain = plain.filter(|(_, value)| value.is_number());
    felt.extend(plain.map(|(name, value)| (name.clone(), value.clone())));
    for traffic in impact["traffic"].as_array().into_iter().flatten() {
        for (name, value) in traffic.as_object().into_iter().flatten() {
            let worst = felt.get(name).and_then(Value::as_f64);
            if value.as_f64() > worst {
                felt.insert(name.clone(), value.clone());
            }
        }
        if let Some(kind) = traffic["name"].as_str() {
            felt.insert(kind.to_owned(), traffic.clone());
        }
    }
    felt.into()
}
