//! The rate of the link, its changes, and who limited.

use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use crate::Case;
use crate::fixture::{COUNT, Fake, SERVER, SOURCE, TRICKLE, read_json};

pub(crate) const CASES: &[Case] = &[
    (
        "a_download_fills_the_link_and_the_report_says_so",
        a_download_fills_the_link_and_the_report_says_so,
    ),
    (
        "who_limited_is_the_one_who_did",
        who_limited_is_the_one_who_did,
    ),
    (
        "changes_happen_at_their_times_and_results_are_written",
        changes_happen_at_their_times_and_results_are_written,
    ),
    (
        "losses_damage_copies_and_the_rtt_change_at_their_times",
        losses_damage_copies_and_the_rtt_change_at_their_times,
    ),
];

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

/// Takes down how late the link was.
fn note(run: &mut Run, report: &Value, tolerable_ms: f64) {
    for direction in ["lateness_ms", "reverse_lateness_ms"] {
        let late = number(report, &format!("/summary/link/{direction}/p99"));
        run.was_late(late, tolerable_ms);
    }
}

fn a_download_fills_the_link_and_the_report_says_so(fake: &Fake) {
    let test = "a_download_fills_the_link_and_the_report_says_so";
    live(test, |run| {
        let options = [
            "--down",
            "20mbit",
            "--up",
            "20mbit",
            "--rtt",
            "20ms",
            "--queue",
            "fifo:limit=50ms",
            // A control of this machine may keep the queue short: BBR does.
            "--cc",
            "cubic",
            "--far-cc",
            "cubic",
        ];
        let (said, report) = fake.role(&options, "read", &format!("{SERVER}:{SOURCE} 5"));
        note(run, &report, 1.0);
        let goodput = said.trim().parse::<f64>().unwrap() * 8.0 / 5.0 / 1e6;
        // 1448 of 1500 bytes are payload; the first round trips are slow.
        bound!((17.0..=19.4).contains(&goodput), "{goodput} Mbit/s");
        bound!(
            number(&report, "/exec/limited_by/down/link") > 0.8,
            "{:#}",
            report["exec"]["limited_by"]
        );
        bound!(
            number(&report, "/summary/queues/0/delay_ms/mean") > 10.0,
            "{:#}",
            report["summary"]["queues"]
        );
        bound!(
            number(&report, "/summary/queues/0/delay_ms/max") < 51.0,
            "{:#}",
            report["summary"]["queues"]
        );
        assert_eq!(report["summary"]["link"]["lost_outside"], 0);
        // The same upwards.
        let bytes = 6_000_000.0;
        let (_, report) = fake.role(&options, "count", &format!("{SERVER}:{COUNT} {bytes}"));
        let _ = fake.ends.recv();
        note(run, &report, 1.0);
        let seconds = number(&report, "/summary/duration_s");
        let least = bytes * 8.0 / 20e6;
        bound!((least..2.0 * least).contains(&seconds), "{seconds} s");
        bound!(
            number(&report, "/exec/limited_by/up/link") > 0.6,
            "{:#}",
            report["exec"]["limited_by"]
        );
        Ok::<(), Missed>(())
    });
}

fn who_limited_is_the_one_who_did(fake: &Fake) {
    live("who_limited_is_the_one_who_did", |run| {
        let options = ["--down", "20mbit", "--rtt", "10ms", "--far-cc", "cubic"];
        // A server that sends 4 Mbit/s, a program that reads 2 Mbit/s, and both behind a link that loses 1 %: with 40 ms, CUBIC gets 3 Mbit/s.
        let lossy = ["--delay", "20ms", "--loss", "1%"];
        let slow = format!("{SERVER}:{SOURCE} 4 250000");
        for (more, role, who) in [
            (&options[2..4], format!("{SERVER}:{TRICKLE} 4"), "beyond"),
            (&options[2..4], slow.clone(), "program"),
            (&lossy, format!("{SERVER}:{SOURCE} 4"), "losses"),
            (&["--loss", "0.0001", "--rtt", "10ms"], slow, "program"),
        ] {
            let options = [&options[..2], &options[4..], more].concat();
            let (_, report) = fake.role(&options, "read", &role);
            let tolerable = number(&report, "/exec/rtt_ms") / 20.0;
            note(run, &report, tolerable);
            if who == "losses" {
                let share = number(&report, "/exec/felt/lost_outside_down");
                bound!(
                    (0.002..0.03).contains(&share),
                    "{:#}",
                    report["exec"]["felt"]
                );
            }
            let share = number(&report, &format!("/exec/limited_by/down/{who}"));
            bound!(share > 0.7, "{who}: {:#}", report["exec"]["limited_by"]);
        }
        Ok::<(), Missed>(())
    });
}

