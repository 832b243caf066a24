//! Proposal of the next settings by tree-structured Parzen estimators (Bergstra et al. 2011), one per
//! hyperparameter.
//!
//! A proposal is a pure function of the search's seed, the number of the trial, and the trials of earlier
//! batches. So a search can be resumed from its results and does not depend on the number of threads.

use crate::tune::space::{Dimension, Space};
use crate::tune::values::Values;
use rand_core::{Infallible, TryRng};
use supergat_core::random::{Purpose, Stream};
use supergat_numerics::statistics::Summary;
use supergat_train::settings::Settings;

/// Number of trials proposed at once, which gives work to several threads.
pub(super) const BATCH: usize = 4;
/// Number of trials before the estimators are used: the initial settings and random ones.
const STARTUP: usize = 2 * BATCH;
/// Share of the trials that count as good.
const GOOD: f64 = 0.15;
/// Number of candidates from which an estimator chooses.
const CANDIDATES: usize = 24;

/// A trial: settings and their validation metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Number of the trial, from 0.
    pub number: usize,
    /// Settings of the trial.
    pub settings: Settings,
    /// Validation metric of each seed; only of the first seed if the trial was stopped after it.
    pub scores: Vec<f64>,
    /// Validation metrics of the further seeds of a finalist.
    pub finals: Vec<f64>,
    /// Validation metrics of the first seed's best epoch so far, at the epochs at which runs are compared; empty without
    /// pruning.
    pub reached: Vec<f64>,
    /// Number of epochs after which the first seed was stopped because it was hopeless.
    pub pruned: Option<usize>,
}

impl Trial {
    /// Creates a trial that was not compared in the middle of a run.
    pub fn new(number: usize, settings: Settings, scores: Vec<f64>) -> Self {
        Self { number, settings, scores, finals: Vec::new(), reached: Vec::new(), pruned: None }
    }

    /// Returns whether the trial ran with all seeds of the search, up to the end.
    pub fn is_complete(&self, seeds: usize) -> bool {
        self.scores.len() == seeds && self.pruned.is_none()
    }

    /// Returns the mean validation metric of the search's seeds.
    pub fn mean(&self) -> f64 {
        Summary::of(self.scores.clone()).mean
    }

    /// Returns the mean validation metric of all seeds.
    pub fn mean_of_all(&self) -> f64 {
        Summary::of([&self.scores[..], &self.finals].concat()).mean
    }
}

/// Finished trials, from which the next ones are proposed.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) space: Space,
    /// Initial settings.
    pub(super) base: Settings,
    pub(super) seed: u64,
    pub(super) trials: Vec<Trial>,
}

impl Search {
    /// Returns the settings of the next `count` trials.
    pub(super) fn propose(&self, count: usize) -> Vec<Settings> {
        let mut proposals = Vec::with_capacity(count);
        for k in 0..count {
            proposals.push(self.proposal(self.trials.len() + k, &proposals));
        }
        proposals
    }

    /// Returns the settings of a trial, different from the others of its batch.
    fn proposal(&self, number: usize, batch: &[Settings]) -> Settings {
        if number == 0 {
            return self.base;
        }
        let mut numbers = Numbers { stream: Stream::new(self.seed, number as u32, 0, Purpose::Search), next: 0 };
        self.space.settings(&self.base, |dimension| match number < STARTUP {
            true => {
                let (low, high) = dimension.values.ends();
                low + numbers.uniform() * (high - low)
            }
            false => self.estimate(dimension, batch, &mut numbers),
        })
    }

    /// Returns a coordinate at which good trials are dense and others are not. Trials of the same batch count
    /// as bad, so that a batch does not try the same values several times.
    fn estimate(&self, dimension: &Dimension, batch: &[Settings], numbers: &mut Numbers) -> f64 {
        let estimator = match dimension.values {
            Values::Between(..) | Values::Whole(..) => tpe::parzen_estimator(),
            Values::OneOf(_) => tpe::histogram_estimator(),
        };
        let (low, high) = dimension.values.ends();
        let range = tpe::range(low, high).expect("ends are finite and in order");
        let mut builder = tpe::TpeOptimizerBuilder::new();
        let optimizer = builder.gamma(GOOD).candidates(CANDIDATES).build(estimator, range);
        let mut optimizer = optimizer.expect("both are in range");
        let tried = self.trials.iter().map(|trial| (&trial.settings, trial.mean()));
        for (settings, score) in tried.chain(batch.iter().map(|settings| (settings, 0.0))) {
            // The optimiser minimises.
            let result = optimizer.tell(dimension.coordinate(settings), -score);
            result.expect("coordinates lie within the range or are NaN, scores are numbers");
        }
        optimizer.ask(numbers).expect("its error type has no values")
    }
}

/// Sequential random number generator over a stream.
struct Numbers {
    stream: Stream,
    next: u64,
}

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.next += 1;
        self.stream.uniform(self.next - 1)
    }
}

impl TryRng for Numbers {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|bits| (bits >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.next += 1;
        Ok(self.stream.bits(self.next - 1))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(seed: u64) -> Search {
        let base = Settings::general("supergat-mx".parse().unwrap());
        Search { space: Space::new(base.model, &[]), base, seed, trials: Vec::new() }
    }

    /// Objective with its maximum at lambda_2 = 0.005, lambda_e = 5, p_n = 0.7.
    fn height(settings: &Settings) -> f64 {
        let far = (settings.training.lambda_2 / 0.005).ln().powi(2) + (settings.edge_loss.lambda_e / 5.0).ln().powi(2);
        0.9 - 0.01 * far - 0.05 * (settings.edge_loss.p_n - 0.7).abs()
    }

    fn climb(search: &mut Search, trials: usize, height: impl Fn(&Settings) -> f64) {
        while search.trials.len() < trials {
            for settings in search.propose(BATCH) {
                let number = search.trials.len();
                search.trials.push(Trial::new(number, settings, vec![height(&settings)]));
            }
        }
    }

    fn best(search: &Search) -> f64 {
        search.trials.iter().map(Trial::mean).fold(f64::MIN, f64::max)
    }

    /// Over ten seeds, the distance to the maximum is less than half of that of random search.
    #[test]
    fn approaches_the_maximum_faster_than_random_search() {
        let (mut guided, mut blind) = (0.0, 0.0);
        for seed in 0..10 {
            let mut one = search(seed);
            climb(&mut one, 60, height);
            guided += 0.9 - best(&one);
            // A constant objective makes the estimators propose at random.
            let mut other = search(seed);
            climb(&mut other, 60, |_| 0.5);
            blind += other.trials.iter().map(|trial| 0.9 - height(&trial.settings)).fold(f64::MAX, f64::min);
        }
        assert!(guided < 0.5 * blind, "guided {guided}, blind {blind}");
    }

    #[test]
    fn starts_with_the_base_settings_and_depends_on_the_seed() {
        let (mut a, mut b, mut c) = (search(1), search(1), search(2));
        [&mut a, &mut b, &mut c].into_iter().for_each(|search| climb(search, 24, height));
        assert_eq!(a.trials, b.trials);
        assert_eq!(a.trials[0].settings, a.base);
        assert!(a.trials[1..].iter().zip(&c.trials[1..]).all(|(a, c)| a.settings != c.settings));
    }

    #[test]
    fn accepts_base_settings_outside_of_the_space() {
        let mut odd = search(3);
        odd.base = odd.base.with(|s| {
            s.training.lambda_2 = 0.0;
            s.edge_loss.p_n = 0.123;
        });
        climb(&mut odd, 16, height);
        assert_eq!(odd.trials.len(), 16);
    }
}
