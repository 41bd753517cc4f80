//! Congestion controls: one file each, and one line each in the table of this file.
//!
//! A control is made from a [`CcConfig`], which comes from a name and a table of options. The table
//! in this file makes of each control its module, its variant of [`CcConfig`] and of
//! [`Control`] with static dispatch, and its row in [`KINDS`], which the scenario format, the schema,
//! `quell cc` and the documentation read. To add a control: its file, which implements
//! [`CongestionControl`] and says with its [`ControlKind`] what others must know of it; its line. A control of another crate
//! needs no line: it is [registered](own).

pub mod bbr;
mod connection;
mod interface;
pub mod own;
mod window;

pub use connection::{CaState, Connection, LostSegment, Rounds};
pub use interface::{CloneBoxed, CongestionControl, Custom, Declared, Event, Host};
pub use window::{AckSample, RateSample, Window};

use quell_units::parameter::{ParameterError, Table};
use quell_units::{Parameter, Rate, Settings};

use crate::ecn::{Codepoint, EcnMode, EctScope, FeedbackMode};

/// The declaration of a control: everything that does not take one at work.
#[derive(Debug, Clone, Copy)]
pub struct ControlKind {
    /// Its name in scenarios, which is Linux's unless `kernel` says otherwise.
    pub name: &'static str,
    /// Its name in Linux, if that does not say which control it is. A scenario for the simulator may use
    /// it too.
    pub kernel: Option<&'static str>,
    /// One sentence.
    pub summary: &'static str,
    /// The document or code that defines it.
    pub source: &'static str,
    /// Whether its response to marks is scalable: it wants shallow, frequent marking (RFC 9331) and
    /// is of no use without ECN.
    pub scalable: bool,
    /// Codepoint of its data packets where neither the scenario nor an option says; `None` for no ECN, as
    /// Linux leaves it.
    pub ecn: Option<Codepoint>,
    /// Which packets of both ends are ECN-capable; `None` for what the feedback implies
    /// ([`EcnMode::scope`]). All of them with one that needs ECN (Linux `TCP_CONG_NEEDS_ECN`).
    pub ect_scope: Option<EctScope>,
    /// Whether departures are paced where the scenario does not say, because the control counts on
    /// it (Linux `SK_PACING_NEEDED`).
    pub paced: bool,
    /// Its options.
    pub parameters: &'static [Parameter],
}

impl ControlKind {
    /// The common values of most controls of Linux: no ECN unless asked for, no pacing, no options.
    pub const PLAIN: Self = Self {
        name: "",
        kernel: None,
        summary: "",
        source: "",
        scalable: false,
        ecn: None,
        ect_scope: None,
        paced: false,
        parameters: &[],
    };
}

/// The control of this name, or of this name in Linux; `None` if there is none.
pub fn kind(name: &str) -> Option<&'static ControlKind> {
    let named = kinds().find(|kind| kind.name == name);
    named.or_else(|| kinds().find(|kind| kind.kernel == Some(name)))
}

/// Every control, in the order of listings: first those of this crate, then those that were [registered](own::register).
pub fn kinds() -> impl Iterator<Item = &'static ControlKind> + Clone {
    KINDS.iter().chain(own::kinds().iter().map(|own| &own.kind))
}

impl CcConfig {
    /// The control `name` with these options; `None` if there is no such control.
    pub fn new(name: &str, options: &[(&str, &str)]) -> Option<Result<Self, ParameterError>> {
        let mut settings = Settings::new(kind(name)?.parameters);
        for (key, value) in options {
            if let Err(error) = settings.set(key, value) {
                return Some(Err(error));
            }
        }
        Self::with(name, &settings)
    }
    /// The control `name` with options that were read before, from the table of its kind; `None` if
    /// there is no such control.
    pub fn with(name: &str, settings: &Settings) -> Option<Result<Self, ParameterError>> {
        match settings.check() {
            Ok(()) => Self::configured(kind(name)?.name, settings).map(Ok),
            Err(error) => kind(name).map(|_| Err(error)),
        }
    }
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.kind().name
    }
    /// ECN mode of a sender whose scenario does not set one.
    pub fn default_ecn(&self) -> EcnMode {
        self.ecn(self.codepoint())
    }
    /// ECN mode of a sender whose packets have this codepoint; `None` for no ECN.
    pub fn ecn(&self, codepoint: Option<Codepoint>) -> EcnMode {
        let mode = |codepoint| EcnMode::new(self.feedback(), codepoint);
        codepoint.map_or(EcnMode::Off, mode)
    }
}

