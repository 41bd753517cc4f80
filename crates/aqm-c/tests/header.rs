//! `include/quell_aqm.h` is what the sources say. With `QUELL_BLESS=1` the test writes it anew.

use std::fs;
use std::path::{Path, PathBuf};

/// The header of the sources as they are.
fn generated(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut sources: Vec<PathBuf> = fs::read_dir(root.join("src"))
        .expect("src")
        .map(|entry| entry.expect("src").path())
        .collect();
    // In an order that every machine has.
    sources.sort();
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources.iter().fold(builder, |all, file| all.with_src(file));
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("text")
}

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/quell_aqm.h");
    let header = generated(root);
    if std::env::var_os("QUELL_BLESS").is_some() {
        fs::write(path, header).expect("include");
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == header,
        "include/quell_aqm.h is not current: QUELL_BLESS=1 cargo test -p quell-aqm-c --test header"
    );
}
