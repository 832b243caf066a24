//! Where the time of a training step goes. Every primitive and sampler runs inside `timed`; unless somebody asks with [`record`], that
//! costs a look at a flag.
//!
//! The stopwatch belongs to the thread that runs the model: the work it hands to others is over when the primitive returns.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Time spent in one primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lap {
    /// Name of the primitive.
    pub name: &'static str,
    /// How often it ran.
    pub calls: u64,
    /// Time in all.
    pub time: Duration,
}

thread_local! {
    static LAPS: RefCell<Option<Vec<Lap>>> = const { RefCell::new(None) };
}

/// Runs `work` and returns what it did beside the time of each primitive on this thread, the longest first.
pub fn record<R>(work: impl FnOnce() -> R) -> (R, Vec<Lap>) {
    let outer = LAPS.replace(Some(Vec::with_capacity(32)));
    let result = work();
    let mut laps = LAPS.replace(outer).unwrap_or_default();
    laps.sort_by(|a, b| b.time.cmp(&a.time).then(a.name.cmp(b.name)));
    (result, laps)
}

/// Runs `work` under a name.
pub(crate) fn timed<R>(name: &'static str, work: impl FnOnce() -> R) -> R {
    if LAPS.with_borrow(Option::is_none) {
        return work();
    }
    let started = Instant::now();
    let result = work();
    let time = started.elapsed();
    LAPS.with_borrow_mut(|laps| {
        let laps = laps.get_or_insert_default();
        match laps.iter_mut().find(|lap| lap.name == name) {
            Some(lap) => (lap.calls, lap.time) = (lap.calls + 1, lap.time + time),
            None => laps.push(Lap { name, calls: 1, time }),
        }
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_recorded_is_timed() {
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
