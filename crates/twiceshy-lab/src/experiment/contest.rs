//! Many filters over the same queries: the form of most experiments in the papers.

use super::{
    Axis, Contender, Curve, Evidence, Line, Picture, Planted, Point, Sample, Setup, Statement, Table, TaskError, line,
};
use crate::replay::{Comparison, FilterName, Memory, Recorded, Report};
use crate::workload::Workload;
use twiceshy::Kind;

/// The columns of a contest's table: one line for each filter and trial.
pub const COLUMNS: &[&str] = &[
    "workload",
    "filter",
    "cell_bits",
    "ratio",
    "keys",
    "load",
    "bits_per_key",
    "queries",
    "distinct",
    "false_positives",
    "fpr",
    "first_time_fpr",
    "regret",
    "resets_per_block",
];

/// How our extension filter differs from the paper's, for experiments that compare the two.
pub const LARGER_EXTENSIONS: &str = "The extension filter here is not quite the paper's: a block's code holds more than the rule of \
                                     appendix C.2 allows, since a range of 1 still holds zeros. So it has 11 to 40 % fewer false positives than \
                                     the paper's would.";

/// How the memory of filters is made equal, for experiments that do so.
pub const EQUAL_MEMORY: &str = "Equal memory: the telescoping filter has 8-bit remainders at 95 % load, and every other filter has as many bits a key \
                                allocated, fixed parts included. The others have the paper's cells of 11 bits, selectors included, and a lower load \
                                where the telescoping filter takes more than that: its spare slots and its code's tables weigh in small tables. Of \
                                the filters that the paper leaves out, the plain quotient filter has 9-bit remainders, the broom filter 5-bit ones; the broom filter begins with that memory and \
                                grows with what it learns.";

/// Slots of a block of a quotient filter.
const BLOCK: f64 = 64.0;

/// One point of a contest: some filters, a workload, a ratio. In each trial all filters have the same keys and queries.
#[derive(Clone, Debug)]
pub struct Contest {
    /// The filters, each with the bits of a cell or slot by which filters are grouped.
    pub contenders: Vec<(u32, Contender)>,
    /// How large the tables are.
    pub memory: Memory,
    /// The queries.
    pub workload: Workload,
    /// The workload's name in tables and pictures.
    pub workload_label: String,
    /// A/S.
    pub ratio: f64,
    /// The queries of a trial, if the workload does not fix them.
    pub queries: Option<u64>,
    /// The filters that the experiment is about.
    pub champions: &'static [&'static str],
    /// The estimated time of a trial in seconds.
    pub work: f64,
}

impl Contest {
    /// The point that measures it. The planted wrong rule: nobody tells the champions about their mistakes.
    pub fn point(self, setup: &Setup) -> Point {
        let name = format!("{}, A/S {}", self.workload_label, self.ratio);
        let is_deaf = |contender: &Contender| {
            setup.planted == Planted::WrongRule && self.champions.contains(&contender.label.as_str())
        };
        let numbered = self.contenders.iter().map(|(_, contender)| contender).enumerate();
        let comparison = Comparison {
            filters: self.contenders.iter().map(|(_, contender)| contender.clone().for_streams().spec).collect(),
            memory: self.memory,
            ratio: self.ratio,
            queries: self.queries,
            workload: self.workload.clone(),
            deaf: numbered.filter(|(_, contender)| is_deaf(contender)).map(|(number, _)| number).collect(),
        };
        let (settings, recorded) = (format!("{comparison:?}"), Recorded::default());
        Point::new(name, self.work, &settings, move |seed| self.measure(&comparison, seed, &recorded))
    }

    fn measure(&self, comparison: &Comparison, seed: u64, recorded: &Recorded) -> Result<Vec<Line>, TaskError> {
        let reports = comparison.run_again(seed, recorded)?;
        let both = self.contenders.iter().zip(&reports);
        Ok(both.map(|((bits, contender), report)| self.line(*bits, contender, report)).collect())
    }

    fn line(&self, cell_bits: u32, contender: &Contender, report: &Report) -> Line {
        let resets = report.table.iter().find(|count| count.name == "resets_by_adapts").map_or(0, |count| count.count);
        line![
            self.workload_label.as_str(),
            contender.label.as_str(),
            cell_bits,
            self.ratio,
            report.keys,
            report.load,
            report.bits_per_key,
            report.queries,
            report.distinct_queries,
            report.false_positives,
            report.fpr,
            report.first_time_fpr,
            report.regret,
            resets as f64 * BLOCK / report.cells.max(1) as f64,
        ]
    }
}

