//! Programs of the host: a server, a client, or both, behind the link.
//!
//! quell has neither end: a world with real hosts starts the programs, and says afterwards how they ended. So [`End`] does nothing, and
//! the simulator refuses this kind. What the link did to their packets stands in the figures of the group, as for any other.

use quell_units::parameter::Domain;
use quell_units::{
    CommandLine, Parameter, ParameterError, Random, Time, name_of, parameters, words,
};

use crate::{
    Action, Application, ApplicationKind, Column, Figure, FigureInfo, Form, FormInfo, Input,
    KindReport, Notation, Quantity, Role, Value,
};

words! {
    /// Which program sends the data that a group is about.
    #[derive(Default)]
    pub enum Sends {
        /// The client, as that of iperf3.
        #[default]
        Client = "client",
        /// The server, as one of files.
        Server = "server",
    }
}

parameters! {
    /// The parameters of programs.
    pub struct Parameters {
        /// The server and its arguments. It starts with the group. $SERVER, $CLIENT and $RESULT stand for the addresses
        /// of both hosts and for a folder that the result keeps.
        server: Option<CommandLine> = Parameter::FIXED.domain(Domain::CommandLine).derived("no server"),
        /// The client and its arguments. It starts once the server listens, or 5 s after it. $SERVER, $CLIENT and
        /// $RESULT stand for the same.
        client: Option<CommandLine> = Parameter::FIXED.domain(Domain::CommandLine).derived("no client"),
        /// Which of both sends the data, so that it goes in the group's direction: it runs on the host that sends
        /// there.
        sends: Sends = Parameter::FIXED.default("client"),
    }
}

/// Programs of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    lines: Box<[Option<CommandLine>; 2]>,
    /// Which of them sends the data.
    pub sends: Sends,
}

/// Which of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The one that starts first.
    Server,
    /// The one that starts once the other one listens.
    Client,
}

impl Part {
    /// Both, in the order of their start.
    pub const BOTH: [Self; 2] = [Self::Server, Self::Client];

    /// The key of its command line in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

impl Program {
    /// The command line of `part`, if there is such a program.
    pub fn line(&self, part: Part) -> Option<&CommandLine> {
        self.lines[part as usize].as_ref()
    }

    /// Whether `part` runs where the data comes from.
    pub fn is_source(&self, part: Part) -> bool {
        (self.sends == Sends::Server) == (part == Part::Server)
    }
}

impl ApplicationKind for Program {
    const NAME: &'static str = "program";
    const SUMMARY: &'static str = "programs of this host, in the virtual and the live world";
    const EXAMPLE: &'static str = r#"app = { kind = "program", server = ["iperf3", "-s", "-1"], client = ["iperf3", "-c", "$SERVER", "-t", "10"], sends = "client" }"#;
    const MODELLED: bool = false;
    type Parameters = Parameters;
    type End = End;
    type Report = ProgramReport;

    fn check(parameters: &Parameters) -> Result<(), ParameterError> {
        if parameters.server.is_none() && parameters.client.is_none() {
            let allowed = "a program has a server, a client or both; give at least one, such as client = [\"curl\", \"http://$SERVER/\"]";
            let key = name_of!(Parameters, client);
            return Err(ParameterError::new(key, "nothing", allowed));
        }
        Ok(())
    }
    fn new(parameters: Parameters) -> Self {
        Self {
            lines: Box::new([parameters.server, parameters.client]),
            sends: parameters.sends,
        }
    }
    fn end(&self, _role: Role, _random: Random) -> End {
        End
    }
}

/// A placeholder for either end: it does nothing.
#[derive(Debug, Clone, Copy)]
pub struct End;

impl Application for End {
    type Report = ProgramReport;

    fn poll(&mut self, _now: Time, _input: Input, _actions: &mut Vec<Action>) {}
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// Its exit code, 128 and the signal that ended it; `None` where it did not start, or was ended from outside.
    pub code: Option<u8>,
    /// Time from its start to its end; `None` as well.
    pub ran: Option<Time>,
    /// It did not start, or ended by itself with another code than 0.
    pub failed: bool,
}

/// The ends of the programs of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgramReport {
    /// The server and the client; `None` of one that was not asked for.
    pub ended: [Option<Ended>; 2],
}

