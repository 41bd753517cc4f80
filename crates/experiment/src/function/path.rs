//! Figures of [`PathResult`]. Seconds are whole ones from the start of the run.

use super::{Args, Unfit, Value};
use crate::probe::path::PathResult;

/// `path.longest(from, to)`: the longest time of packets that came between two seconds, in ms.
pub(super) fn longest(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let (from, to) = (args.whole(0)?, args.whole(1)?);
    Ok(Value::Number(one(runs)?.longest(from, to)))
}

/// `path.goodput(flow, from, to)`: goodput of a flow between two seconds, in Mbit/s of payload.
pub(super) fn goodput(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let flow = args.whole(0)?;
    let (from, to) = between(args.whole(1)?, args.whole(2)?)?;
    Ok(Value::Number(one(runs)?.goodput(flow, from, to)))
}

/// `path.goodputs(from, to)`: the same of every flow.
pub(super) fn goodputs(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let (from, to) = between(args.whole(0)?, args.whole(1)?)?;
    let run = one(runs)?;
    let flows = 0..run.flows.len();
    Ok(flows.map(|flow| run.goodput(flow, from, to)).collect())
}

/// `path.reaches(mbps, from)`: seconds after `from` until as many Mbit/s of packets come in 100 ms; infinite if they never do.
pub(super) fn reaches(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let (mbps, from) = (args.number(0)?, args.whole(1)?);
    let reaches = one(runs)?.reaches(mbps, from);
    Ok(Value::Number(reaches.unwrap_or(f64::INFINITY)))
}

/// `path.late_until(from)`: seconds after `from` until the last packet comes that takes more than 110 ms; 0 if none does.
pub(super) fn late_until(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let from = args.whole(0)?;
    Ok(Value::Number(one(runs)?.late_until(from)))
}

/// `path.probe_rtts_apart(from)`: the longest time between a `PROBE_RTT` of the first flow after `from` and the nearest of another.
pub(super) fn probe_rtts_apart(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let probes = probe_rtts(one(runs)?, args.number(0)?);
    let [first, others @ ..] = &probes[..] else {
        return Ok(Value::None);
    };
    let nearest = |at: f64, other: &Vec<f64>| {
        let apart = other.iter().map(|x| (x - at).abs());
        apart.fold(f64::INFINITY, f64::min)
    };
    let furthest = |&at: &f64| {
        let apart = others.iter().map(|other| nearest(at, other));
        apart.fold(0.0, f64::max)
    };
    let apart = first.iter().map(furthest).fold(0.0, f64::max);
    Ok(Value::Number(apart))
}

/// `path.fewest_probe_rtts(from)`: how often the flow with the fewest is in `PROBE_RTT` after `from`.
pub(super) fn fewest_probe_rtts(runs: &[&PathResult], args: &Args<'_>) -> Result<Value, Unfit> {
    let probes = probe_rtts(one(runs)?, args.number(0)?);
    let fewest = probes.iter().map(Vec::len).min();
    Ok(fewest.map(|fewest| fewest as f64).into())
}

fn probe_rtts(run: &PathResult, from: f64) -> Vec<Vec<f64>> {
    let flows = 0..run.flows.len();
    flows.map(|flow| run.probe_rtts(flow, from)).collect()
}

fn one<'a>(runs: &[&'a PathResult]) -> Result<&'a PathResult, Unfit> {
    match runs {
        [run] => Ok(run),
        _ => Err(Unfit::new(
            "figures of a path are of one run, so they cannot be pooled",
        )),
    }
}

fn between(from: usize, to: usize) -> Result<(usize, usize), Unfit> {
    match from < to {
        true => Ok((from, to)),
        false => Err(Unfit::new(format!("{from} s to {to} s is no time"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::path::FlowResult;

    #[test]
    fn probe_rtts_are_apart_by_the_furthest_of_the_nearest() {
        let flow = |smallest_s: &[f64]| FlowResult {
            smallest_s: smallest_s.to_vec(),
            ..FlowResult::default()
        };
        let run = PathResult {
            flows: vec![flow(&[5.0, 30.0, 40.0]), flow(&[30.25, 39.5, 50.0])],
            ..PathResult::default()
        };
        let runs = [&run];
        let args = [Value::Number(25.0)];
        let apart = probe_rtts_apart(&runs, &Args(&args));
        assert_eq!(apart, Ok(Value::Number(0.5)));
        let fewest = fewest_probe_rtts(&runs, &Args(&args));
        assert_eq!(fewest, Ok(Value::Number(2.0)));
        assert!(fewest_probe_rtts(&[], &Args(&args)).is_err());
    }
}
