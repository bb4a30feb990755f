//! Synthetic flows with the published statistics of the CAIDA traces that the papers use (003 section 4.2).
//!
//! The traces themselves are given to researchers on request and are not included here. 003 publishes the numbers of
//! packets and flows and, for the first trace, the sizes of the largest flows. Everything else is made up, so every
//! measurement with these streams must be called synthetic; names and reports do so.

mod arrivals;
mod shape;
mod shuffle;

use std::fmt;
use std::str::FromStr;

use super::rng::{Rng, scramble};
use arrivals::Arrivals;

const STREAM: u64 = 0x464C_4F57_5300;

/// The bytes of a key: addresses, ports and protocol, as a capture of IPv4 packets has them.
pub const KEY_BYTES: usize = 13;

/// The trace whose published statistics are reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// equinix-chicago.dirA.20140619-130900: 18.5 million packets, 691,371 flows.
    ChicagoA,
    /// equinix-chicago.dirB.20140619-132600: 14.6 million packets, 632,543 flows.
    ChicagoB,
    /// equinix-sanjose.dirA.20140320-130400: 37.4 million packets, 2,313,092 flows.
    SanJose,
}

impl Site {
    const ALL: [Site; 3] = [Site::ChicagoA, Site::ChicagoB, Site::SanJose];

    fn name(self) -> &'static str {
        match self {
            Site::ChicagoA => "chicago-a",
            Site::ChicagoB => "chicago-b",
            Site::SanJose => "san-jose",
        }
    }

    /// The numbers of flows and packets.
    fn published(self) -> (u32, u32) {
        match self {
            Site::ChicagoA => (691_371, 18_500_000),
            Site::ChicagoB => (632_543, 14_600_000),
            Site::SanJose => (2_313_092, 37_400_000),
        }
    }
}

/// Synthetic flows like those of a site, or a part of them: `chicago-a`, or `chicago-a/20` for a twentieth of the flows
/// and packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    site: Site,
    scale: u32,
}

impl Flows {
    /// The largest divisor. It leaves at least a hundred flows.
    pub const LARGEST_SCALE: u32 = 5_000;

    /// Flows and packets divided by `scale`, which is 1 to [`LARGEST_SCALE`](Self::LARGEST_SCALE).
    pub fn new(site: Site, scale: u32) -> Option<Self> {
        (1..=Self::LARGEST_SCALE).contains(&scale).then_some(Self { site, scale })
    }

    /// The number of flows, each with its own key.
    pub fn flows(self) -> u32 {
        self.site.published().0 / self.scale
    }

    /// The number of packets.
    pub fn packets(self) -> u32 {
        // A multiple of the flows, so that the mean stays the same.
        let (flows, packets) = self.site.published();
        (f64::from(packets) / f64::from(flows) * f64::from(self.flows())).round() as u32
    }

    /// A description as text.
    pub fn describe(self) -> String {
        let site = match self.site {
            Site::ChicagoA => "Chicago A",
            Site::ChicagoB => "Chicago B",
            Site::SanJose => "San Jose",
        };
        match self.scale {
            1 => format!("synthetic flows like {site}"),
            scale => format!("synthetic flows like {site}, 1/{scale} of them"),
        }
    }

    /// All packets; each flow starts at a random time.
    pub fn requests(self, seed: u64) -> Packets {
        let sizes = shape::sizes(self.flows(), self.packets());
        let mut rng = Rng::stream(seed, STREAM);
        let whiten = [rng.word(), rng.word()];
        Packets { arrivals: Arrivals::new(sizes, rng.word()), rng, whiten, key: [0; KEY_BYTES] }
    }
}

impl FromStr for Flows {
    type Err = FlowsError;

    fn from_str(text: &str) -> Result<Self, FlowsError> {
        let (name, scale) = text.split_once('/').unwrap_or((text, "1"));
        let refused = || FlowsError { given: text.to_owned() };
        let site = Site::ALL.into_iter().find(|site| site.name() == name).ok_or_else(refused)?;
        scale.parse().ok().and_then(|scale| Self::new(site, scale)).ok_or_else(refused)
    }
}

impl fmt::Display for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.site.name())?;
        if self.scale > 1 { write!(f, "/{}", self.scale) } else { Ok(()) }
    }
}

/// An unknown name of synthetic flows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown synthetic flows `{given}`; write `flows:chicago-a`, `flows:chicago-b` or `flows:san-jose`, and append `/20` for a twentieth (at most `/{}`)",
    Flows::LARGEST_SCALE
)]
pub struct FlowsError {
    given: String,
}

