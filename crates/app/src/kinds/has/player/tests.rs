//! The player against Sabre, decision for decision: its network carries nothing but bits, one latency
//! per request and then a bandwidth. Sequences, scores and rates are what Sabre (commit 09b03bb) prints.

use super::*;
use crate::kinds::has::bola::Form;

/// A stretch in ns, its rate in bit/s, and its latency in ns.
type Period = (u64, u64, u64);

const MS: u64 = 1_000_000;

/// Sabre's network: its periods follow each other, and begin anew after the last.
struct Network {
    periods: Vec<Period>,
    index: usize,
    /// Until the next period.
    left: u64,
    now: u64,
}

impl Network {
    fn new(periods: &[(u64, u64, u64)]) -> Self {
        let in_units =
            |&(ms, kilobits, latency): &Period| (ms * MS, kilobits * 1_000, latency * MS);
        let periods: Vec<Period> = periods.iter().map(in_units).collect();
        Self {
            left: periods[0].0,
            periods,
            index: 0,
            now: 0,
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// Latency in ns, and bandwidth in bit/s.
    fn offer(&self) -> (u64, u64) {
        let (_, rate, latency) = self.periods[self.index];
        (latency, rate)
    }

    /// Goes on by at most `span`, and no further than the next period; the step taken.
    fn step(&mut self, span: u64) -> u64 {
        let step = span.min(self.left);
        self.now += step;
        self.left -= step;
        if self.left == 0 {
            self.index = (self.index + 1) % self.periods.len();
            self.left = self.periods[self.index].0;
        }
        step
    }

    fn wait(&mut self, mut span: u64) {
        while span > 0 {
            span -= self.step(span);
        }
    }

    /// One latency, of which each period gives the part that falls into it.
    fn latency(&mut self) {
        let mut part = 1.0;
        loop {
            let latency = self.periods[self.index].2;
            let span = (part * latency as f64).round() as u64;
            let step = self.step(span);
            if step == span {
                return;
            }
            part -= step as f64 / latency as f64;
        }
    }

    /// Downloads at most `work`, in billionths of a bit, for at most `span`; what came.
    fn download(&mut self, work: u128, span: u64) -> u128 {
        let rate = u128::from(self.periods[self.index].1);
        let needed = work.div_ceil(rate) as u64;
        let step = self.step(span.min(needed));
        work.min(rate * u128::from(step))
    }
}

/// The result of a session.
struct Outcome {
    player: Player,
    /// Levels in the order in which they were asked for.
    levels: String,
    /// End of each download in ms, and the buffer then.
    ends: Vec<(f64, f64)>,
    began: Time,
    over: Time,
}

impl Outcome {
    /// Sabre's mean over all time, startup included, of a sum over segments.
    fn mean(&self, sum: f64) -> f64 {
        let segment = in_ms(self.player.plan.ladder.segment());
        sum * segment / in_ms(self.over - self.began)
    }
    fn kilobits(&self) -> f64 {
        self.mean(self.player.watched().rates as f64 / 1e3)
    }
    fn change(&self) -> f64 {
        self.mean(self.player.watched().changes as f64 / 1e3)
    }
    fn score(&self) -> f64 {
        self.player.watched().score_bola().unwrap()
    }
}

fn in_ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Plays all segments, whose sizes in bits are `size(segment, quality)`.
fn play(plan: Plan, periods: &[Period], size: impl Fn(u64, usize) -> u64) -> Outcome {
    let mut network = Network::new(periods);
    let mut player = Player::new(plan);
    let (mut levels, mut ends) = (String::new(), Vec::new());
    let began = network.now();
    player.begin(began);
    loop {
        let (segment, quality) = match player.next(network.now()) {
            Next::Done => break,
            Next::Wait(until) => {
                network.wait((until - network.now()).as_nanos());
                continue;
            }
            Next::Ask { segment, quality } => (segment, quality),
        };
        levels.push_str(&quality.to_string());
        let bytes = size(segment, quality) / 8;
        player.asked(network.now(), bytes);
        network.latency();
        player.began(network.now(), network.now());
        let whole = u128::from(bytes) * 8_000_000_000;
        let (mut work, mut told) = (0, 0);
        // Sabre looks at a download when 50 ms have passed since the request and 12 000 bits are there,
        // and then each time when that has happened again.
        let (latency, rate) = network.offer();
        let mut piece = (50 * MS)
            .saturating_sub(latency)
            .max(12_000_000_000_000_u64.div_ceil(rate));
        loop {
            work += network.download(whole - work, piece);
            piece = 50 * MS;
            let arrived = (work / 8_000_000_000) as u64;
            let arrival = player.arrived(network.now(), arrived - told);
            told = arrived;
            match arrival {
                Arrival::More => {}
                Arrival::Complete => {
                    ends.push((in_ms(network.now()), in_ms(player.buffer())));
                    break;
                }
                Arrival::GiveUp(to) => {
                    player.gave_up(network.now(), to);
                    break;
                }
            }
        }
    }
    let over = network.now() + player.buffer();
    player.advance(over);
    assert!(player.is_over());
    conserve(&player, began, over);
    Outcome {
        player,
        levels,
        ends,
        began,
        over,
    }
}

/// Nothing is lost or made: seconds of content, time, bytes.
fn conserve(player: &Player, began: Time, now: Time) {
    let watched = player.watched();
    let all = watched.waited + watched.played + watched.stalled;
    assert_eq!(all, now - began, "startup + play + stall");
    assert_eq!(watched.on + watched.off, now - began, "on + off");
    let downloaded = player.plan.ladder.segment() * watched.downloaded.0;
    assert_eq!(watched.played + player.buffer(), downloaded);
}

fn plan(rule: RuleKind) -> Plan {
    let rates = [500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000];
    Plan {
        ladder: Ladder::new(rates, Time::from_secs(4)),
        buffer: Time::from_secs(25),
        startup: Time::from_secs(4),
        resume: Time::from_secs(4),
        segments: Some(30),
        rule,
        abandons: true,
    }
}

/// 30 segments of exactly 4 s times their rate.
fn even(rule: RuleKind, periods: &[Period]) -> Outcome {
    let plan = plan(rule);
    let ladder = plan.ladder.clone();
    play(plan, periods, |_, quality| ladder.bytes(quality) * 8)
}

const BASIC: RuleKind = RuleKind::BolaBasic;
const BOLA_E: RuleKind = RuleKind::BolaE(Form::Sabre);
/// Sabre's `dynamicdash`.
const DYNAMIC: RuleKind = RuleKind::Dynamic {
    form: Form::Sabre,
    high: Time::from_secs(10),
    low: Time::from_secs(5),
};

fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found} {expected}"
    );
}

