//! End hosts of the live world: the real TCP stack of this kernel on both sides of a bottleneck in user space.
//!
//! - [`topology`]: three network namespaces, sender — link — receiver, with one pair of addresses per group of flows;
//! - [`namespace`], [`user_namespace`], [`netlink`], [`offload`], [`sysctl`]: what it is made of;
//! - [`ready`]: when it may be used;
//! - [`kernel_queue`]: this kernel's own queue disciplines as a bottleneck, to compare with;
//! - [`traffic`]: the flows: applications over real sockets, a thread per host;
//! - [`cc`]: the congestion controls of this kernel, and those that quell loads as BPF (feature `bpf-cc`);
//! - [`confine`]: rights that a process gives away: capabilities, its user, files to write;
//! - [`broker`], [`child`]: a process that keeps the rights that the program gives away;
//! - [`spawn_handshake`], [`pid_namespace`]: copies that become programs, and programs that end with the process that started them;
//! - [`account`], [`terminal`]: another user, and the terminal in front, for programs of people;
//! - [`tproxy`], [`relayed`]: a far edge that takes every connection of a program, and the sockets of its relay;
//! - [`tcx`]: a detour in front of an interface that is there already;
//! - [`masquerade`]: a network behind this host's own routing;
//! - [`parent_pipe`]: the end of the process that started this one;
//! - [`entropy`], [`first_process`]: what the first process of a kernel does: random bytes, mounts, the end;
//! - [`obstacle`]: what keeps a process from a file that is there;
//! - [`probe`]: what this machine supports, and how to fix what is missing.
//!
//! Only namespaces and interfaces made here are changed; [`tcx`] is at those of others as long as the process lives. Everything is held by file descriptors, so it vanishes with the
//! process, however that ends. Only a loaded congestion control is visible outside; its name holds the process id.
#![cfg(target_os = "linux")]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod account;
pub mod broker;
pub mod cc;
pub mod child;
pub mod confine;
pub mod entropy;
mod error;
pub mod fd_holder;
pub mod first_process;
mod fq;
pub mod kernel_queue;
pub mod masquerade;
pub mod namespace;
pub mod netlink;
mod nftables;
pub mod obstacle;
pub mod offload;
pub mod parent_pipe;
pub mod pid_namespace;
pub mod probe;
pub mod ready;
pub mod relayed;
pub mod spawn_handshake;
pub mod sysctl;
pub mod tcx;
pub mod terminal;
pub mod topology;
pub mod tproxy;
pub mod traffic;
pub mod user_namespace;

pub use error::{Error, KernelQueueError, Result};
