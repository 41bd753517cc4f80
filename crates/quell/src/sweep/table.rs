//! `quell sweep table`.

use quell_lab::results::present::{self, Block, Role};
use quell_lab::sweep::Store;
use quell_lab::sweep::table::{self, Table};

use crate::failure::Failure;
use crate::output::page::{Page, complain};
use crate::sweep::arguments::SweepTable;

/// Figures of the printed table, where the store has them and nobody chose others.
const FIGURES: [&str; 6] = [
    "link.utilisation",
    "queue.*.delay_ms.mean",
    "queue.*.delay_ms.p99",
    "queue.*.drop_ratio",
    "queue.*.mark_ratio",
    "not_dominated",
];

/// Prints or writes the table of a store.
pub(crate) fn table(arguments: &SweepTable, page: &mut Page) -> Result<(), Failure> {
    let store = Store::at(&arguments.store).trusted(arguments.trust);
    let table = if arguments.over_seeds {
        table::over_seeds(&store, arguments.confidence.unwrap_or(0.95))
    } else {
        table::read(&store)
    };
    let mut table = table.map_err(Failure::run)?;
    warn(&table);
    if !arguments.columns.is_empty() {
        table.select(&arguments.columns).map_err(Failure::input)?;
    }
    if let Some(out) = &arguments.out {
        table::write(&table, out).map_err(Failure::run)?;
        let (rows, columns) = (table.rows(), table.names().count());
        page.line(format_args!(
            "{rows} rows, {columns} columns: {}",
            out.display()
        ));
        return Ok(());
    }
    if arguments.columns.is_empty() {
        choose(&mut table);
    }
    print(&table, page);
    Ok(())
}

/// What the table lacks.
pub(crate) fn warn(table: &Table) {
    for (count, what) in [
        (table.missing, "are not in the store"),
        (table.failed, "failed"),
    ] {
        if count > 0 {
            complain(&format!("warning: {count} of the cells of the plan {what}"));
        }
    }
}

/// Whether a parameter is another one as a number.
pub(crate) fn is_number_of(name: &str, keys: &[&str]) -> bool {
    let ends = ["_ms", "_bps", "_bytes", "_packets"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end));
    stem.is_some_and(|stem| keys.contains(&stem))
}

/// Keeps the parameters as written, and a few figures.
fn choose(table: &mut Table) {
    let names: Vec<&str> = table.names().collect();
    let keys: Vec<&str> = table.keys().collect();
    let differs = |column: usize| {
        let mut rows = 1..table.rows();
        rows.any(|row| table.value(row, column) != table.value(0, column))
    };
    let shown = keys.iter().enumerate().filter(|(column, name)| {
        // What all rows share tells none of them apart.
        let useful = **name == "seed" || differs(*column);
        useful && **name != "cell" && !is_number_of(name, &keys)
    });
    let mut columns: Vec<String> = shown.map(|(_, name)| (*name).to_owned()).collect();
    for figure in FIGURES {
        let fits = |name: &&&str| table::fits(figure, name);
        columns.extend(names.iter().filter(fits).map(|name| (*name).to_owned()));
    }
    // Each of them is a column.
    let _ = table.select(&columns);
}

/// Rows that are printed; a person reads no more.
const MOST_ROWS: usize = 500;

fn print(table: &Table, page: &mut Page) {
    let names: Vec<&str> = table.names().collect();
    let (keys, figures) = names.split_at(table.keys().count());
    // A page has room for two labels; more become one.
    let labels: &[&str] = if keys.len() > 2 { &["row"] } else { keys };
    if keys.len() > 2 {
        page.paragraph(0, &format!("Each row begins with {}.", keys.join(", ")));
    }
    let is_number = |column: &usize| {
        let mut values = (0..table.rows()).map(|row| table.value(row, *column));
        values.all(|value| value.number().is_some() || value.text().is_empty())
    };
    let role = |column: usize| {
        if is_number(&column) {
            Role::Figure
        } else {
            Role::Word
        }
    };
    let labels = labels.iter().map(|name| (*name, Role::Label));
    let figures = figures.iter().enumerate();
    let figures = figures.map(|(index, name)| (*name, role(keys.len() + index)));
    let mut shown = present::Table::new(labels.chain(figures));
    for row in 0..table.rows().min(MOST_ROWS) {
        let texts = (0..keys.len()).map(|column| dash(table.value(row, column).text()));
        let mut cells: Vec<String> = texts.collect();
        if keys.len() > 2 {
            cells = vec![cells.join(" ")];
        }
        cells.extend((keys.len()..names.len()).map(|column| {
            let value = table.value(row, column);
            value.number().map_or_else(|| dash(value.text()), short)
        }));
        shown.row(cells);
    }
    page.blocks(&[Block::Table(shown)]);
    if table.rows() > MOST_ROWS {
        let more = table.rows() - MOST_ROWS;
        page.line(format_args!(
            "and {more} more rows; --out writes all of them"
        ));
    }
}

fn dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// A figure with four digits.
fn short(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if value.fract() == 0.0 && size < 1e9 => 0,
        _ if size >= 1_000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ if size >= 0.1 || size == 0.0 => 3,
        _ => 5,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn figures_have_about_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (3.0, "3"),
            (0.99912, "0.999"),
            (0.00012, "0.00012"),
            (12.3456, "12.35"),
            (123.456, "123.5"),
            (12_345.6, "12346"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
