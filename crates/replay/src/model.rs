//! Replays a script on `quell-tcp`.

use quell_tcp::cc::CaState as ModelState;
use quell_tcp::{
    AccEcnOptionUse, CcConfig, Connection, EctScope, ReceiveBuffer, Receiver, ReceiverConfig,
    Segment, Sender, SenderConfig, Ticks,
};
use quell_units::{Bytes, Time};

use crate::play::{Endpoint, ReplayError, play};
use crate::script::{Arrival, EcnSetting, End, MSS, Script, Subject};
use crate::state::{SenderState, State};
use crate::transcript::{Departure, Transcript};

/// Ticks per second of the end under test, as in the kernels that quell builds.
pub(crate) const HZ: u32 = 250;
/// How long before the beginning of the script the last tick was.
pub(crate) const PHASE: Time = Time::from_millis(1);

/// The receive buffer of a receiver under test, at first and at most (`tcp_rmem`).
pub(crate) const BUFFER: ReceiveBuffer = ReceiveBuffer {
    initial: Bytes::new(131_072),
    most: Bytes::new(4 << 20),
};

/// What `quell-tcp` does of this script.
///
/// # Errors
///
/// It has no such congestion control.
pub fn replay(script: &Script) -> Result<Transcript, ReplayError> {
    let mut model = Model::new(script)?;
    let states = play(script, &Subject::Model, &mut model)?;
    let departures = model.departures.iter().map(|departure| {
        let segment = Segment {
            timestamp: Time::ZERO,
            echo: Time::ZERO,
            ..departure.segment
        };
        Departure {
            segment,
            ..*departure
        }
    });
    Ok(Transcript {
        carries: script.end.carries(),
        departures: departures.collect(),
        states,
    })
}

enum Tcp {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
    Both(Box<Connection>),
}

struct Model {
    tcp: Tcp,
    now: Time,
    has_timestamps: bool,
    departures: Vec<Departure>,
}

impl Model {
    fn new(script: &Script) -> Result<Self, ReplayError> {
        let ticks = Ticks::new(HZ, PHASE);
        let ect_scope = (script.ecn == EcnSetting::Accurate).then_some(EctScope::Established);
        let sender = |name: &str| {
            let control = CcConfig::new(name, &[]).and_then(Result::ok);
            let control = control.ok_or_else(|| ReplayError::Control(name.to_owned()))?;
            Ok::<_, ReplayError>(SenderConfig {
                ecn: script.ecn.mode(),
                ect_scope,
                // `tcp_ecn_option`, Linux's default.
                accecn_option: AccEcnOptionUse::Always,
                mss: MSS,
                ticks,
                ..SenderConfig::new(control)
            })
        };
        let receiver = ReceiverConfig {
            ect_scope,
            mss: MSS,
            buffer: Some(BUFFER),
            ticks,
            ..ReceiverConfig::new(script.ecn.mode())
        };
        let tcp = match &script.end {
            End::Sender(name) => Tcp::Sender(Box::new(Sender::new(&sender(name)?))),
            End::Receiver => Tcp::Receiver(Box::new(Receiver::new(&receiver))),
            End::Client(name) | End::Server(name) => {
                Tcp::Both(Box::new(Connection::new(&sender(name)?, &receiver)))
            }
        };
        Ok(Self {
            tcp,
            now: Time::ZERO,
            has_timestamps: script.timestamps,
            departures: Vec::new(),
        })
    }
    fn poll(&mut self) {
        let at = self.now;
        while let Some(segment) = match &mut self.tcp {
            Tcp::Sender(sender) => sender.poll(at),
            Tcp::Receiver(receiver) => receiver.poll(at),
            Tcp::Both(end) => end.poll(at),
        } {
            self.departures.push(Departure { at, segment });
        }
    }
    fn next_timer(&self) -> Option<Time> {
        match &self.tcp {
            Tcp::Sender(sender) => sender.next_timer(),
            Tcp::Receiver(receiver) => receiver.next_timer(),
            Tcp::Both(end) => end.next_timer(),
        }
    }
    /// What is echoed by what arrives now: the timestamp of the last departure, or of the last at `echo`.
    fn echo(&self, echo: Option<Time>) -> Time {
        let until = echo.unwrap_or(self.now);
        let mut before = self
            .departures
            .iter()
            .rev()
            .filter(|departure| departure.at <= until);
        before
            .next()
            .map_or(Time::ZERO, |departure| departure.segment.timestamp)
    }
}

impl Endpoint for Model {
    fn run_until(&mut self, at: Time) -> Result<(), ReplayError> {
        while let Some(due) = self.next_timer().filter(|due| *due <= at) {
            self.now = self.now.max(due);
            match &mut self.tcp {
                Tcp::Sender(sender) => sender.on_timer(self.now),
                Tcp::Receiver(receiver) => receiver.on_timer(self.now),
                Tcp::Both(end) => end.on_timer(self.now),
            }
            self.poll();
        }
        self.now = at;
        Ok(())
    }
    fn open(&mut self) -> Result<(), ReplayError> {
        match &mut self.tcp {
            Tcp::Sender(sender) => sender.open(self.now),
            Tcp::Receiver(_) => {}
            Tcp::Both(end) => end.open(self.now),
        }
        self.poll();
        Ok(())
    }
    fn write(&mut self, bytes: u64) -> Result<(), ReplayError> {
        match &mut self.tcp {
            Tcp::Sender(sender) => sender.write(bytes),
            Tcp::Receiver(_) => {}
            Tcp::Both(end) => end.write(bytes),
        }
        self.poll();
        Ok(())
    }
    fn close(&mut self) -> Result<(), ReplayError> {
        if let Tcp::Both(end) = &mut self.tcp {
            end.close();
        }
        self.poll();
        Ok(())
    }
    fn abort(&mut self) -> Result<(), ReplayError> {
        if let Tcp::Both(end) = &mut self.tcp {
            end.abort();
        }
        self.poll();
        Ok(())
    }
    fn arrive(&mut self, arrival: &Arrival) -> Result<(), ReplayError> {
        let mut segment = arrival.segment;
        if self.has_timestamps {
            // Of whole milliseconds, and never zero.
            let sent = arrival.sent.unwrap_or(self.now);
            segment.timestamp = Time::from_millis(1 + sent.as_nanos() / 1_000_000);
            segment.echo = self.echo(arrival.echo);
        }
        match &mut self.tcp {
            Tcp::Sender(sender) => sender.on_segment(&segment, self.now),
            Tcp::Receiver(receiver) => receiver.on_segment(&segment, self.now),
            Tcp::Both(end) => end.on_segment(&segment, self.now),
        }
        self.poll();
        Ok(())
    }
    fn state(&mut self) -> Result<SenderState, ReplayError> {
        let sender = match &self.tcp {
            Tcp::Sender(sender) => sender,
            Tcp::Receiver(_) => return Err(ReplayError::NoSender),
            Tcp::Both(end) => end.sender(),
        };
        let stats = sender.stats();
        Ok(SenderState {
            cwnd: stats.cwnd,
            ssthresh: (stats.ssthresh < u32::MAX).then_some(stats.ssthresh),
            resent: stats.retransmitted,
            state: match sender.state() {
                ModelState::Open => State::Open,
                ModelState::Disorder => State::Disorder,
                ModelState::Cwr => State::Cwr,
                ModelState::Recovery => State::Recovery,
                ModelState::Loss => State::Loss,
            },
        })
    }
}
