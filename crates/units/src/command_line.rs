//! A program and its arguments, as a list of words.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A program and its arguments, at least one word. No shell interprets the words: each is an argument as it stands.
#[derive(Clone, Copy)]
pub struct CommandLine {
    /// The words, each with a zero byte behind it; zeros behind the last.
    text: [u8; Self::MOST_BYTES],
    length: u16,
}

impl CommandLine {
    /// The most bytes of all words together, each with one more for its end.
    pub const MOST_BYTES: usize = 512;

    /// The words as a command line; `None` if there are none, the first is empty, one has a zero byte, or they are too long.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let (mut text, mut length) = ([0; Self::MOST_BYTES], 0);
        for word in words {
            let is_program = length == 0;
            if word.contains('\0') || (is_program && word.is_empty()) {
                return None;
            }
            let end = length + word.len();
            text.get_mut(length..end)?.copy_from_slice(word.as_bytes());
            // The byte behind the word, which is zero.
            text.get(end)?;
            length = end + 1;
        }
        let length = u16::try_from(length).ok()?;
        (length > 0).then_some(Self { text, length })
    }

    /// Reads `["iperf3", "-s"]`, an array of TOML whose strings are in double quotes; `None` if it is no such list.
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        let (mut words, mut rest) = (Vec::new(), inner.trim_start());
        while !rest.is_empty() {
            let (word, behind) = string(rest.strip_prefix('"')?)?;
            words.push(word);
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if behind.is_empty() => behind,
                None => return None,
            };
        }
        Self::new(words.iter().map(String::as_str))
    }

    /// The words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let all = &self.text[..usize::from(self.length)];
        // They were text when they came in.
        all.split_inclusive(|byte| *byte == 0)
            .map(|word| core::str::from_utf8(&word[..word.len() - 1]).unwrap_or_default())
    }

    /// The name of the program: the first word.
    pub fn program(&self) -> &str {
        self.words().next().unwrap_or_default()
    }
}

/// Reads a string of TOML up to its closing quotes; returns it with the text behind them.
fn string(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((word, &text[at + 1..])),
            '\\' => word.push(match letters.next()?.1 {
                'b' => '\u{8}',
                't' => '\t',
                'n' => '\n',
                'f' => '\u{c}',
                'r' => '\r',
                'e' => '\u{1b}',
                same @ ('"' | '\\') => same,
                kind @ ('u' | 'U' | 'x') => {
                    let digits = match kind {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let mut number = 0;
                    for _ in 0..digits {
                        number = number * 16 + letters.next()?.1.to_digit(16)?;
                    }
                    char::from_u32(number)?
                }
                _ => return None,
            }),
            letter => word.push(letter),
        }
    }
    None
}

impl PartialEq for CommandLine {
    fn eq(&self, other: &Self) -> bool {
        self.words().eq(other.words())
    }
}

impl Eq for CommandLine {}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CommandLine {
    /// Prints an array of a scenario file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::from("[");
        for (index, word) in self.words().enumerate() {
            out.push_str(if index == 0 { "\"" } else { ", \"" });
            for letter in word.chars() {
                match letter {
                    '"' | '\\' => out.extend(['\\', letter]),
                    '\n' => out.push_str("\\n"),
                    '\t' => out.push_str("\\t"),
                    other if other.is_control() => {
                        out.push_str(&format!("\\u{:04x}", u32::from(other)));
                    }
                    other => out.push(other),
                }
            }
            out.push('"');
        }
        out.push(']');
        f.pad(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn words_are_read_as_toml_writes_them_and_printed_so_again() {
        let line =
            CommandLine::new(["iperf3", "-c", "$SERVER", "", "a \"b\" \\ ü\n\u{7f}"]).unwrap();
        let written = r#"["iperf3", "-c", "$SERVER", "", "a \"b\" \\ ü\n\u007f"]"#;
        assert_eq!(line.to_string(), written);
        assert_eq!(CommandLine::parse(written), Some(line));
        let loose = r#" [ "iperf3" ,"-c","$SERVER","","a \u0022b\x22 \\ ü\n\U0000007f", ] "#;
        assert_eq!(CommandLine::parse(loose), Some(line));
        assert_eq!(line.program(), "iperf3");
        assert_eq!(line.words().count(), 5);
        assert_ne!(CommandLine::new(["iperf3"]), Some(line));
    }

    #[test]
    fn what_is_no_list_of_words_is_none() {
        let fits = "x".repeat(CommandLine::MOST_BYTES - 1);
        assert!(CommandLine::new([&*fits]).is_some());
        assert_eq!(CommandLine::new([&*(fits + "x")]), None);
        assert_eq!(CommandLine::new([]), None);
        assert_eq!(CommandLine::new(["a\0b"]), None);
        for text in [
            "",
            "[]",
            "iperf3",
            "\"iperf3\"",
            "[\"\"]",
            "[1]",
            "[\"a\" \"b\"]",
            "[\"a\",,]",
            "[\"a",
            "[\"\\q\"]",
            "[\"\\u12\"]",
            "[\"\\ud800\"]",
            "[[\"a\"]]",
            "['a']",
        ] {
            assert_eq!(CommandLine::parse(text), None, "{text}");
        }
    }
}
