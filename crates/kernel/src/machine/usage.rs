//! Processor time and memory that a kernel uses on the host, with the parts that it waited for.
//!
//! Read in /proc while the process is there, also when it has ended and nobody has asked how: proc_pid_stat(5) then holds its
//! time and that of its children in full, to a tick (usually 10 ms).

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

/// The usage of a kernel so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, user and system.
    pub cpu: Duration,
    /// Most memory that was resident, in bytes. What the guest has touched of its memory is part of it.
    pub peak_memory: u64,
}

impl Usage {
    /// Looks at process `id` again.
    pub(super) fn look(&mut self, id: u32) {
        let read = |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).ok();
        if let Some(cpu) = read("stat").and_then(|text| cpu(&text)) {
            self.cpu = cpu;
        }
        if let Some(peak) = read("status").and_then(|text| peak(&text)) {
            self.peak_memory = self.peak_memory.max(peak);
        }
    }
}

/// Fields 14 to 17: `utime`, `stime`, `cutime`, `cstime`. The second one is a name in parentheses, which may hold spaces.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, after) = stat.rsplit_once(')')?;
    let ticks = after.split_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    let second = clock_ticks_per_second().max(1);
    Some(Duration::from_nanos(
        (u128::from(ticks) * 1_000_000_000 / u128::from(second)) as u64,
    ))
}

/// `VmHWM`, in KiB there. A process that has ended has none.
fn peak(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn time_and_memory_of_a_process_are_those_of_its_children_too() {
        // The shell waits for the loop of its child, and has ended when it is looked at for the last time.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exit 3",
            ])
            .spawn()
            .unwrap();
        let mut usage = Usage::default();
        while !super::super::has_ended(&child) {
            usage.look(child.id());
        }
        usage.look(child.id());
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert!(usage.cpu >= Duration::from_millis(20), "{usage:?}");
        assert!(usage.peak_memory > 100 << 10, "{usage:?}");
        assert_eq!(
            cpu("1 (a b) c) R 1 2 3 4 5 6 7 8 9 10 100 20 3 0 5"),
            Some(Duration::from_millis(1_230))
        );
    }
}
