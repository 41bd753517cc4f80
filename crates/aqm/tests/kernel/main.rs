//! The Linux forms against Linux: the kernel's own files are compiled and run beside ours, and every integer of their states is compared.
//!
//! `scripts/linux-source` fetches the kernel sources that `scripts/linux-source.pins` names, and leaves the few files that are needed in
//! `target/linux/PACKAGE_VERSION`; the variable QUELL_LINUX names further trees, separated by colons (a package of headers is enough for
//! what lies in headers). Where there is none, or no C compiler, each test says that it did not run, and why. Nothing of the kernel is kept in the project.
//!
//! A law is a C file in `shim/`: it includes the kernel's file behind `shim/shim.h`, which stands for the rest of the kernel, and
//! answers commands on its standard input (`shim/driver.h`). The tests write the commands, read the answers, and make ours answer
//! in the same words. Equality is against what was compiled; where kernels differ, the test says which says what.
#![allow(clippy::unwrap_used)]

mod cobalt;
mod codel;
mod dualpi2;
mod fq_codel;
mod fq_pie;
mod harness;
mod pie;
mod red;
mod traffic;
