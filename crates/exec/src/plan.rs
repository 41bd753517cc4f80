//! The link that was asked for: options and a scenario file become one scenario, whose groups do not count.
//!
//! `down` is the forward direction, towards the program, and `up` the reverse one. A direction without a rate is unlimited and has the
//! default queue, which then never fills. Everything passes the checks of scenario files, so a wrong queue is refused in the same words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quell_aqm::course::Course;
use quell_link::{DirectionConfig, LinkChange};
use quell_measure::Direction;
use quell_scenario::{Link, Override, QueueSpec, Scenario, Setting, figures};
use quell_units::{Random, Rate, Time};

use crate::{Error, Result};

/// Figures cover at most this time of the program.
const LONGEST: &str = "24h";
/// Of all queues: a day's packets decide, not the seed.
const SEED: u64 = 1;

/// What the command line says about the link; texts as in scenarios.
#[derive(Debug, Clone, Default)]
pub struct LinkOptions {
    /// Name and content of a scenario file, whose link and changes count.
    pub scenario: Option<(String, String)>,
    /// Rate towards the program.
    pub down: Option<String>,
    /// Rate of the program.
    pub up: Option<String>,
    /// Base RTT that the link adds.
    pub rtt: Option<String>,
    /// Queue towards the program, `KIND[:PARAMETER=VALUE,…]`.
    pub down_queue: Option<String>,
    /// Queue of the program's packets.
    pub up_queue: Option<String>,
    /// `KEY=VALUE` as of `quell run --set`.
    pub sets: Vec<String>,
    /// Times and `KEY=VALUE`: what changes while the program runs.
    pub at: Vec<(String, String)>,
}

/// A link, checked.
#[derive(Debug, Clone)]
pub struct Plan {
    scenario: Scenario,
    rtt: Time,
    /// What it was made of.
    options: LinkOptions,
}

impl Plan {
    /// The link of these options.
    ///
    /// # Errors
    ///
    /// The scenario or an option is wrong.
    pub fn new(options: &LinkOptions) -> Result<Self> {
        let (file, mut text) = match &options.scenario {
            Some((file, text)) => (file.clone(), text.clone()),
            None => ("options".to_owned(), text_of(options)),
        };
        if options.scenario.is_some() && !has_group(&text) {
            text.push_str("\n[[group]]\nname = \"program\"\nrtt = \"0ms\"\napp = \"bulk\"\n");
        }
        text.push_str(&changes_of(&options.at)?);
        let set = |text: String| Override::set(&text).map_err(Error::Options);
        let mut overrides = vec![
            Override::duration(LONGEST),
            set("run.warmup=0s".to_owned())?,
            set("run.settle=0s".to_owned())?,
            Override::seed(SEED),
        ];
        if options.scenario.is_some() {
            if let Some(rate) = &options.down {
                overrides.push(set(format!("link.rate={rate}"))?);
            }
            if let Some(rate) = &options.up {
                overrides.push(set(format!("link.reverse.rate={rate}"))?);
            }
        }
        if let Some(queue) = &options.down_queue {
            overrides.extend(Override::queue(queue).map_err(Error::Options)?);
        }
        if let Some(queue) = &options.up_queue {
            overrides.extend(Override::reverse_queue(queue).map_err(Error::Options)?);
        }
        for text in &options.sets {
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            overrides.push(set(format!("{}={value}", full_key(key.trim())))?);
        }
        let mut scenario = Scenario::load(&file, &text, &overrides, None)?.scenario;
        if scenario.links.len() > 1 {
            let links = scenario.links.len();
            return Err(Error::Options(format!(
                "{file}: {links} links; a program goes behind one, so leave one of them in the file"
            )));
        }
        let unlimited = options.scenario.is_none() && options.down.is_none();
        if unlimited && options.down_queue.is_some() {
            return Err(Error::Options(
                "a queue towards the program needs --down or --rate".to_owned(),
            ));
        }
        if options.scenario.is_none() {
            let mut settings = scenario.changes.iter().flat_map(|change| &change.set);
            if !settings.all(|setting| link_change(setting).is_some()) {
                return Err(Error::Options("--at: only the link can change".to_owned()));
            }
        }
        if unlimited {
            let forward = &mut scenario.links[0].forward;
            forward.rate = Rate::UNLIMITED;
            forward.queue =
                QueueSpec::new("fifo").map_err(|error| Error::Options(error.to_string()))?;
        }
        let rtt = match &options.rtt {
            Some(text) => quell_units::notation::time(text)
                .map_err(|error| Error::Options(format!("--rtt {text}: {error}")))?,
            None => scenario
                .groups
                .first()
                .map(|group| group.rtt)
                .unwrap_or(Time::ZERO),
        };
        if rtt > Time::from_secs(10) {
            return Err(Error::Options(format!("--rtt {rtt}: at most 10 s")));
        }
        // The program is all the traffic there is.
        scenario.groups.clear();
        scenario.name = "exec".to_owned();
        Ok(Self {
            scenario,
            rtt,
            options: options.clone(),
        })
    }

