//! How many bits a key the filters of an experiment really had.

use super::number::{grouped, plain};
use crate::experiment::Table;
use maud::{Markup, html};

/// Tables of fewer keys are small: a filter's fixed parts weigh more than its cells.
const SMALL: f64 = 10_000.0;

/// The bits a key of each filter, for experiments that measure them: the range over all lines. They are not in the
/// legends, since a filter's fixed parts dominate in small tables.
pub(super) fn table(table: &Table) -> Option<Markup> {
    let has = |column: &&str| table.columns().iter().any(|name| name == *column);
    let name = ["filter", "way"].into_iter().find(has)?;
    let width = ["cell_bits", "bits"].into_iter().find(has);
    let lines = lines(table, name, width);
    if lines.is_empty() || !has(&"bits_per_key") {
        return None;
    }
    let (with_keys, small) = (lines.iter().any(|line| line.keys.is_some()), lines.iter().any(Line::is_small));
    Some(html! {
        details {
            summary { "Memory: bits a key" }
            div.box tabindex="0" role="region" aria-label="Bits a key" {
                table.data {
                    thead { tr {
                        th scope="col" { "Filter" }
                        @if let Some(width) = width { th.number scope="col" { (width) } }
                        @if with_keys { th.number scope="col" { "Keys" } }
                        th.number scope="col" { "Bits a key" }
                    } }
                    tbody { @for line in &lines { tr {
                        td { (line.filter) }
                        @if width.is_some() { td.number { (line.width) } }
                        @if with_keys { td.number { (line.keys.map(|range| told(range, 0)).unwrap_or_default()) } }
                        td.number { (told(line.bits, 2)) }
                    } } }
                }
            }
            @if small {
                p.files { "In tables of fewer than 10,000 keys a filter's fixed parts weigh more than its cells: there bits a key say little." }
            }
        }
    })
}

/// A filter of one width, with the least and the most of its lines.
struct Line {
    filter: String,
    width: String,
    keys: Option<(f64, f64)>,
    bits: (f64, f64),
}

impl Line {
    fn is_small(&self) -> bool {
        self.keys.is_some_and(|(least, _)| least < SMALL)
    }
}

fn lines(table: &Table, name: &str, width: Option<&str>) -> Vec<Line> {
    let mut lines = Vec::new();
    for filter in table.values(name) {
        let own = table.only(name, filter.clone());
        for value in width.map_or(vec!["".into()], |width| own.values(width)) {
            let here = width.map_or(own.clone(), |width| own.only(width, value.clone()));
            let (filter, width) = (filter.to_string(), value.to_string());
            let keys = range(&here, "keys");
            lines.extend(range(&here, "bits_per_key").map(|bits| Line { filter, width, keys, bits }));
        }
    }
    lines
}

/// The least and the greatest number of a column.
fn range(table: &Table, column: &str) -> Option<(f64, f64)> {
    let values = || table.rows().filter_map(|row| row.number(column)).filter(|value| value.is_finite());
    Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
}

/// "12.52 to 17.67", or one number where the two look alike.
fn told((least, most): (f64, f64), decimals: usize) -> String {
    let text = |value: f64| if decimals == 0 { grouped(value as u64) } else { plain(value, decimals) };
    let (least, most) = (text(least), text(most));
    if least == most { least } else { format!("{least} to {most}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;

    #[test]
    fn bits_a_key_are_a_range_and_small_tables_are_said_to_be_small() {
        let mut data = Table::new(["filter", "cell_bits", "keys", "bits_per_key"]);
        data.push(line!["telescoping", 11u32, 1_716u32, 17.67]);
        data.push(line!["telescoping", 11u32, 13_736u32, 12.521]);
        data.push(line!["broom", 11u32, 13_736u32, 12.5]);
        let text = table(&data).expect("it has bits a key").into_string();
        assert!(
            text.contains("12.52 to 17.67") && text.contains("1,716 to 13,736") && text.contains("12.50"),
            "{text}"
        );
        assert!(text.contains("fewer than 10,000 keys"), "{text}");
        assert!(table(&data.only("filter", "broom")).is_some_and(|it| !it.into_string().contains("fewer than")));
        assert!(table(&Table::new(["filter", "fpr"])).is_none());
    }
}
