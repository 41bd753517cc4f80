//! The state of Prague and its integers: `tcp_prague.c` 0.7 of the L4S project.
//!
//! alpha is in 2⁻²⁴, windows in 2⁻²⁰ segments, rates in bytes of whole packets per second, RTTs in 1/8 µs.

use crate::cc::{CaState, Window};

/// alpha of 1 is 2 to the power of this.
const ALPHA_BITS: u32 = 24;
/// The gain of alpha is 2 to the power of minus this.
const SHIFT_G: u32 = 4;
/// Largest `upscaled_alpha`.
const MAX_UPSCALED: u64 = 1 << (ALPHA_BITS + SHIFT_G);
/// A segment of window is 2 to the power of this.
const CWND_BITS: u32 = 20;
const ONE: u64 = 1 << CWND_BITS;
/// Least window in segments.
const MIN_CWND: u32 = 2;
/// 100 kbit/s.
const MIN_RATE: u64 = 12_500;
/// Growth is that of packets of this length.
const PACKET: u64 = 1_500;
/// RTTs above 100 ms are not scaled.
const LONGEST_SCALED: u32 = 800_000;
/// Eighths of a µs in a second, and what `rate_to_frac` takes for them.
const SECOND: u64 = 8_000_000;
const ABOUT_A_SECOND_BITS: u32 = 23;
const HSRTT_BITS: u32 = 7;
/// Bytes of window up to which the rate leads.
const FEW: u64 = 4 * PACKET;

/// The options of a Prague.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PragueRules {
    /// Round trip that shorter ones behave as if they had, in µs; at most a second.
    pub rtt_target_us: u32,
    /// Rounds after slow start in which they do not.
    pub rtt_transition: u32,
    /// Whether alpha begins at 1 and the first mark does not halve the window.
    pub alpha_one: bool,
    /// Whether the first mark halves the window in any case.
    pub first_ce_halves: bool,
    /// A burst takes 2 to the power of minus this seconds at most.
    pub burst_shift: u32,
    /// Whether a rate takes the place of small windows.
    pub rate_mode: bool,
}

/// The connection as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PraguePath {
    /// Now, in µs.
    pub now_us: u64,
    /// Smoothed RTT in 1/8 µs; zero before the first sample.
    pub srtt8: u32,
    /// IP length of a full packet.
    pub mtu: u32,
    /// Segments delivered since the start.
    pub delivered: u64,
    /// Segments with CE among them.
    pub delivered_ce: u64,
    /// First number not acknowledged.
    pub snd_una: u64,
    /// First number never sent.
    pub snd_nxt: u64,
    /// Segments in flight.
    pub in_flight: u32,
}

impl PraguePath {
    /// Rate of one packet per round trip; before the first sample, per 1/8 µs.
    fn packet_rate(&self) -> u64 {
        SECOND * u64::from(self.mtu) / u64::from(self.srtt8.max(1))
    }
}

/// Prague of one connection; `struct prague` of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PragueState {
    /// Time of the last reduction by marks, in µs.
    pub cwr_stamp: u64,
    /// Time of the last update of alpha, in µs.
    pub alpha_stamp: u64,
    /// alpha · 16.
    pub upscaled_alpha: u64,
    /// Growth per unmarked segment and window.
    pub ai_ack_increase: u64,
    /// The fractional window.
    pub frac_cwnd: u64,
    /// The rate.
    pub rate_bytes: u64,
    /// The rate before the last loss.
    pub loss_rate_bytes: u64,
    /// Smoothed `srtt8`, times 128.
    pub hsrtt: u64,
    /// The window before the last loss.
    pub loss_cwnd: u32,
    /// Segments delivered when the round began.
    pub old_delivered: u64,
    /// Segments with CE among them.
    pub old_delivered_ce: u64,
    /// The round ends when this number is acknowledged.
    pub next_seq: u64,
    /// Rounds since slow start.
    pub round: u32,
    /// Segments in a burst.
    pub max_tso_burst: u32,
    /// Whether a mark was ever seen.
    pub saw_ce: bool,
    /// Whether a loss is being recovered.
    pub in_loss: bool,
    /// Whether the window is small and the rate leads, once RTTs are independent (`cwnd_mode`).
    pub by_rate: bool,
    /// Pacing rate, in bytes per second.
    pub pacing_rate: u64,
}

