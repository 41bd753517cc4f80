//! What happens to a connection, at random: ACKs, marks, losses, time-outs, undos and pauses, in the order in which Linux reports them.

use quell_tcp::cc::CaState;
use quell_units::Random;

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    /// An ACK arrives.
    Ack(Ack),
    /// Loss recovery goes from any state into this one: a mark, a loss or a time-out.
    Reduce(CaState),
    /// SACKs arrive, and nothing is lost.
    Disorder,
    /// Recovery is over; first comes an undo if the reduction was spurious.
    Open {
        /// Whether it was spurious.
        is_spurious: bool,
    },
    /// Nothing is in flight for a while, then the first segment leaves.
    Pause,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack {
    /// Segments newly delivered, and of those acknowledged in order.
    pub(crate) acked: u32,
    pub(crate) in_order: u32,
    /// Of those, packets with CE; with AccECN there may be more than segments.
    pub(crate) ce: u32,
    pub(crate) rtt_us: Option<u32>,
    /// Whether the window limits the sender.
    pub(crate) is_limited: bool,
    /// Segments in flight afterwards.
    pub(crate) in_flight: u32,
}

/// A path that changes its character every few thousand turns.
pub(crate) struct Weather {
    random: Random,
    pub(crate) now_us: u64,
    pub(crate) state: CaState,
    /// Smoothed RTT in 1/8 µs; zero before the first sample.
    pub(crate) srtt8: u32,
    base_us: u64,
    queue_us: u64,
    /// One mark, and one loss, per so many ACKs.
    marks: u64,
    losses: u64,
    /// Most segments per ACK.
    stretch: u64,
    left: u64,
    /// ACKs until recovery is over.
    recovers: u64,
}

impl Weather {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, "weather");
        let now_us = random.below(1 << 33);
        Self {
            random,
            now_us,
            state: CaState::Open,
            srtt8: 0,
            base_us: 10_000,
            queue_us: 0,
            marks: 0,
            losses: 0,
            stretch: 1,
            left: 0,
            recovers: 0,
        }
    }
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }
    fn one_in(&mut self, count: u64) -> bool {
        count > 0 && self.random.below(count) == 0
    }
    fn pick(&mut self, from: &[u64]) -> u64 {
        from[self.random.below(from.len() as u64) as usize]
    }
    fn change(&mut self) {
        self.left = 500 + self.below(5_000);
        self.base_us = self.pick(&[
            40, 900, 5_000, 12_000, 24_900, 25_000, 60_000, 101_000, 400_000,
        ]);
        self.queue_us = self.pick(&[0, 0, 500, 5_000, 30_000, 200_000]);
        self.marks = self.pick(&[0, 0, 2, 5, 20, 100, 1_000]);
        self.losses = self.pick(&[0, 20, 100, 1_000, 5_000]);
        self.stretch = self.pick(&[1, 2, 4, 44]);
    }

    /// What happens next to a connection with this window.
    pub(crate) fn next(&mut self, cwnd: u32) -> Turn {
        if self.left == 0 {
            self.change();
        }
        self.left -= 1;
        if self.one_in(3_000) {
            let most = self.pick(&[1_000, 300_000, 3_000_000, 400_000_000]);
            self.now_us += self.below(most);
            return Turn::Pause;
        }
        if self.one_in(20_000) {
            return self.enter(CaState::Loss, cwnd);
        }
        match self.state {
            CaState::Open | CaState::Disorder => {
                let loss = self.losses;
                if self.one_in(loss) {
                    return self.enter(CaState::Recovery, cwnd);
                }
                let marks = self.marks.saturating_mul(4);
                if self.one_in(marks) {
                    return self.enter(CaState::Cwr, cwnd);
                }
                if self.one_in(400) {
                    self.state = CaState::Disorder;
                    return Turn::Disorder;
                }
                if self.state == CaState::Disorder && self.one_in(10) {
                    self.state = CaState::Open;
                    return Turn::Open { is_spurious: false };
                }
            }
            CaState::Cwr | CaState::Recovery | CaState::Loss if self.recovers == 0 => {
                let is_spurious = self.state != CaState::Cwr && self.one_in(4);
                self.state = CaState::Open;
                return Turn::Open { is_spurious };
            }
            _ => {
                if self.state == CaState::Cwr && self.one_in(300) {
                    return self.enter(CaState::Recovery, cwnd);
                }
                self.recovers -= 1;
            }
        }
        Turn::Ack(self.ack(cwnd))
    }
    fn enter(&mut self, state: CaState, cwnd: u32) -> Turn {
        self.recovers = 1 + self.random.below(u64::from(cwnd.clamp(1, 1_000)));
        self.state = state;
        Turn::Reduce(state)
    }
    fn ack(&mut self, cwnd: u32) -> Ack {
        let stretch = self.stretch;
        let acked = (1 + self.below(stretch)) as u32;
        let rtt = self.base_us + self.random.below(self.queue_us + 1) + self.random.below(50);
        self.now_us += rtt * u64::from(acked) / u64::from(cwnd.max(1)) + self.random.below(3);
        let has_rtt = !self.one_in(8);
        if has_rtt {
            let sample = (rtt as u32) << 3;
            self.srtt8 = match self.srtt8 {
                0 => sample,
                before => before - (before >> 3) + (rtt as u32),
            };
        }
        let sacks = self.state != CaState::Open && self.one_in(2);
        let acked = if self.one_in(50) { 0 } else { acked };
        let marks = self.marks;
        let mut ce = (0..acked).filter(|_| self.one_in(marks)).count() as u32;
        if marks > 0 && self.one_in(500) {
            ce += 2;
        }
        Ack {
            acked,
            in_order: if sacks { 0 } else { acked },
            ce,
            rtt_us: has_rtt.then_some(rtt as u32),
            is_limited: !self.one_in(20),
            in_flight: cwnd.saturating_sub(self.random.below(4) as u32),
        }
    }
}
