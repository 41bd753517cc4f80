//! The objects of pages.
//!
//! The medians of the Web Almanac are those of each class of objects; the number of style sheets, fonts
//! and others, and the bytes of others, fill up to the median of the whole. Sizes within a class are
//! log-normal around its mean. The document reveals style sheets, scripts and three fifths of the
//! images; style sheets reveal fonts, scripts everything else.
//!
//! 3GPP's page is that of ns-3 (`three-gpp-http-variables.cc`): sizes are redrawn where they lie outside
//! their range, and so is the number of objects, of which 3.9 come on average.

use quell_units::{Bytes, Random, Sizes, words};

use crate::random_sizes::RandomSize;

words! {
    /// The objects of a page.
    pub enum Recipe {
        /// Median page for desktops of October 2024.
        Median2024 = "median-2024",
        /// Median page for mobiles of October 2024.
        Mobile2024 = "mobile-2024",
        /// 90th percentile of 2019.
        Heavy = "heavy",
        /// Main object and embedded ones of the 3GPP model.
        ThreeGpp = "3gpp",
        /// Objects of one size.
        Equal = "equal",
    }
}

/// Objects of one class: how many, and their bytes together, in kB.
type Class = (u32, u64);

/// Sizes for each page: the document, then the classes in the order of [`Order`].
const DESKTOP: (u64, [Class; 5]) = (18, [(8, 78), (24, 613), (18, 1_054), (5, 131), (15, 758)]);
const MOBILE: (u64, [Class; 5]) = (16, [(7, 68), (22, 534), (17, 918), (5, 114), (14, 661)]);
const HEAVY: (u64, [Class; 5]) = (
    41,
    [(20, 176), (61, 1_387), (45, 2_385), (13, 296), (39, 1_715)],
);

/// Style sheets, scripts, images, fonts, others: their places in a list of classes.
struct Order;

impl Order {
    const SHEETS: usize = 0;
    const SCRIPTS: usize = 1;
    const IMAGES: usize = 2;
    const FONTS: usize = 3;
}

/// The random sizes and numbers of a recipe.
#[derive(Debug, Clone)]
pub(super) enum PageModel {
    Classes {
        document: RandomSize,
        /// The classes in the order of [`Order`].
        classes: [(u32, RandomSize); 5],
    },
    ThreeGpp {
        main: RandomSize,
        embedded: RandomSize,
        number: RandomSize,
    },
    Equal {
        objects: u32,
        size: u64,
    },
}

/// An object as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedObject {
    pub(super) size: u64,
    /// The object whose end reveals it; `None` of the document, which is the first.
    pub(super) parent: Option<usize>,
}

impl PageModel {
    pub(super) fn new(recipe: Recipe, objects: u32, size: Bytes) -> Self {
        let classes = |(document, classes): (u64, [Class; 5])| Self::Classes {
            document: RandomSize::around(document * 1_000),
            classes: classes.map(|(count, kilobytes)| {
                (
                    count,
                    RandomSize::around(kilobytes * 1_000 / u64::from(count)),
                )
            }),
        };
        match recipe {
            Recipe::Median2024 => classes(DESKTOP),
            Recipe::Mobile2024 => classes(MOBILE),
            Recipe::Heavy => classes(HEAVY),
            Recipe::ThreeGpp => Self::ThreeGpp {
                main: RandomSize::log_normal(83_459, 13_660, (100, 2_000_000)),
                embedded: RandomSize::log_normal(61_657, 23_625, (50, 2_000_000)),
                number: RandomSize::new(&Sizes::Pareto {
                    alpha: 1_100_000,
                    min: Bytes::new(2),
                    max: Bytes::new(55),
                }),
            },
            Recipe::Equal => Self::Equal {
                objects,
                size: size.get(),
            },
        }
    }

