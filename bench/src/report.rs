//! Numbers as people read them: medians with quartiles, and Markdown tables.

use std::fmt;

/// The median and the quartiles of some figures.
pub(crate) struct Figures {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Figures {
    pub(crate) fn new(taken: &[f64]) -> Self {
        let mut sorted = taken.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self { low: at(&sorted, 1), median: at(&sorted, 2), high: at(&sorted, 3) }
    }

    /// Of the ratios within each round.
    pub(crate) fn ratios(taken: &[f64], ours: &[f64]) -> Self {
        Self::new(&taken.iter().zip(ours).map(|(one, our)| one / our).collect::<Vec<_>>())
    }
}

/// The value so many quarters up the sorted ones, between two neighbours in proportion.
fn at(sorted: &[f64], quarters: usize) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let (below, part) = (last * quarters / 4, (last * quarters % 4) as f64 / 4.0);
    sorted[below] + (sorted[(below + 1).min(last)] - sorted[below]) * part
}

/// `42 (40-45) 1.31x`.
pub(crate) fn timing(figures: &Figures, ratios: &Figures) -> String {
    let Figures { low, median, high } = figures;
    let digits = usize::from(*median < 10.0);
    format!("{median:.digits$} ({low:.digits$}-{high:.digits$}) {:.2}x", ratios.median)
}

/// What was found, or a dash.
pub(crate) fn shown(found: Option<f64>, show: impl Fn(f64) -> String) -> String {
    found.map_or("-".to_owned(), show)
}

/// 10M, 100k, 1.
pub(crate) fn short(keys: impl Into<u64>) -> String {
    match keys.into() {
        millions if millions >= 1_000_000 && millions % 1_000_000 == 0 => {
            format!("{}M", millions / 1_000_000)
        }
        thousands if thousands >= 1_000 && thousands % 1_000 == 0 => format!("{}k", thousands / 1_000),
        ones => ones.to_string(),
    }
}

/// 1 key, 4 keys.
pub(crate) fn counted(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        many => format!("{} {noun}s", short(many)),
    }
}

/// A Markdown table whose source is aligned too.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(first: &str, others: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut table = Self { rows: Vec::new() };
        table.row(&first, others);
        table
    }

    pub(crate) fn row(&mut self, first: &impl ToString, others: impl IntoIterator<Item = impl Into<String>>) {
        let others = others.into_iter().map(Into::into);
        self.rows.push(std::iter::once(first.to_string()).chain(others).collect());
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                write!(f, "| {cell:<width$} ", width = self.width(column))?;
            }
            writeln!(f, "|")?;
            if index == 0 {
                let dashes = |column| "-".repeat(self.width(column) + 2);
                writeln!(f, "|{}|", (0..row.len()).map(dashes).collect::<Vec<_>>().join("|"))?;
            }
        }
        Ok(())
    }
}
