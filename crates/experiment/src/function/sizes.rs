//! Figures of [`QueueSizes`].

use super::{Args, Unfit, Value};
use crate::probe::sizes::QueueSizes;

/// `sizes.quantile(share)`: the size that this share of the leaving packets does not exceed; 0 if none left.
pub(super) fn quantile(runs: &[&QueueSizes], args: &Args<'_>) -> Result<Value, Unfit> {
    let mut all = QueueSizes::default();
    runs.iter().for_each(|run| all.add(run));
    let size = all.quantile(args.number(0)?).unwrap_or_default();
    Ok(Value::Number(size as f64))
}
