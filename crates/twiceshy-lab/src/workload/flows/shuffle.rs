//! Packets in a uniformly random order, drawn one at a time.

use crate::workload::rng::Rng;

/// The packets that have not come yet, by flow.
///
/// A complete binary tree over the flows in which each inner node knows the packets left below its left child. A draw takes
/// a uniformly random one of all packets that are left and walks down to its flow, taking one off each node on its
/// way: exactly a shuffle of the list of all packets, in memory for the flows. 4 to 8 bytes a flow and 20 steps a packet
/// for a million flows; the many packets of the first flows share their nodes, which stay in the cache.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    /// The root is node 1, the children of node i are 2i and 2i + 1.
    left: Box<[u32]>,
    remaining: u32,
}

impl Shuffle {
    /// A tree for `flows` flows, none of which has packets yet.
    pub(super) fn empty(flows: usize) -> Self {
        Self { left: vec![0; flows.next_power_of_two()].into_boxed_slice(), remaining: 0 }
    }

    /// Adds packets of a flow to those that are left.
    pub(super) fn add(&mut self, flow: u32, packets: u32) {
        let mut node = self.left.len() + flow as usize;
        while node > 1 {
            let from_left = node.is_multiple_of(2);
            node /= 2;
            self.left[node] += if from_left { packets } else { 0 };
        }
        self.remaining += packets;
    }

    /// The packets that are left.
    pub(super) fn remaining(&self) -> u32 {
        self.remaining
    }

    /// The flow of the next packet; `None` at the end.
    pub(super) fn draw(&mut self, rng: &mut Rng) -> Option<u32> {
        if self.remaining == 0 {
            return None;
        }
        let mut packet = rng.below(self.remaining.into()) as u32;
        self.remaining -= 1;
        let leaves = self.left.len();
        let mut node = 1;
        while node < leaves {
            let left = &mut self.left[node];
            let right = packet >= *left;
            packet -= if right { *left } else { 0 };
            *left -= u32::from(!right);
            node = 2 * node + usize::from(right);
        }
        Some((node - leaves) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sizes: &[u32], seed: u64) -> Vec<u32> {
        let (mut shuffle, mut rng) = (Shuffle::empty(sizes.len()), Rng::new(seed));
        sizes.iter().zip(0..).for_each(|(packets, flow)| shuffle.add(flow, *packets));
        std::iter::from_fn(|| shuffle.draw(&mut rng)).collect()
    }

    #[test]
    fn every_flow_is_drawn_once_per_packet() {
        let mut rng = Rng::new(8);
        for flows in [1usize, 2, 3, 7, 8, 9, 1_000] {
            let sizes: Vec<u32> = (0..flows).map(|_| rng.below(9) as u32).collect();
            let mut counts = vec![0u32; flows];
            for flow in drawn(&sizes, flows as u64) {
                counts[flow as usize] += 1;
            }
            assert_eq!(counts, sizes);
        }
        assert_eq!(drawn(&[], 1), [0u32; 0]);
    }

    #[test]
    fn all_orders_of_few_packets_are_equally_likely() {
        // 2 + 1 + 1 packets have 4! / 2! = 12 orders.
        let trials = 24_000;
        let mut counts = std::collections::HashMap::new();
        for seed in 0..trials {
            *counts.entry(drawn(&[2, 1, 1], seed)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 12);
        let (mean, deviation) = (2_000.0, (trials as f64 * 11.0 / 144.0).sqrt());
        for (order, count) in counts {
            assert!((f64::from(count) - mean).abs() <= 4.5 * deviation, "{order:?}: {count}");
        }
    }
}
