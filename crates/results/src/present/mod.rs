//! Tables, and pages of them: described once, then written for a terminal, as HTML, as Markdown or as CSV.
//!
//! A description knows neither widths nor markup, and a writer knows neither results nor report cards. What stands in a description is
//! text, which each writer makes safe: a name of a scenario can neither end an element of HTML nor control a terminal.

pub(crate) mod html;
mod plain;
mod table;
pub mod terminal;

use crate::plot::Figure;

pub use html::page;
pub use plain::csv_cells;
pub use table::{Cell, Column, Mark, Role, Row, Table};

/// A page: sections, and their blocks.
#[derive(Debug)]
pub struct Document {
    /// Its title, which only HTML shows.
    pub title: String,
    /// What it consists of.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph that explains what stands beside it. A terminal leaves it out.
    Explanation(String),
    /// Terms, each with a text about it.
    Terms(Vec<(String, String)>),
    /// A list of remarks.
    Remarks(Vec<String>),
    /// Reasons to doubt the figures.
    Warnings(Vec<String>),
    /// A table, unless it has no rows.
    Table(Table),
    /// A picture, under a name that no other picture of the page has: letters, digits and hyphens. A terminal leaves it out.
    Picture(Figure, String),
    /// A drawing as SVG, whose texts are safe. A terminal leaves it out.
    Svg(String),
    /// What a reader copies, under a name as that of a picture. A terminal leaves it out.
    Code(String, String),
    /// Blocks that appear when a reader asks for them, below a title. A terminal leaves them out.
    Details(String, Vec<Block>),
    /// Blocks below a heading, which a page shows when a reader asks for them.
    Folded(String, Vec<Block>),
    /// Blocks below a heading; nothing where none of them shows anything.
    Section(String, Vec<Block>),
}

impl Block {
    /// Whether there is nothing to show.
    fn is_empty(&self) -> bool {
        match self {
            Self::Table(table) => table.is_empty(),
            Self::Terms(terms) => terms.is_empty(),
            Self::Remarks(texts) | Self::Warnings(texts) => texts.is_empty(),
            Self::Details(_, blocks) | Self::Folded(_, blocks) | Self::Section(_, blocks) => {
                let explains = |block: &Self| matches!(block, Self::Explanation(_));
                blocks
                    .iter()
                    .all(|block| explains(block) || block.is_empty())
            }
            Self::Text(text) | Self::Explanation(text) => text.is_empty(),
            Self::Picture(..) | Self::Svg(_) | Self::Code(..) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Panel};

    /// A page with this text in every place that takes text.
    fn page_of(text: &str) -> Document {
        let own = || text.to_owned();
        let mut table = Table::new([(text, Role::Label), (text, Role::Figure)]).captioned(text);
        let marked = Cell {
            text: own(),
            half: own(),
            mark: Some(Mark::Higher),
        };
        table.row([text.into(), marked]);
        table.below([text, text]);
        table.note(text);
        let figure = Figure {
            title: own(),
            panels: vec![Panel::new(text, Axis::new(text, ""), Axis::new(text, ""))],
            columns: 1,
        };
        let mut blocks = vec![
            Block::Text(own()),
            Block::Explanation(own()),
            Block::Terms(vec![(own(), own())]),
            Block::Remarks(vec![own()]),
            Block::Warnings(vec![own()]),
            Block::Table(table),
            Block::Picture(figure, "picture".to_owned()),
            Block::Code("code".to_owned(), own()),
        ];
        let section = Block::Section(own(), vec![Block::Text(own())]);
        blocks.push(Block::Details(own(), vec![section]));
        blocks.push(Block::Folded(own(), vec![Block::Text(own())]));
        blocks.extend((0..9).map(|_| Block::Section(own(), vec![Block::Text(own())])));
        Document {
            title: own(),
            blocks,
        }
    }

    #[test]
    fn no_text_becomes_markup_or_controls_a_terminal() {
        let hostile = "a</td></pre></script><img src=x onerror=\"alert(1)\" id='\u{1b}[31m&b";
        let document = page_of(hostile);
        let html = page(&document);
        assert!(!html.contains("<img") && !html.contains('\u{1b}'), "{html}");
        assert_eq!(
            html.matches("</script>").count(),
            html.matches("<script").count()
        );
        // As many elements as with a text that is harmless.
        let harmless = page(&page_of("text"));
        assert_eq!(html.matches('<').count(), harmless.matches('<').count());
        let mut text = terminal::Page::new(80);
        text.blocks(&document.blocks);
        assert!(!text.text().contains('\u{1b}'), "{}", text.text());
    }

    #[test]
    fn what_has_no_rows_is_left_out_with_its_heading() {
        let empty = || Block::Table(Table::new([("a", Role::Label)]));
        let blocks = [
            Block::Section(
                "nothing".to_owned(),
                vec![Block::Explanation("why".to_owned()), empty()],
            ),
            Block::Details("nothing".to_owned(), vec![empty()]),
            Block::Warnings(Vec::new()),
            Block::Section("some".to_owned(), vec![Block::Text("thing".to_owned())]),
        ];
        let mut text = terminal::Page::new(80);
        text.blocks(&blocks);
        // A terminal has no pictures, nor what is made to be copied.
        let code = Block::Code("name".to_owned(), "code".to_owned());
        text.blocks(&[Block::Section("pictures".to_owned(), vec![code])]);
        assert_eq!(text.text(), "some\nthing\n");
        let html = page(&Document {
            title: "title".to_owned(),
            blocks: blocks.into(),
        });
        assert!(
            !html.contains("nothing") && html.contains("<h2>some</h2>\n<p>thing</p>"),
            "{html}"
        );
    }

    #[test]
    fn a_wide_terminal_shows_halves_and_a_repeated_label_once() {
        let mut table = Table::new([
            ("queue", Role::Label),
            ("group", Role::Label),
            ("delay ms", Role::Figure),
        ]);
        for group in ["l4s", "classic"] {
            let delay = Cell {
                text: "1.5".to_owned(),
                half: "0.25".to_owned(),
                mark: Some(Mark::Lower),
            };
            table.row(["fifo".into(), group.into(), delay]);
        }
        let printed = |columns: usize| {
            let mut page = terminal::Page::new(columns);
            page.blocks(&[Block::Table(table.clone())]);
            page.text().to_owned()
        };
        assert_eq!(
            printed(80),
            "queue  group       delay ms\n\
             fifo   l4s      1.5 ± 0.25▼\n       \
             classic  1.5 ± 0.25▼\n"
        );
        let narrow = printed(22);
        assert!(
            !narrow.contains('±') && narrow.matches("1.5▼").count() == 2,
            "{narrow}"
        );
        assert_eq!(narrow.matches("fifo").count(), 1, "{narrow}");
    }
}
