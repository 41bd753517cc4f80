//! The modules of a crate import each other in no circle, where that has been made so.

use std::collections::{BTreeMap, BTreeSet};

use crate::{names, project, sources};

/// The crates whose modules are layered.
const LAYERED: [&str; 9] = [
    "app", "confine", "hosts", "kernel", "lab", "link", "results", "sim", "units",
];

/// The modules of a crate, each with those that it names.
fn imports(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = project().join(format!("crates/{name}/src"));
    let mut imports = BTreeMap::<String, BTreeSet<String>>::new();
    for path in sources(&format!("crates/{name}/src")) {
        let module = path.strip_prefix(&root).unwrap().iter().next().unwrap();
        let module = module.to_str().unwrap().trim_end_matches(".rs").to_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        // Tests may look at everything.
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let used = names(code).into_iter().filter_map(|name| {
            let rest = name.strip_prefix("crate::")?;
            rest.split("::").next().map(str::to_owned)
        });
        imports.entry(module).or_default().extend(used);
    }
    let modules: BTreeSet<String> = imports.keys().cloned().collect();
    for (module, used) in &mut imports {
        used.retain(|other| other != module && modules.contains(other));
    }
    imports
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
        assert!(imports.len() > 5, "{imports:?}");
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