/// Contenders of one width.
pub fn of_width(cell_bits: u32, contenders: Vec<Contender>) -> Vec<(u32, Contender)> {
    contenders.into_iter().map(|contender| (cell_bits, contender)).collect()
}

/// Where in a contest filters are compared.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The label of the workload.
    pub workload: &'a str,
    /// The memory of a cell or slot.
    pub cell_bits: u32,
    /// A/S.
    pub ratio: u64,
}

/// One value of a filter for each trial.
pub fn sample(table: &Table, at: At<'_>, filter: &str, column: &str) -> Sample {
    let here = table.only("ratio", at.ratio).only("filter", filter).only("workload", at.workload);
    here.only("cell_bits", at.cell_bits).sample(column)
}

/// The false positives of one filter over those of another, in the typical trial: a few popular keys decide a trial.
pub fn ratio(table: &Table, at: At<'_>, top: &str, bottom: &str) -> Evidence {
    let counts = |filter: &str| sample(table, at, filter, "false_positives");
    Evidence::typical_ratio(compared(at, top, bottom), &counts(top), &counts(bottom))
}

/// Two filters that are compared, and where.
pub fn compared(at: At<'_>, top: &str, bottom: &str) -> String {
    let workload = at.workload.trim_start_matches("synthetic flows like ");
    format!("{top} / {bottom}, {workload}, {} bits, A/S {}", at.cell_bits, at.ratio)
}

/// That the filters of every point have the same memory, within 1 % and a block of a quotient filter, of which a table has a
/// whole number. A statement of this project.
pub fn equal_memory(table: &Table, filters: &[&str]) -> Statement {
    let mut evidence = Vec::new();
    for point in table.values("point") {
        let spread = table.only("point", point.clone()).sample_by(|rows| {
            let compared = rows.iter().filter(|row| filters.contains(&row.text("filter").as_str()));
            let bits: Vec<f64> = compared.filter_map(|row| row.number("bits_per_key")).collect();
            Some(bits.iter().copied().reduce(f64::max)? / bits.iter().copied().reduce(f64::min)?)
        });
        let keys = table.only("point", point.clone()).sample("keys").values().into_iter().reduce(f64::min);
        if let (Some(worst), Some(keys)) = (spread.values().into_iter().reduce(f64::max), keys) {
            evidence.push(Evidence::exact(point.to_string(), worst).below(1.01 + BLOCK / keys));
        }
    }
    Statement::new(
        "This project: the filters of a point have the same memory",
        "the most bits a key over the fewest, as allocated at the end of a trial, in the worst trial: at most 1.01, and a block of 64 \
         slots more, since quotient filters have whole blocks",
    )
    .every(evidence)
}

/// More lines than this are hard to tell apart, so the picture is split.
const READABLE: usize = 8;

/// The rates of a contest over A/S: a picture for each workload and cell size, or two if there are many filters.
pub fn pictures(experiment: &str, table: &Table, contenders: impl Fn(u32) -> Vec<Contender>) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for workload in table.values("workload") {
        let of_workload = table.only("workload", workload.clone());
        for bits in of_workload.values("cell_bits") {
            let group = of_workload.only("cell_bits", bits.clone());
            let measured = group.values("filter");
            let mut contenders = contenders(bits.number().unwrap_or(0.0) as u32);
            contenders.retain(|contender| measured.contains(&contender.label.as_str().into()));
            for (part, contenders) in parts(contenders) {
                pictures.push(Picture {
                    name: file_name(&format!("{experiment} {workload} {bits} bits {part}")),
                    title: title(&workload.to_string(), &bits.to_string(), part),
                    x: Axis::log("A/S: absent keys asked for over stored keys"),
                    y: Axis::log("false-positive rate, median over trials"),
                    lines: contenders.iter().map(|contender| curve(&group, contender)).collect(),
                });
            }
        }
    }
    pictures
}

fn title(workload: &str, bits: &str, part: &str) -> String {
    let mut letters = workload.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let all = format!("{first}{}, {bits} bits a cell", letters.as_str());
    if part.is_empty() { all } else { format!("{all}: {part}") }
}

