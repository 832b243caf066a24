//! Figure of a search (SVG): validation metric by trial and by hyperparameters.

use supergat_figure::{Axis, Plot, Shaded, panels};
use supergat_select::tune::{Choice, Dimension, Space, Trial, Values};

/// Draws a search. `best` is an index into `trials`, which must not be empty.
pub fn svg(title: &str, metric: &str, space: &Space, trials: &[Trial], best: usize) -> String {
    let scores: Vec<f64> = trials.iter().map(|trial| 100.0 * trial.mean_of_all()).collect();
    let picture = Picture { label: format!("validation {metric} (%)"), range: shown(&scores), scores, best };
    let plots: Vec<Plot> = [picture.by_trial()].into_iter().chain(picture.by_place(space, trials)).collect();
    panels(&format!("Search for {title}"), 2, &plots)
}

struct Picture {
    label: String,
    /// Range of the scores that are shown.
    range: [f64; 2],
    scores: Vec<f64>,
    best: usize,
}

/// Returns the range of scores to show: from the lower quartile upwards, with a margin.
fn shown(scores: &[f64]) -> [f64; 2] {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[sorted.len() / 4], sorted[sorted.len() - 1]);
    let margin = (0.1 * (high - low)).max(0.1);
    [low - margin, high + margin]
}

impl Picture {
    fn by_trial(&self) -> Plot {
        let mut so_far = f64::MIN;
        let best_so_far = self.scores.iter().enumerate().map(|(k, score)| {
            so_far = so_far.max(*score);
            [k as f64, so_far]
        });
        let steps: Vec<[f64; 2]> = best_so_far.collect();
        let dots: Vec<Shaded> = (0..self.scores.len()).map(|k| self.dot(k, [k as f64, self.score(k)])).collect();
        let title = format!("By trial (lower edge: below {:.1} %)", self.range[0]);
        Plot::new(title, Axis::linear("trial"), self.score_axis())
            .steps("best so far", &steps)
            .shaded_dots(&dots)
            .dots(&self.best_name(), &[dots[self.best].at])
    }

    /// Draws the trials over the first two hyperparameters with a logarithmic scale, or over one and the metric.
    fn by_place(&self, space: &Space, trials: &[Trial]) -> Option<Plot> {
        let scales = space.dimensions().iter().filter_map(|dimension| match dimension.values {
            Values::Between(low, high) => Some((dimension, Axis::log(dimension.name).range(low, high))),
            Values::Whole(..) | Values::OneOf(_) => None,
        });
        let mut scales = scales.take(2);
        let (first, x) = scales.next()?;
        let (second, y): (Option<&Dimension>, Axis) =
            scales.next().map_or_else(|| (None, self.score_axis()), |(second, axis)| (Some(second), axis));
        let at = |k: usize| {
            let number = |dimension: &Dimension| dimension.of(&trials[k].settings).and_then(Choice::number);
            Some([number(first)?, second.map_or(Some(self.score(k)), number)?])
        };
        // The best trials are drawn last, on top.
        let mut order: Vec<usize> = (0..trials.len()).collect();
        order.sort_by(|&a, &b| self.scores[a].total_cmp(&self.scores[b]));
        // Models without one of the two hyperparameters have no place.
        let dots: Vec<Shaded> = order.into_iter().filter_map(|k| Some(self.dot(k, at(k)?))).collect();
        let best: Vec<[f64; 2]> = at(self.best).into_iter().collect();
        // Registers the series so that the best trial has the same colour in both panels.
        let plot = Plot::new("Where the trials were", x, y).series(&["best so far"]);
        Some(plot.shaded_dots(&dots).dots(&self.best_name(), &best))
    }

    fn best_name(&self) -> String {
        format!("trial {}: {:.2} %", self.best, self.scores[self.best])
    }

    fn score_axis(&self) -> Axis {
        Axis::linear(&self.label).range(self.range[0], self.range[1])
    }

    /// Returns a score, clipped to the shown range.
    fn score(&self, k: usize) -> f64 {
        self.scores[k].max(self.range[0])
    }

    fn dot(&self, k: usize, at: [f64; 2]) -> Shaded {
        Shaded { at, value: self.score(k), text: format!("trial {k}: {:.2} %", self.scores[k]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_train::Settings;

    fn picture(model: &str) -> String {
        let base = Settings::general(model.parse().unwrap());
        let space = Space::new(base.model, &[]);
        let trial = |number: usize| {
            let settings = base.with(|s| s.training.lambda_2 = 10.0_f64.powi(-(number as i32) - 1));
            Trial::new(number, settings, vec![0.5 + number as f64 / 20.0])
        };
        let trials: Vec<Trial> = (0..6).map(trial).collect();
        svg("<a> & b", "accuracy", &space, &trials, 5)
    }

    #[test]
    fn draws_each_trial_in_both_panels() {
        for model in ["supergat-mx", "gat-go"] {
            let text = picture(model);
            for k in 0..6 {
                assert_eq!(text.matches(&format!("<title>trial {k}: ")).count(), if k == 5 { 4 } else { 2 }, "{text}");
            }
            assert!(text.contains("Search for &lt;a&gt; &amp; b") && text.ends_with("</svg>\n"));
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        assert!(picture("supergat-mx").contains(">lambda_e<") && !picture("gat-go").contains(">lambda_e<"));
    }
}
