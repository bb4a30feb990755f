//! A table of data in the page.

use super::number::{grouped, plain, scientific};
use crate::experiment::{Table, Value};
use maud::{Markup, html};

/// The most lines shown on the page, which is kept small enough to be sent around; the CSV file has them all.
const MOST_LINES: usize = 100;

/// The columns that are the same in every line of a run: the head of the page has them.
const OF_RUN: [&str; 3] = ["size", "seed", "version"];

/// The table as markup, for a box that scrolls.
pub(super) fn table(table: &Table) -> Markup {
    let shown = |(_, column): &(usize, &String)| !OF_RUN.contains(&column.as_str());
    let columns: Vec<(usize, &String, Style)> = table
        .columns()
        .iter()
        .enumerate()
        .filter(shown)
        .map(|(at, column)| (at, column, Style::of(table, column)))
        .collect();
    html! {
        table.data {
            thead { tr { @for (_, column, style) in &columns { th scope="col" class=[style.class()] { (column) } } } }
            tbody { @for row in table.rows().take(MOST_LINES) {
                tr { @for (value, style) in columns.iter().filter_map(|(at, _, style)| Some((row.values().get(*at)?, style))) {
                    td class=[style.class()] { (style.text(value)) }
                } }
            } }
        }
    }
}

/// A note about lines that are left out of the page, if there are any.
pub(super) fn left_out(table: &Table) -> Option<String> {
    let rest = table.len().checked_sub(MOST_LINES).filter(|rest| *rest > 0)?;
    Some(format!("These are the first {MOST_LINES}. {} further lines are in the CSV file only.", grouped(rest as u64)))
}

/// The number format of a column: the same for all its values, so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Words,
    Decimals(usize),
    Scientific,
}

impl Style {
    fn of(table: &Table, column: &str) -> Style {
        let cells = || table.rows().filter_map(|row| row.get(column));
        let fractions =
            || cells().filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None });
        let sizes = || fractions().map(f64::abs).filter(|size| *size > 0.0 && size.is_finite());
        // An empty cell means that a value is missing. It does not turn a column of numbers into text.
        if !cells().all(|value| value.number().is_some() || value.to_string().is_empty()) || table.is_empty() {
            return Style::Words;
        }
        if sizes().any(|size| !(5e-3..1e15).contains(&size)) {
            return Style::Scientific;
        }
        // Four digits of the smallest value, but no decimals that are zero in every value.
        let least = sizes().fold(f64::INFINITY, f64::min).log10().floor();
        let wanted = if least.is_finite() { (3.0 - least).clamp(0.0, 5.0) as usize } else { 0 };
        let used = |decimals: usize| fractions().any(|number| has_digit_at(number, decimals));
        Style::Decimals((1..=wanted).rev().find(|decimals| used(*decimals)).unwrap_or(0))
    }

    fn class(self) -> Option<&'static str> {
        (self != Style::Words).then_some("number")
    }

    fn text(self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Count(count)) => grouped(*count),
            (_, Value::Text(text)) => text.clone(),
            (_, Value::Number(0.0)) => "0".into(),
            (_, Value::Number(number)) if !number.is_finite() => "–".into(),
            (Style::Decimals(decimals), Value::Number(number)) => plain(*number, decimals),
            (Style::Scientific, Value::Number(number)) => scientific(*number),
            (Style::Words, Value::Number(number)) if number.abs() < 5e-3 => scientific(*number),
            (Style::Words, value @ Value::Number(_)) => value.to_string(),
        }
    }
}

/// `true` if a number has a nonzero digit at decimal place `decimals`, when printed with that many.
fn has_digit_at(number: f64, decimals: usize) -> bool {
    number.is_finite() && !format!("{number:.decimals$}").ends_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;

    fn texts(values: Vec<Value>) -> Vec<String> {
        let mut table = Table::new(["a"]);
        values.into_iter().for_each(|value| table.push(vec![value]));
        let style = Style::of(&table, "a");
        table.rows().map(|row| style.text(&row.values()[0])).collect()
    }

    #[test]
    fn a_column_with_a_small_rate_is_scientific_throughout() {
        assert_eq!(texts(line![1.25e-7, 0.0, 0.012_345, 3u32]), ["1.25·10⁻⁷", "0", "1.23·10⁻²", "3"]);
    }

    #[test]
    fn other_numbers_have_the_same_decimals_and_no_more_than_they_need() {
        assert_eq!(texts(line![0.95, 0.5, 1u32]), ["0.95", "0.50", "1"]);
        assert_eq!(texts(line![12.0, 1234567u64, 12_345_678.25]), ["12.00", "1,234,567", "12,345,678.25"]);
        assert_eq!(texts(line![1.0 / 3.0, f64::NAN, ""]), ["0.3333", "", ""]);
        assert_eq!(texts(line!["swapping", 0.5, 1e-9]), ["swapping", "0.5", "1.00·10⁻⁹"]);
    }

    #[test]
    fn a_table_of_very_many_lines_is_cut_and_says_so() {
        let mut long = Table::new(["a"]);
        (0..MOST_LINES as u64).for_each(|i| long.push(line![i]));
        assert_eq!(left_out(&long), None);
        (0..1500u64).for_each(|i| long.push(line![i]));
        assert_eq!(
            left_out(&long).as_deref(),
            Some("These are the first 100. 1,500 further lines are in the CSV file only.")
        );
        assert_eq!(table(&long).into_string().matches("<tr>").count(), MOST_LINES + 1);
    }

    #[test]
    fn what_is_the_same_for_a_whole_run_is_not_repeated_in_every_line() {
        let mut of_run = Table::new(["rate", "size", "seed", "version", "trial"]);
        of_run.push(line![0.5, "quick", 7u32, "0.1.0", 3u32]);
        let text = table(&of_run).into_string();
        assert!(
            text.contains(">0.5<") && text.contains(">3<") && !text.contains("quick") && !text.contains("seed"),
            "{text}"
        );
    }
}
