//! Many runs at once: as many threads as processors, results in the order of the points.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `run` of each of `points`.
pub(crate) fn sweep<P: Sync, R: Send>(points: &[P], run: impl Fn(&P) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(points.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..threads.min(points.len()) {
            scope.spawn(|| {
                while let Some((index, point)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    points.get(index).map(|point| (index, point))
                } {
                    let result = run(point);
                    results.lock().unwrap()[index] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    results.into_iter().map(Option::unwrap).collect()
}

#[test]
fn results_are_in_the_order_of_their_points() {
    let points: Vec<u64> = (0..100).collect();
    let squares: Vec<u64> = points.iter().map(|n| n * n).collect();
    assert_eq!(sweep(&points, |n| n * n), squares);
}
