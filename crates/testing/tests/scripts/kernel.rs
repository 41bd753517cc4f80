//! Who builds the kernel of the virtual world, and who owns it afterwards.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use quell_testing::program::write_program;

use crate::scripts::{Place, is_root, said};

/// Only looks like quell: a build makes a kernel in its store, and `add` copies one.
const QUELL: &str = r#"#!/bin/bash
echo "$(id -u) $*" >>"$RECORD"
set -e
case "$2" in
build) mkdir -p "$QUELL_KERNELS/7.0" && echo facts >"$QUELL_KERNELS/7.0/kernel.json" ;;
add) mkdir -p "$QUELL_KERNELS/7.0" && cp "$4/kernel.json" "$QUELL_KERNELS/7.0/kernel.json" ;;
esac
"#;

#[test]
fn roots_kernel_is_built_without_rights_and_belongs_to_root() {
    if !is_root() {
        return quell_testing::not_run(
            "roots_kernel_is_built_without_rights_and_belongs_to_root",
            "needs root",
        );
    }
    let place = Place::new();
    fs::remove_file(place.path("bin/id")).unwrap_or_default();
    std::os::unix::fs::symlink("/usr/bin/id", place.path("bin/id")).unwrap();
    fs::create_dir_all(place.path("target/release")).unwrap();
    write_program(&place.path("target/release/quell"), QUELL);
    fs::set_permissions(place.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    place.write("record", "");
    fs::set_permissions(place.path("record"), fs::Permissions::from_mode(0o666)).unwrap();
    // As an earlier version left it.
    place.write("target/kernels/7.0/kernel.json", "older");
    for path in ["target/kernels", "target/kernels/7.0"] {
        std::os::unix::fs::chown(place.path(path), Some(65_534), Some(65_534)).unwrap();
    }
    let output = place.run("scripts/kernel", &[], &[]);
    assert!(output.status.success(), "{}", said(&output));
    let lines: Vec<String> = place.record().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "65534 kernel build");
    assert!(lines[1].starts_with("0 kernel add --replace "), "{lines:?}");
    for path in ["target/kernels", "target/kernels/7.0/kernel.json"] {
        assert_eq!(fs::metadata(place.path(path)).unwrap().uid(), 0, "{path}");
    }
    let built = place.path("target/unprivileged/kernels");
    assert_eq!(fs::metadata(built).unwrap().uid(), 65_534);
    // The second time there is nothing to copy.
    let output = place.run("scripts/kernel", &[], &[]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(place.record().lines().count(), 3);
}
