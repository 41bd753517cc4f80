//! Turns offloads off, so that the packets that cross the link or a queue of the kernel are those that a wire would carry.
//!
//! veth announces every offload and performs none: a super-packet (TSO, GSO, UDP segmentation) or a packet whose checksum
//! "the hardware" was to finish crosses it as it is. With the features off the kernel segments and sums before the interface.
//! quell's link does that work itself for the features of [`LINK_TAKES`], and cheaper: it cuts super-packets of TCP before its
//! queue, and no checksum is needed on a virtual wire.
//! From ethtool's interface, include/uapi/linux/ethtool.h: features are known by name, found in the kernel's own list.
//! Receive checksumming stays on: it only says that a receiver need not sum again.

use std::io;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketType};

use crate::error::Doing as _;
use crate::{Error, Result};

// include/uapi/linux/ethtool.h, include/uapi/linux/sockios.h
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
const ETH_GSTRING_LEN: usize = 32;

/// Whether a feature sends super-packets, fragment lists or unfinished checksums, or merges packets that arrive.
fn must_be_off(feature: &str) -> bool {
    feature.starts_with("tx-checksum-")
        || feature.starts_with("tx-scatter-gather")
        || feature.starts_with("tx-gso-")
        || feature.ends_with("-segmentation")
        || feature.starts_with("rx-gro")
        || matches!(feature, "rx-lro" | "rx-udp-gro-forwarding")
}

/// Features whose packets quell's link takes from a host and gives to one. Not super-packets of AccECN
/// ("tx-tcp-accecn-segmentation"), of UDP or of tunnels, and not SCTP, whose checksum is another one.
pub const LINK_TAKES: [&str; 7] = [
    "tx-checksum-ipv4",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv6",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
];

/// Turns off every offload of `interface` that [`features_on`] would list, but for those that are to `stay`, and reads the result back.
///
/// Works in the namespace of the calling thread. [`Error::OffloadStuck`] when one stays on that must not.
pub fn turn_off(interface: &str, stay: &[&str]) -> Result<()> {
    let must_be_off = |name: &str| must_be_off(name) && !stay.contains(&name);
    let device = Device::open(interface).doing(|| format!("read the offloads of {interface}"))?;
    let names = device
        .feature_names()
        .doing(|| format!("read the offloads of {interface}"))?;
    let blocks = names.len().div_ceil(32);

    // struct ethtool_sfeatures: command, blocks, then (valid, requested) per block of 32 features.
    let mut request = vec![0; 2 + 2 * blocks];
    request[0] = ETHTOOL_SFEATURES;
    request[1] = blocks as u32;
    let changeable = device
        .features(blocks)
        .doing(|| format!("read the offloads of {interface}"))?;
    for (index, name) in names.iter().enumerate() {
        let (block, bit) = (index / 32, 1 << (index % 32));
        if must_be_off(name) && changeable.available[block] & bit != 0 {
            request[2 + 2 * block] |= bit;
        }
    }
    device
        .ioctl(&mut request)
        .doing(|| format!("turn the offloads of {interface} off"))?;

    let mut stuck = features_on(interface)?;
    stuck.retain(|name| must_be_off(name));
    match stuck {
        stuck if stuck.is_empty() => Ok(()),
        features => Err(Error::OffloadStuck {
            interface: interface.to_owned(),
            features,
        }),
    }
}

/// The offloads of `interface` that are on and must be off, by the kernel's names.
pub fn features_on(interface: &str) -> Result<Vec<String>> {
    let read = || {
        let device = Device::open(interface)?;
        let names = device.feature_names()?;
        let state = device.features(names.len().div_ceil(32))?;
        let on = |index: usize| state.active[index / 32] & 1 << (index % 32) != 0;
        let names = names.into_iter().enumerate();
        io::Result::Ok(
            names
                .filter(|(index, name)| on(*index) && must_be_off(name))
                .map(|(_, name)| name)
                .collect(),
        )
    };
    read().doing(|| format!("read the offloads of {interface}"))
}

