//! Many filters over the same queries: the form of most experiments in the papers.

use super::{Axis, Contender, Curve, Line, Picture, Setup, Table, Task, TaskError, line};
use crate::replay::{Report, Settings, run};
use crate::workload::Workload;

/// The columns of a contest's table.
pub const COLUMNS: &[&str] = &[
    "workload",
    "filter",
    "cell_bits",
    "ratio",
    "keys",
    "bits_per_key",
    "trials",
    "queries",
    "distinct",
    "false_positives",
    "fpr",
    "fpr_sd",
    "first_time_fpr",
    "regret",
    "rebuilds",
    "resets",
    "load",
];

/// How our extension filter differs from the paper's, for experiments that compare the two.
pub const LARGER_EXTENSIONS: &str = "The extension filter here is not quite the paper's: a block's code holds more than the rule of \
                                     appendix C.2 allows, since a range of 1 still holds zeros. So it has 11 to 40 % fewer false positives than \
                                     the paper's would.";

/// One point of a contest's grid: a filter, a workload, a ratio.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The filter.
    pub contender: Contender,
    /// The memory of a cell or slot by which filters are grouped.
    pub cell_bits: u32,
    /// The queries.
    pub workload: Workload,
    /// The workload's name in tables and pictures.
    pub workload_label: String,
    /// A/S.
    pub ratio: f64,
    /// The number of cells, if the workload does not fix it.
    pub cells: Option<u64>,
    /// Queries per absent key, if the workload does not fix them.
    pub per_key: Option<u64>,
    /// All queries, if the workload does not fix them.
    pub queries: Option<u64>,
    /// The number of trials.
    pub trials: u32,
    /// The estimated time in seconds.
    pub work: f64,
}

impl Entry {
    /// The task that measures it.
    pub fn task(self, setup: &Setup) -> Task {
        let name =
            format!("{}, {} of {} bits, A/S {}", self.workload_label, self.contender.label, self.cell_bits, self.ratio);
        let seed = setup.seed;
        let settings = format!("{self:?}, seed {seed}");
        Task::new(name, self.work, move || self.measure(seed)).with_settings(&settings)
    }

    fn measure(&self, seed: u64) -> Result<Vec<Line>, TaskError> {
        let settings = Settings {
            filter: self.contender.spec.clone(),
            cells: self.cells,
            load: 0.95,
            ratio: self.ratio,
            per_key: self.per_key,
            queries: self.queries,
            trials: self.trials,
            seed,
            workload: self.workload.clone(),
            timed: false,
            jobs: 1,
        };
        Ok(vec![self.line(&run(&settings, &|_| ())?)])
    }

    fn line(&self, report: &Report) -> Line {
        line![
            self.workload_label.as_str(),
            self.contender.label.as_str(),
            self.cell_bits,
            self.ratio,
            report.keys,
            report.bits_per_key,
            report.trials,
            report.queries,
            report.distinct_queries,
            report.false_positives,
            report.fpr,
            report.fpr_sd,
            report.first_time_fpr,
            report.regret,
            report.rebuilds,
            report.table.iter().find(|count| count.name == "resets_by_adapts").map_or(0, |count| count.count),
            report.load,
        ]
    }
}

/// The rates of a contest over A/S: one picture for each workload and cell size.
pub fn pictures(experiment: &str, table: &Table, contenders: impl Fn(u32) -> Vec<Contender>) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for workload in table.values("workload") {
        let of_workload = table.only("workload", workload.clone());
        for bits in of_workload.values("cell_bits") {
            let group = of_workload.only("cell_bits", bits.clone());
            let contenders = contenders(bits.number().unwrap_or(0.0) as u32);
            pictures.push(Picture {
                name: file_name(&format!("{experiment} {workload} {bits} bits")),
                title: format!("{workload}, {bits} bits a cell"),
                x: Axis::linear(format!("A/S: absent keys asked for over stored keys; {bits} bits a cell")),
                y: Axis::log("false-positive rate"),
                lines: contenders.iter().filter_map(|contender| curve(&group, contender)).collect(),
            });
        }
    }
    pictures
}

/// A filter's rates over A/S, with its memory in the label.
fn curve(group: &Table, contender: &Contender) -> Option<Curve> {
    let own = group.only("filter", contender.label.as_str());
    let label = format!("{}, {}", contender.label, bits_per_key_label(&own)?);
    Some(Curve::measured(label, contender.look, own.pairs("ratio", "fpr")))
}

/// The bits per key over the lines of a table, for a legend. A filter's fixed overhead weighs more in small tables.
pub fn bits_per_key_label(table: &Table) -> Option<String> {
    let bits = || table.rows().filter_map(|row| row.number("bits_per_key"));
    let (least, most) = (bits().reduce(f64::min)?, bits().reduce(f64::max)?);
    Some(if most < 1.05 * least {
        format!("{least:.2} bits a key")
    } else {
        format!("{least:.2} bits a key, up to {most:.1} in small tables")
    })
}

/// The rate of one filter at one point of a contest.
pub fn rate(table: &Table, workload: &str, cell_bits: u32, filter: &str, ratio: f64) -> Option<f64> {
    let table = table.only("workload", workload).only("cell_bits", cell_bits).only("filter", filter);
    table.only("ratio", ratio).first("fpr")
}

/// A name suitable for a file.
pub fn file_name(words: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let dashed: String = words.chars().map(plain).collect();
    dashed.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("Uniform, s = 1 (8 bits)"), "uniform-s-1-8-bits");
    }
}
