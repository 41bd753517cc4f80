use super::*;
use proptest::prelude::*;
use quell_aqm::link_trace::{ChanceTrace, RateTrace};
use quell_units::{Rate, Time};

const MS: fn(u64) -> Time = Time::from_millis;
const KBPS: u64 = 1_000;

/// Steps in ms and kbit/s, and the length in ms.
fn steps(trace: &Trace) -> (Vec<(u64, u64)>, u64) {
    let Trace::Rates(rates) = trace else {
        panic!("{trace:?} has no rates")
    };
    let ms = |at: Time| at.as_nanos() / 1_000_000;
    let steps = rates.steps().iter();
    let steps = steps.map(|(at, rate)| (ms(*at), rate.as_bps() / KBPS));
    (steps.collect(), ms(rates.length()))
}

fn read(text: &str) -> Result<Trace, TextError> {
    parse(text, guess(text)?)
}

const fn rates(unit: Option<u64>, interval: Time) -> Format {
    Format::Rates(Spacing { unit, interval })
}

#[test]
fn a_csv_says_its_units_in_the_header_or_in_its_cells() {
    let expected = (vec![(0, 12_000), (100, 8_500), (300, 0)], 500);
    for text in [
        "time_s,rate_mbps\n0,12\n0.1,8.5\n0.3,0\n",
        "time_s,rate_mbps\n0,12\n0.1,8.5\n0.3,0\n0.5,\n",
        "\u{feff}time_ms;rate_kbps\r\n0;12000\r\n100;8500\r\n\r\n300;0\r\n",
        "# made\ntime,rate # columns\n0s 12mbit\n100ms 8.5mbit\n300ms\t0bit\n",
        "\"time_us\",\"rate_bps\"\n5000,12e6\n105000,8500000\n305000,0.0\n",
    ] {
        assert_eq!(
            read(text).map(|trace| steps(&trace)),
            Ok(expected.clone()),
            "{text}"
        );
    }
    let alone = read("time_s,rate_mbps\n7,3\n").unwrap();
    assert_eq!(steps(&alone), (vec![(0, 3_000)], 1_000));
}

#[test]
fn pensieves_rates_hold_until_their_times() {
    // As Pensieve's simulator plays them: the first line is only where the trace starts.
    let text = "0.5\t99\n1.5\t4\n3.5\t6.25\n";
    let trace = parse(text, Format::Pensieve).unwrap();
    assert_eq!(steps(&trace), (vec![(0, 4_000), (1_000, 6_250)], 3_000));
}

#[test]
fn times_alone_are_chances() {
    let trace = read("time_ms\n0.5\n2\n2\n").unwrap();
    let expected = [Time::from_micros(500), MS(2), MS(2)];
    assert_eq!(
        trace,
        Trace::Chances(ChanceTrace::new(expected.to_vec()).unwrap())
    );
    let mahimahi = read("0\n3\n3\n7").unwrap();
    assert_eq!(guess("0\n3\n3\n7"), Ok(Format::Mahimahi));
    let expected = [0, 3, 3, 7].map(MS).to_vec();
    assert_eq!(
        mahimahi,
        Trace::Chances(ChanceTrace::new(expected).unwrap())
    );
}

#[test]
fn patterns_of_netem_trace_are_read_with_and_without_units() {
    let human = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":"12Mbps","duration":"1s"}},{"StaticBwConfig":{"bw":"24Mbps","duration":"500ms"}}],"count":2}}"#;
    let plain = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,"nanos":0}}},{"StaticBwConfig":{"bw":{"gbps":0,"bps":24000000},"duration":{"secs":0,"nanos":500000000}}}],"count":2}}"#;
    let expected = (
        vec![
            (0, 12_000),
            (1_000, 24_000),
            (1_500, 12_000),
            (2_500, 24_000),
        ],
        3_000,
    );
    for text in [human, plain] {
        assert_eq!(steps(&read(text).unwrap()), expected);
    }
    let trace = r#"{"TraceBwConfig":{"pattern":[["1ms",["2Mbps","4Mbps"]],["2ms",["1Mbps"]]]}}"#;
    assert_eq!(
        steps(&read(trace).unwrap()),
        (vec![(0, 2_000), (1, 4_000), (2, 1_000)], 4)
    );
}

