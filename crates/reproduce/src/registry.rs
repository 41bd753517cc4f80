//! Every experiment, by its ID.

use quell_lab::scenario::closest;

use crate::experiment::{Experiment, Section};
use crate::sections::{
    bbr, bbr_beside_cubic, bbr_bounded, browsing, compound, cubic, dualq2015, fq_codel, gateway,
    gateway_controls, gateway_sweep, has, independence, overload, pairs, panorama, pie, prague,
    protection, red, scream, slides, step, synchronisation, vdq, vdq_bbr, video, web,
};

/// The sections of `docs/evidence/published.md` in their order.
pub const SECTIONS: &[&Section] = &[
    &dualq2015::SECTION,
    &slides::SECTION,
    &dualq2015::PROTECTION_SECTION,
    &overload::SECTION,
    &pairs::SECTION,
    &prague::SECTION,
    &pie::SECTION,
    &fq_codel::SECTION,
    &vdq::SECTION,
    &vdq_bbr::SECTION,
    &independence::SECTION,
    &step::SECTION,
    &synchronisation::SECTION,
    &protection::SECTION,
    &gateway::SECTION,
    &gateway_controls::SECTION,
    &gateway_sweep::SECTION,
    &cubic::SECTION,
    &compound::SECTION,
    &bbr::SECTION,
    &bbr_beside_cubic::SECTION,
    &bbr_bounded::SECTION,
    &red::SECTION,
    &web::SECTION,
    &browsing::SECTION,
    &has::SECTION,
    &panorama::SECTION,
    &video::SECTION,
    &scream::SECTION,
];

/// Experiments that belong together, and the first part of their IDs.
#[derive(Debug)]
pub struct Chapter {
    /// The first part of the IDs.
    pub name: &'static str,
    /// Its title in the book.
    pub title: &'static str,
    /// The publications.
    pub source: &'static str,
}

/// The chapters of the book, in their order.
pub const CHAPTERS: &[Chapter] = &[
    Chapter {
        name: "dualq2015",
        title: "DualQ (2015)",
        source: "De Schepper, Bondarenko, Briscoe and Tsang, \"Ultra Low Queuing Delay for ALL Applications\", two decks of slides, 2015",
    },
    Chapter {
        name: "rfc9332",
        title: "DualQ Coupled AQM (RFC 9332)",
        source: "RFC 9332 and RFC 9957; arXiv 2209.01078 and the figures behind it",
    },
    Chapter {
        name: "gsp2014",
        title: "Global Synchronization Protection (IETF 89)",
        source: "Lautenschlaeger, \"Global Synchronization Protection for Packet Queues\", slides, IETF 89, 2014 (draft-lauten-aqm-gsp-00)",
    },
    Chapter {
        name: "homegateway2011",
        title: "Home-gateway queues (MMSys 2011)",
        source: "Stewart, Hayes, Armitage, Welzl and Petlund, \"Multimedia-unfriendly TCP Congestion Control and Home Gateway Queue Management\", slides, MMSys 2011 (ACM 10.1145/1943552.1943558)",
    },
    Chapter {
        name: "vdq2020",
        title: "VDQ-CSAQM (ANRW 2020)",
        source: "Nádas, Gombos, Fejes and Laki, \"A Congestion Control Independent L4S Scheduler\", slides, ANRW 2020",
    },
    Chapter {
        name: "contrast",
        title: "Queues that the others are compared with",
        source: "PIE and FQ-CoDel (arXiv 2209.01078), step marking (SIGCOMM 2010), RED, Adaptive RED and Curvy RED",
    },
    Chapter {
        name: "controls",
        title: "Congestion controls",
        source: "papers and drafts of CUBIC, Compound, H-TCP, LEDBAT, BBR and Prague",
    },
    Chapter {
        name: "applications",
        title: "Applications",
        source: "measurements and logs of web items and rendered video",
    },
];

/// Every experiment, chapter by chapter, and in a chapter in the order of the sections.
pub fn all() -> Vec<&'static Experiment> {
    let of = |chapter: &'static Chapter| chapter.experiments();
    CHAPTERS.iter().flat_map(of).collect()
}

