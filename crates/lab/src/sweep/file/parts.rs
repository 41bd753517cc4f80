//! The parts of a sweep file beside its axes: constraints, experiments, the objective.

use quell_scenario::tree::{Node, Tree};

use super::{Entries, Experiment, Objective, Reader, flat_values};

impl Reader {
    pub(super) fn constraints(&mut self, node: &Node, axes: &[&str]) -> Vec<(Node, Entries)> {
        let Tree::Array(nodes) = &node.value else {
            self.wrong("constraint", node, "must be written as [[constraint]]");
            return Vec::new();
        };
        let mut all = Vec::new();
        for (number, one) in nodes.iter().enumerate() {
            let key = format!("constraint.{}", number + 1);
            let Some(table) = self.table(&key, one, &["skip"]) else {
                continue;
            };
            let skip = table.get("skip").map(|node| &node.value);
            let entries = match skip {
                Some(Tree::Table(skip)) => flat_values(skip),
                _ => Vec::new(),
            };
            if entries.is_empty() {
                let allowed = "needs skip = { KEY = VALUE, … } with keys of axes";
                self.about(&key, one, allowed);
            }
            for (name, value) in &entries {
                if !axes.contains(&name.as_str()) {
                    let allowed = format!("is no axis; axes are {}", axes.join(", "));
                    self.about(&format!("{key}.skip.{name}"), value, allowed);
                }
            }
            all.push((one.clone(), entries));
        }
        all
    }

    pub(super) fn experiments(&mut self, node: &Node, has_scenario: bool) -> Vec<Experiment> {
        let Tree::Array(nodes) = &node.value else {
            self.wrong("experiment", node, "must be written as [[experiment]]");
            return Vec::new();
        };
        let mut all: Vec<Experiment> = Vec::new();
        for (number, one) in nodes.iter().enumerate() {
            let key = format!("experiment.{}", number + 1);
            let known = ["name", "scenario", "set", "seeds"];
            let Some(table) = self.table(&key, one, &known) else {
                continue;
            };
            let name = table.get("name");
            let Some(name) = name.and_then(|node| self.text(&format!("{key}.name"), node)) else {
                self.about(&format!("{key}.name"), one, "is missing; must be a text");
                continue;
            };
            if all.iter().any(|other| other.name == name) {
                self.about(&key, one, format!("another experiment is called {name}"));
            }
            let scenario = table.get("scenario").cloned();
            if let Some(node) = &scenario {
                self.text(&format!("{name}.scenario"), node);
            } else if !has_scenario {
                let allowed = "is missing; must be the path of a scenario file";
                self.about(&format!("{key}.scenario"), one, allowed);
            }
            let set = table.get("set");
            let set = set.map_or_else(Vec::new, |node| self.set(&format!("{key}.set"), node));
            let seeds = table.get("seeds");
            let seeds = seeds.and_then(|node| self.seeds(&format!("{key}.seeds"), node));
            all.push(Experiment {
                name,
                node: one.clone(),
                scenario,
                set,
                seeds,
            });
        }
        if all.is_empty() && self.problems.is_empty() {
            self.about("experiment", node, "has no entries");
        }
        all
    }

    pub(super) fn set(&mut self, key: &str, node: &Node) -> Entries {
        let Tree::Table(set) = &node.value else {
            self.wrong(key, node, "must be { KEY = VALUE, … }");
            return Vec::new();
        };
        let set = flat_values(set);
        if let Some((_, node)) = set.iter().find(|(name, _)| name == "run.seeds") {
            self.wrong(
                &format!("{key}.run.seeds"),
                node,
                "seeds are given as seeds = …",
            );
        }
        set
    }

    pub(super) fn objective(&mut self, node: &Node, known: &[&str]) -> Objective {
        let mut objective = Objective::default();
        let Some(table) = self.table("objective", node, &["minimise", "maximise", "within"]) else {
            return objective;
        };
        for (key, node) in table.iter() {
            let form = "must be a list of texts";
            let Tree::Array(nodes) = &node.value else {
                self.wrong(&format!("objective.{key}"), node, form);
                continue;
            };
            let texts = nodes
                .iter()
                .filter_map(|node| self.text(&format!("objective.{key}"), node));
            let texts: Vec<String> = texts.collect();
            match key {
                "minimise" => objective.minimise = texts,
                "maximise" => objective.maximise = texts,
                _ => {
                    for text in texts.iter().filter(|text| !known.contains(&text.as_str())) {
                        let allowed = format!("{text} is no axis; axes are {}", known.join(", "));
                        self.about("objective.within", node, allowed);
                    }
                    objective.within = texts;
                }
            }
        }
        if objective.minimise.is_empty() && objective.maximise.is_empty() {
            let allowed = "needs minimise or maximise, a list of columns of the table";
            self.about("objective", node, allowed);
        }
        objective
    }
}