impl PragueState {
    /// The state of a connection that has agreed on ECN (`prague_init`).
    pub fn new(rules: &PragueRules, path: &PraguePath, window: &Window) -> Self {
        let mut state = Self {
            alpha_stamp: path.now_us,
            upscaled_alpha: if rules.alpha_one { MAX_UPSCALED } else { 0 },
            frac_cwnd: u64::from(window.cwnd) << CWND_BITS,
            ..Self::default()
        };
        state.update_pacing(rules, path, window);
        state.saw_ce = path.delivered_ce > 0;
        let srtt8 = if path.srtt8 > 0 { path.srtt8 } else { 8 };
        state.hsrtt = u64::from(srtt8) << HSRTT_BITS;
        state.begin_round(rules, path, window);
        state
    }

    /// Whether growth and reduction are those of the target RTT (`prague_is_rtt_indep`).
    fn is_independent(&self, rules: &PragueRules, window: &Window) -> bool {
        !window.in_slow_start() && self.round >= rules.rtt_transition
    }
    fn rate_leads(&self, rules: &PragueRules, window: &Window) -> bool {
        self.by_rate && self.is_independent(rules, window)
    }
    fn virtual_rtt(rules: &PragueRules, path: &PraguePath) -> u32 {
        (rules.rtt_target_us << 3).max(path.srtt8)
    }
    /// `prague_frac_cwnd_to_pacing_rate`.
    fn frac_to_rate(&self, path: &PraguePath) -> u64 {
        let rate = u128::from(self.frac_cwnd) * u128::from(path.packet_rate());
        ((rate >> CWND_BITS) as u64).max(MIN_RATE)
    }
    /// `prague_pacing_rate_to_frac_cwnd`: a second has 2²³ eighths of a µs here, not 8 000 000.
    fn rate_to_frac(&self, path: &PraguePath) -> u64 {
        let rtt = match self.hsrtt >> HSRTT_BITS {
            0 => u64::from(path.srtt8),
            rtt => rtt,
        };
        let bytes = u128::from(self.rate_bytes) * u128::from(rtt);
        let scaled = (bytes >> (ABOUT_A_SECOND_BITS - CWND_BITS)) as u64;
        scaled.div_ceil(path.mtu.into())
    }
    /// The window that the fractional one asks for (`prague_frac_cwnd_to_snd_cwnd`).
    fn whole_cwnd(&self) -> u32 {
        let whole = self.frac_cwnd.div_ceil(ONE);
        u32::try_from(whole).map_or(Window::MAX, |whole| whole.clamp(MIN_CWND, Window::MAX))
    }

