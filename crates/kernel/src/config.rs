//! The configuration of a guest kernel, and whether Kconfig accepted it.
//!
//! `minimal.config` holds what every kernel needs; the congestion controls and queue disciplines come from the tree that is
//! built; a fragment of the user may add to both. Options that are not named are off. Kconfig silently drops options that it
//! does not know or whose dependencies are not met, so the result is compared with the request.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{Error, Result, own_controls};

/// The options that every kernel needs.
const MINIMAL: &str = include_str!("config/minimal.config");

/// Ticks per second of the guest.
pub(crate) const HZ: u32 = 250;

/// The requested options: required ones, optional ones, and those of the user.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    required: BTreeSet<String>,
    /// In the order of the files, user's last.
    wanted: Vec<(String, String)>,
    /// The user's own, with their values.
    user: BTreeMap<String, String>,
}

/// What Kconfig made of the requested options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Congestion controls of the kernel, by the names of their options: `CUBIC`, `DCTCP` …; quell's own as `PRAGUE` …
    pub congestion_controls: Vec<String>,
    /// Queue disciplines of the kernel, likewise: `FQ`, `HTB` …
    pub disciplines: Vec<String>,
    /// Optional options that are missing in the result.
    pub left_out: Vec<String>,
    /// Options of the user that differ in the result: as they are and as they were requested.
    pub not_as_wished: Vec<String>,
}

impl Wishes {
    /// Those of every kernel, and of the user's fragment.
    ///
    /// # Errors
    ///
    /// The fragment has a line that is not one of a kernel configuration.
    pub(crate) fn new(fragment: Option<&str>) -> Result<Self> {
        let mut wishes = Self {
            required: BTreeSet::new(),
            wanted: Vec::new(),
            user: BTreeMap::new(),
        };
        let mut required = false;
        for line in MINIMAL.lines() {
            if let Some(section) = line.strip_prefix("#: ") {
                required = section.starts_with("required");
            } else if let Some((name, value)) = option(line) {
                if required {
                    wishes.required.insert(name.clone());
                }
                wishes.wanted.push((name, value));
            }
        }
        for (number, line) in fragment.unwrap_or_default().lines().enumerate() {
            if let Some((name, value)) = option(line) {
                wishes.user.insert(name.clone(), value.clone());
                wishes.wanted.push((name, value));
            } else if !(line.trim().is_empty() || line.starts_with('#')) {
                return Err(Error::refused(format!(
                    "line {} of the configuration is neither CONFIG_NAME=VALUE nor `# CONFIG_NAME is not set`: {line}",
                    number + 1
                )));
            }
        }
        Ok(wishes)
    }

    /// The same, and every congestion control and queue discipline of the kernel source in `tree`, before the user's own. Of quell's own
    /// controls none, unless they were added and `with_controls` is set.
    pub(crate) fn with_tree(&self, tree: &Path, with_controls: bool) -> Result<Self> {
        let mut wishes = self.clone();
        let mut offered = Vec::new();
        for (file, prefix) in [
            ("net/ipv4/Kconfig", "TCP_CONG_"),
            ("net/sched/Kconfig", "NET_SCH_"),
            (own_controls::KCONFIG, own_controls::PREFIX),
        ] {
            let path = tree.join(file);
            if file == own_controls::KCONFIG && !(with_controls && path.exists()) {
                continue;
            }
            let text = fs::read(&path).map_err(Error::at("read", &path))?;
            offered.extend(offers(&String::from_utf8_lossy(&text), prefix));
        }
        let new = offered
            .into_iter()
            .map(|name| (format!("CONFIG_{name}"), "y".to_owned()));
        wishes.wanted.splice(0..0, new);
        Ok(wishes)
    }

    /// For KCONFIG_ALLCONFIG: one line per option.
    pub(crate) fn fragment(&self) -> String {
        // Of an option named twice the last wish counts; Kconfig would warn.
        let last: BTreeMap<&str, &str> = self
            .wanted
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        last.iter()
            .map(|(name, value)| match *value {
                "n" => format!("# {name} is not set\n"),
                value => format!("{name}={value}\n"),
            })
            .collect()
    }