/// The filters of each picture, with its name. The best of the other part is in both, to compare with.
fn parts(contenders: Vec<Contender>) -> Vec<(&'static str, Vec<Contender>)> {
    if contenders.len() <= READABLE {
        return vec![("", contenders)];
    }
    let of_cuckoo = |contender: &&Contender| FilterName::OVER_BUCKETS.contains(&contender.spec.name);
    let [cuckoo, telescoping] = [Kind::Cuckooing, Kind::Telescoping].map(FilterName::from);
    let part = |wanted: bool, guest: FilterName| -> Vec<Contender> {
        let here = |contender: &&Contender| of_cuckoo(contender) == wanted || contender.spec.name == guest;
        contenders.iter().filter(here).cloned().collect()
    };
    vec![
        ("cuckoo filters, and telescoping", part(true, telescoping)),
        ("the others, and Cuckooing", part(false, cuckoo)),
    ]
}

/// A filter's rates over A/S. A few popular keys decide a trial, so the statements are about the median one.
fn curve(group: &Table, contender: &Contender) -> Curve {
    let own = group.only("filter", contender.label.as_str());
    Curve::measured(contender.label.as_str(), contender.look, own.medians("ratio", "fpr"))
}

/// A name suitable for a column of a table: printable, of moderate length, and not a number, which would be read back as one.
pub fn label(name: &str) -> String {
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    let short: String = name.chars().map(printable).take(60).collect();
    let words = short.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() || words.parse::<f64>().is_ok() {
        format!("trace {words}").trim_end().to_owned()
    } else {
        words
    }
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
    use crate::experiment::{Size, Verdict};

    #[test]
    fn a_label_is_printable_and_not_a_number() {
        assert_eq!(["a\tb \n", "2024", "inf", ""].map(label), ["a b", "trace 2024", "trace inf", "trace"]);
        assert_eq!(label(&"x".repeat(99)).len(), 60);
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("Uniform, s = 1 (8 bits)"), "uniform-s-1-8-bits");
    }

    #[test]
    fn many_filters_are_split_into_pictures_that_can_be_read() {
        let some = [Contender::cuckoo, Contender::swapping, Contender::cuckooing, Contender::remembering];
        let others = [Contender::telescoping, Contender::extension, Contender::broom, Contender::bloom];
        let few: Vec<Contender> = some.into_iter().chain(others).map(|of| of(11)).collect();
        assert_eq!(parts(few.clone()).len(), 1);
        let split = parts([few, vec![Contender::cached(11)]].concat());
        let counts: Vec<usize> = split.iter().map(|(_, contenders)| contenders.len()).collect();
        assert_eq!(counts, [5, 6], "each has a filter of the other");
    }

    fn table(planted: Planted) -> Table {
        let contest = Contest {
            contenders: of_width(8, vec![Contender::cuckooing(8), Contender::cuckoo(8)]),
            memory: Memory::LikeFirst(0.95),
            workload: "flows:chicago-a/200".parse().expect("flows"),
            workload_label: "flows".into(),
            ratio: 5.0,
            queries: None,
            champions: &["cuckooing"],
            work: 0.1,
        };
        let point = contest.point(&Setup { planted, ..Setup::new(Size::Tiny, 1) });
        let mut table = Table::new(COLUMNS.iter().copied().chain(["point", "trial"]));
        for trial in 0..30u64 {
            for mut line in point.trial(1, trial).expect("a trial") {
                line.extend(crate::line!["here", trial]);
                table.push(line);
            }
        }
        table
    }

    #[test]
    fn a_champion_that_hears_of_no_mistake_repeats_them() {
        let at = At { workload: "flows", cell_bits: 8, ratio: 5 };
        let [right, wrong] = [Planted::Nothing, Planted::WrongRule].map(|planted| {
            let table = table(planted);
            let below = Statement::new("", "").every(vec![ratio(&table, at, "cuckooing", "cuckoo, plain").below(0.9)]);
            (
                below.judge(crate::statistics::Looks::from(10)).verdict,
                equal_memory(&table, &["cuckooing", "cuckoo, plain"]).judge(crate::statistics::Looks::from(10)).verdict,
            )
        });
        assert_eq!(right, (Verdict::Agrees, Verdict::Agrees));
        assert_ne!(wrong.0, Verdict::Agrees);
    }
}
