//! A client that sends what it is given, as no browser would.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Running;

/// No test waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(one, _)| one == name);
        let value = all.next().map(|(_, value)| value.as_str());
        assert!(all.next().is_none(), "{name} is there twice");
        value
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    /// Why the request was refused, in words.
    pub(crate) fn why(&self) -> String {
        self.json()["why"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads the head of an answer; `None` if the connection ends without one.
fn head(reader: &mut impl io::BufRead) -> Option<Answer> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    Some(Answer {
        status,
        headers,
        body: Vec::new(),
    })
}

/// Reads one answer of a connection.
pub(crate) fn answer(stream: &TcpStream) -> Option<Answer> {
    let mut reader = BufReader::new(stream);
    let mut answer = head(&mut reader)?;
    let length = answer
        .header("content-length")
        .map(|text| text.parse::<usize>().unwrap());
    match length {
        Some(length) => {
            answer.body = vec![0; length];
            reader.read_exact(&mut answer.body).unwrap();
        }
        None => {
            reader.read_to_end(&mut answer.body).unwrap();
        }
    }
    Some(answer)
}

/// Sends these bytes, and reads what comes back. A server may answer, and close, before it has read all.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    answer(&stream)
}

impl Running {
    fn head(&self, first: &str, headers: &[(&str, &str)]) -> String {
        let mut text = format!("{first} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text + "\r\n"
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// A request with exactly these headers.
    pub(crate) fn send(&self, first: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let length = body.len().to_string();
        let mut headers = headers.to_vec();
        if !body.is_empty() {
            headers.push(("content-length", &length));
        }
        let text = self.head(first, &headers) + body;
        raw(self.address, text.as_bytes()).unwrap()
    }

    /// As the page asks.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let headers = [("host", &*host), ("authorization", &*bearer)];
        self.send(&format!("GET {path}"), &headers, "")
    }

    pub(crate) fn ask(&self, body: &str) -> Answer {
        self.post("/api/ask", body)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let origin = format!("http://{host}");
        let headers = [
            ("host", &*host),
            ("authorization", &*bearer),
            ("origin", &*origin),
            ("content-type", "application/json"),
        ];
        self.send(&format!("POST {path}"), &headers, body)
    }

    pub(crate) fn messages(&self) -> Messages {
        let (host, bearer) = (self.host(), self.bearer());
        let headers = [("host", &*host), ("authorization", &*bearer)];
        let mut stream = connect(self.address);
        let text = self.head("GET /api/messages", &headers);
        stream.write_all(text.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let head = head(&mut reader).unwrap();
        Messages {
            head,
            reader: Some(reader),
            text: String::new(),
        }
    }
}

/// A stream of events.
pub(crate) struct Messages {
    pub(crate) head: Answer,
    reader: Option<BufReader<TcpStream>>,
    text: String,
}

impl Messages {
    /// The next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.strip_prefix("data: ").map(str::to_owned);
                self.text = rest.to_owned();
                match event {
                    Some(json) => return Some(serde_json::from_str(&json).unwrap()),
                    None => continue,
                }
            }
            self.chunk()?;
        }
    }

    /// Reads a chunk of the body (RFC 9112 section 7.1).
    fn chunk(&mut self) -> Option<()> {
        let reader = self.reader.as_mut()?;
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        if length == 0 {
            return None;
        }
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(length);
        self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        Some(())
    }

    /// The next event of this name; those before are left out.
    pub(crate) fn until(&mut self, name: &str) -> Value {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let told = self.next().unwrap_or_else(|| panic!("no {name} came"));
            if told["type"] == name {
                return told;
            }
        }
        panic!("no {name} came in {PATIENCE:?}");
    }
}

/// The numbers of a series in an event of rows: how many rows, and all columns.
pub(crate) fn numbers(rows: &Value) -> (usize, Vec<f64>) {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{byte} is no digit"),
    };
    let text = rows["base64"].as_str().unwrap().as_bytes();
    let mut bytes = Vec::new();
    for four in text.chunks(4) {
        let digits: Vec<u32> = four
            .iter()
            .filter(|byte| **byte != b'=')
            .map(|byte| u32::from(digit(*byte)))
            .collect();
        let bits = digits.iter().fold(0, |bits, digit| bits << 6 | digit);
        let bits = bits << (6 * (4 - digits.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..digits.len()]);
    }
    let numbers = bytes
        .chunks_exact(8)
        .map(|eight| f64::from_le_bytes(eight.try_into().unwrap()));
    let numbers: Vec<f64> = numbers.collect();
    assert_eq!(bytes.len(), 8 * numbers.len());
    (rows["count"].as_u64().unwrap() as usize, numbers)
}