#[test]
fn an_error_names_its_line() {
    for (text, line, words) in [
        ("time_s,rate_mbps\n0,12\n\n0,13\n", 4, "times must rise"),
        ("time_s,rate_mbps\n0,fast\n", 2, "must be a rate"),
        ("time_s,rate_mbps\n0,9e9\n", 2, "must be a rate"),
        ("time_s,rate_mbps\n-1,12\n", 2, "must be a time"),
        ("time_s,rate_mbps\n0,12\n1,\n2,3\n", 4, "behind the end"),
        (
            "time_s,rate_mbps\n0,12\n1\n",
            3,
            "as many columns as the header: 2",
        ),
        ("time_s\n1,2\n", 2, "as many columns as the header: 1"),
        ("time_h,rate_mbps\n", 1, "no unit of a time"),
        ("when,how much\n0,1\n", 1, "must be the header"),
        ("time,rate\n0,12\n", 2, "with its unit"),
        ("time_s,rate_mbps\n", 1, "nothing in it"),
        (
            "time_s,rate_mbps\n0,0\n1,0\n",
            1,
            "every rate in it is zero",
        ),
        ("time_us,rate_mbps\n0,5\n10,6\n", 1, "less than 1ms"),
        ("1\n2\nlast\n", 3, "whole number of milliseconds"),
        ("", 1, "nothing in it"),
        ("{\n\"a\": }", 2, "not JSON"),
        ("{\"NormalizedBwConfig\":{}}", 1, "is not read"),
        (
            "{\"StaticBwConfig\":{\"bw\":\"12MB\"}}",
            1,
            "bw is not understood",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.allowed.contains(words), "{text}: {error}");
    }
    for (text, line, words) in [
        ("1\n2\n\n4\n", 3, "is empty"),
        ("1\n2\n1.5\n", 3, "whole number of milliseconds"),
        ("3\n2\n", 2, "times must not fall"),
        ("0\n0\n", 1, "less than 1ms"),
    ] {
        let error = parse(text, Format::Mahimahi).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.allowed.contains(words), "{text}: {error}");
    }
    let deep = "{\"RepeatedBwPatternConfig\":{\"pattern\":[".repeat(40) + &"]}}".repeat(40);
    assert!(read(&deep).unwrap_err().allowed.contains("too deeply"));
    let long = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"duration":"9h"}}],"count":99999999999}}"#;
    assert!(read(long).is_err());
}

/// What people have in their files, and what it was taken for in silence.
#[test]
fn what_could_be_another_format_is_refused_with_what_to_write() {
    let doubtful = [
        // Columns of rates: one line, equal, falling, with decimals, rising slowly.
        ("30000\n", "1 chance in 30s, mean 0.4 kbit/s"),
        ("30\n30\n30\n", "3 chances at once"),
        ("5000\n20\n5000\n", "line 2 is below"),
        ("12.5\n9\n", "whole number of milliseconds"),
        ("12\n9.5\n30\n", "as mahimahi its line 2"),
        ("1000\n2000\n3000\n4000\n", "mean 12 kbit/s"),
        ("# kbit/s\n300\n\n400\n", "line 1"),
        ("12mbit\n5mbit\n", "interval = \"1s\""),
        ("kbit/s\n300\n400\n", "format = \"rates\""),
        // Two columns: from the times on, or until them?
        ("0 10\n10 2\n20 10\n", "format = \"pensieve\""),
        ("0.5\t99\n1.5\t4\n3.5\t6.25\n", "time_s,rate_mbps"),
        ("0,10\n10,2\n", "each rate holds from its time on"),
    ];
    for (text, words) in doubtful {
        let error = read(text).unwrap_err();
        assert!(error.allowed.contains(words), "{text}: {error}");
        assert!(
            error.allowed.contains(" = \"") || error.allowed.contains("time_s"),
            "{error}"
        );
    }
    for (text, format) in [
        ("1\n", Format::Mahimahi),
        ("120\n", Format::Mahimahi),
        ("1\n1\n1\n2\n", Format::Mahimahi),
        ("time_s,rate_mbps\n0,12\n", Format::Csv),
        ("# a comment\ntime_ms\n5\n", Format::Csv),
        ("{\"StaticBwConfig\":{}}", Format::NetemTrace),
        ("{\"start\":{},\"intervals\":[]}", Format::Iperf3),
    ] {
        assert_eq!(guess(text), Ok(format), "{text}");
    }
}

