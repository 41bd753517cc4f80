//! Links in words: their rates, how much of them was used, and how evenly greedy flows shared them.

use quell_measure::{Direction, Figures, NamedLink, RuleSummary};

use super::spread::{Form, Spread};

/// The name of the only link.
const ONLY: &str = "link";

fn rate(rate: Option<u64>) -> String {
    rate.map_or("unlimited".to_owned(), |rate| Form::Rate.text(rate as f64))
}

/// A figure of each run that has it.
fn each(
    all: &[&Figures],
    form: Form,
    of: &dyn Fn(&Figures) -> Option<f64>,
    spread: &Spread,
) -> String {
    let values: Vec<f64> = all.iter().filter_map(|figures| of(figures)).collect();
    spread.cell(form, all.len(), &values)
}

/// `, Jain 0.998`: of the elastic flows whose data crosses that direction of a link; empty where there are not several.
fn shared(all: &[&Figures], hop: &str, direction: Direction, spread: &Spread) -> String {
    let jain = |figures: &&Figures| {
        if figures.fairness.is_empty() && direction == Direction::Forward {
            return figures.jain;
        }
        let mut known = figures.fairness.iter();
        let found = known.find(|one| one.hop == hop && one.direction == direction);
        found.filter(|one| one.flows > 1)?.jain
    };
    let values: Vec<f64> = all.iter().filter_map(jain).collect();
    match values.is_empty() {
        true => String::new(),
        false => format!(", Jain {}", spread.cell(Form::Plain(3), all.len(), &values)),
    }
}

/// A line for each direction that has a rate, with the packets lost outside its queue.
pub(super) fn lines(all: &[&Figures], spread: &Spread) -> Vec<String> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let mut lines = match first.links.is_empty() {
        true => alone(all, first, spread),
        false => several(all, spread),
    };
    for (index, rule) in first.rules.iter().enumerate() {
        let count = |of: &dyn Fn(&RuleSummary) -> u64| {
            let of = |figures: &Figures| figures.rules.get(index).map(|rule| of(rule) as f64);
            each(all, Form::Plain(0), &of, spread)
        };
        lines.push(format!(
            "rule {} of {}, {}: {} of {} packets matched",
            rule.name,
            rule.hop,
            rule.direction.name(),
            count(&|rule| rule.matched),
            count(&|rule| rule.codes.as_flattened().iter().sum())
        ));
    }
    lines
}

/// Lines of the only link.
fn alone(all: &[&Figures], first: &Figures, spread: &Spread) -> Vec<String> {
    let mut lines = vec![format!(
        "link {}, {} % utilised, {} packets lost outside its queue{}",
        rate(first.link.rate_bps),
        each(all, Form::Percent(1), &|f| Some(f.link.utilisation), spread),
        each(
            all,
            Form::Plain(0),
            &|f| Some(f.link.lost_outside as f64),
            spread
        ),
        shared(all, ONLY, Direction::Forward, spread),
    )];
    if let Some(reverse) = first.link.reverse {
        let used = |figures: &Figures| figures.link.reverse.map(|link| link.utilisation);
        lines.push(format!(
            "reverse link {}, {} % utilised{}",
            rate(reverse.rate_bps),
            each(all, Form::Percent(1), &used, spread),
            shared(all, ONLY, Direction::Reverse, spread),
        ));
    }
    lines
}

/// Lines of several links in a row, with the share of time in which packets waited for each.
fn several(all: &[&Figures], spread: &Spread) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, link) in all[0].links.iter().enumerate() {
        let of = |form: Form, of: &dyn Fn(&NamedLink) -> Option<f64>| {
            each(
                all,
                form,
                &|figures| figures.links.get(index).and_then(of),
                spread,
            )
        };
        lines.push(format!(
            "link {} {}, {} % utilised, packets waited for it {} % of the time, {} packets lost outside its queue{}",
            link.name,
            rate(link.rate_bps),
            of(Form::Percent(1), &|link| Some(link.utilisation)),
            of(Form::Percent(1), &|link| Some(link.bottleneck_share)),
            of(Form::Plain(0), &|link| Some(link.lost_outside as f64)),
            shared(all, &link.name, Direction::Forward, spread),
        ));
        if let Some(reverse) = link.reverse {
            lines.push(format!(
                "reverse direction of link {} {}, {} % utilised, packets waited for it {} % of the time{}",
                link.name,
                rate(reverse.rate_bps),
                of(Form::Percent(1), &|link| link.reverse.map(|back| back.utilisation)),
                of(Form::Percent(1), &|link| link.reverse.map(|back| back.bottleneck_share)),
                shared(all, &link.name, Direction::Reverse, spread),
            ));
        }
    }
    lines
}

/// `link 29.3 % utilised, reverse link 99.8 %: …`
pub(super) fn used(all: &[&Figures], why: &str, spread: &Spread) -> String {
    let Some(first) = all.first() else {
        return String::new();
    };
    let percent = |of: &dyn Fn(&Figures) -> Option<f64>| each(all, Form::Percent(1), of, spread);
    let names: Vec<&str> = first.links.iter().map(|link| link.name.as_str()).collect();
    if !names.is_empty() {
        let each = names.iter().enumerate().map(|(index, name)| {
            let used = percent(&|figures| figures.links.get(index).map(|link| link.utilisation));
            let shared = shared(all, name, Direction::Forward, spread);
            format!("link {name} {used} % utilised{shared}")
        });
        return each.collect::<Vec<_>>().join(", ");
    }
    let mut text = format!(
        "link {} % utilised{}",
        percent(&|figures| Some(figures.link.utilisation)),
        shared(all, ONLY, Direction::Forward, spread)
    );
    if first.link.reverse.is_some() {
        text += &format!(
            ", reverse link {} %{}",
            percent(&|figures| figures.link.reverse.map(|link| link.utilisation)),
            shared(all, ONLY, Direction::Reverse, spread)
        );
    }
    if !why.is_empty() {
        text += &format!(": {why}");
    }
    text
}
