//! What a page asks: the messages of `web/src/session.ts`, checked. Any bytes give an ask or an error.

use quell_units::{Rate, Time};
use quell_watch::Preparation;
use serde::Deserialize;

use crate::error::AskError;

/// The most runs that stand side by side.
pub(crate) const MOST_RUNS: usize = 16;
/// The most flows that a run is prepared for besides its own, in each group.
const MOST_FLOWS: u32 = 1_000;
/// The fastest link that a run is prepared for: 1 Tbit/s.
const FASTEST: f64 = 1e12;
/// The longest key or value of a change, in bytes.
const LONGEST_CHANGE: usize = 4 << 10;

/// The slowest and the fastest speed: simulated seconds in a second. The slowest is of slow motion.
pub const SPEEDS: (f64, f64) = (0.005, 100.0);

/// How fast a run goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// Simulated seconds in a second; 0 is a pause.
    Times(f64),
    /// As fast as the machine can.
    Most,
}

impl Speed {
    /// A number of simulated seconds in a second; 0 or less is a pause, and what is too slow or too fast is as slow or fast as can be.
    ///
    /// # Errors
    ///
    /// It is no number.
    pub fn times(number: f64) -> Result<Self, AskError> {
        if number.is_nan() {
            return Err(AskError::NoNumber);
        }
        Ok(Self::Times(match number > 0.0 {
            true => number.clamp(SPEEDS.0, SPEEDS.1),
            false => 0.0,
        }))
    }

    /// As it is written on a command line: `2`, `2x`, `max`.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, AskError> {
        if text == "max" {
            return Ok(Self::Most);
        }
        let (slowest, fastest) = SPEEDS;
        let number = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let number = number.filter(|number| (slowest..=fastest).contains(number));
        number
            .map(Self::Times)
            .ok_or(AskError::SpeedBounds { slowest, fastest })
    }

    /// Whether nothing goes on.
    pub(crate) fn is_pause(self) -> bool {
        self == Self::Times(0.0)
    }

    /// As JSON has it.
    pub(crate) fn json(self) -> serde_json::Value {
        match self {
            Self::Times(times) => times.into(),
            Self::Most => "max".into(),
        }
    }
}

/// Starts runs anew.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opening {
    pub(crate) scenario: String,
    /// The changes of each run.
    pub(crate) runs: Vec<Vec<String>>,
    pub(crate) seed: Option<u64>,
    pub(crate) preparation: Preparation,
}

/// What a page asks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    Open(Opening),
    Speed(Speed),
    Step(Time),
    Change {
        key: String,
        value: String,
        run: Option<usize>,
    },
    Finish,
}

