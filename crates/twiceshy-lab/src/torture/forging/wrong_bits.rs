//! A snapshot whose filter has wrong bits and right checksums, with the codes of a made-up secret.

use super::layout::{FIELDS, filter, with_wrong_bits};
use crate::workload::rng::Rng;
use std::io;
use twiceshy_store::Kind;

pub(super) fn forge(snapshot: &[u8], kind: Kind, rng: &mut Rng) -> io::Result<Vec<u8>> {
    let filter = with_wrong_bits(filter(snapshot)?, kind, rng);
    let mut secret = [0; 32];
    secret.fill_with(|| rng.word() as u8);
    let code = |bytes: &[u8]| *blake3::Hasher::new_keyed(&secret).update(bytes).finalize().as_bytes();
    let mut forged = snapshot[..FIELDS].to_vec();
    forged.extend(code(&forged));
    forged.extend(filter);
    forged.extend(code(&forged));
    Ok(forged)
}

#[cfg(test)]
mod tests {
    use super::super::layout;
    use super::*;
    use crate::torture::testing::scene;
    use twiceshy_store::SNAPSHOT_FILE;

    #[test]
    fn only_codes_and_filter_differ_from_the_stores_own_snapshot() {
        let (_folder, scene) = scene(Kind::Telescoping, 300);
        let own = std::fs::read(scene.folder.join(SNAPSHOT_FILE)).expect("a snapshot");
        let forged = forge(&own, Kind::Telescoping, &mut Rng::new(1)).expect("a long snapshot");
        assert_eq!((forged.len(), &forged[..FIELDS]), (own.len(), &own[..FIELDS]));
        assert_ne!(forged[FIELDS..FIELDS + 32], own[FIELDS..FIELDS + 32]);
        assert_eq!(forged.len() as u64, layout::number(&forged, 26) + 34 + 2 * 32);
        let (filter, sequence) =
            Kind::Telescoping.load(&mut layout::filter(&forged).expect("a filter")).expect("it loads");
        assert_eq!((filter.len(), sequence), (300, layout::number(&own, 10)));
    }
}
