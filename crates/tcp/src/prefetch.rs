//! Hints to the processor's caches, which affect the speed and nothing else.
//!
//! With thousands of connections the state of one has left the caches when its next segment arrives,
//! and each of its dozen cache lines costs a wait, one after the other. A host that knows what arrives
//! next can fetch them in advance.

/// Fetches the cache line in which `value` begins; does nothing if the processor has no known hint.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
