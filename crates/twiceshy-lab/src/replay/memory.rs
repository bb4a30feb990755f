//! How large the tables of compared filters are.

use super::subject::Subject;
use super::{FilterSpec, ReplayError, Settings};
use twiceshy::hash::HashKey;

/// How the memory of compared filters is chosen. Their cells have the width that their description says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    /// All filters at this load.
    Load(f64),
    /// The first filter at this load. The others allocate as many bits as it does, at a lower load if their cells are
    /// narrower.
    LikeFirst(f64),
    /// All filters with this many cells.
    Cells(u64),
}

/// The highest load of a table that is sized by its memory. Fuller tables of four hash functions cannot be filled.
const HIGHEST_LOAD: f64 = 0.96;

impl Memory {
    /// The cells of each filter, for a number of keys.
    pub(super) fn cells(self, all: &[Settings], keys: u64) -> Result<Vec<u64>, ReplayError> {
        let at = |settings: &Settings, load: f64| settings.filter.layout().cells((keys as f64 / load).ceil() as u64);
        match self {
            Memory::Load(load) => all.iter().map(|settings| Ok(at(settings, load)?)).collect(),
            Memory::Cells(cells) => Ok(vec![cells; all.len()]),
            Memory::LikeFirst(load) => {
                let Some(first) = all.first() else { return Ok(Vec::new()) };
                let cells = at(first, load)?;
                let wanted = bits(&Settings { load, ..first.clone() }, cells)?;
                let mut found = vec![cells];
                for settings in &all[1..] {
                    // A filter from outside is told its memory, and may not take all of it.
                    if settings.filter.foreign.is_some() {
                        let width = u64::from(settings.filter.bits.max(1));
                        found.push(settings.filter.layout().cells(wanted / width)?);
                        continue;
                    }
                    found.push(nearest(settings, at(settings, HIGHEST_LOAD)?, wanted)?);
                }
                Ok(found)
            }
        }
    }
}

/// The cells with which a filter for `keys` keys allocates nearly as many bits as `like` does at a load.
pub(crate) fn cells_for(filter: &FilterSpec, keys: u64, like: &FilterSpec, load: f64) -> Result<u64, ReplayError> {
    let both = [like, filter].map(|filter| Settings { filter: filter.clone(), ..Settings::empty() });
    Ok(Memory::LikeFirst(load).cells(&both, keys)?[1])
}

/// The filter with the widest cells that fits `keys` keys into `bits_per_key` bits each at a load of 95 % or less, and how many cells
/// use up that memory. `None` if even the narrowest cells need more.
pub(crate) fn widest_within(
    filter: impl Fn(u32) -> FilterSpec,
    keys: u64,
    bits_per_key: f64,
) -> Result<Option<(FilterSpec, u64)>, ReplayError> {
    let wanted = (bits_per_key * keys as f64) as u64;
    for width in (3..=28).rev() {
        let settings = Settings { filter: filter(width), ..Settings::empty() };
        let least = settings.filter.layout().cells((keys as f64 / 0.95).ceil() as u64)?;
        if bits(&settings, least)? <= wanted {
            return Ok(Some((settings.filter.clone(), nearest(&settings, least, wanted)?)));
        }
    }
    Ok(None)
}

/// The bits that an empty filter allocates.
fn bits(settings: &Settings, cells: u64) -> Result<u64, ReplayError> {
    Ok(Subject::new(settings, cells, HashKey::fixed(0))?.filter().local_bits())
}

/// The number of cells, `least` or more, with which a filter allocates most nearly `wanted` bits.
fn nearest(settings: &Settings, least: u64, wanted: u64) -> Result<u64, ReplayError> {
    let (mut below, mut above) = (least, least * 2);
    while bits(settings, above)? < wanted {
        (below, above) = (above, above * 2);
    }
    while above - below > 1 {
        let middle = u64::midpoint(below, above);
        if bits(settings, middle)? < wanted { below = middle } else { above = middle }
    }
    let off = |cells: u64| -> Result<u64, ReplayError> { Ok(bits(settings, cells)?.abs_diff(wanted)) };
    Ok(if off(below)? <= off(above)? { below } else { above })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::FilterName;
    use twiceshy::Kind;

    #[test]
    fn filters_of_other_widths_get_the_memory_of_the_first() {
        let like = FilterSpec::new(Kind::Telescoping, 8);
        for name in FilterName::all().filter(|name| *name != FilterName::Ours(Kind::TelescopingPlain)) {
            let bits_of_cell = if name == Kind::Broom.into() { 5 } else { 8 };
            let filter = FilterSpec::new(name, bits_of_cell);
            let cells = cells_for(&filter, 5_000, &like, 0.95).expect("a table");
            let allocated = |filter: &FilterSpec, cells| {
                bits(&Settings { filter: filter.clone(), ..Settings::empty() }, cells).expect("a table") as f64
            };
            let ratio = allocated(&filter, cells) / allocated(&like, 5_264);
            assert!((ratio - 1.0).abs() < 0.01, "{name}: {ratio}");
            assert!(cells as f64 >= 5_000.0 / HIGHEST_LOAD, "{name}");
        }
    }

    #[test]
    fn a_load_sizes_every_table_by_itself() {
        let all = [Kind::Cyclic, Kind::Swapping]
            .map(|kind| Settings { filter: FilterSpec::new(kind, 8), ..Settings::empty() });
        assert_eq!(Memory::Load(0.95).cells(&all, 950).expect("tables"), [1_000, 1_000]);
    }
}
