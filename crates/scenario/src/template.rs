//! A scenario file that is read once and resolved many times, each time with other values.

use quell_units::{Time, notation};

use super::hops::default_name;
use super::problem::Origin;
use super::tree::{Node, Table, TomlType, Tree};
use super::{
    Loaded, Override, Problems, ReadFile, Scenario, World, check, places, programs, read, tree,
    warn,
};

/// A scenario file as written. Nothing but its syntax is checked yet.
#[derive(Debug, Clone)]
pub struct Template {
    file: String,
    root: Node,
}

impl Template {
    /// Reads `text`, the content of `file`, which errors name.
    ///
    /// # Errors
    ///
    /// It is not TOML.
    pub fn read(file: &str, text: &str) -> Result<Self, Problems> {
        let root = tree::read(file, text).map_err(|problem| Problems::new(vec![problem]))?;
        Ok(Self {
            file: file.to_owned(),
            root,
        })
    }

    /// The scenario as [`Scenario::load_with_files`] gives it, without warnings about it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the scenario.
    pub fn scenario(
        &self,
        overrides: &[Override],
        world: Option<World>,
        files: ReadFile,
    ) -> Result<Scenario, Problems> {
        let mut changed = self.clone();
        changed.apply(overrides)?;
        let (scenario, _) = changed.checked(world, files)?;
        Ok(scenario)
    }

    /// Resolves the scenario, with warnings and a summary of each trace.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the scenario.
    pub fn loaded(
        &self,
        overrides: &[Override],
        world: Option<World>,
        files: ReadFile,
    ) -> Result<Loaded, Problems> {
        self.clone().into_loaded(overrides, world, files)
    }

    /// Resolves the scenario of a file that is needed once.
    pub(crate) fn into_loaded(
        mut self,
        overrides: &[Override],
        world: Option<World>,
        files: ReadFile,
    ) -> Result<Loaded, Problems> {
        self.apply(overrides)?;
        let (scenario, traces) = self.checked(world, files)?;
        let places = places::Places::new(&self.file, &self.root);
        let warnings = warn::warnings(&scenario, &places);
        let programs = programs::named(&scenario, &places);
        Ok(Loaded {
            scenario,
            warnings,
            traces,
            programs,
        })
    }

    /// The template with one more timed change: `key` becomes `value`, as after `--set`, at `time`.
    #[must_use]
    pub fn with_change(&self, time: Time, key: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.change(time, key, value);
        changed
    }

    /// Adds one more timed change: `key` becomes `value`, as after `--set`, at `time`.
    pub fn change(&mut self, time: Time, key: &str, value: &str) {
        let Tree::Table(root) = &mut self.root.value else {
            return;
        };
        let origin = Origin::Argument(format!("{key}={value}"));
        let node = |value| Node {
            origin: origin.clone(),
            value,
        };
        if root.get("at").is_none() {
            root.set("at", node(Tree::Array(Vec::new())));
        }
        let Some(Tree::Array(all)) = root.get_mut("at").map(|at| &mut at.value) else {
            return;
        };
        // Of the file: what repeats is there once, and nothing joins it. The new one comes last of its time. Times that do not rise are
        // refused later, wherever it stands.
        let mut place = all.partition_point(|entry| time_of(entry) <= Some(time));
        let joins = |entry: &&Node| time_of(entry) == Some(time) && !repeats(entry);
        if all[..place].last().filter(joins).is_some() {
            place -= 1;
        } else {
            let text = Tree::Scalar(TomlType::String, time.to_string());
            let mut entry = Table::of("time", node(text));
            entry.set("set", node(Tree::Table(Table::default())));
            all.insert(place, node(Tree::Table(entry)));
        }
        let entry = all.get_mut(place).map(|entry| &mut entry.value);
        if let Some(Tree::Table(entry)) = entry
            && let Some(Tree::Table(set)) = entry.get_mut("set").map(|set| &mut set.value)
        {
            set.set(key, tree::read_argument(value, &origin));
        }
    }

    /// The tree after `overrides`.
    ///
    /// # Errors
    ///
    /// One of them has no place.
    pub fn with(&self, overrides: &[Override]) -> Result<Self, Problems> {
        let mut changed = self.clone();
        changed.apply(overrides)?;
        Ok(changed)
    }

    /// Whether a key of the file itself is there.
    pub fn has(&self, key: &str) -> bool {
        matches!(&self.root.value, Tree::Table(root) if root.get(key).is_some())
    }

