//! The ways to the network reach the programs that `quell kernel build` starts, and a surrounding make does not.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use quell_testing::program::write_program;

/// Names and values of an environment with a proxy, as their users write them.
const PROXIES: [(&str, &str); 6] = [
    ("http_proxy", "http://proxy:3128"),
    ("https_proxy", "http://proxy:3129"),
    ("no_proxy", "localhost,inside"),
    ("HTTPS_PROXY", "http://proxy:3130"),
    ("NO_PROXY", "outside"),
    ("APT_CONFIG", "/etc/apt/of-mine.conf"),
];

#[test]
fn the_client_of_packages_is_told_of_proxies_and_not_of_a_surrounding_make() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let program = |name: &str, script: &str| {
        let path = folder.path().join(name);
        write_program(&path, &format!("#!/bin/sh\n{script}\n"));
    };
    // They know one package, and cannot fetch it.
    program(
        "apt-cache",
        "printf 'Package: linux-source-6.12\\nVersion: 6.12.107-1\\nSize: 1000000\\n'",
    );
    program(
        "apt-get",
        &format!("env >{}; exit 100", seen.to_str().unwrap()),
    );
    for tool in ["flex", "bison", "m4", "bc", "gcc", "make", "ld"] {
        program(tool, "exit 0");
    }
    let path = std::env::var("PATH").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_quell"))
        .args(["kernel", "build", "--package", "6.12"])
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .env("QUELL_KERNELS", folder.path().join("kernels"))
        .env("MAKEFLAGS", "--jobserver-auth=3,4")
        .envs(PROXIES)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("could not be fetched"), "{said}");
    let seen = fs::read_to_string(&seen).unwrap_or_else(|error| panic!("{error}: {said}"));
    for (name, value) in PROXIES {
        let line = format!("{name}={value}");
        assert!(seen.lines().any(|seen| seen == line), "{line} in {seen}");
    }
    assert!(!seen.contains("MAKEFLAGS"), "{seen}");
}