#[test]
fn a_column_of_rates_has_one_unit_and_one_interval() {
    let half = Time::from_millis(500);
    let expected = (vec![(0, 5_000), (500, 20), (1_000, 5_000)], 1_500);
    for (text, unit) in [
        ("5000\n20\n5000\n", Some(KBPS)),
        ("rate_kbps\n5000\n\n2e1 # a dip\n5000", Some(KBPS)),
        ("5mbit\n20kbit\n5000kbit\n", None),
    ] {
        let trace = parse(text, rates(unit, half));
        assert_eq!(
            trace.map(|trace| steps(&trace)),
            Ok(expected.clone()),
            "{text}"
        );
    }
    for (text, unit, line, words) in [
        ("5\n-1\n", Some(1), 2, "as a number"),
        ("5\nfast\n", Some(1), 2, "as a number"),
        ("5\n", None, 1, "unit = \"kbit\""),
        ("", Some(1), 1, "nothing in it"),
        ("0\n0\n", Some(1), 1, "every rate in it is zero"),
    ] {
        let error = parse(text, rates(unit, half)).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.allowed.contains(words), "{text}: {error}");
    }
}

#[test]
fn the_intervals_of_a_report_of_iperf3_are_a_trace() {
    let interval = |start: f64, end: f64, bps: f64, omitted: bool| {
        format!(
            r#"{{"streams":[],"sum":{{"start":{start},"end":{end},"seconds":1.0,"bytes":1,"bits_per_second":{bps},"omitted":{omitted},"sender":true}}}}"#
        )
    };
    let report = |intervals: &[String]| {
        let intervals = intervals.join(",");
        format!(r#"{{"start":{{"version":"iperf 3.12"}},"intervals":[{intervals}],"end":{{}}}}"#)
    };
    let text = report(&[
        interval(0.0, 1.000_1, 1e9, true),
        interval(0.0, 1.000_1, 12_000_000.4, false),
        interval(1.000_1, 2.0, 0.0, false),
        interval(2.0, 2.5, 8_500_000.0, false),
    ]);
    let expected = (vec![(0, 12_000), (1_000, 0), (2_000, 8_500)], 2_500);
    assert_eq!(read(&text).map(|trace| steps(&trace)), Ok(expected));
    let stream = [
        interval(0.0, 1.0, 3e6, false),
        interval(1.0, 2.0, 4e6, false),
    ];
    let stream = stream.map(|data| format!("{{\"event\":\"interval\",\"data\":{data}}}\n"));
    let stream = format!("{{\"event\":\"start\",\"data\":{{}}}}\n{}", stream.concat());
    let expected = (vec![(0, 3_000), (1_000, 4_000)], 2_000);
    assert_eq!(read(&stream).map(|trace| steps(&trace)), Ok(expected));
    let cut = read(&stream[..stream.len() - 3]).unwrap_err();
    assert_eq!(cut.line, 3, "{cut}");
    for (text, words) in [
        (report(&[]), "has no intervals"),
        (
            r#"{"intervals":[],"error":"unable to connect"}"#.to_owned(),
            "unable to connect",
        ),
        (
            report(&[interval(1.0, 1.0, 1.0, false)]),
            "interval 1: its times must rise",
        ),
        (
            report(&[interval(0.0, 1.0, 1e13, false)]),
            "interval 1: sum.bits_per_second",
        ),
        (report(&["{}".to_owned()]), "interval 1: sum.start"),
        (
            report(&[interval(0.0, 1e300, 1.0, false)]),
            "interval 1: sum.start",
        ),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.allowed.contains(words), "{text}: {error}");
    }
}

