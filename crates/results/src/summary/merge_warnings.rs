//! Merges remarks that differ only in their numbers: seven flows with the same problem become one line.

/// A remark about a result.
pub(super) struct Remark {
    /// The result; empty where there is only one.
    pub(super) of: String,
    pub(super) text: String,
}

/// One remark for all that differ only in their numbers, in the order of the first of each; such numbers become `SMALLEST to LARGEST`.
pub(super) fn merged(remarks: impl IntoIterator<Item = Remark>) -> Vec<Alike> {
    let mut alike: Vec<Alike> = Vec::new();
    for Remark { of, text } in remarks {
        let (words, numbers) = taken_apart(&text);
        let found = alike.iter_mut().find(|one| one.words == words);
        match found {
            Some(one) => one.add(of, &numbers),
            None => alike.push(Alike {
                words,
                ranges: numbers.iter().map(|n| (n.clone(), n.clone())).collect(),
                of: vec![of],
                count: 1,
            }),
        }
    }
    alike
}

/// Remarks that differ only in their numbers.
pub(super) struct Alike {
    /// The text between the numbers: one part more than there are numbers.
    words: Vec<String>,
    /// Smallest and largest of each number.
    ranges: Vec<(String, String)>,
    of: Vec<String>,
    count: usize,
}

impl Alike {
    fn add(&mut self, of: String, numbers: &[String]) {
        self.count += 1;
        if !self.of.contains(&of) {
            self.of.push(of);
        }
        let value = |text: &str| text.parse::<f64>().unwrap_or(0.0);
        for ((least, greatest), number) in self.ranges.iter_mut().zip(numbers) {
            if value(number) < value(least) {
                least.clone_from(number);
            }
            if value(number) > value(greatest) {
                greatest.clone_from(number);
            }
        }
    }

    /// The results, the text, and the number of remarks.
    pub(super) fn line(&self) -> String {
        let mut line = String::new();
        if !self.of.concat().is_empty() {
            line += &format!("{}: ", self.of.join(", "));
        }
        line += &self.words();
        if self.count > self.of.len() {
            line += &format!(" ({} of them)", self.count);
        }
        line
    }

    /// The text.
    pub(super) fn words(&self) -> String {
        let mut line = String::new();
        let mut words = self.words.iter();
        line.extend(words.next().map(String::as_str));
        for ((least, greatest), words) in self.ranges.iter().zip(words) {
            line += least;
            if least != greatest {
                line += &format!(" to {greatest}");
            }
            line += words;
        }
        line
    }
}

/// The numbers of a text, and the words before, between and behind them. Digits that belong to a name (`l4s`, `6.1.192`) are
/// words.
fn taken_apart(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut words, mut numbers) = (vec![String::new()], Vec::new());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let in_name = before.is_alphanumeric() || "_-.:/".contains(before);
        let length = if in_name { 0 } else { number(rest) };
        if length > 0 {
            numbers.push(rest[..length].to_owned());
            words.push(String::new());
            before = '0';
            rest = &rest[length..];
            continue;
        }
        if let Some(last) = words.last_mut() {
            last.push(c);
        }
        before = c;
        rest = &rest[c.len_utf8()..];
    }
    (words, numbers)
}

/// How many bytes of a number `text` begins with: digits, perhaps with a point and more of them.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    match (whole, fraction) {
        (0, _) => 0,
        (whole, 0) => whole,
        (whole, fraction) => {
            let length = whole + 1 + fraction;
            let version = text[length..]
                .strip_prefix('.')
                .is_some_and(|more| digits(more) > 0);
            if version { 0 } else { length }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(remarks: &[(&str, &str)]) -> Vec<String> {
        let remarks = remarks.iter().map(|&(of, text)| Remark {
            of: of.to_owned(),
            text: text.to_owned(),
        });
        merged(remarks).iter().map(Alike::line).collect()
    }

    #[test]
    fn the_same_trouble_of_many_flows_is_one_line() {
        let flows = [80, 95, 91].map(|percent| {
            let flow = percent % 7;
            format!(
                "group l4s flow {flow}: limited by its receive window for {percent} % of its rounds"
            )
        });
        let flows = flows.each_ref().map(|text| ("", text.as_str()));
        assert_eq!(
            of(&flows),
            [
                "group l4s flow 0 to 4: limited by its receive window for 80 to 95 % of its rounds (3 of them)"
            ]
        );
    }

    #[test]
    fn the_same_trouble_behind_several_queues_names_them() {
        let text = "kernel 6.1.192 was used for 29.3 % of the time";
        let more = "kernel 6.1.192 was used for 9.5 % of the time";
        assert_eq!(
            of(&[("fifo", text), ("pie", more), ("fifo", "group l4s is lost")]),
            [
                "fifo, pie: kernel 6.1.192 was used for 9.5 to 29.3 % of the time",
                "fifo: group l4s is lost"
            ]
        );
        // Another group is another trouble.
        assert_eq!(of(&[("", "group l4s"), ("", "group l5s")]).len(), 2);
    }
}
