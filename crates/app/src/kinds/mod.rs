//! Every application there is: a file in this folder, and a line in the table of this file; with these
//! it exists everywhere.
//!
//! The table makes of each kind its module, its variants of [`AppConfig`], [`App`] and [`Report`] with
//! static dispatch, and its row in [`KINDS`]. The scenario format, the schema, listings, the results
//! with their schema, and the documentation read that row.

use std::sync::Arc;

use quell_units::parameter::Table;
use quell_units::{Bytes, Parameter, ParameterError, Random, Settings, Time};

use crate::{
    Action, Application, ApplicationKind, Causes, Datagrams, Event, EventInfo, FigureInfo,
    FormInfo, Input, KindReport, Path, PresetSettings, Role, Session, Transport, Value,
};

/// Information about a kind of application.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name in scenarios and results.
    pub name: &'static str,
    /// A clause about it.
    pub summary: &'static str,
    /// Whether it takes all that it can get, for as long as it lives.
    pub greedy: bool,
    /// Whether quell has both of its ends; without, it is of programs, which run on real hosts only.
    pub modelled: bool,
    /// Every parameter, in the order in which a resolved scenario lists them.
    pub parameters: &'static [Parameter],
    /// Optional parameters that are given together or not at all.
    pub together: &'static [&'static str],
    /// The line of a scenario that gives all of them, or all that go together.
    pub example: &'static str,
    /// Further lines, which give those that do not go together with the others.
    pub more_examples: &'static [&'static str],
    /// Settings that have a name.
    pub presets: &'static [PresetSettings],
    /// The events that it records.
    pub events: &'static [EventInfo],
    /// The forms that its report can have.
    pub forms: fn() -> Vec<FormInfo>,
    settle: fn(&mut Settings, &Path),
    make: fn(&Settings) -> Result<AppConfig, ParameterError>,
}

impl Entry {
    /// A line of a scenario that gives `parameter`.
    pub fn example_of(&self, parameter: &str) -> &'static str {
        let key = format!(", {parameter} = ");
        let mut lines = std::iter::once(self.example).chain(self.more_examples.iter().copied());
        lines
            .find(|line| line.contains(&key))
            .unwrap_or(self.example)
    }

    /// The preset of this name.
    pub fn preset(&self, name: &str) -> Option<&'static PresetSettings> {
        self.presets.iter().find(|preset| preset.name == name)
    }

    /// `given`, and of a preset what is not given and has an effect beside it.
    pub fn filled(&self, given: &Settings, preset: &PresetSettings) -> Settings {
        let rest = preset.settings.iter();
        let mut rest: Vec<_> = rest.filter(|(key, _)| !given.is_given(key)).collect();
        loop {
            let mut settings = given.clone();
            for (key, value) in &rest {
                let set = settings.set(key, value);
                debug_assert!(set.is_ok(), "{set:?}");
            }
            let idle = settings.check().err();
            let idle = idle.and_then(|error| rest.iter().position(|(key, _)| *key == error.key));
            match idle {
                Some(index) => drop(rest.remove(index)),
                None => return settings,
            }
        }
    }

    /// Gives the parameters that follow from the path, see [`ApplicationKind::settle`].
    pub fn settle(&self, settings: &mut Settings, path: &Path) {
        (self.settle)(settings, path);
    }

    /// The application with these settings of its table.
    ///
    /// # Errors
    ///
    /// A parameter is missing, has no effect, or does not go with another one.
    pub fn configure(&self, settings: &Settings) -> Result<AppConfig, ParameterError> {
        settings.check()?;
        let is_given = |name: &&&str| settings.is_given(name);
        if let Some(missing) = self.together.iter().find(|name| !is_given(name))
            && self.together.iter().any(|name| is_given(&name))
        {
            return Err(ParameterError {
                key: (*missing).to_owned(),
                found: "nothing".to_owned(),
                allowed: format!("{} are given together", self.together.join(" and ")),
            });
        }
        (self.make)(settings)
    }
}

/// The changes of an application, in the order of time: the same kind, with other values of
/// parameters that can change during a run.
pub type AppChanges = Arc<[(Time, AppConfig)]>;

