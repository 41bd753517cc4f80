//! A report of results: one HTML file that asks for nothing from elsewhere.
//!
//! What was asked, what came out (tables, and pictures with the values under the pointer), what limits trust, and how to repeat it. The
//! page is whole without its script, which shows values and copies texts.

mod html_text;
mod tables;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::base64;
use crate::plot::{self, Error, Figure, KINDS, Source};

use html_text::add;

pub use crate::plot::escaped;

/// The style of pages.
pub const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");
/// Pictures that a report has where the results have something of them.
const PICTURES: [&str; 8] = [
    "delay",
    "ccdf",
    "rates",
    "signals",
    "reasons",
    "backlog",
    "completion",
    "levels",
];
/// Points of a line of a picture that the page knows.
const POINTS: usize = 600;

/// The page about these results.
///
/// # Errors
///
/// A file of a result cannot be read.
pub fn html(sources: &[Source]) -> Result<String, Error> {
    let title = plot::title(sources);
    let mut body = String::new();
    asked(&mut body, sources);
    came_out(&mut body, sources)?;
    trust(&mut body, sources);
    repeat(&mut body, sources);
    Ok(page(&title, &body))
}

/// A whole page with this title, with the style and the script of a report around `body`, which is HTML.
pub fn page(title: &str, body: &str) -> String {
    styled_page(title, "", body)
}

/// The same with rules of its own behind those of a report.
pub fn styled_page(title: &str, style: &str, body: &str) -> String {
    let hash = base64::encode(&Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"quell {}\">\n\
         <title>{title}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        title = escaped(title),
    )
}

/// A picture in a page, with the values that its script shows. `name` is that of no other on the page: letters, digits and hyphens.
pub fn picture(figure: &Figure, name: &str) -> String {
    let (svg, values) = plot::svg_with_values(figure, name, POINTS);
    // Within a script the text ends at the next such tag, whatever is around it.
    let values = values.to_string().replace('<', "\\u003c");
    format!(
        "<figure data-plot=\"{name}-values\">\n<div class=\"scroll\">{svg}</div>\n\
         <script type=\"application/json\" id=\"{name}-values\">{values}</script>\n</figure>\n"
    )
}

/// Description, link, queues and groups.
fn asked(body: &mut String, sources: &[Source]) {
    add(body, format_args!("<section>\n<h2>What was asked</h2>\n"));
    let mut descriptions: Vec<&str> = Vec::new();
    for run in sources.iter().filter_map(|source| source.runs.first()) {
        if let Some(scenario) = &run.scenario
            && !scenario.description.is_empty()
            && !descriptions.contains(&scenario.description.as_str())
        {
            descriptions.push(&scenario.description);
        }
    }
    for description in descriptions {
        add(body, format_args!("<p>{}</p>\n", escaped(description)));
    }
    tables::asked(body, sources);
    body.push_str("</section>\n");
}

fn came_out(body: &mut String, sources: &[Source]) -> Result<(), Error> {
    add(body, format_args!("<section>\n<h2>What came out</h2>\n"));
    tables::figures(body, sources);
    for kind in KINDS.iter().filter(|kind| PICTURES.contains(&kind.name)) {
        let mut figure = match plot::figure(kind.name, sources) {
            Ok(figure) => figure,
            Err(Error::Nothing(_)) => continue,
            Err(error) => return Err(error),
        };
        figure.title = capital(kind.help);
        figure.columns = 1;
        let name = format!("plot-{}", kind.name);
        body.push_str(&picture(&figure, &name));
    }
    body.push_str(
        "<p class=\"faint\">Point at a picture to see its values, or focus it and use the arrow keys.</p>\n</section>\n",
    );
    Ok(())
}

/// Warnings, and on what it ran.
fn trust(body: &mut String, sources: &[Source]) {
    add(
        body,
        format_args!("<section>\n<h2>What limits trust</h2>\n"),
    );
    let mut warnings: Vec<String> = Vec::new();
    for source in sources {
        for run in &source.runs {
            let told = run.summary["warnings"].as_array().into_iter().flatten();
            for warning in told.filter_map(Value::as_str) {
                let text = plot::join(source, warning);
                if !warnings.contains(&text) {
                    warnings.push(text);
                }
            }
            if run.summary["partial"] == true {
                warnings.push(plot::join(
                    source,
                    "the run ended early; its figures are of a part",
                ));
            }
        }
    }
    if warnings.is_empty() {
        body.push_str("<p>No warnings.</p>\n");
    } else {
        body.push_str("<ul class=\"warnings\">\n");
        for warning in warnings {
            add(body, format_args!("<li>{}</li>\n", escaped(&warning)));
        }
        body.push_str("</ul>\n");
    }
    let modelled = sources.iter().flat_map(|source| &source.runs);
    if modelled.clone().any(|run| run.summary["world"] == "sim") {
        body.push_str("<p>In the sim world the hosts are models of TCP; in the virtual and live worlds they are a Linux kernel's.</p>\n");
    }
    tables::circumstances(body, sources);
    body.push_str("</section>\n");
}

/// The command, and the scenario with every default.
fn repeat(body: &mut String, sources: &[Source]) {
    add(body, format_args!("<section>\n<h2>How to repeat it</h2>\n"));
    let mut commands: Vec<String> = Vec::new();
    for source in sources {
        let facts = source.runs.first().map(|run| run.facts());
        let words = facts.as_ref().and_then(|facts| facts["command"].as_array());
        let words = words.into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<String> = words.map(quoted).collect();
        if !words.is_empty() && !commands.contains(&words.join(" ")) {
            commands.push(words.join(" "));
        }
    }
    if !commands.is_empty() {
        add(
            body,
            format_args!(
                "<p>The command: <button hidden data-copy=\"command\">Copy</button></p>\n<pre id=\"command\">{}</pre>\n",
                escaped(&commands.join("\n"))
            ),
        );
    }
    body.push_str(
        "<p>To watch it in a browser, in the simulator: save the scenario, then <code>quell serve FILE</code>.</p>\n",
    );
    for (index, source) in sources.iter().enumerate() {
        let Some(text) = source.runs.first().and_then(plot::scenario_text) else {
            continue;
        };
        let label = plot::join(source, "scenario.toml, with every default");
        add(
            body,
            format_args!(
                "<details>\n<summary>{}</summary>\n<button hidden data-copy=\"scenario-{index}\">Copy</button>\n\
                 <pre id=\"scenario-{index}\">{}</pre>\n</details>\n",
                escaped(&label),
                escaped(&text)
            ),
        );
    }
    body.push_str("</section>\n");
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:,+@%".contains(char);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests;
