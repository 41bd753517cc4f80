//! `scripts/setup`: what is installed, what is said before, and who may refuse it.

use crate::scripts::{Place, said};

/// A machine that builds, without clang and libelf.
fn machine() -> Place {
    let place = Place::new();
    for tool in ["cc", "c++", "make", "cargo"] {
        place.program(tool, "true");
    }
    place.program("rustc", "echo rustc 1.95.0");
    place.program("id", "echo 0");
    // Notes whether the announcement was out when it was called to install, what is to be installed, and its way to the network.
    place.program(
        "apt-get",
        r#"case " $* " in *" install "*)
    grep -q 'installing on this system' "$SAID" && echo announced >>"$RECORD"
    echo "$* by $http_proxy, not $no_proxy" >>"$RECORD" ;;
esac"#,
    );
    place
}

/// Runs it with standard output in a file, as the announcement's witness.
fn setup(place: &Place, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let out = place.path("said");
    place.write(
        "run",
        "exec bash \"$(dirname \"$0\")/scripts/setup\" build >\"$SAID\" 2>&1",
    );
    let said_file = [("SAID", out.to_str().unwrap())];
    let output = place.run("run", &[], &[&said_file, environment].concat());
    assert_eq!(said(&output), "");
    (output.status.code(), place.read("said"))
}

const PACKAGES: &str = "pkg-config clang llvm libelf-dev zlib1g-dev";

#[test]
fn root_is_told_what_will_be_installed_before_it_is() {
    let place = machine();
    let proxies = [("http_proxy", "http://proxy:3128"), ("no_proxy", "inside")];
    let (code, said) = setup(&place, &proxies);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!(
        "installing on this system, with apt-get: {PACKAGES}\n"
    )));
    assert!(said.contains("NO_INSTALL=1"), "{said}");
    let record = place.record();
    assert!(record.starts_with("announced\n"), "{record}");
    assert!(record.contains(&format!("{PACKAGES} by http://proxy:3128, not inside")));
}

#[test]
fn no_install_installs_nothing_and_names_what_is_missing() {
    let place = machine();
    let (code, said) = setup(
        &place,
        &[("NO_INSTALL", "1"), ("https_proxy", "http://proxy")],
    );
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(place.record(), "");
    for part in [
        "missing: pkg-config, clang for BPF, libelf headers, zlib headers\n",
        "because NO_INSTALL is set",
        // sudo drops what leads to the network.
        &format!(
            "sudo --preserve-env=http_proxy,https_proxy,no_proxy apt-get install {PACKAGES}\n"
        ),
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    // The build goes on without the feature, and says so.
    assert_eq!(place.read("target/setup/cargo-flags"), "");
    let not_run = place.read("target/setup/not-run");
    assert!(
        not_run.contains("bpf-cc: this machine lacks pkg-config"),
        "{not_run}"
    );
}

#[test]
fn what_nothing_is_built_without_ends_it() {
    let place = machine();
    std::fs::remove_file(place.path("bin/cc")).unwrap();
    let (code, said) = setup(&place, &[("NO_INSTALL", "1")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("nothing can be built without: C and C++ compilers"),
        "{said}"
    );
    assert!(said.contains("build-essential"), "{said}");
}

#[test]
fn a_user_installs_nothing_either() {
    let place = machine();
    place.program("id", "echo 1000");
    let (code, said) = setup(&place, &[]);
    assert_eq!((code, &*place.record()), (Some(0), ""), "{said}");
    assert!(
        said.contains(&format!("sudo apt-get install {PACKAGES}\n")),
        "{said}"
    );
}

#[test]
fn a_toolchain_is_not_fetched_unasked() {
    let place = machine();
    place.write("rust-toolchain.toml", "[toolchain]\nchannel = \"1.95.0\"\n");
    place.program("rustup", "echo stable-x86_64-unknown-linux-gnu");
    let (code, said) = setup(&place, &[("NO_INSTALL", "1")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("rustup toolchain install 1.95.0"), "{said}");
    // With a word of the user, with the toolchain, and without rustup there is nothing to fetch.
    let chosen = [("NO_INSTALL", "1"), ("RUSTUP_TOOLCHAIN", "stable")];
    assert_eq!(setup(&place, &chosen).0, Some(0));
    place.program("rustup", "echo 1.95.0-x86_64-unknown-linux-gnu");
    assert_eq!(setup(&place, &[("NO_INSTALL", "1")]).0, Some(0));
    std::fs::remove_file(place.path("bin/rustup")).unwrap();
    assert_eq!(setup(&place, &[("NO_INSTALL", "1")]).0, Some(0));
}
