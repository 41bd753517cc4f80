//! Which file of a crate names which other one.
//!
//! Paths are resolved as the compiler does it, through what a file imports and exports, as far as the text shows it: a name that comes by `*` or from
//! a macro belongs to the module that it is taken from, and a module within a file to that file. Code under `#[cfg(test)]` may look at everything and
//! does not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::{names, project, sources};

/// Each file, by the path of its module (`live/plan`, the root is empty), with those that it names.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// A chain of imports that is longer ends nowhere.
const LONGEST_CHAIN: usize = 8;

/// What a file says about others.
struct Module {
    /// The paths that it names.
    names: Vec<String>,
    /// The paths that it imports, by the name that they have here.
    imports: BTreeMap<String, String>,
}

/// The files of a crate, by the paths of their modules.
struct Modules(BTreeMap<String, Module>);

/// The graph of a crate of the project.
pub(super) fn graph(name: &str) -> Graph {
    let folder = format!("crates/{name}/src");
    let root = project().join(&folder);
    let files = sources(&folder).into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        (name.to_owned(), text)
    });
    graph_of(&files.collect::<Vec<_>>())
}

/// The graph of files, each with its path in `src` and its text.
///
/// What stands in a folder may name what its folder's own file has, and so on up to the root: only other files count.
pub(super) fn graph_of(files: &[(String, String)]) -> Graph {
    let is_library = files.iter().any(|(name, _)| name == "lib.rs");
    let modules = files.iter().filter_map(|(name, text)| {
        let path = name.trim_end_matches(".rs");
        let path = path.strip_suffix("/mod").unwrap_or(path);
        let mut parts = path.split('/');
        let is_left_out = parts.any(|part| part == "tests")
            || path.starts_with("bin/")
            || (path == "main" && is_library);
        let path = if ["lib", "main"].contains(&path) {
            ""
        } else {
            path
        };
        (!is_left_out).then(|| (path.to_owned(), Module::of(text)))
    });
    let modules = Modules(modules.collect());
    let named = |(path, module): (&String, &Module)| {
        let names = module.names.iter().filter(|name| name.contains("::"));
        let found = names.filter_map(|name| modules.resolve(path, name, LONGEST_CHAIN));
        let found = found.filter(|other| !is_in(path, other)).collect();
        (path.clone(), found)
    };
    modules.0.iter().map(named).collect()
}

/// Whether `path` is `folder`, or in it.
fn is_in(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}

impl Module {
    fn of(text: &str) -> Self {
        let code = without_tests(text);
        Self {
            names: names(&code),
            imports: imports(&code),
        }
    }
}

impl Modules {
    /// The file that has what `path` names in the module `from`; none where it is of another crate.
    fn resolve(&self, from: &str, path: &str, chain: usize) -> Option<String> {
        let chain = chain.checked_sub(1)?;
        let is_step = |part: &&&str| ["self", "super"].contains(*part);
        let parts: Vec<&str> = path.split("::").collect();
        let (mut at, mut rest) = match parts[0] {
            "crate" => (String::new(), &parts[1..]),
            "self" | "super" => {
                let steps = parts.iter().take_while(is_step);
                let ups = steps.clone().filter(|part| **part == "super").count();
                let up = |at: &str| {
                    at.rsplit_once('/')
                        .map_or("", |(folder, _)| folder)
                        .to_owned()
                };
                let at = (0..ups).fold(from.to_owned(), |at, _| up(&at));
                (at, &parts[steps.count()..])
            }
            first if self.0.contains_key(&join(from, first)) => (from.to_owned(), &parts[..]),
            first => {
                let import = self.0[from].imports.get(first)?;
                return self.resolve(from, &whole(import, &parts[1..]), chain);
            }
        };
        while let [first, more @ ..] = rest
            && self.0.contains_key(&join(&at, first))
        {
            (at, rest) = (join(&at, first), more);
        }
        let [first, more @ ..] = rest else {
            return Some(at);
        };
        let Some(import) = self.0.get(&at)?.imports.get(*first) else {
            return Some(at);
        };
        let found = self.resolve(&at, &whole(import, more), chain);
        let is_ours = ["crate", "self", "super"].contains(&import.split("::").next()?);
        found.or_else(|| is_ours.then_some(at))
    }
}

fn whole(import: &str, more: &[&str]) -> String {
    let parts: Vec<&str> = [import].into_iter().chain(more.iter().copied()).collect();
    parts.join("::")
}

/// A source without what is under `#[cfg(test)]`: an item that ends with its line, or a block.
fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() != "#[cfg(test)]" {
            code.push_str(line);
            code.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let item = lines.find(|line| !line.trim_start().starts_with("#["));
        if item.is_some_and(|item| !item.ends_with([';', '}', ','])) {
            let end = format!("{indent}}}");
            lines.find(|line| line.trim_end_matches(';') == end);
        }
    }
    code
}

/// The paths that `use` names, by the names that they have here.
fn imports(code: &str) -> BTreeMap<String, String> {
    let mut imports = BTreeMap::new();
    for statement in code.split(';') {
        let Some((before, paths)) = statement.rsplit_once("use ") else {
            continue;
        };
        // `use` begins its line, or stands behind a visibility.
        let before = before.rsplit('\n').next().unwrap_or_default().trim();
        if !before.is_empty() && !before.starts_with("pub") {
            continue;
        }
        let mut names = names(&format!("{paths};")).into_iter().peekable();
        while let Some(path) = names.next() {
            let path = path.trim_end_matches("::self").to_owned();
            let other = names
                .next_if(|next| next == "as")
                .and_then(|_| names.next());
            let last = path.rsplit("::").next().unwrap_or_default().to_owned();
            imports.insert(other.unwrap_or(last), path);
        }
    }
    imports
}

/// The circles of a graph, each as its members: every one of them leads to every other one.
pub(super) fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|start| (start, reached_from(graph, start)))
        .collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (start, ends) in &reached {
        let is_new = !circles.iter().any(|circle| circle.contains(*start));
        if is_new && ends.contains(start) {
            let circle = ends.iter().filter(|end| reached[**end].contains(start));
            circles.push(circle.map(|&member| member.clone()).collect());
        }
    }
    circles
}

fn reached_from<'a>(graph: &'a Graph, start: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = graph[start].iter().collect();
    while let Some(next) = open.pop() {
        if graph.contains_key(next) && reached.insert(next) {
            open.extend(&graph[next]);
        }
    }
    reached
}
