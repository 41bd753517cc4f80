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

/// A request on a connection that stays, with these further lines in its head.
fn asks(running: &Running, path: &str, lines: &str) -> String {
    let host = running.host();
    format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{lines}\r\n")
}

fn with_token(running: &Running, path: &str) -> String {
    asks(
        running,
        path,
        &format!("authorization: {}\r\n", running.bearer()),
    )
}

/// The status of the answer to a request; `None` where the connection has ended.
fn status(stream: &mut TcpStream, head: &str) -> Option<u16> {
    // One whose place is needed may be closed already.
    stream.write_all(head.as_bytes()).ok()?;
    client::answer(stream).map(|answer| answer.status)
}

#[test]
fn of_a_hundred_connections_sixty_four_are_held() {
    let running = Running::start(empty(), &Settings::default());
    let head = asks(&running, "/", "");
    let mut held: Vec<TcpStream> = (0..100).map(|_| client::connect(running.address)).collect();
    // The last one is there, so that all are.
    let last = held.last_mut().unwrap();
    assert_eq!(status(last, &head), Some(200));
    let answered = held.iter_mut().filter_map(|one| status(one, &head));
    let answered: Vec<u16> = answered.collect();
    assert_eq!(answered, [200; 64]);
}

/// Whoever has no token may fill every place: one more connection gets in all the same, and then keeps its place.
#[test]
fn connections_without_the_token_keep_nobody_out_who_has_it() {
    let running = Running::start(empty(), &Settings::default());
    let about = with_token(&running, "/api/about");
    let strangers = |count: usize| -> Vec<TcpStream> {
        let mut all: Vec<TcpStream> = (0..count)
            .map(|_| client::connect(running.address))
            .collect();
        // Half of them hold a place by asking for a file of the page, one by a wrong token.
        let head = asks(&running, "/", "");
        for stream in all.iter_mut().skip(count / 2) {
            status(stream, &head);
        }
        let wrong = asks(&running, "/api/about", "authorization: Bearer 0\r\n");
        status(all.last_mut().unwrap(), &wrong);
        all
    };
    let before = strangers(64);
    let mut owner = client::connect(running.address);
    assert_eq!(status(&mut owner, &about), Some(200));
    let after = strangers(200);
    assert_eq!(status(&mut owner, &about), Some(200));
    drop((before, after));
}

#[test]
fn where_all_have_shown_the_token_one_more_is_told_that_there_is_no_place() {
    let limits = Limits {
        connections: 3,
        ..Limits::default()
    };
    let running = Running::start(empty(), &with(limits));
    let about = with_token(&running, "/api/about");
    let mut known: Vec<TcpStream> = (0..3).map(|_| client::connect(running.address)).collect();
    for stream in &mut known {
        assert_eq!(status(stream, &about), Some(200));
    }
    let refused = client::answer(&client::connect(running.address));
    assert_eq!(refused.map(|answer| answer.status), Some(503));
    for stream in &mut known {
        assert_eq!(status(stream, &about), Some(200));
    }
    known.pop();
    soon(|| status(&mut client::connect(running.address), &about).filter(|status| *status == 200));
}

#[test]
fn eight_pages_watch_and_a_ninth_is_told_so() {
    let running = Running::start(small(), &Settings::default());
    let mut pages: Vec<client::Messages> = (0..8).map(|_| running.messages()).collect();
    for page in &mut pages {
        assert_eq!(page.head.status, 200);
        page.until("opened");
    }
    let ninth = running.get("/api/messages");
    assert_eq!(ninth.status, 503);
    assert!(ninth.why().contains("8 pages watch"), "{}", ninth.text());
    pages.pop();
    soon(|| Some(running.messages()).filter(|told| told.head.status == 200));
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
    let mut slow = client::connect(running.address);
    // It has shown the token, so that its place is its own. Then it asks for more than all buffers hold, and reads nothing.
    let head = asks(&running, "/page.js", "");
    let about = with_token(&running, "/api/about");
    assert_eq!(status(&mut slow, &about), Some(200));
    for _ in 0..30 {
        if slow.write_all(head.as_bytes()).is_err() {
            break;
        }
    }
    let close = asks(&running, "/page.js", "connection: close\r\n");
    soon(|| client::raw(running.address, close.as_bytes()).filter(|answer| answer.status == 200));
    drop(slow);
}
