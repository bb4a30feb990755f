//! 001 section 4.3: what was learned about a key must survive its deletion.

use super::adaptivity_game::{BROOMS, contenders, pictures};
use super::games::{self, MARGIN, Match, all_pools_no_worse, matches, wins_no_more, won};
use crate::experiment::{Budget, Contender, Experiment, Picture, Point, Setup, Size, Statement, Table};
use crate::game::AdversaryName;

/// Deleting and re-inserting a key brings old mistakes back, except in a broom filter.
pub(super) struct TimingAttack;

fn widths(size: Size) -> &'static [u32] {
    size.of(&[4], &[4, 6, 8], &[3, 4, 6, 8])
}

/// Keys of a broom filter that has a back yard at the widths below, and games of a trial.
const WITH_YARD: (u64, u64) = (500, 200);

/// Those of them that are not among the widths above with as many keys. A quick run does not tell ε from more at 10 bits.
fn yard_widths(size: Size) -> &'static [u32] {
    size.of(&[], &[8], &[10])
}

/// Keys, and games of a trial.
fn amounts(size: Size) -> (u64, u64) {
    size.of((60, 20), (60, 20), (500, 1_000))
}

impl Experiment for TimingAttack {
    fn name(&self) -> &'static str {
        "timing-attack"
    }

    fn claim(&self) -> &'static str {
        "Deleting and re-inserting a key brings old mistakes back, except in a broom filter"
    }

    fn measures(&self) -> &'static str {
        "Games that an adversary wins by deleting and inserting keys again"
    }

    fn source(&self) -> &'static str {
        "001, section 4.3"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (keys, games) = amounts(size);
        vec![format!(
            "The adversary finds a false positive x and then a stored key y whose deletion and re-insertion make x a false positive \
             again; it does so once more and names x. A trial is {games} games for each filter and width, {keys} keys each."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn budget(&self, _: Size) -> Budget {
        Budget { first: 10, most: 80 }
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (keys, games) = amounts(setup.size);
        let mut points = Vec::new();
        for &bits in widths(setup.size) {
            for (contender, phases) in contenders(bits) {
                let game = Match::new(&[AdversaryName::DeleteReinsert], contender, bits, keys, games);
                // The rarer the mistakes, the more look-ups a phase takes.
                let work = game.work * (1.0 + phases as f64 * f64::from(1 << bits) / 64.0);
                points.push(Match { phases, work, ..game }.point(setup));
            }
        }
        let (keys, games) = WITH_YARD;
        for &bits in yard_widths(setup.size) {
            let game = Match::new(&[AdversaryName::DeleteReinsert], Contender::broom(bits + 6), bits, keys, games);
            points.push(Match { work: 2.0 * game.work, ..game }.point(setup));
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        pictures(self.name(), table, &[AdversaryName::DeleteReinsert])
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let all = matches(table);
        let of = |filters: &'static [&'static str]| {
            let named =
                |own: &&Table| own.rows().next().is_some_and(|row| filters.contains(&row.text("filter").as_str()));
            all.iter().filter(named)
        };
        let has_yard = |own: &&Table| {
            own.first("bits").is_some_and(|bits| bits >= 8.0)
                && own.first("keys").is_some_and(|keys| keys >= WITH_YARD.0 as f64)
        };
        let mut statements = vec![
            Statement::new(
                "section 4.3: ghosts of deleted keys keep what was learned; the broom filter is not beaten",
                format!("the share of games won: at most {MARGIN}"),
            )
            .every(of(&BROOMS).filter_map(wins_no_more).collect()),
            Statement::new(
                "section 4.3: a filter that forgets a deleted key's adaptivity is beaten",
                "the share of games won against telescoping and extension: at least half",
            )
            .every(of(&["telescoping", "extension"]).map(|own| won(own).above(0.5)).collect()),
        ];
        if size != Size::Tiny {
            statements.push(
                Statement::new(
                    "docs/broom.md, beyond 001: nor is it beaten if it has a back yard, where ε is far below one per cent",
                    "the share of games won, with 500 keys and remainders of 8 bits or more: at most 1.25 times the static rate",
                )
                .every(of(&BROOMS).filter(has_yard).filter_map(all_pools_no_worse).collect()),
            );
        }
        statements
    }
}
