//! Cost of one packet through each discipline: enqueue and dequeue of 1 500-byte packets with a
//! standing queue, the clock passed in. Bounds are those of the design.
#![allow(missing_docs, unreachable_pub)]

mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::{CASES, Crowded, Standing};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn disciplines(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packet");
    group.throughput(Throughput::Elements(1));
    for (name, _, _, bound) in CASES {
        let mut standing = Standing::of(name);
        group.bench_function(format!("{name} (bound {bound} ns)"), |bencher| {
            bencher.iter(|| black_box(standing.step()));
        });
    }
    group.finish();
}

/// The periodic computation of both thresholds of VDQ-CSAQM beside how much waits; the bound is 20 µs whatever that is.
fn thresholds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("thresholds");
    for variant in ["r", "q", "b", "b_smooth", "v"] {
        for packets in [1_000, 100_000] {
            let mut crowded = Crowded::new(variant, packets);
            group.bench_function(
                format!("{variant}, {packets} packets (bound 20 us)"),
                |bencher| {
                    bencher.iter_custom(|times| {
                        let mut spent = Duration::ZERO;
                        for _ in 0..times {
                            // Something that came lately, for q to share out.
                            crowded.arrive(10);
                            let before = Instant::now();
                            crowded.update();
                            spent += before.elapsed();
                        }
                        spent
                    });
                },
            );
        }
    }
    group.finish();
}

criterion_group!(benches, disciplines, thresholds);
criterion_main!(benches);
