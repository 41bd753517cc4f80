//! The real bottleneck, with the kernel's own `tbf` beside it in the same run.
//!
//! Four questions, with the bounds of the design: does the link keep its rate, is every packet
//! accounted for, does it carry 1 and 3 Gbit/s of TCP with both end hosts on the same processors, and do
//! three links in a row carry 300 Mbit/s.
//! A bound that is missed says so beside its figure and fails the benchmark. Where the live world
//! or `tc` cannot run, the benchmark says why and passes.
//!
//! After a late timer `tbf` makes up for at most its burst, 2 ms here, and what is beyond is capacity
//! lost; quell's departures keep their logical times, however late the thread woke. On a busy machine
//! the two differ by that.
//!
//! `QUELL_BENCH_SECONDS` (10) is how long each measurement lasts after its warm-up.
#![allow(missing_docs, unreachable_pub)]

#[path = "live/kernel.rs"]
mod kernel;
#[path = "live/quell.rs"]
mod quell;
#[path = "live/workload.rs"]
mod workload;

use std::process::ExitCode;

use quell_lab::live::{self, LiveError};
use quell_units::{Rate, Time};

use quell::{Fate, LinkRun};
use workload::{Load, Workload};

/// "rate error ≤ 0.1 % over 10 s"; what is under way at the ends of a shorter time weighs more.
const RATE_ERROR_PERCENT: f64 = 0.1;
const RATE_ERROR_OVER: Time = Time::from_secs(10);
/// What "≥ 1 Gbit/s" means for TCP, which leaves a link idle now and then.
const UTILISATION_PERCENT: f64 = 99.0;
const RATES_MBPS: [u64; 4] = [10, 40, 100, 500];
const CAPACITY_MBPS: [u64; 2] = [1_000, 3_000];
/// "three links at 300 Mbit/s live on two cores"; one and two beside them show what a link costs.
const IN_A_ROW_MBPS: u64 = 300;
const IN_A_ROW: [usize; 3] = [1, 2, 3];
const WARMUP: Time = Time::from_secs(1);

