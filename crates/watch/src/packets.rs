//! Single packets of a watched run, as columns.

use quell_measure::{Direction, Recording, Seeing};
use quell_scenario::columns::{ColumnInfo, ColumnType};

const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> ColumnInfo {
    ColumnInfo {
        name,
        column_type: ColumnType::Integer,
        unit,
        meaning,
    }
}

/// The columns of [`Watched::packets`](crate::Watched::packets).
pub const PACKET_COLUMNS: &[ColumnInfo] = &[
    column("time_ns", "ns", "when it left the queue or was dropped"),
    column("delay_ns", "ns", "its sojourn time; 0 if it was not let in"),
    column("queue", "", "place of its queue in the discipline"),
    column("group", "", "place of its group in the scenario"),
    column("length_bytes", "bytes", "its length as an IP packet"),
    column("fate", "", "0 delivered, 1 delivered with CE, 2 dropped"),
    column(
        "weight",
        "packets",
        "how many it stands for, where there are very many",
    ),
    column("hop", "", "place of the link in the scenario"),
    column("is_reverse", "", "1 in the reverse direction, else 0"),
    column("marked_ns", "ns", "when this queue marked it, if it did"),
];

/// Takes the packets of all queues, column by column, and how many they are.
pub(crate) fn take<'a>(queues: impl Iterator<Item = &'a mut Seeing>) -> (usize, Vec<f64>) {
    let mut rows: Vec<[f64; PACKET_COLUMNS.len()]> = Vec::new();
    for queue in queues {
        let hop = queue.recorder().hop().index() as f64;
        let is_reverse = queue.recorder().direction() == Direction::Reverse;
        let (kept, stride) = queue.take();
        rows.extend(
            kept.into_iter()
                .map(|[time, delay, queue, group, length, fate, marked]| {
                    [
                        time,
                        delay,
                        queue,
                        group,
                        length,
                        fate,
                        f64::from(stride),
                        hop,
                        f64::from(u8::from(is_reverse)),
                        marked,
                    ]
                }),
        );
    }
    let columns =
        (0..PACKET_COLUMNS.len()).flat_map(|column| rows.iter().map(move |row| row[column]));
    (rows.len(), columns.collect())
}