#[test]
fn decides_as_sabre_does_at_a_constant_bandwidth() {
    let then = |first: char, rest: &str| format!("{first}{}", rest.repeat(29));
    let rows = [
        (
            800,
            BASIC,
            "000000011010101101011010101101".to_owned(),
            0.316764,
            718.132855,
        ),
        (
            800,
            BOLA_E,
            "000000011010101101011010101101".to_owned(),
            0.316764,
            718.132855,
        ),
        (
            800,
            DYNAMIC,
            "000000011010101101011010101101".to_owned(),
            0.316764,
            718.132855,
        ),
        (800, RuleKind::Throughput, then('0', "0"), 0.0, 489.636037),
        (
            3_000,
            BASIC,
            "000022323232323232323232323232".to_owned(),
            1.470057,
            2_584.778526,
        ),
        (
            3_000,
            BOLA_E,
            "022232222323223232323232323232".to_owned(),
            1.584905,
            2_667.623992,
        ),
        (
            3_000,
            RuleKind::Throughput,
            then('0', "2"),
            1.332239,
            1_938.583895,
        ),
        (
            3_000,
            DYNAMIC,
            "022222222323223232323232323232".to_owned(),
            1.561936,
            2_601.347620,
        ),
        (
            6_000,
            BASIC,
            "000024343434334343434343434343".to_owned(),
            2.049959,
            5_050.952592,
        ),
        (
            6_000,
            BOLA_E,
            "033343333434334343434343434343".to_owned(),
            2.257258,
            5_333.407178,
        ),
        (
            6_000,
            RuleKind::Throughput,
            then('0', "3"),
            2.003892,
            3_871.289322,
        ),
        (
            6_000,
            DYNAMIC,
            "033333333434334343434343434343".to_owned(),
            2.234225,
            5_200.487373,
        ),
        (
            20_000,
            BASIC,
            "000134444444444444444444444444".to_owned(),
            2.400110,
            6_875.312136,
        ),
        (20_000, BOLA_E, then('0', "4"), 2.677046, 7_740.968870),
        (
            20_000,
            RuleKind::Throughput,
            then('0', "4"),
            2.677046,
            7_740.968870,
        ),
        (20_000, DYNAMIC, then('0', "4"), 2.677046, 7_740.968870),
    ];
    for (kilobits, rule, levels, score, mean) in rows {
        let outcome = even(rule, &[(1_000_000, kilobits, 40)]);
        let what = format!("{kilobits} {rule:?}");
        assert_eq!(outcome.levels, levels, "{what}");
        near(outcome.score(), score, 1e-6, &what);
        near(outcome.kilobits(), mean, 1e-5, &what);
        assert_eq!(outcome.player.watched().stalls, 0, "{what}");
    }
}

