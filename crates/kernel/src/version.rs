//! Which of two kernel versions is newer.

use std::cmp::Ordering;

/// A kernel's version, ordered as kernels are: 6.9 before 6.12, 7.3-rc2 before 7.3, 7.3 before 7.3.1 and 7.3-prague.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: Vec<u64>,
    /// Of a release candidate.
    candidate: Option<u64>,
    /// All else.
    rest: String,
}

impl Version {
    /// Of a text like `6.12.117`, `7.3-rc2` or `7.3.0-rc2-prague+`. What is no number at the start orders as a text.
    pub fn new(text: &str) -> Self {
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let (numbers, mut rest) = text.split_at(end);
        let mut numbers: Vec<u64> = numbers.split('.').filter_map(|n| n.parse().ok()).collect();
        // 7.3 and 7.3.0 are the same.
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        let mut candidate = None;
        if let Some(after) = rest.strip_prefix("-rc") {
            let end = after
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(after.len());
            if let Ok(number) = after[..end].parse() {
                candidate = Some(number);
                rest = &after[end..];
            }
        }
        Self {
            numbers,
            candidate,
            rest: rest.to_owned(),
        }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release comes after all of its candidates.
        let candidate = |version: &Self| version.candidate.unwrap_or(u64::MAX);
        self.numbers
            .cmp(&other.numbers)
            .then(candidate(self).cmp(&candidate(other)))
            .then(self.rest.cmp(&other.rest))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kernels_are() {
        let ascending = [
            "",
            "odd",
            "6.1",
            "6.1.192",
            "6.9",
            "6.12.117",
            "7.2",
            "7.3-rc2",
            "7.3-rc10",
            "7.3.0-rc10+",
            "7.3",
            "7.3-prague",
            "7.3.1",
        ];
        for pair in ascending.windows(2) {
            assert!(Version::new(pair[0]) < Version::new(pair[1]), "{pair:?}");
        }
        assert_eq!(Version::new("7.3"), Version::new("7.3.0"));
    }
}
