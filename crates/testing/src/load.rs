//! How busy the machine was with other things while a test ran.
//!
//! It is measured outside the program under test, so that no error of that program can look like a busy machine: the processor time of all programs
//! (`/proc/stat`; what a hypervisor gave to other machines counts, interrupts do not) less that of this process and of its children
//! that have ended (`/proc/self/stat`).

use std::fs;

/// Processor time since the start, in ticks of the kernel (10 ms).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// Time of all processors together, idle or not.
    pub all: u64,
    /// Time that programs took, and other machines on the same processors.
    pub busy: u64,
    /// Time that this process and its ended children took.
    pub own: u64,
}

impl Ticks {
    /// The ticks so far; `None` if the kernel does not report them.
    #[must_use]
    pub fn now() -> Option<Self> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        Self::parse(&machine, &own)
    }

    /// From the text of `/proc/stat` and of `/proc/self/stat` (proc(5)).
    #[must_use]
    pub fn parse(machine: &str, own: &str) -> Option<Self> {
        let line = machine.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let numbers = |text: &str| {
            let numbers = text.split_whitespace().map(str::parse);
            numbers.collect::<Result<Vec<u64>, _>>().ok()
        };
        // user nice system idle iowait irq softirq steal; the guests that follow are in `user` already.
        let fields: [u64; 8] = numbers(line)?.get(..8)?.try_into().ok()?;
        let [user, nice, system, _, _, _, _, steal] = fields;
        // The second field is the program's name in parentheses, which may hold anything. Then the third and so on: utime is the
        // 14th, followed by stime, cutime and cstime.
        let (_, rest) = own.rsplit_once(')')?;
        let mut times = rest.split_whitespace().skip(11).take(4);
        let own: Option<Vec<u64>> = (0..4).map(|_| times.next()?.parse().ok()).collect();
        Some(Self {
            all: fields.iter().sum(),
            busy: user + nice + system + steal,
            own: own?.iter().sum(),
        })
    }

    /// The share of all processors that others had from `before` to now, from 0 to 1.
    #[must_use]
    pub fn others_since(self, before: Self) -> f64 {
        let busy = self.busy.saturating_sub(before.busy);
        let own = self.own.saturating_sub(before.own);
        let all = self.all.saturating_sub(before.all).max(1);
        busy.saturating_sub(own) as f64 / all as f64
    }
}

/// How late the program under test was by its own report, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// The 99th percentile of its lateness.
    pub p99_ms: f64,
    /// The most that leaves a result in no doubt.
    pub tolerable_ms: f64,
}

/// The evidence of one attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// The share of all processors that other programs had, from 0 to 1; `None` if the kernel does not report it.
    pub others: Option<f64>,
    /// The lateness of each run of the attempt that reports one.
    pub late: Vec<Late>,
    /// What is judged is a high percentile of delays, which less moves: see [`Load::OTHERS_OF_PERCENTILES`].
    pub percentile: bool,
}

impl Load {
    /// More than this share of the processors for others is a busy machine. An idle one with its daemons stays below 0.03, and one
    /// busy process on ten processors is at it.
    pub const OTHERS: f64 = 0.1;

    /// The same where a 99th percentile of lateness is judged: such a figure tells what happened in one part of a hundred of the time,
    /// and 1 % of two processors is twice that of the one on which a link waits. A machine between this and [`Load::OTHERS`] was seen
    /// to wake a link 7 ms late and P99 to rise from 0.1 to 1.4 ms, with 2.6 % for others.
    pub const OTHERS_OF_PERCENTILES: f64 = 0.01;

    /// The figures by which the machine was too busy to judge; `None` if it was not.
    #[must_use]
    pub fn busy(&self) -> Option<String> {
        let mut figures = Vec::new();
        let most = if self.percentile {
            Self::OTHERS_OF_PERCENTILES
        } else {
            Self::OTHERS
        };
        let others = self.others.filter(|others| *others > most);
        if let Some(others) = others {
            let percent = (100.0 * others).round();
            figures.push(format!("others had {percent} % of the processors"));
        }
        let worst = self.late.iter().max_by(|a, b| {
            let ratio = |late: &Late| late.p99_ms / late.tolerable_ms;
            ratio(a).total_cmp(&ratio(b))
        });
        if let Some(Late {
            p99_ms,
            tolerable_ms,
        }) = worst.filter(|late| late.p99_ms > late.tolerable_ms)
        {
            figures.push(format!(
                "the link was {p99_ms:.2} ms late at P99, above {tolerable_ms:.2} ms"
            ));
        }
        (!figures.is_empty()).then(|| figures.join("; "))
    }
}
