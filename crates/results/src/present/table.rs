//! A table: columns with a head and a role, rows of texts.

/// A table under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What it is about, for a page that shows more than one.
    pub caption: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its head, with the unit.
    pub head: String,
    /// What it is for.
    pub role: Role,
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Names the row. A column of labels without any text is left out.
    Label,
    /// Always shown; words begin on the left.
    Word,
    /// Always shown.
    Figure,
    /// Shown where there is room, the lowest rank first.
    Extra(u8),
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A cell for each column.
    Cells(Vec<Cell>),
    /// More about the figures of the row above: a cell for each column.
    Below(Vec<Cell>),
    /// A note about the rows above.
    Note(String),
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// What every reader sees.
    pub text: String,
    /// Half of an interval around the figure, for pages; a terminal leaves it out.
    pub half: String,
    /// What the figure is beside another one.
    pub mark: Option<Mark>,
}

/// What a figure is beside another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Clearly above it.
    Higher,
    /// Clearly below it.
    Lower,
    /// On the right side of a threshold.
    Met,
    /// On the wrong side of a threshold.
    Missed,
}

impl Mark {
    /// The arrow behind the figure.
    pub fn arrow(self) -> &'static str {
        match self {
            Self::Higher => "▲",
            Self::Lower => "▼",
            Self::Met | Self::Missed => "",
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Table {
    /// A table without rows.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Role)>) -> Self {
        let column = |(head, role): (&str, Role)| Column {
            head: head.to_owned(),
            role,
        };
        Self {
            caption: String::new(),
            columns: columns.into_iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// The table under a caption.
    #[must_use]
    pub fn captioned(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a row with a cell for each column.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells = self.cells(cells);
        self.rows.push(Row::Cells(cells));
    }

    /// Adds more about the figures of the row above.
    pub fn below<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells = self.cells(cells);
        self.rows.push(Row::Below(cells));
    }

    /// Adds a note about the rows above.
    pub fn note(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Note(text.into()));
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row for each column behind the first `labels`, whose head stands in a column `corner`; notes are left out.
    #[must_use]
    pub fn turned(&self, labels: usize, corner: &str) -> Self {
        let rows: Vec<&[Cell]> = self.rows.iter().filter_map(Row::cells).collect();
        let heads = rows.iter().map(|cells| {
            let texts = cells[..labels].iter().map(|cell| cell.text.as_str());
            texts.collect::<Vec<_>>().join(": ")
        });
        let heads: Vec<String> = heads.collect();
        let columns = heads.iter().map(|head| (head.as_str(), Role::Figure));
        let mut turned = Self::new([(corner, Role::Label)].into_iter().chain(columns));
        turned.caption.clone_from(&self.caption);
        for (index, column) in self.columns.iter().enumerate().skip(labels) {
            let cells = rows.iter().map(|cells| cells[index].clone());
            turned.row([column.head.as_str().into()].into_iter().chain(cells));
        }
        turned
    }

    fn cells<C: Into<Cell>>(&self, cells: impl IntoIterator<Item = C>) -> Vec<Cell> {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "{cells:?}");
        cells
    }

    /// The table without columns of labels that say nothing.
    pub(super) fn trimmed(&self) -> Self {
        let says = |column: usize| {
            let role = self.columns[column].role;
            let mut cells = self.rows.iter().filter_map(Row::cells);
            role != Role::Label || cells.any(|cells| !cells[column].text.is_empty())
        };
        let kept: Vec<usize> = (0..self.columns.len()).filter(|&one| says(one)).collect();
        let of = |cells: &[Cell]| kept.iter().map(|&column| cells[column].clone()).collect();
        let rows = self.rows.iter().map(|row| match row {
            Row::Cells(cells) => Row::Cells(of(cells)),
            Row::Below(cells) => Row::Below(of(cells)),
            Row::Note(text) => Row::Note(text.clone()),
        });
        Self {
            caption: self.caption.clone(),
            rows: rows.collect(),
            columns: kept
                .iter()
                .map(|&column| self.columns[column].clone())
                .collect(),
        }
    }
}

impl Row {
    /// Its cells; a note has none.
    pub(super) fn cells(&self) -> Option<&[Cell]> {
        match self {
            Self::Cells(cells) | Self::Below(cells) => Some(cells),
            Self::Note(_) => None,
        }
    }
}
