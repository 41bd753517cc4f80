//! Every call that a control gets, in scripted exchanges: enough for Prague, H-TCP, Compound, and BBR v1,
//! v2 and v3.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{Fate, Path, config, drop_data, ms};
use quell_tcp::cc::{
    AckSample, CongestionControl, Connection, Control, Event, LostSegment, Rounds, State, Window,
};
use quell_tcp::{Codepoint, EcnMode, FeedbackMode, ReceiverConfig, Sender, SenderConfig};
use quell_units::{Rate, Time};

const MSS: u64 = 1_448;

/// A call of a control, in order.
#[derive(Debug, Clone, Copy)]
enum Call {
    Init(FeedbackMode, Connection),
    Ack(AckSample),
    Lost(LostSegment),
    State(State, State),
    Event(Event),
    Ssthresh,
    CongAvoid(AckSample),
    CongControl(AckSample, Connection, u64),
    Undo,
}

/// A control that records every call, with a window that it sets itself, or Reno's.
#[derive(Debug, Clone)]
struct Observer {
    notes: Rc<RefCell<Vec<Call>>>,
    /// The window that it keeps, if it sets it.
    cwnd: Option<u32>,
    pacing: Option<Rate>,
    burst: Option<u32>,
    rounds: Rounds,
}

impl Observer {
    fn note(&self, call: Call) {
        self.notes.borrow_mut().push(call);
    }
}

impl CongestionControl for Observer {
    fn init(
        &mut self,
        agreed: FeedbackMode,
        connection: &Connection,
        window: &mut Window,
    ) -> Option<Control> {
        self.note(Call::Init(agreed, *connection));
        window.cwnd = self.cwnd.unwrap_or(window.cwnd);
        None
    }
    fn on_ack(&mut self, ack: &AckSample, _window: &mut Window) {
        self.note(Call::Ack(*ack));
    }
    fn on_lost(&mut self, lost: &LostSegment, _window: &mut Window) {
        self.note(Call::Lost(*lost));
    }
    fn set_state(&mut self, old: State, new: State, _ack: &AckSample, _window: &mut Window) {
        self.note(Call::State(old, new));
    }
    fn cwnd_event(&mut self, event: Event, _now: Time, _window: &mut Window) {
        self.note(Call::Event(event));
    }
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.note(Call::Ssthresh);
        window.half()
    }
    fn cong_avoid(&mut self, ack: &AckSample, window: &mut Window) {
        self.note(Call::CongAvoid(*ack));
        window.slow_start(ack.acked);
    }
    fn cong_control(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        self.rounds.on_ack(ack);
        self.note(Call::CongControl(*ack, *connection, self.rounds.count()));
        window.cwnd = self.cwnd.unwrap_or(window.cwnd);
    }
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.note(Call::Undo);
        window.cwnd.max(window.prior_cwnd)
    }
    fn has_cong_control(&self) -> bool {
        self.cwnd.is_some()
    }
    fn wants_details(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
    fn tso_segs(&self, usual: u32) -> u32 {
        self.burst.unwrap_or(usual)
    }
}

/// A path of 100 ms under this control, with an ACK for each segment, and the control's record.
fn observed<'a>(observer: Observer, ecn: EcnMode) -> (Path<'a>, Rc<RefCell<Vec<Call>>>) {
    let notes = Rc::clone(&observer.notes);
    let config = SenderConfig {
        ecn,
        gso: observer.burst.is_some(),
        pacing: Some(observer.pacing.is_some()),
        ..config("reno")
    };
    let receiver = ReceiverConfig {
        ack_every: 1,
        ..ReceiverConfig::new(ecn)
    };
    let mut path = Path::with_receiver(&config, &receiver, ms(100));
    path.sender = Sender::with_control(&config, Box::new(observer));
    (path, notes)
}
fn observer(cwnd: Option<u32>) -> Observer {
    Observer {
        notes: Rc::default(),
        cwnd,
        pacing: None,
        burst: None,
        rounds: Rounds::default(),
    }
}
fn concluded(notes: &Rc<RefCell<Vec<Call>>>) -> Vec<(AckSample, Connection, u64)> {
    let each = |call: &Call| match call {
        Call::CongControl(ack, connection, rounds) => Some((*ack, *connection, *rounds)),
        _ => None,
    };
    notes.borrow().iter().filter_map(each).collect()
}

