//! `include/quell_aqm.h` is what the sources say, each thing once. `make bless` writes it anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The header of the sources as they are.
fn generated() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml");
    // The library's root only: cbindgen follows its modules, and declares again what is in a file that it is given besides.
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root().join("src/lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("text")
}

#[test]
fn the_header_is_current() {
    let path = root().join("include/quell_aqm.h");
    let header = generated();
    quell_testing::compare_or_bless(&path, &header);
}

#[test]
fn every_function_of_the_library_is_declared_exactly_once() {
    let header = fs::read_to_string(root().join("include/quell_aqm.h")).expect("a header");
    let mut declared: BTreeMap<String, usize> = BTreeMap::new();
    // A declaration begins in the first column: "int32_t quell_kind_get(", "const char *quell_version(".
    for line in header.lines() {
        let call = line.split_once('(').map(|(before, _)| before);
        let name = call.and_then(|before| before.rsplit([' ', '*']).next());
        if let Some(name) = name.filter(|name| name.starts_with("quell_"))
            && !line.starts_with([' ', '/'])
        {
            *declared.entry(name.to_owned()).or_default() += 1;
        }
    }
    let mut defined: BTreeMap<String, usize> = BTreeMap::new();
    for entry in fs::read_dir(root().join("src")).expect("src") {
        let text = fs::read_to_string(entry.expect("src").path()).expect("a source");
        for rest in text.split("extern \"C\" fn quell_").skip(1) {
            let (name, _) = rest.split_once('(').expect("arguments");
            *defined.entry(format!("quell_{name}")).or_default() += 1;
        }
    }
    assert!(defined.len() > 20, "{defined:?}");
    assert_eq!(declared, defined);
}