/// Generates all that follows from the list of kinds.
macro_rules! applications {
    ($($module:ident::$kind:ident,)*) => {
        $(
            pub mod $module;
            pub use $module::$kind;
        )*

        /// An application and its parameters.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum AppConfig { $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)* }

        /// One end of a flow's application.
        #[derive(Debug, Clone)]
        pub enum App { $(#[doc = concat!("Of [`", stringify!($kind), "`].")] $kind(<$kind as ApplicationKind>::End),)* }

        /// The report of one application, or of several of one kind.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Report { $(#[doc = concat!("Of [`", stringify!($kind), "`].")] $kind(<$kind as ApplicationKind>::Report),)* }

        /// Every kind, in the order of listings.
        pub const KINDS: &[Entry] = &[$(Entry {
            name: <$kind as ApplicationKind>::NAME,
            summary: <$kind as ApplicationKind>::SUMMARY,
            greedy: <$kind as ApplicationKind>::GREEDY,
            modelled: <$kind as ApplicationKind>::MODELLED,
            parameters: <<$kind as ApplicationKind>::Parameters as Table>::ROWS,
            together: <$kind as ApplicationKind>::TOGETHER,
            example: <$kind as ApplicationKind>::EXAMPLE,
            more_examples: <$kind as ApplicationKind>::MORE_EXAMPLES,
            presets: <$kind as ApplicationKind>::PRESETS,
            settle: <$kind as ApplicationKind>::settle,
            events: <$kind as ApplicationKind>::EVENTS,
            forms: <<$kind as ApplicationKind>::Report as KindReport>::forms,
            make: |settings| {
                let parameters = Table::of(settings);
                <$kind as ApplicationKind>::check(&parameters)?;
                Ok(AppConfig::$kind(<$kind as ApplicationKind>::new(parameters)))
            },
        },)*];

        /// The names of all kinds, in the same order.
        pub const NAMES: &[&str] = &[$(<$kind as ApplicationKind>::NAME,)*];

        $(impl From<$kind> for AppConfig {
            fn from(kind: $kind) -> Self {
                Self::$kind(kind)
            }
        })*

        impl AppConfig {
            /// The name in scenarios and results.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$kind(_) => <$kind as ApplicationKind>::NAME,)* }
            }
            /// Whether it takes all that it can get, for as long as it lives.
            pub const fn is_greedy(&self) -> bool {
                match self { $(Self::$kind(_) => <$kind as ApplicationKind>::GREEDY,)* }
            }
            /// Whether its receiver reads some segments at a time, see [`ApplicationKind::reads_in_pieces`].
            pub fn reads_in_pieces(&self) -> bool {
                match self { $(Self::$kind(kind) => kind.reads_in_pieces(),)* }
            }
            /// One of its ends, see [`ApplicationKind::end`].
            pub fn end(&self, role: Role, random: Random) -> App {
                match self { $(Self::$kind(kind) => App::$kind(kind.end(role, random)),)* }
            }
            /// One of its ends, which is as each of `changes` from its time on.
            pub fn end_with(&self, changes: &[(Time, Self)], role: Role, random: Random) -> App {
                let mut end = self.end(role, random);
                for (at, to) in changes {
                    match (to, &mut end) {
                        $((Self::$kind(kind), App::$kind(end)) => kind.change(end, *at),)*
                        _ => debug_assert!(false, "no kind becomes another"),
                    }
                }
                end
            }
            /// The datagrams that it sends; `None` over TCP.
            pub fn datagrams(&self) -> Option<Datagrams> {
                match self { $(Self::$kind(kind) => kind.datagrams(),)* }
            }
            /// The mean time between two datagrams, or less; `None` over TCP.
            pub fn datagram_gap(&self) -> Option<Time> {
                match self { $(Self::$kind(kind) => kind.datagram_gap(),)* }
            }
            /// The transport of its data.
            pub fn transport(&self) -> Transport {
                match self { $(Self::$kind(kind) => kind.transport(),)* }
            }
            /// Whether it slows down where the network marks or drops.
            pub fn responds(&self) -> bool {
                match self { $(Self::$kind(kind) => kind.responds(),)* }
            }
            /// Its use of connections, see [`ApplicationKind::session`].
            pub fn session(&self) -> Option<Session> {
                match self { $(Self::$kind(kind) => kind.session(),)* }
            }
            /// Whether a flow may open one connection after another.
            pub fn renews(&self) -> bool {
                match self { $(Self::$kind(kind) => kind.renews(),)* }
            }
            /// The most connections that a flow asks for, see [`ApplicationKind::most_opened`].
            pub fn most_opened(&self, span: Time) -> Option<u64> {
                match self { $(Self::$kind(kind) => kind.most_opened(span),)* }
            }
            /// The most payload that a connection carries; `None` without a bound.
            pub fn most_payload(&self) -> Option<Bytes> {
                match self { $(Self::$kind(kind) => kind.most_payload(),)* }
            }
        }

        impl Application for App {
            type Report = Report;

            #[inline]
            fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
                match self { $(Self::$kind(end) => end.poll(now, input, actions),)* }
            }
            fn sent(&self) -> u64 {
                match self { $(Self::$kind(end) => end.sent(),)* }
            }
            fn advance(&mut self, now: Time) {
                match self { $(Self::$kind(end) => end.advance(now),)* }
            }
            fn start_counting(&mut self, sent: u64) {
                match self { $(Self::$kind(end) => end.start_counting(sent),)* }
            }
            fn report(&self, sent: u64) -> Option<Report> {
                match self { $(Self::$kind(end) => end.report(sent).map(Report::$kind),)* }
            }
            fn unfinished(&self, records: &mut Vec<Event>) {
                match self { $(Self::$kind(end) => end.unfinished(records),)* }
            }
        }

        impl Report {
            /// Its figures, in the order of its form.
            pub fn figures(&self) -> Vec<(FigureInfo, Value)> {
                match self { $(Self::$kind(report) => report.figures(),)* }
            }
            /// Adds the report of another flow of the same kind; one of another kind changes nothing.
            pub fn merge(&mut self, other: &Self) {
                match (self, other) {
                    $((Self::$kind(report), Self::$kind(other)) => report.merge(other),)*
                    _ => {}
                }
            }
            /// Adds why events were slow, which only their host knows.
            pub fn explain(&mut self, causes: &Causes) {
                match self { $(Self::$kind(report) => report.explain(causes),)* }
            }
            /// Adds what the same flow reported next.
            pub fn append(&mut self, next: &Self) {
                match (self, next) {
                    $((Self::$kind(report), Self::$kind(next)) => report.append(next),)*
                    _ => {}
                }
            }
        }
    };
}

