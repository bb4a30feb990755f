//! A store is copied, both copies go on with other keys, and then they swap their snapshots. Identity, secret and commit
//! numbers are the same.

use super::{Forgery, checked, work_on};
use crate::torture::folder::copy;
use crate::torture::ordeal::{Scene, Tally};
use crate::torture::trouble::Trouble;
use crate::workload::rng::Rng;
use twiceshy_store::SNAPSHOT_FILE;

pub(super) fn check_fork(mut scene: Scene, rng: &mut Rng) -> Result<Tally, Trouble> {
    let mut other = fork(&mut scene, rng)?;
    for scene in [&mut scene, &mut other] {
        checked(Forgery::Forked, &scene.turn, &scene.folder, &scene.model)?;
    }
    Ok(Tally::of(Forgery::Forked.name()))
}

/// Makes the copy, lets both go on, and swaps their snapshots.
fn fork(scene: &mut Scene, rng: &mut Rng) -> Result<Scene, Trouble> {
    copy(&scene.folder, &scene.beside)?;
    let mut other = Scene { folder: scene.beside.clone(), ..scene.clone() };
    // As many commits in both.
    work_on(&mut other, &mut rng.clone(), 2)?;
    work_on(scene, rng, 1)?;
    let [one, two] = [&*scene, &other].map(|scene| scene.folder.join(SNAPSHOT_FILE));
    let bytes = std::fs::read(&one)?;
    std::fs::copy(&two, &one)?;
    std::fs::write(&two, bytes)?;
    Ok(other)
}

#[cfg(test)]
mod tests {
    use super::super::layout::{FIELDS, number};
    use super::*;
    use crate::torture::testing::scene;
    use twiceshy_store::Kind;

    #[test]
    fn the_two_stores_differ_in_contents_but_not_in_commit_numbers() {
        let (_folder, mut one) = scene(Kind::Telescoping, 100);
        let two = fork(&mut one, &mut Rng::new(1)).expect("a folder");
        assert_ne!(one.model, two.model);
        let [a, b] = [&one, &two].map(|scene| std::fs::read(scene.folder.join(SNAPSHOT_FILE)).expect("a snapshot"));
        assert_eq!(number(&a, 10), number(&b, 10));
        assert_ne!(a[..FIELDS], b[..FIELDS], "the tags differ");
    }
}
