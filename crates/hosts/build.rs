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
            compile(&clang, &source, &object);
            // Infallible: a String takes any amount of text.
            let _ = writeln!(table, "    ({name:?}, include_bytes!({object:?})),");
        }
        table.push_str("];\n");
        fs::write(out.join("objects.rs"), table)
            .unwrap_or_else(|error| fail(&format!("cannot write objects.rs: {error}")));
    }

    /// With the headers of the libbpf that loads the object. Its debug information but for BTF, which names paths, is stripped where there
    /// is an `llvm-strip`; the kernel does not read it.
    fn compile(clang: &str, source: &Path, object: &Path) {
        let headers = env::var_os("DEP_BPF_INCLUDE")
            .unwrap_or_else(|| fail("libbpf-sys does not say where its headers are"));
        let target = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
        // What bpf_tracing.h calls the architecture.
        let target = match target.as_str() {
            "x86_64" => "x86",
            "aarch64" => "arm64",
            "powerpc64" => "powerpc",
            "s390x" => "s390",
            "riscv64" => "riscv",
            "loongarch64" => "loongarch",
            other => other,
        };
        let mut command = Command::new(clang);
        // BPF has no stack protector, which some distributions turn on.
        command
            .args(["-target", "bpf", "-O2", "-g", "-fno-stack-protector", "-c"])
            .arg(format!("-D__TARGET_ARCH_{target}"))
            .arg("-I")
            .arg(headers)
            .arg(source)
            .arg("-o")
            .arg(object);
        let output = command
            .output()
            .unwrap_or_else(|error| fail(&format!("{clang}: {error}")));
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            fail(&format!(
                "{} does not compile: {}",
                source.display(),
                errors.replace('\n', " ")
            ));
        }
        // clang-14 goes with llvm-strip-14.
        let strip = clang.replace("clang", "llvm-strip");
        let _ = Command::new(strip).arg("-g").arg(object).status();
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
