//! The value of `--adversary`.

use std::fmt::Write as _;
use std::str::FromStr;
use twiceshy_lab::game::AdversaryName;

/// An adversary, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// All except those that search.
    All,
    /// This one.
    One(AdversaryName),
}

impl FromStr for Who {
    type Err = String;

    fn from_str(text: &str) -> Result<Who, String> {
        match text {
            "all" => Ok(Who::All),
            name => name.parse().map(Who::One).map_err(|error: String| format!("{error}, or all")),
        }
    }
}

/// The selected adversaries, each once, in the order of the list. `all` leaves out those that the filter cannot meet.
pub(super) fn names(list: &[Who], can_meet: impl Fn(AdversaryName) -> bool) -> Vec<AdversaryName> {
    let mut names = Vec::new();
    for who in list {
        let meant = |name: &AdversaryName| match who {
            Who::All => !name.searches() && can_meet(*name),
            Who::One(one) => one == name,
        };
        for name in AdversaryName::ALL.into_iter().filter(meant) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// A description of every adversary.
pub(super) fn help() -> String {
    let mut text = String::from(
        "The adversary, a comma-separated list, or `all` (every one that the filter can meet, except those that search). n is the number of keys; a mistake is \
         a key that the filter wrongly calls present, and each is reported to the filter. An adversary beats a filter if it \
         wins more often than epsilon, measured with 500 keys at 1 %:\n",
    );
    for name in AdversaryName::ALL {
        let _ = write!(text, "\n- {name}: {}", name.explain());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_means_those_that_do_not_search_and_the_others_can_be_added() {
        let all = names(&[Who::All], |_| true);
        assert!(!all.iter().any(|name| name.searches()));
        assert_eq!(all.len(), AdversaryName::ALL.len() - 3);
        let more = names(&[Who::One(AdversaryName::Cyclic), Who::All, Who::One(AdversaryName::Swap)], |_| true);
        assert_eq!((more.len(), more[0]), (all.len() + 1, AdversaryName::Cyclic));
        let possible = |name: AdversaryName| name != AdversaryName::Swap;
        assert_eq!(names(&[Who::All], possible).len(), all.len() - 1, "what cannot be played is left out");
        assert_eq!(names(&[Who::One(AdversaryName::Swap)], possible), [AdversaryName::Swap], "unless it is named");
    }

    #[test]
    fn every_adversary_is_explained_and_can_be_selected() {
        for name in AdversaryName::ALL {
            assert!(help().contains(&format!("\n- {name}: ")), "{name}");
            assert_eq!(name.as_str().parse(), Ok(Who::One(name)));
        }
        assert_eq!("all".parse(), Ok(Who::All));
        assert!("mallory".parse::<Who>().is_err_and(|error| error.contains("swap") && error.contains("or all")));
    }
}
