//! Several links in a row: which of them a group crosses, and what a key calls them.
//!
//! Where there is one link its keys are `link.rate` and so on, as in a file with a table `[link]`; of several each has its name:
//! `link.wifi.rate`.

use quell_measure::{Direction, Hop, Hops};
use quell_units::{Rate, Time};
use serde_json::json;

use super::capacity::rates;
use super::keys::{Key, Section};
use super::remark;
use super::view::Keys as _;
use super::written::{Written, quoted};
use super::{DirectionSpec, Group, Link, Scenario, Side};

/// The most links in a row.
pub(crate) const MOST_LINKS: usize = 16;

/// The name of a link that has none, by its position among `links`.
pub(crate) fn default_name(position: usize, links: usize) -> String {
    match links {
        1 => Hop::ONLY_NAME.to_owned(),
        _ => format!("link{}", position + 1),
    }
}

/// Whether a link cannot have the name, because it is a key of links.
pub(crate) fn is_key_of_links(name: &str) -> bool {
    Section::Link.keys().any(|key| key.name == name)
}

impl Side {
    /// Both directions of `hop`.
    pub(crate) fn both(hop: Hop) -> [Self; 2] {
        Direction::BOTH.map(|direction| Self { hop, direction })
    }
    /// The other direction of the same link.
    pub(crate) fn back(self) -> Self {
        let direction = match self.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        Self { direction, ..self }
    }
    /// The name of a queue's random stream. That of the first link does not depend on how many there are.
    pub fn queue_stream(self) -> String {
        let queue = match self.direction {
            Direction::Forward => "queue",
            Direction::Reverse => "reverse.queue",
        };
        match self.hop.index() {
            0 => queue.to_owned(),
            hop => format!("link{}.{queue}", hop + 1),
        }
    }
}

impl Scenario {
    /// Every link.
    pub fn hops(&self) -> Hops {
        Hops::all(self.links.len())
    }
    /// Every direction of every link, in the order of results.
    pub fn sides(&self) -> impl DoubleEndedIterator<Item = Side> {
        self.hops().iter().flat_map(Side::both)
    }
    /// A direction of a link.
    pub fn side(&self, side: Side) -> &DirectionSpec {
        self.links[side.hop.index()].direction(side.direction)
    }
    /// The sides that packets of `group` cross in `direction`.
    pub fn sides_of(
        &self,
        group: &Group,
        direction: Direction,
    ) -> impl DoubleEndedIterator<Item = Side> + Clone + use<> {
        group.path.iter().map(move |hop| Side { hop, direction })
    }
    /// The start of the keys of a link.
    pub fn link_key(&self, hop: Hop) -> String {
        match &self.links[..] {
            [_] => "link".to_owned(),
            links => format!("link.{}", links[hop.index()].name),
        }
    }
    /// The start of the keys of a direction of a link.
    pub fn side_key(&self, side: Side) -> String {
        let link = self.link_key(side.hop);
        match side.direction {
            Direction::Forward => link,
            Direction::Reverse => format!("{link}.reverse"),
        }
    }
    /// The keys of a link that have a value, but for those of its directions. All but the delay are left out where they have their
    /// default, so that a new key does not change the texts of scenarios without it.
    pub(crate) fn keys_of_link(
        &self,
        link: &Link,
    ) -> impl Iterator<Item = (&'static Key, Option<Written>)> {
        let keys = link.written().map(|(key, value)| match key.name {
            "remark" => (key, remark::written(&link.remark, &self.groups)),
            _ => (key, value),
        });
        keys.filter(|(key, value)| {
            let mut value = value.iter();
            value.any(|value| key.name == "delay" || !value.is_default(key))
        })
    }
    /// The key `path` of `group`; `None` where there is only one link.
    pub(crate) fn written_path(&self, group: &Group) -> Option<Written> {
        let names = group.path.iter();
        let names: Vec<&str> = names.map(|hop| self.links[hop.index()].name()).collect();
        let toml: Vec<String> = names.iter().map(quoted).collect();
        (self.links.len() > 1).then(|| Written {
            toml: format!("[{}]", toml.join(", ")),
            json: json!(names),
        })
    }
    /// The slowest rate at the start that the data of `group` meets.
    pub fn slowest(&self, group: &Group) -> Rate {
        slowest(&self.links, group.path, group.direction)
    }
    /// The link whose rate that is: the first of them.
    pub fn bottleneck(&self, group: &Group) -> Side {
        let rate = self.slowest(group);
        let mut sides = self.sides_of(group, group.direction);
        let first = Side {
            hop: group.path.entry(group.direction),
            direction: group.direction,
        };
        sides
            .find(|side| self.side(*side).rate == rate)
            .unwrap_or(first)
    }
    /// Whether the data of `group` meets a rate at every time.
    pub(crate) fn is_always_limited(&self, group: &Group) -> bool {
        let mut sides = self.sides_of(group, group.direction);
        sides.any(|side| !rates(self, side).any(Rate::is_unlimited))
    }
    /// The delay of the links of a path in one direction.
    pub(crate) fn delay_of(&self, path: Hops) -> Time {
        let links = path.iter().map(|hop| self.links[hop.index()].delay);
        links.fold(Time::ZERO, |sum, delay| sum + delay)
    }
}

/// The slowest rate at the start on a path.
pub(crate) fn slowest(links: &[Link], path: Hops, direction: Direction) -> Rate {
    let rates = path
        .iter()
        .map(|hop| links[hop.index()].direction(direction).rate);
    rates.min().unwrap_or(Rate::UNLIMITED)
}
