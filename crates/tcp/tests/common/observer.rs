//! A control that records every call that it gets.

use std::cell::RefCell;
use std::rc::Rc;

use quell_tcp::cc::{
    AckSample, CaState, CongestionControl, Connection, Control, Event, LostSegment, Rounds, Window,
};
use quell_tcp::{EcnMode, FeedbackMode, ReceiverConfig, Sender, SenderConfig};
use quell_units::Rate;

use super::{Path, config, ms};

/// A call of a control, in order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    Init(FeedbackMode, Connection),
    Ack(AckSample),
    Lost(LostSegment, Connection),
    State(CaState, Connection),
    Event(Event, Connection),
    Ssthresh(Connection),
    CongAvoid(AckSample),
    CongControl(AckSample, Connection, u64),
    /// How many there have been with this one.
    Undo(u32, Connection),
}

/// What a control recorded.
pub(crate) type Notes = Rc<RefCell<Vec<Call>>>;

/// A control that records every call, with a window that it sets itself, or Reno's.
#[derive(Debug, Clone)]
pub(crate) struct Observer {
    pub(crate) notes: Notes,
    /// The window that it keeps, if it sets it.
    pub(crate) cwnd: Option<u32>,
    /// The threshold that it begins with.
    pub(crate) ssthresh: Option<u32>,
    pub(crate) pacing: Option<Rate>,
    pub(crate) burst: Option<u32>,
    pub(crate) rounds: Rounds,
    /// Number of undos so far.
    pub(crate) undone: u32,
    /// The call of `cong_control`, counted from 0, in which it declares the connection limited by the
    /// application.
    pub(crate) declares: Option<u32>,
    pub(crate) concluded: u32,
    /// The pacing rate that it changes to when the first segment leaves after a pause.
    pub(crate) restart: Option<Rate>,
    /// Payload of a burst that the sender offered, in bytes.
    pub(crate) offered: Rc<RefCell<Vec<u64>>>,
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
        window.ssthresh = self.ssthresh.unwrap_or(window.ssthresh);
        None
    }
    fn on_ack(&mut self, ack: &AckSample, _connection: &Connection, _window: &mut Window) {
        self.note(Call::Ack(*ack));
    }
    fn on_lost(&mut self, lost: &LostSegment, connection: &Connection, _window: &mut Window) {
        self.note(Call::Lost(*lost, *connection));
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, _window: &mut Window) {
        self.note(Call::State(new, *connection));
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, _window: &mut Window) {
        self.note(Call::Event(event, *connection));
        if matches!(event, Event::TxStart(_)) {
            self.pacing = self.restart.or(self.pacing);
        }
    }
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        self.note(Call::Ssthresh(*connection));
        window.half()
    }
    fn cong_avoid(&mut self, ack: &AckSample, _connection: &Connection, window: &mut Window) {
        self.note(Call::CongAvoid(*ack));
        window.slow_start(ack.acked);
    }
    fn cong_control(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        self.rounds.on_ack(ack);
        self.note(Call::CongControl(*ack, *connection, self.rounds.count()));
        window.cwnd = self.cwnd.unwrap_or(window.cwnd);
        window.app_limited = self.declares == Some(self.concluded);
        self.concluded += 1;
    }
    fn undo_cwnd(&mut self, connection: &Connection, window: &mut Window) -> u32 {
        self.undone += 1;
        self.note(Call::Undo(self.undone, *connection));
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
    fn min_tso_segs(&self) -> u32 {
        self.burst.unwrap_or(2).min(2)
    }
    fn tso_segs(&self, bytes: u64, mss: u32) -> u32 {
        self.offered.borrow_mut().push(bytes);
        let usual = (bytes / u64::from(mss)) as u32;
        self.burst.unwrap_or(usual.max(2))
    }
}

/// A path of 100 ms under this control, with an ACK for each segment, and the control's record.
pub(crate) fn observed<'a>(observer: Observer, ecn: EcnMode) -> (Path<'a>, Notes) {
    let gso = observer.burst.is_some();
    path_of(observer, ecn, gso)
}
/// The same with or without segmentation offload.
pub(crate) fn path_of<'a>(observer: Observer, ecn: EcnMode, gso: bool) -> (Path<'a>, Notes) {
    let notes = Rc::clone(&observer.notes);
    let config = SenderConfig {
        ecn,
        gso,
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
pub(crate) fn observer(cwnd: Option<u32>) -> Observer {
    Observer {
        notes: Rc::default(),
        cwnd,
        ssthresh: None,
        pacing: None,
        burst: None,
        rounds: Rounds::default(),
        undone: 0,
        declares: None,
        concluded: 0,
        restart: None,
        offered: Rc::default(),
    }
}
pub(crate) fn concluded(notes: &Notes) -> Vec<(AckSample, Connection, u64)> {
    let each = |call: &Call| match call {
        Call::CongControl(ack, connection, rounds) => Some((*ack, *connection, *rounds)),
        _ => None,
    };
    notes.borrow().iter().filter_map(each).collect()
}

pub(crate) fn all<T>(notes: &Notes, pick: impl Fn(&Call) -> Option<T>) -> Vec<T> {
    notes.borrow().iter().filter_map(pick).collect()
}
pub(crate) fn losses(notes: &Notes) -> Vec<LostSegment> {
    all(notes, |call| match call {
        Call::Lost(lost, _) => Some(*lost),
        _ => None,
    })
}
pub(crate) fn states(notes: &Notes) -> Vec<(CaState, CaState)> {
    all(notes, |call| match call {
        Call::State(new, connection) => Some((connection.state, *new)),
        _ => None,
    })
}
pub(crate) fn events(notes: &Notes) -> Vec<Event> {
    all(notes, |call| match call {
        Call::Event(event, _) => Some(*event),
        _ => None,
    })
}
