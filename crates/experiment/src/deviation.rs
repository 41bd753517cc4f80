//! How far each figure of a grid is from its source: one row per figure instead of one per run.

use quell_lab::results::present::Table;

/// Figures in the order in which they were first added, each with its runs: where, published, ours.
#[derive(Debug, Default)]
pub(crate) struct Deviations(Vec<(String, Vec<Run>)>);

#[derive(Debug, Clone)]
struct Run {
    place: String,
    published: f64,
    ours: f64,
}

impl Run {
    /// In percent of the published figure.
    fn off(&self) -> f64 {
        100.0 * (self.ours / self.published - 1.0)
    }
}

impl Deviations {
    /// Adds a run of a figure.
    pub(crate) fn add(&mut self, figure: &str, place: &str, published: f64, ours: f64) {
        let run = Run {
            place: place.to_owned(),
            published,
            ours,
        };
        match self.0.iter_mut().find(|(known, _)| *known == figure) {
            Some((_, runs)) => runs.push(run),
            None => self.0.push((figure.to_owned(), vec![run])),
        }
    }

    /// How many runs are within `band` percent, and the one that is furthest off, with values as `show` writes them.
    pub(crate) fn table(&self, band: f64, show: &dyn Fn(f64) -> String) -> Table {
        let within = format!("within {band} %");
        let mut table = Table::of_words(&[
            "figure",
            "rows",
            &within,
            "furthest off",
            "published / quell",
            "in row",
        ]);
        for (figure, runs) in &self.0 {
            let inside = runs.iter().filter(|run| run.off().abs() <= band).count();
            let furthest = |a: &&Run, b: &&Run| a.off().abs().total_cmp(&b.off().abs());
            let Some(furthest) = runs.iter().max_by(furthest) else {
                continue;
            };
            table.row([
                figure.clone(),
                runs.len().to_string(),
                inside.to_string(),
                format!("{:+.1} %", furthest.off()),
                format!("{} / {}", show(furthest.published), show(furthest.ours)),
                furthest.place.clone(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_furthest_run_of_each_figure_is_shown() {
        let mut deviations = Deviations::default();
        deviations.add("drops", "a", 2.0, 1.0);
        deviations.add("drops", "b", 2.0, 2.2);
        deviations.add("marks", "a", 1.0, 1.0);
        let rows = deviations
            .table(15.0, &|value| format!("{value:.1}"))
            .to_csv();
        let (_, rows) = rows.split_once('\n').unwrap();
        assert_eq!(
            rows,
            "drops,2,1,-50.0 %,2.0 / 1.0,a\nmarks,1,1,+0.0 %,1.0 / 1.0,a\n"
        );
    }
}