impl ProgramReport {
    fn of(&self, part: Part) -> Ended {
        self.ended[part as usize].unwrap_or_default()
    }
}

fn code(ended: Ended) -> Value {
    Value::Number(ended.code.map(f64::from))
}

const FORM: Form<ProgramReport> = Form {
    table: Some("programs"),
    figures: &[
        Figure::<ProgramReport>::new(
            "client_ran_s",
            Quantity::MaybeNumber,
            "time from the start of the client to its end, in seconds; `null` if it did not end by itself",
            |report| {
                let ran = report.of(Part::Client).ran;
                Value::Number(ran.map(|ran| ran.as_nanos() as f64 / 1e9))
            },
        )
        .shown(&[Column::new("client ran s", Notation::Plain(3))]),
        Figure::<ProgramReport>::new(
            "client_exit_code",
            Quantity::MaybeNumber,
            "exit code of the client, or 128 and the signal that ended it; `null` if it did not end by itself",
            |report| code(report.of(Part::Client)),
        )
        .shown(&[Column::new("client exit", Notation::Plain(0))]),
        Figure::<ProgramReport>::new(
            "server_exit_code",
            Quantity::MaybeNumber,
            "the same of the server",
            |report| code(report.of(Part::Server)),
        )
        .shown(&[Column::new("server exit", Notation::Plain(0))]),
        Figure::<ProgramReport>::new(
            "failed",
            Quantity::Count,
            "programs that did not start, or ended by themselves with another exit code than 0",
            |report| {
                let failed = report.ended.iter().flatten().filter(|ended| ended.failed);
                Value::Count(failed.count() as u64)
            },
        )
        .shown(&[Column::new("failed", Notation::Plain(0))]),
    ],
};

impl KindReport for ProgramReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        for (mine, other) in self.ended.iter_mut().zip(other.ended) {
            *mine = mine.or(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_units::Settings;

    fn program(given: &[(&str, &str)]) -> Result<crate::AppConfig, ParameterError> {
        let entry = crate::find("program").unwrap();
        let mut settings = Settings::new(entry.parameters);
        for (key, value) in given {
            settings.set(key, value)?;
        }
        entry.configure(&settings)
    }

    #[test]
    fn a_program_has_a_server_a_client_or_both() {
        let crate::AppConfig::Program(both) =
            program(&[("server", r#"["s", "-1"]"#), ("client", r#"["c"]"#)]).unwrap()
        else {
            panic!()
        };
        let words = |part| -> Vec<&str> { both.line(part).unwrap().words().collect() };
        assert_eq!(words(Part::Server), ["s", "-1"]);
        assert_eq!(words(Part::Client), ["c"]);
        assert_eq!(Part::BOTH.map(|part| both.is_source(part)), [false, true]);
        let crate::AppConfig::Program(one) =
            program(&[("server", r#"["s"]"#), ("sends", "server")]).unwrap()
        else {
            panic!()
        };
        assert_eq!(one.line(Part::Client), None);
        assert_eq!(Part::BOTH.map(|part| one.is_source(part)), [true, false]);
        assert_eq!(program(&[]).unwrap_err().key, "client");
        assert!(program(&[("client", "curl")]).is_err());
    }

    #[test]
    fn a_report_tells_an_end_from_one_that_quell_made() {
        let ended = |code, failed| {
            Some(Ended {
                code,
                ran: code.map(|_| Time::from_millis(1_500)),
                failed,
            })
        };
        let mut report = ProgramReport {
            ended: [ended(None, false), None],
        };
        report.merge(&ProgramReport {
            ended: [None, ended(Some(7), true)],
        });
        let values: Vec<Value> = report.figures().iter().map(|(_, value)| *value).collect();
        let number = |number| Value::Number(Some(number));
        assert_eq!(
            values,
            [
                number(1.5),
                number(7.0),
                Value::Number(None),
                Value::Count(1)
            ]
        );
    }
}
