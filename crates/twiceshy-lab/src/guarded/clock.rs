//! Times look-ups one by one, on several threads.

use super::GuardedError;
use super::keys::key;
use super::traffic::{Known, Stream, Traffic};
use hdrhistogram::Histogram;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// The times of a stretch of look-ups. Each time includes one reading of the clock.
#[derive(Clone, Debug)]
pub(crate) struct Lap {
    /// The time of each look-up, in nanoseconds.
    pub(crate) times: Histogram<u64>,
    /// Look-ups per second, of all threads together.
    pub(crate) lookups_per_second: f64,
}

/// Keys drawn ahead of a timed stretch, so that drawing is not timed.
const DRAWN: usize = 256;

/// Asks for an absent key. Returns `true` if it is present, which ends a measurement with [`GuardedError::Wrong`].
pub(crate) type Ask<'a> = dyn Fn(&[u8]) -> Result<bool, GuardedError> + Sync + 'a;

/// The traffic, the threads and the time of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) traffic: Traffic,
    pub(crate) threads: usize,
    pub(crate) time: Duration,
    pub(crate) seed: u64,
}

impl Stretch {
    /// Asks for absent keys for a while. Each thread asks its share of the traffic.
    pub(crate) fn measure(&self, ask: &Ask<'_>, known: &Known) -> Result<Lap, GuardedError> {
        let Stretch { traffic, threads, time, seed } = *self;
        let together = Barrier::new(threads);
        let laps = std::thread::scope(|scope| {
            let own = |own| {
                let stream = Stream::new(traffic, seed, own, threads, known);
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    run(ask, stream, known.stored.get(), time)
                })
            };
            let running: Vec<_> = (0..threads).map(own).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(Err(GuardedError::Panicked))).collect::<Vec<_>>()
        });
        let mut sum = Lap { times: histogram()?, lookups_per_second: 0.0 };
        for lap in laps {
            let lap = lap?;
            sum.times += &lap.times;
            sum.lookups_per_second += lap.lookups_per_second;
        }
        Ok(sum)
    }
}

fn run(ask: &Ask<'_>, mut stream: Stream, stored: u64, time: Duration) -> Result<Lap, GuardedError> {
    let (mut times, mut spent) = (histogram()?, Duration::ZERO);
    let (mut drawn, mut took) = (Vec::with_capacity(DRAWN), Vec::with_capacity(DRAWN));
    // A hunter needs each answer before its next query.
    let at_once = if matches!(stream, Stream::Hunt(_)) { 1 } else { DRAWN };
    let begun = Instant::now();
    while begun.elapsed() < time {
        drawn.clear();
        drawn.extend((0..at_once).map(|_| key(stream.next(stored))));
        let mut last = Instant::now();
        for key in &drawn {
            if ask(key)? {
                return Err(GuardedError::Wrong);
            }
            let now = Instant::now();
            took.push(now - last);
            last = now;
            if last - begun > time {
                break;
            }
        }
        for took in took.drain(..) {
            spent += took;
            times.record(took.as_nanos() as u64).map_err(|_| GuardedError::Wrong)?;
            stream.answered(took);
        }
    }
    let lookups_per_second = times.len() as f64 / spent.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(Lap { times, lookups_per_second })
}

/// A histogram with three digits, for any time.
pub(crate) fn histogram() -> Result<Histogram<u64>, GuardedError> {
    let mut times =
        Histogram::new(3).map_err(|_| GuardedError::Settings("a histogram must have one to five digits"))?;
    times.auto(true);
    Ok(times)
}
