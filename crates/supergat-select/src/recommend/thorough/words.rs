//! The answer in words: the recommended family, and the limits of the comparison.

use crate::recommend::FEW_NODES;
use crate::recommend::families::{Family, not_compared};
use crate::recommend::thorough::answer::{FamilyComparison, FamilyResult, ThoroughAnswer, Verdict};
use crate::recommend::thorough::plan::ThoroughPlan;
use crate::recommend::thorough::size::FAR_BEHIND;
use supergat_core::words::count;
use supergat_numerics::statistics::Summary;

/// Number of trials per family below which the notes say that the search was small.
const FEW_TRIALS: usize = 8;
/// Number of epochs below which the notes say that trainings were short.
const FEW_EPOCHS: usize = 200;
/// Number of splits below which the notes say that intervals are wide.
const FEW_SPLITS: usize = 5;

/// A simpler family is preferred if the best is better by at most this difference, and by at most this fraction of the
/// difference between the best and 1.
const SMALL_DIFFERENCE: f64 = 0.005;
const SMALL_FRACTION: f64 = 0.1;
/// Rounding of differences.
const ROUNDING: f64 = 1e-12;

impl ThoroughAnswer {
    /// Writes the answer and its limits.
    pub(super) fn explain(&mut self, plan: &ThoroughPlan) {
        self.conclude();
        let [_, validation, test] = plan.sizes;
        if validation.min(test) < FEW_NODES && self.best.is_some() {
            let nodes = format!("{} and {}", count(validation, "validation node"), count(test, "test node"));
            self.answer += &format!(" With {nodes}, this means little.");
        }
        self.notes = self.limits(plan);
    }

    /// Chooses the recommended family and writes the answer.
    fn conclude(&mut self) {
        let metric = &self.metric;
        let Some(best) = self.best.and_then(|best| self.of(best)) else {
            self.answer = "Nothing can be recommended: no family has results.".into();
            return;
        };
        let small = SMALL_DIFFERENCE.min(SMALL_FRACTION * (1.0 - best.test.mean)) + ROUNDING;
        let (best, words, mean) = (best.family, &best.words, 100.0 * best.test.mean);
        let is_within_error = |comparison: &FamilyComparison| {
            let error = self.standard_error(best, comparison.family);
            comparison.verdict == Verdict::Open && comparison.difference <= error
        };
        let is_tied = |family: Family| {
            let found = self.comparisons.iter().find(|comparison| comparison.family == family);
            found.is_none_or(|comparison| comparison.difference <= small || is_within_error(comparison))
        };
        let untested = self.comparisons.iter().any(|comparison| comparison.verdict == Verdict::Untested);
        // The best of the simplest ones; with equal means, the first.
        let tied = self.families.iter().rev().filter(|result| is_tied(result.family));
        let simplest = tied.max_by(|a, b| {
            let complexity = |result: &FamilyResult| result.family.complexity();
            complexity(b).cmp(&complexity(a)).then(a.test.mean.total_cmp(&b.test.mean))
        });
        let recommended = if untested { best } else { simplest.map_or(best, |result| result.family) };
        let comparison = |family: Family| self.comparisons.iter().find(|comparison| comparison.family == family);
        let largest = |families: &mut dyn Iterator<Item = &FamilyResult>| {
            let found = families.max_by(|a, b| a.test.mean.total_cmp(&b.test.mean));
            found.and_then(|result| comparison(result.family))
        };
        let simpler =
            largest(&mut self.families.iter().filter(|result| result.family.complexity() < best.complexity()));
        let answer = if self.comparisons.is_empty() {
            format!("Only {words} ran (test {metric} {mean:.1} %), so nothing was compared.")
        } else if untested {
            let untestable = self.comparisons.iter().find(|comparison| comparison.verdict == Verdict::Untested);
            let other = untestable.map_or("others", |comparison| comparison.family.name);
            let splits = count(self.splits, "split");
            format!(
                "{words} has the best mean test {metric} ({mean:.1} % on {splits}), but the difference to {other} cannot be tested: \
                 this is no more than a hint."
            )
        } else if self.comparisons.iter().all(|comparison| comparison.verdict == Verdict::Open) {
            // The widest difference bounds what may have been missed.
            let widest = self.comparisons.iter().max_by(|a, b| a.difference.total_cmp(&b.difference));
            let widest = widest.map_or_else(String::new, |widest| {
                format!("{} to {}, {}", best.name, widest.family.name, points(widest, [", ", ""]))
            });
            format!(
                "No family is significantly better than another (best mean test {metric} {mean:.1} %; largest difference: {widest}): use \
                 {}, {}.",
                self.of(recommended).map_or(recommended.name, |result| &result.words),
                match comparison(recommended) {
                    None => "the best",
                    Some(other) if is_within_error(other) => "the simplest within one standard error of the best",
                    Some(_) => "the simplest that is hardly worse than the best",
                },
            )
        } else if let Some(other) = comparison(recommended) {
            format!(
                "Use {}: it is simpler than {}, which is best (test {metric} {mean:.1} %), and {} (difference {}).",
                self.of(recommended).map_or(recommended.name, |result| &result.words),
                best.name,
                if is_within_error(other) { "within one standard error of it" } else { "hardly worse" },
                points(other, [", ", ""]),
            )
        } else if let Some(rival) = simpler {
            let kind = if best.is_graph_network() && !rival.family.is_graph_network() {
                "the best family without a graph network"
            } else {
                "the best simpler family"
            };
            let kind = if self.comparisons.len() == 1 { "the only other family" } else { kind };
            let open = if rival.verdict == Verdict::Open { ", though not significantly" } else { "" };
            format!("Use {words}: {} better than {}, {kind}{open}.", points(rival, [" (", ")"]), rival.family.name)
        } else {
            let runner = largest(&mut self.families.iter().filter(|result| result.family != best));
            let runner = runner.map_or_else(String::new, |runner| match runner.verdict {
                Verdict::Worse => {
                    format!("; the next, {}, is worse by {}", runner.family.name, points(runner, [", ", ""]))
                }
                _ => format!(
                    "; the next, {}, is not significantly worse ({})",
                    runner.family.name,
                    points(runner, [", ", ""])
                ),
            });
            let networks = self.families.iter().any(|result| result.family.is_graph_network());
            let kind = if networks && !best.is_graph_network() { "graph network" } else { "other family" };
            format!("Use {words}: no {kind} is better{runner}.")
        };
        (self.answer, self.family) = (answer, Some(recommended));
    }

