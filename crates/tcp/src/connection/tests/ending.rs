//! FIN and RST: RFC 9293 sections 3.6 and 3.10.7, RFC 5961; Linux 7.2 `tcp_output.c` (`tcp_send_fin`),
//! `tcp_input.c` (`tcp_fin`, `tcp_validate_incoming`).

use super::*;

fn is_over(path: &Path) -> [bool; 2] {
    [path.ends[CLIENT].is_over(), path.ends[SERVER].is_over()]
}

#[test]
fn the_fin_rides_on_what_has_not_left_and_is_alone_otherwise() {
    // Three segments wait for the window.
    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 13 * MSS);
    path.close(CLIENT);
    path.run_out(Time::from_secs(1));
    let fins = |path: &Path| -> Vec<u32> {
        path.left
            .iter()
            .filter(|(_, _, segment)| segment.flags.has(Flags::FIN))
            .map(|(_, _, segment)| segment.payload)
            .collect()
    };
    assert_eq!(fins(&path), [1_448]);
    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 3 * MSS);
    path.close(CLIENT);
    path.run_out(Time::from_secs(1));
    assert_eq!(fins(&path), [0]);
}

/// `tcp_fin`: the ACK of a FIN waits for the answer, 40 ms at most.
#[test]
fn a_half_closed_connection_carries_data_the_other_way() {
    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 100);
    path.close(CLIENT);
    path.run_until(ms(150));
    assert!(path.ends[SERVER].has_peer_finished());
    assert_eq!(
        path.sent(CLIENT, ms(40)),
        ["40 0+100 ack 0", "40 100 FIN ack 0"]
    );
    assert_eq!(path.sent(SERVER, ms(40)), ["50 0 ack 100", "90 0 ack 101"]);
    path.write(SERVER, 50 * MSS);
    path.run_until(Time::from_secs(2));
    assert_eq!(path.ends[CLIENT].delivered(), 50 * MSS);
    assert_eq!(is_over(&path), [false, false]);
    path.close(SERVER);
    path.run_until(Time::from_secs(3));
    assert_eq!(is_over(&path), [true, true]);
    // The FIN of the end that closes last is acknowledged at once.
    assert_eq!(
        path.sent(SERVER, Time::from_secs(2)),
        ["2000 72400 FIN ack 101"]
    );
    assert_eq!(
        path.sent(CLIENT, Time::from_secs(2)),
        ["2010 101 ack 72401"]
    );
    assert_eq!(path.next(), None);
}

#[test]
fn an_end_that_closes_at_once_acknowledges_with_its_own_fin() {
    let mut path = Path::new(ms(20)).opened();
    path.close(CLIENT);
    path.run_until(ms(50));
    path.close(SERVER);
    path.run_until(ms(200));
    assert_eq!(path.sent(SERVER, ms(40)), ["50 0 FIN ack 1"]);
    assert_eq!(path.sent(CLIENT, ms(40)), ["40 0 FIN ack 0", "60 1 ack 1"]);
    assert_eq!(is_over(&path), [true, true]);
}

#[test]
fn both_may_close_at_once() {
    let mut path = Path::new(ms(20)).opened();
    path.close(CLIENT);
    path.close(SERVER);
    path.run_until(ms(200));
    for end in [CLIENT, SERVER] {
        assert_eq!(path.sent(end, ms(40)), ["40 0 FIN ack 0", "50 1 ack 1"]);
    }
    assert_eq!(is_over(&path), [true, true]);
    assert_eq!(path.next(), None);
}

/// RFC 8985 section 7.2 and `tcp_schedule_loss_probe`: 2 SRTT + `tcp_rto_min` with one segment in flight.
#[test]
fn a_lost_fin_is_probed_after_two_rtts_and_200_ms() {
    let mut path = Path::new(ms(20)).opened().with({
        let mut count = 0;
        move |end, segment, _| {
            count += u64::from(end == CLIENT && segment.flags.has(Flags::FIN));
            let is_lost = end == CLIENT && segment.flags.has(Flags::FIN) && count < 3;
            if is_lost { Fate::Drop } else { Fate::Pass }
        }
    });
    path.write(CLIENT, 100);
    path.run_until(ms(100));
    path.close(CLIENT);
    path.run_until(Time::from_secs(3));
    // The time-out of the head: SRTT + 200 ms after the probe, which has set it.
    assert_eq!(
        path.sent(CLIENT, ms(100)),
        [
            "100 100 FIN ack 0",
            "320 100 FIN ack 0",
            "540 100 FIN ack 0"
        ]
    );
    assert_eq!(path.ends[CLIENT].sender().stats().probes, 1);
    assert!(path.ends[SERVER].has_peer_finished());
}

