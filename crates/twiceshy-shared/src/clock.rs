//! The clock of leases: it never goes back, and runs while the machine is suspended.

use std::time::Duration;

/// A moment on a clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The nanoseconds since an earlier moment; 0 if it is a later one.
    #[inline]
    pub(crate) fn nanos_since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time since an earlier moment; zero if it is a later one.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// A moment that is this much later.
    pub(crate) fn after(self, time: Duration) -> Moment {
        Moment(self.0.saturating_add(nanos(time)))
    }
}

/// A time in nanoseconds.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A process's clock. The rates of two clocks may differ by 10,000 millionths. Crystals differ by up to 200, and a clock that is being corrected
/// by up to 1,000.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// How much faster than the machine's clock it runs, in millionths: for tests.
    pub(crate) faster: i32,
}

/// How long somebody must wait on his own clock until this time has passed on every other.
pub(crate) fn with_drift(time: Duration) -> Duration {
    // 1/64 is more than 15,000 millionths.
    time + time / 64
}

impl Clock {
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        let nanos = machine_nanos();
        match self.faster {
            0 => Moment(nanos),
            faster => Moment(nanos.saturating_add_signed((nanos / 1_000_000) as i64 * i64::from(faster))),
        }
    }
}

/// `CLOCK_MONOTONIC` would stand still while the machine is suspended, and a lease would outlive its time.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn machine_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The standard library's clock. On macOS and Windows it may stand still during a suspension: see docs/shared.md.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
pub(crate) fn machine_nanos() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    nanos(START.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_covers_a_lease_on_the_slowest_clock_if_the_waiting_one_is_fastest() {
        let lease = Duration::from_secs(2);
        let (fast, slow) = (1.0 + 0.01, 1.0);
        let waited = with_drift(lease).as_secs_f64() / fast;
        assert!(waited > lease.as_secs_f64() / slow);
    }

    #[test]
    fn the_clock_runs() {
        let clock = Clock { faster: 5_000 };
        let (before, then) = (clock.now(), Clock::default().now());
        std::thread::sleep(Duration::from_millis(3));
        assert!(clock.now().since(before) >= Duration::from_millis(3));
        assert!(Clock::default().now() > then);
        assert_eq!(before.nanos_since(before.after(Duration::from_secs(1))), 0);
    }
}