    /// Everything that decides about the result except for the tree.
    pub(crate) fn identity(&self) -> String {
        format!("HZ={HZ}\n{}", self.fragment())
    }

    /// Compares `config`, a whole configuration, with the request.
    ///
    /// # Errors
    ///
    /// A required option is not set; `whose` is the beginning of the sentence: "the tree …".
    pub(crate) fn verify(&self, config: &str, whose: &str) -> Result<Outcome> {
        let came: BTreeMap<String, String> = config.lines().filter_map(option).collect();
        let value = |name: &str| came.get(name).map_or("n", String::as_str);
        let missing: Vec<&str> = self
            .required
            .iter()
            .map(String::as_str)
            .filter(|name| value(name) != "y")
            .collect();
        if !missing.is_empty() {
            let own = missing
                .iter()
                .any(|name| self.user.get(*name).is_some_and(|value| value != "y"));
            return Err(Error::failed(format!(
                "{whose} lacks what the virtual world needs: {}{}",
                missing.join(", "),
                if own {
                    "; the fragment given with --config turns it off: leave that line out"
                } else {
                    "; the tree is older than 6.1, or an option that this depends on has changed"
                }
            )));
        }
        let mut outcome = Outcome::default();
        for (name, wish) in &self.wanted {
            // Without loadable modules m means y.
            let same = value(name) == wish || (value(name), wish.as_str()) == ("y", "m");
            match self.user.get(name) {
                Some(user) if user == wish && !same => {
                    let told = format!("{name} is {} and not {wish}", value(name));
                    outcome.not_as_wished.push(told);
                }
                None if !same => outcome.left_out.push(name.clone()),
                _ => {}
            }
        }
        (outcome.congestion_controls, outcome.disciplines) = controls_and_disciplines(&came);
        Ok(outcome)
    }
}

/// The congestion controls and the queue disciplines that a whole configuration turns on, by the names of their options: `CUBIC`,
/// `FQ` …
pub fn offered(config: &str) -> (Vec<String>, Vec<String>) {
    let came = config.lines().filter_map(option).collect();
    controls_and_disciplines(&came)
}

fn controls_and_disciplines(came: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
    let own = own_controls::PREFIX.trim_start_matches("TCP_CONG_");
    let named = enabled(came, "CONFIG_TCP_CONG_", &["ADVANCED"]).into_iter();
    (
        named
            .map(|name| name.strip_prefix(own).map(str::to_owned).unwrap_or(name))
            .collect(),
        enabled(came, "CONFIG_NET_SCH_", &["DEFAULT", "MQPRIO_LIB"]),
    )
}

/// Whether a configuration has the clock rate that quell asks for.
pub(crate) fn verify_clock(config: &str) -> Result<()> {
    let rate = config
        .lines()
        .find_map(|line| line.strip_prefix("CONFIG_HZ="));
    if rate == Some(&*HZ.to_string()) {
        return Ok(());
    }
    Err(Error::failed(format!(
        "the kernel would have a clock of {} Hz instead of {HZ}: the tree defines HZ in a way that is not known",
        rate.unwrap_or("no")
    )))
}

/// The names behind `prefix` of what is enabled, without those that are neither one nor the other.
fn enabled(came: &BTreeMap<String, String>, prefix: &str, not: &[&str]) -> Vec<String> {
    came.iter()
        .filter(|(_, value)| *value == "y")
        .filter_map(|(name, _)| name.strip_prefix(prefix))
        .filter(|name| !not.contains(name))
        .map(str::to_owned)
        .collect()
}