#[test]
fn requests_end_and_the_buffer_stands_where_sabre_has_them() {
    let outcome = even(BASIC, &[(1_000_000, 6_000, 40)]);
    let expected = [373, 747, 1_120, 1_493, 2_867, 8_240, 10_947, 16_320, 19_027];
    for ((end, _), expected) in outcome.ends.iter().zip(expected) {
        assert_eq!(end.round() as u64, expected);
    }
    let buffers = [outcome.ends[4].1, outcome.ends[5].1].map(|level| level.floor() as u64);
    assert_eq!(buffers, [17_506, 16_133]);
    near(in_ms(outcome.over), 120_373.333, 0.001, "total play time");
}

/// 6 000 and 1 500 kbit/s, a minute each. Sabre asks the rule anew after it has given a download up, as
/// the variable that keeps the level has two names; the sequences are those of Sabre with one name.
#[test]
fn follows_a_step_of_the_bandwidth_and_gives_downloads_up_as_sabre_means_to() {
    let step = [(60_000, 6_000, 40), (60_000, 1_500, 40)];
    for (rule, levels, given_up, score, mean) in [
        (
            BASIC,
            "000024343434334343431121212121",
            0,
            1.566261,
            3_522.374834,
        ),
        (
            BOLA_E,
            "033343333434334343432111212112121",
            3,
            1.658394,
            3_472.529907,
        ),
        (
            DYNAMIC,
            "033333333434334343412111121211",
            0,
            1.681427,
            3_538.989809,
        ),
        (
            RuleKind::Throughput,
            "0333333333333333333331211111111",
            1,
            1.566261,
            2_907.620735,
        ),
    ] {
        let outcome = even(rule, &step);
        assert_eq!(outcome.levels, levels, "{rule:?}");
        let watched = outcome.player.watched();
        assert_eq!(
            (watched.abandoned, watched.stalls),
            (given_up, 0),
            "{rule:?}"
        );
        near(outcome.score(), score, 1e-6, levels);
        near(outcome.kilobits(), mean, 1e-5, levels);
    }
}

/// Sabre's example: a film of 199 segments of 3 s in ten levels, with the sizes that it has.
fn film(rule: RuleKind, periods: &[Period]) -> Outcome {
    let rates = [230, 331, 477, 688, 991, 1_427, 2_056, 2_962, 5_027, 6_000];
    let segment = Time::from_secs(3);
    let lines = include_str!("movie.txt").lines();
    let sizes: Vec<Vec<u64>> = lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').map(|size| size.parse().unwrap()).collect())
        .collect();
    let plan = Plan {
        ladder: Ladder::new(rates.map(|kilobits| kilobits * 1_000), segment),
        startup: segment,
        resume: segment,
        segments: Some(sizes.len() as u64),
        ..plan(rule)
    };
    play(plan, periods, |segment, quality| {
        sizes[segment as usize][quality]
    })
}

