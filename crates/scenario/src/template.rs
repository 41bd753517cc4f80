//! A scenario file that is read once and resolved many times, each time with other values.

use super::tree::{Node, Tree};
use super::{
    Loaded, Override, Problems, ReadFile, Scenario, World, check, places, read, tree, warn,
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
        changed.checked(world, files)
    }

    /// The same with warnings, of a file that is needed once.
    pub(crate) fn into_loaded(
        mut self,
        overrides: &[Override],
        world: Option<World>,
        files: ReadFile,
    ) -> Result<Loaded, Problems> {
        self.apply(overrides)?;
        let scenario = self.checked(world, files)?;
        let warnings = warn::warnings(&scenario, &places::Places::new(&self.file, &self.root));
        Ok(Loaded { scenario, warnings })
    }

    fn apply(&mut self, overrides: &[Override]) -> Result<(), Problems> {
        for one in overrides {
            let applied = one.apply(&self.file, &mut self.root);
            applied.map_err(|problem| Problems::new(vec![problem]))?;
        }
        Ok(())
    }

    fn checked(&self, world: Option<World>, files: ReadFile) -> Result<Scenario, Problems> {
        let scenario = read::read(&self.file, &self.root, files)?;
        let places = places::Places::new(&self.file, &self.root);
        check::check(&scenario, world, &places)?;
        Ok(scenario)
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
    use crate::rates_file::no_files;

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
}
