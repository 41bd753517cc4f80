//! Work on many cells at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Threads for work that waits for files: on a disk each new cell waits for it to be safe, on a network file system each look at one
/// crosses the network, and a processor has little to do meanwhile.
pub(super) const FILES: usize = 16;

/// Threads for work that a processor does.
pub(super) fn processors() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8)
}

/// What `work` makes of each item, in the order of the items, on so many threads.
pub(super) fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { break };
                    let one = (number, work(item));
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(one);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn the_results_are_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..1_000).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [1, 2, 16] {
            assert_eq!(each(&items, threads, |item| item * item), squares);
        }
        assert!(each(&[] as &[u64], 4, |item| *item).is_empty());
    }
}