/// The packets of synthetic [`Flows`], in memory proportional to the flows. 100 to 250 ns per packet.
#[derive(Clone, Debug)]
pub struct Packets {
    rng: Rng,
    arrivals: Arrivals,
    whiten: [u64; 2],
    key: [u8; KEY_BYTES],
}

impl Packets {
    /// The flow of the next packet, where 0 is the largest flow; `None` at the end.
    pub fn next_flow(&mut self) -> Option<u32> {
        self.arrivals.next(&mut self.rng)
    }

    /// The key of the next packet; `None` at the end.
    pub fn next_key(&mut self) -> Option<&[u8; KEY_BYTES]> {
        let flow = self.next_flow()?;
        self.key = self.key_of(flow);
        Some(&self.key)
    }

    /// The key of a flow. Different flows have different addresses, which are a bijection of the flow's number.
    pub fn key_of(&self, flow: u32) -> [u8; KEY_BYTES] {
        let [before, between] = self.whiten;
        let addresses = scramble(scramble(u64::from(flow) ^ before) ^ between);
        let rest = scramble(addresses ^ before).to_le_bytes();
        let mut key = [0; KEY_BYTES];
        key[..8].copy_from_slice(&addresses.to_le_bytes());
        key[8..12].copy_from_slice(&rest[..4]);
        // TCP for three of four flows, UDP for the others.
        key[12] = if rest[4] < 192 { 6 } else { 17 };
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_flow_has_the_packets_of_its_rank() {
        let flows: Flows = "chicago-a/20".parse().expect("a scale");
        let mut packets = flows.requests(1);
        let mut counts = vec![0u32; flows.flows() as usize];
        while let Some(flow) = packets.next_flow() {
            counts[flow as usize] += 1;
        }
        assert_eq!(counts, shape::sizes(flows.flows(), flows.packets()));
    }

    #[test]
    fn the_published_counts_of_all_sites_are_met_and_a_scale_keeps_the_mean() {
        for (text, flows, packets) in [
            ("chicago-a", 691_371, 18_500_000),
            ("chicago-b", 632_543, 14_600_000),
            ("san-jose", 2_313_092, 37_400_000),
        ] {
            let whole: Flows = text.parse().expect("a site");
            assert_eq!((whole.flows(), whole.packets()), (flows, packets));
            for scale in [20, 333, 5_000] {
                let part: Flows = format!("{text}/{scale}").parse().expect("a scale");
                let mean = |flows: Flows| f64::from(flows.packets()) / f64::from(flows.flows());
                assert!((mean(whole) - mean(part)).abs() < 0.01, "{part}");
                assert!(part.describe().contains("synthetic"));
            }
        }
    }

    #[test]
    fn every_flow_has_its_own_key() {
        let flows: Flows = "chicago-a/20".parse().expect("a scale");
        let mut packets = flows.requests(2);
        let mut first: HashMap<[u8; KEY_BYTES], u32> = HashMap::new();
        let mut asked = 0;
        while let Some(key) = packets.next_key() {
            first.entry(*key).or_insert(asked);
            asked += 1;
        }
        assert_eq!(first.len() as u32, flows.flows());
        assert_eq!(asked, flows.packets());
        let tcp = first.keys().filter(|key| key[12] == 6).count() as f64 / first.len() as f64;
        assert!((0.73..0.77).contains(&tcp), "{tcp}");
    }

    #[test]
    fn a_seed_gives_the_same_packets_everywhere() {
        let flows: Flows = "chicago-b/100".parse().expect("a scale");
        let take = |seed| {
            let mut packets = flows.requests(seed);
            (0..1_000).filter_map(|_| packets.next_flow()).collect::<Vec<_>>()
        };
        assert_eq!(take(2026)[..8], [2501, 2501, 4955, 6294, 3550, 2960, 3183, 2629]);
        assert_eq!(flows.requests(2026).key_of(0), [202, 180, 105, 104, 31, 146, 101, 143, 77, 119, 191, 102, 6]);
        assert!(take(2026) == take(2026) && take(2026) != take(2027));
    }

    #[test]
    fn unknown_flows_are_refused_with_an_example() {
        for text in ["", "chicago", "chicago-a/0", "chicago-a/5001", "chicago-a/x", "chicago-a/", "san-jose/1.5"] {
            let error = text.parse::<Flows>().expect_err(text).to_string();
            assert!(error.contains("flows:chicago-a") && error.contains("5000"), "{error}");
        }
        for text in ["chicago-a", "chicago-b/20", "san-jose/5000"] {
            assert_eq!(text.parse::<Flows>().map(|flows| flows.to_string()), Ok(text.to_owned()));
        }
    }
}
