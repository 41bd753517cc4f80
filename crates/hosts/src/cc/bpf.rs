//! Registers a congestion control written in BPF, for as long as this process holds it.
//!
//! Through libbpf: open the object file, write the kernel's name of the control into it, load it, attach it by a link.
//! The link is a file descriptor of this process and is pinned nowhere.

use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, Once, PoisonError};

use libbpf_rs::{
    ErrorKind, Link, MapCore as _, MapFlags, MapHandle, MapType, ObjectBuilder, PrintLevel,
    set_print,
};

use super::name::NAME_MAX;
use crate::{Error, Result};

// OBJECTS: (name, object file) of every bpf/<name>.bpf.c.
include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Map of per-socket state that the owner of a socket may read: `<control>_views`.
const VIEWS: &str = "_views";

/// A control in the kernel; dropping this removes it.
#[derive(Debug)]
pub(super) struct Registered {
    _link: Link,
    views: Option<MapHandle>,
}

/// Why a control was not registered.
pub(super) enum Failure {
    /// Another process has this kernel name.
    NameTaken,
    /// The kernel or libbpf refused, with their words.
    Other(String),
}

impl From<libbpf_rs::Error> for Failure {
    fn from(error: libbpf_rs::Error) -> Self {
        match error.kind() {
            ErrorKind::AlreadyExists => Self::NameTaken,
            ErrorKind::PermissionDenied => Self::Other(format!(
                "loading BPF needs root outside any container (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): {error}"
            )),
            _ => Self::Other(match take_log() {
                log if log.is_empty() => format!("{error:#}"),
                log => format!("{error:#}; libbpf says:\n{log}"),
            }),
        }
    }
}

/// Names of the controls in this build.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|(name, _)| *name)
}

/// Object file of a control.
pub(super) fn object(name: &str) -> Option<&'static [u8]> {
    OBJECTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, object)| *object)
}

/// Flags that every kernel with struct_ops knows (`tcp_congestion_ops.flags`).
pub(super) const OLD_FLAGS: u32 = 0x3;

/// Loads an object file and registers its control as `kernel_name` (at most [`NAME_MAX`] bytes), with no other flags than `allowed`. A kernel
/// that does not know one of the control's flags refuses all of it; then those are left out that came later (AccECN, Linux 7.0).
pub(super) fn register(
    object: &[u8],
    kernel_name: &str,
    allowed: u32,
) -> std::result::Result<Registered, Failure> {
    keep_log();
    take_log();
    let (flags, outcome) = register_with(object, kernel_name, allowed)?;
    let outcome = match outcome {
        Err(error) if error.kind() == ErrorKind::InvalidInput && flags & !OLD_FLAGS != 0 => {
            take_log();
            register_with(object, kernel_name, OLD_FLAGS)?.1
        }
        outcome => outcome,
    };
    Ok(outcome?)
}

/// The same with no other flags than `allowed`. Returns the control's flags, and whether the kernel took it.
fn register_with(
    object: &[u8],
    kernel_name: &str,
    allowed: u32,
) -> std::result::Result<(u32, libbpf_rs::Result<Registered>), Failure> {
    let none = || Failure::Other("the object file holds no congestion control".to_owned());
    let mut open = ObjectBuilder::default().open_memory(object)?;
    let mut ops = open
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps);
    let table = ops.as_mut().and_then(|map| map.initial_value_mut());
    // quell_tcp.h puts `char name[16]` and the flags first in the table of functions.
    let (name, rest) = table
        .and_then(|table| table.split_first_chunk_mut::<{ NAME_MAX + 1 }>())
        .ok_or_else(none)?;
    let given = rest.first_chunk_mut::<4>().ok_or_else(none)?;
    name.fill(0);
    name.iter_mut()
        .zip(kernel_name.bytes().take(NAME_MAX))
        .for_each(|(to, from)| *to = from);
    let flags = u32::from_ne_bytes(*given);
    *given = (flags & allowed).to_ne_bytes();

    let mut loaded = open.load()?;
    let mut link = None;
    let mut views = None;
    for mut map in loaded.maps_mut() {
        if map.map_type() == MapType::StructOps {
            match map.attach_struct_ops() {
                Ok(attached) => link = Some(attached),
                Err(error) => return Ok((flags, Err(error))),
            }
        } else if map.name().to_string_lossy().ends_with(VIEWS) {
            views = Some(MapHandle::try_from(&map)?);
        }
    }
    let link = link.ok_or_else(none)?;
    Ok((flags, Ok(Registered { _link: link, views })))
}

impl Registered {
    /// The state that the control, called `name`, shows of a socket, if it shows any and the socket runs it.
    pub(super) fn view(&self, name: &str, socket: BorrowedFd<'_>) -> Result<Option<Vec<u8>>> {
        let Some(views) = &self.views else {
            return Ok(None);
        };
        // The key of per-socket storage is, for its owner, the descriptor of the socket.
        let key = socket.as_raw_fd().to_ne_bytes();
        let read = || {
            let state = views.lookup(&key, MapFlags::ANY);
            state.map_err(|error| Error::CongestionControl {
                name: name.to_owned(),
                why: format!("its state cannot be read: {error}"),
            })
        };
        // Another processor may write in between: only two equal answers are one state.
        let mut before = read()?;
        loop {
            let now = read()?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
    }
}

/// The last messages of libbpf, which say why a program was refused.
static LOG: Mutex<String> = Mutex::new(String::new());

fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, line| {
            LOG.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_str(&line)
        })));
    });
}

fn take_log() -> String {
    mem::take(&mut LOG.lock().unwrap_or_else(PoisonError::into_inner))
}
