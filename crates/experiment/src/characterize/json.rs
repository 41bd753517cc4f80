//! `card.json`: each key of the card on a line of its own, and each scenario. A card is less than half as large as with every figure on a
//! line, and two of them can still be compared line by line.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::characterize::card::Card;

/// The text of `card.json`, without the end of the last line.
///
/// # Errors
///
/// A figure is no number.
pub fn json(card: &Card) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Lines { depth: 0 });
    card.serialize(&mut serializer)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Ends lines within the card and within its lists, and nowhere deeper.
struct Lines {
    /// Objects and lists around what is written.
    depth: usize,
}

impl Lines {
    fn separate<W: Write + ?Sized>(&self, to: &mut W, first: bool, most: usize) -> io::Result<()> {
        to.write_all(match (first, self.depth <= most) {
            (true, true) => b"\n",
            (true, false) => b"",
            (false, true) => b",\n",
            (false, false) => b", ",
        })
    }

    fn end<W: Write + ?Sized>(&mut self, to: &mut W, most: usize, end: &[u8]) -> io::Result<()> {
        if self.depth <= most {
            to.write_all(b"\n")?;
        }
        self.depth -= 1;
        to.write_all(end)
    }
}

impl Formatter for Lines {
    fn begin_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"{")
    }
    fn end_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, 1, b"}")
    }
    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.separate(to, first, 1)
    }
    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
    fn begin_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"[")
    }
    fn end_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, 2, b"]")
    }
    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.separate(to, first, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characterize::card::{NotRun, PathRecord};

    #[test]
    fn lines_are_those_of_keys_and_of_elements() {
        let one = NotRun {
            id: "a".to_owned(),
            title: "\"b\", c".to_owned(),
            source: String::new(),
            why: String::new(),
        };
        let card = Card {
            schema: 1,
            suite: "s".to_owned(),
            world: "sim".to_owned(),
            profile: PathRecord {
                name: "p".to_owned(),
                rate_bps: 1,
                rtt_ms: 1.5,
                measured_s: 1.0,
                warmup_s: 1.0,
                buffer_packets: 1,
                held_packets: 2,
                flows: [1, 2, 3],
            },
            seeds: 1,
            queues: Vec::new(),
            shares: vec![0.0, 1.0],
            scenarios: Vec::new(),
            parameters: Vec::new(),
            not_run: vec![one.clone(), one],
            verdicts: Vec::new(),
            notes: Vec::new(),
        };
        let text = json(&card).unwrap();
        assert_eq!(serde_json::from_str::<Card>(&text).unwrap(), card);
        assert!(
            text.starts_with("{\n\"schema\": 1,\n\"suite\": \"s\",\n"),
            "{text}"
        );
        let lines: Vec<&str> = text.lines().collect();
        let found = lines
            .iter()
            .filter(|line| line.starts_with("{\"id\": \"a\", "));
        assert_eq!(found.count(), 2, "{text}");
        assert!(
            lines
                .iter()
                .any(|line| line.ends_with("\"flows\": [1, 2, 3]},")),
            "{text}"
        );
    }
}
