//! Congestion controls of the real TCP stack: what this kernel has, and what quell adds to it as BPF.
//!
//! From tcp(7) (`TCP_CONGESTION`) and the kernel's struct_ops. A control that the kernel has, built in or in a module that is
//! loaded, is used as it is; a module is loaded only if the caller asks for that ([`Modules`]). Otherwise, with the feature
//! `bpf-cc`, quell registers its own (`bpf/<name>.bpf.c`) through a BPF link that only this process holds: when the process
//! ends, however that happens, the kernel removes the control.
//!
//! **Names.** Controls are known to the whole host by name. If several quell processes shared one registered as `dctcp`, it
//! would vanish under the others when its owner ends. So each process registers under a name of its own, `dctcp_q` and the
//! process id in base 36 (at most 15 characters), and [`Control`] maps the scenario's name to it. A socket that
//! uses a control keeps it alive in the kernel; only new sockets cannot take it once its owner has gone.
//!
//! **Listeners.** A control that needs ECN sends its SYN as ECT, and Linux accepts ECN on such a SYN only when the listening
//! socket has such a control too: give the listener the same control as the sender.

#[cfg(feature = "bpf-cc")]
mod bpf;
mod name;

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::net::{AddressFamily, SocketType, socket, sockopt::set_tcp_congestion};

use crate::error::Doing as _;
use crate::{Error, Result, sysctl};
pub use name::NAME_MAX;

/// The controls that the kernel has now, by its own names. Those of modules that are not loaded are missing; those that other
/// processes registered are included.
pub fn available() -> Result<Vec<String>> {
    Ok(sysctl::get("net.ipv4.tcp_available_congestion_control")?
        .split_whitespace()
        .map(str::to_owned)
        .collect())
}

/// The controls that this build can load as BPF, by the scenario's names.
pub fn loadable() -> Vec<&'static str> {
    #[cfg(feature = "bpf-cc")]
    return bpf::names().collect();
    #[cfg(not(feature = "bpf-cc"))]
    return Vec::new();
}

/// The quell process that registered the control of this kernel name; `None` for other controls.
pub fn owner(kernel_name: &str) -> Option<u32> {
    let (_, tail) = kernel_name.rsplit_once("_q")?;
    let id = tail
        .strip_suffix(|last: char| last.is_ascii_uppercase())
        .unwrap_or(tail);
    let written_by_us = !id.is_empty()
        && id
            .chars()
            .all(|digit| digit.is_ascii_digit() || digit.is_ascii_lowercase());
    if written_by_us {
        u32::from_str_radix(id, 36).ok()
    } else {
        None
    }
}

/// A congestion control ready for use. Clones share it; one that was loaded goes with the last of them.
#[derive(Clone, Debug)]
pub struct Control {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    kernel_name: String,
    #[cfg(feature = "bpf-cc")]
    bpf: Option<bpf::Registered>,
}

/// What this process has loaded, so that a second [`load`] of a name shares the first.
static LOADED: Mutex<BTreeMap<String, Weak<Inner>>> = Mutex::new(BTreeMap::new());

/// Whether the kernel may be asked for a control that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modules {
    /// No: the host stays as it is.
    #[default]
    Leave,
    /// Yes. If the caller has CAP_NET_ADMIN of the host, the kernel loads the module `tcp_NAME` if there is one. The module stays
    /// loaded when the process has ended, and every program of the host may use it.
    Load,
}

/// Makes the control that a scenario calls `name` usable: the kernel's own if it has one, otherwise that of quell.
///
/// Loading needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN of the host; use needs CAP_NET_ADMIN over the socket's namespace.
pub fn load(name: &str) -> Result<Control> {
    find(name, Modules::Leave)
}

/// The same; `modules` says whether the kernel may load a module for it.
pub fn find(name: &str, modules: Modules) -> Result<Control> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(inner) = loaded.get(name).and_then(Weak::upgrade) {
        return Ok(Control { inner });
    }
    check_name(name)?;
    let inner = Arc::new(if kernel_has(name, modules)? {
        Inner::of_the_kernel(name)
    } else {
        Inner::register(name, u32::MAX)?
    });
    loaded.insert(name.to_owned(), Arc::downgrade(&inner));
    Ok(Control { inner })
}