impl Chapter {
    /// Its experiments.
    pub fn experiments(&self) -> Vec<&'static Experiment> {
        let all = SECTIONS.iter().flat_map(|section| section.experiments);
        all.filter(|one| one.chapter() == self.name).collect()
    }
}

impl Experiment {
    /// The first part of its ID.
    pub fn chapter(&self) -> &'static str {
        self.id.split_once('/').map_or("", |(chapter, _)| chapter)
    }
}

/// The experiments that a name means: an ID, a chapter, or `all`.
///
/// # Errors
///
/// There is none: names that are near.
pub fn find(name: &str) -> Result<Vec<&'static Experiment>, Vec<&'static str>> {
    let all = all();
    let is_meant = |one: &&Experiment| name == "all" || one.id == name || one.chapter() == name;
    let found: Vec<_> = all.iter().copied().filter(is_meant).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    Err(near(name, &all))
}

/// Names like this one: the nearest, or those that contain it, or the others of its chapter.
fn near(name: &str, all: &[&'static Experiment]) -> Vec<&'static str> {
    let has_some = |chapter: &&Chapter| all.iter().any(|one| one.chapter() == chapter.name);
    let chapters = CHAPTERS.iter().filter(has_some);
    let chapters = chapters.map(|chapter| chapter.name);
    let names = || all.iter().map(|one| one.id).chain(chapters.clone());
    let mut near: Vec<&str> = closest(name, names()).into_iter().collect();
    let last = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let same = |id: &&str| !last.is_empty() && id.to_lowercase().contains(&last);
    near.extend(names().filter(same));
    if near.is_empty() {
        let chapter = name.split('/').next();
        near.extend(names().filter(|id| id.split('/').next() == chapter));
    }
    near.sort_unstable();
    near.dedup();
    near.truncate(8);
    near
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_has_an_id_of_its_own_in_a_chapter_and_statements() {
        let ids: Vec<&str> = SECTIONS
            .iter()
            .flat_map(|section| section.experiments)
            .map(|one| one.id)
            .collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len());
        // None is outside the chapters.
        assert_eq!(all().len(), ids.len());
        for one in all() {
            let usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let (_, name) = one.id.split_once('/').unwrap();
            assert!(!name.is_empty() && name.chars().all(usual), "{}", one.id);
            assert!(
                !one.source.is_empty() && !one.title.is_empty(),
                "{}",
                one.id
            );
            assert!(!one.statements.is_empty(), "{}", one.id);
            let ids: BTreeSet<&str> = one.statements.iter().map(|one| one.id).collect();
            assert_eq!(ids.len(), one.statements.len(), "{}", one.id);
            for statement in one.statements {
                assert!(statement.id.chars().all(usual), "{}", statement.id);
                assert!(!statement.published.is_empty() && !statement.bound.is_empty());
                for text in [statement.published, statement.bound] {
                    assert!(!text.contains(['\n', '|']), "{text}");
                }
            }
        }
    }

    #[test]
    fn every_section_has_a_title_of_its_own_and_experiments() {
        let titles: BTreeSet<&str> = SECTIONS.iter().map(|section| section.title).collect();
        assert_eq!(titles.len(), SECTIONS.len());
        assert!(
            SECTIONS
                .iter()
                .all(|section| !section.experiments.is_empty())
        );
    }

    #[test]
    fn a_name_is_an_id_a_chapter_or_all() {
        assert_eq!(find("all").unwrap().len(), all().len());
        let one = find("homegateway2011/m3").unwrap();
        assert_eq!(one.len(), 1);
        let chapter = find("homegateway2011").unwrap();
        assert!(chapter.len() > 1);
        assert_eq!(
            find("homegateway2011/m33").unwrap_err()[0],
            "homegateway2011/m3"
        );
        assert!(find("m3").unwrap_err().contains(&"homegateway2011/m3"));
        assert!(find("xyz").unwrap_err().is_empty());
    }
}
