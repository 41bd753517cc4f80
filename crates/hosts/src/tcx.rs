//! A detour for what crosses an interface: programs at its tcx hooks, which go with this process.
//!
//! From bpf(2), include/uapi/linux/bpf.h and the kernel's Documentation/bpf/standardization/instruction-set.rst; tcx needs Linux 6.6. A program
//! is attached by a BPF link, a descriptor of this process that is pinned nowhere: the kernel takes it away when the process ends, however it
//! does. Needs CAP_BPF, CAP_NET_ADMIN and, to see what is attached already, CAP_SYS_ADMIN, all in the first user namespace.
//!
//! ```text
//! guard at an interface: what has the mark has it taken off, and goes on; all else is sent by another interface
//! back at that one's far end: marks what arrives, and gives it to the first interface, past its guard
//! ```

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use crate::Result;
use crate::error::Doing as _;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, VethEnd, interface_index};

// Commands of bpf(2).
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_PROG_GET_FD_BY_ID: libc::c_int = 13;
const BPF_OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const BPF_PROG_QUERY: libc::c_int = 16;
const BPF_LINK_CREATE: libc::c_int = 28;

const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
/// In front of all that is attached already.
const BPF_F_BEFORE: u32 = 1 << 3;
const BPF_F_INGRESS: i32 = 1;
/// The helper `bpf_redirect(ifindex, flags)`.
const REDIRECT: i32 = 23;
/// `offsetof(struct __sk_buff, mark)`.
const MARK: i16 = 8;
/// On with the next program, or with the packet.
const TCX_NEXT: i32 = -1;
/// No helper is used that asks for the GPL.
const LICENCE: &[u8; 4] = b"MIT\0";
/// Programs at a hook: the kernel's limit.
const MOST: usize = 64;
/// What the names of these programs begin with; the id of the process follows.
const NAME: &str = "quell_";

/// A hook of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// What arrives by it.
    Ingress,
    /// What is sent by it.
    Egress,
}

impl Hook {
    /// BPF_TCX_INGRESS, BPF_TCX_EGRESS.
    fn number(self) -> u32 {
        match self {
            Self::Ingress => 46,
            Self::Egress => 47,
        }
    }
}

/// What a program does with each packet.
#[derive(Debug, Clone, Copy)]
pub enum Program {
    /// Lets what has `mark` go on without it, and sends everything else by the interface `detour`.
    Guard {
        /// Of packets that come back from the detour; never 0.
        mark: u32,
        /// Index of an interface.
        detour: u32,
    },
    /// Gives everything this mark, and to the interface `to`, as if it came to `hook` there.
    Back {
        /// For the guard there.
        mark: u32,
        /// Index of an interface.
        to: u32,
        /// Where it goes on.
        hook: Hook,
    },
}

/// `struct bpf_insn`.
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    let registers = match cfg!(target_endian = "little") {
        true => from << 4 | to,
        false => to << 4 | from,
    };
    Instruction {
        code,
        registers,
        offset,
        value,
    }
}

impl Program {
    fn instructions(self) -> Vec<Instruction> {
        let of = instruction;
        match self {
            Self::Guard { mark, detour } => vec![
                of(0x61, 2, 1, MARK, 0),          // r2 = *(u32 *)(r1 + MARK)
                of(0x16, 2, 0, 4, mark as i32),   // if w2 == mark goto +4
                of(0xb4, 1, 0, 0, detour as i32), // w1 = detour
                of(0xb4, 2, 0, 0, 0),             // w2 = 0
                of(0x85, 0, 0, 0, REDIRECT),      // call bpf_redirect
                of(0x95, 0, 0, 0, 0),             // exit
                of(0xb4, 2, 0, 0, 0),             // w2 = 0
                of(0x63, 1, 2, MARK, 0),          // *(u32 *)(r1 + MARK) = r2
                of(0xb4, 0, 0, 0, TCX_NEXT),      // w0 = TCX_NEXT
                of(0x95, 0, 0, 0, 0),             // exit
            ],
            Self::Back { mark, to, hook } => vec![
                of(0xb4, 2, 0, 0, mark as i32), // w2 = mark
                of(0x63, 1, 2, MARK, 0),        // *(u32 *)(r1 + MARK) = r2
                of(0xb4, 1, 0, 0, to as i32),   // w1 = to
                of(
                    0xb4,
                    2,
                    0,
                    0,
                    match hook {
                        Hook::Ingress => BPF_F_INGRESS,
                        Hook::Egress => 0,
                    },
                ), // w2 = flags
                of(0x85, 0, 0, 0, REDIRECT),    // call bpf_redirect
                of(0x95, 0, 0, 0, 0),           // exit
            ],
        }
    }
}

/// Of `union bpf_attr`, for BPF_PROG_LOAD.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log: [u64; 2],
    kernel_and_flags: u64,
    name: [u8; 16],
}

/// Of `union bpf_attr`, for BPF_LINK_CREATE.
#[repr(C)]
#[derive(Default)]
struct Create {
    program: u32,
    interface: u32,
    hook: u32,
    flags: u32,
    relative_to: [u64; 2],
}

/// Of `union bpf_attr`, for BPF_PROG_QUERY.
#[repr(C)]
#[derive(Default)]
struct Query {
    interface: u32,
    hook: u32,
    flags: u64,
    ids: u64,
    count: u32,
    _rest: [u32; 9],
}

