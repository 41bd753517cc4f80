//! Prague.

use quell_cc_core::{Prague, PraguePath, PragueRules};
use quell_tcp::cc::prague::{PraguePath as Path, PragueRules as Rules, PragueState};
use quell_tcp::cc::{CaState, Window};

use crate::weather::{Turn, Weather};
use crate::{in_c, is_equal};

/// The state of the model, as the C struct holds it: its counters modulo 2³².
fn expected(state: &PragueState) -> Prague {
    Prague {
        cwr_stamp: state.cwr_stamp,
        alpha_stamp: state.alpha_stamp,
        upscaled_alpha: state.upscaled_alpha,
        ai_ack_increase: state.ai_ack_increase,
        frac_cwnd: state.frac_cwnd,
        rate_bytes: state.rate_bytes,
        loss_rate_bytes: state.loss_rate_bytes,
        hsrtt: state.hsrtt,
        loss_cwnd: state.loss_cwnd,
        old_delivered: state.old_delivered as u32,
        old_delivered_ce: state.old_delivered_ce as u32,
        next_seq: state.next_seq as u32,
        round: state.round,
        max_tso_burst: state.max_tso_burst,
        saw_ce: state.saw_ce.into(),
        in_loss: state.in_loss.into(),
        cwnd_mode: state.by_rate.into(),
        unused: 0,
    }
}

fn path_in_c(path: &Path) -> PraguePath {
    PraguePath {
        now_us: path.now_us,
        srtt8: path.srtt8,
        mtu: path.mtu,
        delivered: path.delivered as u32,
        delivered_ce: path.delivered_ce as u32,
        snd_una: path.snd_una as u32,
        snd_nxt: path.snd_nxt as u32,
        in_flight: path.in_flight,
    }
}

#[derive(Debug, Default)]
struct Counts {
    acks: u64,
    marks: u64,
    reductions: u64,
    undos: u64,
    by_rate: u64,
    independent: u64,
}

fn compare(rules: Rules, mtu: u32, seed: u64, turns: u64, counts: &mut Counts) {
    let c_rules = PragueRules {
        rtt_target_us: rules.rtt_target_us,
        rtt_transition: rules.rtt_transition,
        alpha_one: rules.alpha_one.into(),
        first_ce_halves: rules.first_ce_halves.into(),
        burst_shift: rules.burst_shift as u8,
        rate_mode: rules.rate_mode.into(),
    };
    let mut weather = Weather::new(seed);
    let mss = u64::from(mtu - 52);
    // The counters of the kernel wrap on the way.
    let first = (1_u64 << 32) - weather.below(1 << 24);
    let mut path = Path {
        now_us: weather.now_us,
        srtt8: weather.below(2) as u32 * 80_000,
        mtu,
        delivered: first,
        delivered_ce: first,
        snd_una: first,
        snd_nxt: first,
        in_flight: 0,
    };
    let mut window = Window::new(10);
    let mut c_window = in_c(&window);
    let mut ours = PragueState::new(&rules, &path, &window);
    let (mut theirs, rate) = Prague::new(&c_rules, &path_in_c(&path), &c_window);
    assert_eq!(ours.pacing_rate, rate);
    for turn in 0..turns {
        let state = weather.state;
        let happened = weather.next(window.cwnd);
        path.now_us = weather.now_us;
        path.srtt8 = weather.srtt8;
        match happened {
            Turn::Ack(ack) => {
                counts.acks += 1;
                counts.marks += u64::from(ack.ce);
                path.delivered += u64::from(ack.acked);
                path.delivered_ce += u64::from(ack.ce);
                path.snd_una = (path.snd_una + u64::from(ack.in_order) * mss).min(path.snd_nxt);
                let next = path.snd_una + u64::from(ack.in_flight) * mss;
                path.snd_nxt = path.snd_nxt.max(next);
                path.in_flight = ack.in_flight;
                let (acked, marked, limited) = (ack.acked, ack.ce, ack.is_limited);
                ours.on_ack(&rules, &path, &mut window, acked, marked, limited);
                let c_path = path_in_c(&path);
                let rate = theirs.on_ack(&c_rules, &c_path, &mut c_window, acked, marked, limited);
                assert_eq!(ours.pacing_rate, rate, "turn {turn}");
            }
            Turn::Reduce(to) => {
                counts.reductions += 1;
                window.prior_cwnd = window.cwnd;
                if to == CaState::Loss {
                    ours.on_loss(&rules, &path, &window);
                    theirs.on_loss(&c_rules, &path_in_c(&path), &in_c(&window));
                    window.cwnd = path.in_flight.clamp(1, 3);
                }
                if to != state {
                    ours.set_state(&rules, &path, &window, to);
                    theirs.set_state(&c_rules, &path_in_c(&path), &in_c(&window), to as u32);
                }
                c_window = in_c(&window);
            }
            Turn::Open { is_spurious } => {
                if is_spurious {
                    counts.undos += 1;
                    window.cwnd = ours.undo(&path, &window);
                    c_window.cwnd = theirs.undo(&path_in_c(&path), &c_window);
                }
                ours.set_state(&rules, &path, &window, CaState::Open);
                theirs.set_state(&c_rules, &path_in_c(&path), &c_window, 0);
            }
            Turn::Disorder => {
                ours.set_state(&rules, &path, &window, CaState::Disorder);
                theirs.set_state(&c_rules, &path_in_c(&path), &c_window, 1);
            }
            Turn::Pause => path.in_flight = 0,
        }
        counts.by_rate += u64::from(ours.by_rate);
        counts.independent += u64::from(ours.round >= 4 && !window.in_slow_start());
        assert_eq!(
            expected(&ours),
            theirs,
            "turn {turn}: {happened:?} {path:?}"
        );
        assert!(
            is_equal(&window, &c_window),
            "turn {turn}: {window:?} {c_window:?}"
        );
    }
}

#[test]
fn the_state_is_equal_to_the_bit() {
    assert_eq!(size_of::<Prague>(), Prague::size_in_c());
    assert!(
        size_of::<Prague>() + 4 <= 104,
        "with a counter beside it, it must fit icsk_ca_priv"
    );
    let usual = Rules {
        rtt_target_us: 25_000,
        rtt_transition: 4,
        alpha_one: false,
        first_ce_halves: false,
        burst_shift: 12,
        rate_mode: true,
    };
    let mut counts = Counts::default();
    let others = [
        usual,
        usual,
        Rules {
            alpha_one: true,
            ..usual
        },
        Rules {
            first_ce_halves: true,
            ..usual
        },
        Rules {
            rate_mode: false,
            burst_shift: 10,
            ..usual
        },
        Rules {
            rtt_target_us: 0,
            rtt_transition: 0,
            ..usual
        },
        Rules {
            rtt_target_us: 1_000_000,
            rtt_transition: 500,
            ..usual
        },
    ];
    let mut seed = 0;
    for rules in others {
        for mtu in [1_500, 576, 9_000] {
            seed += 1;
            compare(rules, mtu, seed, 60_000, &mut counts);
        }
    }
    assert!(counts.acks > 1_000_000, "{counts:?}");
    assert!(
        counts.marks > 10_000 && counts.reductions > 1_000,
        "{counts:?}"
    );
    assert!(counts.undos > 100 && counts.by_rate > 1_000, "{counts:?}");
    assert!(counts.independent > 100_000, "{counts:?}");
}
