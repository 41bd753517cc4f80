//! A page as one HTML file that asks for nothing from elsewhere.
//!
//! Text becomes HTML in one place, [`Html::text`], so none of it can be forgotten. The page is whole without its script, which shows the
//! values of pictures under the pointer and copies texts.

use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

use super::{Block, Cell, Document, Mark, Role, Row, Table};
use crate::plot::{self, Figure, escaped};

pub(crate) const STYLE: &str = include_str!("page.css");
pub(crate) const SCRIPT: &str = include_str!("page.js");
/// Points of a line of a picture that the page knows.
const POINTS: usize = 600;
/// Says how a picture shows its values.
const HINT: &str = "Point at a picture to see its values, or focus it and use the arrow keys.";

/// A page of more sections than these has a table of contents.
const MANY: usize = 6;

/// HTML in the making.
struct Html {
    out: String,
    /// The hint about pictures is there.
    is_hinted: bool,
}

impl Html {
    /// Adds text, which is no HTML.
    fn text(&mut self, text: &str) {
        self.out.push_str(&escaped(text));
    }

    /// Adds an element with these attributes.
    fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        inner: impl FnOnce(&mut Self),
    ) {
        self.out.extend(["<", tag]);
        for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            self.out.extend([" ", name, "=\""]);
            self.text(value);
            self.out.push('"');
        }
        self.out.push('>');
        inner(self);
        self.out.extend(["</", tag, ">"]);
    }

    /// Adds an element with nothing but text, on a line of its own.
    fn line(&mut self, tag: &'static str, class: &str, text: &str) {
        self.element(tag, &[("class", class)], |html| html.text(text));
        self.out.push('\n');
    }

    fn blocks(&mut self, blocks: &[Block], level: usize) {
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            self.block(block, level);
        }
        let has_picture = blocks
            .iter()
            .any(|block| matches!(block, Block::Picture(..)));
        if has_picture && !self.is_hinted {
            self.is_hinted = true;
            self.line("p", "faint", HINT);
        }
    }

    fn block(&mut self, block: &Block, level: usize) {
        match block {
            Block::Text(text) | Block::Explanation(text) => self.line("p", "", text),
            Block::Terms(terms) => {
                self.list("", terms.iter().map(|(term, text)| (&**term, &**text)))
            }
            Block::Remarks(texts) => self.list("", texts.iter().map(|text| ("", &**text))),
            Block::Warnings(texts) => {
                self.list("warnings", texts.iter().map(|text| ("", &**text)));
            }
            Block::Table(table) => self.table(&table.trimmed()),
            Block::Picture(figure, name) => self.picture(figure, name),
            Block::Svg(drawing) => {
                self.element(
                    "figure",
                    &[("class", "scroll"), ("id", "drawing")],
                    |html| {
                        html.out.push_str(drawing);
                    },
                );
                self.out.push('\n');
            }
            Block::Code(name, text) => {
                let copy = [("hidden", "hidden"), ("data-copy", name.as_str())];
                self.element("button", &copy, |html| html.text("Copy"));
                self.element("pre", &[("id", name)], |html| html.text(text));
                self.out.push('\n');
            }
            Block::Details(summary, blocks) | Block::Folded(summary, blocks) => {
                self.element("details", &[], |html| {
                    html.line("summary", "", summary);
                    html.blocks(blocks, level);
                });
                self.out.push('\n');
            }
            Block::Section(heading, blocks) => {
                let tag = if level == 0 { "h2" } else { "h3" };
                self.element("section", &[("id", &*anchor(heading))], |html| {
                    html.out.push('\n');
                    html.line(tag, "", heading);
                    html.blocks(blocks, level + 1);
                });
                self.out.push('\n');
            }
        }
    }

    /// Links to the sections, where there are many.
    fn contents(&mut self, blocks: &[Block]) {
        let headings = blocks.iter().filter(|block| !block.is_empty());
        let headings: Vec<&String> = headings
            .filter_map(|block| match block {
                Block::Section(heading, _) => Some(heading),
                _ => None,
            })
            .collect();
        if headings.len() > MANY {
            self.element("nav", &[], |html| {
                html.element("ul", &[], |html| {
                    for heading in headings {
                        let to = format!("#{}", anchor(heading));
                        html.element("li", &[], |html| {
                            html.element("a", &[("href", &*to)], |html| html.text(heading));
                        });
                    }
                });
            });
            self.out.push('\n');
        }
    }

    fn list<'a>(&mut self, class: &str, items: impl Iterator<Item = (&'a str, &'a str)>) {
        self.element("ul", &[("class", class)], |html| {
            html.out.push('\n');
            for (term, text) in items {
                html.element("li", &[], |html| {
                    if !term.is_empty() {
                        html.element("b", &[], |html| html.text(term));
                        html.text(": ");
                    }
                    html.text(text);
                });
                html.out.push('\n');
            }
        });
        self.out.push('\n');
    }

    fn table(&mut self, table: &Table) {
        let columns = table.columns.iter();
        let classes: Vec<&str> = columns.map(|column| class_of(column.role)).collect();
        self.element("div", &[("class", "scroll")], |html| {
            html.element("table", &[], |html| {
                html.out.push('\n');
                if !table.caption.is_empty() {
                    html.line("caption", "", &table.caption);
                }
                html.element("thead", &[], |html| {
                    html.element("tr", &[], |html| {
                        for (column, class) in table.columns.iter().zip(&classes) {
                            let attributes = [("scope", "col"), ("class", class)];
                            html.element("th", &attributes, |html| html.text(&column.head));
                        }
                    });
                });
                html.out.push('\n');
                html.element("tbody", &[], |html| {
                    html.out.push('\n');
                    for row in &table.rows {
                        html.row(row, &classes);
                    }
                });
                html.out.push('\n');
            });
        });
        self.out.push('\n');
    }

    fn row(&mut self, row: &Row, classes: &[&str]) {
        self.element("tr", &[], |html| match row {
            Row::Note(text) => {
                let attributes = [("class", "note"), ("colspan", &*classes.len().to_string())];
                html.element("td", &attributes, |html| html.text(text));
            }
            Row::Cells(cells) | Row::Below(cells) => {
                for (cell, class) in cells.iter().zip(classes) {
                    html.cell(cell, class);
                }
            }
        });
        self.out.push('\n');
    }

    fn cell(&mut self, cell: &Cell, class: &str) {
        let marked = match cell.mark {
            None => "",
            Some(Mark::Higher) => "higher",
            Some(Mark::Lower) => "lower",
            Some(Mark::Met) => "met",
            Some(Mark::Missed) => "missed",
        };
        let class = [class, marked].join(" ");
        self.element("td", &[("class", class.trim())], |html| {
            html.text(&cell.text);
            if !cell.half.is_empty() {
                html.text(&format!(" ± {}", cell.half));
            }
            html.text(cell.mark.map_or("", Mark::arrow));
        });
    }

    fn picture(&mut self, figure: &Figure, name: &str) {
        let (svg, values) = plot::svg_with_values(figure, name, POINTS);
        let values_of = format!("{name}-values");
        self.element("figure", &[("data-plot", &values_of)], |html| {
            html.out.push('\n');
            html.element("div", &[("class", "scroll")], |html| {
                html.out.push_str(&svg)
            });
            html.out.push('\n');
            let attributes = [("type", "application/json"), ("id", &*values_of)];
            // Within a script the text ends at the next such tag, whatever is around it.
            let values = values.to_string().replace('<', "\\u003c");
            html.element("script", &attributes, |html| html.out.push_str(&values));
            html.out.push('\n');
        });
        self.out.push('\n');
    }
}

