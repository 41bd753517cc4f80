//! CUBIC: RFC 9438; Linux `net/ipv4/tcp_cubic.c` in its integers, of today and of two older dates.
//!
//! After a reduction the window follows W_cubic(t) = C (t - K)³ + W_max: it grows fast back towards
//! the window at which the loss happened, slowly around it, and fast beyond. Where Reno would be
//! faster, it follows Reno's average window W_est instead (the Reno-friendly region).
//!
//! | variant | beta | slow start | counts | differences |
//! | --- | --- | --- | --- | --- |
//! | `linux` | 0.70 | HyStart | segments | that of Linux 4.x to 6.x |
//! | `linux_3` | 0.70 | HyStart, threshold RTT/16 | ACKs · mean segments per ACK | Linux 3.0 to 3.5 |
//! | `linux_2_0` | 0.80 | to a threshold of 100 | ACKs · mean segments per ACK | module version 2.0 |
//! | `rfc_9438`, `freebsd_2010` | | | | see [`textbook`] |
//!
//! Linux's variants are in [`linux`]; they and the textbook's share options, constants and the cube
//! root.

mod hystart;
mod hystart_plus;
pub mod linux;
pub mod textbook;

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, parameters, words};

use super::{
    AckSample, CaState, CongestionControl, Connection, ControlKind, Declared, Event, Host, Window,
};
use linux::LinuxCubic;
use textbook::TextbookCubic;

/// C = 0.4 as 410/1024 (`bic_scale` 41, times 10).
const C_1024THS: u64 = 410;
/// 1/C, for K³ in units of 2⁻³⁰ s³ per segment below W_max: 2⁴⁰ / 410 (`cube_factor`).
const CUBE_FACTOR: u64 = (1 << 40) / C_1024THS;

words! {
    /// Which CUBIC.
    pub enum Variant {
        /// Linux today.
        Linux = "linux",
        /// Linux 3.0 to 3.5.
        Linux3 = "linux_3",
        /// Linux before 2.6.29, module version 2.0.
        Linux20 = "linux_2_0",
        /// RFC 9438 with fractions of segments.
        Rfc9438 = "rfc_9438",
        /// FreeBSD's first.
        FreeBsd2010 = "freebsd_2010",
    }
}

parameters! {
    /// Options of CUBIC.
    #[derive(PartialEq, Eq)]
    pub struct CubicConfig {
        /// Version of CUBIC: its arithmetic, constants and slow start.
        variant: Variant = Parameter::FIXED.default("linux")
            .source("Linux tcp_cubic.c (today, 3.0 to 3.5, module version 2.0); RFC 9438; FreeBSD 2010"),
        /// Fraction of the window that a reduction leaves; kept in 1/1024, as in Linux (0.7 is 717).
        beta: u32 = Parameter::FIXED.domain(Domain::Fraction(1, 1_023, 1_024))
            .default_by("variant", &[("linux", "0.7"), ("linux_3", "0.7"), ("linux_2_0", "0.8"), ("rfc_9438", "0.7"), ("freebsd_2010", "0.8")])
            .source("RFC 9438 section 4.6 (0.7); Linux module parameter beta, in 1/1024"),
        /// Whether a flow that is reduced below its last maximum gives way further.
        fast_convergence: bool = Parameter::FIXED.default("true")
            .source("Linux module parameter; RFC 9438 section 4.7"),
        /// Whether the window is never below Reno's.
        tcp_friendliness: bool = Parameter::FIXED.default("true")
            .source("Linux module parameter; RFC 9438 section 4.3"),
        /// Whether ACK trains or rising delay may end slow start before loss.
        hystart: bool = Parameter::FIXED
            .default_by("variant", &[("linux", "true"), ("linux_3", "true"), ("linux_2_0", "false"), ("rfc_9438", "true"), ("freebsd_2010", "false")])
            .source("Linux module parameter"),
    }
}

/// CUBIC of one connection.
#[derive(Debug, Clone)]
pub enum Cubic {
    /// Linux's, in integers.
    Linux(LinuxCubic),
    /// The textbook's, in fractions of segments.
    Textbook(TextbookCubic),
}

impl Declared for Cubic {
    type Config = CubicConfig;
    const KIND: ControlKind = ControlKind {
        name: "cubic",
        summary: "The window is a cubic function of the time since the last loss, and never below Reno's.",
        source: "RFC 9438; Linux tcp_cubic.c",
        parameters: CubicConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn new(config: &CubicConfig, host: &Host, window: &mut Window) -> Self {
        match config.variant {
            Variant::Rfc9438 | Variant::FreeBsd2010 => Self::Textbook(TextbookCubic::new(*config)),
            Variant::Linux | Variant::Linux3 | Variant::Linux20 => {
                Self::Linux(LinuxCubic::new(*config, host.ticks, window))
            }
        }
    }
}

impl CongestionControl for Cubic {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _connection: &Connection, window: &mut Window) {
        match self {
            Self::Linux(cubic) => cubic.on_ack(ack, window),
            Self::Textbook(cubic) => cubic.on_ack(ack),
        }
    }
    #[inline]
    fn cong_avoid(&mut self, ack: &AckSample, _connection: &Connection, window: &mut Window) {
        match self {
            Self::Linux(cubic) => cubic.cong_avoid(ack, window),
            Self::Textbook(cubic) => cubic.cong_avoid(ack, window),
        }
    }
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        match self {
            Self::Linux(cubic) => cubic.ssthresh(window),
            Self::Textbook(cubic) => cubic.ssthresh(window),
        }
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, window: &mut Window) {
        match self {
            Self::Linux(cubic) => cubic.set_state(new, connection),
            Self::Textbook(cubic) => cubic.set_state(new, connection, window),
        }
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, _window: &mut Window) {
        match self {
            Self::Linux(cubic) => cubic.cwnd_event(event, connection.now),
            Self::Textbook(_) => {}
        }
    }
}

/// Options of this control, for tests.
#[cfg(test)]
fn config(options: &[(&str, &str)]) -> CubicConfig {
    let mut settings = quell_units::Settings::new(CubicConfig::ROWS);
    for (key, value) in options {
        settings.set(key, value).unwrap();
    }
    CubicConfig::of(&settings)
}

/// The cube root, rounded down, of a number below 2⁶⁶.
fn cube_root(n: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let trial = root | 1 << bit;
        if u128::from(trial) * u128::from(trial) * u128::from(trial) <= u128::from(n) {
            root = trial;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_exact() {
        for root in [0_u64, 1, 2, 3, 10, 255, 256, 65_535, 1_000_000, 2_097_151] {
            let cube = root * root * root;
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 3 * root * root), root);
            if root > 0 {
                assert_eq!(cube_root(cube - 1), root - 1);
            }
        }
    }
}
