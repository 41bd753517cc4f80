//! Reads the language.

mod two_way;

use quell_kernel::store::Version;
use quell_tcp::{AccEcnOption, Flags, Order, Sack, Segment};
use quell_units::{Ecn, Time};

use super::{
    Arrival, Audience, EcnSetting, End, Event, Expected, Line, MSS, Script, ScriptError, WINDOW,
    WINDOW_SCALE,
};
use crate::state::{Claims, State};

type Parsed<T> = Result<T, String>;

pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let line_error = |what| ScriptError {
            line: index + 1,
            what,
        };
        let (words, comment) = line.split_once('#').unwrap_or((line, ""));
        let mut words = Words::of(words);
        if !words.is_empty() {
            reader
                .line(&mut words, comment.trim(), index + 1)
                .and_then(|()| words.finish())
                .map_err(line_error)?;
        }
    }
    reader.finish().map_err(|what| ScriptError {
        line: text.lines().count(),
        what,
    })
}

/// The words of a line, from the first to the last.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.split_whitespace().rev().collect())
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn peek(&self) -> Option<&'a str> {
        self.0.last().copied()
    }
    fn next(&mut self) -> Option<&'a str> {
        self.0.pop()
    }
    fn need(&mut self, what: &str) -> Parsed<&'a str> {
        self.next().ok_or_else(|| format!("{what} is missing"))
    }
    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Parsed<T> {
        let word = self.need(what)?;
        word.parse().map_err(|_| format!("`{word}` is no {what}"))
    }
    fn finish(&self) -> Parsed<()> {
        self.peek()
            .map_or(Ok(()), |word| Err(format!("`{word}` has no meaning here")))
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    end: Option<End>,
    ecn: EcnSetting,
    timestamps: bool,
    kernel: Option<Version>,
    lines: Vec<Line>,
    /// First byte of the stream that has not been sent yet.
    next: u64,
    /// First byte of the stream that is not acknowledged.
    una: u64,
    /// Where data flows both ways: of the stream that arrives and of the one that leaves, the first number
    /// that has not been sent, and the first that is not acknowledged.
    nexts: [u64; 2],
    unas: [u64; 2],
    /// Where they end.
    fins: [Option<u64>; 2],
}

impl Reader {
    fn line(&mut self, words: &mut Words<'_>, comment: &str, number: usize) -> Parsed<()> {
        let first = words.need("a word")?;
        match first {
            "sender" => self.set_end(End::Sender(words.need("a congestion control")?.to_owned())),
            "receiver" => self.set_end(End::Receiver),
            "client" => self.set_end(End::Client(words.need("a congestion control")?.to_owned())),
            "server" => self.set_end(End::Server(words.need("a congestion control")?.to_owned())),
            "timestamps" => {
                self.timestamps = true;
                Ok(())
            }
            "kernel" => {
                self.kernel = Some(Version::new(words.need("a version")?));
                Ok(())
            }
            "ecn" => {
                self.ecn = match words.need("a kind of ECN")? {
                    "off" => EcnSetting::Off,
                    "classic" => EcnSetting::Classic,
                    "accurate" => EcnSetting::Accurate,
                    other => return Err(format!("`{other}` is not off, classic or accurate")),
                };
                Ok(())
            }
            first => {
                let only = audiences(first)?;
                if !only.is_empty() && comment.is_empty() {
                    return Err("a line for some only says why, behind `#`".to_owned());
                }
                let time = if only.is_empty() {
                    first
                } else {
                    words.need("a time")?
                };
                let at = self.time(time)?;
                let event = self.event(words)?;
                self.lines.push(Line {
                    number,
                    at,
                    only,
                    event,
                });
                Ok(())
            }
        }
    }
    fn set_end(&mut self, end: End) -> Parsed<()> {
        match self.end.replace(end) {
            None => Ok(()),
            Some(_) => Err("there is one end under test".to_owned()),
        }
    }
    fn time(&self, word: &str) -> Parsed<Time> {
        let last = self.lines.last().map_or(Time::ZERO, |line| line.at);
        let at = match word.strip_prefix('+') {
            Some(wait) => last + millis(wait)?,
            None => millis(word)?,
        };
        if at < last {
            return Err(format!("{word} is before the line before"));
        }
        Ok(at)
    }

