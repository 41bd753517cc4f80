//! Hints to the processor's caches. They change how long something takes and nothing else.
//!
//! With thousands of connections the state of one is no longer in the caches when its next segment
//! arrives, and each of its dozen cache lines costs a wait, one behind the other. A host that knows
//! what arrives next can have them fetched meanwhile.

/// Asks for the cache line that `value` begins in; nothing where the processor's hint is not known.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
