//! `docs/evidence/published.md`: a head, and a section for each file of this test; larger grids are CSV files beside it, in `data/`.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use quell_experiment::registry;

use crate::table::Table;

const HEAD: &str = "\
# Published results

This page compares what publications report of a queue with what quell's simulator gives for the same experiment, misses included.
It is generated, and checked, by `cargo test -p quell-experiment --test published` (`--nocapture` prints the tables; `QUELL_BLESS=1`
rewrites the page). The scenarios are in `scenarios/`.

| experiment | result |
| --- | --- |
| [DualQ of 2015 and successors](#the-dualq-of-2015-and-its-successors) | the square law and the L4S delay hold, except the P99 of Curvy RED with its own scheduler |
| [slides of 2015](#the-slides-of-2015-signals-queue-sizes-other-queues-unlike-rtts) | signals in a round trip, shapes of queues and what small queues cost are as said; DCTCP does not treat unlike RTTs fairly, and rates are not equal |
| [queue protection](#queue-protection-an-unresponsive-flow-that-claims-to-be-l4s) | no published figures; the promise of RFC 9957 holds, except with a time-shifted FIFO |
| [DualPI2: overload and coupling](#dualpi2-overload-and-coupling) | within 15 % of the source, short delays within 20 %; the coupling holds to 3 % |
| [DualPI2: pairs with unlike RTTs](#dualpi2-pairs-with-unlike-rtts) | within 15 %, but for CUBIC with a long RTT beside a short Prague, and marks on the step |
| [Prague: independence of the RTT](#prague-shares-that-do-not-depend-on-the-rtt) | the shares beside CUBIC agree at every RTT, with and without a target |
| [PIE: with and without ECN](#pie-an-ecn-capable-and-another-flow) | within 15 % or the counting error of the source, except the drops in one row, which are just beyond it |
| [FQ-CoDel: with and without ECN](#fq-codel-flows-with-and-without-ecn) | within 15 %, except seven figures with 100 ms of RTT; in six of them Linux 7.2 differs from the source too |
| [VDQ-CSAQM](#vdq-csaqm-experiments-a-and-c1) | the statements of the slides hold; their 98.4 % utilisation is met, but C_v was derived from it |
| [VDQ-CSAQM with BBR](#vdq-csaqm-experiments-with-bbr) | the statements on rates hold if BBRv2 responds to marks; as shipped it does not, and starves Classic; with few flows L4S waits longer than 1 ms |
| [independence of the control](#which-queue-makes-the-shares-independent-of-the-control) | Jain's index of every pair of six controls is at least 0.97 behind VDQ-CSAQM, and falls to 0.5 behind DualPI2 and drop-tail |
| [step marking](#step-marking-the-sawtooth-of-dctcp) | the queue of DCTCP agrees with its closed form within 10 %; marks are fewer than derived |
| [global synchronisation](#global-synchronisation-behind-drop-tail) | N/2 excess packets agree; the drop ratio is too high, because a reduction loses 1.8 packets |
| [GSP](#global-synchronization-protection) | single drops agree with the basic form; with 80 flows the adaptive queue is 28 times shorter than drop-tail |
| [home gateway](#home-gateway-a-call-beside-a-download) | the published order of rules, sizes and controls holds where it is tested; the plotted values are lost |
| [CUBIC](#cubic-back-to-the-last-maximum) | the time back to the last maximum is within 1.4 % of the equation |
| [Compound, H-TCP and LEDBAT](#compound-h-tcp-and-ledbat-beside-others) | they do as their authors claim, in direction; the papers' figures are not at hand |
| [BBR v1](#bbr-v1-start-up-a-changing-rate-five-flows) | three of nine figures are off, and `bbr` of Linux 7.2 gives the same; random loss is tolerated as published |
| [BBR beside CUBIC](#bbr-beside-cubic) | v1 has the share that it has in Linux 7.2, which is below the published model: unexplained |
| [BBR v2 and v3](#bbr-v2-and-v3) | the statements that could be read hold |
| [RED, Adaptive RED, Curvy RED](#red-adaptive-red-and-curvy-red-more-and-more-flows) | the average queue and the drops follow the laws of each form |
| [web items beside a download](#web-items-flow-completion-times-beside-a-download) | medians and geometric means are within 30 % of single runs on real hosts; harm falls with the RTT |
| [browsing of 2015](#web-items-browsing-beside-downloads-as-demonstrated-in-2015) | the tails of 0.2 s and 1 s are those of lost last and set-up packets; behind a DualQ DCTCP has neither |
| [streaming as set up in 2015](#adaptive-streaming-beside-downloads-as-set-up-in-2015) | the source has no figures; drop-tail is worst and FQ-CoDel steadiest, but FQ-CoDel does not give the highest level, as was expected |
| [panorama of 2015](#the-panorama-of-2015-interaction-beside-downloads) | nine of ten packets have 7 to 10 ms with DCTCP, as on the slide, and P99 is 10.2 to 10.9 ms; a whole view takes 33 ms, as long as behind FQ-CoDel |
| [rendered video under Prague](#rendered-video-under-prague-beside-scream) | rate and queue are those of SCReAM's logs; the share beside TCP Prague is smaller |
| [rendered video under SCReAM](#rendered-video-under-scream) | queues and rates alone as published; the shares beside TCP Prague under the law of their program too, but for 25 ms; under the draft's law they are far smaller |

How to read the sections:

* **Bounds** are what the test checks; everything else is shown for information.
* Rates are in Mbit/s of Ethernet frames, unless they are called goodput. Delays are sojourn times. Marks are per delivered packet and
  drops per offered packet, in %.
* *L* is the L4S queue or its flows, *C* the Classic one. p_L and p_C are the probabilities of a mark and of a drop in them.
* Grids of more than ten rows are CSV files in [data/](data); the page has their main figures.
";

/// One writer at a time: the tests of a binary are threads.
static WRITING: Mutex<()> = Mutex::new(());

/// The titles of the sections, in their order on the page.
fn titles() -> impl Iterator<Item = &'static str> {
    registry::sections()
        .iter()
        .map(|section| section.title.as_str())
}

fn evidence() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence")
}

fn path() -> PathBuf {
    evidence().join("published.md")
}

/// Head, and (title, body) of each section.
fn split(page: &str) -> (String, Vec<(String, String)>) {
    let mut parts = page.split("\n## ");
    let head = parts.next().unwrap_or_default().to_owned();
    let sections = parts.map(|part| match part.split_once('\n') {
        Some((title, body)) => (title.to_owned(), body.trim().to_owned()),
        None => (part.to_owned(), String::new()),
    });
    (head, sections.collect())
}

fn join(head: &str, sections: &[(String, String)]) -> String {
    let mut page = format!("{}\n", head.trim_end());
    for (title, body) in sections {
        page += &format!("\n## {title}\n\n{}\n", body.trim());
    }
    page
}

/// The page with this body under `title`, the known sections in their order and no others.
fn with(page: &str, title: &str, body: &str) -> String {
    let (_, mut old) = split(page);
    old.retain(|(known, _)| known != title);
    old.push((title.to_owned(), body.to_owned()));
    let sections: Vec<_> = titles()
        .filter_map(|title| old.iter().find(|(known, _)| known == title).cloned())
        .collect();
    join(HEAD, &sections)
}

const OUTDATED: &str = "is not current: QUELL_BLESS=1 cargo test -p quell-experiment --test published -- --include-ignored";

/// Prints the body of the section `title`, and checks that the page and the files `data` beside it say the same; with
/// `QUELL_BLESS=1` it writes them. The body links to each file.
pub(crate) fn check(title: &str, body: &str, data: &[(&str, &Table)]) {
    // A table ends its line itself.
    let body = body.replace("\n\n\n", "\n\n");
    println!("\n## {title}\n\n{body}");
    assert!(
        titles().any(|known| known == title),
        "{title} is not in the registry"
    );
    let bless = std::env::var_os("QUELL_BLESS").is_some();
    let _lock = WRITING.lock().unwrap();
    for (name, table) in data {
        let link = format!("](data/{name})");
        assert!(body.contains(&link), "{title} has no link to {name}");
        let (path, csv) = (evidence().join("data").join(name), table.to_csv());
        if bless {
            fs::write(path, csv).unwrap();
        } else {
            let found = fs::read_to_string(path).unwrap_or_default();
            assert!(found == csv, "docs/evidence/data/{name} {OUTDATED}");
        }
    }
    let page = fs::read_to_string(path()).unwrap_or_default();
    if bless {
        fs::write(path(), with(&page, title, &body)).unwrap();
        return;
    }
    let (_, sections) = split(&page);
    let found = sections.iter().find(|(known, _)| known == title);
    assert!(
        found.is_some_and(|(_, found)| found == body.trim()),
        "docs/evidence/published.md, {title:?}, {OUTDATED}"
    );
}

/// The body of the section `title` as the page has it, and the content of the files that it links to.
pub(crate) fn written(title: &str) -> Vec<String> {
    let _lock = WRITING.lock().unwrap();
    let page = fs::read_to_string(path()).unwrap_or_default();
    let (_, sections) = split(&page);
    let body = sections.into_iter().find(|(known, _)| known == title);
    let body = body.map(|(_, body)| body).unwrap_or_default();
    let links = body.split("](data/").skip(1);
    let names = links.filter_map(|rest| Some(rest.split_once(')')?.0));
    let read = |name| fs::read_to_string(evidence().join("data").join(name)).unwrap_or_default();
    let files: Vec<String> = names.map(read).collect();
    std::iter::once(body).chain(files).collect()
}

#[test]
fn the_page_has_its_head_and_every_section_in_order() {
    let _lock = WRITING.lock().unwrap();
    let page = fs::read_to_string(path()).unwrap_or_default();
    if std::env::var_os("QUELL_BLESS").is_some() {
        let (_, sections) = split(&page);
        let known = |(title, _): &(String, String)| titles().any(|known| known == title);
        let sections: Vec<_> = sections.into_iter().filter(known).collect();
        fs::write(path(), join(HEAD, &sections)).unwrap();
        return;
    }
    let (head, sections) = split(&page);
    let found: Vec<&str> = sections.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!((head.trim(), found), (HEAD.trim(), titles().collect()));
}

#[test]
fn a_page_splits_into_what_it_was_joined_from() {
    let sections = [("a", "one\n\n### deeper\n\ntwo"), ("b", "three")]
        .map(|(title, body)| (title.to_owned(), body.to_owned()));
    let page = join("# head\n", &sections);
    assert_eq!(split(&page), ("# head\n".to_owned(), sections.to_vec()));
    assert_eq!(join(&split(&page).0, &split(&page).1), page);
}
