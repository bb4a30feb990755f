//! The partial-key filter, from inside.

use super::*;

fn key(i: u64) -> [u8; 8] {
    i.to_le_bytes()
}

#[test]
fn eight_bits_reach_95_percent_in_two_by_four_at_any_size() {
    for keys in [1_000u64, 9_999, 100_003] {
        let options = CuckooFilter::with_cells((keys as f64 / 0.95).ceil() as u64, 8);
        let mut filter = options.build(HashKey::fixed(keys)).unwrap();
        for i in 0..keys {
            filter.insert(&key(i)).unwrap();
        }
        assert!((0..keys).all(|i| filter.contains(&key(i))));
        filter.validate().unwrap();
        assert!((0..keys).all(|i| filter.remove(&key(i))));
        assert!(filter.is_empty() && (0..keys).all(|i| !filter.contains(&key(i))));
    }
}

#[test]
fn a_full_filter_refuses_a_key_and_keeps_the_others() {
    for (tables, per_bucket, width) in [(2, 4, 8), (4, 1, 12), (3, 2, 5), (2, 1, 16)] {
        let options = CuckooFilter::with_cells(500, width).tables(tables).cells_per_bucket(per_bucket);
        let mut filter = options.build(HashKey::fixed(1)).unwrap();
        let stored = (0..).find(|i| filter.insert(&key(*i)).is_err()).unwrap();
        let full = filter.insert(&key(stored));
        assert!(matches!(full, Err(Error::Full { keys, cells }) if (keys, cells) == (stored, filter.cells())));
        // Without a remote it cannot grow.
        assert!(full.is_err_and(|error| error.to_string().contains("build a larger filter")));
        assert!((0..stored).all(|i| filter.contains(&key(i))), "{tables}×{per_bucket}");
        filter.validate().unwrap();
    }
}

#[test]
fn a_ninth_key_with_the_same_bucket_and_fingerprint_does_not_fit() {
    let mut filter = CuckooFilter::with_cells(64, 3).build(HashKey::fixed(4)).unwrap();
    let wanted = filter.pair_of(&key(0));
    let alike: Vec<u64> = (0..).filter(|i| filter.pair_of(&key(*i)) == wanted).take(9).collect();
    assert!(alike[..8].iter().all(|i| filter.insert(&key(*i)).is_ok()));
    assert!(matches!(filter.insert(&key(alike[8])), Err(Error::Full { keys: 8, .. })));
}

#[test]
fn the_ninth_copy_of_a_key_does_not_fit_and_harms_no_other_key() {
    let mut filter = CuckooFilter::with_cells(1000, 12).build(HashKey::fixed(2)).unwrap();
    filter.insert(b"other").unwrap();
    let copies = (0..).find(|_| filter.insert(b"same").is_err()).unwrap();
    assert_eq!(copies, 8);
    assert!(filter.contains(b"other"));
}

#[test]
fn a_fingerprint_in_any_cell_gives_all_its_buckets() {
    let mut filter = CuckooFilter::with_cells(999, 9).tables(5).cells_per_bucket(1).build(HashKey::fixed(3)).unwrap();
    for i in 0..500 {
        let (home, fingerprint) = filter.locate(&filter.hash.words(&key(i)));
        let buckets = filter.buckets(home, fingerprint);
        for cell in filter.shape.cells_of(&buckets).collect::<Vec<_>>() {
            filter.cells.set(cell.0, fingerprint);
            let Ok(Resident::At(found)) = filter.resident(cell) else { panic!("the cell is not occupied") };
            assert_eq!(found, buckets);
            filter.cells.set(cell.0, EMPTY);
        }
    }
}

