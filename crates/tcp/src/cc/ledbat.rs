//! LEDBAT: RFC 6817, for transfers in the background.
//!
//! The control measures the one-way delay of its data by TCP timestamps, keeps the lowest of the last minutes as that of the empty path,
//! and steers the rest, the queueing delay, to `target`: the window grows by at most `gain` segments per round below it, and shrinks as
//! fast in proportion above it. Where others fill the queue beyond the target, it gives way to almost nothing. A flow that starts
//! later may take the earlier one's queue for part of the path (the "latecomer's advantage" of the RFC's critics); nothing here repairs it.
//!
//! Choices where RFC 6817 leaves room: the filter of recent delays is their minimum (section 2.4.2 allows any); the window begins with two
//! segments (INIT_CWND); there is no slow start unless `slow_start` asks for one, which ends at the first loss or at nine tenths
//! of the target, as libutp's does (from memory; Linux's module of Valenti, from memory too, has it off as well). A loss halves once
//! per round trip, and so does an ECN echo.
//!
//! Deviations from RFC 6817: 1. the limit of the window to what is in flight and ALLOWED_INCREASE applies only where the window was not
//! full in this round: segmentation offload keeps less in flight for a while; 2. minutes are those of the run, and a time-out is the
//! sender's own (CTO); 3. delays have the resolution of timestamps, a millisecond, and include the wait of a delayed ACK, which the
//! minimum of several samples leaves out.

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, Time, parameters};

use super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Host, Window,
};
use crate::ecn::FeedbackMode;

/// INIT_CWND and MIN_CWND, in segments.
const MIN_CWND: u32 = 2;
/// Segments by which the window may exceed what is in flight.
const ALLOWED_INCREASE: u32 = 1;
/// Fractions of a window are in 2⁻²⁰ segments.
const ONE: u64 = 1 << 20;
/// A gain of 1.
const WHOLE_GAIN: u64 = 1_024;
/// Most minutes of history, and most samples of the filter.
const MOST: usize = 16;

parameters! {
    /// Options of LEDBAT.
    #[derive(PartialEq, Eq)]
    pub struct LedbatConfig {
        /// Queueing delay that the flow aims at.
        target: Time = Parameter::FIXED.domain(Domain::Time(Time::from_millis(1), Time::from_millis(100)))
            .default("100ms").source("RFC 6817 section 2.5 (TARGET, 100 ms at most)"),
        /// Segments per round by which the window grows on an empty queue; kept in 1/1024.
        gain: u32 = Parameter::FIXED.domain(Domain::Fraction(1, WHOLE_GAIN, WHOLE_GAIN)).default("1")
            .source("RFC 6817 section 2.5 (GAIN, 1 at most)"),
        /// Minutes whose lowest delay is that of the empty path.
        base_history: u32 = Parameter::FIXED.domain(Domain::Integer(1, MOST as u64)).default("10")
            .source("RFC 6817 section 2.5 (BASE_HISTORY)"),
        /// Latest samples whose lowest is the delay of now.
        current_filter: u32 = Parameter::FIXED.domain(Domain::Integer(1, MOST as u64)).default("4")
            .source("RFC 6817 section 2.5 (CURRENT_FILTER)"),
        /// Whether the window doubles per round until nine tenths of the target or the first loss.
        slow_start: bool = Parameter::FIXED.default("false").source("RFC 6817 (none); libutp (with)"),
    }
}

/// The latest delays in µs, oldest first: at most [`MOST`].
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    values: [u32; MOST],
    count: usize,
}

impl Recent {
    /// Adds a delay; the oldest of more than `most` leaves.
    fn push(&mut self, delay: Time, most: u32) {
        if self.count >= most as usize {
            self.values.copy_within(1..self.count, 0);
            self.count -= 1;
        }
        self.values[self.count] = micros(delay);
        self.count += 1;
    }
    /// Lowers the latest to this.
    fn lower(&mut self, delay: Time) {
        let latest = &mut self.values[self.count - 1];
        *latest = (*latest).min(micros(delay));
    }
    fn lowest(&self) -> Option<Time> {
        let lowest = self.values[..self.count].iter().min();
        lowest.map(|&lowest| Time::from_micros(lowest.into()))
    }
}

fn micros(delay: Time) -> u32 {
    u32::try_from(delay.as_nanos() / 1_000).unwrap_or(u32::MAX)
}

/// LEDBAT of one connection.
#[derive(Debug, Clone)]
pub struct Ledbat {
    config: LedbatConfig,
    /// Lowest delay of each of the last minutes.
    base_delays: Recent,
    /// Minute of the last of them.
    last_rollover: u64,
    current_delays: Recent,
    /// The window beyond whole segments, in 2⁻²⁰.
    fraction: u64,
}

