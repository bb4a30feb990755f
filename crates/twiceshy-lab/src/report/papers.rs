//! The papers by number.

/// A paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paper {
    pub(super) number: &'static str,
    pub(super) title: &'static str,
    pub(super) authors: &'static str,
    pub(super) year: u16,
}

/// All papers that the code refers to by number.
pub(super) const PAPERS: [Paper; 5] = [
    Paper {
        number: "000",
        title: "Support Optimality and Adaptive Cuckoo Filters",
        authors: "Tsvi Kopelowitz, Samuel McCauley, Ely Porat",
        year: 2021,
    },
    Paper {
        number: "001",
        title: "Bloom Filters, Adaptivity, and the Dictionary Problem",
        authors: "Michael A. Bender, Martin Farach-Colton, Mayank Goswami, Rob Johnson, Samuel McCauley, Shikha Singh",
        year: 2018,
    },
    Paper { number: "002", title: "Cuckoo Hashing and Cuckoo Filters", authors: "Noah Fleming", year: 2018 },
    Paper {
        number: "003",
        title: "Adaptive Cuckoo Filters",
        authors: "Michael Mitzenmacher, Salvatore Pontarelli, Pedro Reviriego",
        year: 2020,
    },
    Paper {
        number: "004",
        title: "Telescoping Filter: A Practical Adaptive Filter",
        authors: "David J. Lee, Samuel McCauley, Shikha Singh, Max Stein",
        year: 2021,
    },
];

/// Whose statement it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// The paper with this place in [`PAPERS`].
    Paper(usize),
    /// This project.
    Own,
}

impl Author {
    /// All of them, in the order of the page.
    pub(super) fn all() -> impl Iterator<Item = Author> {
        (0..PAPERS.len()).map(Author::Paper).chain([Author::Own])
    }

    /// Whose statement this is: that of the paper that it names first, of this project if it says so, and otherwise that
    /// of the paper in the experiment's source.
    pub(super) fn of(statement: &str, source: &str) -> Author {
        let lower = statement.to_lowercase();
        if lower.starts_with("this project") || lower.starts_with("docs/") || lower.contains("(this project") {
            return Author::Own;
        }
        let number = |text: &str| PAPERS.iter().position(|paper| text.starts_with(paper.number)).map(Author::Paper);
        number(statement).or_else(|| number(source)).unwrap_or(Author::Own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_belongs_to_the_paper_that_it_names_or_that_of_its_source() {
        let of = |statement| Author::of(statement, "001, section 2 and Lemma 13");
        assert_eq!(of("Lemma 9: O(n) bits"), Author::Paper(1));
        assert_eq!(of("004 Theorem 1: the rate is ε"), Author::Paper(4));
        assert_eq!(of("This project's: it loses"), Author::Own);
        assert_eq!(of("docs/broom.md, beyond 001: nor does it lose"), Author::Own);
        assert_eq!(of("The exact law of selectors (this project's)"), Author::Own);
        assert_eq!(Author::of("no filter is better", "this project: no paper has it"), Author::Own);
    }
}