#[test]
fn the_search_by_buckets_finds_the_paths_of_the_search_by_cells() {
    let mut found = 0;
    for (tables, per_bucket, width) in [(2, 4, 8), (2, 4, 12), (2, 4, 20), (3, 2, 6), (4, 1, 9), (2, 1, 8), (3, 3, 3)] {
        let options = CuckooFilter::with_cells(400, width).tables(tables).cells_per_bucket(per_bucket);
        let mut filter = options.build(HashKey::fixed(5)).unwrap();
        for i in 0..600 {
            let (home, fingerprint) = filter.locate(&filter.hash.words(&key(i)));
            let buckets = filter.buckets(home, fingerprint);
            for budget in [1, 3, 20, 5_000] {
                let search = Search::BreadthFirst { cells: budget };
                let Ok(by_cells) = search.find(&mut filter.clone(), &buckets, &mut filter.rng.clone());
                let buckets = &buckets[..usize::from(filter.shape.tables())];
                if (0..).zip(buckets).any(|(table, bucket)| filter.free_cell(table, *bucket).is_some()) {
                    continue;
                }
                let path = kicks::search(&filter, buckets, budget);
                let path = path.map(|path| Path(path.into_iter().map(|step| CellId(filter.cell(step))).collect()));
                assert_eq!(path, by_cells, "{tables}×{per_bucket} of {width} bits, key {i}, budget {budget}");
                found += u32::from(path.is_some());
            }
            let _ = filter.insert(&key(i));
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn a_saved_filter_answers_as_before_and_a_damaged_one_is_refused() {
    let mut filter = CuckooFilter::with_cells(100, 7).build(HashKey::fixed(4)).unwrap();
    (0..80).for_each(|i| filter.insert(&key(i)).unwrap());
    let mut file = Vec::new();
    filter.save(&mut file).unwrap();
    let again = CuckooFilter::load(&mut file.as_slice()).unwrap();
    assert!((0..5000).all(|i| again.contains(&key(i)) == filter.contains(&key(i))));
    assert_eq!(again.len(), 80);
    for at in 0..file.len() {
        file[at] ^= 1;
        assert!(CuckooFilter::load(&mut file.as_slice()).is_err(), "byte {at}");
        assert!(CuckooFilter::load(&mut &file[..at]).is_err(), "cut at {at}");
        file[at] ^= 1;
    }
}

#[test]
fn two_tables_answer_as_any_shape_does() {
    let mut random = SplitMix64::from_state(8);
    let (mut found, mut usual) = (0, 0);
    for hash in [HashKey::fixed(6), HashKey::fixed(6).for_trusted_keys()] {
        for (width, per_bucket) in (2..=32).flat_map(|width| [1, 2, 3, 4, 8].map(|per_bucket| (width, per_bucket))) {
            for (tables, cells) in [(2, 1), (2, 40), (2, 999), (3, 50)] {
                let options = CuckooFilter::with_cells(cells, width).tables(tables).cells_per_bucket(per_bucket);
                let mut filter = options.build(hash).unwrap();
                let keys: Vec<Vec<u8>> =
                    (0..200).map(|i| (0..1 + i % 17).map(|_| random.next() as u8).chain([i as u8]).collect()).collect();
                for cell in 0..filter.shape.cells() {
                    filter.cells.set(cell, random.next() as u32);
                }
                for key in &keys[..100] {
                    let (home, fingerprint) = filter.locate(&hash.words(key));
                    let cells: Vec<_> = filter.shape.cells_of(&filter.buckets(home, fingerprint)).collect();
                    filter.cells.set(cells[random.below(cells.len() as u64) as usize].0, fingerprint);
                }
                let plain: Vec<bool> =
                    keys.iter().map(|key| filter.contains_one_by_one(hash.words(key).word(0), key)).collect();
                let single: Vec<bool> = keys.iter().map(|key| Filter::contains(&filter, key)).collect();
                assert_eq!(single, plain, "{tables}×{per_bucket}, {cells} cells of {width} bits");
                assert_eq!(filter.contains_batch(&keys), plain, "{tables}×{per_bucket}, {cells} cells of {width} bits");
                found += plain.iter().filter(|found| **found).count();
                usual += u32::from(filter.usual.is_some());
            }
        }
    }
    assert!(found > 20_000 && usual > 300, "{found} found, {usual} usual shapes");
}