#[test]
fn plays_a_film_of_uneven_segments_as_sabre_does() {
    let network = [
        (30_000, 5_000, 75),
        (30_000, 3_000, 150),
        (30_000, 1_500, 200),
        (30_000, 3_000, 150),
    ];
    for (rule, levels, score, kilobits, change) in [
        (
            BASIC,
            "0000146788888888876767777765554555556667777777788888888887677776776455555554666777777778888888888846747776745555554566677777777888888888866783567765555555546667777777788878888887677777775645555455666",
            2.362715,
            2_861.424025,
            399.007272,
        ),
        (
            BOLA_E,
            "0777888887778877777777754544455555567677777677878888888877777777755555556566677677777787888788888777767775565555555677767777777888888887777777776656555555656777676777788888878877777777765555555566767",
            2.435983,
            2_911.905206,
            405.125290,
        ),
        (
            RuleKind::Throughput,
            "0777777777777777777766666666555444444455555566666667777777776666666665444444444555555666666677777777666666665554444444455555566666677777777766666666555444444455555566666666777777776666666655544444445",
            2.066702,
            1_963.813375,
            105.015925,
        ),
        (
            DYNAMIC,
            "0777777777788888777777776655555556667677777677888887888777777777755555556566777667777788888788887777767775555555556677777767778888878887777777776655555555667677676777887888888777777777665555555566777",
            2.446344,
            2_909.896005,
            356.663356,
        ),
    ] {
        let outcome = film(rule, &network);
        assert_eq!(outcome.levels, levels, "{rule:?}");
        near(outcome.score(), score, 1e-6, levels);
        near(outcome.kilobits(), kilobits, 1e-4, levels);
        near(outcome.change(), change, 1e-5, levels);
        assert_eq!(outcome.player.watched().stalls, 0);
    }
}

/// The figure of MMSys 2018 on startup: BOLA climbs with its buffer, BOLA-E is at the top at once.
#[test]
fn bola_e_reaches_the_top_at_once_where_bola_climbs() {
    for (rule, levels) in [(BASIC, "0000147899"), (BOLA_E, "0999999999")] {
        let outcome = film(rule, &[(1_000_000, 8_000, 0)]);
        assert_eq!(&outcome.levels[..levels.len()], levels);
        assert!(
            outcome.levels[levels.len()..]
                .bytes()
                .all(|level| level == b'9')
        );
    }
}

/// At half of the lowest rate each segment takes twice its length: after the first one each plays 4 s
/// and waits for 4 s, and for the latency.
#[test]
fn a_network_that_is_too_slow_stalls_before_every_segment() {
    let outcome = even(RuleKind::Throughput, &[(1_000_000, 250, 40)]);
    let watched = outcome.player.watched();
    assert_eq!(watched.stalls, 29);
    assert_eq!(watched.stalled, Time::from_millis(29 * 4_040));
    assert_eq!(watched.waited, Time::from_millis(8_040));
    assert_eq!(watched.startup.max(), Some(Time::from_millis(8_040)));
    assert_eq!(watched.played, Time::from_secs(120));
}

/// One level of 5 s segments at 3/8 of the bandwidth: the buffer is full, and a request of latency + 3/8
/// of a segment begins every 5 s.
#[test]
fn a_full_buffer_makes_on_and_off_periods_of_the_closed_form() {
    let fixed = Plan {
        ladder: Ladder::new([3_000_000], Time::from_secs(5)),
        segments: Some(60),
        ..plan(RuleKind::Throughput)
    };
    let bits = fixed.ladder.bytes(0) * 8;
    let outcome = play(fixed, &[(1_000_000, 8_000, 40)], |_, _| bits);
    let watched = outcome.player.watched();
    assert_eq!(watched.requests.min(), Some(Time::from_millis(1_915)));
    assert_eq!(watched.requests.max(), Some(Time::from_millis(1_915)));
    assert_eq!(watched.pauses.max(), Some(Time::from_millis(3_085)));
    assert_eq!(watched.pauses.quantile(500), Some(Time::from_millis(3_085)));
}