fn all<T>(notes: &Rc<RefCell<Vec<Call>>>, pick: impl Fn(&Call) -> Option<T>) -> Vec<T> {
    notes.borrow().iter().filter_map(pick).collect()
}
fn losses(notes: &Rc<RefCell<Vec<Call>>>) -> Vec<LostSegment> {
    all(notes, |call| match call {
        Call::Lost(lost) => Some(*lost),
        _ => None,
    })
}
fn states(notes: &Rc<RefCell<Vec<Call>>>) -> Vec<(State, State)> {
    all(notes, |call| match call {
        Call::State(old, new) => Some((*old, *new)),
        _ => None,
    })
}
fn events(notes: &Rc<RefCell<Vec<Call>>>) -> Vec<Event> {
    all(notes, |call| match call {
        Call::Event(event) => Some(*event),
        _ => None,
    })
}
/// Within 5 µs: departures are recorded 1 ns apart, and intervals are kept in 1.024 µs.
fn is_near(time: Time, millis: u64) -> bool {
    time.as_nanos().abs_diff(millis * 1_000_000) < 5_000
}

/// Four segments leave each 100 ms and are delivered together: four in 100 ms, by either interval
/// (draft-cheng-iccrg-delivery-rate-estimation section 3; Linux `tcp_rate.c`).
#[test]
fn rate_samples_hold_what_was_delivered_in_which_time() {
    let (mut path, notes) = observed(observer(Some(4)), EcnMode::Off);
    path.start();
    path.run_until(ms(1_005));
    let acks = concluded(&notes);
    // From 200 ms on, each 100 ms.
    assert_eq!(acks.len(), 4 * 9);
    for (n, (ack, connection, rounds)) in acks.iter().enumerate() {
        let (round, place) = (n / 4, n % 4);
        assert_eq!(ack.now, ms(200 + 100 * round as u64));
        assert_eq!((ack.acked, ack.acked_bytes), (1, MSS));
        assert_eq!((ack.acked_ce, ack.acked_ce_bytes, ack.ece), (0, 0, false));
        assert_eq!((ack.delivered, ack.prior_in_flight), (n as u64 + 1, 4));
        assert_eq!((ack.lost, ack.rate.lost, connection.lost), (0, 0, 0));
        assert!(!ack.is_ack_delayed);
        assert_eq!(*rounds, round as u64 + 1, "{n}");
        let rate = &ack.rate;
        let first_flight = place as u32 + 1;
        let in_flight = if round == 0 { first_flight } else { 4 };
        assert_eq!(rate.tx_in_flight, in_flight, "{n}");
        // Linux considers the first flight, and what leaves before more than one segment is delivered,
        // as limited by the application, which had written nothing before.
        assert_eq!(
            (rate.app_limited, rate.retransmitted),
            (n <= 4, false),
            "{n}"
        );
        assert!(is_near(rate.interval, 100), "{rate:?}");
        assert!(is_near(rate.ack_interval, 100), "{rate:?}");
        let send_interval = if round == 0 { 0 } else { 100 };
        assert!(is_near(rate.send_interval, send_interval), "{rate:?}");
        // Segment n left when n - 3 had been delivered.
        let prior = n.saturating_sub(3) as u64;
        assert_eq!(rate.prior_delivered, prior, "{n}");
        assert_eq!(u64::from(rate.delivered), ack.delivered - prior, "{n}");
        assert!(ack.rtt.is_some_and(|rtt| is_near(rtt, 100)));
        assert!(connection.srtt.is_some_and(|rtt| is_near(rtt, 100)));
        assert!(connection.min_rtt.is_some_and(|rtt| is_near(rtt, 100)));
        assert_eq!((connection.state, connection.mss), (State::Open, 1_448));
        assert_eq!((connection.in_flight, connection.app_limited), (3, n == 0));
    }
    let is_growth = |call: &Call| matches!(call, Call::CongAvoid(_) | Call::Ssthresh).then_some(());
    assert!(
        all(&notes, is_growth).is_empty(),
        "it sets the window itself"
    );
}

