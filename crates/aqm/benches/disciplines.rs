//! Cost of one packet through each discipline: enqueue and dequeue of 1 500-byte packets with a
//! standing queue, the clock passed in. Bounds are those of the design.
#![allow(missing_docs, unreachable_pub)]

mod common;

use std::hint::black_box;

use common::{CASES, Standing};
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

criterion_group!(benches, disciplines);
criterion_main!(benches);