/// Keys, and lines of times and values in us and millionths.
type Path = (Vec<&'static str>, Vec<(u64, Vec<u64>)>, Time);

fn path(text: &str, format: Format) -> Result<Path, TextError> {
    let rows = parse_path(text, format)?;
    let course = rows.course(true, Time::ZERO);
    course.check().map_err(TextError::whole)?;
    let rows = course.rows().map(|(at, values)| {
        let values = course.keys.iter().zip(values);
        let values = values.map(|(key, value)| match *key {
            "delay" | "jitter" => value / 1_000,
            _ => *value,
        });
        (at.as_nanos() / 1_000_000, values.collect())
    });
    Ok((course.keys.clone(), rows.collect(), course.length))
}

#[test]
fn delays_and_losses_are_columns_beside_rates_or_without_them() {
    let keys = vec!["delay", "loss"];
    let rows = vec![
        (0, vec![18_000, 0]),
        (100, vec![61_000, 40_000]),
        (300, vec![61_000, 0]),
    ];
    let expected = (keys, rows, MS(500));
    for text in [
        "time_s,rate_mbps,delay_ms,loss\n0,12,18,0\n0.1,8.5,61,0.04\n0.3,0,,0\n",
        "time_ms;loss_percent;rtt_us\n5;0;36000\n105;4;122000\n305;0;\n505;;\n",
        "time   delay loss # one way\n0s     18ms  0\n100ms  61ms 4e-2\n300ms 0.061s 0\n",
    ] {
        let mut found = path(text, guess(text).unwrap()).unwrap();
        if found.0[0] == "loss" {
            found.0.reverse();
            found.1.iter_mut().for_each(|(_, values)| values.reverse());
        }
        assert_eq!(found, expected, "{text}");
    }
    let both = "time_s,rate_mbps,delay_ms\n0,12,5\n1,,9\n2,0,9\n";
    let steps = (vec![(0, 12_000), (2_000, 0)], 3_000);
    assert_eq!(self::steps(&read(both).unwrap()), steps);
    assert_eq!(content(both), (true, true));
    assert_eq!(content("time_s,delay_ms\n"), (false, true));
    assert_eq!(content("3\n5\n"), (true, false));
    for (text, line, words) in [
        ("time_s,delay\n0,18\n", 2, "must be a time up to 10s"),
        ("time_s,delay_s\n0,18\n", 2, "must be a time up to 10s"),
        ("time_s,loss\n0,4\n", 2, "must be a share"),
        ("time_s,loss\n0,\n", 1, "nothing in it"),
        ("time_s,delay_ms,loss\n0,,0\n", 2, "must be a time"),
        ("time_s,delay_ms,rtt_ms\n", 1, "rtt is given twice"),
        ("time_s,loss_kbit\n", 1, "no unit of a loss"),
        ("time_s,rate_mbps\n0,1\n", 1, "rate = { trace"),
    ] {
        let error = path(text, Format::Csv).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.allowed.contains(words), "{text}: {error}");
    }
    let why = read("time_s,delay_ms\n0,1\n").unwrap_err().allowed;
    assert!(why.contains("impair = { trace"), "{why}");
}

#[test]
fn a_column_of_delays_has_one_interval() {
    let ms = [20, 61, 7];
    let rows = ms.iter().zip([0, 10, 20]);
    let rows = rows.map(|(ms, at)| (at, vec![ms * 1_000])).collect();
    let expected = (vec!["delay"], rows, MS(30));
    let format = Format::Delays(MS(10));
    assert_eq!(path("20\n61 # far\n\n7\n", format), Ok(expected));
    for (text, words) in [("20.5\n", "whole milliseconds"), ("10001\n", "up to 10000")] {
        assert!(path(text, format).unwrap_err().allowed.contains(words));
    }
    let doubt = read("61\n20\n").unwrap_err().allowed;
    assert!(doubt.contains("format = \"delays\""), "{doubt}");
    assert!(parse("20\n", format).is_err() && path("1\n2\n", Format::Mahimahi).is_err());
}

