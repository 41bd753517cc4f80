//! `run.json`: what a result depends on besides its scenario.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use quell_kernel::machine::Usage;
use quell_measure::GroupControl;
use serde::{Deserialize, Serialize};

use crate::program::{Extension, extensions, sha256};

use rustix::time::{ClockId, clock_getres, clock_gettime};

use quell_scenario::World;
use quell_scenario::contract::Work;

/// The facts of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// Version of quell.
    pub version: &'static str,
    /// State of the repository that it was built from.
    pub build: &'static str,
    /// Name of the machine.
    pub host: String,
    /// Release of the kernel whose TCP ran: the guest's in the virtual world, else the machine's.
    pub kernel: String,
    /// Frequency of its timer ticks in Hz (`CONFIG_HZ`); `None` where it does not say.
    pub kernel_hz: Option<u64>,
    /// Architecture of the machine.
    pub machine: String,
    /// Processors that the run could use.
    pub cpus: usize,
    /// `sim`, `virtual` or `live`.
    pub world: &'static str,
    /// Of all randomness.
    pub seed: u64,
    /// The command line: the program and its arguments, as they were given.
    pub command: Vec<String>,
    /// What the environment said to quell: the variables that it reads, and any other of its name but those that look like a
    /// secret.
    pub environment: BTreeMap<String, String>,
    /// When the run started, in UTC (ISO 8601).
    pub started: String,
    /// How long it took.
    pub wall_s: f64,
    /// Processor time that it took, user and system: of its thread in the simulator, of the process in the live world; in the
    /// virtual world of its thread and the guest.
    pub cpu_s: f64,
    /// Most memory that this process has had resident so far, with the most that the guest of the virtual world had; `None` where
    /// the system does not say.
    pub peak_memory_bytes: Option<u64>,
    /// Packets that the forward queue delivered, warm-up included; `None` outside the simulator.
    pub packets: Option<u64>,
    /// Turns of the simulator's loop; `None` outside of it.
    pub events: Option<u64>,
    /// The congestion controls of the groups that have one, in their order.
    pub controls: Vec<GroupControl>,
    /// The kernel of the virtual world; `None` in the others.
    pub guest: Option<GuestFacts>,
    /// The queues and controls of other crates that the program had.
    pub extensions: Vec<Extension>,
    /// SHA-256 of the program; `None` for one without extensions.
    pub program_sha256: Option<&'static str>,
}

/// The kernel of the virtual world.
#[derive(Debug, Clone, Serialize)]
pub struct GuestFacts {
    /// Its name among this user's kernels.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// SHA-256 of its source and configuration; empty for one that was added.
    pub config_hash: String,
    /// Memory that it had at most, in bytes.
    pub memory_bytes: u64,
    /// The day on which its clock began, at 22:13:20 UTC.
    pub day: String,
    /// Release of the machine's own kernel.
    pub host_kernel: String,
    /// Frequency of the timer ticks of the machine's own kernel in Hz; `None` where it does not say.
    pub host_kernel_hz: Option<u64>,
}

/// A kernel that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningKernel {
    /// Its release.
    pub release: String,
    /// Frequency of its timer ticks in Hz.
    pub hz: Option<u64>,
}

impl RunningKernel {
    /// The kernel below this process.
    pub fn here() -> Self {
        let system = rustix::system::uname();
        // Linux's coarse clocks advance with each tick, and that is the resolution that they report.
        let tick = clock_getres(ClockId::MonotonicCoarse);
        let nanos = tick.tv_sec as u64 * 1_000_000_000 + tick.tv_nsec as u64;
        Self {
            release: system.release().to_string_lossy().into_owned(),
            hz: hz(nanos),
        }
    }
}

/// The frequency of a tick that takes so many nanoseconds. What is no tick of Linux, as of a kernel that only looks like it, has none.
fn hz(nanos: u64) -> Option<u64> {
    // Architectures have from 24 to 1 200.
    (500_000..100_000_000)
        .contains(&nanos)
        .then(|| (1_000_000_000 + nanos / 2) / nanos)
}

