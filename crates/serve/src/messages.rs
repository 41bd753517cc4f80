//! The messages to a page: those of `web/src/session.ts` as JSON, each one line.
//!
//! Numbers of a series come as base64 of their bytes, little-endian, all of the first column, then all of the second, and so on.

use std::sync::Arc;

use data_encoding::BASE64;
use quell_units::Time;
use quell_watch::Series;
use serde_json::{Map, Value, json};

use crate::pace::Frame;

/// A message, made once for all streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// One that every page gets.
    Word(Arc<str>),
    /// Rows, which a slow page loses. It ends before its last brace: each stream adds how many it lost.
    Rows(Arc<str>),
}

impl Message {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Word(text) | Self::Rows(text) => text.len(),
        }
    }

    /// As an event of a stream that has lost so many messages of rows so far.
    pub(crate) fn event(&self, lost: u64) -> String {
        match self {
            Self::Word(text) => format!("data: {text}\n\n"),
            Self::Rows(text) => format!("data: {text},\"lost\":{lost}}}\n\n"),
        }
    }
}

fn word(value: &Value) -> Message {
    Message::Word(value.to_string().into())
}

/// Runs were opened; each is described as [`about`](quell_watch::about()) does it.
pub(crate) fn opened(abouts: &[Value]) -> Message {
    word(&json!({ "type": "opened", "runs": abouts }))
}

/// A run has changed; `scenario` repeats it, and `about` describes it as it is now.
pub(crate) fn changed(run: usize, scenario: &str, about: &Value) -> Message {
    word(&json!({ "type": "changed", "run": run, "scenario": scenario, "about": about }))
}

/// What was asked for is not done.
pub(crate) fn refused(why: &str) -> Message {
    word(&json!({ "type": "refused", "why": why }))
}

/// How far a run is that cannot be watched yet.
pub(crate) fn progress(now: Time, duration: Time) -> Message {
    let (now, duration) = (now.as_nanos(), duration.as_nanos());
    word(&json!({ "type": "progress", "now": now, "duration": duration }))
}

/// The last message.
pub(crate) fn ended(why: &str) -> Message {
    word(&json!({ "type": "ended", "why": why }))
}

/// The runs are over.
pub(crate) fn finished(runs: &[quell_watch::Finished]) -> Message {
    let files = runs
        .iter()
        .map(|run| json!({ "summary": run.summary, "histograms": run.histograms }));
    word(&json!({ "type": "finished", "runs": files.collect::<Vec<_>>() }))
}

/// What happened in a run since the last message about it.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// The words that stand for numbers in columns of words.
    pub(crate) words: Vec<String>,
    /// Of each series, how many rows and their numbers.
    pub(crate) series: [(usize, Vec<f64>); Series::ALL.len()],
    /// Single packets, where the world shows them.
    pub(crate) packets: Option<(usize, Vec<f64>)>,
}

impl News {
    /// Whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        let packets = self.packets.as_ref().map_or(0, |packets| packets.0);
        packets == 0 && self.series.iter().all(|(count, _)| *count == 0)
    }

    fn json(&self) -> Value {
        let series = Series::ALL.iter().zip(&self.series);
        let series: Map<String, Value> = series
            .map(|(series, (count, numbers))| (series.name().to_owned(), columns(*count, numbers)))
            .collect();
        let mut run = Map::new();
        run.insert("words".to_owned(), json!(self.words));
        run.insert("rows".to_owned(), series.into());
        if let Some((count, numbers)) = &self.packets {
            run.insert("packets".to_owned(), columns(*count, numbers));
        }
        run.into()
    }
}

/// What happened in all runs, and how the last frame went.
pub(crate) fn rows(frame: Frame, runs: &[News]) -> Message {
    let runs: Vec<Value> = runs.iter().map(News::json).collect();
    let message = json!({ "type": "rows", "frame": frame.json(), "runs": runs });
    let mut text = message.to_string();
    // Each stream ends it.
    text.pop();
    Message::Rows(text.into())
}

fn columns(count: usize, numbers: &[f64]) -> Value {
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let columns = [
        ("count".to_owned(), count.into()),
        ("base64".to_owned(), BASE64.encode(&bytes).into()),
    ];
    Value::Object(columns.into_iter().collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_one_line_of_json_with_what_the_stream_lost() {
        let frame = Frame {
            now: Time::from_millis(2),
            wished: 1.0,
            reached: 0.5,
            is_over: false,
        };
        let news = News {
            words: vec!["a\n".to_owned()],
            series: [(1, vec![1.0]), (0, vec![]), (0, vec![])],
            packets: Some((0, vec![])),
        };
        let event = rows(frame, &[news, News::default()]).event(3);
        let json = event.strip_prefix("data: ").unwrap();
        let json = json.strip_suffix("\n\n").unwrap();
        assert!(!json.contains('\n'));
        let message: Value = serde_json::from_str(json).unwrap();
        // 1.0 is 0x3ff0000000000000.
        let expected = json!({
            "type": "rows",
            "frame": { "now": 2_000_000, "wished": 1.0, "reached": 0.5, "isOver": false },
            "runs": [
                {
                    "words": ["a\n"],
                    "rows": {
                        "queues": { "count": 1, "base64": "AAAAAAAA8D8=" },
                        "flows": { "count": 0, "base64": "" },
                        "events": { "count": 0, "base64": "" },
                    },
                    "packets": { "count": 0, "base64": "" },
                },
                {
                    "words": [],
                    "rows": {
                        "queues": { "count": 0, "base64": "" },
                        "flows": { "count": 0, "base64": "" },
                        "events": { "count": 0, "base64": "" },
                    },
                },
            ],
            "lost": 3,
        });
        assert_eq!(message, expected);
    }
}