#[test]
fn patterns_of_delay_and_of_loss_are_those_of_rattan() {
    let delays = r#"{"RepeatedDelayPatternConfig":{"pattern":[{"StaticDelayConfig":{"delay":"20ms","duration":"1s"}},{"StaticDelayConfig":{"delay":{"secs":0,"nanos":5000000},"duration":"500ms"}}],"count":2}}"#;
    let rows = [(0, 20), (1_000, 5), (1_500, 20), (2_500, 5)];
    let rows = rows.map(|(at, ms)| (at, vec![ms * 1_000])).to_vec();
    assert_eq!(
        path(delays, guess(delays).unwrap()),
        Ok((vec!["delay"], rows, MS(3_000)))
    );
    assert_eq!(content(delays), (false, true));
    // rattan writes them as TOML too.
    let toml = "[[RepeatedDelayPatternConfig.pattern]]\nStaticDelayConfig.delay = \"20ms\"\n[[RepeatedDelayPatternConfig.pattern]]\n\
         StaticDelayConfig = { delay = { secs = 0, nanos = 5_000_000 }, duration = \"500ms\" }\n[RepeatedDelayPatternConfig]\ncount = 2\n";
    let of = |text| path(text, guess(text).unwrap());
    assert_eq!(of(toml), of(delays));
    let why = path("[[Repeated", Format::NetemTrace).unwrap_err().allowed;
    assert!(why.contains("this is not JSON"), "{why}");
    // One loss is independent of those before; a second one is that after a loss: bursts.
    let losses = r#"[{"StaticLossConfig":{"loss":[0.01],"duration":"1s"}},{"StaticLossConfig":{"loss":[0.1,0.75]}},{"StaticLossConfig":{}}]"#;
    let keys = vec!["loss", "enter", "leave"];
    let rows = vec![
        (0, vec![10_000, 0, 100_000]),
        (1_000, vec![0, 100_000, 250_000]),
        (2_000, vec![0, 100_000, 800_000]),
    ];
    assert_eq!(
        path(losses, Format::NetemTrace),
        Ok((keys, rows, MS(3_000)))
    );
    for text in [
        r#"{"StaticLossConfig":{"loss":[0.1,0.2,0.3]}}"#,
        r#"{"StaticLossConfig":{"loss":0.1}}"#,
        r#"{"StaticDelayConfig":{"delay":"11s"}}"#,
        r#"[{"StaticDelayConfig":{}},{"StaticLossConfig":{}}]"#,
        r#"{"NormalizedDelayConfig":{}}"#,
        r#"{"StaticBwConfig":{}}"#,
        "[]",
    ] {
        assert!(path(text, Format::NetemTrace).is_err(), "{text}");
    }
    assert!(read(delays).unwrap_err().allowed.contains("impair = {"));
}

#[test]
fn the_summary_fits_in_a_line() {
    use super::summary::{in_words, summary};
    for (text, format, line) in [
        (
            "30000\n",
            Format::Mahimahi,
            "mahimahi: 1 chance in 30s, mean 0.4 kbit/s",
        ),
        (
            "1\n2\n4\n",
            Format::Mahimahi,
            "mahimahi: 3 chances in 4ms, mean 9 Mbit/s",
        ),
        (
            "time_s,rate_mbps\n0,12\n1,0.5\n2,",
            Format::Csv,
            "csv: 2 rates in 2s, 500 kbit/s to 12 Mbit/s, mean 6.25 Mbit/s",
        ),
        (
            "7\n7\n",
            rates(Some(1_000_000), Time::from_secs(1)),
            "rates: 1 rate in 2s, 7 Mbit/s",
        ),
    ] {
        let trace = parse(text, format).unwrap();
        assert_eq!(summary(format, &trace), line);
    }
    for (bps, text) in [
        (0, "0 kbit/s"),
        (999_999, "1000 kbit/s"),
        (12_345_678, "12.3 Mbit/s"),
        (100_000_000, "100 Mbit/s"),
        (2_500_000_000, "2.5 Gbit/s"),
    ] {
        assert_eq!(in_words(Rate::from_bps(bps)), text);
    }
}

