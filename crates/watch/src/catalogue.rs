//! What a scenario may name, for the controls of a page: every queue, congestion control and application with its parameters, as the
//! tables have them. A kind that is added to its table is there at once.

use quell_app::kinds::KINDS;
use quell_aqm::disciplines;
use quell_tcp::cc;
use quell_units::parameter::{Domain, Parameter, Preset, condition};
use serde_json::{Value, json};

/// The catalogue as JSON: lists `queues`, `controls` and `applications`.
///
/// A parameter has its `name`, `help`, `source`, `allowed` (words that finish "must be …"), `default` (null where there is none or it
/// follows from something else, which `derived` says then), `live` (whether it can change during a run) and `only` (the condition under
/// which it exists). What a slider needs is in `domain`: a `type`, and `low` and `high` in `unit`, the unit to be written behind a number.
pub fn catalogue() -> Value {
    let queues = disciplines::kinds().map(|kind| {
        json!({
            "name": kind.name,
            "summary": kind.summary,
            "source": kind.source,
            "parameters": parameters(kind.parameters),
        })
    });
    let controls = cc::kinds().map(|kind| {
        json!({
            "name": kind.name,
            "summary": kind.summary,
            "source": kind.source,
            "scalable": kind.scalable,
            "parameters": parameters(kind.parameters),
        })
    });
    // A page runs what quell has both ends of.
    let modelled = KINDS.iter().filter(|kind| kind.modelled);
    let applications = modelled.map(|kind| {
        let presets = kind.presets.iter();
        let presets =
            presets.map(|preset| json!({ "name": preset.name, "summary": preset.summary }));
        json!({
            "name": kind.name,
            "summary": kind.summary,
            "example": kind.example,
            "presets": presets.collect::<Vec<_>>(),
            "parameters": parameters(kind.parameters),
        })
    });
    json!({
        "queues": queues.collect::<Vec<_>>(),
        "controls": controls.collect::<Vec<_>>(),
        "applications": applications.collect::<Vec<_>>(),
    })
}

fn parameters(all: &[Parameter]) -> Vec<Value> {
    all.iter().map(parameter).collect()
}

fn parameter(parameter: &Parameter) -> Value {
    let (default, derived) = match parameter.default {
        Preset::Is(text) => (Some(text), None),
        Preset::Required => (None, None),
        Preset::By(other, choices) => {
            let choices = choices.iter();
            let choices = choices.map(|(word, value)| format!("{value} with {other} = \"{word}\""));
            (None, Some(choices.collect::<Vec<_>>().join(", ")))
        }
        Preset::Derived(text) => (None, Some(text.to_owned())),
    };
    json!({
        "name": parameter.name,
        "help": parameter.help,
        "source": parameter.source,
        "allowed": parameter.domain.to_string(),
        "domain": domain(&parameter.domain),
        "default": default,
        "derived": derived,
        "live": parameter.live,
        "only": parameter.only.map(condition),
    })
}

fn domain(domain: &Domain) -> Value {
    let range = |name: &str, unit: &str, low: f64, high: f64| json!({ "type": name, "unit": unit, "low": low, "high": high });
    match *domain {
        Domain::Time(low, high) | Domain::Period(low, high) | Domain::Interval(low, high) => {
            range("time", "ns", low.as_nanos() as f64, high.as_nanos() as f64)
        }
        Domain::Bytes(low, high) | Domain::Sizes(low, high) => {
            range("bytes", "B", low as f64, high as f64)
        }
        Domain::Packets(low, high) => range("packets", "p", low as f64, high as f64),
        Domain::Integer(low, high) => range("integer", "", low as f64, high as f64),
        Domain::Fraction(low, high, of) => range(
            "fraction",
            "",
            low as f64 / of as f64,
            high as f64 / of as f64,
        ),
        Domain::Frequency(..) => json!({ "type": "frequency", "unit": "Hz" }),
        Domain::Rate(low, high) => range("rate", "bit", low.as_bps() as f64, high.as_bps() as f64),
        Domain::Flag => json!({ "type": "flag" }),
        Domain::Word(words) => json!({ "type": "word", "words": words }),
        Domain::TimeOrPackets((low, high), _) => {
            range("time", "ns", low.as_nanos() as f64, high.as_nanos() as f64)
        }
        Domain::Limit { .. } => json!({ "type": "limit" }),
        Domain::Rates(names) => {
            let names = names.iter().map(|(name, _)| *name);
            json!({ "type": "rates", "words": names.collect::<Vec<_>>() })
        }
        Domain::CommandLine => json!({ "type": "command-line" }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Budget, Preparation, Watched};
    use quell_units::Time;

    fn list<'a>(all: &'a Value, name: &str) -> &'a Vec<Value> {
        all[name].as_array().unwrap()
    }

    #[test]
    fn every_kind_is_there_with_every_parameter_explained() {
        let all = catalogue();
        assert_eq!(list(&all, "queues").len(), disciplines::kinds().count());
        assert_eq!(list(&all, "controls").len(), cc::kinds().count());
        let modelled = KINDS.iter().filter(|kind| kind.modelled);
        assert_eq!(list(&all, "applications").len(), modelled.count());
        for kind in ["queues", "controls", "applications"]
            .iter()
            .flat_map(|name| list(&all, name))
        {
            for parameter in list(kind, "parameters") {
                assert!(
                    !parameter["help"].as_str().unwrap().is_empty(),
                    "{parameter}"
                );
                let domain = &parameter["domain"];
                if let (Some(low), Some(high)) = (domain["low"].as_f64(), domain["high"].as_f64()) {
                    assert!(low <= high, "{parameter}");
                }
            }
        }
    }

    /// A default, or the least, of each live parameter is taken by a run under way: what the catalogue calls live a page can change.
    #[test]
    fn what_the_catalogue_calls_live_can_be_changed_during_a_run() {
        let all = catalogue();
        let mut changed = 0;
        for queue in list(&all, "queues") {
            let name = queue["name"].as_str().unwrap();
            let text = format!(
                "schema = 1\nname = \"t\"\n[link]\nrate = \"10mbit\"\nqueue = {{ kind = \"{name}\" }}\n[[group]]\nname = \"g\"\nrtt = \"10ms\"\napp = {{ kind = \"bulk\" }}\n[run]\nduration = \"2s\"\n"
            );
            for parameter in list(queue, "parameters") {
                let key = parameter["name"].as_str().unwrap();
                let Some(value) = parameter["default"].as_str() else {
                    continue;
                };
                if !parameter["only"].is_null() {
                    continue;
                }
                let opened =
                    Watched::open("t", &text, &[], None, Preparation::default(), Budget::PAGE);
                let Ok(mut run) = opened else { continue };
                run.advance(Time::from_millis(100)).unwrap();
                let done = run.change(&format!("link.queue.{key}"), value);
                // Some have an effect only beside others, and say so.
                let alone = |error: &crate::Refused| !error.to_string().contains("only with");
                let is_live = done.as_ref().err().is_none_or(|error| !alone(error));
                assert_eq!(is_live, parameter["live"] == true, "{name} {key}: {done:?}");
                changed += 1;
            }
        }
        assert!(changed > 100, "{changed}");
    }
}
