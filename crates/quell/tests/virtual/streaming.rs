//! Adaptive streaming over real TCP in virtual time, beside the simulator.

use std::fs;

use serde_json::Value;

use crate::stage::Stage;

/// What the group `group` of `file` reports in `world`, with these settings.
fn app(stage: &Stage, file: &str, world: &str, group: usize, sets: &[&str]) -> Value {
    let out = format!(
        "out{}-{world}",
        sets.join(" ").replace(['=', '.', ' '], "-")
    );
    let mut command = stage.quell(&["run", file, "--json", "--world", world, "--out", &out]);
    for set in sets {
        command.args(["--set", set]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}: {said}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    summary["groups"][group]["app"].clone()
}

/// A full buffer asks for 3.75 MB every 5 s: on for the RTT and their time on the link, 7 + 777 ms, and off for the rest.
#[test]
fn streaming_over_an_idle_link_is_on_and_off_as_the_closed_form_says() {
    let Some(stage) =
        Stage::new("streaming_over_an_idle_link_is_on_and_off_as_the_closed_form_says")
    else {
        return;
    };
    let scenario = include_str!("../../../../scenarios/has/idle.toml");
    fs::write(stage.path().join("idle.toml"), scenario).unwrap();
    let on = 7.0 + 3_750_000.0 / 1_448.0 * 0.3;
    for world in ["sim", "virtual"] {
        let app = app(&stage, "idle.toml", world, 0, &[]);
        for (figure, expected) in [("on_ms", on), ("off_ms", 5_000.0 - on)] {
            for part in ["min", "p50", "max"] {
                let found = app[figure][part].as_f64().unwrap();
                println!("{world}: {figure} {part} {found:.2}, closed form {expected:.2}");
                let off = found / expected - 1.0;
                assert!(off.abs() < 0.03, "{world}: {figure} {part} {found}");
            }
        }
        assert_eq!((&app["stalls"], &app["switches"]), (&0.into(), &0.into()));
        assert_eq!(app["bytes"], 75_000_000, "{world}");
    }
}

/// Four players and ten downloads, all Reno: the level within 8 %, and no more than one stall apart.
#[test]
fn streaming_beside_downloads_is_alike_in_the_simulator_and_over_real_tcp() {
    let name = "streaming_beside_downloads_is_alike_in_the_simulator_and_over_real_tcp";
    let Some(stage) = Stage::new(name) else {
        return;
    };
    let scenario = include_str!("../../../../scenarios/has/ten-downloads.toml");
    fs::write(stage.path().join("ten.toml"), scenario).unwrap();
    for queue in ["pie", "fq_codel"] {
        let queue = format!("link.queue.kind={queue}");
        let sets = [
            &queue[..],
            "group.players.congestion-control=reno",
            // Takes the whole share: less depends on chance than with the other rules.
            "group.players.app.abr=bola-basic",
            "run.duration=120s",
            "run.seeds=[1]",
        ];
        let [sim, real] = ["sim", "virtual"].map(|world| app(&stage, "ten.toml", world, 0, &sets));
        let of = |app: &Value, figure: &str| app[figure].as_f64().unwrap();
        let ratio = of(&sim, "bitrate_bps") / of(&real, "bitrate_bps");
        let apart = of(&sim, "stalls") - of(&real, "stalls");
        println!("{queue}: levels {ratio:.3}, stalls {apart}");
        assert!((ratio - 1.0).abs() < 0.08, "{queue}: {ratio}");
        assert!(apart.abs() <= 1.0, "{queue}: {apart}");
    }
}