#[test]
fn chances_become_rates_and_rates_chances() {
    // Two chances in the first 100 ms, one in the 50 ms that are left.
    let chances = ChanceTrace::new(vec![MS(10), MS(20), MS(150)]).unwrap();
    let rates = rates_of(&chances).unwrap();
    let expected = vec![(MS(0), Rate::from_bps(240_000))];
    assert_eq!(rates, RateTrace::new(expected, MS(150)).unwrap());
    // 12 Mbit/s are a chance for each millisecond, 24 two, and what is left over counts on.
    let steps = vec![
        (MS(0), Rate::from_mbps(12)),
        (Time::from_micros(2_500), Rate::from_mbps(24)),
    ];
    let chances = chances_of(&RateTrace::new(steps, MS(4)).unwrap()).unwrap();
    let micros: Vec<u64> = chances
        .times()
        .iter()
        .map(|at| at.as_nanos() / 1_000)
        .collect();
    assert_eq!(micros, [1_000, 2_000, 2_750, 3_250, 3_750]);
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_the_same(gaps in prop::collection::vec((1..5_000_000_u64, 0..1_000_000_000_000_u64), 1..60), chances: bool) {
        let mut at = 0;
        let mut rows = Vec::new();
        for (gap, rate) in gaps {
            rows.push((Time::from_nanos(at), Rate::from_bps(rate + 1)));
            at += gap;
        }
        let length = Time::from_nanos(at + 1_000_000);
        let trace = if chances {
            let times = rows.iter().map(|(at, _)| *at).chain([length]);
            Trace::Chances(ChanceTrace::new(times.collect()).unwrap())
        } else {
            Trace::Rates(RateTrace::new(rows, length).unwrap())
        };
        let text = text(&trace);
        prop_assert_eq!(guess(&text), Ok(Format::Csv));
        prop_assert_eq!(parse(&text, Format::Csv), Ok(trace));
    }

    /// Chances of a trace of rates, counted over any stretch, are its integral within one chance.
    #[test]
    fn chances_carry_what_the_rates_would(gaps in prop::collection::vec((1_000_000..50_000_000_u64, 0..200_000_000_u64), 1..20), until in 0..100_u64) {
        let mut at = 0;
        let mut rows = vec![(Time::ZERO, Rate::from_mbps(100))];
        for (gap, rate) in gaps {
            at += gap;
            rows.push((Time::from_nanos(at), Rate::from_bps(rate)));
        }
        let rates = RateTrace::new(rows, Time::from_nanos(at + 1_000_000)).unwrap();
        let chances = chances_of(&rates).unwrap();
        let until = Time::from_nanos(rates.length().as_nanos() / 100 * until);
        let ends = rates.steps().iter().skip(1).map(|(at, _)| *at).chain([rates.length()]);
        let integral: u128 = rates.steps().iter().zip(ends).map(|((start, rate), end)| {
            u128::from(rate.as_bps()) * u128::from((end.min(until) - *start).as_nanos())
        }).sum();
        let offered = chances.times().iter().filter(|at| **at <= until).count() as u128;
        let exact = integral / 12_000_000_000_000;
        prop_assert!(offered == exact || offered + 1 == exact, "{offered} {exact}");
    }

    #[test]
    fn any_text_is_guessed_or_refused(text in "[0-9a-z,;\\.\\-{}\\[\\]\": \\n\\t#]{0,200}") {
        if let Err(error) = read(&text) {
            prop_assert!(error.line >= 1 && !error.allowed.is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-z,;\\.\\-{}\\[\\]\": \\n\\t]{0,200}") {
        for format in Format::ALL {
            let read = parse(&text, format).map(|_| ());
            for error in [read.err(), path(&text, format).err()].into_iter().flatten() {
                prop_assert!(error.line >= 1 && !error.allowed.is_empty());
            }
        }
    }
}
