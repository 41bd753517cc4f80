//! Bytes that nobody means well: an error, never a panic, never a run that stands still.

use std::io::Write as _;

use quell_serve::Settings;

use crate::{Running, SCENARIO, client, empty, small};

/// A stream of numbers that is the same in each run of the test.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Changes some bytes of a text: others, none, twice, or a number that is too large.
fn mutated(text: &str, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len().max(1)).min(bytes.len());
        match numbers.below(6) {
            0 if at < bytes.len() => bytes[at] = numbers.next() as u8,
            1 => bytes.truncate(at),
            2 => bytes
                .splice(at..at, b"-1e400".iter().copied())
                .for_each(drop),
            3 => bytes.splice(at..at, *b"\"").for_each(drop),
            4 => bytes.extend_from_within(at..),
            _ => bytes
                .splice(at..at, b"\\u0000\xff".iter().copied())
                .for_each(drop),
        }
        bytes.truncate(60_000);
    }
    bytes
}

fn post(running: &Running, body: &[u8]) -> u16 {
    let host = running.host();
    let mut stream = client::connect(running.address);
    let head = format!(
        "POST /api/ask HTTP/1.1\r\nconnection: close\r\nhost: {host}\r\nauthorization: {}\r\norigin: http://{host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        running.bearer(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    client::answer(&stream).unwrap().status
}

#[test]
fn no_control_message_ends_the_server_or_stops_what_follows() {
    let mut running = Running::start(small(), &Settings::default());
    let mut page = running.messages();
    page.until("opened");
    let scenario = serde_json::to_string(SCENARIO).unwrap();
    let seeds = [
        format!(
            r#"{{"ask":"open","scenario":{scenario},"runs":[[],["link.rate=20mbit"]],"seed":1}}"#
        ),
        r#"{"ask":"open","scenario":"","runs":[[]]}"#.to_owned(),
        r#"{"ask":"speed","speed":3}"#.to_owned(),
        r#"{"ask":"step","step":1000000}"#.to_owned(),
        r#"{"ask":"change","key":"link.rate","value":"5mbit"}"#.to_owned(),
        r#"{"ask":"change","key":"group.l4s.count","value":"7","run":0}"#.to_owned(),
        r#"{"ask":"change","key":"link.queue.target","value":"20ms"}"#.to_owned(),
        r#"{"ask":"finish"}"#.to_owned(),
    ];
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..600 {
        let text = &seeds[numbers.below(seeds.len())];
        let body = match round % 3 {
            0 => (0..numbers.below(300))
                .map(|_| numbers.next() as u8)
                .collect(),
            _ => mutated(text, &mut numbers),
        };
        let status = post(&running, &body);
        assert!(
            [204, 400, 409].contains(&status),
            "{status}: {}",
            String::from_utf8_lossy(&body)
        );
    }
    // Whatever went on before, a run that is opened now runs.
    let mut page = running.messages();
    for ask in [
        r#"{"ask":"speed","speed":100}"#.to_owned(),
        format!(r#"{{"ask":"open","scenario":{scenario},"runs":[[]]}}"#),
    ] {
        while post(&running, ask.as_bytes()) != 204 {}
    }
    loop {
        let finished = page.until("finished");
        let summary = finished["runs"][0]["summary"].as_str().unwrap();
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        if finished["runs"].as_array().unwrap().len() == 1 && summary["duration_s"] == 6.0 {
            break;
        }
    }
    running.end();
}

#[test]
fn no_bytes_in_place_of_a_request_end_the_server() {
    let mut running = Running::start(empty(), &Settings::default());
    let host = running.host();
    let good = format!("GET /api/about HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    let mut numbers = Numbers(7);
    for _ in 0..300 {
        let bytes = mutated(&good, &mut numbers);
        let mut stream = client::connect(running.address);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        if let Some(answer) = client::answer(&stream) {
            assert!((400..500).contains(&answer.status), "{answer:?}");
        }
    }
    assert_eq!(running.get("/api/about").status, 200);
    running.end();
}

#[test]
fn a_page_that_reads_nothing_stops_no_run_and_no_other_page() {
    let running = Running::start(small(), &Settings::default());
    let stalled = running.messages();
    let mut page = running.messages();
    page.until("opened");
    assert_eq!(running.ask(r#"{"ask":"speed","speed":100}"#).status, 204);
    let finished = page.until("finished");
    assert_eq!(finished["runs"].as_array().unwrap().len(), 1);
    drop(stalled);
}