fn changes_happen_at_their_times_and_results_are_written(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("result");
    let options = [
        "--down",
        "40mbit",
        "--queue",
        "dualpi2",
        "--far-cc",
        "cubic",
        "--at",
        "2s",
        "down=5mbit",
        "--rtt",
        "5ms",
        "--packets",
        "--out",
        out.to_str().unwrap(),
    ];
    live(
        "changes_happen_at_their_times_and_results_are_written",
        |run| {
            let _ = std::fs::remove_dir_all(&out);
            let (_, report) = fake.role(&options, "read", &format!("{SERVER}:{SOURCE} 4"));
            note(run, &report, 0.25);
            for name in [
                "summary.json",
                "run.json",
                "exec.json",
                "histograms.json",
                "queues.parquet",
                "scenario.toml",
                "packets.pcapng",
            ] {
                assert!(out.join(name).is_file(), "{name}");
            }
            assert_eq!(read_json(&out.join("exec.json")), report["exec"]);
            let summary = read_json(&out.join("summary.json"));
            assert_eq!(summary, report["summary"]);
            let phases = summary["phases"].as_array().unwrap();
            assert_eq!(phases.len(), 2, "{phases:#?}");
            assert_eq!(number(&phases[1], "/start_s"), 2.0);
            let rates = phases.iter().map(|phase| number(phase, "/link/rate_bps"));
            assert_eq!(rates.collect::<Vec<_>>(), [40e6, 5e6]);
            let used = number(&phases[1], "/link/utilisation");
            bound!(used > 0.8, "{used}");
            Ok::<(), Missed>(())
        },
    );
}

fn losses_damage_copies_and_the_rtt_change_at_their_times(fake: &Fake) {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("result");
    let options = |more: &[&str]| -> Vec<String> {
        let usual = ["--down", "20mbit", "--delay", "5ms", "--far-cc", "cubic"];
        usual.iter().chain(more).map(ToString::to_string).collect()
    };
    let read = |options: Vec<String>, seconds: u32| {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let (said, report) = fake.role(&options, "read", &format!("{SERVER}:{SOURCE} {seconds}"));
        (said.trim().parse::<f64>().unwrap(), report)
    };
    // From 1 s to 3 s nothing comes, whether it is lost or every packet is damaged; at most 20 Mbit/s before that and later.
    for (outage, over) in [
        ("loss=100%", "loss=0%"),
        ("down.corrupt=100%", "down.corrupt=0%"),
    ] {
        let (bytes, report) = read(options(&["--at", "1s", outage, "--at", "3s", over]), 4);
        assert!(
            (1e5..2.4 * 20e6 / 8.0).contains(&bytes),
            "{outage}: {bytes}"
        );
        let link = &report["summary"]["link"];
        let counted = [&link["lost_outside"], &link["corrupted"]];
        let more = counted.iter().filter_map(|count| count.as_u64()).max();
        assert!(more > Some(3), "{outage}: {link:#}");
    }
    // It goes on after the outage, with copies, and the result can be played again with its RTTs.
    let more = [
        "--up-loss",
        "0.1%",
        "--down-duplicate",
        "10%",
        "--down-reorder",
        "1%:hold=2ms",
        "--ecn",
        "off",
        "--down-rule",
        "not-ect>ect1:probability=10%",
        "--at",
        "500ms",
        "loss=100%",
        "--at",
        "700ms",
        "loss=0%",
        "--at",
        "2s",
        "rtt=60ms",
        "--out",
        folder.to_str().unwrap(),
    ];
    let (bytes, report) = read(options(&more), 4);
    assert!(bytes > 100_000.0, "{bytes}");
    let link = &report["summary"]["link"];
    assert!(link["duplicated"].as_u64() > Some(100), "{link:#}");
    assert_eq!(link.get("corrupted"), None);
    // The rule is about each packet on the wire, of which the far edge's TCP sends many at once.
    let rule = &report["summary"]["rules"][0];
    let [kept, changed] = ["/codes/0/0", "/codes/0/1"].map(|code| number(rule, code));
    let all = kept + changed;
    assert!(
        all > bytes / 1_500.0 && changed == number(rule, "/matched"),
        "{rule:#}"
    );
    let deviation = (0.1 * 0.9 * all).sqrt();
    assert!((changed - 0.1 * all).abs() < 4.0 * deviation, "{rule:#}");
    let received = number(&report, "/exec/down/ecn/received/ect1");
    assert!(received >= changed, "{received} of {changed}, with copies");
    let scenario = std::fs::read_to_string(folder.join("scenario.toml")).unwrap();
    assert!(scenario.contains("rtts = [\"2s 60ms\"]"), "{scenario}");
    assert!(
        scenario.contains("\"link.reverse.impair.loss\" = 1"),
        "{scenario}"
    );
    let again = ["--scenario", folder.join("scenario.toml").to_str().unwrap()].map(str::to_owned);
    assert!(read(again.to_vec(), 1).0 > 0.0);
}
