//! 001, Lemma 13.

use super::{Topic, chosen, command, measured, paragraph, within};
use crate::experiment::Table;
use crate::interval::{Z95, student, wilson};
use crate::report::{Report, Section};
use maud::{Markup, html};

pub(super) const EXPERIMENT: &str = "adaptivity-game";

pub(super) fn topic(report: &Report) -> Topic {
    Topic {
        id: "lemma-13",
        heading: "001, Lemma 13: pairs that are unrelated, and yet known to collide",
        paper: paragraph(
            "Lemma 13 says that the sustained false-positive rate of a broom filter is ε. The proof calls a query x and a stored key y \
             related if x was asked while y was stored, under hash functions that both still have. Property 10 rules out that a related pair \
             collides again. Every other pair is bounded by the chance of a hard collision, ε/n, whatever happened before.",
        ),
        measured: measured(report, EXPERIMENT, told),
        why: why(),
        commands: vec![
            (
                command(report, EXPERIMENT),
                "all adversaries against all filters, the broom filter with the rules of docs/broom.md",
            ),
            (
                "cargo test --release -p twiceshy-lab --test broom_rules -- --nocapture".into(),
                "plays each adversary with every rule, and with that rule switched off, and prints the rates. Without `FirstDifference` a new key \
                 takes the bits of the ghosts that it matches, as in section 4.3",
            ),
            (
                "twiceshy attack --filter broom --adversary swap --keys 500 --fpr 0.01 --games 2000".into(),
                "the game above against the filter with the cure, with ε = 1 %",
            ),
            (
                "twiceshy attack --filter broom --adversary silent-siblings --keys 500 --fpr 0.001 --games 1000 --seed 12".into(),
                "the second game, against the filter with both cures, with ε = 0.1 % and a back yard; with `--form two-levels` against the \
                 other form",
            ),
        ],
    }
}

fn why() -> Markup {
    html! {
        p { "The adversary can learn that two keys collide without ever asking for one while the other is stored:" }
        ol {
            li { "y is stored. x is asked and is wrong: h(x) and h(y) begin alike, and y's fingerprint is extended." }
            li { "y is deleted. Its ghost keeps the adaptivity bit in which y differs from x, say 1." }
            li { "x is inserted. Its bit is 0, so the ghost does not match h(x), and x takes no adaptivity bit from it." }
            li { "y is named. It was never asked while x was stored, so the two are not related." }
            li { "But h(y) begins with the quotient and the remainder of x: y is a false positive with certainty, not with probability ε." }
        }
        p {
            "Two keys that were both wrong about a third are another such pair, and so are keys that a chain of mistakes connects. The step \
             that fails is “if x and y are not related, the probability of a full collision is at most that of a hard collision”: given \
             what the adversary has seen, the hashes of unrelated keys need not be independent."
        }
        p {
            "The cure is small. (1) A ghost keeps its remainder. (2) A key that is inserted, or that takes the new hash function, gets adaptivity \
             bits up to the first that differs from each fingerprint and ghost with its quotient and remainder, not only the bits of ghosts that it \
             matches. (3) A mistake about a fingerprint that has adaptivity bits already also leaves these as a ghost. Then no stored key matches a \
             key that mistakes connect it with."
        }
        p {
            "For the other pairs the lemma's argument does not go through yet, since a wrong answer is not the only thing that tells of a \
             collision. We wrote here that it did, and were wrong. A key that is inserted and matches a fingerprint extends it, though no query was \
             asked, and every extension moves the frontier: keys take the new hash function, and some answers change. So the frontier \
             says that the new key shares quotient and remainder with a stored one:"
        }
        ol {
            li { "z is stored under the older function. x is inserted, has the newer function, and collides with z: z's fingerprint is extended. x is removed." }
            li { "The same happens to x′, some time later. The adversary has seen both moves, or has read them from the answers to a few keys that were right before." }
            li { "z takes the newer function, and its fingerprint under the older one is gone." }
            li { "x is inserted, and x′ is named. Neither was ever asked, and no two of the three were ever related." }
            li { "If z was the same key both times, h(x) and h(x′) begin alike: x′ is a false positive with certainty." }
        }
        p {
            "With two levels (section 5.3) x gets adaptivity bits of its own, and leaves a ghost of them when it is removed: then x′ is told apart. With \
             a back yard (5.4) x is stored as a whole hash. It takes no bits and leaves no ghost, and when z has passed the frontier nothing \
             remembers that x and z met. The adversary " code { "silent-siblings" } " wins 0.3 to 0.4 % of what it names at ε = 0.1 %, \
             against a filter that has rules (1) to (3) alone, and 0.4 to 0.7 % at ε = 0.01 %. Against one with two levels it wins nothing."
        }
        p {
            "The cure is a fourth rule: (4) a key that matches a fingerprint stays in the first level and gets adaptivity bits there, so that slots of \
             a run may have one signature if they have one remainder. If there is room only in the back yard, it leaves a ghost of the bits that tell it from \
             that fingerprint. Known to collide are then the keys that a mistake connects, or a silent collision of \
             an insertion, or of a key that passes the frontier. The rate that we can prove is ε \
             times a factor that depends on how long keys keep their hash function; " code { "docs/broom.md" } " has the rules, the proof and the \
             factor. We would be glad to hear of a simpler cure."
        }
    }
}

fn told(section: &Section) -> Markup {
    let lines = games(&section.table);
    html! {
        p {
            "The adversary " code { "swap" } " plays the game that is described under “Why”. “Games won” is the share in which the key that it named was wrong; “keys it \
             could name” is the share of wrong ones among all keys that it had equal reason to name. A rate of ε is what Lemma 13 allows. The broom \
             filter here has the cure; the others are filters that keep nothing of a deleted key."
        }
        div.box.whole tabindex="0" role="region" aria-label="Games of swap" {
            table.data {
                thead { tr {
                    th scope="col" { "Filter" }
                    @for name in ["bits", "ε, %", "games", "games won, %", "keys it could name, wrong, %"] { th.number scope="col" { (name) } }
                } }
                tbody { @for line in &lines { tr {
                    td { (line[0]) }
                    @for cell in &line[1..] { td.number { (cell) } }
                } } }
            }
        }
        (chosen(section, |statement| statement.contains("broom")))
    }
}

/// The games of `swap`: a line for each filter and width.
fn games(table: &Table) -> Vec<[String; 6]> {
    let swap = table.only("adversary", "swap");
    let mut lines = Vec::new();
    for filter in swap.values("filter") {
        let own = swap.only("filter", filter.clone());
        for bits in own.values("bits") {
            let here = own.only("bits", bits.clone());
            let (wins, games) = (here.sample("wins").sum(), here.sample("games").sum());
            let won = wilson(wins as u64, games as u64, Z95);
            let pool = here.sample("pool_rate").map(|rate| 100.0 * rate);
            lines.push([
                filter.to_string(),
                bits.to_string(),
                super::shown(100.0 * here.first("static_rate").unwrap_or(f64::NAN)),
                (games as u64).to_string(),
                within(100.0 * wins / games, (100.0 * won.0, 100.0 * won.1)),
                student(&pool.values()).map_or_else(|| super::shown(pool.mean()), |ends| within(pool.mean(), ends)),
            ]);
        }
    }
    lines
}
