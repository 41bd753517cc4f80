//! `plan.json`: what a store is about. A table needs nothing else but the cells.
//!
//! It is the same whatever made it: it holds no time, no host and no number of jobs.

use std::fs;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::path::Path;

use quell_results::read;
use quell_scenario::tree::{Node, TomlType, Tree};
use quell_units::notation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Objective, text};
use super::identity::{Identity, Key};
use super::plan::Plan;
use crate::RunError;

/// Its name in a store.
pub(crate) const PLAN: &str = "plan.json";
/// Longest plan, in bytes: that of the largest sweep has a few hundred MB.
const LONGEST: u64 = 1 << 30;
/// The version of the format.
const SCHEMA: u32 = 1;

/// The plan of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format.
    pub schema: u32,
    /// Name of the sweep.
    pub name: String,
    /// World, program and kernel of all cells.
    #[serde(flatten)]
    pub identity: Identity,
    /// Keys of axes and experiments.
    pub parameters: Vec<String>,
    /// Which cells are better than others.
    pub objective: Option<Objective>,
    /// In the order of the sweep file.
    pub points: Vec<PointRecord>,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointRecord {
    /// Name of the experiment; `null` in the grid.
    pub experiment: Option<String>,
    /// For each parameter its value, as written: a number or a text; `null` where the point has none.
    pub values: Vec<Value>,
    /// The seeds, each with the name of its cell.
    pub cells: Vec<(u64, String)>,
}

impl Record {
    /// Reads that of a store.
    ///
    /// # Errors
    ///
    /// There is none, or it is not one.
    pub fn read(store: &Path) -> Result<Self, RunError> {
        let path = store.join(PLAN);
        let read = read::text(&path, LONGEST).map_err(|error| {
            let path = path.display();
            RunError::refused(format!("{path}: {error}; is this the store of a sweep?"))
        })?;
        let record: Self = serde_json::from_str(&read)
            .map_err(|error| RunError::refused(format!("{}: {error}", path.display())))?;
        let wrong = |why: &str| RunError::refused(format!("{}: {why}", path.display()));
        if record.schema != SCHEMA {
            return Err(wrong("this version of the format is not known here"));
        }
        let values = record.parameters.len();
        let mut points = record.points.iter();
        if points.any(|point| point.values.len() != values) {
            return Err(wrong("a point has other parameters than the plan"));
        }
        let keys = record.points.iter().flat_map(|point| &point.cells);
        let mut keys = keys.map(|(_, key)| Key::parse(key));
        if keys.any(|key| key.is_none()) {
            return Err(wrong("the name of a cell is not a SHA-256"));
        }
        Ok(record)
    }
}

/// Writes the plan to `path`, which is new.
pub(crate) fn write(plan: &Plan, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(fs::File::create_new(path)?);
    print(plan, &mut out)?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}

/// Whether `path` has this plan. The plan of a million cells is more than a hundred megabytes, and each shard would write it again.
pub(crate) fn is_at(plan: &Plan, path: &Path) -> bool {
    let Ok(present) = fs::File::open(path) else {
        return false;
    };
    let mut present = BufReader::with_capacity(COMPARED, present);
    let is_same = {
        let mut same = BufWriter::with_capacity(COMPARED, Same(&mut present));
        print(plan, &mut same).and_then(|()| same.flush()).is_ok()
    };
    is_same && present.fill_buf().is_ok_and(<[u8]>::is_empty)
}

/// Bytes that are compared at a time.
const COMPARED: usize = 64 << 10;

/// Takes only what a reader gives as well.
struct Same<'a, R>(&'a mut R);

impl<R: Read> io::Write for Same<'_, R> {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        let mut present = vec![0; written.len()];
        self.0.read_exact(&mut present)?;
        if present == written {
            Ok(written.len())
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn print(plan: &Plan, out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "{{\n\"schema\": {SCHEMA},")?;
    writeln!(out, "\"name\": {},", json(&plan.name))?;
    writeln!(out, "\"world\": {},", json(&plan.identity.world))?;
    writeln!(out, "\"code\": {},", json(&plan.identity.code))?;
    writeln!(out, "\"kernel\": {},", json(&plan.identity.kernel))?;
    let keys: Vec<&String> = plan.parameters.iter().map(|one| &one.key).collect();
    writeln!(out, "\"parameters\": {},", json(&keys))?;
    writeln!(out, "\"objective\": {},", json(&plan.objective))?;
    writeln!(out, "\"points\": [")?;
    let mut cells = plan.cells.iter().peekable();
    for (number, point) in plan.points.iter().enumerate() {
        let own = std::iter::from_fn(|| cells.next_if(|cell| cell.point as usize == number));
        let record = PointRecord {
            experiment: point
                .experiment
                .map(|at| plan.experiments[at as usize].clone()),
            values: plan
                .values(point)
                .map(|node| node.map_or(Value::Null, value))
                .collect(),
            cells: own.map(|cell| (cell.seed, cell.key.to_string())).collect(),
        };
        let end = if number + 1 < plan.points.len() {
            ","
        } else {
            ""
        };
        writeln!(out, "{}{end}", json(&record))?;
    }
    writeln!(out, "]\n}}")
}

/// A value of a parameter as JSON.
fn value(node: &Node) -> Value {
    match &node.value {
        Tree::Scalar(TomlType::Integer, text) => match notation::integer(text) {
            Ok(number) => number.into(),
            Err(_) => text.as_str().into(),
        },
        Tree::Scalar(TomlType::Float, text) => match text.parse::<f64>() {
            Ok(number) => number.into(),
            Err(_) => text.as_str().into(),
        },
        Tree::Scalar(TomlType::Boolean, text) => (text == "true").into(),
        _ => text(node).into(),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("only maps with keys that are no texts have no JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_are_the_same() {
        let same = |present: &str, written: &[&str]| {
            let mut present = present.as_bytes();
            let mut same = Same(&mut present);
            let all = written
                .iter()
                .try_for_each(|part| same.write_all(part.as_bytes()));
            all.is_ok() && present.is_empty()
        };
        assert!(same("abcd", &["ab", "", "cd"]));
        assert!(same("", &[]));
        for (present, written) in [
            ("abcd", "abxd"),
            ("abc", "abcd"),
            ("abcd", "abc"),
            ("", "a"),
        ] {
            assert!(!same(present, &[written]), "{present} {written}");
        }
    }
}
