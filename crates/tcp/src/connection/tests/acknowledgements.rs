//! ACKs that ride on data, and those that do not; Linux 7.2 `tcp_output.c` (`tcp_event_data_sent`,
//! `tcp_established_options`), `tcp_input.c` (`__tcp_ack_snd_check`).

use super::*;

/// Repeats a request of the client and an answer of the server; each is written when the one before
/// it has arrived.
fn exchanges(path: &mut Path, count: u64, request: u64, answer: u64) {
    for n in 1..=count {
        path.write(CLIENT, request);
        let (end, until) = (SERVER, n * request);
        run_until_delivered(path, end, until);
        path.write(SERVER, answer);
        run_until_delivered(path, CLIENT, n * answer);
    }
}
fn run_until_delivered(path: &mut Path, end: usize, bytes: u64) {
    while path.ends[end].delivered() < bytes {
        let at = path.next().expect("it waits for something");
        path.step(at);
    }
}
fn bare(path: &Path, end: usize, from: Time) -> usize {
    path.left
        .iter()
        .filter(|(at, who, segment)| *who == end && *at >= from && segment.payload == 0)
        .count()
}

/// `tcp_pingpong_thresh` = 1: the first answer of each end makes it interactive; until then it is in the
/// quick-ack phase.
#[test]
fn from_the_second_exchange_on_all_acks_ride_on_data() {
    let mut path = Path::new(ms(20)).opened();
    let begin = path.now;
    exchanges(&mut path, 1, 200, 300);
    assert_eq!(bare(&path, SERVER, begin), 1);
    assert_eq!(
        path.sent(SERVER, begin),
        ["50 0 ack 200", "50 0+300 ack 200"]
    );
    exchanges_after_first(&mut path);
}
fn exchanges_after_first(path: &mut Path) {
    // The client's first ACK leaves at once too.
    let second = path.now;
    assert_eq!(path.sent(CLIENT, second), ["60 200 ack 300"]);
    path.write(CLIENT, 200);
    run_until_delivered(path, SERVER, 400);
    assert_eq!(bare(path, SERVER, ms(51)), 0);
    path.write(SERVER, 300);
    run_until_delivered(path, CLIENT, 600);
    // Nobody answers: the ACK leaves after 40 ms, and the client is interactive no more.
    assert_eq!(path.sent(SERVER, ms(51)), ["70 300+300 ack 400"]);
    assert_eq!(path.sent(CLIENT, ms(61)), [""; 0]);
    path.run_until(ms(200));
    assert_eq!(path.sent(CLIENT, ms(61)), ["120 400 ack 600"]);
    path.write(SERVER, 300);
    path.run_until(ms(300));
    assert_eq!(path.sent(CLIENT, ms(201)), ["210 400 ack 900"]);
}

/// Data written in answer to a segment leaves after the ACK that the segment demands, even if the host
/// polls only once.
#[test]
fn an_ack_that_is_due_leaves_before_the_answer() {
    let mut path = Path::new(ms(20)).opened();
    let request = Segment {
        payload: 100,
        flags: Flags(Flags::ACK),
        window: 1 << 20,
        ..Segment::default()
    };
    let server = &mut path.ends[SERVER];
    server.on_segment(&request, ms(50));
    server.write(10);
    server.close();
    let answer: Vec<_> = std::iter::from_fn(|| server.poll(ms(50))).collect();
    let text: Vec<_> = answer.iter().map(|one| describe(ms(50), one)).collect();
    assert_eq!(text, ["50 0 ack 100", "50 0+10 FIN ack 100"]);
}

/// `tcp_established_options`, `tcp_current_mss`.
#[test]
fn sack_blocks_on_data_shrink_the_payload() {
    // The second data segment of the client is lost while the server sends without end.
    let mut count = 0;
    let mut path = Path::new(ms(20)).opened().with(move |end, segment, _| {
        count += u64::from(end == CLIENT && segment.payload > 0);
        let is_lost = end == CLIENT && segment.payload > 0 && count == 2;
        if is_lost { Fate::Drop } else { Fate::Pass }
    });
    path.write(SERVER, 3_000 * MSS);
    path.write(CLIENT, 8 * MSS);
    path.run_until(ms(58));
    path.run_out(Time::from_secs(20));
    let shrunk = path.left.iter().filter(|(_, end, segment)| {
        *end == SERVER && segment.payload > 0 && !segment.sacks.is_empty()
    });
    let shrunk: Vec<_> = shrunk
        .map(|(_, _, segment)| (segment.payload, segment.sacks.len()))
        .collect();
    assert!(shrunk.contains(&(1_448 - 12, 1)), "{shrunk:?}");
    let full = path
        .left
        .iter()
        .filter(|(_, end, segment)| *end == SERVER && segment.payload == 1_448);
    assert!(full.count() > 100);
    assert_eq!(path.ends[CLIENT].sender().stats().retransmitted, 1);
    assert_eq!(path.ends[SERVER].sender().stats().retransmitted, 0);
    assert_eq!(path.ends[SERVER].delivered(), 8 * MSS);
    assert_eq!(path.ends[CLIENT].delivered(), 3_000 * MSS);
}