    /// The objects of a page, the document first; `random` is the page's own. Adds them to `page`.
    pub(super) fn plan(&self, random: &mut Random, page: &mut Vec<PlannedObject>) {
        let mut add = |size: u64, parent| {
            page.push(PlannedObject { size, parent });
            page.len() - 1
        };
        match self {
            Self::Classes { document, classes } => {
                add(document.draw(random), None);
                let sheets = 1..1 + classes[Order::SHEETS].0 as usize;
                let scripts = sheets.end..sheets.end + classes[Order::SCRIPTS].0 as usize;
                for (class, (count, law)) in classes.iter().enumerate() {
                    for number in 0..*count {
                        let turn =
                            |of: &std::ops::Range<usize>| of.start + number as usize % of.len();
                        let parent = match class {
                            Order::SHEETS | Order::SCRIPTS => 0,
                            Order::IMAGES if number * 5 < count * 3 => 0,
                            Order::FONTS => turn(&sheets),
                            _ => turn(&scripts),
                        };
                        add(law.draw(random), Some(parent));
                    }
                }
            }
            Self::ThreeGpp {
                main,
                embedded,
                number,
            } => {
                add(main.draw(random), None);
                for _ in 2..number.draw(random) {
                    add(embedded.draw(random), Some(0));
                }
            }
            Self::Equal { objects, size } => {
                add(*size, None);
                for _ in 0..*objects {
                    add(*size, Some(0));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(recipe: Recipe, count: u64) -> Vec<Vec<PlannedObject>> {
        let model = PageModel::new(recipe, 0, Bytes::ZERO);
        let page = |number| {
            let mut page = Vec::new();
            model.plan(&mut Random::new(number, "page"), &mut page);
            page
        };
        (0..count).map(page).collect()
    }

    fn total(pages: &[Vec<PlannedObject>]) -> f64 {
        let sizes = pages.iter().flatten().map(|object| object.size);
        sizes.sum::<u64>() as f64 / pages.len() as f64
    }

    /// Web Almanac 2024: 2 652 kB in 71 requests; mobile 2 311 kB in 66; 2019, 90th percentile: 6 MB in 179.
    #[test]
    fn recipes_have_the_objects_and_the_bytes_of_their_sources() {
        for (recipe, objects, kilobytes) in [
            (Recipe::Median2024, 71, 2_652.0),
            (Recipe::Mobile2024, 66, 2_311.0),
            (Recipe::Heavy, 179, 6_000.0),
        ] {
            let pages = pages(recipe, 2_000);
            assert!(pages.iter().all(|page| page.len() == objects), "{recipe}");
            // The tail that is cut off holds 0.6 %; a page deviates by a quarter.
            let found = total(&pages) / 1_000.0 / kilobytes;
            assert!((found - 0.994).abs() < 0.02, "{recipe}: {found}");
            let first = &pages[0];
            assert_eq!(first[0].parent, None);
            for (index, object) in first.iter().enumerate().skip(1) {
                let parent = object.parent.unwrap();
                assert!(parent < index, "{recipe}");
                // At most two steps from the document.
                assert!(first[parent].parent.is_none_or(|parent| parent == 0));
            }
            let at_once = first
                .iter()
                .filter(|object| object.parent == Some(0))
                .count();
            assert!(
                at_once > objects / 2 && at_once < objects * 2 / 3,
                "{at_once}"
            );
        }
    }

    /// As ns-3 draws it: 3.92 embedded objects on average, not the 5.64 of a law that keeps its tail.
    #[test]
    fn a_page_of_3gpp_has_the_means_of_its_truncated_laws() {
        let count = 200_000;
        let pages = pages(Recipe::ThreeGpp, count);
        let objects: usize = pages.iter().map(|page| page.len() - 1).sum();
        let mean = objects as f64 / count as f64;
        // Deviation of the number 7.5: four standard errors 0.067.
        assert!((mean - 3.92).abs() < 0.07, "{mean}");
        let most = pages.iter().map(|page| page.len() - 1).max();
        assert_eq!(most, Some(52));
        let main = pages.iter().map(|page| page[0].size).sum::<u64>() as f64 / count as f64;
        assert!((main / 10_734.0 - 1.0).abs() < 0.02, "{main}");
        let embedded = (total(&pages) - main) / mean;
        assert!((embedded / 8_212.0 - 1.0).abs() < 0.02, "{embedded}");
    }
}
