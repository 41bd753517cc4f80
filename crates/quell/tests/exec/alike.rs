//! A program behind a link finds the queue that `quell run` finds with the same link and the same TCP.

use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use crate::Case;
use crate::fixture::{COUNT, Fake, SERVER};

pub(crate) const CASES: &[Case] = &[(
    "an_upload_waits_as_long_as_in_a_run_of_the_same_link",
    an_upload_waits_as_long_as_in_a_run_of_the_same_link,
)];

/// Several periods of CUBIC's sawtooth, of about 4 s at this rate and delay.
const SECONDS: u64 = 30;
/// The mean sojourn times differ by this share at most.
const SHARE: f64 = 0.05;

fn scenario() -> String {
    let queue = "queue = { kind = \"fifo\", limit = \"100ms\" }";
    format!(
        "schema = 1\nname = \"pair\"\n[link]\nrate = \"10mbit\"\n{queue}\n[link.reverse]\nrate = \"10mbit\"\n{queue}\n\
         [[group]]\nname = \"up\"\ndirection = \"reverse\"\ncongestion-control = \"cubic\"\necn = \"off\"\nrtt = \"40ms\"\n\
         app = {{ kind = \"bulk\" }}\n[run]\nduration = \"{SECONDS}s\"\nwarmup = \"0s\"\n"
    )
}

/// The mean sojourn time of the queue of what is sent, in ms.
fn mean(summary: &Value, run: &mut Run) -> f64 {
    let late = |key: &str| {
        summary
            .pointer(&format!("/link/{key}/p99"))
            .and_then(Value::as_f64)
    };
    for key in ["lateness_ms", "reverse_lateness_ms"] {
        run.was_late(late(key).unwrap(), 2.0);
    }
    let mut queues = summary["queues"].as_array().unwrap().iter();
    let queue = queues.find(|queue| queue["direction"] == "reverse");
    let mean = queue.and_then(|queue| queue.pointer("/delay_ms/mean"));
    mean.and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{summary:#}"))
}

fn an_upload_waits_as_long_as_in_a_run_of_the_same_link(fake: &Fake) {
    let test = "an_upload_waits_as_long_as_in_a_run_of_the_same_link";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pair.toml");
    std::fs::write(&file, scenario()).unwrap();
    live(test, |run| {
        let options = [
            "--rate",
            "10mbit",
            "--rtt",
            "40ms",
            "--queue",
            "fifo:limit=100ms",
            "--cc",
            "cubic",
            "--ecn",
            "off",
        ];
        let words = format!("{SERVER}:{COUNT} {SECONDS}");
        let (_, report) = fake.role(&options, "upload", &words);
        let _ = fake.ends.recv();
        let behind = mean(&report["summary"], run);
        let out = folder.path().join(format!("out-{behind}"));
        let file = file.to_str().unwrap();
        let arguments = [
            "run",
            file,
            "--world",
            "live",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ];
        let output = fake.output(&mut fake.quell(&arguments));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let summary = serde_json::from_slice(&output.stdout).unwrap();
        let alone = mean(&summary, run);
        println!("{test}: {behind:.2} ms behind exec, {alone:.2} ms in a run");
        bound!(
            (behind / alone - 1.0).abs() <= SHARE,
            "{behind} ms behind exec, {alone} ms in a run"
        );
        Ok::<(), Missed>(())
    });
}
