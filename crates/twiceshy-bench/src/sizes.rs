//! How the time of a look-up grows with the number of keys.

use crate::measure::{Settings, measure};
use crate::subject::Contestant;
use serde::Serialize;

/// The filters that are compared, and the most keys for each. Telescoping is filled over a remote, which would need tens of
/// bytes for each key.
const FILTERS: [(&str, u64); 3] = [("quotient", u64::MAX), ("cuckoo", u64::MAX), ("telescoping", 10_000_000)];

/// One filter, or floor, at one number of keys.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The filter or floor.
    pub name: String,
    /// The stored keys.
    pub keys: u64,
    /// Nanoseconds of wall time for a look-up of an absent key: the median of many chunks.
    pub negative_ns: f64,
    /// The distance between the quartiles of look-ups in a second, divided by their median.
    pub negative_spread: Option<f64>,
    /// Allocated bits, divided by the keys.
    pub bits_per_key: Option<f64>,
}

/// Measures quotient, cuckoo, telescoping and the floors at each of the sizes.
pub fn sweep(
    sizes: &[u64],
    contestants: Vec<Contestant>,
    settings: &Settings,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<Point>> {
    let settings = Settings { fills: 1, adapt: None, ..*settings };
    let most = |name: &str| FILTERS.iter().find(|(known, _)| *known == name).map(|(_, most)| *most);
    let mut chosen: Vec<Contestant> =
        contestants.into_iter().filter(|contestant| most(&contestant.name).is_some()).collect();
    let mut points = Vec::new();
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    for size in sizes {
        chosen.retain(|contestant| most(&contestant.name).is_some_and(|most| size <= most));
        for row in measure(size, &chosen, &settings, tell)? {
            points.extend(row.negative_mops.map(|mops| Point {
                name: row.name,
                keys: row.keys,
                negative_ns: 1e3 / mops,
                negative_spread: row.negative_spread,
                bits_per_key: row.bits_per_key,
            }));
        }
    }
    Ok(points)
}

/// The points as a table of nanoseconds, a line for each number of keys.
pub fn table(points: &[Point]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut sizes: Vec<u64> = Vec::new();
    for point in points {
        if !names.contains(&point.name.as_str()) {
            names.push(&point.name);
        }
        if !sizes.contains(&point.keys) {
            sizes.push(point.keys);
        }
    }
    let mut text = format!("{:>12}", "keys, ns of:");
    names.iter().for_each(|name| text.push_str(&format!("  {name:>8}")));
    for size in sizes {
        text.push_str(&format!("\n{size:>12}"));
        for name in &names {
            let point = points.iter().find(|point| point.keys == size && point.name == *name);
            let cell = point.map_or("-".into(), |point| format!("{:.1}", point.negative_ns));
            text.push_str(&format!("  {cell:>width$}", width = name.len().max(8)));
        }
    }
    text.push('\n');
    text
}
