//! The link that was asked for: options and a scenario file become one scenario, whose groups do not count.
//!
//! `down` is the forward direction, towards the program, and `up` the reverse one. A direction without a rate is unlimited and has the
//! default queue, which then never fills. Everything passes the checks of scenario files, so a wrong queue is refused in the same words.

pub(crate) mod connections;
mod files;
mod keys;
mod options;
pub(crate) mod repeats;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod trace;

use quell_aqm::link_trace::LinkTrace;
use quell_link::{DirectionConfig, LinkChange};
use quell_scenario::{Carried, DirectionSpec, Link, QueueSpec, Scenario, Setting, Side, figures};
use quell_units::{Random, Rate, Time};

use crate::capacity::{Capacity, LinkCapacities};
use crate::error::Result;
use crate::option_error::OptionError;
use connections::PlannedCut;
pub use files::Files;
pub use options::LinkOptions;
use repeats::{Cycle, Later};
use request::{LONGEST_RTT, LONGEST_TIME, Request, SEED};

/// A link, checked.
#[derive(Debug, Clone)]
pub struct Plan {
    scenario: Scenario,
    rtt: Time,
    /// The base RTTs that it gets, with their times.
    rtts: Vec<(Time, Time)>,
    /// What happens to connections, in the order of the times.
    cuts: Vec<PlannedCut>,
    warnings: Vec<String>,
    traces: Vec<String>,
    /// What comes again after the changes of the scenario.
    cycle: Option<Cycle>,
    /// What it was made of.
    request: Request,
}

impl Plan {
    /// The link of these options.
    ///
    /// # Errors
    ///
    /// The scenario or an option is wrong.
    pub fn new(options: &LinkOptions) -> Result<Self> {
        Self::of(options.read()?)
    }

    /// The link that is asked for.
    fn of(request: Request) -> Result<Self> {
        let asked = request.scenario()?;
        let mut scenario = asked.scenario;
        refuse_values(&scenario)?;
        for link in &mut scenario.links {
            for side in [&mut link.forward, &mut link.reverse] {
                if side.rate.is_unlimited() {
                    side.queue = QueueSpec::new("fifo").map_err(OptionError::Queue)?;
                }
            }
        }
        let of_file = asked.has_groups.then(|| rtt_of_groups(&scenario)).flatten();
        let delays = scenario.links.iter().map(|link| link.delay);
        let delays = delays.fold(Time::ZERO, |sum, delay| sum + delay) * 2;
        let rtt = match request.rtt {
            Some(rtt) => rtt,
            None => asked.rtt.or(of_file).unwrap_or(Time::ZERO).max(delays),
        };
        let rtts = [asked.rtts, request.rtts.clone()].concat();
        let mut cuts = request.cuts.clone();
        cuts.sort_by_key(|cut| cut.at);
        for rtt in rtts.iter().map(|(_, rtt)| *rtt).chain([rtt]) {
            if rtt > LONGEST_RTT {
                return Err(OptionError::LongRtt(rtt).into());
            }
            if rtt < delays {
                return Err(OptionError::ShortRtt { rtt, delays }.into());
            }
        }
        // The program is all the traffic there is.
        scenario.groups.clear();
        scenario.name = "exec".to_owned();
        Ok(Self {
            scenario,
            rtt,
            rtts,
            cuts,
            warnings: asked.warnings,
            traces: asked.traces,
            cycle: asked.cycle,
            request,
        })
    }

    /// The scenario, without groups.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What is probably wrong with the link.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What was understood of each trace that the link follows.
    pub fn traces(&self) -> &[String] {
        &self.traces
    }

    /// Base RTT that the link adds.
    pub fn rtt(&self) -> Time {
        self.rtt
    }

    /// The base RTTs that it gets while the program runs, with their times.
    pub(crate) fn rtts(&self) -> &[(Time, Time)] {
        &self.rtts
    }

    /// What happens to connections, in the order of the times.
    pub(crate) fn cuts(&self) -> &[PlannedCut] {
        &self.cuts
    }

