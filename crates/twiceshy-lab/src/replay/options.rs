//! Converts a filter's description to the library's options.

use super::spec::FilterSpec;
use twiceshy::cuckoo::{
    CuckooingFilter, CuckooingSpec, CyclicFilter, CyclicSpec, FullKeyFilter, Options, PlainSpec, RuleSpec,
    SwappingFilter, SwappingSpec,
};
use twiceshy::quotient::{self, ExtensionFilter, ExtensionSpec, TelescopingFilter, TelescopingSpec};

impl FilterSpec {
    pub(crate) fn full_key(&self, cells: u64) -> Options<PlainSpec> {
        self.over_buckets(FullKeyFilter::with_cells(cells, self.bits))
    }

    pub(crate) fn cyclic(&self, cells: u64) -> Options<CyclicSpec> {
        let options = CyclicFilter::with_cells(cells, self.bits);
        self.over_buckets(options.selectors(self.selectors()).refine(self.refine))
    }

    pub(crate) fn swapping(&self, cells: u64) -> Options<SwappingSpec> {
        self.over_buckets(SwappingFilter::with_cells(cells, self.bits).all_cells(self.all_cells))
    }

    pub(crate) fn cuckooing(&self, cells: u64) -> Options<CuckooingSpec> {
        let options = CuckooingFilter::with_cells(cells, self.bits);
        self.over_buckets(options.shared_fingerprint(self.shared_fingerprint).moves(self.moves()))
    }

    pub(crate) fn telescoping(&self, slots: u64) -> quotient::Options<TelescopingSpec> {
        let mut options = TelescopingFilter::with_slots(slots, self.bits).side_table(self.side_table.unwrap_or(0));
        if let Some(code) = self.code {
            options = options.code(code);
        }
        if let Some(ratio) = self.expected_ratio {
            options = options.expected_ratio(ratio);
        }
        options
    }

    pub(crate) fn extension(&self, slots: u64) -> quotient::Options<ExtensionSpec> {
        ExtensionFilter::with_slots(slots, self.bits).side_table(self.side_table.unwrap_or(0))
    }

    fn over_buckets<S: RuleSpec>(&self, options: Options<S>) -> Options<S> {
        let (tables, per_bucket) = self.buckets();
        options.tables(tables).cells_per_bucket(per_bucket).search(self.search())
    }
}
