//! Stored keys that absent ones collide with, drawn with a chance in proportion to the number of collisions.

use crate::workload::rng::Rng;

/// Keys by their number of collisions now.
///
/// Keys are in classes by the logarithm of that number. A draw takes a class by the sum of its numbers, and then draws from
/// the class until a key is taken, at least every second time. So draws and changes take constant time.
pub(super) struct Lively {
    classes: [Class; 32],
    /// For each key the number of its collisions, and its place in its class.
    keys: Vec<(u32, u32)>,
    weight: u64,
}

#[derive(Default)]
struct Class {
    keys: Vec<u32>,
    weight: u64,
}

/// The class of a number of collisions above 0: its logarithm.
fn class(count: u32) -> usize {
    count.ilog2() as usize
}

impl Lively {
    /// Keys without any collision.
    pub(super) fn new(keys: usize) -> Lively {
        Lively { classes: Default::default(), keys: vec![(0, 0); keys], weight: 0 }
    }

    /// All collisions.
    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    /// Says how many collisions a key has now.
    pub(super) fn set(&mut self, key: u32, count: u32) {
        let (before, place) = self.keys[key as usize];
        if before > 0 {
            let class = &mut self.classes[class(before)];
            class.weight -= u64::from(before);
            class.keys.swap_remove(place as usize);
            if let Some(moved) = class.keys.get(place as usize) {
                self.keys[*moved as usize].1 = place;
            }
        }
        let mut place = 0;
        if count > 0 {
            let class = &mut self.classes[class(count)];
            class.weight += u64::from(count);
            place = class.keys.len() as u32;
            class.keys.push(key);
        }
        self.keys[key as usize] = (count, place);
        self.weight = self.weight + u64::from(count) - u64::from(before);
    }

    /// A key, with a chance in proportion to its collisions. There must be some.
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        let mut left = rng.below(self.weight);
        for (number, class) in self.classes.iter().enumerate() {
            if left >= class.weight {
                left -= class.weight;
                continue;
            }
            loop {
                let key = class.keys[rng.below(class.keys.len() as u64) as usize];
                if rng.below(2 << number) < u64::from(self.keys[key as usize].0) {
                    return key;
                }
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_drawn_in_proportion_to_their_collisions() {
        let mut lively = Lively::new(6);
        let mut rng = Rng::new(1);
        for _ in 0..1_000 {
            lively.set(rng.below(6) as u32, rng.below(40) as u32);
        }
        let counts = [3u32, 0, 1, 12, 4, 0];
        counts.iter().enumerate().for_each(|(key, count)| lively.set(key as u32, *count));
        assert_eq!(lively.weight(), 20);
        let mut drawn = [0u32; 6];
        let draws = 40_000;
        (0..draws).for_each(|_| drawn[lively.draw(&mut rng) as usize] += 1);
        for (drawn, count) in drawn.iter().zip(counts) {
            let chance = f64::from(count) / 20.0;
            let deviation = (chance * (1.0 - chance) * f64::from(draws)).sqrt();
            assert!((f64::from(*drawn) - chance * f64::from(draws)).abs() <= 4.0 * deviation, "{drawn} of {count}");
        }
    }
}
