//! An experiment's data: a table, stored as a CSV file.

use std::fmt;
use std::io::{Read, Write};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// Parses a cell from its text in a file.
    fn parsed(text: &str) -> Value {
        match (text.parse(), text.parse::<f64>()) {
            (Ok(count), _) => Value::Count(count),
            (_, Ok(number)) => Value::from(number),
            _ => Value::Text(text.to_owned()),
        }
    }

    /// The number; `None` for a text.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Count(count) => Some(*count as f64),
            Value::Number(number) => Some(*number),
            Value::Text(_) => None,
        }
    }
}

/// The shortest text that reads back as the same value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => count.fmt(f),
            Value::Number(number) if *number != 0.0 && number.abs() < 1e-3 => write!(f, "{number:e}"),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Count(count)
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Value {
        Value::Count(count.into())
    }
}

/// NaN and infinity become an empty text: the value is unknown.
impl From<f64> for Value {
    fn from(number: f64) -> Value {
        if number.is_finite() { Value::Number(number) } else { Value::Text(String::new()) }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

/// The cells of a line, in the order of the columns.
pub type Line = Vec<Value>;

/// A [`Line`] of values of any kind.
///
/// ```
/// use twiceshy_lab::experiment::{Value, line};
///
/// assert_eq!(line!["swapping", 8u32, 0.25], vec![Value::from("swapping"), 8u64.into(), 0.25.into()]);
/// ```
#[macro_export]
macro_rules! line {
    ($($value:expr),* $(,)?) => { vec![$($crate::experiment::Value::from($value)),*] };
}
pub use crate::line;

/// Lines under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    lines: Vec<Line>,
}

/// Why a file could not be read as a table.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TableError(#[from] csv::Error);

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item: Into<String>>) -> Table {
        Table { columns: columns.into_iter().map(Into::into).collect(), lines: Vec::new() }
    }

    /// Adds a line. Missing cells become empty texts; cells beyond the last column are dropped.
    pub fn push(&mut self, mut line: Line) {
        line.resize(self.columns.len(), Value::Text(String::new()));
        self.lines.push(line);
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Every line with its columns.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.lines.iter().map(|line| Row { columns: &self.columns, line })
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// `true` if there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines with this value in a column.
    pub fn only(&self, column: &str, value: impl Into<Value>) -> Table {
        let value = value.into();
        let wanted = |row: &Row<'_>| match (row.get(column), &value) {
            (Some(found), Value::Text(_)) => *found == value,
            (Some(found), number) => found.number() == number.number(),
            (None, _) => false,
        };
        let lines = self.rows().filter(wanted).map(|row| row.line.clone()).collect();
        Table { columns: self.columns.clone(), lines }
    }

    /// The distinct values of a column, in order of first appearance.
    pub fn values(&self, column: &str) -> Vec<Value> {
        let mut values = Vec::new();
        for value in self.rows().filter_map(|row| row.get(column)) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// The pairs of two columns of numbers, in the order of the lines.
    pub fn pairs(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        self.rows().filter_map(|row| Some((row.number(x)?, row.number(y)?))).collect()
    }

    /// The first number in a column.
    pub fn first(&self, column: &str) -> Option<f64> {
        self.rows().find_map(|row| row.number(column))
    }

    /// Writes the table as CSV.
    pub fn write(&self, to: impl Write) -> Result<(), TableError> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(&self.columns)?;
        for line in &self.lines {
            writer.write_record(line.iter().map(Value::to_string))?;
        }
        writer.flush().map_err(csv::Error::from)?;
        Ok(())
    }

    /// Reads a table back.
    pub fn read(from: impl Read) -> Result<Table, TableError> {
        let mut reader = csv::Reader::from_reader(from);
        let mut table = Table::new(reader.headers()?);
        for record in reader.records() {
            table.push(record?.iter().map(Value::parsed).collect());
        }
        Ok(table)
    }
}

/// A line with the names of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    columns: &'a [String],
    line: &'a Line,
}

impl<'a> Row<'a> {
    /// The value of a column; `None` if there is no such column.
    pub fn get(&self, column: &str) -> Option<&'a Value> {
        self.line.get(self.columns.iter().position(|name| name == column)?)
    }

    /// The number of a column.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.get(column)?.number()
    }

    /// The text of a column, also of a number; empty if there is no such column.
    pub fn text(&self, column: &str) -> String {
        self.get(column).map(Value::to_string).unwrap_or_default()
    }

    /// All values.
    pub fn values(&self) -> &'a [Value] {
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["filter", "ratio", "fpr"]);
        table.push(line!["cyclic, \"s\" = 1", 1u32, 1.25e-7]);
        table.push(line!["swapping", 1u32, 0.0]);
        table.push(line!["swapping", 2.5, 0.1 + 0.2]);
        table
    }

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        let mut file = Vec::new();
        table().write(&mut file).expect("memory");
        let read = Table::read(&file[..]).expect("a table");
        assert_eq!(read.columns(), table().columns());
        for (read, written) in read.rows().zip(table().rows()) {
            assert_eq!(read.text("filter"), written.text("filter"));
            assert_eq!((read.number("ratio"), read.number("fpr")), (written.number("ratio"), written.number("fpr")));
        }
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn lines_are_selected_by_a_number_of_either_kind() {
        assert_eq!(table().only("ratio", 1.0).len(), 2);
        assert_eq!(table().only("filter", "swapping").pairs("ratio", "fpr"), [(1.0, 0.0), (2.5, 0.1 + 0.2)]);
        assert!(table().only("nothing", 1.0).is_empty());
        assert_eq!(table().values("filter").len(), 2);
    }

    #[test]
    fn a_file_with_a_short_line_is_refused() {
        assert!(Table::read(&b"a,b\n1\n"[..]).is_err());
    }
}
