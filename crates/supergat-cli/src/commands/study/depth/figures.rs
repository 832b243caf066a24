//! Figures of the study of depth.

use supergat::engine::ModelKind;
use supergat::lab::depth::{Depth, DepthStudy, Question, twin};
use supergat_figure::{Axis, Plot, panels};

/// Number of panels side by side; names of models and datasets need the whole width.
const PANELS: usize = 1;
/// Height of a panel.
const HEIGHT: f64 = 220.0;
/// Distance of the marks of a depth from the middle of their category.
const OFFSET: f64 = 0.12;

fn name(depth: Depth) -> &'static str {
    match depth {
        Depth::Published => "published depth",
        Depth::Deep => "deep blocks",
    }
}

/// Position of a category's mark.
fn place(category: usize, depth: Depth) -> f64 {
    category as f64 + if depth == Depth::Deep { OFFSET } else { -OFFSET }
}

/// A mean with its interval, at a position.
type Point = (f64, f64, Option<[f64; 2]>);

/// Adds the points of a depth to a plot.
fn add(plot: Plot, depth: Depth, points: &[Point]) -> Plot {
    let intervals: Vec<[f64; 3]> =
        points.iter().filter_map(|(x, _, interval)| interval.map(|[low, high]| [*x, low, high])).collect();
    let dots: Vec<[f64; 2]> = points.iter().map(|(x, mean, _)| [*x, *mean]).collect();
    plot.intervals(name(depth), &intervals).dots(name(depth), &dots)
}

/// Plots the test metric of every model at both depths, one panel per dataset.
pub fn depth(study: &DepthStudy) -> String {
    let plan = &study.plan;
    let plot = |dataset: &str, metric: &str| {
        let x = Axis::categories("", plan.models.iter().map(ToString::to_string));
        let empty = Plot::new(dataset, x, Axis::linear(format!("test {metric} (%)"))).height(HEIGHT);
        plan.depths.iter().fold(
            empty.series(&plan.depths.iter().map(|&d| name(d)).collect::<Vec<_>>()),
            |plot, &depth| {
                let point = |(k, &model): (usize, &ModelKind)| {
                    let test = &study.cell(dataset, depth, model)?.test;
                    Some((place(k, depth), test.mean, test.interval().ok().map(|found| [found.low, found.high])))
                };
                add(plot, depth, &plan.models.iter().enumerate().filter_map(point).collect::<Vec<_>>())
            },
        )
    };
    let plots: Vec<Plot> = plan.graphs.iter().map(|graph| plot(&graph.dataset, &graph.metric)).collect();
    panels("Test metric of all models at both depths", PANELS, &plots)
}

/// Plots the gain of self-supervision over the same attention without it, one panel per self-supervised model.
pub fn gains(study: &DepthStudy) -> String {
    let plan = &study.plan;
    let plot = |model: ModelKind, twin: ModelKind| {
        let x = Axis::categories("", plan.graphs.iter().map(|graph| graph.dataset.clone()));
        let empty = Plot::new(format!("{model} - {twin}"), x, Axis::linear("gain (points)")).height(HEIGHT);
        let empty = empty.series(&plan.depths.iter().map(|&d| name(d)).collect::<Vec<_>>());
        let plot = plan.depths.iter().fold(empty, |plot, &depth| {
            let found = study.of(Question::SelfSupervision).filter(|found| found.depth == Some(depth));
            let found: Vec<_> = found.filter(|found| found.a == model.to_string()).collect();
            let points = plan.graphs.iter().enumerate().filter_map(|(k, graph)| {
                let found = found.iter().find(|found| found.dataset == graph.dataset)?;
                Some((place(k, depth), found.difference, found.interval.map(|found| [found.low, found.high])))
            });
            add(plot, depth, &points.collect::<Vec<_>>())
        });
        plot.mark_y(0.0, "")
    };
    let pairs = plan.models.iter().filter_map(|&model| Some((model, twin(model)?)));
    let plots: Vec<Plot> = pairs.map(|(model, twin)| plot(model, twin)).collect();
    panels("Gain of self-supervision at both depths", PANELS, &plots)
}
