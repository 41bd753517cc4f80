//! A detour for what crosses an interface: programs at its tcx hooks, which go with this process.
//!
//! From bpf(2), include/uapi/linux/bpf.h and the kernel's Documentation/bpf/standardization/instruction-set.rst; tcx needs Linux 6.6. A program
//! is attached by a BPF link, a descriptor of this process that is pinned nowhere: the kernel takes it away when the process ends, however it
//! does. Needs CAP_NET_ADMIN and CAP_SYS_ADMIN in the first user namespace. Programs are laid out for little-endian processors.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use crate::Result;
use crate::error::Doing as _;
use crate::netlink::{at_a_wire, interface_index};

const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_PROG_QUERY: libc::c_int = 16;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
/// In front of all that is attached already.
const BPF_F_BEFORE: u32 = 1 << 3;
/// The helper `bpf_redirect(ifindex, flags)`.
const REDIRECT: u32 = 23;
/// `offsetof(struct __sk_buff, mark)`.
const MARK: u16 = 8;
/// On with the next program, or with the packet: -1.
const TCX_NEXT: u32 = u32::MAX;
/// No helper is used that asks for the GPL.
const LICENCE: &[u8; 4] = b"MIT\0";

/// A hook of an interface, by its number: BPF_TCX_INGRESS and BPF_TCX_EGRESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// What arrives by it.
    Ingress = 46,
    /// What is sent by it.
    Egress = 47,
}

/// A program at a hook, until this is dropped or the process has ended.
#[derive(Debug)]
pub struct Attached(#[allow(dead_code, reason = "it is held, and nothing else")] OwnedFd);

/// `struct bpf_insn`: its code, the source and the target register, an offset, a value.
const fn instruction(code: u8, registers: u8, offset: u16, value: u32) -> u64 {
    code as u64 | (registers as u64) << 8 | (offset as u64) << 16 | (value as u64) << 32
}

/// Lets what has `mark` go on from a hook of an interface of the calling thread's namespace, without the mark, and sends all else by the
/// interface `detour`.
///
/// # Errors
///
/// The kernel is older than Linux 6.6, or this process lacks a right.
pub fn guard(interface: u32, hook: Hook, mark: u32, detour: u32) -> Result<Attached> {
    let of = instruction;
    let program = [
        of(0x61, 0x12, MARK, 0),     // r2 = *(u32 *)(r1 + MARK)
        of(0x16, 0x02, 4, mark),     // if w2 == mark goto +4
        of(0xb4, 0x01, 0, detour),   // w1 = detour
        of(0xb4, 0x02, 0, 0),        // w2 = 0
        of(0x85, 0x00, 0, REDIRECT), // call bpf_redirect
        of(0x95, 0x00, 0, 0),        // exit
        of(0xb4, 0x02, 0, 0),        // w2 = 0
        of(0x63, 0x21, MARK, 0),     // *(u32 *)(r1 + MARK) = r2
        of(0xb4, 0x00, 0, TCX_NEXT), // w0 = TCX_NEXT
        of(0x95, 0x00, 0, 0),        // exit
    ];
    attach(interface, hook, &program)
}

/// Gives all that arrives by `interface` this mark, and to the interface `to`, as if it came to `hook` there.
///
/// # Errors
///
/// As of [`guard`].
pub fn give_back(interface: u32, mark: u32, to: u32, hook: Hook) -> Result<Attached> {
    let of = instruction;
    // BPF_F_INGRESS, or 0.
    let flags = u32::from(hook == Hook::Ingress);
    let program = [
        of(0xb4, 0x02, 0, mark),     // w2 = mark
        of(0x63, 0x21, MARK, 0),     // *(u32 *)(r1 + MARK) = r2
        of(0xb4, 0x01, 0, to),       // w1 = to
        of(0xb4, 0x02, 0, flags),    // w2 = flags
        of(0x85, 0x00, 0, REDIRECT), // call bpf_redirect
        of(0x95, 0x00, 0, 0),        // exit
    ];
    attach(interface, Hook::Ingress, &program)
}

/// Two neighbours of 32 bits in a structure.
fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

/// One call; `attributes` are the first of `union bpf_attr`.
///
/// # Safety
///
/// They are laid out as the kernel reads them for `command`, and their pointers lead to what is as long as they say.
unsafe fn bpf(command: libc::c_int, attributes: &mut [u64]) -> io::Result<RawFd> {
    let (start, size) = (attributes.as_mut_ptr(), size_of_val(attributes));
    // SAFETY: the caller's promise; the attributes live through the call and are as long as is said.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, start, size) };
    match RawFd::try_from(answer) {
        Ok(answer) if answer >= 0 => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// One call that answers with a descriptor.
///
/// # Safety
///
/// As of [`bpf`], and `command` is one that makes something.
unsafe fn made(command: libc::c_int, attributes: &mut [u64]) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; the descriptor is new, so it is nobody else's.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(command, attributes)?)) }
}

/// How many programs are at a hook of an interface of the calling thread's namespace.
///
/// # Errors
///
/// As of [`guard`].
pub fn count(interface: u32, hook: Hook) -> Result<u32> {
    let mut query = [pair(interface, hook as u32), 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: it has no pointers, and room for all that is answered.
    let asked = unsafe { bpf(BPF_PROG_QUERY, &mut query) };
    asked.doing(|| "ask for the programs at an interface (tcx, from Linux 6.6 on)")?;
    Ok(query[3] as u32)
}

fn attach(interface: u32, hook: Hook, program: &[u64]) -> Result<Attached> {
    let mut load = [
        pair(BPF_PROG_TYPE_SCHED_CLS, program.len() as u32),
        program.as_ptr() as u64,
        LICENCE.as_ptr() as u64,
        0, // log_level, log_size
        0, // log_buf
        0, // kern_version, prog_flags
        u64::from_ne_bytes(*b"quell\0\0\0"),
        0, // the rest of the name
    ];
    // SAFETY: the instructions are as many as is said, the licence ends with 0, and both outlive the call.
    let loaded = unsafe { made(BPF_PROG_LOAD, &mut load) };
    let link = loaded.and_then(|program| {
        let program = pair(program.as_raw_fd() as u32, interface);
        // SAFETY: it has no pointers; what it is relative to stays 0.
        unsafe {
            made(
                BPF_LINK_CREATE,
                &mut [program, pair(hook as u32, BPF_F_BEFORE), 0, 0],
            )
        }
    });
    link.map(Attached)
        .doing(|| "attach a program to an interface (tcx, from Linux 6.6 on)")
}

/// Whether a link can be put in front of an interface: tried, in a namespace that vanishes again.
///
/// # Errors
///
/// As of [`guard`].
pub fn check() -> Result<()> {
    at_a_wire(|| {
        let wire = interface_index("wire")?;
        guard(wire, Hook::Ingress, 1, wire).map(drop)
    })
}