/// Quell's own control as a kernel gets it that knows nothing of AccECN (before Linux 7.0), on any kernel: for tests.
///
/// # Errors
///
/// Those of [`load`]; and there is no such control as BPF in this build.
pub fn load_without_accurate_ecn(name: &str) -> Result<Control> {
    check_name(name)?;
    #[cfg(feature = "bpf-cc")]
    let flags = bpf::OLD_FLAGS;
    // Without it nothing can be loaded.
    #[cfg(not(feature = "bpf-cc"))]
    let flags = u32::MAX;
    let inner = Arc::new(Inner::register(name, flags)?);
    Ok(Control { inner })
}

impl Control {
    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The kernel's name, for `TCP_CONGESTION`.
    pub fn kernel_name(&self) -> &str {
        &self.inner.kernel_name
    }

    /// Whether quell loaded it.
    pub fn is_bpf(&self) -> bool {
        #[cfg(feature = "bpf-cc")]
        return self.inner.bpf.is_some();
        #[cfg(not(feature = "bpf-cc"))]
        return false;
    }

    /// Gives a socket this control. ECN is requested only if this happens before the socket connects or listens.
    pub fn apply(&self, socket: impl AsFd) -> Result<()> {
        set_tcp_congestion(socket, self.kernel_name())
            .doing(|| format!("give a socket the control {}", self.kernel_name()))
    }

    /// What a control that quell loaded shows of one socket: the bytes of its per-socket map `<control>_views`, whose layout
    /// `bpf/<control>.bpf.c` defines. `None` if it has no such map, or the socket does not run it now.
    pub fn view(&self, socket: impl AsFd) -> Result<Option<Vec<u8>>> {
        #[cfg(feature = "bpf-cc")]
        if let Some(bpf) = &self.inner.bpf {
            return bpf.view(self.name(), socket.as_fd());
        }
        let _ = socket;
        Ok(None)
    }

    /// Drops this handle. Returns true if it was the last one, so that the control has left the kernel (or is the kernel's own).
    pub fn unload(self) -> bool {
        let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Arc::into_inner(self.inner).is_some();
        drop(loaded);
        last
    }
}

impl Inner {
    fn of_the_kernel(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kernel_name: name.to_owned(),
            #[cfg(feature = "bpf-cc")]
            bpf: None,
        }
    }

    /// With no other flags than `allowed`.
    #[cfg(feature = "bpf-cc")]
    fn register(name: &str, allowed: u32) -> Result<Self> {
        let refused = |why| Error::CongestionControl {
            name: name.to_owned(),
            why,
        };
        let object = bpf::object(name).ok_or_else(|| refused(missing(name)))?;
        let mut outcome = Err(refused("every name for it is taken".to_owned()));
        for kernel_name in kernel_names(name, std::process::id()) {
            outcome = match bpf::register(object, &kernel_name, allowed) {
                Err(bpf::Failure::NameTaken) => continue,
                Err(bpf::Failure::Other(why)) => Err(refused(why)),
                Ok(bpf) => Ok(Self {
                    name: name.to_owned(),
                    kernel_name,
                    bpf: Some(bpf),
                }),
            };
            break;
        }
        outcome
    }

    #[cfg(not(feature = "bpf-cc"))]
    fn register(name: &str, _allowed: u32) -> Result<Self> {
        Err(Error::CongestionControl {
            name: name.to_owned(),
            why: missing(name),
        })
    }
}

fn missing(name: &str) -> String {
    let ours = match loadable() {
        names if names.is_empty() => "this build loads none (feature bpf-cc)".to_owned(),
        names => format!("quell can load {}", names.join(", ")),
    };
    let kernels = available().map_or_else(
        |error| error.to_string(),
        |names| format!("it has {}", names.join(", ")),
    );
    let module = if has_module(name) {
        format!(
            "; it has a module for it, which is not loaded (modprobe tcp_{name}, or --load-modules)"
        )
    } else {
        String::new()
    };
    format!("not in this kernel ({kernels}{module}); {ours}")
}

fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > NAME_MAX || name.contains('\0') {
        return Err(Error::CongestionControl {
            name: name.to_owned(),
            why: format!("a name has 1 to {NAME_MAX} bytes"),
        });
    }
    Ok(())
}