/// Makes of the table of controls their modules, enums and list, and `dispatch!` over the variants. `$d` is a dollar sign,
/// which the text of the inner macro needs.
macro_rules! controls {
    ($d:tt $($module:ident => $Control:ident,)*) => {
        $(pub mod $module;)*

        /// Every control of this crate, in the order of listings; [`kinds`] has those of other crates too.
        pub const KINDS: &[ControlKind] = &[$(<$module::$Control as Declared>::KIND,)*];

        /// A congestion control with its options.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum CcConfig {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $Control(<$module::$Control as Declared>::Config),)*
            /// A control of another crate.
            Own(own::OwnConfig),
        }

        impl CcConfig {
            fn configured(name: &str, settings: &Settings) -> Option<Self> {
                $(if name == <$module::$Control as Declared>::KIND.name {
                    let config = <<$module::$Control as Declared>::Config as Table>::of(settings);
                    return Some(Self::$Control(config));
                })*
                own::OwnConfig::new(name, settings).map(Self::Own)
            }
            /// Its declaration, without its options.
            pub fn kind(&self) -> &'static ControlKind {
                match self {
                    $(Self::$Control(_) => &<$module::$Control as Declared>::KIND,)*
                    Self::Own(own) => own.kind(),
                }
            }
            fn feedback(&self) -> FeedbackMode {
                match self {
                    $(Self::$Control(config) => <$module::$Control>::feedback(config),)*
                    Self::Own(own) => own.feedback(),
                }
            }
            /// Whether it responds to marks if they come back.
            pub fn responds_to_marks(&self) -> bool {
                match self {
                    $(Self::$Control(config) => <$module::$Control>::responds_to_marks(config),)*
                    Self::Own(own) => own.responds_to_marks(),
                }
            }
            /// Codepoint of its data packets where the scenario does not say; `None` for no ECN.
            pub fn codepoint(&self) -> Option<Codepoint> {
                match self {
                    $(Self::$Control(config) => <$module::$Control>::codepoint(config),)*
                    Self::Own(own) => own.codepoint(),
                }
            }
        }

        /// The congestion control of one connection, dispatched statically.
        #[derive(Debug, Clone)]
        pub enum Control {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $Control($module::$Control),)*
            /// One that another crate brings along, behind a box.
            Custom(Custom),
        }

        impl Control {
            /// The control of a new connection, which may alter the initial window.
            pub fn new(config: &CcConfig, host: &Host, window: &mut Window) -> Self {
                match config {
                    $(CcConfig::$Control(config) => {
                        Self::$Control(<$module::$Control>::new(config, host, window))
                    })*
                    CcConfig::Own(own) => Self::Custom(Custom(own.create(host, window))),
                }
            }
        }

        /// A call of the control in whatever variant of [`Control`].
        macro_rules! dispatch {
            ($d variant:expr, $d control:ident => $d call:expr) => {
                match $d variant {
                    $(Control::$Control($d control) => $d call,)*
                    Control::Custom(Custom($d control)) => $d call,
                }
            };
        }
    };
}

controls! {
    $
    reno => Reno,
    cubic => Cubic,
    dctcp => Dctcp,
    bbr1 => Bbr1,
    bbr2 => Bbr2,
    bbr3 => Bbr3,
    prague => Prague,
    htcp => Htcp,
    compound => Compound,
    ledbat => Ledbat,
}

/// The calls of every ACK. The connection is a closure, so that only the controls that read it pay for it.
impl Control {
    #[inline]
    pub(crate) fn on_ack_of(
        &mut self,
        ack: &AckSample,
        connection: impl FnOnce() -> Connection,
        window: &mut Window,
    ) {
        dispatch!(self, control => control.on_ack(ack, &connection(), window))
    }
    #[inline]
    pub(crate) fn cong_avoid_of(
        &mut self,
        ack: &AckSample,
        connection: impl FnOnce() -> Connection,
        window: &mut Window,
    ) {
        dispatch!(self, control => control.cong_avoid(ack, &connection(), window))
    }
}

impl CongestionControl for Control {
    fn init(
        &mut self,
        agreed: FeedbackMode,
        connection: &Connection,
        window: &mut Window,
    ) -> Option<Self> {
        *self = dispatch!(self, control => control.init(agreed, connection, window))?;
        None
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        dispatch!(self, control => control.on_ack(ack, connection, window))
    }
    fn on_lost(&mut self, lost: &LostSegment, connection: &Connection, window: &mut Window) {
        dispatch!(self, control => control.on_lost(lost, connection, window))
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, window: &mut Window) {
        dispatch!(self, control => control.set_state(new, connection, window))
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, window: &mut Window) {
        dispatch!(self, control => control.cwnd_event(event, connection, window))
    }
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        dispatch!(self, control => control.ssthresh(connection, window))
    }
    #[inline]
    fn cong_avoid(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        dispatch!(self, control => control.cong_avoid(ack, connection, window))
    }
    fn cong_control(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        dispatch!(self, control => control.cong_control(ack, connection, window))
    }
    fn undo_cwnd(&mut self, connection: &Connection, window: &mut Window) -> u32 {
        dispatch!(self, control => control.undo_cwnd(connection, window))
    }
    #[inline]
    fn has_cong_control(&self) -> bool {
        dispatch!(self, control => control.has_cong_control())
    }
    fn wants_details(&self) -> bool {
        dispatch!(self, control => control.wants_details())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        dispatch!(self, control => control.pacing_rate())
    }
    #[inline]
    fn min_tso_segs(&self) -> u32 {
        dispatch!(self, control => control.min_tso_segs())
    }
    #[inline]
    fn tso_segs(&self, bytes: u64, mss: u32) -> u32 {
        dispatch!(self, control => control.tso_segs(bytes, mss))
    }
    #[inline]
    fn sndbuf_expand(&self) -> u32 {
        dispatch!(self, control => control.sndbuf_expand())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_is_made_by_its_name_and_every_default_is_in_range() {
        for kind in KINDS {
            let config = CcConfig::new(kind.name, &[]).unwrap().unwrap();
            assert_eq!(config.name(), kind.name);
            assert!(!kind.summary.is_empty() && !kind.source.is_empty());
            assert!(!kind.scalable || kind.ecn.is_some(), "{}", kind.name);
        }
        assert!(CcConfig::new("vegas", &[]).is_none());
        assert!(CcConfig::new("reno", &[("beta", "1")]).unwrap().is_err());
    }
}
