//! Recorded requests, which no paper uses: the filters on real traffic.

use super::telescoping_on_flows::contenders;
use crate::experiment::{Contender, Experiment, Finding, Picture, Setup, Size, Table, Task, contest};
use crate::workload::Workload;

/// On recorded requests filters that learn have fewer false positives than those that do not.
pub(super) struct RecordedTraces;

const BITS: u32 = 11;

/// Name and file.
const TRACES: [(&str, &str); 2] =
    [("product recommender", "recommender-requests.txt.xz"), ("ORM cache", "orm-session.txt.xz")];

/// All of them, or a few in the quick size: reading a trace takes longer than asking for it.
fn chosen(size: Size) -> Vec<Contender> {
    let mut all = contenders(BITS);
    if size == Size::Quick {
        let few = ["telescoping", "cuckooing", "swapping", "cuckoo, plain", "cuckoo with cache"];
        all.retain(|contender| few.contains(&contender.label.as_str()));
    }
    all
}

impl Experiment for RecordedTraces {
    fn name(&self) -> &'static str {
        "recorded-traces"
    }

    fn claim(&self) -> &'static str {
        "On recorded requests filters that learn have fewer false positives than those that do not"
    }

    fn source(&self) -> &'static str {
        "this project: no paper uses these traces"
    }

    fn method(&self, _: Size) -> Vec<String> {
        vec![format!(
            "Requests to a product recommender (1,245,184, caffeine simulator) and to an ORM cache (5,000,000, cache2k), in order; \
             the first keys of a trace are stored, with the number chosen to give A/S, and every later request for another key is a query. \
             {BITS} bits a cell or slot for every filter, 95 % load, one trial. The traces are not part of the project: if the \
             folder that holds them is missing, this experiment is left out."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let Some(data) = &setup.data else { return Vec::new() };
        let ratios: &[u64] = setup.size.pick(&[5], &[1, 2, 5, 10, 20, 50, 100]);
        let mut tasks = Vec::new();
        for (label, file) in TRACES {
            let path = data.join(file);
            if !path.is_file() {
                continue;
            }
            for contender in chosen(setup.size) {
                for &ratio in ratios {
                    let entry = contest::Entry {
                        contender: contender.clone().over_mirror(),
                        cell_bits: BITS,
                        workload: Workload::Trace(path.clone()),
                        workload_label: label.to_owned(),
                        ratio: ratio as f64,
                        cells: None,
                        per_key: None,
                        queries: None,
                        trials: 1,
                        work: 2.0,
                    };
                    tasks.push(entry.task(setup));
                }
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        contest::pictures(self.name(), table, contenders)
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let of_trace = |(label, _): &(&str, &str)| {
            let own = table.only("workload", *label).only("ratio", 5u32);
            let rate = |filter: &str| own.only("filter", filter).first("fpr");
            let (plain, cache, telescoping) =
                (rate("cuckoo, plain")?, rate("cuckoo with cache")?, rate("telescoping")?);
            Some(Finding::new(
                format!(
                    "{label}, A/S 5: telescoping has fewer false positives than a plain cuckoo filter of the same cells"
                ),
                format!(
                    "plain {plain:.2e}, telescoping {telescoping:.2e}, plain with a list of its mistakes {cache:.2e}"
                ),
                telescoping < plain,
            ))
        };
        TRACES.iter().filter_map(of_trace).collect()
    }
}
