//! The crate `qfilter` and a workload of one's own, beside filters of this project: writes a report into the folder named.
use std::error::Error;
use twiceshy_lab::experiment::{Contender, Folder, Setup, Size, run};
use twiceshy_lab::open::{Draw, Foreign, KeyStream, OpenContest, Refused, Rival, Room, Traffic};
use twiceshy_lab::report::{Drawn, draw};

struct Theirs(qfilter::Filter, u64);

impl Rival for Theirs {
    fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
        self.0.insert((self.1, key)).map(drop).map_err(Refused::failed)
    }
    fn contains(&self, key: &[u8]) -> bool {
        self.0.contains((self.1, key))
    }
    fn bits(&self) -> u64 {
        8 * self.0.memory_usage() as u64
    }
}

/// The lowest rate that fits into the memory; the seed is hashed with every key.
fn theirs(room: Room) -> Result<Box<dyn Rival>, Refused> {
    let of_rate = |bits| qfilter::Filter::new(room.keys, 0.5f64.powi(bits)).ok();
    let fits = |filter: &qfilter::Filter| 8 * filter.memory_usage() as u64 <= room.bits;
    let filter = (1..40).rev().filter_map(of_rate).find(fits).ok_or(Refused::failed("too little memory"))?;
    Ok(Box::new(Theirs(filter, room.seed)))
}

/// Strangers who try a door twenty times in a row and then leave for good.
struct Knocking;

impl Traffic for Knocking {
    fn name(&self) -> String {
        "knocking".into()
    }
    fn stored(&self, draw: Draw) -> KeyStream<'_> {
        Box::new((0..1_000).map(move |number| Ok(format!("{} tenant {number}", draw.seed).into_bytes())))
    }
    fn queries(&self, draw: Draw) -> KeyStream<'_> {
        let stranger = move |knock: u64| format!("{} stranger {}", draw.seed, knock / 20);
        Box::new((0..(20_000.0 * draw.ratio) as u64).map(move |knock| Ok(stranger(knock).into_bytes())))
    }
}

pub(crate) fn measure(place: &str) -> Result<Drawn, Box<dyn Error>> {
    let filters = |name| {
        let ours = OpenContest::new(name).enter(Contender::telescoping(11)).enter(Contender::cuckooing(11));
        ours.foreign(Foreign::new("qfilter", theirs)).expect_fewer("cuckooing", "qfilter", 1.0).ratios(&[2.0, 3.0])
    };
    let uniform = filters("uniform").uniform(1_000, 20);
    let streams = filters("streams").on("synthetic flows", "flows:chicago-a/80".parse()?).traffic(Knocking);
    let setup = Setup::new(Size::Quick, 1);
    let folder = Folder::for_run(place.as_ref(), &setup)?;
    run(&[&uniform, &streams], &folder, &setup, 2, &|_| ())?;
    Ok(draw(&folder, &[&uniform, &streams])?)
}

fn main() -> Result<(), Box<dyn Error>> {
    measure(&std::env::args().nth(1).ok_or("name a folder for the report")?).map(|it| println!("{}", it.page.display()))
}
