//! A folder held by its descriptor, so that nobody can put another one in its place.
//!
//! A path is looked up anew at each use. Whoever may write in one of its folders can rename what is there between two uses, put a
//! symbolic link in its place, and so make this process write, or remove, somewhere else with its own rights. A folder that was opened
//! stays the same one (openat(2)). So each folder that quell fills or removes is opened once, no link is followed on the way down
//! from it, and its name is compared with it (device and inode) before the name is removed.
//!
//! [`Held::path`] leads to the open folder through /proc/self/fd, for functions that take a path. Such a path is good in this process
//! only, as long as the folder is held; [`real`] gives its present name, for messages and for other processes.

mod folder;
mod own;

pub use folder::{Held, Identity, parent, real};
pub use own::{Made, Own};

#[cfg(test)]
mod tests;
