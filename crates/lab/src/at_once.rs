//! Work on several threads, or on as many as the system has room for: the calling thread is enough.
//!
//! Limits of processes, as containers and batch systems set them, count threads. Whoever reaches one works more slowly and no less.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

/// Threads for work that waits for files: on a disk each new cell waits for it to be safe, on a network file system each look at one
/// crosses the network, and a processor has little to do meanwhile.
pub(crate) const FILES: usize = 16;

/// Threads for work that a processor does.
pub(crate) fn processors() -> usize {
    thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8)
}

/// Starts threads that do `work`: as many as asked for, or fewer. Returns how many there are, which may be none.
pub fn start<'scope, W>(scope: &'scope Scope<'scope, '_>, threads: usize, work: W) -> usize
where
    W: Fn() + Clone + Send + 'scope,
{
    let one = |_: &usize| {
        let thread = thread::Builder::new();
        thread.spawn_scoped(scope, work.clone()).is_ok()
    };
    (0..threads).take_while(one).count()
}

/// Does `work` on this thread and at most so many others that there are `threads`. Returns when all have ended.
pub fn together(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        start(scope, threads.saturating_sub(1), &work);
        work();
    });
}

/// What `work` makes of each item, in the order of the items, on at most so many threads.
pub fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    together(threads.min(items.len()), || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { break };
            let one = (number, work(item));
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(one);
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
        for threads in [0, 1, 2, 16] {
            assert_eq!(each(&items, threads, |item| item * item), squares);
        }
        assert!(each(&[] as &[u64], 4, |item| *item).is_empty());
    }
}
