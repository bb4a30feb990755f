//! Does a guard disturb an asynchronous runtime? 10,000 tasks at a time look absent keys up on a current-thread runtime, while
//! keys are announced and the filter learns and grows. A timer ticks every millisecond meanwhile. Prints how late its ticks
//! were, beside a control run in which the tasks do the same without a guard.
//!
//! `cargo run --release -p twiceshy-store --example async_timer`

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use twiceshy_store::{Beside, Guard};

const TASKS: u64 = 10_000;
const TICK: Duration = Duration::from_millis(1);

/// How late each tick was, in milliseconds, sorted.
async fn ticks(until: Arc<AtomicBool>) -> Vec<f64> {
    let (mut late, mut next) = (Vec::new(), Instant::now() + TICK);
    while !until.load(Ordering::Relaxed) {
        tokio::time::sleep_until(next.into()).await;
        let now = Instant::now();
        late.push((now - next).as_secs_f64() * 1e3);
        next = now + TICK;
    }
    late.sort_by(f64::total_cmp);
    late
}

/// Waves of tasks, each with one look-up of an absent key.
async fn waves(guard: Option<Arc<Beside>>, time: Duration) -> Vec<f64> {
    let ended = Arc::new(AtomicBool::new(false));
    let timer = tokio::spawn(ticks(Arc::clone(&ended)));
    let (began, mut number) = (Instant::now(), 1u64 << 40);
    while began.elapsed() < time {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..TASKS {
            number += 1;
            let (key, guard) = (number.to_be_bytes(), guard.clone());
            tasks.spawn(async move {
                // The store's answer takes a round trip.
                let load = |_: &[u8; 8]| async {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    Ok::<_, Infallible>(None::<u64>)
                };
                match guard {
                    Some(guard) => guard.get_or_load_async(&key, load).await,
                    None => load(&key).await,
                }
            });
            if number % 64 == 0 {
                tokio::task::yield_now().await;
            }
        }
        tasks.join_all().await;
    }
    ended.store(true, Ordering::Relaxed);
    timer.await.unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("twiceshy-async-timer-{}", std::process::id()));
    let guard = Arc::new(Guard::beside(&folder)?);
    guard.adopt(|| Ok::<_, Infallible>((0..10_000u64).map(|key| Ok(key.to_be_bytes()))))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let control = runtime.block_on(waves(None, Duration::from_secs(5)));
    let ended = AtomicBool::new(false);
    let guarded = std::thread::scope(|threads| {
        // A writer in another thread, as a migration would be: the filter grows from 10,000 keys on.
        threads.spawn(|| {
            for key in (10_000u64..).step_by(200).take_while(|_| !ended.load(Ordering::Relaxed)) {
                let ticket = guard.announce((key..key + 200).map(u64::to_be_bytes));
                if ticket.and_then(|ticket| ticket.done()).is_err() {
                    return;
                }
            }
        });
        let guarded = runtime.block_on(waves(Some(Arc::clone(&guard)), Duration::from_secs(20)));
        ended.store(true, Ordering::Relaxed);
        guarded
    });
    let stats = guard.stats();
    let at = |late: &[f64], share: f64| late[((late.len() - 1) as f64 * share) as usize];
    for (name, late) in [("control", &control), ("guarded", &guarded)] {
        let (median, most, worst) = (at(late, 0.5), at(late, 0.999), at(late, 1.0));
        println!("{name}: {} ticks, late by {median:.2} ms (median), {most:.2} ms (99.9 %), {worst:.2} ms", late.len());
    }
    let (grown, adapted, keys) = (stats.grown, stats.adapted, stats.keys);
    println!("the filter grew {grown} times to {keys} keys and learned from {adapted} mistakes");
    drop(guard);
    Ok(std::fs::remove_dir_all(&folder)?)
}