/// Whether the kernel has a control. Reading its list changes nothing; giving a socket a control that is not in the list loads a
/// module.
fn kernel_has(name: &str, modules: Modules) -> Result<bool> {
    let listed = || -> Result<bool> { Ok(available()?.iter().any(|known| known == name)) };
    if listed()? || modules == Modules::Leave {
        return listed();
    }
    let socket =
        socket(AddressFamily::INET, SocketType::STREAM, None).doing(|| "open a TCP socket")?;
    match set_tcp_congestion(&socket, name) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        // Known, but reserved to the owner of the network: the hosts' own namespaces may be ours even when this one is not.
        Err(rustix::io::Errno::PERM) => listed(),
        Err(errno) => {
            Err(errno).doing(|| format!("ask the kernel for the congestion control {name}"))
        }
    }
}

/// Whether this kernel has a module for a control, loaded or not.
pub fn has_module(name: &str) -> bool {
    let release = rustix::system::uname();
    let list = format!(
        "/lib/modules/{}/modules.dep",
        release.release().to_string_lossy()
    );
    let file = format!("/tcp_{name}.ko");
    std::fs::read_to_string(list).is_ok_and(|text| {
        let mut modules = text.lines().filter_map(|line| line.split(':').next());
        modules.any(|module| module.contains(&file))
    })
}

/// Names for a control of this process. The further ones are for processes of equal id in different pid namespaces.
#[cfg(any(feature = "bpf-cc", test))]
fn kernel_names(name: &str, process: u32) -> impl Iterator<Item = String> + use<> {
    // A pid is below 2^22 (PID_MAX_LIMIT): at most 5 digits in base 36. With "_q" and a letter that leaves 7 for the name.
    let stem: String = name.chars().take(7).collect();
    let id = base36(process);
    std::iter::once(String::new())
        .chain(('A'..='Z').map(String::from))
        .map(move |letter| format!("{stem}_q{id}{letter}"))
}

#[cfg(any(feature = "bpf-cc", test))]
fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_fits_the_kernel_and_tells_its_owner() {
        for process in [1, 35, 36, 4711, (1 << 22) - 1] {
            for name in ["dctcp", "a-longer-name"] {
                let names: Vec<_> = kernel_names(name, process).collect();
                assert_eq!(names.len(), 27);
                for name in names {
                    assert!(name.len() <= NAME_MAX, "{name}");
                    assert_eq!(owner(&name), Some(process), "{name}");
                }
            }
        }
    }

    #[test]
    fn controls_of_the_kernel_have_no_owner() {
        for name in ["cubic", "reno", "dctcp", "_q", "x_qA", "tcp_q#"] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    #[test]
    fn the_kernels_own_control_is_used_as_it_is() {
        let reno = load("reno").unwrap();
        assert_eq!(
            (reno.name(), reno.kernel_name(), reno.is_bpf()),
            ("reno", "reno", false)
        );
        assert!(available().unwrap().contains(&"reno".to_owned()));
    }

    #[test]
    fn an_unknown_control_is_refused_with_what_there_is() {
        let error = load("no-such-cc").unwrap_err().to_string();
        assert!(
            error.contains("no-such-cc") && error.contains("reno"),
            "{error}"
        );
        assert!(load("sixteen-letters-").is_err());
        assert!(load("").is_err());
    }

    #[cfg(feature = "bpf-cc")]
    #[test]
    fn a_process_of_equal_id_elsewhere_does_not_keep_ours_from_loading() {
        // In another pid namespace, say; the further name ends in a letter.
        let register = || Inner::register("dctcp", u32::MAX);
        match (register(), register()) {
            (Ok(first), Ok(second)) => {
                assert_eq!(second.kernel_name, format!("{}A", first.kernel_name))
            }
            (Err(error), _) | (_, Err(error)) => {
                let may = crate::confine::capabilities::effective()
                    .unwrap()
                    .contains(rustix::thread::CapabilitySet::BPF);
                assert!(!may, "{error}");
                use std::io::Write as _;
                #[allow(clippy::explicit_write, reason = "not to be captured")]
                writeln!(std::io::stderr(), "not run: equal ids: {error}").unwrap();
            }
        }
    }
}