#[test]
fn a_repeated_fin_is_acknowledged_even_when_all_is_over() {
    let mut path = Path::new(ms(20)).opened();
    path.close(CLIENT);
    path.run_until(ms(50));
    path.close(SERVER);
    path.run_until(ms(100));
    assert_eq!(is_over(&path), [true, true]);
    let fin = path
        .left
        .iter()
        .rfind(|(_, end, _)| *end == SERVER)
        .unwrap()
        .2;
    path.run_until(ms(900));
    path.ends[CLIENT].on_segment(&fin, ms(900));
    path.poll(CLIENT);
    assert_eq!(path.sent(CLIENT, ms(900)), ["900 1 ack 1"]);
    assert_eq!(is_over(&path), [true, true]);
}

#[test]
fn an_end_may_close_before_it_opens() {
    let mut path = Path::new(ms(20));
    path.ends[CLIENT].write(500);
    path.ends[CLIENT].close();
    path.ends[SERVER].close();
    path.open();
    path.run_out(Time::from_secs(5));
    assert_eq!(path.ends[SERVER].delivered(), 500);
    assert_eq!(is_over(&path), [true, true]);
}

#[test]
fn an_abort_resets_the_other_end() {
    for end in [CLIENT, SERVER] {
        let mut path = Path::new(ms(20)).opened();
        path.write(end, 2 * MSS);
        path.run_until(ms(100));
        path.write(end, MSS);
        path.run_until(ms(200));
        path.ends[end].abort();
        path.poll(end);
        path.run_until(ms(300));
        assert_eq!(path.sent(end, ms(200)), ["200 4344 RST ack 0"]);
        assert!(path.ends.iter().all(Connection::is_reset));
        assert_eq!(path.next(), None);
        path.write(end, 100);
        assert_eq!(path.sent(end, ms(201)), [""; 0]);
    }
}

/// A RST inside the window that is not exact gets an ACK, to which the host without connection answers with
/// an exact one (RFC 5961 section 3.2).
#[test]
fn a_reset_behind_a_loss_is_confirmed() {
    let mut path = Path::new(ms(20)).opened().with(|end, segment, _| {
        if end == CLIENT && segment.payload > 0 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    path.write(CLIENT, 100);
    path.ends[CLIENT].abort();
    path.poll(CLIENT);
    path.run_until(ms(100));
    assert_eq!(path.sent(SERVER, ms(40)), ["50 0 ack 0"]);
    assert_eq!(
        path.sent(CLIENT, ms(40)),
        ["40 0+100 ack 0", "40 100 RST ack 0", "60 0 RST"]
    );
    assert!(path.ends[SERVER].is_reset());
}

/// RFC 9293 section 3.10.7.1 and 3.10.7.3.
#[test]
fn a_host_without_connection_refuses_a_syn_and_resets_data() {
    let mut path = Path::new(ms(20)).with(|_, _, _| Fate::Drop);
    path.open();
    let refusal = Connection::reset_for(&path.left[0].2);
    assert_eq!(describe(ms(10), &refusal), "10 0 RST ack 0");
    path.ends[CLIENT].on_segment(&refusal, ms(20));
    assert!(path.ends[CLIENT].is_reset());
    assert_eq!(
        (
            path.ends[CLIENT].next_timer(),
            path.ends[CLIENT].poll(ms(5_000))
        ),
        (None, None)
    );

    let mut path = Path::new(ms(20)).opened();
    path.write(CLIENT, 100);
    let data = path.left.last().unwrap().2;
    let answer = Connection::reset_for(&data);
    path.ends[CLIENT].on_segment(&answer, ms(60));
    assert!(path.ends[CLIENT].is_reset());
}

/// `tcp_need_reset`: nobody knows of a connection whose SYN is not answered.
#[test]
fn an_abort_while_opening_sends_nothing() {
    let mut path = Path::new(ms(20)).with(|_, _, _| Fate::Drop);
    path.open();
    path.ends[CLIENT].abort();
    path.poll(CLIENT);
    assert_eq!(path.sent(CLIENT, ms(0)), ["0 0 SYN"]);
    assert!(path.ends[CLIENT].is_reset());
}
