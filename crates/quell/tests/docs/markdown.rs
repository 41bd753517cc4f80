//! The markers of a page, and the blocks that they speak of.

use std::ops::Range;

/// A page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// From the root of the project.
    pub(crate) name: String,
    pub(crate) text: String,
    /// In the order of the page.
    pub(crate) markers: Vec<Marker>,
}

/// Where text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// `quell …`.
    pub(crate) command: String,
    /// The beginning of the version of the guest kernel that it needs.
    pub(crate) kernel: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Marker {
    Output(Output),
    Figures(Figures),
    Numbers(Numbers),
    File(File),
}

/// The code block below a marker is a file that the page's commands use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) name: String,
    /// Of the block, without the fences.
    pub(crate) block: Range<usize>,
}

/// The code block below a marker is what a command prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) source: Source,
    /// Beginning of the first line that is shown.
    pub(crate) from: Option<String>,
    /// Beginning of the first line that is not.
    pub(crate) until: Option<String>,
    /// Where the marker begins.
    pub(crate) begin: usize,
    /// Of the block, without the fences.
    pub(crate) block: Range<usize>,
    pub(crate) line: usize,
}

/// The paragraph below a marker says these figures of a command's JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) source: Source,
    pub(crate) claims: Vec<Claim>,
    /// Of the marker and the paragraph.
    pub(crate) block: Range<usize>,
    pub(crate) line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// In the words of the paragraph; its first number is meant.
    pub(crate) text: String,
    pub(crate) relation: char,
    /// Into the JSON.
    pub(crate) path: String,
}

/// What is said from here on to the end of the section has an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) origin: String,
    /// From the end of the marker.
    pub(crate) scope: Range<usize>,
    pub(crate) line: usize,
}

impl Page {
    /// The files that the page shows, each with its text.
    pub(crate) fn files(&self) -> Vec<(&str, &str)> {
        let files = self.markers.iter().filter_map(|marker| match marker {
            Marker::File(file) => Some((file.name.as_str(), &self.text[file.block.clone()])),
            Marker::Output(_) | Marker::Figures(_) | Marker::Numbers(_) => None,
        });
        files.collect()
    }

    /// # Panics
    ///
    /// A marker is wrong.
    pub(crate) fn new(name: String, text: String) -> Self {
        let mut markers = Vec::new();
        let mut at = 0;
        while let Some(begin) = text[at..].find("\n<!-- ").map(|found| at + found + 1) {
            let end = begin + text[begin..].find("-->").expect("a comment without an end") + 3;
            let line = text[..begin].matches('\n').count() + 1;
            let words = text[begin + 5..end - 3].trim();
            if let Some(marker) = marker(words, &text, end, line) {
                markers.push(marker.unwrap_or_else(|why| panic!("{name}:{line}: {why}")));
            }
            at = end;
        }
        Self {
            name,
            text,
            markers,
        }
    }
}

fn marker(words: &str, text: &str, end: usize, line: usize) -> Option<Result<Marker, String>> {
    let (kind, rest) = words.split_once(':')?;
    let (kind, kernel) = match kind.split_once(", Linux ") {
        Some((kind, kernel)) => (kind, Some(kernel.to_owned())),
        None => (kind, None),
    };
    let rest = rest.trim();
    match kind {
        "output" => Some(output(rest, kernel, text, end, line)),
        "figures" => Some(figures(rest, kernel, text, end, line)),
        "file" => Some(block_below(text, end).map(|block| {
            Marker::File(File {
                name: rest.to_owned(),
                block,
            })
        })),
        "numbers" => Some(Ok(Marker::Numbers(Numbers {
            origin: rest.split_whitespace().collect::<Vec<_>>().join(" "),
            scope: end..end_of_section(text, end),
            line,
        }))),
        _ => None,
    }
}

fn output(
    rest: &str,
    kernel: Option<String>,
    text: &str,
    end: usize,
    line: usize,
) -> Result<Marker, String> {
    let mut parts = rest.split(" | ");
    let command = parts.next().unwrap_or_default().trim().to_owned();
    let (mut from, mut until) = (None, None);
    for part in parts.map(str::trim) {
        match part.split_once(' ') {
            Some(("from", line)) => from = Some(line.to_owned()),
            Some(("until", line)) => until = Some(line.to_owned()),
            _ => return Err(format!("what is {part}?")),
        }
    }
    let block = block_below(text, end)?;
    Ok(Marker::Output(Output {
        source: Source { command, kernel },
        from,
        until,
        begin: text[..end].rfind("<!--").unwrap_or(end),
        block,
        line,
    }))
}

/// The code block that begins in the line below `end`, without its fences.
fn block_below(text: &str, end: usize) -> Result<Range<usize>, String> {
    let after = text[end..]
        .strip_prefix("\n```")
        .ok_or("a code block stands below the marker")?;
    let begin = text.len() - after.len() + after.find('\n').ok_or("an open code block")? + 1;
    if text[begin..].starts_with("```") {
        return Ok(begin..begin);
    }
    let length = text[begin..]
        .find("\n```")
        .ok_or("a code block without an end")?;
    Ok(begin..begin + length + 1)
}

