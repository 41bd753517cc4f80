//! The axes of a file.

use quell_lab::results::present::csv_cells;
use quell_lab::scenario::tree::{Node, Table, Tree};

use super::definition::{
    Axis, AxisKind, AxisValue, HEAVIEST_AXIS, Label, MOST_AXES, MOST_POINTS, MOST_VALUES, PARTS,
    RunKeys, Seeds,
};
use super::keys::{AXIS, RUN, STEPS, is_key};
use super::reader::Reader;
use crate::expression::{Template, Value};

impl Reader<'_> {
    pub(super) fn axes(&mut self, node: &Node) -> Vec<Axis> {
        let Some(table) = self.any_table("axis", node, "of names with values") else {
            return Vec::new();
        };
        let mut axes = Vec::new();
        let mut points = 1_usize;
        for (name, node) in table.iter().take(MOST_AXES) {
            let key = format!("axis.{name}");
            self.declare(&key, node, name);
            let Some(axis) = self.axis(&key, name, node) else {
                continue;
            };
            if axis.kind == AxisKind::Runs {
                points = points.saturating_mul(axis.values.len().max(1));
            }
            axes.push(axis);
        }
        if table.iter().count() > MOST_AXES {
            self.about("axis", node, format!("has more than {MOST_AXES} axes"));
        }
        if points > MOST_POINTS {
            self.about(
                "axis",
                node,
                format!("makes more than {MOST_POINTS} points"),
            );
        }
        axes
    }

    fn axis(&mut self, key: &str, name: &str, node: &Node) -> Option<Axis> {
        if let Tree::Array(nodes) = &node.value {
            let values = self.values(key, node, nodes, None);
            return Some(Axis {
                name: name.to_owned(),
                kind: AxisKind::Runs,
                values,
            });
        }
        let table = self.any_table(key, node, "with values, file or parts")?;
        let parts = table
            .get("parts")
            .and_then(|node| self.word(&format!("{key}.parts"), node, &PARTS));
        let with_runs = table
            .get("runs")
            .and_then(|node| self.flag(&format!("{key}.runs"), node));
        let kind = match (parts, with_runs) {
            (Some(parts), _) => AxisKind::Parts(parts),
            (None, Some(false)) => AxisKind::Loose,
            (None, _) => AxisKind::Runs,
        };
        let mut values = match (table.get("values"), table.get("file"), parts) {
            (Some(node), None, None) => match &node.value {
                Tree::Array(nodes) => self.values(key, node, nodes, Some(table)),
                _ => self.steps(key, node, table),
            },
            (None, Some(node), None) => self.rows(key, node, table),
            (None, None, Some(_)) => {
                for (name, node) in table.iter().filter(|(name, _)| *name != "parts") {
                    self.about(&format!("{key}.{name}"), node, "has no effect beside parts");
                }
                Vec::new()
            }
            _ => {
                self.about(key, node, "needs one of values, file and parts");
                return None;
            }
        };
        if let Some(label) = self.text_of(key, table, "published") {
            let published = AxisValue {
                label: Label::Value(Value::Text(label)),
                is_published: true,
                ..AxisValue::default()
            };
            values.insert(0, published);
        }
        Some(Axis {
            name: name.to_owned(),
            kind,
            values,
        })
    }

    fn values(
        &mut self,
        key: &str,
        node: &Node,
        nodes: &[Node],
        of_all: Option<&Table>,
    ) -> Vec<AxisValue> {
        if nodes.is_empty() || nodes.len() > MOST_VALUES {
            self.about(
                key,
                node,
                format!("must have from 1 to {MOST_VALUES} values"),
            );
        }
        let common = self.common(key, of_all);
        if !self.is_light(key, node, &common, nodes.len().min(MOST_VALUES)) {
            return Vec::new();
        }
        let mut values = Vec::new();
        for (number, node) in nodes.iter().take(MOST_VALUES).enumerate() {
            let place = format!("{key}.{}", number + 1);
            let value = match &node.value {
                Tree::Table(table) => self.value_table(&place, number, table, &common),
                _ => AxisValue {
                    label: Label::Value(self.value(&place, node).unwrap_or_default()),
                    ..common.value.clone()
                },
            };
            values.push(value);
        }
        values
    }

    fn value_table(
        &mut self,
        key: &str,
        number: usize,
        table: &Table,
        common: &Common,
    ) -> AxisValue {
        let own = self.run_keys(key, table);
        let label = table
            .get("label")
            .and_then(|node| self.label(&format!("{key}.label"), node));
        let mut fields = common.value.fields.clone();
        for (name, node) in table.iter() {
            if !is_key(&RUN, name) && name != "label" {
                self.declare(&format!("{key}.{name}"), node, name);
                if let Some(value) = self.value(&format!("{key}.{name}"), node) {
                    fields.insert(name.to_owned(), value);
                }
            }
        }
        AxisValue {
            label: label
                .or(common.label.clone())
                .unwrap_or(Label::Value(Value::Number(number as f64 + 1.0))),
            fields,
            runs: common.value.runs.clone().then(own),
            is_published: false,
        }
    }

    /// What an axis says for all of its values.
    fn common(&mut self, key: &str, table: Option<&Table>) -> Common {
        let mut common = Common::default();
        let Some(table) = table else {
            return common;
        };
        common.value.runs = self.run_keys(key, table);
        common.label = table
            .get("label")
            .and_then(|node| self.label(&format!("{key}.label"), node));
        for (name, node) in table.iter() {
            if !is_key(&RUN, name) && !is_key(&AXIS, name) && name != "label" {
                self.declare(&format!("{key}.{name}"), node, name);
                if let Some(value) = self.value(&format!("{key}.{name}"), node) {
                    common.value.fields.insert(name.to_owned(), value);
                }
            }
        }
        common
    }

    /// Whether so many values may each have what they share.
    fn is_light(&mut self, key: &str, node: &Node, common: &Common, values: usize) -> bool {
        let is_light = common.weight().saturating_mul(values) <= HEAVIEST_AXIS;
        if !is_light {
            self.about(key, node, "has too much that all of its values share");
        }
        is_light
    }

    /// `{ from = 52500, to = 67500, steps = 501 }`, ends included.
    fn steps(&mut self, key: &str, node: &Node, of_all: &Table) -> Vec<AxisValue> {
        let form = "must be a list, or { from = …, to = …, steps = … } with numbers";
        let path = format!("{key}.values");
        let Some(table) = self.table(&path, node, &STEPS) else {
            return Vec::new();
        };
        let mut number = |name: &str| {
            let node = table.get(name)?;
            self.value(&format!("{path}.{name}"), node)?.number()
        };
        let (from, to, steps) = (number("from"), number("to"), number("steps"));
        let (Some(from), Some(to), Some(steps)) = (from, to, steps) else {
            self.about(&path, node, form);
            return Vec::new();
        };
        if !(to - from).is_finite() {
            self.about(&path, node, "from and to are too far apart");
            return Vec::new();
        }
        if steps.fract() != 0.0 || !(2.0..=MOST_VALUES as f64).contains(&steps) {
            self.about(
                &path,
                node,
                format!("steps must be a whole number from 2 to {MOST_VALUES}"),
            );
            return Vec::new();
        }
        let common = self.common(key, Some(of_all));
        if !self.is_light(key, node, &common, steps as usize) {
            return Vec::new();
        }
        let at = |step: usize| from + (to - from) * step as f64 / (steps - 1.0);
        let value = |step: usize| AxisValue {
            label: Label::Value(Value::Number(at(step))),
            ..common.value.clone()
        };
        (0..steps as usize).map(value).collect()
    }

    /// The rows of a CSV file, whose columns are fields.
    fn rows(&mut self, key: &str, node: &Node, of_all: &Table) -> Vec<AxisValue> {
        let path = format!("{key}.file");
        let Some(name) = self.text(&path, node) else {
            return Vec::new();
        };
        let Some(text) = (self.files)(&name) else {
            self.wrong(&path, node, "there is no such file beside the experiment");
            return Vec::new();
        };
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let heads = csv_cells(lines.next().unwrap_or_default());
        for head in &heads {
            self.declare(&format!("{path}, column {head}"), node, head);
        }
        let common = self.common(key, Some(of_all));
        let names: usize = heads.iter().map(|head| 1 + head.len() / 16).sum();
        let rows = text.lines().count().min(MOST_VALUES);
        let is_light = self.is_light(key, node, &common, rows);
        if !is_light || names.saturating_mul(rows) > HEAVIEST_AXIS {
            self.wrong(&path, node, "its columns and rows are too many");
            return Vec::new();
        }
        let mut values = Vec::new();
        for (number, line) in lines.enumerate() {
            let cells = csv_cells(line);
            if cells.len() != heads.len() || number >= MOST_VALUES {
                let allowed = format!(
                    "row {} has {} cells and not {}, or is one too many",
                    number + 1,
                    cells.len(),
                    heads.len()
                );
                self.wrong(&path, node, allowed);
                return values;
            }
            let mut fields = common.value.fields.clone();
            fields.extend(
                heads
                    .iter()
                    .cloned()
                    .zip(cells.iter().map(|cell| cell_of(cell))),
            );
            let label = common
                .label
                .clone()
                .unwrap_or(Label::Value(Value::Number(number as f64 + 1.0)));
            values.push(AxisValue {
                label,
                fields,
                runs: common.value.runs.clone(),
                is_published: false,
            });
        }
        values
    }
}

