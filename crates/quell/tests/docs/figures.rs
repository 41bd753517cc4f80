//! Numbers in sentences against the JSON that a command prints.

use serde_json::Value;

use crate::docs::markdown::Figures;

/// Whether each claim holds. With `bless` those that are rounded (`=`) are written anew, in marker and sentence.
pub(crate) fn compare(
    figures: &Figures,
    page: &mut String,
    printed: &str,
    bless: bool,
) -> Result<(), String> {
    let json: Value =
        serde_json::from_str(printed).map_err(|error| format!("prints no JSON: {error}"))?;
    let mut block = page[figures.block.clone()].to_owned();
    for claim in &figures.claims {
        let (marker, paragraph) = block.split_once("-->").unwrap_or(("", &block));
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        if !words.join(" ").contains(&claim.text) {
            return Err(format!("the text does not say {:?}", claim.text));
        }
        let said = number(&claim.text).ok_or_else(|| format!("no number in {:?}", claim.text))?;
        let found = find(&json, &claim.path)?;
        let value: f64 = said.parse().unwrap_or(f64::NAN);
        let decimals = said.split_once('.').map_or(0, |(_, digits)| digits.len());
        let rounded = format!("{found:.decimals$}");
        let holds = match claim.relation {
            '=' => said == rounded,
            '<' => value < found,
            _ => value > found,
        };
        if holds {
            continue;
        }
        if bless && claim.relation == '=' && paragraph.contains(&claim.text) {
            let new = claim.text.replacen(said, &rounded, 1);
            block = format!(
                "{}-->{}",
                marker.replace(&format!("\"{}\"", claim.text), &format!("\"{new}\"")),
                paragraph.replace(&claim.text, &new)
            );
            continue;
        }
        return Err(format!(
            "the text says {:?} {} {}, which is {found}",
            claim.text, claim.relation, claim.path
        ));
    }
    page.replace_range(figures.block.clone(), &block);
    Ok(())
}

/// The first number of a text.
fn number(text: &str) -> Option<&str> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[begin..];
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('.'))
}

/// The number at `path`: keys, indices, and the names of a list's members, after `*` a factor.
fn find(json: &Value, path: &str) -> Result<f64, String> {
    let (path, factor) = match path.split_once(" * ") {
        Some((path, factor)) => (path, factor.parse().unwrap_or(f64::NAN)),
        None => (path, 1.0),
    };
    let mut at = json;
    for key in path.trim().split('/') {
        let next = match at {
            Value::Array(members) => members
                .iter()
                .find(|member| {
                    ["name", "queue"]
                        .iter()
                        .any(|field| member[field].as_str() == Some(key))
                })
                .or_else(|| members.get(key.parse::<usize>().ok()?)),
            other => other.get(key),
        };
        at = next.ok_or_else(|| format!("there is no {key} of {path}"))?;
    }
    at.as_f64()
        .map(|number| number * factor)
        .ok_or_else(|| format!("{path} is no number: {at}"))
}

#[test]
fn sentences_are_held_to_their_figures() {
    let text = "<!-- figures: quell x\n\"0.6 ms\" = g/a/mean * 1000\n\"70 ms\" < g/a/p1\n-->\nWaits 0.6 ms, or more than 70\nms.\n\nEnd 0.6 ms.\n";
    let mut page = crate::docs::markdown::Page::new("p".to_owned(), format!("# T\n{text}"));
    let crate::docs::markdown::Marker::Figures(figures) = page.markers[0].clone() else {
        panic!("{:?}", page.markers);
    };
    let json = |mean: f64, p1: f64| {
        format!("{{\"g\": [{{\"name\": \"a\", \"mean\": {mean}, \"p1\": {p1}}}]}}")
    };
    let same = page.text.clone();
    assert_eq!(
        compare(&figures, &mut page.text, &json(0.00061, 71.0), false),
        Ok(())
    );
    assert_eq!(page.text, same);
    let error = compare(&figures, &mut page.text, &json(0.0007, 71.0), false).unwrap_err();
    assert!(error.contains("0.6 ms"), "{error}");
    let error = compare(&figures, &mut page.text, &json(0.0006, 69.0), true).unwrap_err();
    assert!(error.contains("which is 69"), "{error}");
    compare(&figures, &mut page.text, &json(0.0007, 71.0), true).unwrap();
    assert!(page.text.contains("\"0.7 ms\" =") && page.text.contains("Waits 0.7 ms"));
    assert!(page.text.contains("End 0.6 ms"), "{}", page.text);
}
