//! Compiles `src/cores.c` and `src/bbr.c`, which make functions with external linkage of the headers in `bpf/core`.

fn main() {
    let headers = "../../bpf/core";
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/cores.c");
    println!("cargo::rerun-if-changed=src/bbr.c");
    println!("cargo::rerun-if-changed={headers}");
    cc::Build::new()
        .file("src/cores.c")
        .file("src/bbr.c")
        .include(headers)
        .std("c11")
        .extra_warnings(true)
        .flag("-Wno-unused-function")
        .warnings_into_errors(true)
        .compile("cores");
}