/// The place of a section: the letters and digits of its heading.
fn anchor(heading: &str) -> String {
    heading.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn class_of(role: Role) -> &'static str {
    match role {
        Role::Label => "",
        Role::Word => "word",
        Role::Figure | Role::Extra(_) => "number",
    }
}

/// The page.
pub fn page(document: &Document) -> String {
    let mut html = Html {
        out: String::new(),
        is_hinted: false,
    };
    html.out.push_str("<!DOCTYPE html>\n");
    html.element("html", &[("lang", "en")], |html| {
        html.out.push('\n');
        html.element("head", &[], |html| head(html, &document.title));
        html.out.push('\n');
        html.element("body", &[], |html| {
            html.out.push('\n');
            html.element("main", &[], |html| {
                html.out.push('\n');
                html.line("h1", "", &document.title);
                html.contents(&document.blocks);
                html.blocks(&document.blocks, 0);
            });
            html.out.push('\n');
            html.element("script", &[], |html| html.out.push_str(SCRIPT));
            html.out.push('\n');
        });
        html.out.push('\n');
    });
    html.out.push('\n');
    html.out
}

/// Only the script of the page runs, and nothing is asked for.
fn head(html: &mut Html, title: &str) {
    let hash = BASE64.encode(&Sha256::digest(SCRIPT.as_bytes()));
    html.out.push_str(&format!(
        "\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"quell {}\">\n",
        env!("CARGO_PKG_VERSION"),
    ));
    html.line("title", "", title);
    html.element("style", &[], |html| html.out.push_str(STYLE));
    html.out.push('\n');
}
