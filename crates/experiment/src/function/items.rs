//! Figures of [`Items`]. A group is given by its place among those of the scenario, sizes in bytes and times in ms; a range holds its
//! beginning and not its end.

use quell_app::Cause;

use super::{Args, Unfit, Value};
use crate::probe::items::{Item, Items};

/// `items.times(group, from, to)`: completion times of the items of these sizes; without sizes of all.
pub(super) fn times(runs: &[&Items], args: &Args<'_>) -> Result<Value, Unfit> {
    Ok(of_sizes(runs, args)?.map(Item::completion_ms).collect())
}

/// `items.normalised(group, from, to, mbps, rtt)`: of each item of these sizes the best completion time on an idle link of so many Mbit/s,
/// with two round trips, over the actual one.
pub(super) fn normalised(runs: &[&Items], args: &Args<'_>) -> Result<Value, Unfit> {
    let (mbps, rtt) = (args.number(3)?, args.number(4)?);
    let best = |item: Item| item.size() as f64 * 8.0 / mbps / 1e3 + 2.0 * rtt;
    let normalised = |item: Item| best(item) / item.completion_ms();
    Ok(of_sizes(runs, args)?.map(normalised).collect())
}

/// `items.geometric_mean(group)`: of the completion times.
pub(super) fn geometric_mean(runs: &[&Items], args: &Args<'_>) -> Result<Value, Unfit> {
    let mut times: Vec<f64> = of_sizes(runs, args)?.map(Item::completion_ms).collect();
    times.sort_by(f64::total_cmp);
    let logarithms: f64 = times.iter().map(|time| time.ln()).sum();
    let mean = (!times.is_empty()).then(|| (logarithms / times.len() as f64).exp());
    Ok(mean.into())
}

/// `items.count(group, from, to, least, most, cause)`: items of these sizes that took so long, and if it is given with this as the costliest
/// repair of their connection: `'handshake'`, `'timeout'`, `'probe'`, `'recovery'`, or `'none'`.
pub(super) fn count(runs: &[&Items], args: &Args<'_>) -> Result<Value, Unfit> {
    let cause = args.text(5).ok().map(cause).transpose()?;
    let took = took(args);
    let counts = |item: &Item| took(*item) && cause.is_none_or(|cause| item.cause() == cause);
    Ok(number(of_sizes(runs, args)?.filter(counts)))
}

/// `items.set_up_late(group, from, to, least)`: items of these sizes whose connection was up only after `least`.
pub(super) fn set_up_late(runs: &[&Items], args: &Args<'_>) -> Result<Value, Unfit> {
    let least = args.number(3)?;
    let counts = |item: &Item| item.setup_ms() >= least;
    Ok(number(of_sizes(runs, args)?.filter(counts)))
}

/// `items.late_after_set_up(group, from, to, least, most, after)`: items of these sizes that took so long, and at least `after` once the
/// connection was up.
pub(super) fn late_after_set_up(runs: &[&Items], args: &Args<'_>) -> Result<Value, Unfit> {
    let (took, after) = (took(args), args.number(5)?);
    let waited = |item: &Item| item.completion_ms() - item.setup_ms() >= after;
    let counts = |item: &Item| took(*item) && waited(item);
    Ok(number(of_sizes(runs, args)?.filter(counts)))
}

/// The items of a group in all runs, of the sizes that are given.
fn of_sizes<'a>(
    runs: &'a [&'a Items],
    args: &Args<'_>,
) -> Result<impl Iterator<Item = Item> + 'a, Unfit> {
    let group = args.whole(0)?;
    let (from, to) = (
        args.number(1).unwrap_or(0.0),
        args.number(2).unwrap_or(f64::INFINITY),
    );
    let items = runs.iter().filter_map(move |run| run.groups.get(group));
    let is_within = move |item: &Item| (from..to).contains(&(item.size() as f64));
    Ok(items.flatten().copied().filter(is_within))
}

/// Whether an item took at least the fourth argument and less than the fifth, as far as they are given.
fn took(args: &Args<'_>) -> impl Fn(Item) -> bool {
    let (least, most) = (
        args.number(3).unwrap_or(0.0),
        args.number(4).unwrap_or(f64::INFINITY),
    );
    move |item| (least..most).contains(&item.completion_ms())
}

fn number(items: impl Iterator<Item = Item>) -> Value {
    Value::Number(items.count() as f64)
}

fn cause(name: &str) -> Result<Option<Cause>, Unfit> {
    Ok(Some(match name {
        "handshake" => Cause::Handshake,
        "timeout" => Cause::Timeout,
        "probe" => Cause::Probe,
        "recovery" => Cause::Recovery,
        "none" => return Ok(None),
        other => {
            let why = format!("{other} is no repair of a connection");
            return Err(Unfit::new(why));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of items as they are kept: bytes, nanoseconds until complete and until connected, repair.
    fn run(items: &str) -> Items {
        let summary = r#""schema":1,"scenario":"","world":"sim","seed":1,"duration_s":1,"warmup_s":0,"partial":false,"warnings":[]"#;
        let figures = r#""link":{"rate_bps":null,"utilisation":0,"lost_outside":0},"queues":[],"groups":[],"jain":null,"phases":[]"#;
        let json = format!(r#"{{"summary":{{{summary},{figures}}},"groups":[[{items}]]}}"#);
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn items_of_all_runs_are_counted_by_size_time_and_repair() {
        let runs = [
            run("[1000,5000000,2000000,null],[9000,250000000,7000000,1]"),
            run("[1000,1300000000,1007000000,0]"),
        ];
        let runs = [&runs[0], &runs[1]];
        let numbers = |numbers: &[f64]| -> Vec<Value> {
            numbers
                .iter()
                .map(|number| Value::Number(*number))
                .collect()
        };
        let number = |value: f64| Ok(Value::Number(value));
        for (args, counted) in [
            (vec![0.0], 3.0),
            (vec![1.0], 0.0),
            (vec![0.0, 0.0, 2e3], 2.0),
            (vec![0.0, 0.0, 2e3, 200.0], 1.0),
            (vec![0.0, 0.0, 1e4, 200.0, 1e3], 1.0),
        ] {
            assert_eq!(
                count(&runs, &Args(&numbers(&args))),
                number(counted),
                "{args:?}"
            );
        }
        for repair in ["handshake", "timeout", "none"] {
            let mut args = numbers(&[0.0, 0.0, 1e4, 0.0, 1e4]);
            args.push(Value::Text(repair.to_owned()));
            assert_eq!(count(&runs, &Args(&args)), number(1.0), "{repair}");
        }
        let late = set_up_late(&runs, &Args(&numbers(&[0.0, 0.0, 1e4, 1e3])));
        assert_eq!(late, number(1.0));
        let args = numbers(&[0.0, 0.0, 1e4, 200.0, 1e3, 200.0]);
        assert_eq!(late_after_set_up(&runs, &Args(&args)), number(1.0));
        let of_small = times(&runs, &Args(&numbers(&[0.0, 0.0, 2e3])));
        assert_eq!(of_small, Ok(Value::List(numbers(&[5.0, 1_300.0]))));
    }
}
