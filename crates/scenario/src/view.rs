//! The reader of a scenario: it collects problems, and reads each table by the rows of its section.

use std::error::Error;

use crate::domain::{Domain, MOST_SEEDS, Parsed, scalar};
use crate::problem::{Origin, Problem, Problems, closest};
use crate::refusal::Refusal;
use crate::section::{Key, KeyDefault, Section};
use crate::tree::{Node, Table, TomlType, Tree};
use crate::written::{Field, Written, inline};
use crate::{guesses, hint};

/// Reads a file that a scenario names: gets the name as written and where that stands, and returns the content, or why there is
/// none.
pub type ReadFile = Box<dyn Fn(&str, &Origin) -> Result<String, Box<dyn Error>>>;

/// For scenarios that come without files.
pub(crate) fn no_files() -> ReadFile {
    Box::new(|_, _| Err("files cannot be read here; write what is in them instead".into()))
}

/// Collects problems.
pub(crate) struct Reader {
    file: String,
    /// Reads the files that the scenario names.
    pub(crate) files: ReadFile,
    problems: Vec<Problem>,
    /// A summary of each trace as it was read.
    notes: Vec<String>,
}

impl Reader {
    /// A reader of `file`, as errors name it.
    pub(crate) fn new(file: &str, files: ReadFile) -> Self {
        Self {
            file: file.to_owned(),
            files,
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }
    /// Returns the notes, or the problems if there are any.
    pub(crate) fn finish(self) -> Result<Vec<String>, Problems> {
        match self.problems.is_empty() {
            true => Ok(self.notes),
            false => Err(Problems::new(self.problems)),
        }
    }
    /// Adds a note about a value that is OK.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }
    /// Adds the problem that the value of `key` is wrong.
    pub(crate) fn wrong(&mut self, key: &str, node: &Node, allowed: impl ToString) {
        let found = Some(node.found());
        self.push(key, node.origin.clone(), found, &allowed.to_string());
    }
    /// Adds the problem that the value `found` of `key` is wrong, which is only a part of `node` or stands nowhere.
    pub(crate) fn wrong_value(&mut self, key: &str, node: &Node, found: &str, allowed: &str) {
        self.push(key, node.origin.clone(), Some(found.to_owned()), allowed);
    }
    /// Adds the problem that `key` is missing in `table`.
    pub(crate) fn missing(&mut self, key: &str, table: &Node, allowed: &str) {
        self.push(
            key,
            table.origin.clone(),
            None,
            &format!("is missing; {allowed}"),
        );
    }
    fn push(&mut self, key: &str, origin: Origin, found: Option<String>, allowed: &str) {
        self.problems.push(Problem {
            file: self.file.clone(),
            origin,
            key: key.to_owned(),
            found,
            allowed: allowed.to_owned(),
        });
    }
}

/// Tables and lists of tables.
pub(crate) mod tables {
    use super::{Node, Reader, Table, Tree};

    /// The table that `node` should be.
    pub(crate) fn table<'a>(
        reader: &mut Reader,
        path: &str,
        node: &'a Node,
        form: &str,
    ) -> Option<&'a Table> {
        match &node.value {
            Tree::Table(table) => Some(table),
            _ => {
                reader.wrong(path, node, format!("must be {form}"));
                None
            }
        }
    }

    /// The nodes of the list that `node` should be.
    pub(crate) fn list<'a>(
        reader: &mut Reader,
        path: &str,
        node: &'a Node,
        form: &str,
    ) -> &'a [Node] {
        match &node.value {
            Tree::Array(nodes) => nodes,
            _ => {
                reader.wrong(path, node, format!("must be {form}"));
                &[]
            }
        }
    }
}

/// A table with the rows of its section.
pub(crate) struct View<'a> {
    rows: &'static [Key],
    path: String,
    node: &'a Node,
    table: &'a Table,
    /// The value of the table's key `kind`.
    kind: Option<&'a str>,
}

