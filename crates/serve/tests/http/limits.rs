//! What a server takes, and no more.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use quell_serve::{Limits, Settings};

use crate::{Running, client, empty, small};

fn with(limits: Limits) -> Settings {
    Settings {
        limits,
        ..Settings::default()
    }
}

/// Repeats `act` until it gives something.
fn soon<T>(mut act: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = act() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn of_a_hundred_connections_sixty_four_are_held() {
    let running = Running::start(empty(), &Settings::default());
    let host = running.host();
    let head = format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n");
    let mut held: Vec<TcpStream> = (0..100).map(|_| client::connect(running.address)).collect();
    let mut statuses = Vec::new();
    for stream in &mut held {
        // One that was refused may be closed already.
        let _ = stream.write_all(head.as_bytes());
        statuses.push(client::answer(stream).map(|answer| answer.status));
    }
    let served = statuses.iter().filter(|status| **status == Some(200));
    assert_eq!(served.count(), 64, "{statuses:?}");
    assert!(
        statuses
            .iter()
            .all(|status| [None, Some(200), Some(503)].contains(status)),
        "{statuses:?}"
    );
    drop(held);
    soon(|| {
        client::raw(
            running.address,
            head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
        .filter(|answer| answer.status == 200)
    });
}

#[test]
fn eight_pages_watch_and_a_ninth_is_told_so() {
    let running = Running::start(small(), &Settings::default());
    let mut pages: Vec<client::Told> = (0..8).map(|_| running.told()).collect();
    for page in &mut pages {
        assert_eq!(page.head.status, 200);
        page.until("opened");
    }
    let ninth = running.get("/api/told");
    assert_eq!(ninth.status, 503);
    assert!(ninth.why().contains("8 pages watch"), "{}", ninth.text());
    pages.pop();
    soon(|| Some(running.told()).filter(|told| told.head.status == 200));
}

#[test]
fn a_body_has_a_length_that_a_page_needs() {
    let running = Running::start(empty(), &Settings::default());
    let ask = |length: usize| {
        let key = "k".repeat(length);
        running
            .ask(&format!(r#"{{"ask":"finish","x":"{key}"}}"#))
            .status
    };
    assert_eq!(ask(60_000), 400, "it is read, and has a key too many");
    assert_eq!(ask(70_000), 413);
    assert_eq!(ask(5_000_000), 413);
    assert_eq!(running.get("/api/about").status, 200);
}

#[test]
fn a_body_without_a_length_is_bounded_too() {
    let running = Running::start(empty(), &Settings::default());
    let host = running.host();
    let mut stream = client::connect(running.address);
    let head = format!(
        "POST /api/ask HTTP/1.1\r\nhost: {host}\r\nauthorization: {}\r\norigin: http://{host}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        running.bearer()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    for _ in 0..1_000 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    // The answer may be lost with the connection, which is closed while this end still writes.
    if let Some(answer) = client::answer(&stream) {
        assert_eq!(answer.status, 413);
    }
    assert_eq!(running.get("/api/about").status, 200);
}

#[test]
fn a_head_has_a_length_and_a_time() {
    let running = Running::start(
        empty(),
        &with(Limits {
            head: Duration::from_millis(300),
            ..Limits::default()
        }),
    );
    let host = running.host();
    let long = format!(
        "GET / HTTP/1.1\r\nhost: {host}\r\nx: {}\r\n\r\n",
        "x".repeat(100_000)
    );
    let answer = client::raw(running.address, long.as_bytes());
    assert!(answer.is_none_or(|answer| answer.status == 431));
    // Whoever sends nothing, or a byte at a time, or nothing any more, holds no place.
    for head in [
        String::new(),
        "GET / HTTP/1.1\r\nhost".to_owned(),
        format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n"),
    ] {
        let mut stream = client::connect(running.address);
        stream.write_all(head.as_bytes()).unwrap();
        let began = Instant::now();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(200), "{head:?} {took:?}");
        assert!(took < Duration::from_secs(10), "{head:?} {took:?}");
    }
}

#[test]
fn a_slow_body_is_given_up() {
    let running = Running::start(
        empty(),
        &with(Limits {
            head: Duration::from_millis(300),
            ..Limits::default()
        }),
    );
    let host = running.host();
    let head = format!(
        "POST /api/ask HTTP/1.1\r\nhost: {host}\r\nauthorization: {}\r\norigin: http://{host}\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{{",
        running.bearer()
    );
    let answer = client::raw(running.address, head.as_bytes()).unwrap();
    assert_eq!(answer.status, 408);
}

#[test]
fn whoever_takes_nothing_of_an_answer_holds_no_place() {
    let running = Running::start(
        empty(),
        &with(Limits {
            connections: 1,
            stall: Duration::from_millis(300),
            ..Limits::default()
        }),
    );
    let host = running.host();
    let mut slow = client::connect(running.address);
    // More than all buffers hold, and nothing is read.
    let head = format!("GET /page.js HTTP/1.1\r\nhost: {host}\r\n\r\n");
    for _ in 0..30 {
        if slow.write_all(head.as_bytes()).is_err() {
            break;
        }
    }
    let close = head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    soon(|| client::raw(running.address, close.as_bytes()).filter(|answer| answer.status == 200));
    drop(slow);
}
