//! Old kernels on new processors.
//!
//! Up to Linux 6.12 a user-mode kernel keeps the registers of its processes in 2 696 bytes (`HOST_FP_SIZE`,
//! arch/x86/um/user-offsets.c): enough for AVX-512, not for the tiles of AMX. A host with AMX takes back only the whole, so the
//! first process fails with "ptrace set fp regs failed, errno = 14". There the kernel gets the answer that the host cannot hand
//! out the whole: it then keeps what FXSAVE has, and the upper parts of AVX registers are lost at each entry into the kernel.
//! Nothing inside may use them: the C library is configured not to, and this program is built for plain x86-64. Only crates that
//! detect AVX2 themselves remain; of those only `memchr` runs inside, over memory that is present, so that the kernel is not
//! entered in between.

use std::fs;

use crate::version::Version;

/// An entry of the first process's environment, by which the C library (glibc, "Hardware Capability Tunables") takes its
/// functions without AVX.
pub(super) const NARROW_LIBRARY: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD";

/// The first kernel that asks the host how wide registers are.
const WIDE: &str = "6.13-rc1";

/// Whether a kernel of `version`, such as `6.12.117`, needs narrow registers on this host.
pub fn must_be_narrow(version: &str) -> bool {
    is_old(version) && fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| has_tiles(&text))
}

fn is_old(version: &str) -> bool {
    Version::new(version) < Version::new(WIDE)
}

fn has_tiles(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "amx_tile"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_before_6_13_are_old() {
        for (version, old) in [
            ("6.1.192", true),
            ("6.12.117", true),
            ("6.13", false),
            ("6.13.0-rc1", false),
            ("7.2.13", false),
        ] {
            assert_eq!(is_old(version), old, "{version}");
        }
    }

    #[test]
    fn only_amx_makes_the_registers_too_wide() {
        assert!(has_tiles(
            "model\t: 1\nflags\t\t: fpu amx_bf16 avx512f amx_tile amx_int8\n"
        ));
        assert!(!has_tiles("flags\t\t: fpu avx512f\nnote: amx_tile\n"));
    }
}
