//! Writes the blocks of a description on a page of text.

use super::labels::length;
use super::{Page, grid};
use crate::present::Block;

impl Page {
    /// Adds blocks of a description.
    pub fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks.iter().filter(|block| is_shown(block)) {
            match block {
                Block::Text(text) => self.paragraph(0, text),
                Block::Terms(terms) => {
                    let heads = terms.iter().map(|(term, _)| length(term)).max();
                    let width = heads.unwrap_or(0);
                    for (term, text) in terms {
                        let blank = width - length(term);
                        self.hanging(&format!("{term}:{:blank$} ", ""), text);
                    }
                }
                Block::Remarks(texts) => texts.iter().for_each(|text| self.hanging("- ", text)),
                Block::Warnings(texts) => {
                    self.gap();
                    for text in texts {
                        self.paragraph(0, &format!("warning: {text}"));
                    }
                }
                Block::Table(table) => {
                    self.gap();
                    grid::print(table, self);
                }
                Block::Section(heading, blocks) | Block::Folded(heading, blocks) => {
                    self.heading(heading);
                    self.blocks(blocks);
                }
                Block::Explanation(_)
                | Block::Picture(..)
                | Block::Svg(_)
                | Block::Code(..)
                | Block::Details(..) => {}
            }
        }
    }
}

/// Whether a terminal shows something of a block.
fn is_shown(block: &Block) -> bool {
    match block {
        Block::Explanation(_)
        | Block::Picture(..)
        | Block::Svg(_)
        | Block::Code(..)
        | Block::Details(..) => false,
        Block::Section(_, blocks) | Block::Folded(_, blocks) => blocks.iter().any(is_shown),
        block => !block.is_empty(),
    }
}
