//! The writer for terminals: a page as wide as the terminal, tables that fit it, labels that are shortened so that they still differ.

mod grid;
pub mod labels;
mod page;
mod writer;

pub use page::Page;