    /// Takes a key of the file itself out, for a caller that gives it a meaning of its own.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Tree::Table(root) = &mut self.root.value else {
            return None;
        };
        let taken = root.get(key).cloned();
        root.retain(|other| other != key);
        taken
    }

    /// The names of its links as keys have them, and of each, forward and reverse, whether it is written that it has a rate.
    pub fn links(&self) -> Vec<(String, [bool; 2])> {
        let Tree::Table(root) = &self.root.value else {
            return Vec::new();
        };
        let nodes = match root.get("link").map(|node| (node, &node.value)) {
            Some((_, Tree::Array(nodes))) => &nodes[..],
            Some((node, _)) => std::slice::from_ref(node),
            None => return Vec::new(),
        };
        let limited = |node: Option<&Node>| match node.map(|node| &node.value) {
            Some(Tree::Scalar(_, rate)) => rate != "unlimited",
            Some(_) => true,
            None => false,
        };
        let links = nodes.iter().enumerate().map(|(position, node)| {
            let Tree::Table(table) = &node.value else {
                return (default_name(position, nodes.len()), [false; 2]);
            };
            let reverse = match table.get("reverse").map(|node| &node.value) {
                Some(Tree::Table(reverse)) => reverse.get("rate"),
                _ => None,
            };
            let name = named(node).map(str::to_owned);
            (
                name.unwrap_or_else(|| default_name(position, nodes.len())),
                [limited(table.get("rate")), limited(reverse)],
            )
        });
        links.collect()
    }

    fn apply(&mut self, overrides: &[Override]) -> Result<(), Problems> {
        for one in overrides {
            let applied = one.apply(&self.file, &mut self.root);
            applied.map_err(|problem| Problems::new(vec![problem]))?;
        }
        Ok(())
    }

    /// The scenario, and a summary of each of its traces.
    fn checked(
        &self,
        world: Option<World>,
        files: ReadFile,
    ) -> Result<(Scenario, Vec<String>), Problems> {
        let places = places::Places::new(&self.file, &self.root);
        let (scenario, traces) = read::read(&self.file, &self.root, files)?;
        check::check(&scenario, world, &places)?;
        Ok((scenario, traces))
    }

    /// The names of its groups, where they are written as names.
    pub fn groups(&self) -> Vec<&str> {
        let Tree::Table(table) = &self.root.value else {
            return Vec::new();
        };
        let Some(Tree::Array(groups)) = table.get("group").map(|node| &node.value) else {
            return Vec::new();
        };
        groups.iter().filter_map(named).collect()
    }
}

/// When an `[[at]]` first happens.
fn time_of(entry: &Node) -> Option<Time> {
    let Tree::Table(table) = &entry.value else {
        return None;
    };
    match &table.get("time")?.value {
        Tree::Scalar(_, text) => notation::time(text).ok(),
        _ => None,
    }
}

/// Whether an `[[at]]` happens more than once.
fn repeats(entry: &Node) -> bool {
    matches!(&entry.value, Tree::Table(table) if table.get("repeat").is_some())
}

fn named(group: &Node) -> Option<&str> {
    let Tree::Table(table) = &group.value else {
        return None;
    };
    match &table.get("name")?.value {
        Tree::Scalar(_, name) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::no_files;

    const TEXT: &str = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = { kind = \"pie\", target = \"9ms\" }\n\
        [[group]]\nname = \"a\"\nrtt = \"7ms\"\napp = { kind = \"bulk\" }\n[[group]]\nname = \"b\"\nrtt = \"7ms\"\n\
        app = { kind = \"bulk\" }\n[run]\nduration = \"1s\"\n";

    #[test]
    fn a_template_gives_the_scenario_of_its_file_each_time() {
        let template = Template::read("t.toml", TEXT).unwrap();
        assert_eq!(template.groups(), ["a", "b"]);
        let faster = [Override::set("link.rate=8mbit").unwrap()];
        for overrides in [&[][..], &faster] {
            let expected = Scenario::load("t.toml", TEXT, overrides, None).unwrap();
            for _ in 0..2 {
                let given = template.scenario(overrides, None, no_files()).unwrap();
                assert_eq!(given, expected.scenario);
            }
        }
        assert!(Template::read("t.toml", "a = =").is_err());
    }

    #[test]
    fn its_links_are_known_by_their_names_and_rates() {
        let text = "[[link]]\nname = \"a\"\nrate = \"unlimited\"\n[[link]]\nrate = { data = \"\" }\nreverse = { rate = \"1mbit\" }\n";
        let template = Template::read("t.toml", text).unwrap();
        let links = template.links();
        let expected = [("a", [false, false]), ("link2", [true, true])];
        let expected = expected.map(|(name, limited)| (name.to_owned(), limited));
        assert_eq!(links, expected);
        let set = Override::set("link.a.reverse.rate=2mbit").unwrap();
        let slower = template.with(&[set]).unwrap();
        assert_eq!(slower.links()[0], ("a".to_owned(), [false, true]));
        let none = Override::set("link.b.rate=2mbit").unwrap();
        assert!(template.with(&[none]).is_err());
        let one = Template::read("t.toml", TEXT).unwrap();
        assert_eq!(one.links(), [("link".to_owned(), [true, false])]);
        assert!(Template::read("t.toml", "").unwrap().links().is_empty());
    }

    #[test]
    fn a_key_of_somebody_else_can_be_taken_out() {
        let text = format!("{TEXT}[exec]\nrtt = \"7ms\"\n");
        let mut template = Template::read("t.toml", &text).unwrap();
        assert!(template.has("exec"));
        assert!(template.scenario(&[], None, no_files()).is_err());
        assert!(template.take("exec").is_some());
        assert!(!template.has("exec"));
        assert!(template.scenario(&[], None, no_files()).is_ok());
        assert_eq!(template.take("exec"), None);
    }
}
