//! Why a link is not put in front of what was named.

use std::io;

/// Why a link is not put in front of what was named.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The rights, or the kernel.
    #[error(
        "cannot put a link in front of what runs already: {0}; root can outside user namespaces, on Linux 6.6 or later (`quell doctor`), and everywhere \
         `quell exec -- PROGRAM` puts a program of yours behind a link"
    )]
    Impossible(String),
    /// There is no command that knows containers.
    #[error(
        "--container asks docker or podman, and neither is in PATH; --pid and --netns do without"
    )]
    NoEngine,
    /// A name, and what the engine says of it.
    #[error("no container is called {0}: {1}")]
    NoContainer(String, String),
    /// A container without processes.
    #[error("container {0} is not running: start it first")]
    NotRunning(String),
    /// A container, and whose network it has.
    #[error("container {0} uses the network of container {1}: --container {1}")]
    OfOther(String, String),
    /// No process has this number.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// A process lets nobody into its network.
    #[error("the network of process {0} cannot be opened: {1}")]
    Closed(u32, io::Error),
    /// A file that is no network namespace, or cannot be read.
    #[error("{0} is no network namespace: {1}; `ip netns list` lists those in /run/netns")]
    NoNamespace(String, io::Error),
    /// Everything of this machine would be behind the link.
    #[error(
        "{0} has this host's own network, in front of which no link is put; `quell exec -- PROGRAM` puts a program behind one"
    )]
    OfHost(String),
    /// Nothing to put a link in front of.
    #[error("{0} has no network: no interface of Ethernet is up there")]
    NoDevice(String),
    /// What has several interfaces, or none of the name; those that it has.
    #[error("{0} has {list}: name one with --interface", list = .1.join(", "))]
    WhichDevice(String, Vec<String>),
    /// An interface with packets that no link takes, and its MTU in bytes.
    #[error(
        "{0} has packets of up to {1} bytes, and a link takes 1500: `ip link set {0} mtu 1500` on both sides"
    )]
    LargePackets(String, u32),
    /// An interface that another link is in front of, and whose.
    #[error("a link is in front of {0} already, of {1}; `quell link list` may know its name")]
    Taken(String, String),
}