fn figures(
    rest: &str,
    kernel: Option<String>,
    text: &str,
    end: usize,
    line: usize,
) -> Result<Marker, String> {
    let mut lines = rest.lines();
    let command = lines.next().unwrap_or_default().trim().to_owned();
    let claim = |line: &str| {
        let (text, rest) = line.trim().strip_prefix('"')?.split_once("\" ")?;
        let (relation, path) = rest.split_once(' ')?;
        let relation = relation.parse().ok().filter(|c| "=<>".contains(*c))?;
        Some(Claim {
            text: text.to_owned(),
            relation,
            path: path.trim().to_owned(),
        })
    };
    let claims = lines
        .map(|line| claim(line).ok_or_else(|| format!("what is {line}?")))
        .collect::<Result<Vec<_>, _>>()?;
    let begin = text[..end].rfind("<!--").unwrap_or(end);
    let paragraph = text[end..].find("\n\n").unwrap_or(text.len() - end);
    Ok(Marker::Figures(Figures {
        source: Source { command, kernel },
        claims,
        block: begin..end + paragraph,
        line,
    }))
}

/// Where the next heading of the same or a higher level begins; before the first one, the page's end.
fn end_of_section(text: &str, at: usize) -> usize {
    let level = |line: &str| {
        let hashes = line.bytes().take_while(|&byte| byte == b'#').count();
        (hashes > 0 && line[hashes..].starts_with(' ')).then_some(hashes)
    };
    let mut own = None;
    let mut offset = 0;
    let mut code = false;
    for line in text.split_inclusive('\n') {
        code ^= line.starts_with("```");
        if let Some(level) = level(line).filter(|_| !code) {
            if offset < at {
                own = Some(level);
            } else if own.is_some_and(|own| level <= own) {
                return offset;
            }
        }
        offset += line.len();
    }
    text.len()
}

impl Output {
    /// Of what was printed, the lines that are shown.
    fn shown(&self, printed: &str) -> Result<String, String> {
        let lines: Vec<&str> = printed.lines().collect();
        let begins = |with: &str, after: usize| {
            let found = lines[after..]
                .iter()
                .position(|line| line.starts_with(with));
            found
                .map(|index| after + index)
                .ok_or_else(|| format!("prints no line that begins with {with:?}"))
        };
        let first = self.from.as_ref().map_or(Ok(0), |from| begins(from, 0))?;
        let last = self
            .until
            .as_ref()
            .map_or(Ok(lines.len()), |until| begins(until, first))?;
        Ok(format!("{}\n", lines[first..last].join("\n").trim_end()))
    }

    /// The block against what was printed.
    pub(crate) fn compare(
        &self,
        page: &mut String,
        printed: &str,
        bless: bool,
    ) -> Result<(), String> {
        let shown = self.shown(printed)?;
        let block = &page[self.block.clone()];
        if masked(block) == masked(&shown) {
            return Ok(());
        }
        if bless {
            page.replace_range(self.block.clone(), &shown);
            return Ok(());
        }
        let (old, new) = (masked(block), masked(&shown));
        let first = old
            .lines()
            .zip(new.lines())
            .find(|(old, new)| old != new)
            .map_or_else(
                || {
                    let (old, new) = (old.lines().count(), new.lines().count());
                    format!("{old} lines on the page, {new} printed")
                },
                |(old, new)| format!("on the page\n  {old}\nand printed\n  {new}"),
            );
        Err(first)
    }
}

/// Without the names of result folders, which carry a time, and a number where several runs begin in one second.
fn masked(text: &str) -> String {
    let line = |line: &str| {
        let Some(found) = line.find("results/2") else {
            return line.to_owned();
        };
        let rest = &line[found..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        format!("{}results/FOLDER{}", &line[..found], &rest[end..])
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn markers_know_their_blocks_and_sections() {
    let text = "# T\n\n<!-- numbers: defined by this -->\n## A\n\n<!-- output: quell x | from b | until d -->\n```text\nb 1\nc\n```\n\n\
                <!-- figures, Linux 7.2: quell y\n\"1.5 ms\" = a/b\n-->\nIt is 1.5 ms.\nYes.\n\n<!-- other -->\n## B\n";
    let mut page = Page::new("p".to_owned(), text.to_owned());
    let [
        Marker::Numbers(numbers),
        Marker::Output(output),
        Marker::Figures(figures),
    ] = &page.markers.clone()[..]
    else {
        panic!("{:?}", page.markers);
    };
    assert_eq!(numbers.scope.end, text.len());
    assert_eq!(&text[output.block.clone()], "b 1\nc\n");
    assert_eq!(figures.source.kernel.as_deref(), Some("7.2"));
    assert!(text[figures.block.clone()].ends_with("It is 1.5 ms.\nYes."));
    assert_eq!((output.line, figures.line), (6, 12));
    let printed = "a\nb 1\nc\n\nd\n";
    assert_eq!(output.compare(&mut page.text, printed, false), Ok(()));
    let other = printed.replace('1', "2");
    let why = output.compare(&mut page.text, &other, false).unwrap_err();
    assert!(why.contains("b 1") && why.contains("b 2"), "{why}");
    output.compare(&mut page.text, &other, true).unwrap();
    assert_eq!(page.text, text.replace("b 1", "b 2"));
    assert!(output.compare(&mut page.text, "a\n", false).is_err());
}

#[test]
fn the_name_of_a_result_does_not_count() {
    let one = "in results/20261121T193658Z-x-2 too\n";
    assert_eq!(masked(one), "in results/FOLDER too\n");
    assert_eq!(masked("x\n"), "x\n");
}
