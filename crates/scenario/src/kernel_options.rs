//! Options of controls that the kernel of the virtual world takes: parameters of a kernel module, so one setting for all connections.
//!
//! Linux's H-TCP has its own; the others are those of `bpf/kernel`. What is not here, the kernel cannot be asked for.

use quell_units::Parameter;
use quell_units::parameter::{Domain, Value};

/// The control, the module, and its parameters, which are called as the options are.
const SETTABLE: &[(&str, &str, &[&str])] = &[
    (
        "htcp",
        "tcp_htcp",
        &["use_rtt_scaling", "use_bandwidth_switch"],
    ),
    (
        "prague",
        "quell_prague",
        &[
            "rtt_target",
            "rtt_transition",
            "first_ce",
            "alpha_mode",
            "rate_mode",
        ],
    ),
    (
        "compound",
        "quell_compound",
        &[
            "gamma",
            "gamma_low",
            "gamma_high",
            "low_window",
            "eta",
            "lambda",
            "paced",
        ],
    ),
    (
        "bbr2",
        "quell_bbr2",
        &[
            "ecn",
            "ecn_max_rtt",
            "ecn_reprobe_gain",
            "loss_threshold",
            "beta",
            "revision",
        ],
    ),
    (
        "bbr3",
        "quell_bbr3",
        &["ecn", "ecn_max_rtt", "ecn_reprobe_gain"],
    ),
];

/// The module whose parameter `option` of `control` is; `None` where no kernel takes it.
pub fn module(control: &str, option: &str) -> Option<&'static str> {
    let (_, module, options) = SETTABLE.iter().find(|(name, ..)| *name == control)?;
    options.contains(&option).then_some(*module)
}

/// Whether every real host of quell does what `option` of `control` asks for: no interface of theirs has `fq`, so Prague's segments wait for
/// their pace inside TCP.
pub fn is_given(control: &str, option: &str, value: Value) -> bool {
    (control, option, value) == ("prague", "fq", Value::Flag(false))
}

/// A value as such a parameter holds it: times in µs, shares in the parts that the control keeps, words by their place among the others.
pub fn number(parameter: &Parameter, value: Value) -> Option<u64> {
    match (value, &parameter.domain) {
        (Value::Time(time), _) => Some(time.as_nanos() / 1_000),
        (Value::Integer(number) | Value::Packets(number) | Value::Fraction(number, _), _) => {
            Some(number)
        }
        (Value::Flag(flag), _) => Some(flag.into()),
        (Value::Word(word), Domain::Word(words)) => {
            let place = words.iter().position(|other| *other == word)?;
            Some(place as u64)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use quell_tcp::cc;

    use super::*;

    #[test]
    fn each_is_an_option_of_its_control_and_has_a_number() {
        for (control, _, options) in SETTABLE {
            let kind = cc::kind(control).unwrap();
            for option in *options {
                let mut of_kind = kind.parameters.iter();
                let parameter = of_kind.find(|row| row.name == *option).unwrap();
                // `number` knows these.
                let is_known = matches!(
                    parameter.domain,
                    Domain::Time(..)
                        | Domain::Integer(..)
                        | Domain::Packets(..)
                        | Domain::Fraction(..)
                        | Domain::Flag
                        | Domain::Word(_)
                );
                assert!(is_known, "{control} {option}");
            }
        }
    }

    #[test]
    fn a_word_is_its_place_and_a_share_its_parts() {
        let bbr2 = cc::kind("bbr2").unwrap().parameters;
        let of = |name, value| {
            let row = bbr2.iter().find(|row| row.name == name).unwrap();
            number(row, value)
        };
        assert_eq!(of("revision", Value::Word("2020")), Some(1));
        assert_eq!(of("beta", Value::Fraction(76, 256)), Some(76));
        let time = quell_units::Time::from_millis(6);
        assert_eq!(of("ecn_max_rtt", Value::Time(time)), Some(6_000));
        assert_eq!(module("bbr2", "ecn"), Some("quell_bbr2"));
        assert_eq!(module("bbr3", "variant"), None);
        assert_eq!(module("cubic", "beta"), None);
        assert!(is_given("prague", "fq", Value::Flag(false)));
        assert!(!is_given("prague", "fq", Value::Flag(true)));
        assert!(!is_given("bbr2", "ecn", Value::Flag(false)));
    }
}