/// The same as it comes.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
enum Sent {
    Open {
        scenario: String,
        runs: Vec<Vec<String>>,
        #[serde(default)]
        seed: Option<u64>,
        #[serde(default, rename = "moreFlows")]
        more_flows: u32,
        #[serde(default)]
        fastest: f64,
    },
    Speed {
        speed: Times,
    },
    Step {
        step: f64,
    },
    Change {
        key: String,
        value: String,
        #[serde(default)]
        run: Option<usize>,
    },
    Finish {},
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Times {
    Number(f64),
    Word(String),
}

impl Ask {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AskError> {
        match serde_json::from_slice(body)? {
            Sent::Open {
                scenario,
                runs,
                seed,
                more_flows,
                fastest,
            } => {
                let preparation = prepared(&runs, more_flows, fastest)?;
                Ok(Self::Open(Opening {
                    scenario,
                    runs,
                    seed,
                    preparation,
                }))
            }
            Sent::Speed {
                speed: Times::Number(number),
            } => Speed::times(number).map(Self::Speed),
            Sent::Speed {
                speed: Times::Word(word),
            } => match word.as_str() {
                "max" => Ok(Self::Speed(Speed::Most)),
                _ => Err(AskError::NoSpeed),
            },
            Sent::Step { step } if step >= 0.0 => Ok(Self::Step(Time::from_nanos(step as u64))),
            Sent::Step { .. } => Err(AskError::NoStep),
            Sent::Change { key, value, run } => {
                if key.len().max(value.len()) > LONGEST_CHANGE {
                    return Err(AskError::LongChange {
                        most: LONGEST_CHANGE,
                    });
                }
                Ok(Self::Change { key, value, run })
            }
            Sent::Finish {} => Ok(Self::Finish),
        }
    }
}

fn prepared(runs: &[Vec<String>], more_flows: u32, fastest: f64) -> Result<Preparation, AskError> {
    if !(1..=MOST_RUNS).contains(&runs.len()) {
        return Err(AskError::Runs {
            runs: runs.len(),
            most: MOST_RUNS,
        });
    }
    if more_flows > MOST_FLOWS {
        return Err(AskError::MoreFlows {
            flows: more_flows,
            most: MOST_FLOWS,
        });
    }
    if !(0.0..=FASTEST).contains(&fastest) {
        return Err(AskError::Fastest {
            rate: fastest,
            most: FASTEST,
        });
    }
    Ok(Preparation {
        flows: more_flows,
        rate: (fastest > 0.0).then(|| Rate::from_bps(fastest as u64)),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Ask, AskError> {
        Ask::read(text.as_bytes())
    }

    #[test]
    fn reads_each_ask_of_a_page() {
        let open = r#"{"ask":"open","scenario":"s","runs":[[],["link.rate=1mbit"]],"seed":3,"moreFlows":4,"fastest":1e9}"#;
        let expected = Opening {
            scenario: "s".to_owned(),
            runs: vec![vec![], vec!["link.rate=1mbit".to_owned()]],
            seed: Some(3),
            preparation: Preparation {
                flows: 4,
                rate: Some(Rate::from_bps(1_000_000_000)),
            },
        };
        assert_eq!(read(open).unwrap(), Ask::Open(expected));
        let change = |run| Ask::Change {
            key: "k".to_owned(),
            value: "v".to_owned(),
            run,
        };
        for (text, expected) in [
            (
                r#"{"ask":"speed","speed":0.5}"#,
                Ask::Speed(Speed::Times(0.5)),
            ),
            (
                r#"{"ask":"speed","speed":-1}"#,
                Ask::Speed(Speed::Times(0.0)),
            ),
            (
                r#"{"ask":"speed","speed":1e300}"#,
                Ask::Speed(Speed::Times(100.0)),
            ),
            (r#"{"ask":"speed","speed":"max"}"#, Ask::Speed(Speed::Most)),
            (
                r#"{"ask":"step","step":1e6}"#,
                Ask::Step(Time::from_millis(1)),
            ),
            (r#"{"ask":"change","key":"k","value":"v"}"#, change(None)),
            (
                r#"{"ask":"change","key":"k","value":"v","run":1}"#,
                change(Some(1)),
            ),
            (r#"{"ask":"finish"}"#, Ask::Finish),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn refuses_what_no_page_asks_in_words() {
        let many = format!(
            r#"{{"ask":"open","scenario":"s","runs":[{}]}}"#,
            vec!["[]"; 17].join(",")
        );
        let long = format!(
            r#"{{"ask":"change","key":"{}","value":"v"}}"#,
            "k".repeat(5_000)
        );
        for (text, why) in [
            ("", "no request"),
            ("null", "no request"),
            ("[]", "no request"),
            (r#"{"ask":"delete"}"#, "unknown variant"),
            (r#"{"ask":"finish","more":1}"#, "more"),
            (r#"{"ask":"step"}"#, "step"),
            (r#"{"ask":"step","step":-1}"#, "must be a number of ns"),
            (r#"{"ask":"speed","speed":"fast"}"#, "or max"),
            (
                r#"{"ask":"open","scenario":"s","runs":[]}"#,
                "between 1 and 16",
            ),
            (&many, "between 1 and 16"),
            (
                r#"{"ask":"open","scenario":"s","runs":[[]],"moreFlows":1001}"#,
                "too many",
            ),
            (
                r#"{"ask":"open","scenario":"s","runs":[[]],"fastest":1e13}"#,
                "too fast",
            ),
            (
                r#"{"ask":"open","scenario":"s","runs":[[]],"seed":-1}"#,
                "no request",
            ),
            (&long, "bytes at most"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest::proptest! {
        /// Any bytes, and any change of what a page sends, are an ask or words why not.
        #[test]
        fn any_bytes_are_read_or_refused_in_words(
            text in proptest::sample::select(vec![
                r#"{"ask":"open","scenario":"s","runs":[[],["link.rate=1mbit"]],"seed":3,"moreFlows":4,"fastest":1e9}"#,
                r#"{"ask":"speed","speed":"max"}"#,
                r#"{"ask":"step","step":1e6}"#,
                r#"{"ask":"change","key":"k","value":"v","run":1}"#,
            ]),
            place in 0_usize..200,
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
        ) {
            let mut body = text.as_bytes().to_vec();
            let place = place.min(body.len());
            body.splice(place..(place + bytes.len() / 2).min(text.len()), bytes.iter().copied());
            for body in [&body, &bytes] {
                match Ask::read(body) {
                    Ok(Ask::Open(opening)) => {
                        proptest::prop_assert!((1..=MOST_RUNS).contains(&opening.runs.len()));
                        proptest::prop_assert!(opening.preparation.flows <= MOST_FLOWS);
                    }
                    Ok(Ask::Speed(Speed::Times(times))) => {
                        proptest::prop_assert!(times == 0.0 || (SPEEDS.0..=SPEEDS.1).contains(&times));
                    }
                    Ok(Ask::Change { key, value, .. }) => {
                        proptest::prop_assert!(key.len().max(value.len()) <= LONGEST_CHANGE);
                    }
                    Ok(Ask::Speed(Speed::Most) | Ask::Step(_) | Ask::Finish) => {}
                    Err(why) => proptest::prop_assert!(why.to_string().len() > 10, "{why}"),
                }
            }
        }

        /// Keys and values arrive as a page sent them.
        #[test]
        fn keys_and_values_arrive_as_they_were_sent(key in ".{0,60}", value in ".{0,60}", run in 0_usize..20) {
            let sent = serde_json::json!({ "ask": "change", "key": key, "value": value, "run": run });
            let change = Ask::Change { key, value, run: Some(run) };
            proptest::prop_assert_eq!(read(&sent.to_string()).unwrap(), change);
        }
    }

    #[test]
    fn speeds_of_a_command_line_are_within_bounds() {
        for (text, expected) in [
            ("1", Some(Speed::Times(1.0))),
            ("0.5x", Some(Speed::Times(0.5))),
            ("max", Some(Speed::Most)),
            ("0", None),
            ("101", None),
            ("NaN", None),
            ("fast", None),
        ] {
            assert_eq!(Speed::parse(text).ok(), expected, "{text}");
        }
    }
}
