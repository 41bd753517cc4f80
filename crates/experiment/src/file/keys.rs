//! The keys of a file, table by table, with what each may hold and means: the reader knows no others, and the JSON Schema follows from them.

use super::definition::{
    LEVELS, METHODS, MOST_SEEDS, MOST_STRENGTH, MOST_VALUES, Over, PARTS, QUICK,
};
use crate::measure::Measure;

/// A key, what it may hold, and what it means.
pub(crate) struct Key(
    pub(super) &'static str,
    pub(super) Form,
    pub(super) &'static str,
);

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// Whether a name is one of these keys.
pub(super) fn is_key(keys: &[Key], name: &str) -> bool {
    keys.iter().any(|key| key.0 == name)
}

/// What a key may hold.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// The number of the format.
    Version,
    /// A text that is not empty.
    Text,
    Texts,
    /// A text or several.
    SomeTexts,
    Flag,
    Number,
    /// A whole number from 1 to this one.
    Whole(u64),
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A text with expressions, or what stands for itself.
    Template,
    Templates,
    /// Lines of them.
    Lines,
    /// An expression, or a value.
    Formula,
    Formulas,
    /// A table with these keys.
    Table(&'static [Key]),
    /// A list of such tables.
    Tables(&'static [Key]),
    /// What the schema defines under this name, or a list of it.
    Several(&'static str),
    /// A table of names with what the schema defines under this name.
    Named(&'static str),
    /// What the schema defines under this name.
    To(&'static str),
}

use Form::{
    Flag, Formula, Formulas, Lines, Named, Number, Several, SomeTexts, Table, Tables, Template,
    Templates, Text, Texts, To, Version, Whole, Word,
};

/// The other direction of an item, and its first link.
const BACK: [(&str, ()); 2] = [("same", ()), ("own-buffer", ())];
const FRONT: [(&str, ()); 2] = [("same", ()), ("doubled", ())];

fn words<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}

const SCENARIO: Key = Key("scenario", Template, "beside this file, or of quell");
const SET: Key = Key("set", To("set"), "keys of the scenario with values");
const OVER_LINUX: Key = Key("over-linux", To("set"), "the same over a real kernel");
const SEEDS: Key = Key("seeds", To("seeds"), "seeds of each point");
const MEASURE: Key = Key("measure", Word(|| words(&Measure::ALL)), "what is measured");
const WATCHED: Key = Key("watched", Template, "queue that is watched from outside");
const BRIEF: Key = Key("quick", Word(|| words(&QUICK)), "how long quick runs last");
const WHERE: Key = Key("where", Formula, "condition under which it counts");
pub(super) const LABEL: Key = Key("label", Formula, "what a value of the axis is called");

/// The file.
pub(super) const FILE: [Key; 29] = [
    Key("schema", Version, "version of the format"),
    Key("like", Text, "name of a file with the same runs"),
    Key("title", Text, "what it is about"),
    Key("source", Text, "publication, and place in it"),
    Key("description", Text, "what the set-up is"),
    SCENARIO,
    SET,
    OVER_LINUX,
    SEEDS,
    MEASURE,
    WATCHED,
    BRIEF,
    Key("reference", Table(&REFERENCE), "record of another world"),
    Key("method", Word(|| words(&METHODS)), "which points run"),
    Key("strength", Whole(MOST_STRENGTH), "axes that are combined"),
    Key("most-seeds", Whole(MOST_SEEDS), "seeds where runs scatter"),
    Key("skip", Formulas, "conditions of points to leave out"),
    Key("judged", Formula, "where of statements without one"),
    Key("what", Template, "what checks are called"),
    Key("let", Named("formula"), "names for expressions"),
    Key("axis", Named("axis"), "what varies: together, a grid"),
    Key("when", Tables(&WHEN), "keys of runs at some points"),
    Key("figure", Named("figure"), "what is measured"),
    Key("statement", Named("statement"), "what the source says"),
    Key("reason", Named("text"), "texts that statements share"),
    Key("table", Named("table"), "tables of the page"),
    Key("csv", Named("table"), "CSV files, by name"),
    Key("picture", Tables(&PICTURE), "pictures of the book"),
    Key("page", Table(&PAGE), "text of the book"),
];

/// What runs have.
pub(super) const RUN: [Key; 7] = [SCENARIO, SET, OVER_LINUX, SEEDS, MEASURE, WATCHED, BRIEF];

/// The same at some points.
pub(super) const WHEN: [Key; 8] = [
    SCENARIO, SET, OVER_LINUX, SEEDS, MEASURE, WATCHED, BRIEF, WHERE,
];

/// Seeds without a gap.
pub(super) const SEED_RANGE: [Key; 2] = [
    Key("from", Number, "the first; 1 if not given"),
    Key("count", Whole(MOST_SEEDS), "how many"),
];

/// What is recorded.
pub(super) const REFERENCE: [Key; 4] = [
    Key("file", Text, "CSV file beside this one"),
    Key("world", SomeTexts, "worlds that are recorded"),
    Key("point", Template, "name of a point in the file"),
    Key("row", Template, "name of a point in tables"),
];

/// What an axis has besides what all its values have.
pub(super) const AXIS: [Key; 5] = [
    Key("values", To("values"), "its values"),
    Key("file", Text, "CSV file, whose rows are values"),
    Key("parts", Word(|| words(&PARTS)), "parts of each result"),
    Key("runs", Flag, "whether its values have runs"),
    Key("published", Text, "value in front, as printed"),
];

/// Equal steps.
pub(super) const STEPS: [Key; 3] = [
    Key("from", Number, "one end"),
    Key("to", Number, "the other end"),
    Key("steps", Whole(MOST_VALUES as u64), "how many with ends"),
];

/// A figure.
pub(super) const FIGURE: [Key; 6] = [
    Key("of", Formula, "the expression"),
    Key("over", Word(|| words(&Over::ALL)), "how runs become one"),
    WHERE,
    Key("label", Template, "what it is called, with its unit"),
    Key("show", Text, "form of numbers: d, g, .2, +.1"),
    Key("published", Formula, "value at the published point"),
];

/// A statement.
pub(super) const STATEMENT: [Key; 9] = [
    Key("published", Text, "what the source says"),
    Key("checked", Text, "what is checked, and why"),
    WHERE,
    Key("check", Several("check"), "what decides the verdict"),
    Key("guard", Several("check"), "what decides nothing, but holds"),
    Key("differs", Text, "why a check fails, or {REASON}"),
    Key("cannot", Text, "why nothing is judged, or {REASON}"),
    Key("shown", Template, "what came out, in words"),
    Key("clause", Table(&CLAUSE), "requirement of a standard"),
];

/// A requirement, for `quell judge`.
pub(super) const CLAUSE: [Key; 7] = [
    Key("by", Text, "document and section"),
    Key("level", Word(|| words(&LEVELS)), "how strongly it asks"),
    Key(
        "na",
        Named("formula"),
        "conditions by why it does not apply",
    ),
    Key("open", Named("formula"), "conditions by why nobody can say"),
    Key("fail", Formula, "fails if so; else what misses is open"),
    Key("note", Flag, "whether it is measured alone"),
    Key("quick", Flag, "whether a quick look judges it"),
];

/// A check.
pub(super) const CHECK: [Key; 24] = [
    Key("figure", Text, "figure that is checked"),
    Key("value", Formula, "expression instead of a figure"),
    Key("label", Template, "what it is called"),
    Key("within", Formula, "percent that it may be off"),
    Key("of", Formula, "value that it may be off"),
    Key("near", Formula, "the same, of a constant"),
    Key("or-within", Formula, "units that it may be off"),
    Key("beside", Text, "recorded world to compare with"),
    Key("absent", Number, "recorded value of a missing row"),
    Key("from", Formula, "the least"),
    Key("to", Formula, "the most"),
    Key("is", Formula, "exactly"),
    Key("above", Formula, "more than"),
    Key("below", Formula, "less than"),
    Key("at-least", Formula, "the least"),
    Key("at-most", Formula, "the most"),
    Key("holds", Formula, "condition"),
    WHERE,
    Key("only", Texts, "labels of the first axis"),
    Key("except", Texts, "labels of the first axis"),
    Key("each", Texts, "axes over which it repeats"),
    Key("what", Template, "what it is called in messages"),
    Key("runs", Flag, "whether it repeats for each run"),
    Key("guard", Number, "percent off at most if it fails"),
];

/// A table.
pub(super) const TABLE: [Key; 12] = [
    Key("rows", Texts, "axes of its rows"),
    WHERE,
    Key("columns", To("columns"), "heads and cells"),
    Key("heads", Templates, "heads of lines"),
    Key("lines", Lines, "lines for each point of the rows"),
    Key("foot", Lines, "lines behind the rows"),
    Key("kind", Word(|| vec!["deviations"]), "ours and published"),
    Key("within", Number, "percent of its band"),
    Key("figures", Texts, "figures with a published value"),
    Key("place", Template, "point in words"),
    Key("show", Template, "deviation in words"),
    Key("table", Text, "table with the same content"),
];

/// A column for each value of an axis.
pub(super) const COLUMN: [Key; 3] = [
    Key("each", Text, "the axis"),
    Key("head", Template, "its head"),
    Key("cell", Template, "its cells"),
];

/// A picture.
pub(super) const PICTURE: [Key; 10] = [
    Key("title", Template, "its title"),
    Key("axis", Text, "quantity of pairs, with its unit"),
    Key("axes", Texts, "quantities of curves, with units"),
    Key("each", Texts, "axes with a picture per value"),
    Key("rows", Texts, "axes over which it goes"),
    Key("pairs", Several("pair"), "values beside published ones"),
    Key("curves", Several("curve"), "curves over a quantity"),
    WHERE,
    Key("over", Text, "axis along which curves go"),
    Key("x", Formula, "where points of curves lie"),
];

/// A value beside a published one.
pub(super) const PAIR: [Key; 5] = [
    Key("label", Template, "what it is called"),
    Key("ours", Formula, "value that came out"),
    Key("published", Formula, "value that the source printed"),
    WHERE,
    Key("rows", Texts, "axes over which it goes by itself"),
];

/// A curve.
pub(super) const CURVE: [Key; 7] = [
    Key("name", Template, "what it is called"),
    Key("ours", Formula, "values that came out"),
    Key("published", Formula, "values that the source printed"),
    Key("x", Formula, "where its points lie"),
    Key("over", Text, "axis along which it goes"),
    Key("each", Texts, "axes with a curve per value"),
    WHERE,
];

/// A suite of report cards.
pub(crate) const SUITE: [Key; 8] = [
    Key("schema", Version, "version of the format"),
    Key("profile", Table(&PROFILE), "path that the suite fixes"),
    Key("notes", Templates, "what cards say of the suite"),
    Key("let", Named("formula"), "names for expressions"),
    Key("each", Table(&ITEM), "keys of all items"),
    Key("group", Named("keys"), "keys of groups with this name"),
    Key("item", Named("item"), "what runs"),
    Key("statement", Named("bound"), "what is judged"),
];

/// What a suite says of the path.
pub(crate) const PROFILE: [Key; 2] = [
    Key("rtt", Text, "base RTT without one of the profile"),
    Key("note", Template, "what cards say of the path"),
];

/// An item.
pub(crate) const ITEM: [Key; 23] = [
    Key("source", Text, "document and section"),
    Key("weight", Text, "how strongly the source asks"),
    Key("title", Text, "what it is about"),
    Key("cannot", Text, "why it does not run"),
    Key("described", Flag, "whether it describes, and runs not"),
    Key("parameters", Flag, "whether it shows parameters"),
    Key("unjudged", Text, "why it is not judged"),
    Key("losses", Flag, "whether losses are shown"),
    Key("start", Flag, "whether the start is shown"),
    Key("directions", Flag, "whether both directions are shown"),
    Key("phases", Flag, "whether phases are shown"),
    Key("ratio", Flag, "whether the ratio is shown"),
    Key("marks", Flag, "whether marks are shown"),
    Key("buffer", Whole(1_000_000_000), "packets of the queue"),
    Key("both-ways", Word(|| words(&BACK)), "queue of the other way"),
    Key("rate", Template, "rate of the link"),
    Key("queue", To("queue"), "queue instead of the card's"),
    Key("reverse", Template, "rate of the other direction"),
    Key("first", Table(&FIRST), "link in front"),
    Key("group", To("groups"), "groups of flows"),
    Key("at", Tables(&CHANGE), "changes during the run"),
    Key("measured", Template, "when measuring begins"),
    Key("settle", Template, "how long flows settle"),
];

/// The first of two links.
pub(crate) const FIRST: [Key; 3] = [
    Key("rate", Template, "its rate"),
    Key("queue", To("queue"), "its queue"),
    Key("is", Word(|| words(&FRONT)), "its queue: that of the card"),
];

/// A change.
pub(crate) const CHANGE: [Key; 3] = [
    Key("time", Template, "when"),
    Key("repeat", Template, "how often again"),
    Key("set", To("keys"), "keys with their values"),
];

/// A bound of a suite.
pub(crate) const BOUND: [Key; 4] = [
    Key("what", Template, "what is judged, in words"),
    Key("source", Text, "who says so"),
    WHERE,
    Key("check", Table(&BOUND_OF), "bound"),
];

/// A figure of a card with its bound.
pub(crate) const BOUND_OF: [Key; 4] = [
    Key("group", Text, "group of the figure"),
    Key("figure", Text, "name of the figure"),
    Key("at-least", Formula, "the least"),
    Key("at-most", Formula, "the most"),
];

/// The page.
pub(super) const PAGE: [Key; 1] = [Key("text", Template, "Markdown, with {table.NAME}")];
