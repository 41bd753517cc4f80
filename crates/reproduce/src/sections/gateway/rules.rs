//! The three rules over sizes of the queue: M3 and M7.

use super::{adsl1, runs};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::sections::call::{Call, Control, Point, Queue, calls};
use crate::statistics::{Mean, mean};
use crate::table::Table;

/// Size of the byte queues, slots of the slot queues, and CBR loss in % with the median delay in ms
/// in the cross-check: loose, strict and slots with NewReno, then with CUBIC.
pub(super) type Row = (u64, u64, [[(f64, u32); 3]; 2]);
pub(super) const SIZES: [Row; 6] = [
    (
        10_000,
        7,
        [
            [(7.0, 21), (0.0, 20), (1.3, 16)],
            [(10.0, 37), (0.0, 29), (1.5, 25)],
        ],
    ),
    (
        20_000,
        13,
        [
            [(4.6, 61), (0.0, 56), (0.9, 38)],
            [(7.3, 85), (0.0, 76), (0.5, 57)],
        ],
    ),
    (
        40_000,
        27,
        [
            [(2.4, 147), (0.0, 143), (0.5, 107)],
            [(4.3, 183), (0.0, 176), (0.7, 135)],
        ],
    ),
    (
        60_000,
        40,
        [
            [(1.8, 233), (0.0, 228), (0.25, 166)],
            [(4.1, 284), (0.01, 277), (0.7, 206)],
        ],
    ),
    (
        80_000,
        53,
        [
            [(0.7, 315), (0.0, 306), (0.5, 229)],
            [(3.4, 381), (0.01, 372), (1.1, 279)],
        ],
    ),
    (
        100_000,
        67,
        [
            [(0.6, 399), (0.0, 392), (0.2, 293)],
            [(3.4, 481), (0.0, 474), (0.7, 355)],
        ],
    ),
];

/// What [`judge_m3`] measures.
fn grid() -> Table {
    Table::new(&[
        "limit_bytes",
        "limit_slots",
        "control",
        "rule",
        "loss_percent",
        "loss_percent_mean",
        "crosscheck_loss_percent",
        "median_delay_ms",
        "crosscheck_median_delay_ms",
    ])
}

/// Limits that span one packet, for a size and a control.
const SPAN: u64 = 10;
/// Seeds of a slot queue.
const SLOT_SEEDS: u64 = 3;

/// T11: M3. Each point, and the mean over byte limits that span one packet.
pub(super) fn points_of_rules() -> Vec<Point> {
    let mut points = Vec::new();
    for (bytes, slots, _) in SIZES {
        for control in Control::BOTH {
            for step in 0..SPAN {
                // Behind the size itself, and so that every 150th of a packet is met.
                let near = if step < SPAN / 2 {
                    bytes + 150 * step
                } else {
                    bytes - 150 * (SPAN - step)
                };
                points.push(adsl1(control, Queue::Loose(near), 1));
                points.push(adsl1(control, Queue::Strict(near), 1));
            }
            for seed in 1..=SLOT_SEEDS {
                points.push(adsl1(control, Queue::Slots(slots), seed));
            }
        }
    }
    points
}

pub(super) fn plan_of_rules() -> Vec<Cell> {
    runs(&points_of_rules())
}

/// For a size and a control, loss of the call by rule.
pub(super) struct Losses {
    pub(super) loose: Mean,
    strict: Mean,
    slots: Mean,
    /// At the size itself: loose, slots, strict.
    nominal: [Call; 3],
}

/// Sizes in their order, for each both controls.
pub(super) fn losses(calls: &[Call]) -> Vec<Losses> {
    let each = (2 * SPAN + SLOT_SEEDS) as usize;
    let of = |calls: &[Call]| {
        let (byte_calls, slot_calls) = calls.split_at(2 * SPAN as usize);
        let over = |first: usize| mean(byte_calls.iter().skip(first).step_by(2).map(|c| c.loss));
        Losses {
            loose: over(0),
            strict: over(1),
            slots: mean(slot_calls.iter().map(|call| call.loss)),
            nominal: [calls[0], slot_calls[0], calls[1]],
        }
    };
    calls.chunks(each).map(of).collect()
}

