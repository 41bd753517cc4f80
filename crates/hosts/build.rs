//! Compiles every `bpf/*.bpf.c` and writes the table of their object files; with the feature `bpf-cc` only.
//! Adding a congestion control is therefore one file in `bpf/`, whose stem is the control's name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bpf-cc")]
    bpf::build();
}

#[cfg(feature = "bpf-cc")]
mod bpf {
    use std::fmt::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio, exit};
    use std::{env, fs};

    pub(super) fn build() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
        let out =
            PathBuf::from(env::var_os("OUT_DIR").unwrap_or_else(|| fail("cargo sets no OUT_DIR")));
        println!("cargo::rerun-if-changed={}", sources.display());
        println!("cargo::rerun-if-env-changed=CLANG");
        let clang = find_clang();

        let mut table = String::from("const OBJECTS: &[(&str, &[u8])] = &[\n");
        for (name, source) in controls(&sources) {
            let object = out.join(format!("{name}.bpf.o"));
            libbpf_cargo::SkeletonBuilder::new()
                .source(&source)
                .obj(&object)
                .clang(&clang)
                .build()
                .unwrap_or_else(|error| {
                    fail(&format!("{} does not compile: {error:#}", source.display()))
                });
            // Infallible: a String takes any amount of text.
            let _ = writeln!(table, "    ({name:?}, include_bytes!({object:?})),");
        }
        table.push_str("];\n");
        fs::write(out.join("objects.rs"), table)
            .unwrap_or_else(|error| fail(&format!("cannot write objects.rs: {error}")));
    }

    fn controls(folder: &Path) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(folder)
            .unwrap_or_else(|error| fail(&format!("cannot read {}: {error}", folder.display())));
        let mut found: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                Some((
                    entry
                        .file_name()
                        .to_str()?
                        .strip_suffix(".bpf.c")?
                        .to_owned(),
                    entry.path(),
                ))
            })
            .collect();
        found.sort();
        found
    }

    /// `$CLANG`, or the first of clang, clang-22 … clang-11 that runs.
    fn find_clang() -> String {
        let mut names = vec!["clang".to_owned()];
        names.extend((11..=22).rev().map(|version| format!("clang-{version}")));
        if let Ok(given) = env::var("CLANG") {
            names = vec![given];
        }
        let runs = |name: &String| {
            let status = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status.is_ok_and(|status| status.success())
        };
        names.iter().find(|name| runs(name)).cloned().unwrap_or_else(|| {
            fail(
                "the feature bpf-cc compiles BPF programs and needs clang, version 11 or later (Debian: apt-get install clang), \
                 on the path or named by the environment variable CLANG; or build without the feature",
            )
        })
    }

    fn fail(why: &str) -> ! {
        println!("cargo::error={why}");
        exit(1)
    }
}
