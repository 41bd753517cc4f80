//! The figures of several runs as one.

use crate::expression::Value;
use crate::file::Over;

/// What the figures of several runs become.
pub(super) fn reduced(over: Over, values: Vec<Value>) -> Value {
    if over == Over::List {
        let flat = values.into_iter().flat_map(|value| match value {
            Value::List(values) => values,
            Value::None => Vec::new(),
            other => vec![other],
        });
        return Value::List(flat.collect());
    }
    let mut numbers: Vec<f64> = values.iter().filter_map(Value::number).collect();
    if numbers.is_empty() {
        // Words and switches: what all runs share. Lists: element by element.
        let mut some = values.into_iter().filter(|value| *value != Value::None);
        let first = some.next().unwrap_or_default();
        if let Value::List(_) = first {
            let mut all: Vec<Value> = vec![first];
            all.extend(some);
            return by_element(over, &all);
        }
        return if some.all(|value| value == first) {
            first
        } else {
            Value::None
        };
    }
    Value::Number(match over {
        Over::Median => {
            numbers.sort_by(f64::total_cmp);
            numbers[numbers.len() / 2]
        }
        Over::Sum => numbers.iter().sum(),
        _ => numbers.iter().sum::<f64>() / numbers.len() as f64,
    })
}

fn by_element(over: Over, lists: &[Value]) -> Value {
    let list = |value: &Value| match value {
        Value::List(values) => values.clone(),
        other => vec![other.clone()],
    };
    let lists: Vec<Vec<Value>> = lists.iter().map(list).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let at = |place: usize| {
        reduced(
            over,
            lists
                .iter()
                .filter_map(|list| list.get(place).cloned())
                .collect(),
        )
    };
    Value::List((0..longest).map(at).collect())
}