/// When a run started, by each clock.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    at: SystemTime,
    wall: Instant,
    cpu: (ClockId, f64),
}

impl Started {
    /// Now, on the thread that runs in `world`.
    pub fn now(world: World) -> Self {
        // Simulations and guests go on beside each other, a thread each; the live world has threads of its own.
        let clock = match world {
            World::Sim | World::Virtual => ClockId::ThreadCPUTime,
            World::Live => ClockId::ProcessCPUTime,
        };
        Self {
            at: SystemTime::now(),
            wall: Instant::now(),
            cpu: (clock, seconds(clock)),
        }
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// `VmHWM` of proc(5), in KiB there.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

/// Variables that quell reads besides those of its own name: where kernels and temporary files are.
const READ: [&str; 3] = ["HOME", "TMPDIR", "XDG_CACHE_HOME"];
/// Parts of the names of variables whose values nobody wants in a result.
const SECRETS: [&str; 5] = ["CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// What of `variables` belongs to a result.
fn environment(variables: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    let is_read = |name: &str| {
        READ.contains(&name)
            || name.starts_with("QUELL_") && !SECRETS.iter().any(|secret| name.contains(secret))
    };
    variables
        .map(|(name, value)| (lossy(name), lossy(value)))
        .filter(|(name, _)| is_read(name))
        .collect()
}

fn lossy(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}

impl Facts {
    /// Of a run that started at `started` and ends now.
    pub fn new(world: World, seed: u64, started: Started) -> Self {
        let kernel = RunningKernel::here();
        let system = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let (clock, began) = started.cpu;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            build: env!("QUELL_BUILD"),
            host: text(system.nodename()),
            kernel: kernel.release,
            kernel_hz: kernel.hz,
            machine: text(system.machine()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            world: world.name(),
            seed,
            command: std::env::args_os().map(lossy).collect(),
            environment: environment(std::env::vars_os()),
            started: Utc::from(started.at).extended(),
            wall_s: started.wall.elapsed().as_secs_f64(),
            cpu_s: seconds(clock) - began,
            peak_memory_bytes: peak_memory(),
            packets: None,
            events: None,
            controls: Vec::new(),
            guest: None,
            extensions: extensions(),
            // A world may have given up the right to read it; who starts one has asked before.
            program_sha256: sha256().ok().flatten(),
        }
    }

    /// What the simulator did.
    pub fn add_work(&mut self, work: Option<Work>) {
        self.packets = work.map(|work| work.packets);
        self.events = work.map(|work| work.events);
    }

    /// The kernel inside was `guest`, said `inside` of itself, and took `usage` of the machine.
    pub fn add_guest(&mut self, guest: GuestFacts, inside: RunningKernel, usage: Usage) {
        self.cpu_s += usage.cpu.as_secs_f64();
        self.peak_memory_bytes = self.peak_memory_bytes.map(|own| own + usage.peak_memory);
        self.kernel = inside.release;
        self.kernel_hz = inside.hz;
        self.guest = Some(guest);
    }
}

/// A moment in UTC, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc {
    year: i64,
    month: i64,
    day: i64,
    second: u64,
}

impl From<SystemTime> for Utc {
    /// A clock before 1970 counts as 1970.
    fn from(time: SystemTime) -> Self {
        let seconds = time
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        // Days to the civil calendar (Hinnant, "chrono-compatible low-level date algorithms"): eras of 400 years from March
        // of year 0.
        let days = (seconds / 86_400) as i64 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            second: seconds % 86_400,
        }
    }
}

impl Utc {
    /// `2026-11-21T02:27:44Z`
    pub fn extended(self) -> String {
        let (hour, minute, second) = self.clock();
        format!(
            "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
            self.year, self.month, self.day
        )
    }
    /// `20261121T022744Z`, for names of files.
    pub fn basic(self) -> String {
        let (hour, minute, second) = self.clock();
        format!(
            "{:04}{:02}{:02}T{hour:02}{minute:02}{second:02}Z",
            self.year, self.month, self.day
        )
    }
    const fn clock(self) -> (u64, u64, u64) {
        (self.second / 3_600, self.second / 60 % 60, self.second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Computed with `date -u -d @…`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let time = Utc::from(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(time.extended(), text);
            assert_eq!(time.basic(), text.replace(['-', ':'], ""));
        }
    }

    #[test]
    fn the_environment_is_what_quell_reads_and_no_secret() {
        let variables = [
            ("QUELL_KERNELS", "/kernels"),
            ("QUELL_TOKEN", "secret"),
            ("QUELL_API_KEY", "secret"),
            ("TMPDIR", "/tmp"),
            ("PATH", "/bin"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        let kept = environment(
            variables
                .map(|(name, value)| (name.into(), value.into()))
                .into_iter(),
        );
        let kept: Vec<(&str, &str)> = kept.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(kept, [("QUELL_KERNELS", "/kernels"), ("TMPDIR", "/tmp")]);
    }

    /// `TICK_NSEC` of Linux, rounded, and resolutions of clocks that know no tick.
    #[test]
    fn a_tick_of_linux_has_a_frequency() {
        for (nanos, expected) in [
            (10_000_000, Some(100)),
            (4_000_000, Some(250)),
            (3_333_333, Some(300)),
            (1_000_000, Some(1_000)),
            (1, None),
            (0, None),
            (1_000_000_000, None),
        ] {
            assert_eq!(hz(nanos), expected, "{nanos}");
        }
    }

    #[test]
    fn a_guest_counts() {
        let started = Started::now(World::Virtual);
        let mut facts = Facts::new(World::Virtual, 1, started);
        let own = (facts.cpu_s, facts.peak_memory_bytes.unwrap());
        let guest = GuestFacts {
            name: String::new(),
            source: String::new(),
            config_hash: String::new(),
            memory_bytes: 1 << 30,
            day: String::new(),
            host_kernel: String::new(),
            host_kernel_hz: None,
        };
        let usage = Usage {
            cpu: std::time::Duration::from_millis(1_500),
            peak_memory: 1 << 20,
        };
        let inside = RunningKernel {
            release: "6.1".to_owned(),
            hz: Some(100),
        };
        facts.add_guest(guest, inside, usage);
        assert_eq!(facts.kernel_hz, Some(100));
        assert!((facts.cpu_s - own.0 - 1.5).abs() < 1e-9);
        assert_eq!(facts.peak_memory_bytes, Some(own.1 + (1 << 20)));
    }

    #[test]
    fn the_facts_are_all_there() {
        let work = Work {
            packets: 10,
            events: 25,
        };
        let started = Started::now(World::Sim);
        // Time passes by both clocks.
        let (clock, began) = started.cpu;
        while seconds(clock) == began {}
        let mut facts = Facts::new(World::Sim, 7, started);
        facts.add_work(Some(work));
        let value = serde_json::to_value(&facts).unwrap();
        for key in [
            "version", "build", "host", "kernel", "machine", "world", "started",
        ] {
            assert!(
                value[key].as_str().is_some_and(|text| !text.is_empty()),
                "{key}"
            );
        }
        let numbers = ["seed", "packets", "events"].map(|key| value[key].as_u64());
        assert_eq!(numbers, [Some(7), Some(10), Some(25)]);
        for key in ["wall_s", "cpu_s"] {
            assert!(value[key].as_f64().is_some_and(|s| s > 0.0), "{key}");
        }
        let program = value["command"][0].as_str();
        assert!(program.is_some_and(|program| !program.is_empty()));
        // This test alone needs some megabytes.
        let peak = value["peak_memory_bytes"].as_u64();
        assert!(peak.is_some_and(|peak| peak > 1 << 20), "{peak:?}");
    }
}