    /// Whether a relay is needed, for what happens to connections.
    pub fn needs_relay(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// The longest base RTT at any time.
    pub(crate) fn longest_rtt(&self) -> Time {
        let later = self.rtts.iter().map(|(_, rtt)| *rtt);
        later.chain([self.rtt]).max().unwrap_or(Time::ZERO)
    }

    /// The longest base RTT for which there is room where somebody changes the link: four times what is planned, and a second at least.
    pub(crate) fn prepared_rtt(&self) -> Time {
        (self.longest_rtt() * 4).clamp(Time::from_secs(1), LONGEST_RTT)
    }

    /// The rate of a direction of a link at the start, `None` where it has no limit.
    pub fn rate(&self, side: Side) -> Option<Rate> {
        let rate = self.scenario.side(side).rate;
        (!rate.is_unlimited()).then_some(rate)
    }

    /// Whether a direction of a link has a rate at any time.
    pub(crate) fn is_ever_limited(&self, side: Side) -> bool {
        self.rate(side).is_some() || self.later_rates(side).any(|rate| !rate.is_unlimited())
    }

    /// Whether a direction of a link has no rate at any time.
    pub(crate) fn is_ever_open(&self, side: Side) -> bool {
        self.fastest_of(side).is_none() || self.later_rates(side).any(Rate::is_unlimited)
    }

    /// The rates that a direction of a link gets while the program runs.
    fn later_rates(&self, side: Side) -> impl Iterator<Item = Rate> {
        let changes = self.changes().into_iter();
        let here = changes.filter(move |(_, change)| change.side() == (side.hop, side.direction));
        here.filter_map(|(_, change)| change.rate())
    }

    /// The highest rate of a direction of a link before anything changes, `None` where it has no limit.
    pub(crate) fn fastest_of(&self, side: Side) -> Option<Rate> {
        let course = self.scenario.side(side).course.as_ref();
        course.map(LinkTrace::fastest).or_else(|| self.rate(side))
    }

    /// What each link offers.
    pub(crate) fn capacities(&self) -> Vec<LinkCapacities> {
        let links = self.scenario.links.iter();
        let capacities = links.map(|link| LinkCapacities {
            name: link.name.clone(),
            capacities: [&link.forward, &link.reverse].map(|side| match &side.course {
                Some(course) => Capacity::Trace(course.clone()),
                None => Capacity::Rate(side.rate),
            }),
        });
        capacities.collect()
    }

    /// One direction of a link; packets of at most `mtu` bytes.
    pub(crate) fn direction(&self, which: Side, mtu: u16) -> DirectionConfig {
        let side = self.scenario.side(which);
        let component = which.queue_stream();
        let impairer = figures::impairer(side, SEED, &component);
        if side.rate.is_unlimited() {
            return DirectionConfig {
                impairer,
                ..DirectionConfig::unlimited(mtu)
            };
        }
        DirectionConfig {
            rate: side.rate,
            framing: side.framing(),
            service: figures::service(side, SEED, &component),
            impairer,
            discipline: figures::discipline(side, Random::new(SEED, &component)),
            markers: Vec::new(),
            passage: None,
            values: quell_link::OnWire::default(),
        }
    }

    /// What changes while the program runs, with its times.
    pub(crate) fn changes(&self) -> Vec<(Time, LinkChange)> {
        let changes = self.scenario.changes.iter();
        let changes = changes.flat_map(|change| {
            let made = change.set.iter().filter_map(link_change);
            made.map(|made| (change.time, made)).collect::<Vec<_>>()
        });
        let rtts = self.rtts.iter();
        let rtts = rtts.flat_map(|(at, rtt)| self.delays(*rtt).map(|change| (*at, change)));
        let mut all: Vec<_> = changes.chain(rtts).collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// What makes `rtt` the base RTT, in both directions.
    fn delays(&self, rtt: Time) -> [LinkChange; 2] {
        let delays = figures::last_delays(&self.scenario, self.scenario.hops(), rtt);
        delays.map(|(hop, direction, delay)| LinkChange::SetDelay {
            hop,
            direction,
            group: None,
            delay,
        })
    }

    /// What changes after that, again and again.
    pub(crate) fn later(&self) -> Later {
        let Some(cycle) = self.cycle else {
            return Later::default();
        };
        let mut first = self.changes();
        first.retain(|(at, _)| *at >= cycle.from);
        Later::new(first, cycle, LONGEST_TIME)
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
        let mut request = self.request.clone();
        for (key, value) in wishes {
            request.plan(at, key, value)?;
        }
        let plan = Self::of(request)?;
        let made = plan.changes().into_iter().filter(|(time, _)| *time == at);
        let made: Vec<LinkChange> = made.map(|(_, change)| change).collect();
        let has_cuts = plan.cuts.iter().any(|cut| cut.at == at);
        match !made.is_empty() || has_cuts {
            true => Ok((plan, made)),
            false => Err(OptionError::OnlyLinkChanges.into()),
        }
    }

    /// The fastest that a direction may become where somebody changes the link: four times what is planned, and 1 Gbit/s at least.
    pub fn fastest(&self) -> Rate {
        let changes = self.changes();
        let changed = changes.iter().filter_map(|(_, change)| change.rate());
        let started = self.scenario.sides();
        let started = started.filter_map(|side| self.fastest_of(side));
        let known = changed.chain(started).filter(|rate| !rate.is_unlimited());
        let highest = known.max().unwrap_or(Rate::ZERO).as_bps();
        Rate::from_bps(highest.saturating_mul(4)).max(Rate::from_mbps(1_000))
    }

    /// A line about the link: `20mbit/5mbit 40ms dualpi2`; of several: `line 60mbit/20mbit dualpi2 + wifi 50mbit/unlimited fifo, 30ms`.
    pub fn describe(&self) -> String {
        let rtt = (!self.rtt.is_zero()).then(|| self.rtt.to_string());
        if let [link] = &self.scenario.links[..] {
            let (rates, kinds) = (rates_of(link), kinds_of(link));
            let words = [Some(rates), rtt, kinds].into_iter().flatten();
            return words.collect::<Vec<_>>().join(" ");
        }
        let links = self.scenario.links.iter().map(|link| {
            let words = [
                Some(link.name.clone()),
                Some(rates_of(link)),
                kinds_of(link),
            ];
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        });
        let links = links.collect::<Vec<_>>().join(" + ");
        [Some(links), rtt]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// What a link does with values of packets, which those of a program do not have.
fn refuse_values(scenario: &Scenario) -> Result<(), OptionError> {
    for link in &scenario.links {
        let key = match (link.remark.is_empty(), link.values) {
            (true, Carried::Beside) => continue,
            (false, _) => "remark",
            (true, Carried::Header) => "values = \"header\"",
        };
        let link = link.name.clone();
        return Err(OptionError::Values { link, key });
    }
    Ok(())
}

/// `20mbit`, or both directions where they differ.
fn rates_of(link: &Link) -> String {
    let rate = |side: &DirectionSpec| match side.course {
        Some(_) => "trace".to_owned(),
        None => side.rate.to_string(),
    };
    let (down, up) = (rate(&link.forward), rate(&link.reverse));
    match down == up {
        true => down,
        false => format!("{down}/{up}"),
    }
}

/// The queues of the directions that have a rate.
fn kinds_of(link: &Link) -> Option<String> {
    let sides = [&link.forward, &link.reverse].into_iter();
    let limited = sides.filter(|side| !side.rate.is_unlimited());
    let mut kinds: Vec<&str> = limited.map(|side| side.queue.kind).collect();
    kinds.dedup();
    (!kinds.is_empty()).then(|| kinds.join("/"))
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
        Setting::Impair { side, spec, .. } => Some(LinkChange::Impair {
            hop: side.hop,
            direction: side.direction,
            impairment: spec.impairment(),
        }),
        // Of groups, which do not count.
        Setting::Rtt { .. } | Setting::Count { .. } | Setting::App { .. } => None,
    }
}

/// The base RTT of the first group that crosses all links.
fn rtt_of_groups(scenario: &Scenario) -> Option<Time> {
    let mut groups = scenario.groups.iter();
    let through = groups.find(|group| group.path == scenario.hops());
    through.map(|group| group.rtt)
}