    fn event(&mut self, words: &mut Words<'_>) -> Parsed<Event> {
        let Some(end) = self.end.clone() else {
            return Err("`sender`, `receiver`, `client` or `server` comes first".to_owned());
        };
        match words.need("an event")? {
            "open" if end.opens() => Ok(Event::Open),
            "write" if end != End::Receiver => Ok(Event::Write(position(words.need("a number")?)?)),
            "close" if end.is_two_way() => Ok(Event::Close),
            "abort" if end.is_two_way() => Ok(Event::Abort),
            "open" | "write" => Err("this end neither opens nor writes".to_owned()),
            "<" => {
                let (segments, said) = self.segments(words, false, &end)?;
                let window = said.window.unwrap_or(WINDOW);
                if window % (1 << WINDOW_SCALE) > 0 || window > WINDOW {
                    return Err(format!("a window of {window} bytes cannot be said"));
                }
                // Headers of a packet: 80 bytes at most, where `ip_length` always counts 12 for timestamps.
                let most = if self.timestamps { 80 } else { 80 + 12 };
                let headers =
                    |segment: &Segment| segment.ip_length().get() - u64::from(segment.payload);
                if segments.iter().any(|segment| headers(segment) > most) {
                    return Err("the options take more than 40 bytes".to_owned());
                }
                let arrival = |segment: Segment| {
                    // A SYN's window is not scaled (RFC 7323 section 2.2).
                    let is_syn = segment.flags.has(Flags::SYN);
                    let window = if is_syn { window.min(65_535) } else { window };
                    Arrival {
                        segment: Segment { window, ..segment },
                        echo: said.echo,
                        sent: said.sent,
                    }
                };
                Ok(Event::Arrive(segments.into_iter().map(arrival).collect()))
            }
            ">" => {
                let (segments, said) = self.segments(words, true, &end)?;
                if said.echo.or(said.sent).is_some() {
                    return Err("timestamps of what leaves are not compared".to_owned());
                }
                let expected = |segment| Expected {
                    segment,
                    window: said.window,
                };
                Ok(Event::Leave(segments.into_iter().map(expected).collect()))
            }
            "is" => claims(words).map(Event::Is),
            "end" => Ok(Event::End),
            other => Err(format!("`{other}` is no event")),
        }
    }

    fn segments(
        &mut self,
        words: &mut Words<'_>,
        leaves: bool,
        end: &End,
    ) -> Parsed<(Vec<Segment>, Said)> {
        if end.is_two_way() {
            return self.two_way(words, leaves, end);
        }
        let carries_data = leaves == end.opens();
        let mut pieces = Vec::new();
        let mut flags = Flags::ACK;
        while let Some(piece) = words
            .peek()
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            pieces.extend(data(piece)?);
            words.next();
        }
        if !pieces.is_empty() && !carries_data {
            return Err("data travels in one direction".to_owned());
        }
        match words.peek() {
            _ if !pieces.is_empty() => {}
            Some("SYN") => {
                pieces.push((0, 0, false));
                flags = if carries_data {
                    Flags::SYN
                } else {
                    Flags::SYN | Flags::ACK
                };
                words.next();
            }
            Some("empty") => {
                pieces.push((if carries_data { self.next } else { 0 }, 0, false));
                words.next();
            }
            Some("probe") if carries_data && self.una > 0 => {
                pieces.push((self.una - 1, 0, false));
                words.next();
            }
            // An acknowledgement.
            _ if !carries_data => pieces.push((0, 0, false)),
            _ => return Err("a segment is missing".to_owned()),
        }
        let said = said(words, flags)?;
        if let Some(ack) = said.acknowledgement {
            if carries_data && ack > 0 {
                return Err("data travels in one direction".to_owned());
            }
            self.una = self.una.max(ack);
        } else if !carries_data && flags & Flags::SYN == 0 {
            return Err("`ack` is missing".to_owned());
        }
        let acknowledgement = said.acknowledgement.unwrap_or(0);
        let segments = pieces.iter().map(|&(sequence, payload, is_pushed)| {
            let mut segment = Segment {
                sequence,
                payload,
                acknowledgement,
                flags: Flags(said.flags | if is_pushed { Flags::PSH } else { 0 }),
                ecn: said.ecn,
                accecn: said.accecn,
                ..Segment::default()
            };
            for block in &said.sacks {
                segment.sacks.push(acknowledgement, *block);
            }
            segment
        });
        let segments: Vec<Segment> = segments.collect();
        if carries_data {
            self.next = segments.iter().map(Segment::end).fold(self.next, u64::max);
        }
        Ok((segments, said))
    }

    fn finish(self) -> Parsed<Script> {
        Ok(Script {
            end: self.end.ok_or("the end under test is missing")?,
            ecn: self.ecn,
            timestamps: self.timestamps,
            kernel: self.kernel,
            lines: self.lines,
        })
    }
}

