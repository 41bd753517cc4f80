//! The controls that quell compiles into a kernel, at work in a guest. How closely they follow the simulator's is for
//! `make validate-controls`.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::stage::Stage;
use quell_testing::not_run;

/// One flow over a link whose queue marks or drops early.
const ALONE: &str = r#"
schema = 1
name = "own-control"
link = { rate = "10mbit", queue = { kind = "fq_codel" } }
group = [{ name = "a", congestion-control = CONTROL, rtt = "10ms", app = { kind = "bulk" } }]
run = { duration = "6s", warmup = "2s" }
"#;

/// Goodput of group `index` in Mbit/s.
fn goodput(summary: &Value, index: usize) -> f64 {
    summary["groups"][index]["goodput_bps"][0].as_f64().unwrap() / 1e6
}

#[test]
fn each_control_fills_the_link_as_in_the_simulator() {
    let Some(stage) = Stage::with_own_controls("virtual quell's own controls") else {
        return;
    };
    for control in ["prague", "bbr2", "bbr3", "compound", "htcp", "bbr1"] {
        // The guest's hosts have no fq.
        let spec = match control {
            "prague" => "{ name = \"prague\", fq = false }".to_owned(),
            plain => format!("\"{plain}\""),
        };
        fs::write(
            stage.path().join("own.toml"),
            ALONE.replace("CONTROL", &spec),
        )
        .unwrap();
        let of = |world: &str| {
            let out = format!("{control}-{world}");
            let mut run = stage.quell(&["run", "own.toml", "--world", world, "--out", &out]);
            let output = run.output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{control}: {errors}");
            stage.json(&format!("{out}/summary.json"))
        };
        let [sim, guest] = ["sim", "virtual"].map(of);
        let [modelled, real] = [&sim, &guest].map(|summary| goodput(summary, 0));
        assert!(real > 8.0, "{control}: {real} Mbit/s of 10");
        // Of 4 s, with one PROBE_RTT of BBR v2 and v3 in them at most.
        assert!(
            (real / modelled - 1.0).abs() < 0.04,
            "{control}: {real} and {modelled} Mbit/s"
        );
    }
}

/// Two flows are marked until the link becomes faster than both.
const MARKED: &str = r#"
schema = 1
name = "feedback"
link = { rate = "20mbit", queue = { kind = "dualpi2" } }
group = [
  { name = "a", congestion-control = "FIRST", ecn = "ect1", rtt = "10ms", app = { kind = "bulk" } },
  { name = "b", congestion-control = "SECOND", ecn = "ect1", rtt = "20ms", app = { kind = "bulk" } },
]
at = [{ time = "4s", set = { "link.rate" = "1gbit" } }]
run = { duration = "5s", warmup = "0s" }
"#;

/// AccECN where every flow is Prague's, and where it shares its hosts; the bits of RFC 3168 for DCTCP and BBR v2.
#[test]
fn a_sender_hears_of_each_mark_that_the_link_has_set() {
    let name = "virtual marks at the link and at the sender";
    let Some(stage) = Stage::with_own_controls(name) else {
        return;
    };
    if Command::new("ss").arg("-V").output().is_err() {
        not_run(name, "there is no ss");
        return;
    }
    for (index, (first, second)) in [
        ("\"prague\"", "\"prague\""),
        ("\"prague\"", "\"dctcp\""),
        ("{ name = \"bbr2\", ecn = true }", "\"dctcp\""),
    ]
    .into_iter()
    .enumerate()
    {
        let text = MARKED
            .replace("\"FIRST\"", first)
            .replace("\"SECOND\"", second);
        fs::write(stage.path().join("marked.toml"), text).unwrap();
        let out = format!("marked{index}");
        let mut run = stage.quell(&["run", "marked.toml", "--world", "virtual", "--out", &out]);
        run.args(["--guest-exec", "4900ms:sender:ss -tinH"]);
        let output = run.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{first} {second}: {errors}");

        let summary = stage.json(&format!("{out}/summary.json"));
        let mut at_link: Vec<u64> = (0..2)
            .map(|group| summary["groups"][group]["marked"].as_u64().unwrap())
            .collect();
        let told = format!("{out}/guest-exec/1-sender-4.9s.txt");
        let told = fs::read_to_string(stage.path().join(told)).unwrap();
        let words = told.split_whitespace();
        let mut at_sender: Vec<u64> = words
            .filter_map(|word| word.strip_prefix("delivered_ce:")?.parse().ok())
            .collect();
        at_link.sort_unstable();
        at_sender.sort_unstable();
        assert!(at_link[0] > 50, "{first} {second}: {at_link:?}");
        // AccECN is exact; what an ACK with ECE stands for may be off where a segment is lost.
        let most = u64::from(!first.contains("prague"));
        let is_same = at_sender.len() == 2
            && (0..2).all(|flow| at_sender[flow].abs_diff(at_link[flow]) <= most);
        assert!(is_same, "{first} {second}: {at_link:?} marked, {told}");
    }
}

#[test]
fn a_control_takes_the_options_that_its_kernel_has_parameters_for() {
    let Some(stage) = Stage::with_own_controls("virtual options of quell's own controls") else {
        return;
    };
    fs::write(
        stage.path().join("own.toml"),
        ALONE.replace("CONTROL", "\"prague\""),
    )
    .unwrap();
    let delay = |set: &str| {
        let arguments = [
            "run", "own.toml", "--world", "virtual", "--out", set, "--set",
        ];
        let mut run = stage.quell(&arguments);
        let output = run
            .arg(format!("group.a.congestion-control.{set}"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), errors)
    };
    // What an option does is the core's, which is compared with the simulator; here, that it arrives.
    for set in ["rtt_transition=500", "alpha_mode=1", "rtt_target=5ms"] {
        let (is_run, errors) = delay(set);
        assert!(is_run, "{errors}");
        let own = stage.json(&format!("{set}/summary.json"));
        let (is_run, errors) = delay("rtt_transition=4");
        assert!(is_run, "{errors}");
        let usual = stage.json("rtt_transition=4/summary.json");
        assert_ne!(own["groups"], usual["groups"], "{set}");
        fs::remove_dir_all(stage.path().join("rtt_transition=4")).unwrap();
    }
    let (is_run, errors) = delay("burst=1ms");
    assert!(!is_run && errors.contains("cannot set burst"), "{errors}");
}