impl Declared for Ledbat {
    type Config = LedbatConfig;
    const KIND: ControlKind = ControlKind {
        name: "ledbat",
        summary: "Keeps the queueing delay at a target and gives way to others: for the background.",
        source: "RFC 6817",
        parameters: LedbatConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn new(config: &LedbatConfig, _host: &Host, _window: &mut Window) -> Self {
        Self {
            config: *config,
            base_delays: Recent::default(),
            last_rollover: 0,
            current_delays: Recent::default(),
            fraction: 0,
        }
    }
}

impl CongestionControl for Ledbat {
    fn init(
        &mut self,
        _agreed: FeedbackMode,
        _connection: &Connection,
        window: &mut Window,
    ) -> Option<Control> {
        // INIT_CWND, or what a lost SYN has left.
        window.cwnd = window.cwnd.min(MIN_CWND);
        if !self.config.slow_start {
            window.ssthresh = MIN_CWND;
        }
        None
    }
    /// Section 2.4.2, "on acknowledgment". The sender's own reductions go first.
    fn on_ack(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        if let Some(delay) = ack.one_way_delay {
            self.update_base_delay(delay, connection.now);
            self.current_delays.push(delay, self.config.current_filter);
        }
        let is_reducing = matches!(connection.state, CaState::Cwr | CaState::Recovery);
        if ack.acked > 0 && !is_reducing {
            let flight = match connection.is_cwnd_limited {
                true => ack.prior_in_flight.max(window.cwnd),
                false => ack.prior_in_flight,
            };
            self.adapt(ack.acked, flight, window);
        }
    }
    /// Section 2.4.2, "on data loss": "cwnd = min(cwnd, max(cwnd/2, MIN_CWND * MSS))".
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        self.fraction = 0;
        window.half().min(window.cwnd.max(MIN_CWND))
    }
}

impl Ledbat {
    /// "Maintain BASE_HISTORY delay-minima. Each minimum is measured over a period of a minute."
    fn update_base_delay(&mut self, delay: Time, now: Time) {
        let minute = now.as_nanos() / 60_000_000_000;
        if self.base_delays.count == 0 || minute != self.last_rollover {
            self.last_rollover = minute;
            self.base_delays.push(delay, self.config.base_history);
        } else {
            self.base_delays.lower(delay);
        }
    }
    /// The part of the one-way delay that is the queue's; `None` before the first sample.
    fn queuing_delay(&self) -> Option<Time> {
        Some(self.current_delays.lowest()? - self.base_delays.lowest()?)
    }
    /// "cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd", with `flight` segments outstanding before this ACK.
    fn adapt(&mut self, acked: u32, flight: u32, window: &mut Window) {
        let Some(delay) = self.queuing_delay() else {
            return;
        };
        let target = self.config.target;
        if window.in_slow_start() {
            if delay <= target / 10 * 9 {
                let most = flight.saturating_add(acked.max(ALLOWED_INCREASE));
                window.cwnd = window.cwnd.saturating_add(acked).min(most).max(window.cwnd);
                window.cwnd = window.cwnd.min(Window::MAX);
                return;
            }
            window.ssthresh = window.cwnd;
        }
        // (TARGET - queuing_delay) / TARGET.
        let off_target = i128::from(micros(target)) - i128::from(micros(delay));
        let moved = i128::from(self.config.gain) * off_target * i128::from(acked) * i128::from(ONE)
            / (i128::from(micros(target))
                * i128::from(window.cwnd.max(1))
                * i128::from(WHOLE_GAIN));
        let cwnd = i128::from(u64::from(window.cwnd) * ONE + self.fraction) + moved;
        // "max_allowed_cwnd = flightsize + ALLOWED_INCREASE * MSS".
        let most = u64::from(flight) + u64::from(ALLOWED_INCREASE);
        let most = most.clamp(MIN_CWND.into(), Window::MAX.into()) * ONE;
        let cwnd = cwnd.clamp(0, most.into()) as u64;
        let cwnd = cwnd.max(u64::from(MIN_CWND) * ONE);
        window.cwnd = (cwnd / ONE) as u32;
        self.fraction = cwnd % ONE;
    }
}

#[cfg(test)]
mod tests {
    use quell_units::Settings;

    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn ledbat(options: &[(&str, &str)]) -> Ledbat {
        let mut settings = Settings::new(Ledbat::KIND.parameters);
        for (key, value) in options {
            settings.set(key, value).unwrap();
        }
        Ledbat {
            config: LedbatConfig::of(&settings),
            base_delays: Recent::default(),
            last_rollover: 0,
            current_delays: Recent::default(),
            fraction: 0,
        }
    }
    fn connection(now: Time, is_cwnd_limited: bool) -> Connection {
        Connection {
            now,
            is_cwnd_limited,
            ..Connection::default()
        }
    }
    /// One ACK of one segment with this one-way delay.
    fn ack(control: &mut Ledbat, window: &mut Window, delay: Time, now: Time) {
        let sample = AckSample {
            acked: 1,
            one_way_delay: Some(delay),
            prior_in_flight: window.cwnd,
            ..AckSample::default()
        };
        control.on_ack(&sample, &connection(now, true), window);
    }