    /// An ACK newly delivered `acked` segments and reported `marked` packets with CE, and loss recovery has looked at it
    /// (`prague_cong_control`).
    pub fn on_ack(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &mut Window,
        acked: u32,
        marked: u32,
        is_cwnd_limited: bool,
    ) {
        self.update_cwnd(rules, path, window, acked, marked, is_cwnd_limited);
        let is_round_over = path.snd_una >= self.next_seq;
        let since = path.now_us.saturating_sub(self.alpha_stamp);
        let is_target_over = since >= rules.rtt_target_us.into();
        if is_round_over && (is_target_over || !self.is_independent(rules, window)) {
            self.update_alpha(rules, path, window);
        }
        self.update_pacing(rules, path, window);
        if rules.rate_mode {
            let bytes = u64::from(window.cwnd) * u64::from(path.mtu);
            self.by_rate = self.saw_ce && bytes <= FEW;
            if self.by_rate {
                self.frac_cwnd = self.rate_to_frac(path);
            } else {
                self.rate_bytes = self.frac_to_rate(path);
            }
        }
    }
    /// `prague_update_cwnd`.
    fn update_cwnd(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &mut Window,
        mut acked: u32,
        marked: u32,
        is_cwnd_limited: bool,
    ) {
        if marked > 0 {
            let is_first = !self.saw_ce && !rules.alpha_one;
            if is_first {
                self.frac_cwnd = self.frac_cwnd.div_ceil(2);
            }
            self.saw_ce = true;
            acked = acked.saturating_sub(marked);
            if is_first && rules.first_ce_halves {
                acked = 0;
            }
        }
        if acked > 0 && !self.in_loss && is_cwnd_limited {
            if window.in_slow_start() {
                acked = window.slow_start(acked);
                // The trap: this overwrites a halving by the same ACK.
                self.frac_cwnd = u64::from(window.cwnd) << CWND_BITS;
                if acked == 0 {
                    self.update_increase(rules, path);
                    return;
                }
            }
            self.grow(rules, path, window, acked);
        }
        // One step per ACK, up or down.
        let want = self.whole_cwnd();
        if window.cwnd > want {
            window.cwnd -= 1;
            window.ssthresh = window.cwnd;
        } else if window.cwnd < want {
            window.cwnd += 1;
        } else {
            return;
        }
        self.update_increase(rules, path);
    }
    /// Additive increase for `acked` segments without a mark.
    fn grow(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window, acked: u32) {
        let (acked, mtu) = (u64::from(acked), u64::from(path.mtu));
        if self.rate_leads(rules, window) {
            let rtt = u64::from(Self::virtual_rtt(rules, path)).max(1);
            let gain = ((acked * PACKET) << ABOUT_A_SECOND_BITS) / rtt;
            let bytes = self.rate_bytes.wrapping_mul(rtt);
            let packets = bytes.div_ceil(mtu << ABOUT_A_SECOND_BITS);
            if packets > 0 {
                self.rate_bytes += rounded(gain, packets);
            }
            self.frac_cwnd = (self.frac_cwnd + acked).max(self.rate_to_frac(path));
        } else {
            let mut gain = acked * self.ai_ack_increase;
            if self.frac_cwnd > 0 {
                gain = rounded(gain << CWND_BITS, self.frac_cwnd);
            }
            self.frac_cwnd += acked.max(gain * PACKET / mtu);
            self.rate_bytes = (self.rate_bytes + acked).max(self.frac_to_rate(path));
        }
    }
    /// Growth per window: (srtt / target)² segments where the round trip is shorter than the target (`prague_ai_ack_increase`).
    fn update_increase(&mut self, rules: &PragueRules, path: &PraguePath) {
        let (rtt, target) = (u64::from(path.srtt8), u64::from(rules.rtt_target_us) << 3);
        let is_scaled = self.round >= rules.rtt_transition
            && (1..=LONGEST_SCALED).contains(&path.srtt8)
            && rtt < target;
        self.ai_ack_increase = match is_scaled {
            true => rounded((rtt << CWND_BITS) * rtt, target * target),
            false => ONE,
        };
    }