struct Features {
    available: Vec<u32>,
    active: Vec<u32>,
}

struct Device {
    socket: OwnedFd,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Device {
    fn open(interface: &str) -> io::Result<Self> {
        let mut name = [0; libc::IFNAMSIZ];
        if interface.len() >= name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        Ok(Self {
            socket: rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?,
            name,
        })
    }

    /// Names of all features, by bit number.
    fn feature_names(&self) -> io::Result<Vec<String>> {
        // struct ethtool_sset_info: command, reserved, mask of sets (64 bits), then one count per set asked for.
        let mut info = [ETHTOOL_GSSET_INFO, 0, 0, 0, 0];
        let mask = (1_u64 << ETH_SS_FEATURES).to_ne_bytes();
        info[2] = u32::from_ne_bytes([mask[0], mask[1], mask[2], mask[3]]);
        info[3] = u32::from_ne_bytes([mask[4], mask[5], mask[6], mask[7]]);
        self.ioctl(&mut info)?;
        let count = info[4] as usize;

        // struct ethtool_gstrings: command, set, count, then the strings.
        let mut strings = vec![0; 3 + count * ETH_GSTRING_LEN / 4];
        strings[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
        self.ioctl(&mut strings)?;
        let bytes: Vec<u8> = strings[3..]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let text = |name: &[u8]| {
            String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or(name))
                .into_owned()
        };
        Ok(bytes.chunks_exact(ETH_GSTRING_LEN).map(text).collect())
    }

    fn features(&self, blocks: usize) -> io::Result<Features> {
        // struct ethtool_gfeatures: command, blocks, then (available, requested, active, never changed) per block.
        let mut data = vec![0; 2 + 4 * blocks];
        data[0] = ETHTOOL_GFEATURES;
        data[1] = blocks as u32;
        self.ioctl(&mut data)?;
        let column = |offset: usize| {
            data[2..]
                .chunks_exact(4)
                .map(|block| block[offset])
                .collect()
        };
        Ok(Features {
            available: column(0),
            active: column(2),
        })
    }

    /// One ethtool command; `data` begins with its number and is as long as the counts inside it say.
    fn ioctl(&self, data: &mut [u32]) -> io::Result<()> {
        let mut request = libc::ifreq {
            ifr_name: self.name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_data: data.as_mut_ptr().cast(),
            },
        };
        // SAFETY: `request` lives through the call; its data pointer leads to `data`, which every caller above made as long
        // as the structure of the command with the counts written into it, and which is aligned for its 32-bit members.
        let answer = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &mut request) };
        if answer < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segmentation_checksum_and_merging_feature_must_be_off() {
        // Names of net/ethtool/common.c, netdev_features_strings.
        for name in [
            "tx-checksum-ipv4",
            "tx-checksum-ip-generic",
            "tx-checksum-sctp",
            "tx-scatter-gather",
            "tx-scatter-gather-fraglist",
            "tx-generic-segmentation",
            "tx-tcp-segmentation",
            "tx-tcp6-segmentation",
            "tx-udp-segmentation",
            "tx-udp_tnl-csum-segmentation",
            "tx-gso-list",
            "tx-gso-partial",
            "rx-gro",
            "rx-gro-hw",
            "rx-gro-list",
            "rx-lro",
        ] {
            assert!(must_be_off(name), "{name}");
        }
        for name in [
            "rx-checksum",
            "highdma",
            "tx-vlan-hw-insert",
            "netns-local",
            "loopback",
            "hw-tc-offload",
        ] {
            assert!(!must_be_off(name), "{name}");
        }
    }

    #[test]
    fn an_interface_that_does_not_exist_is_an_error() {
        assert!(features_on("no-such-port").is_err());
        assert!(turn_off("a-name-longer-than-any", &[]).is_err());
    }
}
