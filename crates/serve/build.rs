//! Puts the files of the page into the program: the folder that `QUELL_PAGE` names, or `target/page`. Without a file there the program
//! has no page, and says how one is made.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=QUELL_PAGE");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/page");
    let folder = std::env::var_os("QUELL_PAGE").map_or(own, PathBuf::from);
    // Cargo takes a folder that is missing for one that changes all the time. Where it cannot be made, it is never looked at.
    if folder.is_dir() || fs::create_dir_all(&folder).is_ok() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or_else(|| io::Error::other("cargo says no OUT_DIR"))?;
    let mut list = String::from("&[\n");
    for path in files(&folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let packed = out.join(format!("{name}.gz"));
        // No time and no name is in it: the same file gives the same bytes.
        let mut gzip = GzEncoder::new(fs::File::create(&packed)?, Compression::best());
        gzip.write_all(&fs::read(&path)?)?;
        gzip.finish()?;
        println!("cargo::rerun-if-changed={}", path.display());
        list.push_str(&format!("    ({name:?}, include_bytes!({packed:?})),\n"));
    }
    list.push_str("]\n");
    fs::write(out.join("page.rs"), list)
}

/// The files of the folder, in the order of their names. What stands in folders inside is no part of the page.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