/// What a segment's line says beside numbers of segments.
#[derive(Debug)]
struct Said {
    flags: u16,
    acknowledgement: Option<u64>,
    sacks: Vec<Sack>,
    window: Option<u32>,
    ecn: Ecn,
    accecn: AccEcnOption,
    echo: Option<Time>,
    sent: Option<Time>,
}

fn said(words: &mut Words<'_>, flags: u16) -> Parsed<Said> {
    let mut said = Said {
        flags,
        acknowledgement: None,
        sacks: Vec::new(),
        window: None,
        ecn: Ecn::NotEct,
        accecn: AccEcnOption::NONE,
        echo: None,
        sent: None,
    };
    while let Some(word) = words.next() {
        match word {
            "ack" => said.acknowledgement = Some(position(words.need("a number")?)?),
            "sack" => {
                while let Some(block) = words
                    .peek()
                    .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
                {
                    let (start, end) = range(block)?;
                    said.sacks.push(Sack { start, end });
                    words.next();
                }
            }
            "win" => {
                let word = words.need("a window")?;
                let bytes = u32::try_from(position(word)?);
                said.window = Some(bytes.map_err(|_| format!("`{word}` is too large"))?);
            }
            "ect0" => said.ecn = Ecn::Ect0,
            "ect1" => said.ecn = Ecn::Ect1,
            "ce" => said.ecn = Ecn::Ce,
            "echo" => said.echo = Some(millis(words.need("a time")?)?),
            "sent" => said.sent = Some(millis(words.need("a time")?)?),
            "ace" => {
                let value: u16 = words.number("number")?;
                for (bit, flag) in ACE {
                    said.flags |= if value & bit > 0 { flag } else { 0 };
                }
            }
            "e0b" | "e1b" => said.accecn = counters(word, words)?,
            flag => match FLAGS.iter().find(|(name, _)| *name == flag) {
                Some((_, flag)) => said.flags |= flag,
                None => return Err(format!("`{flag}` says nothing about a segment")),
            },
        }
    }
    Ok(said)
}

/// The flags that are words.
pub(crate) const FLAGS: [(&str, u16); 6] = [
    ("PSH", Flags::PSH),
    ("RST", Flags::RST),
    ("FIN", Flags::FIN),
    ("ECE", Flags::ECE),
    ("CWR", Flags::CWR),
    ("AE", Flags::AE),
];
/// The bits of the counter ACE (RFC 9768 section 3.2.2).
const ACE: [(u16, u16); 3] = [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)];

/// The AccECN option, of which the first counter has this name.
fn counters(first: &str, words: &mut Words<'_>) -> Parsed<AccEcnOption> {
    let (order, names) = match first {
        "e0b" => (Order::Zero, ["ceb", "e1b"]),
        _ => (Order::One, ["ceb", "e0b"]),
    };
    let mut values = vec![words.number::<u64>("number")?];
    for name in names {
        if words.peek() != Some(name) {
            break;
        }
        words.next();
        values.push(words.number("number")?);
    }
    Ok(AccEcnOption::new(order, &values))
}

