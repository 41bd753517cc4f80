//! A call and a game beside a download: the simulator beside real sockets and real TCP in virtual time.
//!
//! Their datagrams are the same in both worlds, so that what differs is the download's queue: a MOS to 0.1, and median delays to a
//! few milliseconds.

use std::fs;

use quell_measure::Summary;

use crate::stage::Stage;

fn scenario(queue: &str, ecn: &str) -> String {
    format!(
        "schema = 1\nname = \"calls\"\n[link]\nrate = \"10mbit\"\n[link.queue]\n{queue}\n[link.reverse]\nrate = \"5mbit\"\n\
         [[group]]\nname = \"download\"\ncongestion-control = \"cubic\"\nrtt = \"20ms\"\napp = {{ kind = \"bulk\" }}\n\
         [[group]]\nname = \"call\"\nrtt = \"20ms\"\necn = \"{ecn}\"\napp = {{ kind = \"voice\", codec = \"g711-10\" }}\n\
         [[group]]\nname = \"game\"\nrtt = \"20ms\"\necn = \"{ecn}\"\napp = {{ kind = \"game\", tick = \"30ms\" }}\n\
         [run]\nduration = \"40s\"\nwarmup = \"10s\"\n"
    )
}

/// A figure of the application of group `name`: of a distribution, `part`.
fn figure(summary: &Summary, name: &str, figure: &str, part: Option<&str>) -> f64 {
    let groups = &summary.figures.groups;
    let group = groups.iter().find(|group| group.name == name).unwrap();
    let app = serde_json::to_value(group.app.as_ref().unwrap()).unwrap();
    let value = part.map_or(&app[figure], |part| &app[figure][part]);
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{name} {figure}: {app}"))
}

fn run(stage: &Stage, name: &str, world: &str) -> Summary {
    let out = format!("{name}-{world}");
    let output = stage
        .quell(&[
            "run",
            &format!("{name}.toml"),
            "--world",
            world,
            "--out",
            &out,
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}: {said}");
    let summary = fs::read_to_string(stage.path().join(out).join("summary.json")).unwrap();
    serde_json::from_str(&summary).unwrap()
}

#[test]
fn calls_and_games_sound_and_feel_alike_in_the_simulator_and_over_real_sockets() {
    let name = "calls_and_games_sound_and_feel_alike_in_the_simulator_and_over_real_sockets";
    let Some(stage) = Stage::new(name) else {
        return;
    };
    for (point, queue, ecn) in [
        ("tail", "kind = \"fifo\"\nlimit = \"100ms\"", "off"),
        ("l4s", "kind = \"dualpi2\"", "ect1"),
    ] {
        fs::write(
            stage.path().join(format!("{point}.toml")),
            scenario(queue, ecn),
        )
        .unwrap();
        let [sim, guest] = ["sim", "virtual"].map(|world| run(&stage, point, world));
        for key in ["mos", "back_mos"] {
            let [sim, guest] = [&sim, &guest].map(|world| figure(world, "call", key, None));
            assert!((sim - guest).abs() < 0.1, "{point} {key}: {sim} {guest}");
        }
        // The plan is the same, so are the numbers of datagrams, except for those at the cuts.
        for (group, key) in [
            ("call", "sent"),
            ("call", "back_sent"),
            ("game", "sent"),
            ("game", "back_sent"),
        ] {
            let [sim, guest] = [&sim, &guest].map(|world| figure(world, group, key, None));
            assert!(
                (sim - guest).abs() <= 2.0,
                "{point} {group} {key}: {sim} {guest}"
            );
        }
        for (group, key) in [
            ("call", "one_way_delay_ms"),
            ("call", "back_one_way_delay_ms"),
            ("game", "one_way_delay_ms"),
            ("game", "back_one_way_delay_ms"),
            ("game", "network_rtt_ms"),
        ] {
            let [sim, guest] = [&sim, &guest].map(|world| figure(world, group, key, Some("p50")));
            // The queue differs by 5 % of its delay, and the hosts by their clock.
            let bound = 0.5 + 0.08 * sim.min(guest);
            assert!(
                (sim - guest).abs() < bound,
                "{point} {group} {key}: {sim} {guest}"
            );
        }
    }
}

/// A desktop and a terminal alone on a link: over TCP, with plans that are the same.
const OVER_TCP: &str = r#"schema = 1
name = "over-tcp"
[link]
rate = "10mbit"
queue = "fifo"
[[group]]
name = "desktop"
rtt = "20ms"
app = { kind = "game", traffic = "desktop" }
[[group]]
name = "terminal"
rtt = "20ms"
app = { kind = "game", traffic = "ssh" }
[run]
duration = "60s"
warmup = "0s"
"#;

#[test]
fn what_is_typed_shows_alike_in_the_simulator_and_over_real_tcp() {
    let name = "what_is_typed_shows_alike_in_the_simulator_and_over_real_tcp";
    let Some(stage) = Stage::new(name) else {
        return;
    };
    fs::write(stage.path().join("over-tcp.toml"), OVER_TCP).unwrap();
    let [sim, guest] = ["sim", "virtual"].map(|world| run(&stage, "over-tcp", world));
    for (group, key) in [
        ("terminal", "command_to_state_ms"),
        ("terminal", "network_rtt_ms"),
        ("terminal", "one_way_delay_ms"),
        ("desktop", "network_rtt_ms"),
        ("desktop", "back_one_way_delay_ms"),
        ("desktop", "command_to_state_ms"),
    ] {
        let [sim, guest] = [&sim, &guest].map(|world| figure(world, group, key, Some("p50")));
        println!("{group} {key}: {sim} {guest}");
        assert!(
            (sim / guest - 1.0).abs() < 0.02,
            "{group} {key}: {sim} {guest}"
        );
    }
    // The base RTT, 80 microseconds for a state of 100 bytes, and what hosts take.
    let alone = figure(&sim, "terminal", "command_to_state_ms", Some("p50"));
    assert!((20.08..20.5).contains(&alone), "{alone}");
    for (group, key) in [
        ("terminal", "back_sent"),
        ("desktop", "sent"),
        ("desktop", "back_sent"),
    ] {
        let [sim, guest] = [&sim, &guest].map(|world| figure(world, group, key, None));
        assert!((sim - guest).abs() <= 2.0, "{group} {key}: {sim} {guest}");
    }
}