#[test]
fn playback_begins_and_goes_on_with_what_was_asked_for() {
    for (startup, first) in [(0, 1), (4_000, 1), (4_001, 2), (12_000, 3), (25_000, 6)] {
        let mut late = plan(RuleKind::Throughput);
        late.startup = Time::from_millis(startup);
        let bits = late.ladder.bytes(0) * 8;
        // 500 kbit/s segments of 4 s at 2 Mbit/s: one each second.
        late.ladder = Ladder::new([500_000], Time::from_secs(4));
        let outcome = play(late, &[(1_000_000, 2_000, 0)], |_, _| bits);
        // Six segments are 24 s, and a seventh has no room: more than that is not waited for.
        let expected = Time::from_secs(first);
        assert_eq!(
            outcome.player.watched().startup.max(),
            Some(expected),
            "{startup}"
        );
    }
    // 250 kbit/s for segments of 500, one each 8 s. A stall waits for three, which play 12 s; in these
    // and the 4 s of each that comes meanwhile, two more come: a stall each 40 s from 12 s on.
    let mut patient = plan(RuleKind::Throughput);
    patient.resume = Time::from_secs(12);
    let outcome = play(patient, &[(1_000_000, 250, 0)], |_, _| 2_000_000);
    let watched = outcome.player.watched();
    assert_eq!(watched.stalls, 6, "29 segments after the first, by fives");
}

#[test]
fn every_rule_plays_on_any_network_and_stays_within_its_buffer() {
    let rules = [
        BASIC,
        BOLA_E,
        RuleKind::BolaE(Form::DashJs),
        DYNAMIC,
        RuleKind::Throughput,
        RuleKind::Bba0,
        RuleKind::RobustMpc,
    ];
    for rule in rules {
        for periods in [
            vec![(700, 9_000, 300), (1_300, 150, 20), (900, 3_000, 0)],
            vec![(60_000, 600, 500), (20_000, 30_000, 5)],
            vec![(1_000_000, 1_000_000, 0)],
        ] {
            let outcome = even(rule, &periods);
            let buffer = outcome.player.watched().buffer().unwrap();
            assert!(buffer.max <= 25_000.0, "{rule:?}: {}", buffer.max);
            assert_eq!(outcome.player.watched().downloaded.0, 30, "{rule:?}");
        }
    }
}

/// BBA-0 with 25 s: the lowest rate up to 9.375 s, the highest from 22.5 s on.
#[test]
fn bba_follows_its_buffer_alone() {
    let mut wide = plan(RuleKind::Bba0);
    wide.buffer = Time::from_secs(60);
    let ladder = wide.ladder.clone();
    let outcome = play(wide, &[(1_000_000, 100_000, 1)], |_, quality| {
        ladder.bytes(quality) * 8
    });
    // Nearly no time passes between requests, so at request n the buffer holds 4 s × n: the map is
    // 0.5 + 7.5 × (4 n − 22.5) / 31.5 Mbit/s, which passes 1, 2, 4 and 8 at n = 6.2, 7.2, 9.3, 13.5.
    assert_eq!(&outcome.levels[..15], "000000012233334");
}

/// Two samples of 6 and 2 Mbit/s, and BOLA-E of dash.js: a stall takes the placeholder away.
#[test]
fn the_two_forms_of_bola_e_decide_differently() {
    let of = |form| even(RuleKind::BolaE(form), &[(1_000_000, 3_000, 40)]).levels;
    let (sabre, dash) = (of(Form::Sabre), of(Form::DashJs));
    assert_ne!(sabre, dash);
    // Cut to what the throughput sustains, and not to one above it.
    assert!(dash.bytes().all(|level| level <= b'2'), "{dash}");
}
