//! Lists of queues or congestion controls with their parameters, as options take them.

use std::error::Error;
use std::fmt;

use quell_lab::scenario::{Override, with_colon};

/// Why a list of queues cannot be taken.
#[derive(Debug)]
pub(crate) enum ListError {
    /// It has nothing in it.
    Empty { option: String },
    /// A comma stands beside nothing.
    Comma { option: String, list: String },
    /// A parameter stands in front of every queue.
    NoQueue {
        option: String,
        list: String,
        part: String,
    },
    /// A queue is in the lists twice.
    Twice {
        option: String,
        lists: String,
        queue: String,
    },
    /// `--queue` of a command with one queue has several.
    Several(String),
    /// A queue is refused.
    Queue(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { option } => {
                write!(f, "{option}: give at least one, such as fifo,dualpi2")
            }
            Self::Comma { option, list } => {
                write!(
                    f,
                    "{option} {list}: there is a comma with nothing beside it"
                )
            }
            Self::NoQueue { option, list, part } => write!(
                f,
                "{option} {list}: {part} has no queue before it, such as fifo:{part}"
            ),
            Self::Twice {
                option,
                lists,
                queue,
            } => write!(f, "{option} {lists}: {queue} is there twice"),
            Self::Several(queue) => write!(
                f,
                "--queue {queue}: here is room for one queue; quell compare runs several"
            ),
            Self::Queue(source) => source.fmt(f),
        }
    }
}

impl Error for ListError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // It is the message already.
            Self::Queue(source) => source.source(),
            _ => None,
        }
    }
}

/// What `--queue` of a command with one queue sets.
pub(crate) fn one_queue(queue: Option<&str>) -> Result<Vec<Override>, ListError> {
    let Some(queue) = queue else {
        return Ok(Vec::new());
    };
    match &queues("--queue", &[queue.to_owned()])?[..] {
        [one] => Override::queue(one).map_err(|why| ListError::Queue(why.into())),
        _ => Err(ListError::Several(queue.to_owned())),
    }
}

/// The queues, or other kinds, of every list that was given with `option`.
pub(crate) fn queues(option: &str, lists: &[String]) -> Result<Vec<String>, ListError> {
    let mut queues = Vec::new();
    for list in lists {
        queues.extend(of_list(option, list)?);
    }
    for (index, queue) in queues.iter().enumerate() {
        if queues[..index].contains(queue) {
            return Err(ListError::Twice {
                option: option.to_owned(),
                lists: lists.join(","),
                queue: queue.clone(),
            });
        }
    }
    Ok(queues)
}

/// Splits `fifo,fq_codel:target=5ms,limit=100p,dualpi2`: what has a value belongs to the queue before
/// it, but for `access=fifo`, which is a queue of a link.
fn of_list(option: &str, list: &str) -> Result<Vec<String>, ListError> {
    let mut queues: Vec<String> = Vec::new();
    if list.trim().is_empty() {
        return Err(ListError::Empty {
            option: option.to_owned(),
        });
    }
    for part in list.split(',').map(|part| with_colon(part.trim())) {
        let part = part.as_str();
        if part.is_empty() {
            return Err(ListError::Comma {
                option: option.to_owned(),
                list: list.to_owned(),
            });
        }
        // LINK=KIND is a queue, and where KIND has parameters, LINK=KIND:PARAMETER=VALUE too.
        let of_link = part
            .split_once('=')
            .is_some_and(|(_, kind)| quell_aqm::disciplines::find(kind).is_ok());
        let parameter = part.contains('=') && !part.contains(':') && !of_link;
        match queues.last_mut() {
            Some(queue) if parameter && queue.contains(':') => {
                queue.push(',');
                queue.push_str(part);
            }
            _ if parameter => {
                return Err(ListError::NoQueue {
                    option: option.to_owned(),
                    list: list.to_owned(),
                    part: part.to_owned(),
                });
            }
            _ => queues.push(part.to_owned()),
        }
    }
    Ok(queues)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lists: &[&str]) -> Result<Vec<String>, ListError> {
        let lists: Vec<String> = lists.iter().map(ToString::to_string).collect();
        queues("--queue", &lists)
    }

    #[test]
    fn a_second_list_adds_to_the_first() {
        let spaced = of(&["fifo limit=10ms, pie target=5ms,ecn=true"]).unwrap();
        assert_eq!(spaced, ["fifo:limit=10ms", "pie:target=5ms,ecn=true"]);
        assert_eq!(
            of(&["fifo", "pie,dualpi2:target=5ms"]).unwrap(),
            ["fifo", "pie", "dualpi2:target=5ms"]
        );
        assert_eq!(
            of(&["access=pie:target=5ms,limit=9p,access=fifo,wifi=dualpi2:target=5ms"]).unwrap(),
            [
                "access=pie:target=5ms,limit=9p",
                "access=fifo",
                "wifi=dualpi2:target=5ms"
            ]
        );
        assert!(of(&["fifo", "fifo"]).is_err());
        assert!(of(&["fifo:limit=9p", "target=5ms"]).is_err());
    }

    #[test]
    fn parameters_belong_to_the_queue_before_them() {
        assert_eq!(
            of(&["fifo, dualpi2:target=5ms,any_ect=true,fifo:limit=20ms"]).unwrap(),
            ["fifo", "dualpi2:target=5ms,any_ect=true", "fifo:limit=20ms"]
        );
        for wrong in [
            "",
            ",",
            ",pie",
            "pie,,red",
            "pie,",
            "target=5ms",
            "fifo,target=5ms",
            "fifo,fifo",
        ] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
    }
}
