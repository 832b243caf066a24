//! Progress of a sweep: its events, counts and estimated remaining time.

use crate::sweep::record::Record;
use std::time::Duration;

/// Event of a sweep, as reported to its observer.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A dataset is about to be loaded.
    Loading(&'a str),
    /// Number of runs found in the results file.
    Found(usize),
    /// Dataset unavailable, so its runs are skipped: its name, and the reason.
    Unavailable(&'a str, &'a str),
    /// A run finished an epoch.
    Epoch,
    /// A run finished or failed, and its record is in the results file.
    Done(&'a Record),
}

/// Progress of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Number of requested runs.
    pub jobs: usize,
    /// Number of runs that finished, failed, were found in the results file or were skipped.
    pub settled: usize,
    /// Estimated remaining time; `None` until a run has finished.
    pub left: Option<Duration>,
}

/// Estimates the remaining time from the time of the finished runs and the weight of the remaining ones.
#[derive(Debug)]
pub struct Clock {
    jobs: usize,
    settled: usize,
    workers: usize,
    weight_left: f64,
    weight_finished: f64,
    seconds: f64,
}

impl Clock {
    /// Creates a clock for `jobs` jobs of total `weight`.
    pub fn new(jobs: usize, weight: f64, threads: usize) -> Self {
        let workers = threads.clamp(1, jobs.max(1));
        Self { jobs, settled: 0, workers, weight_left: weight, weight_finished: 0.0, seconds: 0.0 }
    }

    /// Counts `jobs` jobs of total `weight` as settled after `seconds` of training. Jobs with zero seconds do
    /// not affect the estimate.
    pub fn settle(&mut self, jobs: usize, weight: f64, seconds: f64) -> Tally {
        self.settled += jobs;
        self.weight_left = (self.weight_left - weight).max(0.0);
        if seconds > 0.0 {
            self.weight_finished += weight;
            self.seconds += seconds;
        }
        let left = self.seconds * self.weight_left / self.weight_finished / self.workers as f64;
        Tally { jobs: self.jobs, settled: self.settled, left: Duration::try_from_secs_f64(left).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_runs_do_not_affect_the_estimated_time() {
        let mut clock = Clock::new(10, 100.0, 2);
        assert_eq!(clock.settle(2, 20.0, 0.0), Tally { jobs: 10, settled: 2, left: None });
        // A job of weight 20 took 6 seconds; a weight of 60 is left for two threads.
        assert_eq!(clock.settle(1, 20.0, 6.0).left, Some(Duration::from_secs(9)));
        assert_eq!(clock.settle(7, 60.0, 18.0).left, Some(Duration::ZERO));
    }
}