    /// off_target is 1 on an empty queue, 0 at the target and -1 at twice that: so many segments per window.
    #[test]
    fn a_window_moves_by_gain_times_off_target() {
        for (gain, queue, moved) in [
            ("1", 0, 1.0),
            ("0.5", 0, 0.5),
            ("1", 50, 0.5),
            ("1", 100, 0.0),
            ("1", 200, -1.0),
            ("0.25", 300, -0.5),
        ] {
            let mut control = ledbat(&[("gain", gain), ("current_filter", "1")]);
            let mut window = Window::new(1_000);
            window.ssthresh = MIN_CWND;
            control.base_delays.push(MS(30), 10);
            for _ in 0..1_000 {
                ack(&mut control, &mut window, MS(30 + queue), MS(0));
            }
            let cwnd = f64::from(window.cwnd) + control.fraction as f64 / ONE as f64;
            assert!(
                (cwnd - 1_000.0 - moved).abs() < 0.002,
                "{gain} {queue}: {cwnd}"
            );
        }
    }

    #[test]
    fn the_window_is_never_below_two_segments() {
        let mut control = ledbat(&[("current_filter", "1")]);
        let mut window = Window::new(4);
        window.ssthresh = MIN_CWND;
        ack(&mut control, &mut window, MS(10), MS(0));
        for _ in 0..100 {
            ack(&mut control, &mut window, MS(5_000), MS(1));
        }
        assert_eq!((window.cwnd, control.fraction), (2, 0));
        assert_eq!(control.ssthresh(&connection(MS(2), true), &window), 2);
        window.cwnd = 9;
        assert_eq!(control.ssthresh(&connection(MS(2), true), &window), 4);
    }

    #[test]
    fn the_lowest_of_the_latest_samples_counts_and_delayed_acks_do_not() {
        let mut control = ledbat(&[]);
        let mut window = Window::new(10);
        window.ssthresh = MIN_CWND;
        ack(&mut control, &mut window, MS(20), MS(0));
        for delay in [60, 61, 22, 60] {
            ack(&mut control, &mut window, MS(delay), MS(1));
        }
        assert_eq!(control.queuing_delay(), Some(MS(2)));
        for _ in 0..4 {
            ack(&mut control, &mut window, MS(60), MS(2));
        }
        assert_eq!(control.queuing_delay(), Some(MS(40)));
    }

    #[test]
    fn the_base_delay_is_the_lowest_of_the_last_minutes() {
        let mut control = ledbat(&[("base_history", "3"), ("current_filter", "1")]);
        let mut window = Window::new(10);
        window.ssthresh = MIN_CWND;
        let minute = |n: u64| Time::from_secs(60 * n + 1);
        for (n, delay, queue) in [(0, 20, 0), (1, 25, 5), (2, 30, 10), (3, 30, 5), (4, 40, 10)] {
            ack(&mut control, &mut window, MS(delay + 7), minute(n));
            ack(&mut control, &mut window, MS(delay), minute(n));
            assert_eq!(control.queuing_delay(), Some(MS(queue)), "minute {n}");
        }
    }

    /// "max_allowed_cwnd = flightsize + ALLOWED_INCREASE * MSS".
    #[test]
    fn a_window_that_was_not_full_is_limited_to_the_flight() {
        for (is_full, cwnd) in [(true, 50), (false, 21)] {
            let mut control = ledbat(&[]);
            let mut window = Window::new(50);
            window.ssthresh = MIN_CWND;
            let sample = AckSample {
                acked: 1,
                one_way_delay: Some(MS(10)),
                prior_in_flight: 20,
                ..AckSample::default()
            };
            control.on_ack(&sample, &connection(MS(0), is_full), &mut window);
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn slow_start_is_optional_and_ends_near_the_target() {
        for (option, cwnd) in [("false", 3), ("true", 12)] {
            let mut control = ledbat(&[("slow_start", option), ("current_filter", "1")]);
            let mut window = Window::new(10);
            control.init(FeedbackMode::Off, &connection(MS(0), true), &mut window);
            assert_eq!(window.cwnd, 2);
            for _ in 0..10 {
                let delay = MS(if window.cwnd < 12 { 10 } else { 105 });
                ack(&mut control, &mut window, delay, MS(0));
            }
            assert!(window.cwnd.abs_diff(cwnd) <= 2, "{option}: {}", window.cwnd);
            ack(&mut control, &mut window, MS(105), MS(0));
            assert!(!window.in_slow_start(), "{option}");
        }
    }

    #[test]
    fn nothing_moves_without_timestamps_or_during_a_reduction() {
        let mut control = ledbat(&[]);
        let mut window = Window::new(10);
        window.ssthresh = MIN_CWND;
        let mut sample = AckSample {
            acked: 5,
            prior_in_flight: 10,
            ..AckSample::default()
        };
        control.on_ack(&sample, &connection(MS(0), true), &mut window);
        assert_eq!((window.cwnd, control.fraction), (10, 0));
        sample.one_way_delay = Some(MS(10));
        let reducing = Connection {
            state: CaState::Recovery,
            ..connection(MS(0), true)
        };
        control.on_ack(&sample, &reducing, &mut window);
        assert_eq!((window.cwnd, control.fraction), (10, 0));
        control.on_ack(&sample, &connection(MS(0), true), &mut window);
        assert!(control.fraction > 0);
    }
}
