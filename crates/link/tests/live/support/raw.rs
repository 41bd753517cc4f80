//! Whole frames to and from an interface, with the VLAN tag that the kernel delivers beside them.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, FromRawFd};

use super::{Namespace, set_option};

pub struct RawSocket(File);

impl RawSocket {
    pub fn open(namespace: &Namespace, interface: &str) -> Self {
        namespace.run(|| {
            let protocol = (libc::ETH_P_ALL as u16).to_be();
            // SAFETY: creates a descriptor, owned by the file alone.
            let file = unsafe {
                let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
                assert!(fd >= 0, "{}", io::Error::last_os_error());
                File::from_raw_fd(fd)
            };
            set_option(&file, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1);
            set_option(&file, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
            let name = std::ffi::CString::new(interface).unwrap();
            // SAFETY: the name and the address live through the calls; all zeroes is a valid address.
            unsafe {
                let mut address: libc::sockaddr_ll = std::mem::zeroed();
                address.sll_family = libc::AF_PACKET as u16;
                address.sll_protocol = protocol;
                address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
                let len = size_of_val(&address) as u32;
                assert_eq!(
                    libc::bind(file.as_raw_fd(), (&raw const address).cast(), len),
                    0
                );
                let timeout = libc::timeval {
                    tv_sec: 1,
                    tv_usec: 0,
                };
                let len = size_of_val(&timeout) as u32;
                let pointer = (&raw const timeout).cast();
                assert_eq!(
                    libc::setsockopt(
                        file.as_raw_fd(),
                        libc::SOL_SOCKET,
                        libc::SO_RCVTIMEO,
                        pointer,
                        len
                    ),
                    0
                );
            }
            Self(file)
        })
    }
    pub fn send(&self, frame: &[u8]) {
        assert_eq!((&self.0).write(frame).unwrap(), frame.len());
    }
    /// The next frame as it was on the wire; `None` if none comes within a second.
    pub fn receive(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 2_048];
        let mut control = [0_u64; 16];
        let mut vector = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: all zeroes is a valid header; what it points to lives through the call; the walk
        // over the control messages stays inside the length that the kernel wrote.
        unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_iov = &raw mut vector;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&control) as _;
            let len = libc::recvmsg(self.0.as_raw_fd(), &raw mut header, 0);
            bytes.truncate(usize::try_from(len).ok()?);
            let mut message = libc::CMSG_FIRSTHDR(&raw const header);
            while let Some(found) = message.as_ref() {
                if (found.cmsg_level, found.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
                    let auxiliary = libc::CMSG_DATA(message)
                        .cast::<libc::tpacket_auxdata>()
                        .read_unaligned();
                    if auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                        let tag = [
                            auxiliary.tp_vlan_tpid.to_be_bytes(),
                            auxiliary.tp_vlan_tci.to_be_bytes(),
                        ]
                        .concat();
                        bytes.splice(12..12, tag);
                    }
                }
                message = libc::CMSG_NXTHDR(&raw const header, message);
            }
        }
        Some(bytes)
    }
}
