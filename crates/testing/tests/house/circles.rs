//! The modules of a layered crate do not import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::{names, project, sources};

/// The crates whose modules are layered.
const LAYERED: [&str; 18] = [
    "app", "aqm", "aqm-c", "confine", "hosts", "kernel", "lab", "link", "measure", "quell",
    "replay", "results", "scenario", "serve", "sim", "tcp", "units", "validate",
];

/// What a source names outside its tests, which may look at everything.
fn named(source: &str) -> Vec<String> {
    let code = source.replace("#[cfg(test)]\nmod tests;\n", "");
    names(code.split("#[cfg(test)]").next().unwrap_or_default())
}

/// The first module of a path in its crate.
fn first(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

/// The modules of a crate, each with those that it names, also by a name that the root of the crate has from them.
fn imports(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = project().join(format!("crates/{name}/src"));
    let mut paths = BTreeMap::<String, Vec<String>>::new();
    for path in sources(&format!("crates/{name}/src")) {
        if path.ends_with("tests.rs") {
            continue;
        }
        let module = path.strip_prefix(&root).unwrap().iter().next().unwrap();
        let module = module.to_str().unwrap().trim_end_matches(".rs").to_owned();
        let used = named(&std::fs::read_to_string(&path).unwrap()).into_iter();
        paths.entry(module).or_default().extend(used);
    }
    let root = paths.remove("lib").or_else(|| paths.remove("main"));
    let exports = root.unwrap();
    let exports: BTreeMap<&str, &str> = exports
        .iter()
        .filter_map(|path| Some((path.rsplit_once("::")?.1, first(path))))
        .collect();
    let imports = paths.iter().map(|(module, used)| {
        let used = used
            .iter()
            .filter_map(|path| path.strip_prefix("crate::house::"))
            .map(|path| exports.get(first(path)).copied().unwrap_or(first(path)))
            .filter(|other| other != module && paths.contains_key(*other))
            .map(str::to_owned)
            .collect();
        (module.clone(), used)
    });
    imports.collect()
}

/// What is left when modules that import nothing are taken away again and again.
fn circles(mut imports: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    while let Some(free) = imports.iter().find(|(_, used)| used.is_empty()) {
        let free = free.0.clone();
        imports.remove(&free);
        imports.values_mut().for_each(|used| {
            used.remove(&free);
        });
    }
    imports
}

#[test]
fn modules_import_each_other_in_no_circle() {
    for name in LAYERED {
        let imports = imports(name);
        assert!(imports.len() >= 5, "{imports:?}");
        let circles = circles(imports);
        assert!(circles.is_empty(), "quell-{name}: {circles:#?}");
    }
}

#[test]
fn a_circle_is_found() {
    let uses = |pairs: &[(&str, &[&str])]| -> BTreeMap<String, BTreeSet<String>> {
        let set = |used: &[&str]| used.iter().map(|&name| name.to_owned()).collect();
        pairs
            .iter()
            .map(|(name, used)| ((*name).to_owned(), set(used)))
            .collect()
    };
    let line = uses(&[
        ("run", &["batch", "job"]),
        ("batch", &["job"]),
        ("job", &[]),
    ]);
    assert!(circles(line).is_empty());
    let circle = uses(&[
        ("run", &["batch"]),
        ("batch", &["run", "job"]),
        ("job", &[]),
    ]);
    assert_eq!(circles(circle).len(), 2);
}