/// What all values of an axis share.
#[derive(Default)]
struct Common {
    value: AxisValue,
    label: Option<Label>,
}

impl Common {
    /// How much each value has of it.
    fn weight(&self) -> usize {
        let name = |name: &String| 1 + name.len() / 16;
        fn of(value: &Value) -> usize {
            match value {
                Value::Text(text) => 1 + text.len() / 16,
                Value::List(values) => values.iter().map(of).sum::<usize>() + 1,
                Value::None | Value::Number(_) | Value::Flag(_) => 1,
            }
        }
        let fields = self.value.fields.iter();
        let fields: usize = fields.map(|(key, value)| name(key) + of(value)).sum();
        let runs = &self.value.runs;
        let listed = match &runs.seeds {
            Some(Seeds::List(seeds)) => seeds.len(),
            Some(Seeds::Range(..)) | None => 0,
        };
        let settings = runs.set.iter().chain(&runs.over_linux);
        let settings: usize = settings
            .map(|(key, template)| name(key) + template.weight())
            .sum();
        let label = match &self.label {
            Some(Label::Template(template)) => template.weight(),
            Some(Label::Value(value)) => of(value),
            None => 0,
        };
        let scenario = runs.scenario.as_ref().map_or(0, Template::weight);
        let watched = runs.watched.as_ref().map_or(0, Template::weight);
        fields + listed + settings + label + scenario + watched
    }
}

impl RunKeys {
    /// With what `later` says.
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.set.extend(later.set);
        self.over_linux.extend(later.over_linux);
        Self {
            scenario: later.scenario.or(self.scenario),
            set: self.set,
            over_linux: self.over_linux,
            seeds: later.seeds.or(self.seeds),
            measure: later.measure.or(self.measure),
            watched: later.watched.or(self.watched),
            is_slow: later.is_slow.or(self.is_slow),
        }
    }
}

/// A cell is a number, or a text, or nothing.
fn cell_of(cell: &str) -> Value {
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        _ if cell.is_empty() => Value::None,
        _ => Value::Text(cell.to_owned()),
    }
}
