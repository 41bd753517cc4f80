//! Why an option does not describe a link.

use quell_scenario::ArgumentError;
use quell_units::notation::NotationError;
use quell_units::{ParameterError, Time};

/// Why an option does not describe a link.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The argument that is wrong, and why.
    #[error("{argument}: {source}")]
    Argument {
        /// The option and its value, as they were given.
        argument: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// A value is not written as scenarios write it.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// The reader of scenarios does not accept the form.
    #[error(transparent)]
    Form(#[from] ArgumentError),
    /// A queue cannot be made.
    #[error(transparent)]
    Queue(#[from] ParameterError),
    /// A trace needs a file.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An option about the link, which is one of several.
    #[error("there are {count} links, so name one: {}", choices.join(" or "))]
    WhichLink {
        /// How many links there are.
        count: usize,
        /// What would be right.
        choices: Vec<String>,
    },
    /// An option that only one link can have.
    #[error("{option}: there are {count} links, so name one: --set '{instead}'")]
    OfOneLink {
        /// The option.
        option: String,
        /// How many links there are.
        count: usize,
        /// What `--set` takes instead.
        instead: String,
    },
    /// No link has this name.
    #[error("there is no link {name}; links are: {}", links.join(", "))]
    NoLink {
        /// The name.
        name: String,
        /// Those that there are.
        links: Vec<String>,
    },
    /// A key or a value that would end the one before it.
    #[error("quotes cannot be part of it")]
    Quotes,
    /// A key of something that the program decides.
    #[error("only the link can be set, and run.interval, the time between two rows of its series")]
    OnlyLinkIsSet,
    /// A change of something else.
    #[error("only the link can change")]
    OnlyLinkChanges,
    /// A change without a key and a value.
    #[error("must be a time and KEY=VALUE, such as --at 10s down=5mbit")]
    NoAssignment,
    /// Two values of one key at one time.
    #[error("{0} is set twice at this time")]
    SetTwice(String),
    /// No port to publish.
    #[error("must be [ADDR:]PORT[/udp][:INSIDE], such as 8080, 7777/udp or 0.0.0.0:8080:80")]
    Publish,
    /// A port of datagrams that needs a right.
    #[error("datagrams need a port from 1024 on")]
    PublishedPort,
    /// A port of IPv6 where the program has none.
    #[error("--publish: there is no IPv6 inside; publish at an address of IPv4")]
    PublishIpv6,
    /// No address and no port.
    #[error("connections are told by where they go: 192.0.2.1, :443 or 192.0.2.1:443")]
    Connections,
    /// Nothing that can happen to connections.
    #[error(
        "{0}: must be rst, fin or silent, for connections that are open (cut); or refuse, blackhole, accept-delay=TIME, limit=BYTES or accept, for new ones (new); each may have more behind it: to :443"
    )]
    How(String),
    /// An age of what is not open yet.
    #[error("{0} is about new connections, which have no age")]
    NoAge(String),
    /// Connections that no relay joins.
    #[error("only connections of --net relay, in the live world, can be cut")]
    NoRelay,
    /// Nothing passes a relay.
    #[error("--publish needs --net relay in the live world")]
    PublishNet,
    /// No share of packets.
    #[error("must be a share of the packets, such as 1% or 0.01")]
    Share,
    /// What follows a share is no key of an impairment.
    #[error("must be a value, with more keys behind it such as 5%:hold=20ms")]
    Impairment,
    /// A rate beside a trace that has one.
    #[error("has rates, so --rate, --down and --up cannot stand beside it")]
    Paced,
    /// No rule.
    #[error(
        "must be FROM>TO:KEY=VALUE,… such as ect0,ect1>ce:probability=5%; FROM is any or ECN fields, TO one, drop or copy"
    )]
    Rule,
    /// A change at the start, or later than a day.
    #[error("must be a time after 0 s and before 24 h")]
    NoTime,
    /// A second queue of the only link, or of the one with this name.
    #[error("{} has a queue already", .0.as_ref().map_or("the link".to_owned(), |name| format!("link {name}")))]
    SecondQueue(Option<String>),
    /// A queue in front of what has no limit never fills: what it needs.
    #[error("needs {0}")]
    NeedsRate(&'static str),
    /// The same of one of several links.
    #[error("link {0} has no rate there, so its queue would never fill")]
    NoRateThere(String),
    /// A base RTT beyond any network's.
    #[error("--rtt {0}: at most 10 s")]
    LongRtt(Time),
    /// A base RTT that the links alone exceed.
    #[error("--rtt {rtt}: must be at least {delays}, what the links delay, there and back")]
    ShortRtt {
        /// The base RTT.
        rtt: Time,
        /// What the links delay.
        delays: Time,
    },
    /// A key about values of packets, which those of a program do not have.
    #[error(
        "link {link}: {key} is for groups with values, and the packets of a program have none; \
         leave it out, or start the program as an application of a group"
    )]
    Values {
        /// The link.
        link: String,
        /// Its key.
        key: &'static str,
    },
}

/// Why an option does not name a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The whole text names a file, and so does the part in front of its keys.
    #[error(
        "is the name of a file, and {file} is one, too; write {text}:repeat=true for the first"
    )]
    TwoFiles {
        /// The part in front of the keys.
        file: String,
        /// The whole text.
        text: String,
    },
    /// The text names a file, and its end reads like keys.
    #[error(
        "is the name of a file, and could be {file} with keys; write {text}:repeat=true for the file"
    )]
    FileLikeKeys {
        /// The part in front of what reads like keys.
        file: String,
        /// The whole text.
        text: String,
    },
    /// Nothing stands in front of the keys.
    #[error("must be the name of a file, such as lte.csv or lte.csv:offset=2s")]
    NoFile,
    /// Traces have no such key.
    #[error("there is no {key}; keys are: {}", keys.join(", "))]
    NoKey {
        /// The key.
        key: String,
        /// Those that there are.
        keys: Vec<&'static str>,
    },
    /// A key has two values.
    #[error("{0} is given twice")]
    KeyTwice(String),
}

impl OptionError {
    /// The same error with the argument in which it is.
    pub(crate) fn of(self, argument: impl Into<String>) -> Self {
        Self::Argument {
            argument: argument.into(),
            source: Box::new(self),
        }
    }
}
