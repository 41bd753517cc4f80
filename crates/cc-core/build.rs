//! Compiles `src/cores.c`, which makes functions with external linkage of the headers in `bpf/core`.

fn main() {
    let headers = "../../bpf/core";
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/cores.c");
    println!("cargo::rerun-if-changed={headers}");
    cc::Build::new()
        .file("src/cores.c")
        .include(headers)
        .std("c11")
        .extra_warnings(true)
        .flag("-Wno-unused-function")
        .warnings_into_errors(true)
        .compile("cores");
}
