//! A script as it is read: settings, then lines. The language is described at the head of the crate.

mod parse;

use std::fmt;

use quell_kernel::store::Version;
use quell_tcp::{Codepoint, EcnMode, Segment};
use quell_units::Time;

use crate::state::Claims;
pub(crate) use parse::FLAGS;

/// Payload of a full segment.
pub const MSS: u32 = 1_000;

/// Bits by which the script's end scales its receive window: 8 divides 1 000.
pub const WINDOW_SCALE: u8 = 3;

/// The receive window of the script's end where a line has none, in bytes.
pub const WINDOW: u32 = 65_535 << WINDOW_SCALE;

/// The end under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It opens the connection and sends the data, with this congestion control.
    Sender(String),
    /// It is connected to and receives the data.
    Receiver,
    /// It opens the connection, and data flows both ways; its congestion control.
    Client(String),
    /// The same, and it is connected to.
    Server(String),
}

impl End {
    /// Whether it opens the connection.
    pub fn opens(&self) -> bool {
        matches!(self, Self::Sender(_) | Self::Client(_))
    }
    /// Whether data flows both ways.
    pub fn is_two_way(&self) -> bool {
        matches!(self, Self::Client(_) | Self::Server(_))
    }
    /// Its congestion control.
    pub fn control(&self) -> Option<&str> {
        match self {
            Self::Sender(name) | Self::Client(name) | Self::Server(name) => Some(name),
            Self::Receiver => None,
        }
    }
    /// What its segments say that is worth a word.
    pub(crate) fn carries(&self) -> Carries {
        match self {
            Self::Sender(_) => Carries::Data,
            Self::Receiver => Carries::Acknowledgements,
            Self::Client(_) | Self::Server(_) => Carries::Both,
        }
    }
}

/// What the segments of an end say that is worth a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Carries {
    /// Numbers of data.
    #[default]
    Data,
    /// Acknowledgements.
    Acknowledgements,
    /// Both.
    Both,
}

/// What negotiates ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnSetting {
    /// Nobody.
    #[default]
    Off,
    /// RFC 3168, with ECT(0).
    Classic,
    /// RFC 9768, with ECT(0), as Linux has it where the congestion control does not ask for ECT(1).
    Accurate,
}

impl EcnSetting {
    /// The same for the model.
    pub fn mode(self) -> EcnMode {
        match self {
            Self::Off => EcnMode::Off,
            Self::Classic => EcnMode::Classic(Codepoint::Ect0),
            Self::Accurate => EcnMode::Accurate(Codepoint::Ect0),
        }
    }
}

/// A script.
#[derive(Debug, Clone)]
pub struct Script {
    /// The end under test.
    pub end: End,
    /// What negotiates ECN.
    pub ecn: EcnSetting,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// The oldest Linux that has what the script is about.
    pub kernel: Option<Version>,
    /// What happens, in the order of time.
    pub lines: Vec<Line>,
}

/// A line of a script.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// When.
    pub at: Time,
    /// For whom; for everybody if empty.
    pub only: Vec<Audience>,
    /// What.
    pub event: Event,
}

/// For whom a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// quell's TCP.
    Model,
    /// Linux, from the first of these versions, and before the second.
    Linux(Option<Version>, Option<Version>),
}

/// Who answers a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// quell's TCP.
    Model,
    /// Linux; what it calls its version.
    Linux(String),
}

/// What happens at the end under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It begins the handshake.
    Open,
    /// Its application writes so many bytes.
    Write(u64),
    /// Its application closes its stream, and goes on reading (`SHUT_WR`).
    Close,
    /// Its application ends the connection at once.
    Abort,
    /// These arrive.
    Arrive(Vec<Arrival>),
    /// These leave.
    Leave(Vec<Expected>),
    /// It is in this state.
    Is(Claims),
    /// Nothing; the script lasts until then.
    End,
}

/// A segment that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The segment, without timestamps.
    pub segment: Segment,
    /// When what it echoes had left; the last departure if nothing is said.
    pub echo: Option<Time>,
    /// When it had left, as its own timestamp says; just now if nothing is said.
    pub sent: Option<Time>,
}

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The segment, without timestamps and window.
    pub segment: Segment,
    /// Its window, where that is compared.
    pub window: Option<u32>,
}

/// Why a text is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// The first line that does not follow the language.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        parse::script(text)
    }

    /// The lines that are for `subject`.
    pub fn lines_for(&self, subject: &Subject) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.is_for(subject))
    }

    /// Whether `subject` has what the script is about.
    pub fn suits(&self, subject: &Subject) -> bool {
        match (subject, &self.kernel) {
            (Subject::Linux(version), Some(oldest)) => Version::new(version) >= *oldest,
            _ => true,
        }
    }
}

impl Line {
    fn is_for(&self, subject: &Subject) -> bool {
        let is_meant = |audience: &Audience| match (audience, subject) {
            (Audience::Model, Subject::Model) => true,
            (Audience::Linux(from, before), Subject::Linux(version)) => {
                let version = Version::new(version);
                from.as_ref().is_none_or(|from| version >= *from)
                    && before.as_ref().is_none_or(|before| version < *before)
            }
            _ => false,
        };
        self.only.is_empty() || self.only.iter().any(is_meant)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("the model"),
            Self::Linux(version) => write!(f, "Linux {version}"),
        }
    }
}
