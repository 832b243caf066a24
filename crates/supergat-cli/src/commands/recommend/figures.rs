//! Figures of a comparison within minutes.

use supergat_figure::{Axis, Plot, panels};
use supergat_select::recommend::thorough::ThoroughAnswer;

/// Height of a figure.
const HEIGHT: f64 = 260.0;

/// A mean with its interval.
type Point = (f64, Option<[f64; 2]>);

/// Adds means with their intervals to a plot in percent, one per category.
fn add(plot: Plot, name: &str, points: &[Point]) -> Plot {
    let places = || points.iter().enumerate().map(|(k, point)| (k as f64, point));
    let intervals: Vec<[f64; 3]> =
        places().filter_map(|(x, (_, interval))| interval.map(|[low, high]| [x, 100.0 * low, 100.0 * high])).collect();
    let dots: Vec<[f64; 2]> = places().map(|(x, (mean, _))| [x, 100.0 * mean]).collect();
    plot.intervals(name, &intervals).dots(name, &dots)
}

/// Plots the test metric of every family.
pub fn families(found: &ThoroughAnswer) -> String {
    let x = Axis::categories("", found.families.iter().map(|result| result.family.name));
    let plot = Plot::new(found.dataset.clone(), x, Axis::linear(format!("test {} (%)", found.metric))).height(HEIGHT);
    let points: Vec<Point> = found
        .families
        .iter()
        .map(|result| (result.test.mean, result.test.interval().ok().map(|found| [found.low, found.high])))
        .collect();
    panels("Test metric of all families", 1, &[add(plot, "mean of the splits", &points)])
}

/// Plots the differences of the best family to all others.
pub fn differences(found: &ThoroughAnswer) -> String {
    let best = found.best.map_or("best", |best| best.name);
    let x = Axis::categories("", found.comparisons.iter().map(|comparison| comparison.family.name));
    let plot = Plot::new(format!("{best} - other"), x, Axis::linear("difference (points)")).height(HEIGHT);
    let points: Vec<Point> = found
        .comparisons
        .iter()
        .map(|comparison| (comparison.difference, comparison.interval.map(|found| [found.low, found.high])))
        .collect();
    panels(
        "Difference of the best family to all others",
        1,
        &[add(plot, "paired over splits", &points).mark_y(0.0, "")],
    )
}
