//! Time per primitive of a training step. Every primitive and sampler runs inside `timed`, which only checks
//! a flag unless [`record`] is active.
//!
//! Times are recorded on the thread that runs the model. Primitives return after their work on other threads
//! is done.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Time spent in one primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lap {
    /// Name of the primitive.
    pub name: &'static str,
    /// Number of calls.
    pub calls: u64,
    /// Total time.
    pub time: Duration,
}

thread_local! {
    static LAPS: RefCell<Option<Vec<Lap>>> = const { RefCell::new(None) };
}

/// Runs `work` and returns its result and the time of each primitive on this thread, longest first.
pub fn record<R>(work: impl FnOnce() -> R) -> (R, Vec<Lap>) {
    let outer = LAPS.replace(Some(Vec::with_capacity(32)));
    let result = work();
    let mut laps = LAPS.replace(outer).unwrap_or_default();
    laps.sort_by(|a, b| b.time.cmp(&a.time).then(a.name.cmp(b.name)));
    (result, laps)
}

/// Runs `work` and records its time under `name`.
pub fn timed<R>(name: &'static str, work: impl FnOnce() -> R) -> R {
    if !is_recording() {
        return work();
    }
    let started = Instant::now();
    let result = work();
    add_lap(name, started.elapsed());
    result
}

/// Returns whether [`record`] is active on this thread.
fn is_recording() -> bool {
    LAPS.with_borrow(Option::is_some)
}

fn add_lap(name: &'static str, time: Duration) {
    LAPS.with_borrow_mut(|laps| {
        let laps = laps.get_or_insert_default();
        match laps.iter_mut().find(|lap| lap.name == name) {
            Some(lap) => (lap.calls, lap.time) = (lap.calls + 1, lap.time + time),
            None => laps.push(Lap { name, calls: 1, time }),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_times_only_its_own_work() {
        timed("before", || ());
        let (result, laps) = record(|| {
            timed("short", || ());
            timed("long", || std::thread::sleep(Duration::from_millis(5)));
            timed("short", || 7)
        });
        assert_eq!(result, 7);
        assert_eq!(laps.iter().map(|lap| (lap.name, lap.calls)).collect::<Vec<_>>(), [("long", 1), ("short", 2)]);
        assert!(laps[0].time >= Duration::from_millis(5));
    }
}