    /// The scenario, without groups.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// There is one.
    fn link(&self) -> &Link {
        &self.scenario.links[0]
    }

    /// Base RTT that the link adds.
    pub fn rtt(&self) -> Time {
        self.rtt
    }

    /// The rate of a direction at the start, `None` where it has no limit.
    pub fn rate(&self, direction: Direction) -> Option<Rate> {
        let rate = self.link().direction(direction).rate;
        (!rate.is_unlimited()).then_some(rate)
    }

    /// The highest rate of a direction before anything changes, `None` where it has no limit.
    pub(crate) fn fastest_of(&self, direction: Direction) -> Option<Rate> {
        let side = self.link().direction(direction);
        let traced = side.course.as_ref().map(Course::fastest);
        traced.or_else(|| self.rate(direction))
    }

    /// One direction for the link; packets of at most `mtu` bytes.
    pub(crate) fn direction(&self, direction: Direction, mtu: u16) -> DirectionConfig {
        let side = self.link().direction(direction);
        let component = match direction {
            Direction::Forward => "queue",
            Direction::Reverse => "reverse.queue",
        };
        let impairment = figures::impairment(side, SEED, component);
        if side.rate.is_unlimited() {
            return DirectionConfig {
                impairment,
                ..DirectionConfig::unlimited(mtu)
            };
        }
        DirectionConfig {
            rate: side.rate,
            framing: side.framing,
            service: figures::service(side, SEED, component),
            impairment,
            discipline: figures::discipline(side, Random::new(SEED, component)),
            markers: Vec::new(),
            passage: None,
            values: quell_link::OnWire::default(),
        }
    }