/// Sequence number, payload and PSH of each segment of `3`, `3-5P` or `200:700`.
fn data(word: &str) -> Parsed<Vec<(u64, u32, bool)>> {
    let (numbers, is_pushed) = match word.strip_suffix('P') {
        Some(numbers) => (numbers, true),
        None => (word, false),
    };
    let (start, end) = range(numbers)?;
    let step = if numbers.contains(':') {
        end - start
    } else {
        u64::from(MSS)
    };
    let starts = (start..end).step_by(step.max(1) as usize);
    let payload = u32::try_from(step)
        .ok()
        .filter(|payload| *payload <= u32::from(u16::MAX));
    let payload = payload.ok_or_else(|| format!("`{word}` is too long"))?;
    Ok(starts
        .map(|at| (at, payload, is_pushed && at + step == end))
        .collect())
}

/// Bytes of `3-5`, `3` or `200:700`.
fn range(word: &str) -> Parsed<(u64, u64)> {
    let wrong = || format!("`{word}` is no range of segments or bytes");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let (start, end) = if let Some((start, end)) = word.split_once(':') {
        (number(start)?, number(end)?)
    } else {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last) = (number(first)?, number(last)?);
        (first * u64::from(MSS), (last + 1) * u64::from(MSS))
    };
    // A stream of 4 GiB would wrap the numbers on the wire.
    if start < end && end <= u64::from(u32::MAX) {
        Ok((start, end))
    } else {
        Err(wrong())
    }
}

/// The byte before which everything is acknowledged: `3`, or `3500B`.
fn position(word: &str) -> Parsed<u64> {
    let (text, unit) = match word.strip_suffix('B') {
        Some(text) => (text, 1),
        None => (word, u64::from(MSS)),
    };
    let number: u64 = text
        .parse()
        .map_err(|_| format!("`{word}` is no number of segments"))?;
    Ok(number.saturating_mul(unit))
}

/// Milliseconds with up to six decimals.
fn millis(word: &str) -> Parsed<Time> {
    let wrong = || format!("`{word}` is no time in milliseconds");
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    if part.is_empty() || part.len() > 6 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1_000_000)
        .and_then(|nanos| nanos.checked_add(part))
        .map(Time::from_nanos)
        .ok_or_else(wrong)
}

/// For whom a line is, if its first word says so.
fn audiences(word: &str) -> Parsed<Vec<Audience>> {
    if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(Vec::new());
    }
    let one = |word: &str| match word {
        "model" => Ok(Audience::Model),
        "linux" => Ok(Audience::Linux(None, None)),
        _ => {
            let from = word
                .strip_prefix("linux>=")
                .map(|from| Audience::Linux(Some(Version::new(from)), None));
            let before = word
                .strip_prefix("linux<")
                .map(|before| Audience::Linux(None, Some(Version::new(before))));
            from.or(before)
                .ok_or_else(|| format!("`{word}` is no setting and no time"))
        }
    };
    word.split(',').map(one).collect()
}

fn claims(words: &mut Words<'_>) -> Parsed<Claims> {
    let mut claims = Claims::default();
    if words.is_empty() {
        return Err("a state is missing".to_owned());
    }
    while let Some(word) = words.next() {
        match word {
            "cwnd" => claims.cwnd = Some(words.number("number")?),
            "ssthresh" if words.peek() == Some("none") => {
                words.next();
                claims.ssthresh = Some(None);
            }
            "ssthresh" => claims.ssthresh = Some(Some(words.number("number")?)),
            "resent" => claims.resent = Some(words.number("number")?),
            state => {
                let known = State::ALL.into_iter().find(|known| known.name() == state);
                claims.state = Some(known.ok_or_else(|| format!("`{state}` is no state"))?);
            }
        }
    }
    Ok(claims)
}

#[cfg(test)]
mod tests;
