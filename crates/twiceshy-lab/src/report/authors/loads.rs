//! 002, section 2.2.

use super::{Topic, command, mean, measured, paragraph, shown};
use crate::report::{Report, Section};
use maud::{Markup, html};

pub(super) const EXPERIMENT: &str = "load-thresholds";

pub(super) fn topic(report: &Report) -> Topic {
    Topic {
        id: "loads",
        heading: "002, section 2.2: how full tables get",
        paper: paragraph(
            "Section 2.2 gives the load that tables of several shapes reach, among them 86 % for two functions and buckets of two cells.",
        ),
        measured: measured(report, EXPERIMENT, told),
        why: paragraph(
            "This is no mistake, but a reader may take the printed loads for limits. The printed loads are what experiments reached, so they are true as lower bounds. What limits a large table is the \
             threshold of the random hypergraph: below it all keys have room with high probability, above it they do not. For two functions and \
             buckets of two cells that threshold is above what is printed.",
        ),
        commands: vec![(command(report, EXPERIMENT), "fills tables of eight shapes until the first key finds no room")],
    }
}

fn told(section: &Section) -> Markup {
    let shapes = section.table.values("shape").into_iter().map(|shape| {
        let own = section.table.only("shape", shape.clone());
        let load = own.sample("load");
        let first = |column: &str| own.first(column).map(shown).unwrap_or_default();
        [shape.to_string(), first("paper_load"), mean(&load.values()), first("threshold"), load.len().to_string()]
    });
    html! {
        p { "The load at which the first key finds no room, as the mean over tables, beside what is printed and the threshold:" }
        div.box.whole tabindex="0" role="region" aria-label="Loads" {
            table.data {
                thead { tr {
                    th scope="col" { "Functions × cells" }
                    @for name in ["printed", "measured", "threshold", "tables"] { th.number scope="col" { (name) } }
                } }
                tbody { @for line in shapes { tr { td { (line[0]) } @for cell in &line[1..] { td.number { (cell) } } } } }
            }
        }
    }
}