    /// Returns the standard error of the mean difference between two families over the splits.
    fn standard_error(&self, best: Family, other: Family) -> f64 {
        let values = |family| self.of(family).map_or(&[][..], |result| &result.test.values);
        let differences: Vec<f64> = values(best).iter().zip(values(other)).map(|(best, other)| best - other).collect();
        let splits = differences.len() as f64;
        Summary::of(differences).std / splits.sqrt()
    }

    /// Returns sentences about what limits the answer.
    fn limits(&self, plan: &ThoroughPlan) -> Vec<String> {
        let mut notes: Vec<String> =
            not_compared(&self.left_out, |family| family.name.to_owned()).into_iter().collect();
        if self.families.is_empty() {
            return notes;
        }
        let (trials, epochs) = effort(plan);
        let (searched, up_to) = (count(trials, "trial"), count(epochs, "epoch"));
        notes.push(format!(
            "Every family had a search of {searched} on validation nodes, up to {up_to}, and final runs of {} on {} of \
             {} {}.",
            count(plan.rungs.last().map_or(0, |rung| rung.epochs), "epoch"),
            self.splits,
            plan.splits.len(),
            plan.splits_are
        ));
        let is_stopped = |family: Family| plan.is_stopped(family) && family.has_epochs();
        let stopped = self.families.iter().map(|result| result.family).filter(|family| is_stopped(*family));
        let stopped: Vec<&str> = stopped.map(|family| family.name).collect();
        if !stopped.is_empty() {
            notes.push(format!(
                "Far behind after {}, by more than {:.0} points on validation nodes, and not trained longer: {}.",
                count(plan.rungs[0].epochs, "epoch"),
                100.0 * FAR_BEHIND,
                stopped.join(", ")
            ));
        }
        let mut small = Vec::new();
        if trials < FEW_TRIALS {
            small.push(format!("{searched} per family"));
        }
        if epochs < FEW_EPOCHS {
            small.push(up_to);
        }
        if self.splits < FEW_SPLITS {
            small.push(count(self.splits, "split"));
        }
        if !small.is_empty() {
            notes.push(format!(
                "The budget was small ({}): families that need more tuning or longer training may be better than shown; give more \
                 minutes.",
                small.join(", ")
            ));
        }
        let [_, validation, test] = plan.sizes;
        for (nodes, part) in [(validation, "validation"), (test, "test")] {
            if nodes < FEW_NODES {
                let there_are = if nodes == 1 { "There is" } else { "There are" };
                let nodes = count(nodes, &format!("{part} node"));
                notes.push(format!("{there_are} only {nodes}, so the {part} metric is mostly chance."));
            }
        }
        notes.extend(plan.notes.iter().cloned());
        if self.comparisons.iter().any(|comparison| comparison.p.is_some()) {
            notes.push(
                "Splits of one graph share nodes, so intervals are too narrow and p-values too small rather than too large.".into(),
            );
        }
        notes
    }
}

