//! The first bytes of a kernel's random pool.
//!
//! From random(4): RNDADDENTROPY takes a count of bits, a count of bytes, and the bytes (`struct rand_pool_info`). A machine
//! whose pool got nothing else gives the same random numbers for the same bytes: hash secrets, sequence numbers, ports.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use crate::Result;
use crate::error::Doing as _;

/// Most bytes at once: more than the pool holds.
const MOST: usize = 64;

/// `struct rand_pool_info` with its buffer.
#[repr(C)]
struct PoolInfo {
    entropy_bits: i32,
    length: i32,
    bytes: [u8; MOST],
}

/// `_IOW('R', 0x03, int[2])` of include/uapi/linux/random.h.
const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;

/// Adds `bytes`, at most 64, and counts them as random. Needs CAP_SYS_ADMIN in the first user namespace.
pub fn add(bytes: &[u8]) -> Result<()> {
    let bytes = &bytes[..bytes.len().min(MOST)];
    let mut info = PoolInfo {
        entropy_bits: bytes.len() as i32 * 8,
        length: bytes.len() as i32,
        bytes: [0; MOST],
    };
    info.bytes[..bytes.len()].copy_from_slice(bytes);
    let add = || {
        let pool = File::options().write(true).open("/dev/random")?;
        // SAFETY: the structure is laid out as the kernel reads it, holds as many bytes as it says, and lives through the call.
        let done = unsafe { libc::ioctl(pool.as_raw_fd(), RNDADDENTROPY as _, &raw const info) };
        if done == 0 {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    };
    add().doing(|| "add to the random pool")
}
