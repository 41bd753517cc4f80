//! Work on the code changes no result: what the simulator writes for some sixty scenarios is compared with what it wrote before.
//!
//! `recorded.txt` has a line for each scenario, seed and file: the first 16 digits of the SHA-256 of `summary.json`, `histograms.json`,
//! `packets.pcapng`, and of the rows of both series by the names of their columns; of a warning only that there is one. Whoever means to
//! change results records anew with `QUELL_RECORD=1 cargo test -p quell --test all unchanged`, and says in the commit which results changed
//! and why.
#![allow(clippy::unwrap_used)]

mod scenarios;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use sha2::{Digest as _, Sha256};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unchanged/recorded.txt");

const FILES: [&str; 5] = [
    "summary.json",
    "histograms.json",
    "packets.pcapng",
    "flows.parquet",
    "queues.parquet",
];

/// `queues.parquet` and the queues in the JSON files name their link, which they did not when the hashes were recorded.
const HOP: (&str, &str) = ("hop", "\"link\"");

/// Counts of the causes of slow items, which nobody took when the hashes were recorded; keys of other figures come before and after
/// them.
const CAUSES: [&str; 2] = ["\"slow_200ms_", "\"slow_1s_"];

/// A distribution that nobody measured either; keys of other figures come before and after it too.
const STARTUP: &str = "\"flow_startup_ms\": ";

/// A list that says how evenly each direction of each link was shared, which nobody wrote either.
const FAIRNESS: &str = "\"fairness\": [";

/// The rows as text, each with the names of its columns: how the file is packed may change, what it says may not.
fn rows(file: &Path) -> Vec<u8> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let mut text = String::new();
    for row in reader.get_row_iter(None).unwrap() {
        for (name, value) in row.unwrap().get_column_iter() {
            if (name.as_str(), value.to_string().as_str()) == HOP {
                continue;
            }
            write!(text, "{name}={value};").unwrap();
        }
        text.push('\n');
    }
    assert!(!text.is_empty(), "{}", file.display());
    text.into_bytes()
}

/// The text without each list [`FAIRNESS`], and without the comma before one that comes last.
fn without_fairness(text: &str) -> String {
    let mut out = String::new();
    let mut indent = None;
    for line in text.lines() {
        let own = line.len() - line.trim_start().len();
        match indent {
            None if line.trim_start() == FAIRNESS => indent = Some(own),
            None => out += &format!("{line}\n"),
            Some(open) if own == open => {
                indent = None;
                if line.ends_with(']') {
                    out.truncate(out.trim_end_matches(",\n").len());
                    out.push('\n');
                }
            }
            Some(_) => {}
        }
    }
    out
}

/// The summary as it is, but for the words of its warnings: how many there are is a result, how they are put is not.
fn summary(file: &Path) -> Vec<u8> {
    let text = without_fairness(&fs::read_to_string(file).unwrap());
    let (mut within, mut in_startup) = (false, false);
    let mut out = String::new();
    let hop = format!("\"{}\": {},", HOP.0, HOP.1);
    let mut is_new = |line: &&str| {
        let line = line.trim_start();
        // With its percentiles, if there are any.
        if in_startup {
            in_startup = !line.starts_with('}');
            return true;
        }
        if line.starts_with(STARTUP) {
            in_startup = line.ends_with('{');
            return true;
        }
        line == hop || CAUSES.iter().any(|key| line.starts_with(key))
    };
    for line in text.lines().filter(|line| !is_new(line)) {
        within &= line.trim_start().starts_with('"');
        out.push_str(if within { "a warning" } else { line });
        out.push('\n');
        within |= line.ends_with("\"warnings\": [");
    }
    out.into_bytes()
}

fn content(file: &Path) -> Vec<u8> {
    match file.extension().and_then(|suffix| suffix.to_str()) {
        Some("parquet") => rows(file),
        Some("json") => summary(file),
        _ => fs::read(file).unwrap(),
    }
}

/// The hashes of all results, by scenario, seed and file.
fn hashes() -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut hashes = BTreeMap::new();
    for case in scenarios::cases() {
        let file = format!("{}.toml", case.name);
        let out = folder.path().join(&case.name);
        fs::write(folder.path().join(&file), &case.text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_quell"))
            .current_dir(&folder)
            // By its name alone, which warnings repeat.
            .args(["run", &file])
            .args(["--packets", "--out"])
            .arg(&out)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", case.name);
        for seed in ["seed1", "seed7"] {
            for name in FILES {
                let hash = Sha256::digest(content(&out.join(seed).join(name)));
                let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
                hashes.insert(format!("{} {seed} {name}", case.name), digits);
            }
        }
        // All of them together are large.
        fs::remove_dir_all(&out).unwrap();
    }
    hashes
}

#[test]
fn no_result_has_changed() {
    let now = hashes();
    if std::env::var_os("QUELL_RECORD").is_some() {
        let mut text = String::new();
        for (name, hash) in &now {
            writeln!(text, "{hash} {name}").unwrap();
        }
        fs::write(RECORDED, text).unwrap();
        return;
    }
    let recorded = fs::read_to_string(RECORDED).unwrap();
    let recorded: BTreeMap<String, String> = recorded
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(hash, name)| (name.to_owned(), hash.to_owned()))
        .collect();
    assert!(now.keys().eq(recorded.keys()), "other scenarios or files");
    let changed: Vec<&String> = now
        .iter()
        .filter(|(name, hash)| recorded[*name] != **hash)
        .map(|(name, _)| name)
        .collect();
    assert!(
        changed.is_empty(),
        "{} of {} changed: {changed:#?}",
        changed.len(),
        now.len()
    );
}

#[test]
fn each_control_and_marker_is_among_them() {
    let texts: String = scenarios::cases()
        .into_iter()
        .map(|case| case.text)
        .collect();
    let controls = quell_tcp::cc::KINDS.iter().map(|kind| kind.name);
    let markers = quell_aqm::marker::MARKERS.iter().map(|entry| entry.name);
    // The marker of those that name none.
    for name in controls.chain(markers.filter(|name| *name != "random")) {
        assert!(texts.contains(&format!("\"{name}\"")), "{name}");
    }
}
