//! Packet values in the live world: real packets get them from the same markers, and share by them as modelled ones do.

use std::fs;
use std::process::{Child, Command, Stdio};

use quell_testing::{Missed, bound, live};
use serde_json::Value;
use tempfile::TempDir;

use crate::pcapng;
use crate::support::*;

const HEAD: &str = "schema = 1\nname = \"values\"\n[link]\nrate = \"20mbit\"\n";

/// A run that was started, in a folder of its own.
struct Started {
    child: Child,
    folder: TempDir,
}

/// Of each packet its group, its interface and its value.
type Packets = Vec<(String, String, Option<u16>)>;

impl Started {
    fn new(world: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("values.toml");
        fs::write(&file, text).unwrap();
        let child = Command::new(QUELL)
            .args(["run", file.to_str().unwrap(), "--world", world])
            .args(["--json", "--packets", "--out"])
            .arg(folder.path().join("out"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    fn end(self) -> (Value, Packets) {
        let summary = summary(&self.child.wait_with_output().unwrap());
        let packets = pcapng::read(&self.folder.path().join("out/packets.pcapng"));
        let seen = packets.iter().map(|packet| {
            let value = packet.says("value").parse().ok();
            (
                packet.says("group").to_owned(),
                packet.interface.clone(),
                value,
            )
        });
        (summary, seen.collect())
    }
}

/// Datagrams and TCP on links of their own, in both worlds at once.
#[test]
fn real_datagrams_and_data_of_real_tcp_share_the_link_by_their_values() {
    let test = "real_datagrams_and_data_of_real_tcp_share_the_link_by_their_values";
    live(test, |run| {
        if !can_run(test) {
            return Ok(());
        }
        let worlds = ["live", "sim"];
        let datagrams = worlds.map(|world| Started::new(world, &of_datagrams()));
        let data = worlds.map(|world| Started::new(world, &of_tcp()));
        // All of them end before the first is judged.
        let [datagrams, data] = [datagrams, data].map(|both| both.map(Started::end));
        note(run, &datagrams[0].0, 10.0);
        note(run, &data[0].0, 10.0);
        let mut means = Vec::new();
        for (world, (summary, packets)) in worlds.iter().zip(&datagrams) {
            datagrams_share(world, summary, packets, &mut means)?;
        }
        // Gold is 64 codes above silver at any rate, one factor of two; the mean of code(r), r below 20 Mbit/s, is 64·log₂(e) above
        // that of 20 Mbit/s: 786 + 92 = 878.
        for (mean, expected) in means.iter().zip([878.0, 814.0].iter().cycle()) {
            bound!((mean - expected).abs() < 10.0, "{means:?}");
        }
        let mut all = worlds.iter().zip(&data);
        all.try_for_each(|(world, (summary, packets))| gold_gets_more(world, summary, packets))
    });
}

/// Each offers as much as the link carries.
fn of_datagrams() -> String {
    let group = |name: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\nvalue = \"{name}\"\nrtt = \"10ms\"\n\
             app = {{ kind = \"cbr\", size = \"1250B\", interval = \"500us\" }}\n"
        )
    };
    let queue = "queue = { kind = \"drop_min_value\", limit = \"100p\" }\n";
    let tail = "[run]\nduration = \"5s\"\nwarmup = \"2s\"\n";
    [HEAD, queue, &group("gold"), &group("silver"), tail].concat()
}

fn datagrams_share(
    world: &str,
    summary: &Value,
    packets: &Packets,
    means: &mut Vec<f64>,
) -> Result<(), Missed> {
    let ratio = goodput(summary, 0) / goodput(summary, 1);
    bound!((1.8..2.2).contains(&ratio), "{world}: {ratio}");
    bound!(number(summary, "/link/utilisation") > 0.95, "{summary:#}");
    bound!(number(summary, "/link/lost_outside") == 0.0, "{summary:#}");
    for name in ["gold", "silver"] {
        let of_group = packets.iter().filter(|(group, ..)| group == name);
        let values: Option<Vec<u16>> = of_group.map(|(.., value)| *value).collect();
        let values = values.expect("each has a value");
        let late = &values[values.len() / 2..];
        let sum: f64 = late.iter().copied().map(f64::from).sum();
        means.push(sum / late.len() as f64);
    }
    Ok(())
}

fn of_tcp() -> String {
    let group = |name: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\nvalue = \"{name}\"\ncount = 2\nrtt = \"10ms\"\necn = \"off\"\n\
             app = {{ kind = \"bulk\" }}\n"
        )
    };
    let queue = "queue = { kind = \"vdq_csaqm\" }\n";
    let tail = "[run]\nduration = \"8s\"\nwarmup = \"2s\"\n";
    [HEAD, queue, &group("gold"), &group("silver"), tail].concat()
}

fn gold_gets_more(world: &str, summary: &Value, packets: &Packets) -> Result<(), Missed> {
    let ratio = goodput(summary, 0) / goodput(summary, 1);
    // Two flows of each for six seconds; over seven it was 1.87 and 1.91.
    bound!((1.5..2.5).contains(&ratio), "{world}: {ratio}");
    for (group, interface, value) in packets.iter().filter(|(group, ..)| !group.is_empty()) {
        assert_eq!(value.is_some(), interface == "forward", "{group}");
    }
    Ok(())
}
