//! Instructions per packet through each discipline and each marker, counted by valgrind: independent of what else
//! the machine does. Each run passes a thousand packets through a standing queue, so the printed
//! count divided by a thousand is the cost of one packet with its share of the benchmark's own.
#![allow(missing_docs, unreachable_pub)]

mod common;

use std::hint::black_box;

use common::marking::Marking;
use common::{Crowded, Standing};
use gungraun::{library_benchmark, library_benchmark_group, main};

#[library_benchmark(setup = Standing::of)]
#[bench::fifo("fifo")]
#[bench::red_linux("red_linux")]
#[bench::red_floyd("red_floyd")]
#[bench::curvy_red("curvy_red")]
#[bench::dualpi2_linux("dualpi2_linux")]
#[bench::dualpi2_rfc9332("dualpi2_rfc9332")]
#[bench::dualq_2015("dualq_2015")]
#[bench::dualq_2015_time("dualq_2015_time")]
#[bench::dualq_curvy_red("dualq_curvy_red")]
#[bench::codel_linux("codel_linux")]
#[bench::codel_rfc8289("codel_rfc8289")]
#[bench::cobalt("cobalt")]
#[bench::fq_codel_1("fq_codel_1")]
#[bench::fq_codel_100("fq_codel_100")]
#[bench::fq_codel_1000("fq_codel_1000")]
#[bench::pie_linux("pie_linux")]
#[bench::pie_rfc8033("pie_rfc8033")]
#[bench::gsp("gsp")]
#[bench::gsp_adaptive("gsp_adaptive")]
#[bench::pi2("pi2")]
#[bench::step("step")]
#[bench::fq_pie("fq_pie")]
#[bench::vdq_csaqm("vdq_csaqm")]
#[bench::vdq_csaqm_wide("vdq_csaqm_wide")]
#[bench::vdq_csaqm_b("vdq_csaqm_b")]
#[bench::vdq_csaqm_signals("vdq_csaqm_signals")]
#[bench::pvpie("pvpie")]
#[bench::pvpie_2("pvpie_2")]
#[bench::drop_min_value("drop_min_value")]
#[bench::drop_min_value_full("drop_min_value_full")]
#[bench::drop_min_value_fifo("drop_min_value_fifo")]
#[bench::drop_min_value_fifo_full("drop_min_value_fifo_full")]
fn thousand_packets(mut standing: Standing) -> Standing {
    for _ in 0..1_000 {
        black_box(standing.step());
    }
    standing
}

#[library_benchmark(setup = Marking::of)]
#[bench::random("random")]
#[bench::random_1000("random_1000")]
#[bench::random_aggregate("random_aggregate")]
#[bench::token_bucket("token_bucket")]
#[bench::token_bucket_30("token_bucket_30")]
#[bench::fast_adapting("fast_adapting")]
#[bench::table("table")]
#[bench::multi_timescale("multi_timescale")]
fn thousand_values(mut marking: Marking) -> Marking {
    for _ in 0..1_000 {
        black_box(marking.step());
    }
    marking
}

// One computation of both thresholds, with 1 000 and with 100 000 packets in the virtual queues.
#[library_benchmark]
#[bench::q_1000(Crowded::new("q", 1_000))]
#[bench::q_100000(Crowded::new("q", 100_000))]
#[bench::b_1000(Crowded::new("b", 1_000))]
#[bench::b_100000(Crowded::new("b", 100_000))]
#[bench::v_100000(Crowded::new("v", 100_000))]
fn thresholds(mut crowded: Crowded) -> Crowded {
    crowded.update();
    crowded
}

library_benchmark_group!(name = packets, benchmarks = thousand_packets);
library_benchmark_group!(name = values, benchmarks = thousand_values);
library_benchmark_group!(name = updates, benchmarks = thresholds);
main!(library_benchmark_groups = packets, values, updates);
