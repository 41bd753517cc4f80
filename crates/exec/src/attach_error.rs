//! Why a link is not put in front of what was named.

use std::io;
use std::path::PathBuf;

/// Why a link is not put in front of what was named.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The rights, or the kernel.
    #[error(
        "cannot put a link in front of what runs already: {0}; as root outside user namespaces and on Linux 6.6 it works (`quell doctor`), and everywhere \
         `quell exec -- PROGRAM` puts a program of yours behind a link"
    )]
    Impossible(String),
    /// There is no command that knows containers.
    #[error(
        "--container asks docker or podman, and neither is in PATH; --pid or --netns name what to use"
    )]
    NoEngine,
    /// It knows no such container.
    #[error("no container is called {name}: {answer}")]
    NoContainer {
        /// Its name.
        name: String,
        /// What the engine said.
        answer: String,
    },
    /// A container without processes.
    #[error("container {0} is not running: start it first")]
    NotRunning(String),
    /// It has the network of another one.
    #[error("container {name} uses the network of container {other}: --container {other}")]
    OfOther {
        /// Its name.
        name: String,
        /// The other's.
        other: String,
    },
    /// No process has this number.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// A file that is no network namespace, or cannot be read.
    #[error("{} is no network namespace: {source}; `ip netns list` lists those in /run/netns", path.display())]
    NoNamespace {
        /// The file.
        path: PathBuf,
        /// The answer.
        source: io::Error,
    },
    /// Everything of this machine would be behind the link.
    #[error(
        "{0} has this host's own network: `quell exec -- PROGRAM` puts a program behind a link, and no link is put in front of a whole host"
    )]
    OfHost(String),
    /// Nothing to put a link in front of.
    #[error("{0} has no network: no interface but the loopback is up there")]
    NoDevice(String),
    /// One of several.
    #[error("{words} has {}: name one with --interface", devices.join(", "))]
    WhichDevice {
        /// What was asked for.
        words: String,
        /// The interfaces that it has.
        devices: Vec<String>,
    },
    /// None of this name.
    #[error("{words} has no interface {name} that is up; it has {}", devices.join(", "))]
    OtherDevices {
        /// What was asked for.
        words: String,
        /// The interface.
        name: String,
        /// Those that it has.
        devices: Vec<String>,
    },
    /// Packets that no link takes.
    #[error(
        "{device} has packets of up to {mtu} bytes, and a link takes 1500: `ip link set {device} mtu 1500` on both sides"
    )]
    LargePackets {
        /// The interface.
        device: String,
        /// Its MTU, in bytes.
        mtu: u32,
    },
    /// Another link is there.
    #[error("a link is in front of {device} already{}", .process.map_or(String::new(), |process| format!(", of process {process}: `kill {process}` ends it")))]
    Taken {
        /// The interface.
        device: String,
        /// The quell around it.
        process: Option<u32>,
    },
}
