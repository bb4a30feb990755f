//! The memory of mistakes.

use super::{Topic, chosen, command, measured};
use crate::report::Report;
use maud::{Markup, html};

pub(super) const EXPERIMENT: &str = "remembering";

pub(super) fn topic(report: &Report) -> Topic {
    Topic {
        id: "memory",
        heading: "000, 003 and 004: a memory of mistakes on the store's side",
        paper: html! {
            p {
                "The cuckoo filters of 000 and 003 fix a mistake by moving a key, or by giving it another fingerprint, without knowing which earlier \
                 query matches the key where it goes. 000 shows that this costs little while each key meets few distinct queries, and 003 measures \
                 how fixes undo each other as A/S grows. 004 keeps every earlier fix as long as a block's code has room, and forgets the block when \
                 it has not."
            }
            p { "No paper makes this claim; it is a suggestion of ours." }
        },
        measured: measured(report, EXPERIMENT, |section| chosen(section, |_| true)),
        why: why(),
        commands: vec![
            (command(report, EXPERIMENT), "the remembering filter, and all others in the memory that it ends with"),
            (
                "twiceshy attack --filter remembering --adversary all --keys 500 --fpr 0.01 --games 100".into(),
                "it is not made against adversaries: those that store their mistakes get above ε",
            ),
        ],
    }
}

fn why() -> Markup {
    html! {
        p {
            "All of these filters ask the store at a mistake: it has found out that the key is absent. So it costs little to note there, for each stored key, the \
             queries that it was mistaken for. The filter itself spends no bit on that. With the note at hand, a filter can choose: a colliding \
             key goes only to a cell where neither the new query nor one that it was mistaken for before matches it. Then a pair of key and query \
             is not repeated while it is remembered, and what is left are first mistakes."
        }
        p {
            "The price is on the store's side: entries of the memory, and more reads at a mistake, since a cell must be found. The memory also teaches \
             a filter that is rebuilt, after a crash or when it grows, which otherwise makes all its mistakes anew. The table of its statements says where it \
             does not win; " code { "docs/remembering.md" } " has the design and the costs."
        }
    }
}
