//! Which congestion controls a kernel has, from the configuration that it was built with.
//!
//! A control's name is not always that of its option (net/ipv4/Kconfig), and a modified tree may have options that
//! nobody else knows, whose names stay unknown.

use crate::own_controls::{PREFIX, names};

/// Options whose control has another name.
const RENAMED: &[(&str, &str)] = &[("hstcp", "highspeed")];
/// Linux's own options, in lower case.
const KNOWN: &[&str] = &[
    "bbr", "bic", "cdg", "cubic", "dctcp", "hstcp", "htcp", "hybla", "illinois", "lp", "nv",
    "scalable", "vegas", "veno", "westwood", "yeah",
];

/// The controls that quell adds to a kernel source that it unpacks: a kernel that an earlier version built does not have them.
pub fn own_controls() -> Vec<String> {
    names()
}

/// Those that a whole configuration turns on.
pub(super) fn controls(config: &str) -> Option<Vec<String>> {
    // Reno has no option.
    let mut all = vec!["reno".to_owned()];
    for line in config.lines() {
        let Some(option) = line.strip_prefix("CONFIG_TCP_CONG_") else {
            continue;
        };
        // A module cannot be loaded inside.
        let Some(option) = option.strip_suffix("=y") else {
            continue;
        };
        let option = option.to_lowercase();
        let own = PREFIX.trim_start_matches("TCP_CONG_").to_lowercase();
        if let Some(name) = option.strip_prefix(&own) {
            all.push(name.to_owned());
            continue;
        }
        if option == "advanced" {
            continue;
        }
        if !KNOWN.contains(&option.as_str()) {
            return None;
        }
        let renamed = RENAMED.iter().find(|(name, _)| *name == option);
        all.push(renamed.map_or(option.clone(), |(_, name)| (*name).to_owned()));
    }
    all.sort();
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_controls_under_their_names() {
        let config = "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_HSTCP=y\n# CONFIG_TCP_CONG_BBR is not set\nCONFIG_TCP_CONG_NV=m\n\
                      CONFIG_TCP_CONG_DCTCP=y\nCONFIG_DEFAULT_TCP_CONG=\"cubic\"\n";
        assert_eq!(
            controls(config),
            Some(vec![
                "dctcp".to_owned(),
                "highspeed".to_owned(),
                "reno".to_owned()
            ])
        );
        assert_eq!(controls("CONFIG_TCP_CONG_PRAGUE=y\n"), None);
        assert_eq!(
            controls("CONFIG_TCP_CONG_QUELL_PRAGUE=y\n# CONFIG_TCP_CONG_QUELL_BBR2 is not set\n"),
            Some(vec!["prague".to_owned(), "reno".to_owned()])
        );
    }
}
