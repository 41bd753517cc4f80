//! The rows of the archive, and the runs that repeat them.

use crate::cell::Cell;
use crate::evaluation::Figures;

/// Where the UDP goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Into {
    Classic,
    L4s,
}

impl Into {
    const fn file(self, who: Who) -> &'static str {
        match (self, who) {
            (Self::Classic, Who::FiveAndFive) => "overload/udp-into-classic.toml",
            (Self::L4s, Who::FiveAndFive) => "overload/udp-into-l4s.toml",
            (Self::Classic, _) => "prague/udp-into-classic.toml",
            (Self::L4s, _) => "prague/udp-into-l4s.toml",
        }
    }
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Classic => "C",
            Self::L4s => "L",
        }
    }
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Classic => "Classic",
            Self::L4s => "L4S",
        }
    }
}

/// Who runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Who {
    AsMeasured,
    Prague07,
    FiveAndFive,
}

impl Who {
    pub(super) const ALL: [Self; 3] = [Self::AsMeasured, Self::Prague07, Self::FiveAndFive];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AsMeasured => "as measured",
            Self::Prague07 => "Prague 0.7",
            Self::FiveAndFive => "five and five",
        }
    }
}

/// One row of the archive.
pub(super) struct Row {
    /// Payload of the UDP, in % of the link's rate.
    pub(super) load: u64,
    pub(super) into: Into,
    /// Flows of L4S and Classic that carried packets.
    alive: [u64; 2],
    /// Totals of 250 s. Ratios and delays of a queue are those of the UDP where it is in that queue, else of TCP.
    pub(super) published: Figures,
}

#[rustfmt::skip]
pub(super) static ROWS: [Row; 10] = [
    row(50, Into::Classic, [3, 4], [51.14, 7.36, 6.69], [14.80, 0.0, 0.572], [[0.130, 0.425], [15.04, 23.07]]),
    row(70, Into::Classic, [3, 4], [71.05, 4.45, 3.90], [22.50, 0.0, 1.319], [[0.121, 0.360], [15.01, 24.64]]),
    row(100, Into::Classic, [3, 4], [90.06, 2.30, 0.763], [70.40, 0.0, 12.45], [[0.086, 0.262], [15.00, 19.66]]),
    row(140, Into::Classic, [4, 4], [98.42, 0.228, 0.164], [100.0, 31.94, 31.66], [[0.059, 0.196], [14.97, 20.45]]),
    row(200, Into::Classic, [4, 4], [99.86, 0.016, 0.015], [100.0, 52.21, 51.46], [[0.053, 0.196], [14.96, 19.53]]),
    row(50, Into::L4s, [4, 4], [51.43, 6.37, 5.77], [16.57, 0.0, 0.698], [[0.179, 0.589], [14.96, 24.90]]),
    row(70, Into::L4s, [4, 4], [72.00, 3.78, 3.21], [26.13, 0.0, 1.701], [[0.239, 0.753], [15.23, 27.00]]),
    row(100, Into::L4s, [4, 4], [95.29, 0.804, 0.371], [100.0, 7.36, 24.60], [[15.01, 17.43], [0.961, 2.392]]),
    row(140, Into::L4s, [3, 4], [98.61, 0.175, 0.214], [100.0, 31.52, 31.05], [[14.98, 20.05], [0.842, 2.293]]),
    row(200, Into::L4s, [4, 4], [99.79, 0.026, 0.021], [100.0, 51.49, 51.64], [[14.96, 19.40], [0.560, 1.212]]),
];

const fn row(
    load: u64,
    into: Into,
    alive: [u64; 2],
    [udp, l4s, classic]: [f64; 3],
    [mark_l4s, drop_l4s, drop_classic]: [f64; 3],
    delays: [[f64; 2]; 2],
) -> Row {
    let published = Figures {
        utilisation: 100.0,
        rates: [l4s, classic],
        udp,
        mark_l4s,
        drops: [drop_l4s, drop_classic],
        delays,
    };
    Row {
        load,
        into,
        alive,
        published,
    }
}

impl Row {
    pub(super) fn name(&self) -> String {
        format!("{} → {}", self.load, self.into.name())
    }
    /// Whether the responsive flows still have a say.
    pub(super) fn is_light(&self) -> bool {
        self.load < 100
    }
    /// Whether the controller is held above the saturation of p_L, or goes to and fro across it.
    pub(super) fn is_saturated(&self) -> bool {
        self.load > 100 || (self.load == 100 && self.into == Into::L4s)
    }
    /// Whether the L4S queue is the longer one.
    pub(super) fn l4s_is_longer(&self) -> bool {
        self.load >= 100 && self.into == Into::L4s
    }
    /// The longer queue: L4S or Classic.
    pub(super) fn longer(&self) -> usize {
        usize::from(!self.l4s_is_longer())
    }
    /// Flows of L4S and Classic.
    pub(super) fn flows(&self, who: Who) -> [u64; 2] {
        match who {
            Who::AsMeasured | Who::Prague07 => self.alive,
            Who::FiveAndFive => [5, 5],
        }
    }
    /// 3 400 drops in 100 s decide p_C of a light row to 1.7 %; four seeds halve that.
    pub(super) fn seeds(&self, who: Who) -> &'static [u64] {
        match who {
            Who::FiveAndFive if self.is_light() => &[1, 2, 3, 4],
            _ => &[1],
        }
    }
    /// Where UDP fills the link, half the time gives the figures as well.
    pub(super) fn cells(&self, who: Who) -> Vec<Cell> {
        let duration = if self.load > 100 { "60s" } else { "110s" };
        // iperf's 1 470 bytes at this share of 100 Mbit/s: 11 760 bits.
        let interval = 11_760_000 / self.load;
        let [l4s, classic] = self.flows(who);
        let mut cell = Cell::new(self.into.file(who)).sets([
            format!("group.udp.app.interval={interval}ns"),
            format!("group.l4s.count={l4s}"),
            format!("group.classic.count={classic}"),
            format!("run.duration={duration}"),
        ]);
        if let Who::Prague07 = who {
            let control = "{ name = \"prague\", rtt_transition = 500 }";
            cell = cell.set(format!("group.l4s.congestion-control={control}"));
        }
        cell.seeds(self.seeds(who).iter().copied())
    }
}
