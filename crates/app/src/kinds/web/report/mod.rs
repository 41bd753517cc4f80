//! The report of the web: about items, or about pages.

mod items;
mod pages;

use crate::{Causes, FigureInfo, FormInfo, KindReport, Value};

pub(super) use items::Fetched;
pub use items::{BySize, ItemsReport, RANGES};
pub(super) use pages::LoadedPage;
pub use pages::PagesReport;

/// The report about items or about pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebReport {
    /// About items.
    Items(Box<ItemsReport>),
    /// About pages.
    Pages(Box<PagesReport>),
}

impl KindReport for WebReport {
    fn forms() -> Vec<FormInfo> {
        vec![items::FORM.info(), pages::FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        match self {
            Self::Items(report) => items::FORM.of(report),
            Self::Pages(report) => pages::FORM.of(report),
        }
    }
    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Items(report), Self::Items(other)) => {
                report.add(other);
                report.in_flight += other.in_flight;
                report.oldest = report.oldest.max(other.oldest);
            }
            (Self::Pages(report), Self::Pages(other)) => {
                report.add(other);
                report.in_flight += other.in_flight;
                report.oldest = report.oldest.max(other.oldest);
            }
            (Self::Items(_) | Self::Pages(_), _) => {}
        }
    }
    /// An item or page that was in flight before has ended since, or still is.
    fn append(&mut self, next: &Self) {
        match (self, next) {
            (Self::Items(report), Self::Items(next)) => {
                report.add(next);
                report.in_flight = next.in_flight;
                report.oldest = next.oldest;
            }
            (Self::Pages(report), Self::Pages(next)) => {
                report.add(next);
                report.in_flight = next.in_flight;
                report.oldest = next.oldest;
            }
            (Self::Items(_) | Self::Pages(_), _) => {}
        }
    }
    fn explain(&mut self, causes: &Causes) {
        match self {
            Self::Items(report) => report.causes.add(causes),
            Self::Pages(_) => {}
        }
    }
}