applications! {
    bulk::Bulk,
    cbr::Cbr,
    transfer::Transfer,
    on_off::OnOff,
    web::Web,
    panorama::Panorama,
    rtc::Rtc,
    voice::Voice,
    game::Game,
    has::Has,
    program::Program,
}

/// The entry of `kind`.
pub fn find(kind: &str) -> Option<&'static Entry> {
    KINDS.iter().find(|entry| entry.name == kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BulkReport, DatagramReport, Quantity};

    #[test]
    fn a_report_of_another_kind_changes_nothing() {
        let cbr = Report::Cbr(DatagramReport {
            sent: 7,
            ..DatagramReport::default()
        });
        let mut both = cbr.clone();
        both.merge(&Report::Bulk(BulkReport { bytes: 1 }));
        both.append(&Report::Bulk(BulkReport { bytes: 1 }));
        assert_eq!(both, cbr);
    }

    #[test]
    fn parameters_are_described_and_an_example_gives_all_of_them() {
        for entry in KINDS {
            let kind = format!("app = {{ kind = \"{}\"", entry.name);
            assert!(entry.example.starts_with(&kind), "{}", entry.example);
            for parameter in entry.parameters {
                assert!(!parameter.help.is_empty(), "{}", parameter.name);
                let example = entry.example_of(parameter.name);
                let name = parameter.name;
                assert!(
                    example.contains(&format!(", {name} = ")),
                    "{name} in {example}"
                );
            }
            for line in entry.more_examples {
                assert!(line.starts_with(&kind), "{line}");
            }
            for name in entry.together {
                assert!(entry.parameters.iter().any(|row| row.name == *name));
            }
        }
    }

    #[test]
    fn presets_are_described_and_complete_and_every_value_has_an_effect() {
        for entry in KINDS {
            for (index, preset) in entry.presets.iter().enumerate() {
                assert!(!preset.summary.is_empty(), "{}", preset.name);
                let mut before = entry.presets[..index].iter();
                assert!(
                    before.all(|other| other.name != preset.name),
                    "{}",
                    preset.name
                );
                let settings = entry.filled(&Settings::new(entry.parameters), preset);
                for (key, value) in preset.settings {
                    let found = settings.value(key).map(|value| value.to_string());
                    assert_eq!(found.as_deref(), Some(*value), "{} {key}", preset.name);
                }
                let configured = entry.configure(&settings);
                assert!(configured.is_ok(), "{}: {configured:?}", preset.name);
            }
        }
    }

    #[test]
    fn a_kind_is_configured_by_its_own_table() {
        let on_off = find("on-off").unwrap();
        let mut settings = Settings::new(on_off.parameters);
        settings.set("on", "30ms").unwrap();
        let missing = on_off.configure(&settings).unwrap_err();
        assert_eq!(missing.key, "off");
        settings.set("off", "70ms").unwrap();
        assert_eq!(
            on_off.configure(&settings).unwrap().transport(),
            Transport::Stream
        );
        settings.set("interval", "20ms").unwrap();
        let missing = on_off.configure(&settings).unwrap_err();
        assert_eq!(
            (missing.key.as_str(), missing.allowed.as_str()),
            ("size", "size and interval are given together")
        );
        settings.set("size", "200B").unwrap();
        let app = on_off.configure(&settings).unwrap();
        assert_eq!(
            (app.kind(), app.transport()),
            ("on-off", Transport::Datagram)
        );
        assert!(settings.set("size", "1501B").is_err());
        assert!(settings.set("on", "0s").is_err());
    }

    #[test]
    fn figures_are_described_and_a_column_is_of_a_part_exactly_where_there_are_parts() {
        for entry in KINDS {
            assert!(!entry.summary.is_empty(), "{}", entry.name);
            for figure in (entry.forms)().iter().flat_map(|form| &form.figures) {
                assert!(!figure.meaning.is_empty(), "{}", figure.name);
                let of_parts = matches!(figure.quantity, Quantity::Times | Quantity::Ratios);
                for column in figure.columns {
                    assert_eq!(column.part.is_some(), of_parts, "{}", column.heading);
                }
            }
        }
    }
}
