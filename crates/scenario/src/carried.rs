//! `values = "header"`: how packets carry their values from one link to the next.

use super::Scenario;
use super::places::Places;
use super::problem::Problem;

/// The place where packets that leave a link carry their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Carried {
    /// Beside the packet, in the program that runs both links.
    #[default]
    Beside,
    /// In the packet's own header, as between two machines. The next link reads it there and knows nothing else.
    Header,
}

impl Carried {
    /// The words of a file.
    pub(crate) const WORDS: &'static [&'static str] = &["beside", "header"];

    /// Its word in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Beside => "beside",
            Self::Header => "header",
        }
    }

    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "header" => Self::Header,
            _ => Self::Beside,
        }
    }
}

/// Headers that carry no value, or that nothing reads.
pub(super) fn warn(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for hop in scenario.hops().iter() {
        if scenario.links[hop.index()].values == Carried::Beside {
            continue;
        }
        let groups = scenario.groups.iter();
        let mut valued = groups
            .filter(|group| group.value.is_some() && group.path.contain(hop))
            .peekable();
        let why = if valued.peek().is_none() {
            "no group with a value crosses this link, so its headers carry none"
        } else if valued.all(|group| group.path.exit(group.direction) == hop) {
            "no link comes behind this one for any group with a value, so only receivers could read the headers"
        } else {
            continue;
        };
        let key = format!("{}.values", scenario.link_key(hop));
        warnings.push(places.problem(&key, Carried::Header.name(), why));
    }
}