impl<'a> View<'a> {
    /// Refuses what is not a table, and keys that the section does not have here.
    pub(crate) fn new(
        reader: &mut Reader,
        rows: &'static [Key],
        path: &str,
        node: &'a Node,
    ) -> Option<Self> {
        let table = tables::table(reader, path, node, "a table")?;
        let view = Self::open(rows, path, node, table);
        for (name, value) in table.iter() {
            if let Some(why) = view.refusal(name) {
                reader.wrong(&view.key(name), value, &why);
            }
        }
        Some(view)
    }

    /// A table whose keys are not all in the section: the caller refuses those that it does not know.
    pub(crate) fn open(rows: &'static [Key], path: &str, node: &'a Node, table: &'a Table) -> Self {
        Self {
            rows,
            path: path.to_owned(),
            node,
            table,
            kind: table
                .get("kind")
                .and_then(|node| scalar(node, &[TomlType::String])),
        }
    }

    fn refusal(&self, name: &str) -> Option<String> {
        let is_of_another = |key: &Key| {
            key.only
                .is_some_and(|only| self.kind.is_some_and(|kind| kind != only))
        };
        if let Some(key) = self.find(name) {
            let rows = self.rows.iter().filter(|key| key.name == name);
            let kinds: Vec<String> = rows
                .filter_map(|key| Some(format!("\"{}\"", key.only?)))
                .collect();
            let kinds = kinds.join(" or ");
            return is_of_another(key).then(|| format!("has an effect only with kind = {kinds}"));
        }
        let mut known: Vec<&str> = Vec::new();
        for key in self.rows.iter().filter(|key| !is_of_another(key)) {
            if !known.contains(&key.name) {
                known.push(key.name);
            }
        }
        let near = || closest(name, self.rows.iter().map(|key| key.name)).map(str::to_owned);
        let meant = guesses::key(self.section(), name).or_else(near);
        let meant = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
        let kind = self.kind;
        let of_kind = kind.map_or(String::new(), |kind| format!(" with kind = \"{kind}\""));
        let (title, known) = (self.section().title(), known.join(", "));
        Some(format!("unknown key{meant}; {title}{of_kind} has {known}"))
    }

    fn section(&self) -> Section {
        self.rows[0].section
    }

    /// The full key of `name`.
    pub(crate) fn key(&self, name: &str) -> String {
        match (self.path.as_str(), name) {
            (path, "") => path.to_owned(),
            ("", name) => name.to_owned(),
            (path, name) => format!("{path}.{name}"),
        }
    }

    /// The row of `name` for the kind of this table; for another kind if that has none.
    fn find(&self, name: &str) -> Option<&'static Key> {
        let rows = || self.rows.iter().filter(|key| key.name == name);
        let mut of_kind = rows().filter(|key| key.only.is_none() || key.only == self.kind);
        of_kind.next().or_else(|| rows().next())
    }

    /// Whether `name` is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.get(name).is_some()
    }

    pub(crate) fn row(&self, name: &str) -> &'static Key {
        self.find(name)
            .unwrap_or_else(|| panic!("{name} is not in the table of {:?}", self.section()))
    }

    /// Adds the problem that the value of `name` is wrong, or that it is missing, because `why`.
    pub(crate) fn refuse(&self, reader: &mut Reader, name: &str, why: &str) {
        match self.table.get(name) {
            Some(node) => reader.wrong(&self.key(name), node, why),
            None => reader.missing(&self.key(name), self.node, why),
        }
    }

    /// The node of `name`; a problem if it must be given and is not.
    pub(crate) fn node(&self, reader: &mut Reader, name: &str) -> Option<&'a Node> {
        let row = self.row(name);
        let node = self.table.get(name);
        if node.is_none() && matches!(row.default, KeyDefault::Required) {
            reader.missing(
                &self.key(name),
                self.node,
                &format!("must be {}", row.domain),
            );
        }
        node
    }

    /// The value given, else the default; `None` after a problem, and where nothing is given and nothing is the default.
    pub(crate) fn parsed(&self, reader: &mut Reader, name: &str) -> Option<Parsed> {
        self.parsed_in(reader, name, self.row(name).domain)
    }

    /// The value given, read as one of `domain`, else the default.
    pub(crate) fn parsed_in(
        &self,
        reader: &mut Reader,
        name: &str,
        domain: Domain,
    ) -> Option<Parsed> {
        let row = self.row(name);
        let Some(node) = self.node(reader, name) else {
            return match row.default {
                KeyDefault::Is("[1]") => Some(Parsed::Seeds(vec![1])),
                KeyDefault::Is(text) => domain.parse(text),
                KeyDefault::Required | KeyDefault::Derived(_) => None,
            };
        };
        match domain.read(node) {
            Ok(value) => Some(value),
            Err(refusal) => {
                let mut allowed = refusal.to_string();
                if let Tree::Scalar(_, found) = &node.value {
                    allowed.push_str(&guesses::word(name, found).unwrap_or_default());
                }
                reader.wrong(&self.key(name), node, &allowed);
                None
            }
        }
    }

    /// The value given, else the default, as a field has it.
    pub(crate) fn get<T: Field>(&self, reader: &mut Reader, name: &str) -> Option<T> {
        self.parsed(reader, name)
            .map_or_else(T::absent, T::from_parsed)
    }

    /// The value given, as `read` reads it. The inner `None` is a key that is not given.
    pub(crate) fn optional<T>(
        &self,
        reader: &mut Reader,
        name: &str,
        read: impl FnOnce(&mut Reader, &str, &Node) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.node(reader, name) {
            Some(node) => read(reader, &self.key(name), node).map(Some),
            None => Some(None),
        }
    }
}