/// BBR v2 and v3 (`google/bbr`, `skb_marked_lost`): the third of ten is lost, and so is its
/// retransmission.
#[test]
fn each_loss_is_reported_with_the_state_at_departure() {
    let (mut path, notes) = observed(observer(Some(10)), EcnMode::Off);
    // The retransmission leaves as the 15th: ten, one for each of two in order, and for two of the
    // three SACKs that it takes.
    path.forward = drop_data(&[3, 15]);
    path.transfer(60 * MSS);
    path.finish(Time::from_secs(10));
    assert_eq!(path.sender.stats().retransmitted, 2);
    let lost = losses(&notes);
    assert_eq!(lost.len(), 2);
    let [first, second] = [lost[0], lost[1]];
    assert_eq!((first.in_flight, first.delivered), (3, 0));
    assert_eq!((first.prior_lost, first.lost), (0, 1));
    assert!(is_near(first.sent, 100));
    assert_eq!((second.prior_lost, second.lost), (1, 2));
    assert!(is_near(second.sent, 200), "{second:?}");
    assert_eq!((second.in_flight, second.delivered), (9, 5));
    assert_eq!((first.app_limited, second.app_limited), (true, false));
    // If the newest segment of a sample left before the loss was found, the loss is in its interval,
    // and the ACK that shows the loss reports it.
    let acks = concluded(&notes);
    let found: Vec<_> = acks.iter().filter(|(ack, ..)| ack.lost > 0).collect();
    assert_eq!(found.len(), 2);
    for (n, (ack, connection, _)) in found.iter().enumerate() {
        assert_eq!((ack.lost, ack.rate.lost), (1, 1));
        assert_eq!(
            (connection.lost, connection.state),
            (n as u64 + 1, State::Recovery)
        );
    }
    let last = acks.last().expect("acks");
    assert_eq!((last.0.rate.lost, last.1.lost), (0, 2));
    use State::{Disorder, Open, Recovery};
    assert_eq!(
        states(&notes),
        [(Open, Disorder), (Disorder, Recovery), (Recovery, Open)]
    );
}

/// The ring of details grows with the scoreboard's, and keeps what it has.
#[test]
fn details_survive_a_growing_window() {
    let (mut path, notes) = observed(observer(Some(500)), EcnMode::Off);
    path.forward = drop_data(&[400]);
    path.start();
    path.run_until(ms(450));
    let acks = concluded(&notes);
    for (n, (ack, ..)) in acks.iter().enumerate().take(399) {
        assert_eq!(ack.rate.tx_in_flight, n as u32 + 1);
    }
    assert_eq!(losses(&notes)[0].in_flight, 400);
}

