//! Flows that begin one after another, with their packets in between.

use super::shuffle::Shuffle;
use crate::workload::permutation::Permutation;
use crate::workload::rng::Rng;
use std::num::NonZeroU64;

/// The packets of flows that begin at random times.
///
/// Time runs from 0 to 1. The flows begin in a random order, evenly spread over it, each with its first packet; its
/// other packets are uniform in the remaining time. So a flow's place in the order of first packets is independent of
/// its size; 003 says nothing about it. (A shuffle of all packets would put all large flows first, and an experiment
/// that stores the first flows would ask only for small ones.)
///
/// Among flows that have begun, one with r packets left sends r/(1 − t) packets per unit of time. So the next packet is
/// a uniformly random one of those left, and comes after (1 − t)/R on average, with R packets left in all. Time
/// advances by that amount.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    sizes: Vec<u32>,
    order: Option<Permutation>,
    begun: u32,
    time: f64,
    left: Shuffle,
}

impl Arrivals {
    pub(super) fn new(sizes: Vec<u32>, seed: u64) -> Self {
        let order = NonZeroU64::new(sizes.len() as u64).map(|flows| Permutation::new(flows, seed));
        let left = Shuffle::empty(sizes.len());
        Self { sizes, order, begun: 0, time: 0.0, left }
    }

    /// The flow of the next packet; `None` at the end.
    pub(super) fn next(&mut self, rng: &mut Rng) -> Option<u32> {
        let begins = f64::from(self.begun) / self.sizes.len() as f64;
        if self.begun < self.sizes.len() as u32 && (self.time >= begins || self.left.remaining() == 0) {
            self.time = self.time.max(begins);
            return self.begin();
        }
        self.time += (1.0 - self.time) / f64::from(self.left.remaining().max(1));
        self.left.draw(rng)
    }

    fn begin(&mut self) -> Option<u32> {
        let flow = self.order.as_ref()?.apply(self.begun.into()) as u32;
        self.begun += 1;
        self.left.add(flow, self.sizes[flow as usize].saturating_sub(1));
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(sizes: &[u32], seed: u64) -> Vec<u32> {
        let (mut arrivals, mut rng) = (Arrivals::new(sizes.to_vec(), seed), Rng::new(seed));
        std::iter::from_fn(|| arrivals.next(&mut rng)).collect()
    }

    #[test]
    fn every_flow_appears_once_per_packet() {
        let mut rng = Rng::new(8);
        for flows in [1usize, 2, 3, 7, 8, 9, 1_000] {
            let sizes: Vec<u32> = (0..flows).map(|_| 1 + rng.below(9) as u32).collect();
            let mut counts = vec![0u32; flows];
            all(&sizes, flows as u64).into_iter().for_each(|flow| counts[flow as usize] += 1);
            assert_eq!(counts, sizes);
        }
        assert_eq!(all(&[], 1), [0u32; 0]);
    }

    #[test]
    fn large_flows_begin_as_late_as_small_ones() {
        let sizes: Vec<u32> = (0..2_000).map(|flow| if flow < 400 { 100 } else { 1 }).collect();
        let mut seen = vec![false; sizes.len()];
        let (mut flows, mut large) = (0, 0);
        for flow in all(&sizes, 3) {
            if !std::mem::replace(&mut seen[flow as usize], true) {
                flows += 1;
                large += u32::from(flow < 400 && flows <= 1_000);
            }
        }
        // Half of 400, drawn without replacement: a standard deviation of 9.
        assert!((164..=236).contains(&large), "{large} of the large flows are among the first half");
    }

    #[test]
    fn packets_are_spread_over_the_time_after_their_flow_begins() {
        let sizes = vec![200u32; 500];
        let order = all(&sizes, 5);
        let mut seen = [false; 500];
        let mut flows = 0;
        let at_half = order.iter().position(|flow| {
            flows += u32::from(!std::mem::replace(&mut seen[*flow as usize], true));
            flows == 250
        });
        let share = at_half.expect("half of the flows begin") as f64 / order.len() as f64;
        // Of a flow that begins at u, (x - u)/(1 - u) has come at x: the integral over u is x + (1 - x) ln(1 - x).
        let expected = 0.5 + 0.5 * 0.5f64.ln();
        assert!((share - expected).abs() < 0.01, "{share} for {expected}");
    }
}
