//! Which settings to try next: tree-structured Parzen estimators (Bergstra et al. 2011), one per hyperparameter.
//!
//! A proposal is a pure function of the search's seed, its number, and the trials of earlier batches. So a search can be repeated from its
//! results, whatever stopped it and on however many threads it ran.

use crate::settings::Settings;
use crate::statistics::Summary;
use crate::tune::space::{Dimension, Space, Values};
use rand_core::{Infallible, TryRng};
use supergat_core::random::{Purpose, Stream};

/// Trials that are proposed at once, so that there is work for several threads.
pub(super) const BATCH: usize = 4;
/// Trials before the estimators begin: the settings to start from, and random ones.
const STARTUP: usize = 2 * BATCH;
/// Share of the trials that count as good.
const GOOD: f64 = 0.15;
/// Candidates among which an estimator chooses.
const CANDIDATES: usize = 24;

/// Settings that were tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its number, from 0.
    pub number: usize,
    /// What was tried.
    pub settings: Settings,
    /// Validation metric of each of its seeds; of a hopeless one, of the first.
    pub scores: Vec<f64>,
    /// Validation metric of the further seeds of a finalist.
    pub finals: Vec<f64>,
}

impl Trial {
    /// The mean validation metric of the search's seeds.
    pub fn mean(&self) -> f64 {
        Summary::of(self.scores.clone()).mean
    }

    /// The mean validation metric of all seeds.
    pub fn mean_of_all(&self) -> f64 {
        Summary::of([&self.scores[..], &self.finals].concat()).mean
    }
}

/// The trials so far, and where they lead.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) space: Space,
    /// The settings to start from.
    pub(super) base: Settings,
    pub(super) seed: u64,
    pub(super) trials: Vec<Trial>,
}

impl Search {
    /// The settings of the next `count` trials.
    pub(super) fn propose(&self, count: usize) -> Vec<Settings> {
        let mut proposals = Vec::with_capacity(count);
        for k in 0..count {
            proposals.push(self.proposal(self.trials.len() + k, &proposals));
        }
        proposals
    }

    /// The settings of a trial, away from the others of its batch.
    fn proposal(&self, number: usize, batch: &[Settings]) -> Settings {
        let mut settings = self.base;
        if number == 0 {
            return settings;
        }
        let mut numbers = Numbers { stream: Stream::new(self.seed, number as u32, 0, Purpose::Search), next: 0 };
        for dimension in self.space.dimensions() {
            let coordinate = match number < STARTUP {
                true => {
                    let (low, high) = dimension.ends();
                    low + numbers.uniform() * (high - low)
                }
                false => self.estimate(dimension, batch, &mut numbers),
            };
            dimension.set(&mut settings, coordinate);
        }
        settings
    }

    /// Where good trials are dense and others are not. What is about to be tried counts as bad, so that a batch does not try one place only.
    fn estimate(&self, dimension: &Dimension, batch: &[Settings], numbers: &mut Numbers) -> f64 {
        let estimator = match dimension.values {
            Values::Between(..) => tpe::parzen_estimator(),
            Values::OneOf(_) => tpe::histogram_estimator(),
        };
        let (low, high) = dimension.ends();
        let range = tpe::range(low, high).expect("ends are finite and in order");
        let mut builder = tpe::TpeOptimizerBuilder::new();
        let optimizer = builder.gamma(GOOD).candidates(CANDIDATES).build(estimator, range);
        let mut optimizer = optimizer.expect("both are in range");
        let tried = self.trials.iter().map(|trial| (&trial.settings, trial.mean()));
        for (settings, score) in tried.chain(batch.iter().map(|settings| (settings, 0.0))) {
            // It minimises.
            let told = optimizer.tell(dimension.coordinate(settings), -score);
            told.expect("coordinates lie within the range or are NaN, scores are numbers");
        }
        optimizer.ask(numbers).expect("its error type has no values")
    }
}

/// A stream of random numbers, one after the other.
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

    /// A hill whose top is at lambda_2 = 0.005, lambda_e = 5, p_n = 0.7.
    fn height(settings: &Settings) -> f64 {
        let far = (settings.lambda_2 / 0.005).ln().powi(2) + (settings.lambda_e / 5.0).ln().powi(2);
        0.9 - 0.01 * far - 0.05 * (settings.p_n - 0.7).abs()
    }

    fn climb(search: &mut Search, trials: usize, height: impl Fn(&Settings) -> f64) {
        while search.trials.len() < trials {
            for settings in search.propose(BATCH) {
                let number = search.trials.len();
                search.trials.push(Trial { number, settings, scores: vec![height(&settings)], finals: Vec::new() });
            }
        }
    }

    fn best(search: &Search) -> f64 {
        search.trials.iter().map(Trial::mean).fold(f64::MIN, f64::max)
    }

    /// Better than blind search over many seeds, by what is left to the top.
    #[test]
    fn it_finds_the_top_of_a_hill() {
        let (mut guided, mut blind) = (0.0, 0.0);
        for seed in 0..10 {
            let mut one = search(seed);
            climb(&mut one, 60, height);
            guided += 0.9 - best(&one);
            // A flat hill leaves the estimators without a clue.
            let mut other = search(seed);
            climb(&mut other, 60, |_| 0.5);
            blind += other.trials.iter().map(|trial| 0.9 - height(&trial.settings)).fold(f64::MAX, f64::min);
        }
        assert!(guided < 0.5 * blind, "guided {guided}, blind {blind}");
    }

    #[test]
    fn the_first_trial_is_the_start_and_seeds_decide_the_others() {
        let (mut a, mut b, mut c) = (search(1), search(1), search(2));
        [&mut a, &mut b, &mut c].into_iter().for_each(|search| climb(search, 24, height));
        assert_eq!(a.trials, b.trials);
        assert_eq!(a.trials[0].settings, a.base);
        assert!(a.trials[1..].iter().zip(&c.trials[1..]).all(|(a, c)| a.settings != c.settings));
    }

    #[test]
    fn a_start_outside_of_the_space_does_no_harm() {
        let mut odd = search(3);
        odd.base = Settings { lambda_2: 0.0, p_n: 0.123, ..odd.base };
        climb(&mut odd, 16, height);
        assert_eq!(odd.trials.len(), 16);
    }
}
