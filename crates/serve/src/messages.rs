//! What a page is told: the messages of `web/src/session.ts` as JSON, each one line.
//!
//! Numbers of a series come as base64 of their bytes, little-endian, all of the first column, then all of the second, and so on.

use std::fmt::Write as _;
use std::sync::Arc;

use quell_units::Time;
use quell_watch::Series;
use serde_json::{Value, json};

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

/// Runs were opened; each is described by JSON of its own.
pub(crate) fn opened(abouts: &[String]) -> Message {
    Message::Word(format!("{{\"told\":\"opened\",\"runs\":[{}]}}", abouts.join(",")).into())
}

/// A run has changed; `scenario` repeats it, and `about` is JSON and describes it as it is now.
pub(crate) fn changed(run: usize, scenario: &str, about: &str) -> Message {
    let scenario = json!(scenario);
    let text =
        format!("{{\"told\":\"changed\",\"run\":{run},\"scenario\":{scenario},\"about\":{about}}}");
    Message::Word(text.into())
}

/// What was asked for is not done.
pub(crate) fn refused(why: &str) -> Message {
    word(&json!({ "told": "refused", "why": why }))
}

/// A run that cannot be watched yet is so far.
pub(crate) fn progress(now: Time, duration: Time) -> Message {
    let (now, duration) = (now.as_nanos(), duration.as_nanos());
    word(&json!({ "told": "progress", "now": now, "duration": duration }))
}

/// Nothing comes any more.
pub(crate) fn ended(why: &str) -> Message {
    word(&json!({ "told": "ended", "why": why }))
}

/// The runs are over.
pub(crate) fn finished(runs: &[quell_watch::Finished]) -> Message {
    let files = runs
        .iter()
        .map(|run| json!({ "summary": run.summary, "histograms": run.histograms }));
    word(&json!({ "told": "finished", "runs": files.collect::<Vec<_>>() }))
}

/// What happened in a run since it was last told.
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
}

/// What happened in all runs, and how the last frame went.
pub(crate) fn rows(frame: Frame, runs: &[News]) -> Message {
    let mut text = format!("{{\"told\":\"rows\",\"frame\":{},\"runs\":[", frame.json());
    for (place, news) in runs.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        let _ = write!(text, "{{\"words\":{},\"rows\":{{", json!(news.words));
        for (series, (count, numbers)) in Series::ALL.iter().zip(&news.series) {
            if *series as usize > 0 {
                text.push(',');
            }
            let _ = write!(text, "\"{}\":", series.name());
            columns(*count, numbers, &mut text);
        }
        text.push('}');
        if let Some((count, numbers)) = &news.packets {
            text.push_str(",\"packets\":");
            columns(*count, numbers, &mut text);
        }
        text.push('}');
    }
    text.push(']');
    Message::Rows(text.into())
}

fn columns(count: usize, numbers: &[f64], out: &mut String) {
    let _ = write!(out, "{{\"count\":{count},\"base64\":\"");
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    base64(&bytes, out);
    out.push_str("\"}");
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = bits >> (18 - 6 * place) & 63;
            out.push(if place <= three.len() {
                char::from(DIGITS[digit as usize])
            } else {
                '='
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648 section 10.
    #[test]
    fn base64_is_that_of_the_rfc() {
        for (plain, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut text = String::new();
            base64(plain.as_bytes(), &mut text);
            assert_eq!(text, expected);
        }
    }

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
        let told: Value = serde_json::from_str(json).unwrap();
        // 1.0 is 0x3ff0000000000000.
        let expected = json!({
            "told": "rows",
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
        assert_eq!(told, expected);
    }
}