/// Of `union bpf_attr`, for BPF_OBJ_GET_INFO_BY_FD.
#[repr(C)]
struct GetInfo {
    descriptor: u32,
    length: u32,
    info: u64,
}

/// `struct bpf_prog_info` as far as the name.
#[repr(C, align(8))]
struct Info([u8; 80]);

/// One call; `attributes` are those of this command.
///
/// # Safety
///
/// `T` is laid out as the kernel reads it for `command`, and its pointers lead to what is as long as it says there.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<RawFd> {
    // SAFETY: the caller's promise; `attributes` lives through the call and is as long as is said.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            size_of::<T>(),
        )
    };
    match RawFd::try_from(answer) {
        Ok(answer) if answer >= 0 => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// As [`bpf`], for a command that answers with a descriptor.
///
/// # Safety
///
/// As of [`bpf`].
unsafe fn open<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; such a command answers with a new descriptor, which is nobody else's.
    unsafe { bpf(command, attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// A program at a hook, until this is dropped or the process has ended.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
}

impl Attached {
    /// Puts `program` in front of all others at a hook of an interface of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// The kernel is older than Linux 6.6, or this process lacks a right.
    pub fn new(interface: u32, hook: Hook, program: Program) -> Result<Self> {
        let link = load(program).and_then(|program| {
            let mut create = Create {
                program: program.as_raw_fd() as u32,
                interface,
                hook: hook.number(),
                flags: BPF_F_BEFORE,
                ..Create::default()
            };
            // SAFETY: laid out as for this command; it has no pointers.
            unsafe { open(BPF_LINK_CREATE, &mut create) }
        });
        let link = link.doing(|| "attach a program to an interface (tcx, from Linux 6.6 on)")?;
        Ok(Self { _link: link })
    }
}

fn load(program: Program) -> io::Result<OwnedFd> {
    let instructions = program.instructions();
    let mut load = Load {
        kind: BPF_PROG_TYPE_SCHED_CLS,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        ..Load::default()
    };
    let name = format!("{NAME}{}", std::process::id());
    // The last byte stays 0.
    load.name[..15]
        .iter_mut()
        .zip(name.bytes())
        .for_each(|(to, from)| *to = from);
    // SAFETY: laid out as for this command; the instructions are as many as it says, the licence ends with 0, and both outlive the call.
    unsafe { open(BPF_PROG_LOAD, &mut load) }
}

/// What is attached to an interface.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Present {
    /// The process whose guard is there, by its number in its own namespace of processes.
    pub quell: Option<u32>,
    /// Programs of others.
    pub others: usize,
}

/// What is attached to both hooks of an interface of the calling thread's namespace.
///
/// # Errors
///
/// As of [`Attached::new`].
pub fn present(interface: u32) -> Result<Present> {
    let mut present = Present::default();
    for hook in [Hook::Ingress, Hook::Egress] {
        let names =
            names(interface, hook).doing(|| "ask for the programs at an interface (tcx)")?;
        for name in names {
            match name.strip_prefix(NAME).map(str::parse) {
                Some(Ok(process)) => present.quell = Some(process),
                _ => present.others += 1,
            }
        }
    }
    Ok(present)
}

fn names(interface: u32, hook: Hook) -> io::Result<Vec<String>> {
    let mut ids = [0_u32; MOST];
    let mut query = Query {
        interface,
        hook: hook.number(),
        ids: ids.as_mut_ptr() as u64,
        count: MOST as u32,
        ..Query::default()
    };
    // SAFETY: laid out as for this command; there is room for as many ids as it says, which outlives the call.
    unsafe { bpf(BPF_PROG_QUERY, &mut query) }?;
    let ids = ids.iter().take(query.count as usize);
    // One that has gone meanwhile has no name.
    Ok(ids.filter_map(|id| name_of(*id).ok()).collect())
}

fn name_of(id: u32) -> io::Result<String> {
    // SAFETY: the command reads an id, and a second one and flags, which are 0.
    let program = unsafe { open(BPF_PROG_GET_FD_BY_ID, &mut [id, 0, 0]) }?;
    let mut info = Info([0; 80]);
    let mut get = GetInfo {
        descriptor: program.as_raw_fd() as u32,
        length: size_of::<Info>() as u32,
        info: &raw mut info as u64,
    };
    // SAFETY: laid out as for this command; there is room for as many bytes as it says, which outlives the call.
    unsafe { bpf(BPF_OBJ_GET_INFO_BY_FD, &mut get) }?;
    let name = info.0[64..].split(|byte| *byte == 0).next();
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

/// Whether a link can be put in front of an interface: tried, in a namespace that vanishes again.
///
/// # Errors
///
/// As of [`Attached::new`].
pub fn check() -> Result<()> {
    let make = || Namespace::new().doing(|| "make a network namespace");
    let (here, there) = (make()?, make()?);
    let try_it = || {
        let end = |name, last| VethEnd {
            name,
            mac: [0x02, 0x77, 0, 0, 3, last],
            mtu: 1500,
        };
        Netlink::open()?.add_veth(&end("wire", 1), &end("peer", 2), &there)?;
        let (interface, mark, detour) = (interface_index("wire")?, 1, interface_index("lo")?);
        let _attached = Attached::new(interface, Hook::Ingress, Program::Guard { mark, detour })?;
        present(interface).map(drop)
    };
    here.run(try_it).doing(|| "enter a network namespace")?
}
