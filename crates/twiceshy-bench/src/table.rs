//! The table for people, the list for programs and the file for spreadsheets.

use crate::row::Row;
use anyhow::Context;
use std::fmt::Write;
use std::path::Path;

/// A column: its heading in two lines, and its text for a row.
type Column = (&'static str, &'static str, fn(&Row) -> String);

const COLUMNS: [Column; 16] = [
    ("", "bits/key", |row| number(row.bits_per_key, 2)),
    ("", "load", |row| number(row.load, 3)),
    ("false", "positive", |row| percent(row.fpr)),
    ("", "insert", |row| number(row.insert_mops, 2)),
    ("insert", "spread", |row| percent(row.insert_spread)),
    ("insert", "batch", |row| number(row.insert_batch_mops, 2)),
    ("remote", "alone", |row| number(row.remote_insert_mops, 2)),
    ("", "positive", |row| number(row.positive_mops, 1)),
    ("", "mixed", |row| number(row.mixed_mops, 1)),
    ("", "negative", |row| number(row.negative_mops, 1)),
    ("negative", "spread", |row| percent(row.negative_spread)),
    ("negative", "batch", |row| number(row.negative_batch_mops, 1)),
    ("negative", "adapted", |row| number(row.negative_adapted_mops, 1)),
    ("positive", "adapted", |row| number(row.positive_adapted_mops, 1)),
    ("negative", "to floor", |row| number(row.negative_to_floor, 2)),
    ("negative", "to qfilter", |row| number(row.negative_to_qfilter, 2)),
];

fn number(number: Option<f64>, digits: usize) -> String {
    number.map_or("-".into(), |number| format!("{number:.digits$}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.2} %", share * 100.0))
}

/// The rows of one number of keys as a table, with what cannot be seen in it below.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let keys = rows.first().map_or(0, |row| row.keys);
    let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let widths = COLUMNS.map(|(first, second, cell)| {
        let cells = rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
        cells.max(first.len()).max(second.len())
    });
    let mut line = |name: &str, cells: [String; COLUMNS.len()]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("  {cell:>width$}"));
        let line = format!("{name:<name_width$}{}", cells.collect::<String>());
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(&format!("{keys} keys"), COLUMNS.map(|(first, ..)| first.into()));
    line("", COLUMNS.map(|(_, second, _)| second.into()));
    for row in rows {
        line(&row.name, COLUMNS.map(|(_, _, cell)| cell(row)));
    }
    for row in rows.iter().filter(|row| row.lost_keys.is_some_and(|lost| lost > 0)) {
        let _ = writeln!(text, "{} reports {} stored keys as absent", row.name, row.lost_keys.unwrap_or(0));
    }
    text
}

/// All rows as one JSON list.
pub fn json(rows: &[Row]) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(rows)?)
}

/// Writes all rows as a CSV file.
pub fn write_csv<T: serde::Serialize>(rows: &[T], path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("{} could not be written", path.display());
    let mut file = csv::Writer::from_path(path).with_context(cannot)?;
    for row in rows {
        file.serialize(row).with_context(cannot)?;
    }
    file.flush().with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_row_and_says_which_filter_lost_keys() {
        let row = |name: &str, lost| Row {
            name: name.into(),
            keys: 5,
            fpr: Some(0.00391),
            lost_keys: Some(lost),
            ..Row::default()
        };
        let text = table(&[row("a", 0), row("leaky", 3)]);
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("0.39 %") && text.ends_with("leaky reports 3 stored keys as absent\n"), "{text}");
    }
}