    /// RFC 8257 section 3.3, once per round trip or target (`prague_update_alpha`).
    fn update_alpha(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        if self.saw_ce {
            let delivered = path.delivered - self.old_delivered;
            let marked = path.delivered_ce - self.old_delivered_ce;
            let fraction = (marked << ALPHA_BITS) / delivered.max(1);
            let alpha = self.upscaled_alpha - (self.upscaled_alpha >> SHIFT_G) + fraction;
            self.upscaled_alpha = alpha.min(MAX_UPSCALED);
            self.alpha_stamp = path.now_us;
        }
        self.hsrtt = self.hsrtt + u64::from(path.srtt8) - (self.hsrtt >> HSRTT_BITS);
        self.begin_round(rules, path, window);
    }
    /// `prague_new_round`.
    fn begin_round(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        self.next_seq = path.snd_nxt;
        self.old_delivered = path.delivered;
        self.old_delivered_ce = path.delivered_ce;
        if !window.in_slow_start() {
            self.round = match self.round.wrapping_add(1) {
                0 => rules.rtt_transition,
                round => round,
            };
        }
        self.update_increase(rules, path);
    }
    /// `prague_update_pacing_rate`.
    fn update_pacing(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        let mut rate = self.rate_bytes;
        if self.rate_leads(rules, window) {
            // 3 % more in the first half of a round trip and less in the second, so that marks come in each.
            let offset = (rate * 4) >> 7;
            let half = Self::virtual_rtt(rules, path) >> 4;
            let since = path.now_us.saturating_sub(self.alpha_stamp);
            rate = match since >= half.into() {
                true => rate - offset,
                false => rate + offset,
            };
        } else {
            let flight = ((self.frac_cwnd >> CWND_BITS) as u32).max(path.in_flight);
            rate = (path.packet_rate() * u64::from(flight)).max(MIN_RATE);
            self.rate_bytes = rate;
        }
        if window.cwnd < window.ssthresh / 2 {
            rate <<= 1;
        }
        let burst = (rate / u64::from(path.mtu)) >> rules.burst_shift;
        self.max_tso_burst = u32::try_from(burst.max(1)).unwrap_or(u32::MAX);
        self.pacing_rate = rate;
    }

    /// The state of loss recovery changes to another one (`prague_state`).
    pub fn set_state(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &Window,
        new: CaState,
    ) {
        match new {
            CaState::Recovery => self.on_loss(rules, path, window),
            CaState::Cwr => self.on_marks(rules, path, window),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }
    /// RFC 9331 section 4.3: a loss is answered as by a Classic control (`prague_enter_loss`); also where the retransmission timer has
    /// run out.
    pub fn on_loss(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        self.loss_cwnd = window.cwnd;
        self.loss_rate_bytes = self.rate_bytes;
        if self.rate_leads(rules, window) {
            self.rate_bytes = self.rate_bytes.div_ceil(2);
            self.frac_cwnd = self.rate_to_frac(path);
        } else {
            self.frac_cwnd = self.frac_cwnd.div_ceil(2);
            self.rate_bytes = self.frac_to_rate(path);
        }
        self.in_loss = true;
    }
    /// Marks have come back: alpha/2 less, once per target (`prague_enter_cwr`).
    fn on_marks(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        let since = path.now_us.saturating_sub(self.cwr_stamp);
        if self.is_independent(rules, window) && since < rules.rtt_target_us.into() {
            return;
        }
        self.cwr_stamp = path.now_us;
        let alpha = u128::from(self.upscaled_alpha >> SHIFT_G);
        if self.rate_leads(rules, window) {
            let less = (u128::from(self.rate_bytes) * alpha) >> (ALPHA_BITS + 1);
            self.rate_bytes = (self.rate_bytes - less as u64).max(MIN_RATE);
            self.frac_cwnd = self.rate_to_frac(path);
        } else {
            // Rounded to the nearest.
            let less = u128::from(self.frac_cwnd) * alpha + (1 << ALPHA_BITS);
            self.frac_cwnd -= (less >> (ALPHA_BITS + 1)) as u64;
            self.rate_bytes = self.frac_to_rate(path);
        }
    }
    /// The last reduction was spurious; returns the window to restore (`prague_cwnd_undo`).
    pub fn undo(&mut self, path: &PraguePath, window: &Window) -> u32 {
        self.in_loss = false;
        self.rate_bytes = self.rate_bytes.max(self.loss_rate_bytes);
        self.frac_cwnd = self.rate_to_frac(path);
        self.loss_cwnd.max(window.cwnd)
    }
}

/// `dividend / divisor` to the nearest whole number.
fn rounded(dividend: u64, divisor: u64) -> u64 {
    (dividend + divisor / 2) / divisor
}

#[cfg(test)]
mod tests;