/// A struct that was declared with `keys!`.
pub(crate) trait Keys: Sized {
    /// The rows in each section where the table stands, in the order of the declaration.
    const TABLES: &'static [&'static [Key]];
    /// The rows in the first section.
    const ROWS: &'static [Key] = Self::TABLES[0];
    /// The fields that are read so far.
    type Draft;
    /// Reads every field but for those that are read by hand.
    fn draft(reader: &mut Reader, view: &View<'_>) -> Self::Draft;
    /// The struct, if every field was read.
    fn finish(draft: Self::Draft) -> Option<Self>;
    /// Every key with its value, in the order of the rows.
    fn written(&self) -> impl Iterator<Item = (&'static Key, Option<Written>)>;

    /// Every key that has a value, as a table on one line.
    fn inline(&self) -> String {
        inline(self.written())
    }

    /// Reads the table at `path`, of which nothing is read by hand.
    fn read(reader: &mut Reader, path: &str, node: &Node) -> Option<Self> {
        let view = View::new(reader, Self::ROWS, path, node)?;
        Self::finish(Self::draft(reader, &view))
    }
}

impl Domain {
    /// Reads the value of a node, or says what is allowed.
    pub(crate) fn read(&self, node: &Node) -> Result<Parsed, Refusal> {
        if let (Self::Seeds, Tree::Array(nodes)) = (self, &node.value) {
            return seeds(nodes);
        }
        let parsed = scalar(node, self.kinds()).and_then(|text| self.parse(text));
        parsed.ok_or_else(|| Refusal::Must {
            allowed: self.to_string(),
            hint: hint::of(self, node),
        })
    }
}

fn seeds(nodes: &[Node]) -> Result<Parsed, Refusal> {
    if nodes.len() > MOST_SEEDS {
        return Err(Refusal::ManySeeds(nodes.len()));
    }
    let mut seeds: Vec<u64> = Vec::new();
    for node in nodes {
        let seed = scalar(node, &[TomlType::Integer]).and_then(|text| text.parse().ok());
        let seed = seed.filter(|&seed| seed <= i64::MAX as u64);
        let seed = seed.ok_or_else(|| Refusal::NoSeed(node.found()))?;
        if seeds.contains(&seed) {
            return Err(Refusal::SeedTwice(seed));
        }
        seeds.push(seed);
    }
    match seeds.is_empty() {
        true => Err(Refusal::NoSeeds),
        false => Ok(Parsed::Seeds(seeds)),
    }
}
