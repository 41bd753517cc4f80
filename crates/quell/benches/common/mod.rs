//! A bulk scenario over one drop-tail queue through `quell run`, and what the run tells of itself.
// Each benchmark uses its part, and none of it is part of an interface.
#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Flows of CUBIC without end that share a link; base RTT 40 ms, drop-tail.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub flows: u32,
    pub rate_bps: u64,
    /// What the queue holds, at the link's rate.
    pub queue_ms: u64,
    /// Whole seconds, warm-up included.
    pub warmup: u64,
    pub seconds: u64,
}

/// Base RTT in microseconds.
pub const RTT_US: u64 = 40_000;

/// What a run was like.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// From start to end.
    pub packets: f64,
    pub events: f64,
    /// User and system, files and all.
    pub cpu_s: f64,
    pub peak_memory: f64,
    /// After the warm-up.
    pub utilisation: f64,
    pub delay_ms: f64,
    pub goodput_bps: f64,
    pub drop_ratio: f64,
}

impl Scenario {
    /// The queue's limit in bytes.
    pub fn limit(&self) -> u64 {
        self.rate_bps / 8_000 * self.queue_ms
    }

    /// As a file.
    pub fn text(&self) -> String {
        let Self {
            flows,
            rate_bps,
            queue_ms: _,
            warmup,
            seconds,
        } = self;
        format!(
            "schema = 1\nname = \"speed\"\n\
             [link]\nrate = \"{rate_bps}bit\"\nqueue = {{ kind = \"fifo\", limit = \"{}B\" }}\n\
             [[group]]\nname = \"bulk\"\ncount = {flows}\ncongestion-control = \"cubic\"\n\
             rtt = \"40ms\"\napp = {{ kind = \"bulk\" }}\n\
             [run]\nduration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\n",
            self.limit()
        )
    }

    /// Runs the binary of this build, in a folder of its own.
    pub fn run(&self) -> Result<Run, String> {
        self.run_in(Path::new(env!("CARGO_BIN_EXE_quell")), &[])
    }

    /// The same with another program, and with more arguments.
    pub fn run_in(&self, program: &Path, more: &[&str]) -> Result<Run, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (file, out) = (folder.path().join("speed.toml"), folder.path().join("out"));
        std::fs::write(&file, self.text()).map_err(|error| error.to_string())?;
        let mut quell = Command::new(program);
        quell
            .arg("run")
            .arg(&file)
            .args(more)
            .arg("--out")
            .arg(&out);
        let output = quell.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let (facts, summary) = (read(&out, "run.json")?, read(&out, "summary.json")?);
        let number = |value: &Value, path: &str| {
            let found = value.pointer(path).and_then(Value::as_f64);
            found.ok_or_else(|| format!("the results have no {path}"))
        };
        let goodput = summary["groups"][0]["goodput_bps"].as_array();
        Ok(Run {
            packets: number(&facts, "/packets")?,
            events: number(&facts, "/events")?,
            cpu_s: number(&facts, "/cpu_s")?,
            peak_memory: number(&facts, "/peak_memory_bytes")?,
            utilisation: number(&summary, "/link/utilisation")?,
            delay_ms: number(&summary, "/queues/0/delay_ms/mean")?,
            goodput_bps: goodput.map_or(0.0, |flows| flows.iter().filter_map(Value::as_f64).sum()),
            drop_ratio: number(&summary, "/queues/0/drop_ratio")?,
        })
    }
}

fn read(folder: &Path, name: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Processor time of a program and all that it starts and waits for, in seconds, in `folder`, beside a scenario as `speed.toml`.
pub fn processor_time(
    program: &str,
    arguments: &[&str],
    scenario: Option<&str>,
    folder: &Path,
) -> Result<f64, String> {
    if let Some(scenario) = scenario {
        std::fs::write(folder.join("speed.toml"), scenario).map_err(|error| error.to_string())?;
    }
    // `times` prints the shell's own time, and then that of its children.
    let shell = ["-c", "rm -rf out; \"$0\" \"$@\" >output 2>&1 && times"];
    let mut command = Command::new("sh");
    command.args(shell).arg(program).args(arguments);
    let output = command
        .current_dir(folder)
        .output()
        .map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let children = told.lines().nth(1).unwrap_or_default().split_whitespace();
    let mut spent = 0.0;
    for time in children {
        let (minutes, seconds) = time
            .trim_end_matches('s')
            .split_once('m')
            .unwrap_or(("", time));
        let number = |text: &str| {
            text.parse::<f64>()
                .map_err(|error| format!("{time}: {error}"))
        };
        spent += 60.0 * number(minutes)? + number(seconds)?;
    }
    if output.status.success() {
        // Nobody waits for the processes of a live run; it says itself what its link took.
        let facts = read(&folder.join("out"), "run.json").unwrap_or_default();
        return Ok(spent.max(facts["cpu_s"].as_f64().unwrap_or(0.0)));
    }
    let output = std::fs::read_to_string(folder.join("output")).unwrap_or_default();
    Err(output.lines().last().unwrap_or("it failed").to_owned())
}

/// The middle one; of an even number, the lower of the two.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(f64::NAN)
}
