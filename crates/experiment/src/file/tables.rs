//! The tables and pictures of a file.

use quell_lab::scenario::tree::{Node, Table as Keys, Tree};

use super::definition::{
    Axis, Column, Curve, Figure, Pair, Picture, PictureKind, Table, TableKind, is_beside,
};
use super::keys::{COLUMN, CURVE, PAIR, PICTURE, TABLE};
use super::names::Depends;
use super::reader::Reader;
use crate::expression::{Expression, Template};

impl Reader<'_> {
    /// `[table.NAME]` or `[csv."FILE"]`.
    pub(super) fn tables(
        &mut self,
        kind: &str,
        root: &Keys,
        axes: &[Axis],
        figures: &[Figure],
    ) -> Vec<(String, Table)> {
        let Some(node) = root.get(kind) else {
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (name, node) in self
            .any_table(kind, node, "of names with tables")
            .into_iter()
            .flat_map(Keys::iter)
        {
            if kind == "csv" && !is_beside(name) {
                self.about(&format!("{kind}.{name}"), node, "is no name of a file");
            }
            let table = self.one_table(&format!("{kind}.{name}"), node, axes, figures);
            tables.extend(table.map(|table| (name.to_owned(), table)));
        }
        tables
    }

    fn one_table(
        &mut self,
        key: &str,
        node: &Node,
        axes: &[Axis],
        figures: &[Figure],
    ) -> Option<Table> {
        let table = self.table(key, node, &TABLE)?;
        if let Some(name) = self.text_of(key, table, "table") {
            return Some(Table {
                rows: Vec::new(),
                filter: None,
                kind: TableKind::Same(name),
            });
        }
        let filter = self.expression_of(key, table, "where");
        let rows = table
            .get("rows")
            .map(|node| self.places(&format!("{key}.rows"), node, axes));
        match table.get("kind") {
            Some(_) => self.deviations(key, node, table, rows, filter, figures),
            None => Some(self.cells(key, node, table, rows, filter, axes)),
        }
    }

    /// `kind = "deviations"`
    fn deviations(
        &mut self,
        key: &str,
        node: &Node,
        table: &Keys,
        rows: Option<Vec<usize>>,
        filter: Option<Expression>,
        figures: &[Figure],
    ) -> Option<Table> {
        let word = table
            .get("kind")
            .and_then(|node| self.word(&format!("{key}.kind"), node, &[("deviations", ())]));
        word?;
        let within = table
            .get("within")
            .and_then(|node| self.value(&format!("{key}.within"), node));
        let mut places = Vec::new();
        let names = table
            .get("figures")
            .map_or_else(Vec::new, |node| self.texts(&format!("{key}.figures"), node));
        for name in names {
            match figures.iter().position(|figure| figure.name == name) {
                Some(place) => places.push(place),
                None => self.about(
                    &format!("{key}.figures"),
                    node,
                    format!("there is no figure {name}"),
                ),
            }
        }
        let place = self.template_of(key, table, "place").unwrap_or_default();
        let of_rows = rows.unwrap_or_else(|| self.depends(std::iter::once(&place)));
        Some(Table {
            rows: of_rows,
            filter,
            kind: TableKind::Deviations {
                within: within.and_then(|within| within.number()).unwrap_or(15.0),
                figures: places,
                place,
                show: self.template_of(key, table, "show"),
            },
        })
    }

    fn cells(
        &mut self,
        key: &str,
        node: &Node,
        table: &Keys,
        rows: Option<Vec<usize>>,
        filter: Option<Expression>,
        axes: &[Axis],
    ) -> Table {
        let (mut columns, mut lines) = (Vec::new(), Vec::new());
        if let Some(node) = table.get("columns") {
            let mut line = Vec::new();
            for (at, column) in self
                .list(&format!("{key}.columns"), node)
                .iter()
                .enumerate()
            {
                let path = format!("{key}.columns.{}", at + 1);
                if let Some((column, cell)) = self.column(&path, column, axes) {
                    columns.push(column);
                    line.push(cell);
                }
            }
            lines.push(line);
        } else {
            let path = format!("{key}.heads");
            match table.get("heads") {
                Some(node) => {
                    for node in self.list(&path, node) {
                        let head = self.template(&path, node).unwrap_or_default();
                        columns.push(Column { head, each: None });
                    }
                }
                None => self.about(key, node, "needs columns, or heads and lines"),
            }
            lines = self.lines(key, "lines", table, columns.len());
        }
        let rows = match rows {
            Some(rows) => rows,
            None if table.get("columns").is_some() => {
                let own = self.depends(lines.iter().flatten());
                let each: Vec<usize> = columns.iter().filter_map(|column| column.each).collect();
                own.into_iter()
                    .filter(|axis| !each.contains(axis))
                    .collect()
            }
            None => Vec::new(),
        };
        let foot = self.lines(key, "foot", table, columns.len());
        Table {
            rows,
            filter,
            kind: TableKind::Cells {
                columns,
                lines,
                foot,
            },
        }
    }

    /// `["head", "template"]` or `{ each = "axis", head = "template", cell = "template" }`.
    fn column(&mut self, key: &str, node: &Node, axes: &[Axis]) -> Option<(Column, Template)> {
        if let Tree::Array(pair) = &node.value
            && let [head, cell] = pair.as_slice()
        {
            let head = self.template(key, head)?;
            return Some((Column { head, each: None }, self.template(key, cell)?));
        }
        let Tree::Table(_) = &node.value else {
            self.wrong(key, node, "must be [\"head\", \"template\"]");
            return None;
        };
        let table = self.table(key, node, &COLUMN)?;
        let name = self.needed(key, node, table, "each");
        let each = axes.iter().position(|axis| axis.name == name);
        if each.is_none() {
            self.about(&format!("{key}.each"), node, format!("{name} is no axis"));
        }
        let head = self.template_of(key, table, "head").unwrap_or_default();
        let cell = self.template_of(key, table, "cell").unwrap_or_default();
        Some((Column { head, each }, cell))
    }

    fn lines(&mut self, key: &str, name: &str, table: &Keys, width: usize) -> Vec<Vec<Template>> {
        let path = format!("{key}.{name}");
        let mut lines = Vec::new();
        for line in table
            .get(name)
            .map_or(&[][..], |node| self.list(&path, node))
        {
            let cells = self.list(&path, line).iter();
            let cells: Vec<Template> = cells
                .map(|cell| self.template(&path, cell).unwrap_or_default())
                .collect();
            if cells.len() != width {
                self.about(
                    &path,
                    line,
                    format!("has {} cells and not {width}", cells.len()),
                );
            }
            lines.push(cells);
        }
        lines
    }

    fn depends<'t>(&self, templates: impl Iterator<Item = &'t Template>) -> Vec<usize> {
        let expressions = templates.flat_map(Template::expressions);
        let depends: Depends = expressions.fold(0, |all, one| all | self.names.depends(one));
        self.names.places(depends)
    }

    pub(super) fn pictures(&mut self, node: &Node, axes: &[Axis]) -> Vec<Picture> {
        let mut pictures = Vec::new();
        for (at, node) in self.list("picture", node).iter().enumerate() {
            pictures.extend(self.picture(&format!("picture.{}", at + 1), node, axes));
        }
        pictures
    }

    fn picture(&mut self, key: &str, node: &Node, axes: &[Axis]) -> Option<Picture> {
        let table = self.table(key, node, &PICTURE)?;
        if table.get("title").is_none() {
            self.about(key, node, "needs title = a text");
        }
        let title = self.template_of(key, table, "title").unwrap_or_default();
        let mut places = |name: &str| {
            let node = table.get(name)?;
            Some(self.places(&format!("{key}.{name}"), node, axes))
        };
        let (each, rows) = (places("each").unwrap_or_default(), places("rows"));
        let filter = self.expression_of(key, table, "where");
        let (rows, kind) = match (table.get("pairs"), table.get("curves")) {
            (Some(pairs), None) => {
                let all = self.pairs(key, several(pairs), filter.as_ref(), axes);
                let rows = rows.unwrap_or_else(|| {
                    let depends = all.iter().fold(0, |every, pair| {
                        let labels = pair
                            .label
                            .expressions()
                            .fold(0, |all, one| all | self.names.depends(one));
                        every | labels | self.names.depends(&pair.ours)
                    });
                    self.names.places(depends)
                });
                let rows = rows
                    .into_iter()
                    .filter(|axis| !each.contains(axis))
                    .collect();
                let axis = self.needed(key, node, table, "axis");
                (rows, PictureKind::Pairs { axis, pairs: all })
            }
            (None, Some(curves)) => {
                let mut all = Vec::new();
                for (at, node) in several(curves).iter().enumerate() {
                    let curves = self.curves(
                        &format!("{key}.curves.{}", at + 1),
                        node,
                        table,
                        filter.as_ref(),
                        axes,
                    );
                    all.extend(curves.into_iter().map(|curve| curve.only(filter.clone())));
                }
                let names = table
                    .get("axes")
                    .map_or_else(Vec::new, |node| self.texts(&format!("{key}.axes"), node));
                let Ok(axes) = <[String; 2]>::try_from(names) else {
                    self.about(
                        &format!("{key}.axes"),
                        node,
                        "must be the two names of the axes, with units",
                    );
                    return None;
                };
                (
                    rows.unwrap_or_default(),
                    PictureKind::Curves { axes, curves: all },
                )
            }
            _ => {
                self.about(key, node, "needs pairs or curves");
                return None;
            }
        };
        Some(Picture {
            title,
            each,
            rows,
            kind,
        })
    }

    fn pairs(
        &mut self,
        key: &str,
        nodes: &[Node],
        filter: Option<&Expression>,
        axes: &[Axis],
    ) -> Vec<Pair> {
        let mut all = Vec::new();
        let weight = filter.map_or(0, Expression::weight);
        for (at, node) in nodes.iter().enumerate() {
            if !self.may_copy(key, node, weight) {
                break;
            }
            let pair = self.pair(&format!("{key}.pairs.{}", at + 1), node, axes);
            all.extend(pair.map(|pair| pair.only(filter.cloned())));
        }
        all
    }

    fn pair(&mut self, key: &str, node: &Node, axes: &[Axis]) -> Option<Pair> {
        let table = self.table(key, node, &PAIR)?;
        let ours = self.expression_of(key, table, "ours");
        if ours.is_none() {
            self.about(key, node, "needs ours = an expression");
        }
        Some(Pair {
            label: self.template_of(key, table, "label").unwrap_or_default(),
            ours: ours?,
            published: self.expression_of(key, table, "published"),
            filter: self.expression_of(key, table, "where"),
            rows: table
                .get("rows")
                .map(|node| self.places(&format!("{key}.rows"), node, axes)),
        })
    }

    /// A curve, or what the source printed and ours.
    fn curves(
        &mut self,
        key: &str,
        node: &Node,
        picture: &Keys,
        shared: Option<&Expression>,
        axes: &[Axis],
    ) -> Vec<Curve> {
        // What all share is read again for each.
        if !self.may_copy(key, node, 0) {
            return Vec::new();
        }
        let Some(table) = self.table(key, node, &CURVE) else {
            return Vec::new();
        };
        let sides = [("published", true), ("ours", false)];
        let sides = sides.map(|(name, is_published)| {
            Some((self.expression_of(key, table, name)?, is_published))
        });
        if sides.iter().all(Option::is_none) {
            self.about(key, node, "needs ours or published = an expression");
        }
        let over = table.get("over").or_else(|| picture.get("over"));
        let over = over.and_then(|node| {
            let name = self.text(&format!("{key}.over"), node)?;
            let place = axes.iter().position(|axis| axis.name == name);
            if place.is_none() {
                self.about(&format!("{key}.over"), node, format!("{name} is no axis"));
            }
            place
        });
        let each = table.get("each").map_or_else(Vec::new, |node| {
            self.places(&format!("{key}.each"), node, axes)
        });
        let x = self.expression_of(key, table, "x");
        let x = x.or_else(|| self.expression_of(key, picture, "x"));
        let weight = [x.as_ref(), shared].into_iter().flatten();
        if !self.may_copy(key, node, weight.map(Expression::weight).sum()) {
            return Vec::new();
        }
        let name = self.template_of(key, table, "name").unwrap_or_default();
        let filter = self.expression_of(key, table, "where");
        let mut curves = Vec::new();
        for (y, is_published) in sides.into_iter().flatten() {
            // Without a word about it a curve goes over the only axis that its values depend on.
            let depends = self.names.places(self.names.depends(&y));
            let over = match (over, depends.as_slice()) {
                (Some(over), _) => Some(over),
                (None, [only]) if !each.contains(only) => Some(*only),
                _ => None,
            };
            curves.push(Curve {
                name: name.clone(),
                is_published,
                y,
                x: x.clone(),
                over,
                each: each.clone(),
                filter: filter.clone(),
            });
        }
        curves
    }
}

/// The nodes of a list, or the only one.
fn several(node: &Node) -> &[Node] {
    match &node.value {
        Tree::Array(nodes) => nodes,
        _ => std::slice::from_ref(node),
    }
}

impl Pair {
    fn only(mut self, filter: Option<Expression>) -> Self {
        self.filter = both(self.filter, filter);
        self
    }
}

impl Curve {
    fn only(mut self, filter: Option<Expression>) -> Self {
        self.filter = both(self.filter, filter);
        self
    }
}

/// Both conditions.
fn both(one: Option<Expression>, other: Option<Expression>) -> Option<Expression> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}
