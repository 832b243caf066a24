//! How far many runs have come, and how long the rest will take.

use std::time::Duration;

/// How far a sweep has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Runs asked for.
    pub jobs: usize,
    /// Runs that are done, were done before, failed or cannot be made.
    pub settled: usize,
    /// A guess of the time left, once a run has ended.
    pub left: Option<Duration>,
}

/// Guesses the time left: from the time of the runs so far and the size of what is left.
#[derive(Debug)]
pub(crate) struct Clock {
    jobs: usize,
    settled: usize,
    workers: usize,
    weight_left: f64,
    weight_ran: f64,
    seconds: f64,
}

impl Clock {
    /// Of so many jobs, of so much weight together.
    pub(crate) fn new(jobs: usize, weight: f64, threads: usize) -> Self {
        let workers = threads.clamp(1, jobs.max(1));
        Self { jobs, settled: 0, workers, weight_left: weight, weight_ran: 0.0, seconds: 0.0 }
    }

    /// Counts jobs of a weight as settled, after so many seconds of training.
    pub(crate) fn settle(&mut self, jobs: usize, weight: f64, seconds: f64) -> Tally {
        self.settled += jobs;
        self.weight_left = (self.weight_left - weight).max(0.0);
        if seconds > 0.0 {
            self.weight_ran += weight;
            self.seconds += seconds;
        }
        let left = self.seconds * self.weight_left / self.weight_ran / self.workers as f64;
        Tally { jobs: self.jobs, settled: self.settled, left: Duration::try_from_secs_f64(left).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_teaches_nothing_of_the_time() {
        let mut clock = Clock::new(10, 100.0, 2);
        assert_eq!(clock.settle(2, 20.0, 0.0), Tally { jobs: 10, settled: 2, left: None });
        // One of weight 20 took 6 seconds; 60 are left for two threads.
        assert_eq!(clock.settle(1, 20.0, 6.0).left, Some(Duration::from_secs(9)));
        assert_eq!(clock.settle(7, 60.0, 18.0).left, Some(Duration::ZERO));
    }
}
