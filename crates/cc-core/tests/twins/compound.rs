//! Compound.

use quell_cc_core::{Compound, CompoundRules};
use quell_tcp::cc::compound::{CompoundRules as Rules, CompoundState};
use quell_tcp::cc::{CaState, Window};

use crate::weather::{Turn, Weather};
use crate::{in_c, is_equal};

const MSS: u64 = 1_448;

/// The state of the model, as the C struct holds it: its numbers modulo 2³².
fn expected(state: &CompoundState) -> Compound {
    let no_rtt = 0x7fff_ffff;
    Compound {
        beg_snd_una: state.beg_snd_una as u32,
        beg_snd_nxt: state.beg_snd_nxt as u32,
        beg_cwnd: state.beg_cwnd,
        cnt_rtt: state.cnt_rtt,
        min_rtt: state.min_rtt.unwrap_or(no_rtt),
        base_rtt: state.base_rtt.unwrap_or(no_rtt),
        cwnd: state.cwnd,
        dwnd: state.dwnd,
        diff_reno: state.diff_reno.unwrap_or(u32::MAX),
        gamma: state.gamma,
        incr_interval: state.incr_interval.unwrap_or(no_rtt),
        dwnd_left: state.dwnd_left,
        ack_since_dwnd_inc: state.ack_since_dwnd_inc,
    }
}

#[derive(Debug, Default)]
struct Counts {
    acks: u64,
    reductions: u64,
    undos: u64,
    with_dwnd: u64,
    tuned: u64,
    paced: u64,
}

fn compare(rules: Rules, seed: u64, turns: u64, counts: &mut Counts) {
    let c_rules = CompoundRules {
        gamma: rules.gamma,
        gamma_low: rules.gamma_low,
        gamma_high: rules.gamma_high,
        low_window: rules.low_window,
        eta: rules.eta,
        lambda: rules.lambda,
        paced: rules.paced.into(),
    };
    let mut weather = Weather::new(seed);
    // The kernel's numbers wrap on the way.
    let mut una = (1_u64 << 32) - weather.below(1 << 24);
    let mut nxt = una;
    let mut window = Window::new(10);
    let mut c_window = in_c(&window);
    let mut ours = CompoundState::new(&rules, una, window.cwnd);
    let mut theirs = Compound::new(&c_rules, una as u32, window.cwnd);
    for turn in 0..turns {
        let happened = weather.next(window.cwnd);
        match happened {
            Turn::Ack(ack) => {
                counts.acks += 1;
                una = (una + u64::from(ack.in_order) * MSS).min(nxt);
                nxt = nxt.max(una + u64::from(ack.in_flight) * MSS);
                if let Some(rtt) = ack.rtt_us {
                    ours.on_rtt(rtt);
                    theirs.on_rtt(rtt);
                }
                if ack.is_limited && weather.state <= CaState::Disorder && ack.in_order > 0 {
                    ours.grow(&rules, &mut window, (una, nxt), MSS as u32, ack.acked);
                    let numbers = (una as u32, nxt as u32);
                    theirs.grow(&c_rules, &mut c_window, numbers, MSS as u32, ack.acked);
                }
            }
            Turn::Reduce(state) => {
                counts.reductions += 1;
                window.prior_cwnd = window.cwnd;
                window.ssthresh = ours.threshold(&rules, &window);
                let threshold = theirs.threshold(&c_rules, c_window.cwnd);
                assert_eq!(window.ssthresh, threshold, "turn {turn}");
                ours.set_state(state, nxt);
                theirs.set_state(state as u32, nxt as u32);
                window.cwnd = if state == CaState::Loss {
                    1
                } else {
                    window.ssthresh
                };
                window.cwnd_cnt = 0;
                c_window = in_c(&window);
            }
            Turn::Open { is_spurious } => {
                if is_spurious {
                    counts.undos += 1;
                    window.cwnd = window.cwnd.max(window.prior_cwnd);
                    c_window = in_c(&window);
                }
                ours.set_state(CaState::Open, nxt);
                theirs.set_state(0, nxt as u32);
            }
            Turn::Disorder => {
                ours.set_state(CaState::Disorder, nxt);
                theirs.set_state(1, nxt as u32);
            }
            Turn::Pause => {
                ours.restart(&rules, nxt, window.cwnd);
                theirs.restart(&c_rules, nxt as u32, c_window.cwnd);
            }
        }
        counts.with_dwnd += u64::from(ours.dwnd > 0);
        counts.tuned += u64::from(ours.gamma != rules.gamma);
        counts.paced += u64::from(ours.dwnd_left > 0);
        assert_eq!(expected(&ours), theirs, "turn {turn}: {happened:?}");
        assert!(
            is_equal(&window, &c_window),
            "turn {turn}: {window:?} {c_window:?}"
        );
    }
}

#[test]
fn the_state_is_equal_to_the_bit() {
    assert_eq!(size_of::<Compound>(), Compound::size_in_c());
    assert!(size_of::<Compound>() <= 104, "it must fit icsk_ca_priv");
    let usual = Rules {
        gamma: 30,
        gamma_low: 5,
        gamma_high: 30,
        low_window: 38,
        eta: 1,
        lambda: 16,
        paced: true,
    };
    let others = [
        usual,
        usual,
        usual,
        Rules {
            paced: false,
            ..usual
        },
        Rules {
            eta: 3,
            lambda: 11,
            ..usual
        },
        Rules {
            gamma: 5,
            gamma_high: 100,
            low_window: 2,
            ..usual
        },
    ];
    let mut counts = Counts::default();
    for (seed, rules) in (1..).zip(others) {
        compare(rules, seed, 200_000, &mut counts);
    }
    assert!(counts.acks > 1_000_000, "{counts:?}");
    assert!(
        counts.reductions > 1_000 && counts.undos > 100,
        "{counts:?}"
    );
    assert!(
        counts.with_dwnd > 5_000 && counts.paced > 5_000,
        "{counts:?}"
    );
    assert!(counts.tuned > 1_000, "{counts:?}");
}