/// `FLAG_NOT_DUP`. Four data segments that acknowledge the same number are no sign of a loss.
#[test]
fn data_is_no_duplicate_ack() {
    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 4 * MSS);
    let data = |n: u64| Segment {
        sequence: n * MSS,
        payload: MSS as u32,
        flags: Flags(Flags::ACK),
        window: 1 << 30,
        ..Segment::default()
    };
    for n in 0..6 {
        let segment = data(n);
        path.ends[CLIENT].on_segment(&segment, path.now);
    }
    assert_eq!(path.ends[CLIENT].sender().stats().recoveries, 0);
    assert_eq!(path.ends[CLIENT].sender().state(), crate::cc::CaState::Open);
    path.poll(CLIENT);
    assert_eq!(path.ends[CLIENT].sender().stats().retransmitted, 0);
}

/// `tcp_acceptable_seq`.
#[test]
fn a_bare_ack_has_the_next_number() {
    let mut path = Path::new(ms(20)).opened();
    path.write(SERVER, 5_000);
    path.write(CLIENT, 700);
    path.run_out(ms(500));
    let bare = path
        .left
        .iter()
        .filter(|(at, end, segment)| *end == CLIENT && segment.payload == 0 && *at > ms(40));
    assert!(bare.clone().count() > 0);
    assert!(
        bare.into_iter()
            .all(|(_, _, segment)| segment.sequence == 700)
    );
}

/// An overtaken pure ACK is answered if it lies before all that was acknowledged (`tcp_sequence`), at most
/// each 500 ms (`tcp_invalid_ratelimit`).
#[test]
fn old_acks_are_answered_twice_a_second() {
    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 700);
    path.run_until(ms(100));
    let old = Segment {
        flags: Flags(Flags::ACK),
        window: 1 << 20,
        ..Segment::default()
    };
    let before = path.left.len();
    for at in [100, 200, 599, 600, 601] {
        path.run_until(ms(at));
        path.ends[SERVER].on_segment(&old, ms(at));
        path.poll(SERVER);
    }
    let answers: Vec<_> = path.left[before..].iter().map(|(at, _, _)| *at).collect();
    assert_eq!(answers, [ms(100), ms(600)]);
}

/// With a window of three segments each end can only send what the other has acknowledged.
#[test]
fn small_windows_do_not_stop_two_streams() {
    let (sender, mut receiver) = configuration(EcnMode::Off);
    receiver.window = Bytes::new(3 * MSS);
    let end = || Connection::new(&sender, &receiver);
    let mut path = Path::of([end(), end()], ms(20)).opened();
    path.write(CLIENT, 100 * MSS);
    path.write(SERVER, 100 * MSS);
    path.run_out(Time::from_secs(20));
    for end in &path.ends {
        assert_eq!(end.delivered(), 100 * MSS);
        assert_eq!(end.sender().stats().retransmitted, 0);
    }
}

/// RACK counts microseconds (`tcp_rack_skb_timeout`): what left in one burst with a segment that has just been
/// acknowledged, and before one that was selectively acknowledged, is lost at once.
#[test]
fn a_gap_inside_a_burst_is_filled_at_once() {
    let mut ack = Segment {
        acknowledgement: 2 * MSS,
        flags: Flags(Flags::ACK),
        window: 1 << 30,
        ..Segment::default()
    };
    let (start, end) = (3 * MSS, 6 * MSS);
    ack.sacks.push(2 * MSS, crate::segment::Sack { start, end });
    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 10 * MSS);
    path.ends[CLIENT].on_segment(&ack, ms(60));
    path.now = ms(60);
    path.poll(CLIENT);
    assert_eq!(path.sent(CLIENT, ms(60))[0], "60 2896+1448 ack 0");
}