/// Name and value of a line that sets an option, or says that it is not set: `n`.
fn option(line: &str) -> Option<(String, String)> {
    let line = line.trim_end();
    let is_name = |name: &str| {
        name.strip_prefix("CONFIG_").is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let (name, value) = match line.strip_prefix("# ") {
        Some(rest) => (rest.strip_suffix(" is not set")?, "n"),
        None => line.split_once('=')?,
    };
    is_name(name).then(|| (name.to_owned(), value.to_owned()))
}

/// The options of a Kconfig file whose name begins with `prefix` and that a user can set: those with a prompt.
fn offers(kconfig: &str, prefix: &str) -> Vec<String> {
    let mut offered = Vec::new();
    let mut name = None;
    let mut help = false;
    for line in kconfig.lines() {
        let mut words = line.split_whitespace();
        let indented = line.starts_with([' ', '\t']);
        match words.next() {
            // `menuconfig` heads a menu: NET_SCH_DEFAULT would change the default discipline.
            Some("config") if !indented => {
                name = words.next().filter(|name| name.starts_with(prefix));
                help = false;
            }
            Some("help" | "---help---") if indented => help = true,
            Some("tristate" | "bool" | "prompt") if indented && !help && line.contains('"') => {
                offered.extend(name.take().map(str::to_owned));
            }
            Some(_) if !indented => name = None,
            _ => {}
        }
    }
    offered
}

/// A copy of the top Kconfig file of a tree in which the guest's clock rate comes first. The tree's own is 100 Hz without a
/// prompt; of several defaults Kconfig takes the first.
pub(crate) fn kconfig_with_clock(top: &str) -> String {
    let rate = format!("config HZ\n\tint\n\tdefault {HZ}\n\n");
    match top
        .find("mainmenu")
        .and_then(|at| Some(at + top[at..].find('\n')? + 1))
    {
        Some(after) => format!("{}{rate}{}", &top[..after], &top[after..]),
        None => format!("{rate}{top}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_kconfig_file_those_options_are_offered_that_a_user_can_set() {
        let kconfig = "\
menuconfig TCP_CONG_ADVANCED
\tbool \"TCP: advanced congestion control\"

config TCP_CONG_BIC
\ttristate \"Binary Increase Congestion (BIC) control\"
\tdefault m
\thelp
\t  bool \"this is prose\"
\t  config TCP_CONG_PROSE

config TCP_CONG_HIDDEN
\ttristate
\thelp
\t  bool \"prose, too\"

config TCP_CONG_LATER
\tbool
\tprompt \"asked for in a line of its own\"

config OTHER
\ttristate \"another\"

choice
\tprompt \"Default TCP congestion control\"
";
        assert_eq!(
            offers(kconfig, "TCP_CONG_"),
            ["TCP_CONG_BIC", "TCP_CONG_LATER"]
        );
    }

    #[test]
    fn the_clock_rate_comes_before_that_of_the_tree_and_after_the_title() {
        let with = kconfig_with_clock("# x\nmainmenu \"Linux\"\nsource \"a\"\n");
        assert_eq!(
            with,
            "# x\nmainmenu \"Linux\"\nconfig HZ\n\tint\n\tdefault 250\n\nsource \"a\"\n"
        );
        assert!(kconfig_with_clock("source \"a\"\n").starts_with("config HZ\n"));
    }

    #[test]
    fn every_line_of_our_own_configuration_is_an_option_or_a_comment_and_has_a_section() {
        let mut section = false;
        for line in MINIMAL.lines() {
            section |= line.starts_with("#: required: ") || line.starts_with("#: wanted: ");
            assert!(
                !line.starts_with("#:")
                    || line.contains(": required: ")
                    || line.contains(": wanted: "),
                "{line}"
            );
            match option(line) {
                Some((_, value)) => assert!(section && value == "y", "{line}"),
                None => assert!(line.is_empty() || line.starts_with('#'), "{line}"),
            }
        }
        let wishes = Wishes::new(None).unwrap();
        assert!(wishes.required.contains("CONFIG_UML_TIME_TRAVEL_SUPPORT"));
        assert!(!wishes.required.contains("CONFIG_IFB"));
    }

    #[test]
    fn of_an_option_named_twice_the_users_wish_counts() {
        let wishes =
            Wishes::new(Some("# CONFIG_IFB is not set\nCONFIG_LOG_BUF_SHIFT=18\n")).unwrap();
        let fragment = wishes.fragment();
        assert!(fragment.contains("# CONFIG_IFB is not set\n"), "{fragment}");
        assert!(!fragment.contains("CONFIG_IFB=y"), "{fragment}");
        assert_ne!(wishes.identity(), Wishes::new(None).unwrap().identity());
        for wrong in ["IFB=y", "CONFIG_=y", "CONFIG IFB=y"] {
            assert!(
                Wishes::new(Some(wrong)).unwrap_err().is_refusal(),
                "{wrong}"
            );
        }
    }
}