fn main() -> ExitCode {
    match benchmark() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            println!("\nbounds missed: {missed}");
            ExitCode::FAILURE
        }
        Err(LiveError::Environment(reason)) => {
            println!("not run: live: {}", reason.what);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("live: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints everything, and returns how many bounds were missed.
fn benchmark() -> Result<u32, LiveError> {
    let seconds = match std::env::var("QUELL_BENCH_SECONDS") {
        Ok(text) => text
            .parse()
            .ok()
            .filter(|&seconds| seconds > 0)
            .ok_or_else(|| {
                LiveError::Scenario(format!(
                    "QUELL_BENCH_SECONDS={text}: must be whole seconds, 1 or more"
                ))
            })?,
        Err(_) => 10,
    };
    live::prepare()?;
    let mut bounds = Bounds::default();
    rates(Time::from_secs(seconds), &mut bounds)?;
    conservation(&mut bounds)?;
    capacity(Time::from_secs(seconds), &mut bounds)?;
    in_a_row(Time::from_secs(seconds), &mut bounds)?;
    Ok(bounds.missed)
}

/// Judges figures.
#[derive(Default)]
struct Bounds {
    missed: u32,
}

impl Bounds {
    /// `figure`, and whether it keeps its bound.
    fn judge(&mut self, figure: String, holds: bool) -> String {
        if holds {
            return figure;
        }
        self.missed += 1;
        format!("{figure} MISSED")
    }
}

fn rates(span: Time, bounds: &mut Bounds) -> Result<(), LiveError> {
    let shorter = RATE_ERROR_OVER.as_nanos() as f64 / span.as_nanos() as f64;
    let bound = RATE_ERROR_PERCENT * shorter.max(1.0);
    println!("Rate: datagrams of 1500 bytes at 120 % of the link's rate, fifo of 50 ms,");
    println!("{span} after {WARMUP} of warm-up. Rates are of link bytes (14 more than IP) as they");
    println!("arrived. Bounds: error of quell {bound:.1} %, nothing lost outside the queue.\n");
    println!("  rate |   quell         error   lost    late p50/p99   CPU |     tbf    error");
    println!("Mbit/s |  Mbit/s             %                     us     % |  Mbit/s        %");
    let mut notes = Notes::default();
    for mbps in RATES_MBPS {
        let workload = datagrams(mbps);
        let measured = quell::measure(&workload, WARMUP, span)?;
        let error = error_percent(measured.link_rate, &workload);
        let error_cell = bounds.judge(format!("{error:+.4}"), error.abs() <= bound);
        let rate = measured.link_rate / 1e6;
        print!(
            "{mbps:>6} | {rate:>7.3} {error_cell:>13} {} | ",
            condition(&measured, bounds)
        );
        match kernel::measure(&workload, WARMUP, span) {
            Ok(rate) => println!(
                "{:>7.3} {:>+8.4}",
                rate / 1e6,
                error_percent(rate, &workload)
            ),
            Err(why) => {
                println!("{:>7} {:>8}", "-", "-");
                notes.add(format!("not run: tbf: {why}"));
            }
        }
        // The offered load is above the rate: a link that idles was not offered it.
        let idle = (1.0 - measured.utilisation) * 100.0;
        if idle > bound {
            notes.add(format!("{mbps} Mbit/s: the link was idle for {idle:.2} % of the time: its sender was too slow"));
        }
        notes.extend(&format!("{mbps} Mbit/s"), measured.warnings);
    }
    notes.print();
    Ok(())
}

fn conservation(bounds: &mut Bounds) -> Result<(), LiveError> {
    println!("\nConservation: the same for 2 s from the start, until everything has arrived.");
    println!("Sent and received are counted by the applications, dropped by the queue, lost by");
    println!("the link. Bound: sent = received + dropped.\n");
    println!("  rate |       sent   received    dropped    lost   unaccounted");
    let mut notes = Notes::default();
    for mbps in RATES_MBPS {
        let Fate {
            sent,
            received,
            dropped,
            lost_outside,
            warnings,
        } = quell::fate(&datagrams(mbps), Time::from_secs(2))?;
        let unaccounted = sent.cast_signed() - (received + dropped).cast_signed();
        let unaccounted = bounds.judge(unaccounted.to_string(), unaccounted == 0);
        println!(
            "{mbps:>6} | {sent:>10} {received:>10} {dropped:>10} {lost_outside:>7} {unaccounted:>13}"
        );
        notes.extend(&format!("{mbps} Mbit/s"), warnings);
    }
    notes.print();
    Ok(())
}

fn capacity(span: Time, bounds: &mut Bounds) -> Result<(), LiveError> {
    println!("\nCapacity: CUBIC, base RTT 2 ms (tbf: 0), fifo of 20 ms, {span} after {WARMUP} of");
    println!("warm-up, all hosts on this machine. 956 and 2869 Mbit/s of goodput fill the link.");
    println!("Bounds: utilisation {UTILISATION_PERCENT} %, nothing lost outside the queue.\n");
    println!("  rate, flows |   quell   utilisation   lost    late p50/p99   CPU |     tbf");
    println!("              |  Mbit/s             %                     us     % |  Mbit/s");
    let mut notes = Notes::default();
    for (mbps, flows) in CAPACITY_MBPS
        .into_iter()
        .flat_map(|mbps| [(mbps, 1), (mbps, 4)])
    {
        let workload = Workload {
            links: 1,
            rate: Rate::from_mbps(mbps),
            queue: Time::from_millis(20),
            rtt: Time::from_millis(2),
            load: Load::Streams(flows),
        };
        let measured = quell::measure(&workload, WARMUP, span)?;
        print!(
            "{mbps:>7} {flows:>5} | {} | ",
            filling(&measured, &workload, bounds)
        );
        match kernel::measure(&workload, WARMUP, span) {
            Ok(rate) => println!("{:>7.1}", workload.goodput(rate) / 1e6),
            Err(why) => {
                println!("{:>7}", "-");
                notes.add(format!("not run: tbf: {why}"));
            }
        }
        notes.extend(&format!("{mbps} Mbit/s, flows: {flows}"), measured.warnings);
    }
    notes.print();
    Ok(())
}

fn in_a_row(span: Time, bounds: &mut Bounds) -> Result<(), LiveError> {
    println!(
        "\nLinks in a row: 4 CUBIC over links of {IN_A_ROW_MBPS} Mbit/s each, base RTT 10 ms,"
    );
    println!("fifos of 20 ms, {span} after {WARMUP} of warm-up. The first link is the bottleneck.");
    println!("Bounds: utilisation {UTILISATION_PERCENT} %, nothing lost outside the queues.\n");
    println!(" links |   quell   utilisation   lost    late p50/p99   CPU");
    println!("       |  Mbit/s             %                     us     %");
    let mut notes = Notes::default();
    for links in IN_A_ROW {
        let workload = Workload {
            links,
            rate: Rate::from_mbps(IN_A_ROW_MBPS),
            queue: Time::from_millis(20),
            rtt: Time::from_millis(10),
            load: Load::Streams(4),
        };
        let measured = quell::measure(&workload, WARMUP, span)?;
        println!("{links:>6} | {}", filling(&measured, &workload, bounds));
        notes.extend(&format!("links: {links}"), measured.warnings);
    }
    notes.print();
    Ok(())
}

fn datagrams(mbps: u64) -> Workload {
    Workload {
        links: 1,
        rate: Rate::from_mbps(mbps),
        queue: Time::from_millis(50),
        rtt: Time::from_millis(10),
        load: Load::Datagrams,
    }
}

/// Cells of TCP that is to fill the link: goodput, utilisation, and the [`condition`].
fn filling(measured: &LinkRun, workload: &Workload, bounds: &mut Bounds) -> String {
    let utilisation = measured.utilisation * 100.0;
    let utilised = bounds.judge(
        format!("{utilisation:.2}"),
        utilisation >= UTILISATION_PERCENT,
    );
    let goodput = workload.goodput(measured.link_rate) / 1e6;
    let condition = condition(measured, bounds);
    format!("{goodput:>7.1} {utilised:>13} {condition}")
}

/// Cells that all tables have: what is lost, how late, with how much work.
fn condition(measured: &LinkRun, bounds: &mut Bounds) -> String {
    let lost = bounds.judge(
        measured.lost_outside.to_string(),
        measured.lost_outside == 0,
    );
    let (late_p50, late_p99) = measured.lateness_us;
    let late = format!("{late_p50:.0}/{late_p99:.0}");
    format!("{lost:>6} {late:>15} {:>5.0}", measured.cpu_share * 100.0)
}

fn error_percent(found: f64, workload: &Workload) -> f64 {
    (found / workload.rate.as_bps() as f64 - 1.0) * 100.0
}

/// What is told below a table, each thing once.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Warnings of one row.
    fn extend(&mut self, row: &str, warnings: Vec<String>) {
        for warning in warnings {
            self.add(format!("{row}: {warning}"));
        }
    }

    /// In lines of at most 80 columns.
    fn print(self) {
        for note in self.0 {
            let mut line = String::new();
            for word in note.split_whitespace() {
                if line.len() + 3 + word.len() > 80 {
                    println!("{line}");
                    line = "   ".to_owned();
                }
                line = format!("{line} {word}");
            }
            println!("{line}");
        }
    }
}
