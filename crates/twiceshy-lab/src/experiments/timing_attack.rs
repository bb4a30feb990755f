//! 001 section 4.3: what was learned about a key must survive its deletion.

use super::adaptivity_game::{pictures, tasks};
use super::games::{self, no_adversary_wins};
use crate::experiment::{Experiment, Finding, Picture, Setup, Size, Table, Task};
use crate::game::AdversaryName;

/// Deleting and re-inserting a key brings old mistakes back, except in a broom filter.
pub(super) struct TimingAttack;

impl Experiment for TimingAttack {
    fn name(&self) -> &'static str {
        "timing-attack"
    }

    fn claim(&self) -> &'static str {
        "Deleting and re-inserting a key brings old mistakes back, except in a broom filter"
    }

    fn source(&self) -> &'static str {
        "001, section 4.3"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "The adversary finds a false positive x and then a stored key y whose deletion and re-insertion make x a false positive \
             again; it does so once more and names x. {} games for each filter and width, {} keys each.",
            size.pick(100, 10_000),
            size.pick(60, 500)
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, games) = setup.size.pick((60, 100), (500, 10_000));
        tasks(setup, &[AdversaryName::DeleteReinsert], keys, games)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        pictures(self.name(), table, &[AdversaryName::DeleteReinsert])
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let brooms = table.rows().filter(|row| row.text("filter").starts_with("broom"));
        let least = |filter: &str| {
            let own = table.only("filter", filter);
            own.rows().filter_map(|row| row.number("win_rate")).reduce(f64::min).unwrap_or(f64::NAN)
        };
        let forgetful = ["telescoping", "extension"].map(least);
        vec![
            no_adversary_wins(
                "section 4.3: ghosts of deleted keys keep what was learned; the broom filter is not beaten",
                brooms,
                None,
            ),
            Finding::new(
                "section 4.3: a filter that forgets a deleted key's adaptivity is beaten",
                format!(
                    "at least {:.0} % of the games against telescoping, {:.0} % against extension",
                    forgetful[0] * 100.0,
                    forgetful[1] * 100.0
                ),
                forgetful.iter().all(|rate| *rate > 0.5),
            ),
        ]
    }
}
