//! Shortens labels so that they still differ.
//!
//! A reader compares what differs, and that is mostly the end: `dualpi2:step_thresh=1ms` beside
//! `dualpi2:step_thresh=5ms`. So what labels have in common at their beginning goes first.

/// Where a label may be cut: behind one of these.
const JOINTS: [char; 4] = [':', ',', '=', ' '];

/// Labels of at most `room` columns that differ as the given ones do; `None` if only a cut through the middle of a word
/// would do.
pub fn distinct(labels: &[String], room: usize) -> Option<Vec<String>> {
    let fits = |label: &String| length(label) <= room;
    if labels.iter().all(fits) {
        return Some(labels.to_vec());
    }
    let first = labels.first()?;
    let all = labels.iter().map(|label| common(first, label)).min()?;
    let end = labels
        .iter()
        .map(|label| end_in_common(first, label))
        .min()?;
    let places = joints(first, all);
    let cuts = [0, end].into_iter();
    let cuts = cuts.flat_map(|end| places.iter().map(move |&at| (at, end)));
    let mut cuts: Vec<(usize, usize)> = cuts.collect();
    cuts.sort_by_key(|&(at, _)| first[..at].ends_with('='));
    let together = cuts.into_iter().find_map(|(joint, end)| {
        let short: Vec<String> = labels
            .iter()
            .map(|label| between(label, joint, end))
            .collect();
        (labels.len() > 1 && short.iter().all(fits) && differ(&short)).then_some(short)
    });
    if together.is_some() {
        return together;
    }
    let alone = |(index, label): (usize, &String)| {
        if fits(label) {
            return Some(label.clone());
        }
        let others = labels
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let most = others.map(|(_, other)| common(label, other)).max()?;
        joints(label, most)
            .into_iter()
            .map(|joint| behind(label, joint))
            .find(fits)
    };
    let short: Option<Vec<String>> = labels.iter().enumerate().map(alone).collect();
    short.filter(|short| differ(short))
}

/// The same, by any cut if necessary. Equal labels stay equal.
pub fn forced(labels: &[String], room: usize) -> Vec<String> {
    if let Some(short) = distinct(labels, room) {
        return short;
    }
    let halves = |label: &String| {
        let (length, kept) = (length(label), room.saturating_sub(1));
        if length <= room {
            return label.clone();
        }
        let (head, tail) = (kept - kept / 2, kept / 2);
        let start = label.chars().take(head);
        let end = label.chars().skip(length - tail);
        start.chain(['…']).chain(end).collect()
    };
    let short: Vec<String> = labels.iter().map(halves).collect();
    if differ(&short) || !differ(labels) {
        return short;
    }
    let numbered = |(index, label): (usize, &String)| {
        let number = format!("…{}", index + 1);
        let kept = room.saturating_sub(number.chars().count());
        label.chars().take(kept).collect::<String>() + &number
    };
    labels.iter().enumerate().map(numbered).collect()
}

/// Columns that a text takes.
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// Number of bytes at the beginning of two labels that are equal.
fn common(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    let same = pairs.take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// The places behind a joint within the first `most` bytes, the earliest first; those that cut off the name of a key last:
/// `…step_thresh=1ms` shows more than `…1ms,target=15ms`.
fn joints(label: &str, most: usize) -> Vec<usize> {
    let found = label.char_indices().filter(|(_, c)| JOINTS.contains(c));
    let places = found.map(|(at, c)| at + c.len_utf8());
    let places = places.filter(|&at| at <= most && at < label.len());
    let (keys, mut others): (Vec<usize>, Vec<usize>) =
        places.partition(|&at| label[..at].ends_with('='));
    others.extend(keys);
    others
}

fn behind(label: &str, joint: usize) -> String {
    between(label, joint, 0)
}

/// The label without the part before `joint` and without the last `end` bytes.
fn between(label: &str, joint: usize, end: usize) -> String {
    let left = label.len().saturating_sub(end);
    match end {
        0 => format!("…{}", &label[joint..]),
        _ if left <= joint => "…".to_owned(),
        _ => format!("…{}…", &label[joint..left]),
    }
}

/// Number of bytes at the end of two labels that are equal, from a joint on.
fn end_in_common(one: &str, other: &str) -> usize {
    let pairs = one.char_indices().rev().zip(other.chars().rev());
    let same = pairs
        .take_while(|((_, a), b)| a == b)
        .map(|((at, c), _)| (at, c));
    let joint = same.filter(|(_, c)| [',', ' '].contains(c)).last();
    joint.map_or(0, |(at, _)| one.len() - at)
}

fn differ(labels: &[String]) -> bool {
    let mut sorted: Vec<&String> = labels.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(labels: &[&str]) -> Vec<String> {
        labels.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_all_have_in_common_goes_first() {
        let labels = of(&["dualpi2:step_thresh=1ms", "dualpi2:step_thresh=50ms"]);
        assert_eq!(distinct(&labels, 24).unwrap(), labels);
        assert_eq!(
            distinct(&labels, 20).unwrap(),
            ["…step_thresh=1ms", "…step_thresh=50ms"]
        );
        assert_eq!(distinct(&labels, 8).unwrap(), ["…1ms", "…50ms"]);
        let longer = of(&[
            "dualpi2:step_thresh=1ms,target=9ms",
            "dualpi2:step_thresh=50ms,target=9ms",
        ]);
        assert_eq!(
            distinct(&longer, 20).unwrap(),
            ["…step_thresh=1ms…", "…step_thresh=50ms…"]
        );
        assert_eq!(distinct(&labels, 4), None);
        let kernels = of(&["dualpi2 virtual:6.1.192", "dualpi2 virtual:6.12.117"]);
        assert_eq!(
            distinct(&kernels, 17).unwrap(),
            ["…virtual:6.1.192", "…virtual:6.12.117"]
        );
        assert_eq!(distinct(&kernels, 12).unwrap(), ["…6.1.192", "…6.12.117"]);
    }

    #[test]
    fn one_without_a_part_in_common_stays_as_it_is() {
        let labels = of(&[
            "fifo",
            "dualpi2:target=5ms,step_thresh=1ms",
            "dualpi2:target=5ms,any_ect=true",
        ]);
        assert_eq!(
            distinct(&labels, 20).unwrap(),
            ["fifo", "…step_thresh=1ms", "…any_ect=true"]
        );
    }

    #[test]
    fn nothing_is_shortened_to_the_same() {
        let labels = of(&[
            "a:limit=1ms",
            "b:limit=1ms",
            "a:limit=1ms,x",
            "b:limit=1ms,x",
        ]);
        for room in 2..14 {
            let short = forced(&labels, room);
            assert!(differ(&short), "{short:?}");
            assert!(short.iter().all(|label| length(label) <= room), "{short:?}");
        }
        // One alone has nothing to differ from.
        assert_eq!(
            forced(&of(&["a-very-long-name-of-a-group"]), 9),
            ["a-ve…roup"]
        );
    }
}
