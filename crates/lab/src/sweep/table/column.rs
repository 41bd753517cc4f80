//! A column of a table, in nine bytes for each value: a table of a million cells has more than a hundred million of them.

use super::Value;

/// A text is looked for among so many of the last ones before it is kept once more.
const LOOK_BACK: usize = 16;

/// A name, and values in the order of the rows.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Nulls at the end may be missing.
    kinds: Vec<Kind>,
    /// What the kind says: a number, a flag, or a place in `texts`.
    bits: Vec<u64>,
    texts: Vec<Box<str>>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Null,
    Integer,
    Real,
    Flag,
    Text,
}

impl Column {
    /// An empty one, with room for so many rows.
    pub(super) fn new(name: String, rows: usize) -> Self {
        Self {
            name,
            kinds: Vec::with_capacity(rows),
            bits: Vec::with_capacity(rows),
            texts: Vec::new(),
        }
    }

    /// One with these values.
    pub(super) fn of(name: String, values: impl ExactSizeIterator<Item = Value>) -> Self {
        let mut column = Self::new(name, values.len());
        values.for_each(|value| column.push(value));
        column
    }

    /// Puts a value into a row, after nulls for the rows before that have none.
    pub(super) fn set(&mut self, row: usize, value: Value) {
        self.kinds.resize(row, Kind::Null);
        self.bits.resize(row, 0);
        self.push(value);
    }

    fn push(&mut self, value: Value) {
        let (kind, bits) = match value {
            Value::Null => (Kind::Null, 0),
            Value::Integer(number) => (Kind::Integer, number.cast_unsigned()),
            Value::Real(number) => (Kind::Real, number.to_bits()),
            Value::Flag(flag) => (Kind::Flag, u64::from(flag)),
            Value::Text(text) => (Kind::Text, self.place(text)),
        };
        self.kinds.push(kind);
        self.bits.push(bits);
    }

    /// Where a text is kept.
    fn place(&mut self, text: Box<str>) -> u64 {
        let last = self.texts.iter().enumerate().rev().take(LOOK_BACK);
        let known = last.into_iter().find(|(_, known)| **known == text);
        let place = known.map_or(self.texts.len(), |(place, _)| place);
        if place == self.texts.len() {
            self.texts.push(text);
        }
        place as u64
    }

    /// The value of a row.
    pub(crate) fn get(&self, row: usize) -> Value {
        let (Some(kind), Some(&bits)) = (self.kinds.get(row), self.bits.get(row)) else {
            return Value::Null;
        };
        match kind {
            Kind::Null => Value::Null,
            Kind::Integer => Value::Integer(bits.cast_signed()),
            Kind::Real => Value::Real(f64::from_bits(bits)),
            Kind::Flag => Value::Flag(bits == 1),
            Kind::Text => Value::Text(self.texts[bits as usize].clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::Integer),
            // Of all bits but those that are no number, which equal nothing.
            any::<f64>().prop_map(Value::Real),
            any::<bool>().prop_map(Value::Flag),
            "[a-c]{0,2}".prop_map(|text| Value::Text(text.into())),
        ]
    }

    proptest! {
        #[test]
        fn a_column_gives_back_what_was_put_in(values in prop::collection::vec(any_value(), 0..100), gap in 0_usize..5) {
            let mut column = Column::of("x".to_owned(), values.clone().into_iter());
            for (row, value) in values.iter().enumerate() {
                prop_assert_eq!(&column.get(row), value);
            }
            let after = values.len() + gap;
            prop_assert_eq!(column.get(after), Value::Null);
            column.set(after, Value::Integer(-1));
            prop_assert_eq!(column.get(after), Value::Integer(-1));
            if gap > 0 {
                prop_assert_eq!(column.get(after - 1), Value::Null);
            }
        }
    }
}
