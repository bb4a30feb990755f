//! The experiments, one file each, in the order of the papers.

mod adapting_on_flows;
mod adaptivity_bits;
mod adaptivity_bits_with_removals;
mod adaptivity_game;
mod alternating_insertion;
mod birthday_suspects;
mod cuckoo_graph;
mod cuckooing_on_flows;
mod cuckooing_paths;
mod cyclic_attack;
mod firehose;
mod flows;
mod frontier_or_rebuild;
mod full_table;
mod games;
mod insertion_cost;
mod load_thresholds;
mod lower_bound;
mod model_fit;
mod mutually_unfixable;
mod recorded_traces;
mod remembering;
mod repeated_queries;
mod selector_histogram;
mod selector_space;
mod selector_values;
mod short_fingerprints;
mod simplified_filter;
mod space_beside_bloom;
mod support_optimal;
mod swapping_attack;
mod telescoping_on_flows;
mod throughput;
mod timing_attack;
mod unequal_ranges;
mod uniform_grid;
mod uniform_queries;
mod whittling_stream;

use crate::experiment::Experiment;

/// All of them.
pub const ALL: &[&dyn Experiment] = &[
    &support_optimal::SupportOptimal,
    &cuckooing_paths::CuckooingPaths,
    &cuckooing_on_flows::CuckooingOnFlows,
    &cyclic_attack::CyclicAttack,
    &swapping_attack::SwappingAttack,
    &birthday_suspects::BirthdaySuspects,
    &mutually_unfixable::MutuallyUnfixable,
    &adaptivity_game::AdaptivityGame,
    &timing_attack::TimingAttack,
    &adaptivity_bits::AdaptivityBits,
    &adaptivity_bits_with_removals::AdaptivityBitsWithRemovals,
    &frontier_or_rebuild::FrontierOrRebuild,
    &lower_bound::LowerBound,
    &alternating_insertion::AlternatingInsertion,
    &cuckoo_graph::CuckooGraphs,
    &load_thresholds::LoadThresholds,
    &insertion_cost::InsertionCost,
    &short_fingerprints::ShortFingerprints,
    &simplified_filter::SimplifiedFilters,
    &space_beside_bloom::SpaceBesideBloom,
    &uniform_queries::UniformQueries,
    &repeated_queries::RepeatedQueries,
    &unequal_ranges::UnequalRanges,
    &adapting_on_flows::AdaptingOnFlows,
    &firehose::FireHose,
    &telescoping_on_flows::TelescopingOnFlows,
    &whittling_stream::WhittlingStream,
    &throughput::Throughput,
    &selector_values::SelectorValues,
    &selector_space::SelectorSpace,
    &recorded_traces::RecordedTraces,
    &remembering::Remembering,
];

/// The experiments with these names, in the order of [`ALL`]; `all` stands for every one.
pub fn named<'a>(names: &'a [String]) -> Result<Vec<&'static dyn Experiment>, NoSuchExperiment> {
    let known = |name: &&'a String| *name == "all" || ALL.iter().any(|experiment| experiment.name() == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        return Err(NoSuchExperiment(unknown.clone()));
    }
    let wanted = |experiment: &&dyn Experiment| names.iter().any(|name| name == "all" || *name == experiment.name());
    Ok(ALL.iter().copied().filter(wanted).collect())
}

/// An unknown name of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown experiment `{0}`: see `twiceshy lab list`, or use `all` for every one")]
pub struct NoSuchExperiment(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Kind, STATEMENTS, Scale, Setup, Size, Statement, Table, Verdict, contest::file_name};
    use std::collections::HashSet;

    #[test]
    fn names_of_experiments_and_of_their_points_are_plain_and_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|experiment| experiment.name()).collect();
        assert!(names.iter().all(|name| *name == file_name(name) && *name != "all"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for experiment in ALL {
            for size in [Size::Tiny, Size::Quick, Size::Paper] {
                let points = experiment.points(&Setup::new(size, 1));
                let mut names: Vec<&str> = points.iter().map(|point| point.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), points.len(), "{} at {size:?}", experiment.name());
            }
        }
    }

    #[test]
    fn an_empty_table_agrees_with_nothing_and_can_be_drawn() {
        let mut vacuous = Vec::new();
        for experiment in ALL {
            let empty = Table::new(experiment.columns().iter().copied());
            experiment.pictures(&empty).iter().for_each(|picture| assert!(crate::report::svg(picture).is_ok()));
            for size in [Size::Tiny, Size::Quick, Size::Paper] {
                let agreeing = experiment.findings(&empty, size).into_iter().filter(|it| it.verdict == Verdict::Agrees);
                vacuous.extend(agreeing.map(|finding| format!("{}: {}", experiment.name(), finding.paper)));
            }
        }
        assert!(vacuous.is_empty(), "{vacuous:#?}");
    }

    /// One trial of every point.
    fn one_trial(experiment: &dyn Experiment) -> Table {
        let mut table = Table::new(experiment.columns().iter().copied().chain(["point", "trial"]));
        for point in experiment.points(&Setup::new(Size::Tiny, 1)) {
            for mut line in point.trial(1, 0).expect("a trial") {
                line.resize(experiment.columns().len(), "".into());
                line.extend(crate::line![point.name.as_str(), 0u64]);
                table.push(line);
            }
        }
        table
    }

    #[test]
    fn statements_find_their_evidence_lines_differ_in_look_and_name_and_ratios_are_logarithmic() {
        let mut faults = Vec::new();
        for experiment in ALL {
            let table = one_trial(*experiment);
            let without = experiment.findings(&table, Size::Tiny).into_iter().filter(|it| it.estimates.is_empty());
            faults.extend(without.map(|it| format!("{}: nothing was measured for: {}", experiment.name(), it.paper)));
            for picture in experiment.pictures(&table) {
                let measured = || picture.lines.iter().filter(|line| line.kind == Kind::Measured);
                let looks: HashSet<_> = measured().map(|line| crate::report::look(line.look)).collect();
                let names: HashSet<_> = picture.lines.iter().map(|line| &line.label).collect();
                if looks.len() < measured().count() || names.len() < picture.lines.len() {
                    faults.push(format!("{}: two lines look alike", picture.name));
                }
                let is_ratio = ["A/S", "|Q|"].iter().any(|ratio| picture.x.label.contains(ratio));
                if is_ratio && picture.x.scale != Scale::Log {
                    faults.push(format!("{}: a ratio on a linear axis", picture.name));
                }
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }

    #[test]
    fn all_statements_together_share_the_error_of_a_run() {
        for size in [Size::Tiny, Size::Quick, Size::Paper] {
            let of = |experiment: &&dyn Experiment| {
                let empty = Table::new(experiment.columns().iter().copied());
                experiment.statements(&empty, size).iter().map(Statement::count).sum::<usize>()
            };
            let count: usize = ALL.iter().map(of).sum();
            assert!(count <= STATEMENTS, "{count} at {size:?}");
        }
    }

    #[test]
    fn an_unknown_experiment_is_refused() {
        assert!(named(&["no-such-thing".to_owned()]).is_err());
        assert_eq!(named(&["all".to_owned()]).map(|all| all.len()), Ok(ALL.len()));
    }
}