/// Linux's `cwnd_event`s, in order.
#[test]
fn events_report_what_happens_besides_acks() {
    // A probe repairs a tail loss. Only the ACK of data that leaves after it shows that.
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.forward = drop_data(&[10]);
    path.sender.open(Time::ZERO);
    path.write(10 * MSS);
    path.run_until(ms(550));
    assert_eq!(path.sender.stats().probes, 1);
    path.write(5 * MSS);
    path.run_until(Time::from_secs(2));
    assert_eq!(events(&notes), [Event::TlpRecovery, Event::CompleteCwr]);
    assert!(states(&notes).contains(&(State::Open, State::Cwr)));

    // Everything is lost for two seconds.
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.forward = Box::new(|segment, _, now| {
        let is_lost = segment.payload > 0 && now < ms(2_000);
        if is_lost { Fate::Drop } else { Fate::Pass }
    });
    path.transfer(10 * MSS);
    path.finish(Time::from_secs(30));
    let found = events(&notes);
    assert_eq!(found[0], Event::Loss);
    assert!(found.iter().all(|event| *event == Event::Loss), "{found:?}");
    assert!(states(&notes).contains(&(State::Open, State::Loss)));

    // Fast recovery ends, with an undo where the loss was only reordering.
    for (delay, undone) in [(None, false), (Some(ms(60)), true)] {
        let (mut path, notes) = observed(observer(None), EcnMode::Off);
        let mut count = 0;
        path.forward = Box::new(move |segment, _, _| {
            count += u64::from(segment.payload > 0);
            match (segment.payload > 0 && count == 5, delay) {
                (true, None) => Fate::Drop,
                (true, Some(delay)) => Fate::Delay(delay),
                _ => Fate::Pass,
            }
        });
        path.transfer(40 * MSS);
        path.finish(Time::from_secs(10));
        let until = path.now + ms(300);
        path.run_until(until);
        let is_undo = |call: &Call| matches!(call, Call::Undo).then_some(());
        assert_eq!(!all(&notes, is_undo).is_empty(), undone);
        assert!(events(&notes).contains(&Event::CompleteCwr) || undone);
        let is_threshold = |call: &Call| matches!(call, Call::Ssthresh).then_some(());
        assert_eq!(all(&notes, is_threshold).len(), 1);
    }

    // Silence, and then data.
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.sender.open(Time::ZERO);
    path.write(40 * MSS);
    path.run_until(Time::from_secs(10));
    path.write(MSS);
    let pauses = events(&notes);
    let [.., Event::CwndRestart, Event::TxStart(pause)] = pauses[..] else {
        panic!("{pauses:?}");
    };
    assert!(pause > Time::from_secs(9));
}

/// A control that leaves the window to the sender grows it, and only where the window is the limit.
#[test]
fn growth_is_requested_ack_by_ack() {
    let (mut path, notes) = observed(observer(None), EcnMode::Off);
    path.transfer(100 * MSS);
    path.finish(Time::from_secs(10));
    assert!(concluded(&notes).is_empty());
    let growths = all(&notes, |call| match call {
        Call::CongAvoid(ack) => Some(*ack),
        _ => None,
    });
    assert!(growths.len() > 60);
    assert!(growths.iter().all(|ack| ack.acked == 1 && ack.cwnd_limited));
    let acks = all(&notes, |call| match call {
        Call::Ack(ack) => Some(ack.delivered),
        _ => None,
    });
    assert!(acks.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(path.sender.stats().cwnd > 70);
}

/// Prague and BBR v2: marks as packets, bytes and per flight; the feedback that was agreed on.
#[test]
fn marks_are_reported_per_ack_and_per_flight() {
    for (ecn, agreed) in [
        (EcnMode::Accurate(Codepoint::Ect1), FeedbackMode::Accurate),
        (EcnMode::Dctcp(Codepoint::Ect0), FeedbackMode::Dctcp),
    ] {
        let (mut path, notes) = observed(observer(Some(8)), ecn);
        let mut count = 0;
        path.forward = Box::new(move |segment, _, _| {
            count += u64::from(segment.payload > 0);
            // Two of each eight.
            match segment.payload > 0 && count > 8 && count % 4 == 0 {
                true => Fate::Mark,
                false => Fate::Pass,
            }
        });
        path.start();
        path.run_until(ms(1_005));
        let open = all(&notes, |call| match call {
            Call::Init(agreed, connection) => Some((*agreed, *connection)),
            _ => None,
        });
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].0, agreed);
        assert!(
            open[0].1.srtt.is_some_and(|rtt| is_near(rtt, 100)),
            "of the SYN"
        );
        let acks = concluded(&notes);
        let mut total = 0;
        for (n, (ack, ..)) in acks.iter().enumerate() {
            let is_marked = n >= 8 && n % 4 == 3;
            assert_eq!(ack.acked_ce, u32::from(is_marked), "{ecn:?} {n}");
            assert_eq!(ack.ece, is_marked);
            let bytes = if is_marked { ack.acked_bytes } else { 0 };
            assert_eq!(ack.acked_ce_bytes, bytes, "{ecn:?} {n}");
            total += u64::from(is_marked);
            assert_eq!(ack.delivered_ce, total);
            if n >= 24 {
                assert_eq!((ack.rate.delivered, ack.rate.delivered_ce), (8, 2), "{n}");
            }
        }
    }
}

