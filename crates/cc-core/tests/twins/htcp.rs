//! H-TCP.

use quell_cc_core::{Htcp, HtcpRules};
use quell_tcp::cc::htcp::{HtcpRules as Rules, HtcpState};
use quell_tcp::cc::{CaState, Window};

use crate::weather::{Turn, Weather};
use crate::{in_c, is_equal};

/// The state of the model, as the C struct holds it.
fn expected(state: &HtcpState) -> Htcp {
    Htcp {
        alpha: state.alpha,
        beta: state.beta,
        modeswitch: state.modeswitch.into(),
        pkts_acked: state.pkts_acked,
        packetcount: state.packetcount,
        min_rtt: state.min_rtt,
        max_rtt: state.max_rtt,
        last_cong: state.last_cong,
        undo_last_cong: state.undo_last_cong,
        undo_max_rtt: state.undo_max_rtt,
        undo_old_max_b: state.undo_old_max_b,
        min_b: state.min_b,
        max_b: state.max_b,
        old_max_b: state.old_max_b,
        bi: state.bi,
        lasttime: state.lasttime,
    }
}

/// How often each thing happened, so that a test that compares nothing fails.
#[derive(Debug, Default)]
struct Counts {
    acks: u64,
    reductions: u64,
    undos: u64,
    adaptive: u64,
    steep: u64,
}

fn compare(rules: Rules, seed: u64, turns: u64, counts: &mut Counts) {
    let c_rules = HtcpRules {
        hz: rules.hz,
        rtt_scaling: rules.rtt_scaling.into(),
        bandwidth_switch: rules.bandwidth_switch.into(),
    };
    let mut weather = Weather::new(seed);
    let jiffies = |now_us: u64| (now_us * u64::from(rules.hz) / 1_000_000) as u32;
    let mut ours = HtcpState::new(jiffies(weather.now_us));
    let mut theirs = Htcp::new(jiffies(weather.now_us));
    let mut window = Window::new(10);
    let mut c_window = in_c(&window);
    for turn in 0..turns {
        let state = weather.state;
        let happened = weather.next(window.cwnd);
        let now = jiffies(weather.now_us);
        match happened {
            Turn::Ack(ack) => {
                counts.acks += 1;
                let rtt = ack.rtt_us;
                ours.on_acked(&rules, state, ack.in_order, rtt, window.cwnd, now);
                let (state, rtt) = (state as u32, rtt.unwrap_or(0));
                theirs.on_acked(&c_rules, state, ack.in_order, rtt, c_window.cwnd, now);
                if ack.is_limited && weather.state <= CaState::Disorder && ack.in_order > 0 {
                    ours.grow(&rules, ack.acked, now, &mut window);
                    theirs.grow(&c_rules, &mut c_window, ack.acked, now);
                }
            }
            Turn::Reduce(state) => {
                counts.reductions += 1;
                window.prior_cwnd = window.cwnd;
                window.ssthresh = ours.threshold(&rules, now, window.cwnd);
                let threshold = theirs.threshold(&c_rules, c_window.cwnd, now);
                assert_eq!(window.ssthresh, threshold, "turn {turn}");
                ours.set_state(state, now);
                theirs.set_state(state as u32, now);
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
                    window.cwnd = ours.undo(&window);
                    c_window.cwnd = theirs.undo(&c_window);
                }
                ours.set_state(CaState::Open, now);
                theirs.set_state(0, now);
            }
            Turn::Disorder => {
                ours.set_state(CaState::Disorder, now);
                theirs.set_state(1, now);
            }
            Turn::Pause => {}
        }
        counts.adaptive += u64::from(ours.beta > 64);
        counts.steep += u64::from(ours.alpha > 1_280);
        assert_eq!(expected(&ours), theirs, "turn {turn}: {happened:?}");
        assert!(
            is_equal(&window, &c_window),
            "turn {turn}: {window:?} {c_window:?}"
        );
    }
}

#[test]
fn the_state_is_equal_to_the_bit() {
    assert_eq!(size_of::<Htcp>(), Htcp::size_in_c());
    assert!(size_of::<Htcp>() <= 104, "it must fit icsk_ca_priv");
    let mut counts = Counts::default();
    let mut seed = 0;
    for hz in [100, 250, 300, 1_000] {
        for (rtt_scaling, bandwidth_switch) in [(true, true), (false, true), (true, false)] {
            let rules = Rules {
                hz,
                rtt_scaling,
                bandwidth_switch,
            };
            seed += 1;
            compare(rules, seed, 100_000, &mut counts);
        }
    }
    assert!(counts.acks > 1_000_000, "{counts:?}");
    assert!(
        counts.reductions > 1_000 && counts.undos > 100,
        "{counts:?}"
    );
    assert!(
        counts.adaptive > 1_000 && counts.steep > 1_000,
        "{counts:?}"
    );
}
