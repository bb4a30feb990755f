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