pub(super) fn judge_m3(cells: &Cells<'_>, out: &mut Findings) {
    let mut grid = grid();
    let checks = out.on("order");
    let all = losses(&calls(&points_of_rules(), *cells, checks));
    let mut table = Table::new(&[
        "queue",
        "control",
        "loose: loss, %",
        "slots: loss, %",
        "strict: loss, %",
    ]);
    for (row, losses) in all.iter().enumerate() {
        let (bytes, slots, check) = SIZES[row / 2];
        let control = Control::BOTH[row % 2];
        let [loose, strict, slot] = check[row % 2];
        let (by_loose, by_slots, by_strict) = (losses.loose, losses.slots, losses.strict);
        table.row(&[
            format!("{} kB, {slots} slots", bytes / 1_000),
            control.name().to_owned(),
            format!("{:.2}", by_loose.value),
            format!("{:.2}", by_slots.value),
            format!("{:.2}", by_strict.value),
        ]);
        for (rule, call, mean, check) in [
            ("loose", &losses.nominal[0], by_loose, loose),
            ("slots", &losses.nominal[1], by_slots, slot),
            ("strict", &losses.nominal[2], by_strict, strict),
        ] {
            grid.row(&[
                bytes.to_string(),
                slots.to_string(),
                control.name().to_owned(),
                rule.to_owned(),
                format!("{:.2}", call.loss),
                format!("{:.2}", mean.value),
                check.0.to_string(),
                format!("{:.0}", call.delay),
                check.1.to_string(),
            ]);
        }
        let ordered = by_loose.value > by_slots.value && by_slots.value > by_strict.value;
        checks.unless(
            ordered,
            format!("{bytes} B, {control:?}: {by_loose:?}, {by_slots:?}, {by_strict:?}"),
        );
    }
    out.csv("published-gateway-rules.csv", grid);
    for (at, control) in Control::BOTH.into_iter().enumerate() {
        let title = format!(
            "Loss of the call beside {}, over a packet's span",
            control.name()
        );
        let mut figure = Figure::curves(&title, "size, kB", "loss, %");
        for (rule, name) in ["loose", "slots", "strict"].iter().enumerate() {
            let points = SIZES.iter().enumerate().map(|(size, (bytes, ..))| {
                let losses = &all[2 * size + at];
                let of = [losses.loose, losses.slots, losses.strict];
                (*bytes as f64 / 1e3, of[rule].value)
            });
            figure = figure.ours(name, points);
        }
        out.draw(figure);
    }
    out.write(format!(
        "### The loose rule disadvantages small packets\n\n\
         `homegateway2011/adsl1.toml` at 100 ms, 300 s. Published: the three rules give distinctly different loss for the same nominal size, \
         and the loose byte rule disadvantages small packets. Loss of the call, each byte rule averaged over limits that span one packet (ten \
         steps of 150 bytes), slots over three seeds:\n\n{table}\n\
         Checked: loose > slots > strict for every size and control, and by the loose rule more loss with CUBIC than with NewReno at every \
         size. [published-gateway-rules.csv](data/published-gateway-rules.csv) also has the loss and the median delay at the nominal size, \
         beside the cross-check."
    ));
}

/// Points of a curve: nominal size in kB, and loss in %.
type Points = Vec<(f64, f64)>;

pub(super) fn judge_m7(cells: &Cells<'_>, out: &mut Findings) {
    let all = losses(&calls(&points_of_rules(), *cells, out.on("loss")));
    let least = |rule: usize| all.iter().map(move |losses| losses.nominal[rule].loss);
    let range = |rule: usize| {
        let (low, high) = least(rule).fold((f64::MAX, 0.0_f64), |(low, high), loss| {
            (low.min(loss), high.max(loss))
        });
        format!("{low:.2} to {high:.2} %")
    };
    let ours = format!(
        "loose {}, slots {}, strict {}",
        range(0),
        range(1),
        range(2)
    );
    out.on("loss").ours(ours);
    for (at, control) in Control::BOTH.into_iter().enumerate() {
        let title = format!("Loss of the call beside {}", control.name());
        let mut figure = Figure::curves(&title, "nominal size, kB", "loss, %");
        for (rule, name, place) in [(0, "loose", 0), (1, "slots", 2), (2, "strict", 1)] {
            let sizes = SIZES.iter().enumerate();
            let both = sizes.map(|(size, (bytes, _, check))| {
                let kilobytes = *bytes as f64 / 1e3;
                let ours = all[2 * size + at].nominal[rule].loss;
                ((kilobytes, ours), (kilobytes, check[at][place].0))
            });
            let (ours, check): (Points, Points) = both.unzip();
            figure = figure.ours(name, ours);
            figure = figure.published(&format!("{name}, cross-check"), check);
        }
        out.draw(figure);
    }
}
