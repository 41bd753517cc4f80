//! `quell link`: finds and changes the links that run.

use clap::Subcommand;
use quell_exec::named::{self, NamedLink};
use serde_json::{Value, json};

use crate::exec::text::counted;
use crate::failure::Failure;
use crate::output::page::Page;

/// What to do with a link that runs.
#[derive(Debug, Subcommand)]
pub(crate) enum LinkAction {
    /// List the links that run with a name
    List,
    /// Print what a link is, and its figures so far
    Show {
        /// Name of the link, or the path of its control socket
        name: String,
        /// Print the summary so far as JSON, as in summary.json
        #[arg(long)]
        json: bool,
    },
    /// Change a link: all values at one instant
    Set {
        /// Name of the link, or the path of its control socket
        name: String,
        /// What it is to be: down=5mbit, link.queue.target=5ms
        #[arg(value_name = "KEY=VALUE", required = true)]
        values: Vec<String>,
    },
    /// Cut connections of the program, which the relay joins to those of this host, or say what happens to new ones
    Cut {
        /// Name of the link, or the path of its control socket
        name: String,
        /// What both ends get: rst, fin (the end of the stream) or silent (nothing any more). Of new connections from now on: refuse,
        /// blackhole, accept-delay=3s, limit=1MB (then a reset), or accept again
        #[arg(default_value = "rst")]
        how: String,
        /// Only those to here: 192.0.2.1, :443 or 192.0.2.1:443
        #[arg(long, value_name = "[ADDR][:PORT]")]
        to: Option<String>,
        /// Only those that are so old at least
        #[arg(long, value_name = "TIME")]
        older: Option<String>,
    },
    /// End the program behind a link, and the link
    Stop {
        /// Name of the link, or the path of its control socket
        name: String,
    },
}

/// Does it.
pub(crate) fn link(action: &LinkAction, page: &mut Page) -> Result<(), Failure> {
    match action {
        LinkAction::List => {
            list(page);
            Ok(())
        }
        LinkAction::Show { name, json } => show(name, *json, page),
        LinkAction::Set { name, values } => set(name, values, page),
        LinkAction::Cut {
            name,
            how,
            to,
            older,
        } => {
            let request = json!({ "cut": { "how": how, "to": to, "older": older } });
            let answer = open(name)?.ask(&request).map_err(Failure::input)?;
            let count = answer["cut"].as_u64().unwrap_or(0);
            page.line(match how.as_str() {
                "rst" | "fin" | "silent" => format!("{name}: {} cut", counted(count, "connection")),
                how => format!("{name}: new connections from now on: {how}"),
            });
            Ok(())
        }
        LinkAction::Stop { name } => open(name)?.stop().map_err(Failure::failed),
    }
}

fn open(name: &str) -> Result<NamedLink, Failure> {
    NamedLink::connect(name).map_err(Failure::input)
}

fn list(page: &mut Page) {
    let names = named::names();
    if names.is_empty() {
        page.line("no link runs with a name: `quell exec --name NAME` gives one");
    }
    let width = names.iter().map(String::len).max().unwrap_or(0);
    for name in names {
        let state = match NamedLink::connect(&name) {
            Err(_) => "dead: it was killed, and a new one may have its name".to_owned(),
            Ok(mut link) => match link.describe() {
                Ok(words) => format!("process {}, {words}", link.pid),
                Err(why) => format!("process {}, {why}", link.pid),
            },
        };
        page.line(format!("{name:width$}  {state}"));
    }
}

fn show(name: &str, as_json: bool, page: &mut Page) -> Result<(), Failure> {
    let mut link = open(name)?;
    let mut get = |what: &str| {
        let answer = link.ask(&json!({ "get": what }));
        answer
            .map(|answer| answer[what].clone())
            .map_err(Failure::failed)
    };
    let summary = get("summary")?;
    if as_json {
        page.line(format!("{summary:#}"));
        return Ok(());
    }
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let described = words(&get("link")?);
    let seconds = summary["duration_s"].as_f64().unwrap_or(0.0);
    page.line(format!("{name}: {seconds:.1} s behind {described}"));
    for queue in summary["queues"].as_array().into_iter().flatten() {
        let way = match queue["direction"].as_str() {
            Some("forward") => "down",
            _ => "up",
        };
        let number = |key: &str| queue[key].as_u64().unwrap_or(0);
        let delay = &queue["delay_ms"];
        let delay = match (delay["mean"].as_f64(), delay["p99"].as_f64()) {
            (Some(mean), Some(p99)) => format!("delay mean {mean:.1} ms, p99 {p99:.1} ms; "),
            _ => String::new(),
        };
        page.line(format!(
            "  {way:5} {}: {delay}{}, {} marked, {} dropped",
            words(&queue["name"]),
            counted(number("packets"), "packet"),
            number("marked"),
            number("dropped")
        ));
    }
    page.line(format!("  felt  {}", words(&get("felt")?["sentence"])));
    Ok(())
}

fn set(name: &str, values: &[String], page: &mut Page) -> Result<(), Failure> {
    let pair = |text: &String| {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Failure::input(format!("{text}: must be KEY=VALUE, such as down=5mbit"))
        })?;
        Ok((key.trim().to_owned(), Value::from(value.trim())))
    };
    let wishes: serde_json::Map<_, _> = values.iter().map(pair).collect::<Result<_, Failure>>()?;
    let mut link = open(name)?;
    let answer = link
        .ask(&json!({ "set": wishes }))
        .map_err(Failure::input)?;
    let seconds = answer["changed"]["time_s"].as_f64().unwrap_or(0.0);
    let described = link.describe().map_err(Failure::failed)?;
    page.line(format!("{name}: from {seconds:.1} s on {described}"));
    Ok(())
}