    /// What changes while the program runs, with its times.
    pub(crate) fn changes(&self) -> Vec<(Time, LinkChange)> {
        let changes = self.scenario.changes.iter();
        changes
            .flat_map(|change| {
                let made = change.set.iter().filter_map(link_change);
                made.map(|made| (change.time, made)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The same link, on which more changes at the time `at`, together; and what the link does then. They are checked beside everything
    /// that has changed and will change.
    ///
    /// # Errors
    ///
    /// There is no such key, it cannot change, or its value is wrong.
    pub fn with_changes(
        &self,
        at: Time,
        wishes: &[(String, String)],
    ) -> Result<(Self, Vec<LinkChange>)> {
        let mut options = self.options.clone();
        for (key, value) in wishes {
            // The same words as those of `--at`, without its time.
            set_of(key, value).map_err(|why| Error::Options(format!("{key}={value}: {why}")))?;
            let time = format!("{}ns", at.as_nanos());
            options.at.push((time, format!("{key}={value}")));
        }
        let plan = Self::new(&options)?;
        let mut all = plan.scenario.changes.iter();
        let made = all.find(|change| change.time == at);
        let made = made.into_iter().flat_map(|change| &change.set);
        let made: Option<Vec<LinkChange>> = made.map(link_change).collect();
        match made {
            Some(made) if !made.is_empty() => Ok((plan, made)),
            _ => Err(Error::Options("only the link can change".to_owned())),
        }
    }

    /// The fastest that a direction may become where somebody changes the link: four times what is planned, and 1 Gbit/s at least.
    pub fn fastest(&self) -> Rate {
        let changes = self.changes();
        let changed = changes.iter().filter_map(|(_, change)| match change {
            LinkChange::SetRate { rate, .. } => Some(*rate),
            LinkChange::Configure { .. } => None,
        });
        let started = Direction::BOTH.into_iter();
        let started = started.filter_map(|direction| self.fastest_of(direction));
        let known = changed.chain(started).filter(|rate| !rate.is_unlimited());
        let highest = known.max().unwrap_or(Rate::ZERO).as_bps();
        Rate::from_bps(highest.saturating_mul(4)).max(Rate::from_mbps(1_000))
    }

    /// A line about the link: `20mbit/5mbit 40ms dualpi2`.
    pub fn describe(&self) -> String {
        let traced = |direction| self.link().direction(direction).course.is_some();
        let rate = |direction| match self.rate(direction) {
            Some(_) if traced(direction) => "trace".to_owned(),
            Some(rate) => rate.to_string(),
            None => "unlimited".to_owned(),
        };
        let link = self.link();
        let (down, up) = (rate(Direction::Forward), rate(Direction::Reverse));
        let mut words = match down == up {
            true => vec![down],
            false => vec![format!("{down}/{up}")],
        };
        if !self.rtt.is_zero() {
            words.push(self.rtt.to_string());
        }
        let limited = |direction| self.rate(direction).is_some();
        let kinds = [
            (Direction::Forward, link.forward.queue.kind),
            (Direction::Reverse, link.reverse.queue.kind),
        ];
        let mut kinds: Vec<&str> = kinds
            .into_iter()
            .filter(|(direction, _)| limited(*direction))
            .map(|(_, kind)| kind)
            .collect();
        kinds.dedup();
        words.extend((!kinds.is_empty()).then(|| kinds.join("/")));
        words.join(" ")
    }
}

fn link_change(setting: &Setting) -> Option<LinkChange> {
    match setting {
        Setting::Rate(side, rate) => Some(LinkChange::SetRate {
            hop: side.hop,
            direction: side.direction,
            rate: *rate,
        }),
        Setting::Queue { side, key, value } => Some(LinkChange::Configure {
            hop: side.hop,
            direction: side.direction,
            key: key.clone(),
            value: value.clone(),
        }),
        Setting::Count { .. } | Setting::App { .. } => None,
    }
}

/// `down` and `up` stand for the directions of the link.
fn full_key(key: &str) -> String {
    for (short, long) in [("down", "link"), ("up", "link.reverse")] {
        if key == short {
            return format!("{long}.rate");
        }
        if let Some(rest) = key
            .strip_prefix(short)
            .and_then(|rest| rest.strip_prefix('.'))
        {
            return format!("{long}.{rest}");
        }
    }
    key.to_owned()
}

/// `KEY=VALUE` as an entry of `set` in a scenario.
fn set_of(key: &str, value: &str) -> std::result::Result<String, String> {
    let (key, value) = (full_key(key.trim()), value.trim());
    let is_odd = |part: &&str| {
        let mut letters = part.chars();
        letters.any(|letter| letter.is_control() || matches!(letter, '"' | '\\'))
    };
    if [key.as_str(), value].iter().any(is_odd) {
        return Err("quotes cannot be part of it".to_owned());
    }
    let is_bare = value.parse::<i64>().is_ok() || value.parse::<bool>().is_ok();
    Ok(match is_bare {
        true => format!("\"{key}\" = {value}"),
        false => format!("\"{key}\" = \"{value}\""),
    })
}

/// The changes of `--at` as a scenario has them: in the order of their times, those of one time together.
fn changes_of(at: &[(String, String)]) -> Result<String> {
    let mut by_time: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (time, change) in at {
        let wrong = |why: String| Error::Options(format!("--at {time} {change}: {why}"));
        let (key, value) = change.split_once('=').ok_or_else(|| {
            wrong("must be a time and KEY=VALUE, such as --at 10s down=5mbit".to_owned())
        })?;
        let set = set_of(key, value).map_err(wrong)?;
        let when =
            quell_units::notation::time(time.trim()).map_err(|error| wrong(error.to_string()))?;
        by_time.entry(when.as_nanos()).or_default().push(set);
    }
    let mut text = String::new();
    for (time, set) in by_time {
        let _ = write!(
            text,
            "\n[[at]]\ntime = \"{time}ns\"\nset = {{ {} }}\n",
            set.join(", ")
        );
    }
    Ok(text)
}

fn has_group(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        line.starts_with("[[group]]") || line.starts_with("group ") || line.starts_with("group=")
    })
}

/// A scenario file of these options.
fn text_of(options: &LinkOptions) -> String {
    let quoted = |text: &str| format!("{text:?}");
    let queue = "queue = { kind = \"fifo\", limit = \"100ms\" }";
    let mut text = format!(
        "schema = 1\nname = \"exec\"\n[link]\nrate = {}\n{queue}\n",
        quoted(options.down.as_deref().unwrap_or("1gbit"))
    );
    if let Some(up) = &options.up {
        let _ = write!(text, "[link.reverse]\nrate = {}\n{queue}\n", quoted(up));
    }
    text.push_str(
        "[[group]]\nname = \"program\"\nrtt = \"0ms\"\napp = \"bulk\"\n[run]\nduration = \"1h\"\n",
    );
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    fn options(down: Option<&str>, up: Option<&str>) -> LinkOptions {
        LinkOptions {
            down: down.map(str::to_owned),
            up: up.map(str::to_owned),
            ..LinkOptions::default()
        }
    }

    #[test]
    fn a_direction_without_a_rate_is_unlimited() {
        for (down, up, line) in [
            (None, None, "unlimited"),
            (Some("20mbit"), None, "20mbit/unlimited fifo"),
            (None, Some("5mbit"), "unlimited/5mbit fifo"),
            (Some("20mbit"), Some("20mbit"), "20mbit fifo"),
        ] {
            let plan = Plan::new(&options(down, up)).unwrap();
            assert_eq!(plan.describe(), line);
            assert_eq!(plan.rate(Direction::Forward).is_some(), down.is_some());
            assert_eq!(plan.rate(Direction::Reverse).is_some(), up.is_some());
        }
    }

    #[test]
    fn queues_delays_and_changes_are_those_that_were_asked_for() {
        let plan = Plan::new(&LinkOptions {
            rtt: Some("40ms".to_owned()),
            down_queue: Some("dualpi2:target=5ms".to_owned()),
            up_queue: Some("fq_codel".to_owned()),
            at: vec![
                ("2s".to_owned(), "up=1mbit".to_owned()),
                ("1s".to_owned(), "down.queue.target=9ms".to_owned()),
            ],
            ..options(Some("20mbit"), Some("5mbit"))
        })
        .unwrap();
        assert_eq!(plan.describe(), "20mbit/5mbit 40ms dualpi2/fq_codel");
        assert_eq!(plan.rtt(), Time::from_millis(40));
        let changes = plan.changes();
        assert_eq!(changes.len(), 2);
        assert_eq!(changes[0].0, Time::from_secs(1));
        assert!(
            matches!(&changes[0].1, LinkChange::Configure { key, value, .. } if key == "target" && value == "9ms"),
            "{changes:?}"
        );
        let rate = LinkChange::SetRate {
            hop: quell_measure::Hop::FIRST,
            direction: Direction::Reverse,
            rate: Rate::from_mbps(1),
        };
        assert_eq!(changes[1], (Time::from_secs(2), rate));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let wrong = |change: fn(&mut LinkOptions)| {
            let mut options = options(Some("20mbit"), None);
            change(&mut options);
            Plan::new(&options).unwrap_err().to_string()
        };
        assert!(wrong(|o| o.down = Some("20".into())).contains("rate"));
        assert!(wrong(|o| o.down_queue = Some("no-such".into())).contains("no-such"));
        assert!(wrong(|o| o.rtt = Some("40".into())).contains("--rtt"));
        assert!(wrong(|o| o.rtt = Some("11s".into())).contains("10 s"));
        assert!(wrong(|o| o.at = vec![("1s".into(), "down".into())]).contains("KEY=VALUE"));
        assert!(wrong(|o| o.at = vec![("1s".into(), "down=fast".into())]).contains("fast"));
        assert!(wrong(|o| o.at = vec![("1s".into(), "down=\"\n".into())]).contains("cannot"));
        assert!(wrong(|o| o.at = vec![("soon".into(), "down=1mbit".into())]).contains("soon"));
        let count =
            |o: &mut LinkOptions| o.at = vec![("1s".into(), "group.program.count=3".into())];
        assert!(wrong(count).contains("only the link"));
        let unlimited = LinkOptions {
            down_queue: Some("dualpi2".into()),
            ..LinkOptions::default()
        };
        assert!(
            Plan::new(&unlimited)
                .unwrap_err()
                .to_string()
                .contains("--down")
        );
    }

    fn wishes(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
        all.iter().map(pair).collect()
    }

    #[test]
    fn what_changes_while_the_program_runs_is_checked_beside_all_other_changes() {
        let plan = Plan::new(&LinkOptions {
            down_queue: Some("red:min=10ms,max=20ms".to_owned()),
            at: vec![("9s".to_owned(), "down=5mbit".to_owned())],
            ..options(Some("20mbit"), None)
        })
        .unwrap();
        assert_eq!(plan.fastest(), Rate::from_mbps(1_000));
        let at = Time::from_nanos(1_500_000_001);
        let both = wishes(&[("down", "7mbit"), ("down.queue.max", "60ms")]);
        let (next, made) = plan.with_changes(at, &both).unwrap();
        assert_eq!(made.len(), 2, "{made:?}");
        // What repeats it has all of it, in the order of the times.
        let times: Vec<Time> = next.scenario().changes.iter().map(|c| c.time).collect();
        assert_eq!(times, [at, Time::from_secs(9)]);
        // The second is allowed by the first alone.
        let min = wishes(&[("down.queue.min", "30ms")]);
        let later = at + Time::from_millis(1);
        assert!(next.with_changes(later, &min).is_ok());
        assert!(plan.with_changes(later, &min).is_err());
        for (key, value, part) in [
            ("down.queue.no-such", "1", "no-such"),
            ("down", "fast", "fast"),
            ("down", "\"", "quotes"),
            ("down\n", "1mbit\u{0}", "quotes"),
            ("group.program.count", "3", "only the link"),
            ("link.queue.kind", "pie", "kind"),
            ("run.duration", "3s", "duration"),
            ("", "", ""),
        ] {
            let error = plan.with_changes(at, &wishes(&[(key, value)])).unwrap_err();
            assert!(error.to_string().contains(part), "{key}={value}: {error}");
        }
        assert!(plan.with_changes(at, &[]).is_err());
    }

    #[test]
    fn a_scenario_of_several_links_is_refused() {
        let text = "schema = 1\nname = \"x\"\n[[link]]\nrate = \"7mbit\"\nqueue = \"pie\"\n[[link]]\nrate = \"9mbit\"\nqueue = \"pie\"\n[run]\nduration = \"5s\"\n";
        let options = LinkOptions {
            scenario: Some(("x.toml".to_owned(), text.to_owned())),
            ..LinkOptions::default()
        };
        let why = Plan::new(&options).unwrap_err().to_string();
        assert!(why.starts_with("x.toml: 2 links; "), "{why}");
    }

    #[test]
    fn a_scenario_gives_its_link_whatever_its_groups() {
        let bare = "schema = 1\nname = \"x\"\n[link]\nrate = \"7mbit\"\nqueue = \"pie\"\n[run]\nduration = \"5s\"\n";
        let with = format!("{bare}[[group]]\nname = \"a\"\nrtt = \"30ms\"\napp = \"bulk\"\n");
        for (text, line) in [
            (bare.to_owned(), "7mbit/unlimited pie"),
            (
                bare.replace("\"7mbit\"", "{ data = \"1\\n\" }"),
                "trace/unlimited pie",
            ),
            (with, "7mbit/unlimited 30ms pie"),
        ] {
            let options = LinkOptions {
                scenario: Some(("x.toml".to_owned(), text)),
                ..LinkOptions::default()
            };
            assert_eq!(Plan::new(&options).unwrap().describe(), line);
        }
    }
}
