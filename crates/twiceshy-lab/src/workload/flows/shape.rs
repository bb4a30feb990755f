//! The number of packets of each flow: a rank-size law in two pieces.

/// The published figures of Chicago A (003 section 4.2), on which the shape is built.
const MODEL_FLOWS: f64 = 691_371.0;
const MODEL_PACKETS: f64 = 18_500_000.0;
const MODEL_LARGEST: f64 = 130_675.0;
const MODEL_HEAD: f64 = 1_000.0;
const MODEL_HEAD_FLOOR: f64 = 10_000.0;

/// The packets of each flow, the largest flow first: `flows` numbers above 0 that add up to `packets`.
///
/// The head is one flow in 691, and flow r of it has 10,000 + 120,675/r packets: the largest 130,675, the thousandth
/// 10,121. The tail is floor((N/r)^b) for rank r of N, down to flows of one packet, with the exponent b that makes the sum
/// right. For Chicago A b = 1.157; the head has 59 % of the packets; the first flow of the tail has 1,930, and 45 % of all
/// flows have one packet.
///
/// There is a gap between the two pieces (10,121 packets at rank 1,000 and 1,930 at rank 1,001). The published figures
/// leave little choice: a thousand flows above 10,000 packets have more than half of all packets, and a law without a
/// gap would have to fall so steeply after them that 19 of 20 flows had one packet. A plain power law through the two
/// published points of the head would give it 86 % of the packets.
///
/// For other numbers of flows and packets the same shape is scaled: the ranks by the number of flows, and the sizes of
/// the head by the mean number of packets per flow.
pub(super) fn sizes(flows: u32, packets: u32) -> Vec<u32> {
    let head = head(flows, packets);
    let left = packets - head.iter().sum::<u32>();
    let tail = Tail { flows, head: head.len() as u32 };
    let exponent = tail.exponent(left);
    let mut sizes = head;
    tail.extend(&mut sizes, exponent);
    // The sum can jump by one or two between two adjacent floating-point exponents.
    let sum: u32 = sizes.iter().sum();
    let first = tail.head.min(flows - 1) as usize;
    sizes[first] += packets - sum;
    sizes
}

/// The sizes of the largest flows, limited so that at least one packet is left for each other flow.
fn head(flows: u32, packets: u32) -> Vec<u32> {
    let stretch = MODEL_FLOWS / f64::from(flows);
    let scale = f64::from(packets) / f64::from(flows) / (MODEL_PACKETS / MODEL_FLOWS);
    let ranks = (MODEL_HEAD / stretch).round() as u32;
    let size = |rank: u32| {
        // The model's rank in the middle of those that this rank stands for.
        let rank = (f64::from(rank) - 0.5) * stretch + 0.5;
        (scale * (MODEL_HEAD_FLOOR + (MODEL_LARGEST - MODEL_HEAD_FLOOR) / rank)).round() as u32
    };
    let mut left = packets - flows;
    let fits = |size: &u32| {
        let fits = size - 1 <= left;
        left = left.saturating_sub(size - 1);
        fits
    };
    (1..=ranks.min(flows - 1)).map(size).take_while(fits).collect()
}

/// The flows after the head.
struct Tail {
    flows: u32,
    head: u32,
}

impl Tail {
    /// The number of flows, including those of the head, with at least `size` packets by the tail's law.
    fn ranks(&self, exponent: f64, size: u32) -> u32 {
        (f64::from(self.flows) * libm::pow(f64::from(size), -1.0 / exponent)) as u32
    }

    /// The packets of the tail. Stops counting above `most`.
    fn packets(&self, exponent: f64, most: u32) -> u64 {
        let mut sum = u64::from(self.flows - self.head);
        for size in 2.. {
            let ranks = self.ranks(exponent, size).saturating_sub(self.head);
            sum += u64::from(ranks);
            if ranks == 0 || sum > most.into() {
                break;
            }
        }
        sum
    }

    /// The largest exponent that gives the tail no more packets than are left.
    fn exponent(&self, left: u32) -> f64 {
        let (mut fits, mut too_large) = (1e-3, 1e3);
        for _ in 0..70 {
            let middle = (fits + too_large) / 2.0;
            if self.packets(middle, left) <= left.into() {
                fits = middle;
            } else {
                too_large = middle;
            }
        }
        fits
    }

    /// Appends the sizes of the tail.
    fn extend(&self, sizes: &mut Vec<u32>, exponent: f64) {
        let steps = (2..).map(|size| self.ranks(exponent, size)).take_while(|ranks| *ranks > self.head);
        let mut ends: Vec<u32> = steps.collect();
        ends.insert(0, self.flows);
        for (below, end) in ends.iter().enumerate().rev() {
            sizes.resize((*end).max(sizes.len() as u32) as usize, below as u32 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chicago_a_has_every_published_figure() {
        let sizes = sizes(691_371, 18_500_000);
        assert_eq!(sizes.len(), 691_371);
        assert_eq!(sizes.iter().sum::<u32>(), 18_500_000);
        assert_eq!(sizes[0], 130_675);
        assert_eq!(sizes[999], 10_121);
        assert!(sizes[1_000] < 10_000);
        assert!(sizes.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn the_shape_matches_its_documentation() {
        let sizes = sizes(691_371, 18_500_000);
        let head = f64::from(sizes[..1_000].iter().sum::<u32>()) / 18.5e6;
        assert!((0.585..0.595).contains(&head), "{head}");
        assert!((1_920..1_940).contains(&sizes[1_000]), "{}", sizes[1_000]);
        let single = sizes.iter().filter(|size| **size == 1).count() as f64 / 691_371.0;
        assert!((0.445..0.455).contains(&single), "{single}");
    }

    #[test]
    fn sizes_add_up_exactly_and_every_flow_has_a_packet() {
        for flows in [1u32, 2, 3, 10, 100, 1_000, 34_568, 632_543] {
            for mean in [1.0, 1.001, 1.5, 2.0, 16.2, 26.76, 500.0] {
                let packets = (f64::from(flows) * mean) as u32;
                let sizes = sizes(flows, packets);
                assert_eq!(sizes.len() as u32, flows, "{mean}");
                assert_eq!(sizes.iter().sum::<u32>(), packets, "{flows} {mean}");
                assert!(sizes.iter().all(|size| *size > 0));
            }
        }
    }

    #[test]
    fn a_twentieth_keeps_the_share_of_the_head_and_of_single_packets() {
        for (flows, packets) in [(691_371, 18_500_000), (632_543, 14_600_000), (2_313_092, 37_400_000)] {
            let share = |scale: u32| {
                let sizes = sizes(flows / scale, packets / scale);
                let head = (f64::from(flows / scale) / 691.371).round() as usize;
                let packets: u32 = sizes[..head].iter().sum();
                let single = sizes.iter().filter(|size| **size == 1).count();
                [f64::from(packets) / f64::from(sizes.iter().sum::<u32>()), single as f64 / sizes.len() as f64]
            };
            for (whole, part) in share(1).into_iter().zip(share(20)) {
                assert!((whole - part).abs() < 0.03, "{flows}: {whole} {part}");
            }
        }
    }
}