/// Returns the number of trials of each search, and the most epochs that a trial of it has had.
fn effort(plan: &ThoroughPlan) -> (usize, usize) {
    match &plan.search_cut {
        Some(cut) => {
            let trials = if cut.rung == 0 { cut.places.len() } else { plan.rungs[0].trials };
            let last = if cut.places.is_empty() { cut.rung.saturating_sub(1) } else { cut.rung };
            (trials, plan.rungs[last].epochs)
        }
        None => (plan.rungs[0].trials, plan.rungs.last().map_or(0, |rung| rung.epochs)),
    }
}

/// Returns a difference in percentage points with its interval between some marks, such as `0.4 points (95 % interval -0.3 to 1.1)`.
fn points(comparison: &FamilyComparison, [before, after]: [&str; 2]) -> String {
    let interval = comparison.interval.map_or_else(String::new, |found| {
        format!("{before}95 % interval {:.1} to {:.1}{after}", 100.0 * found.low, 100.0 * found.high)
    });
    format!("{:.1} points{interval}", 100.0 * comparison.difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::thorough::answer::compare;
    use crate::recommend::thorough::trials::describe;
    use supergat_train::settings::Settings;

    /// Returns the answer to these test metrics.
    fn answer_to(values: &[(&str, &[f64])]) -> ThoroughAnswer {
        let result = |(name, values): &(&str, &[f64])| {
            let family = Family::named(name).unwrap();
            let settings = Settings::general(family.kind().unwrap()).with(|s| s.network.layers = 2);
            FamilyResult {
                family,
                words: describe(family, &settings, false),
                settings,
                balanced: false,
                trials: 8,
                validation: Summary::of(values.to_vec()),
                test: Summary::of(values.to_vec()),
            }
        };
        let families: Vec<FamilyResult> = values.iter().map(result).collect();
        let best = families.iter().rev().max_by(|a, b| a.test.mean.total_cmp(&b.test.mean)).map(|best| best.family);
        let comparisons = best.map(|best| compare(&families, best)).unwrap_or_default();
        let mut found = ThoroughAnswer {
            dataset: "x".into(),
            metric: "accuracy".into(),
            answer: String::new(),
            family: None,
            best,
            notes: Vec::new(),
            splits: values.first().map_or(0, |(_, values)| values.len()),
            families,
            comparisons,
            left_out: Vec::new(),
        };
        found.conclude();
        found
    }

    const LOW: [f64; 5] = [0.700, 0.710, 0.705, 0.695, 0.702];
    const HIGH: [f64; 5] = [0.801, 0.810, 0.804, 0.796, 0.801];
    const ALSO_HIGH: [f64; 5] = [0.800, 0.809, 0.807, 0.795, 0.800];

    #[test]
    fn significant_differences_decide() {
        let found = answer_to(&[("mlp", &LOW), ("supergat-mx", &HIGH)]);
        assert_eq!(found.family.unwrap().name, "supergat-mx");
        let expected = "Use supergat-mx with 2 layers: 10.0 points (95 % interval 9.9 to 10.1) better than mlp, the only other family.";
        assert_eq!(found.answer, expected);
        let found = answer_to(&[("mlp", &LOW), ("gcn", &LOW), ("supergat-mx", &HIGH)]);
        assert!(found.answer.ends_with("better than gcn, the best simpler family."), "{}", found.answer);
    }

    #[test]
    fn the_simplest_of_equals_is_used() {
        let found = answer_to(&[("mlp", &LOW), ("gcn", &ALSO_HIGH), ("gat-go", &HIGH)]);
        assert_eq!(found.family.unwrap().name, "gcn");
        let expected = "Use gcn with 2 layers: it is simpler than gat-go, which is best (test accuracy 80.2 %), and within one \
                        standard error of it (difference 0.0 points";
        assert!(found.answer.starts_with(expected), "{}", found.answer);
        let found = answer_to(&[("mlp", &HIGH), ("gcn", &LOW), ("gat-go", &LOW)]);
        assert!(
            found.answer.starts_with("Use mlp with 2 layers: no graph network is better; the next, g"),
            "{}",
            found.answer
        );
        // Equal everywhere: no test is needed.
        let found = answer_to(&[("mlp", &HIGH), ("gcn", &HIGH)]);
        assert_eq!((found.family.unwrap().name, found.best.unwrap().name), ("mlp", "mlp"));
        assert!(found.answer.starts_with("No family is significantly better than another"), "{}", found.answer);
        let found = answer_to(&[("gcn", &ALSO_HIGH), ("gat-go", &HIGH)]);
        assert!(
            found.answer.contains("largest difference: gat-go to gcn, 0.0 points, 95 % interval -"),
            "{}",
            found.answer
        );
        let expected = ": use gcn with 2 layers, the simplest within one standard error of the best.";
        assert!(found.answer.ends_with(expected), "{}", found.answer);
        // Of equally simple families, the best is used.
        let found = answer_to(&[("mlp", &LOW), ("gcn", &ALSO_HIGH), ("sage", &HIGH), ("gat-go", &ALSO_HIGH)]);
        assert_eq!(found.family.unwrap().name, "sage");
        assert!(found.answer.contains("better than mlp, the best family without a graph network."), "{}", found.answer);
        // A small difference is not worth another model, even if it is significant.
        let low: [f64; 5] = [0.798, 0.807, 0.8012, 0.7928, 0.798];
        let found = answer_to(&[("mlp", &LOW), ("gcn", &low), ("gat-go", &HIGH)]);
        assert_eq!((found.family.unwrap().name, found.comparisons[1].verdict), ("gcn", Verdict::Worse));
        assert!(found.answer.contains("and hardly worse (difference 0.3 points"), "{}", found.answer);
        // It is where little is lacking.
        let [low, high] = [low, HIGH].map(|metrics| metrics.map(|metric| metric + 0.18));
        let found = answer_to(&[("mlp", &LOW), ("gcn", &low), ("gat-go", &high)]);
        assert_eq!((found.family.unwrap().name, found.comparisons[1].verdict), ("gat-go", Verdict::Worse));
        // Three points are not significant here, but too many to give away.
        let varied: [f64; 5] = [0.77, 0.82, 0.75, 0.76, 0.775];
        let found = answer_to(&[("mlp", &LOW), ("gcn", &varied), ("gat-go", &HIGH)]);
        assert_eq!(found.family.unwrap().name, "gat-go");
        assert!(found.answer.ends_with("better than gcn, the best simpler family, though not significantly."));
    }

    #[test]
    fn claims_nothing_without_tests() {
        assert_eq!(answer_to(&[]).answer, "Nothing can be recommended: no family has results.");
        let alone = answer_to(&[("mlp", &LOW)]);
        assert_eq!(alone.answer, "Only mlp with 2 layers ran (test accuracy 70.2 %), so nothing was compared.");
        let once = answer_to(&[("mlp", &[0.7]), ("gcn", &[0.9])]);
        assert_eq!(
            once.answer,
            "gcn with 2 layers has the best mean test accuracy (90.0 % on 1 split), but the difference to mlp cannot be tested: this is \
             no more than a hint."
        );
        assert_eq!(once.comparisons[0].verdict, Verdict::Untested);
    }
}