/// BBR paces at a rate of its own and sets the size of bursts (`sk_pacing_rate`, `tso_segs`).
#[test]
fn pacing_and_bursts_follow_the_control() {
    for burst in [1, 3] {
        let (mut path, notes) = observed(
            Observer {
                // One segment per millisecond.
                pacing: Some(Rate::from_bps(MSS * 8 * 1_000)),
                burst: Some(burst),
                ..observer(Some(1_000))
            },
            EcnMode::Off,
        );
        let departures = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&departures);
        path.forward = Box::new(move |segment, _, now| {
            if segment.payload > 0 {
                seen.borrow_mut().push(now);
            }
            Fate::Pass
        });
        path.start();
        path.run_until(ms(400));
        let departures = departures.borrow();
        // The first ten are not paced, as with Linux's fq.
        let later = &departures[30..];
        let starts: Vec<_> = later.windows(2).filter(|pair| pair[0] != pair[1]).collect();
        for pair in &starts {
            assert!(is_near(pair[1] - pair[0], u64::from(burst)), "{pair:?}");
        }
        let mean = later.len() as f64 / (starts.len() + 1) as f64;
        assert!((mean - f64::from(burst)).abs() < 0.1, "{mean}");
        let acks = concluded(&notes);
        let (ack, connection, _) = acks.last().expect("acks");
        assert_eq!(connection.pacing_rate, Rate::from_bps(MSS * 8 * 1_000));
        assert!(connection.next_departure >= ack.now);
        assert_eq!(
            path.sender.stats().pacing_rate,
            Some(connection.pacing_rate)
        );
    }
}

/// A sample shows that the application had nothing to send, and that an ACK may have waited for the
/// receiver's timer.
#[test]
fn limits_of_the_application_and_delayed_acks_are_reported() {
    let (mut path, notes) = observed(observer(Some(50)), EcnMode::Off);
    path.sender.open(Time::ZERO);
    path.run_until(ms(500));
    for _ in 0..3 {
        path.write(100);
        let until = path.now + ms(500);
        path.run_until(until);
    }
    path.write(5 * MSS);
    let until = path.now + ms(500);
    path.run_until(until);
    let acks = concluded(&notes);
    let found: Vec<_> = acks.iter().map(|(ack, ..)| ack.is_ack_delayed).collect();
    assert_eq!(found[..3], [true; 3], "alone on its way, and small");
    assert!(!found[4..].iter().any(|delayed| *delayed));
    let limited: Vec<_> = acks.iter().map(|(ack, ..)| ack.rate.app_limited).collect();
    assert_eq!(limited, [true; 8]);
}

/// A connection may be cloned while it runs, and each copy has a control of its own.
#[test]
fn a_sender_is_cloned_with_its_control() {
    let (mut path, notes) = observed(observer(Some(4)), EcnMode::Off);
    path.start();
    path.run_until(ms(505));
    let copy = path.sender.clone();
    assert_eq!(copy.stats(), path.sender.stats());
    let count = notes.borrow().len();
    path.run_until(ms(705));
    assert!(notes.borrow().len() > count);
    assert_eq!(copy.stats().delivered, 16);
}
