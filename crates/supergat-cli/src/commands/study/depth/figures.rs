//! Figures of the study of depth.

use supergat_core::ModelKind;
use supergat_figure::{Axis, Plot, panels_with_shared_legend};
use supergat_numerics::statistics::Interval;
use supergat_studies::depth::{Depth, DepthGraph, DepthStudy, Question, twin};

/// Height of a panel of the test metric: one per row, because the names of all models need the whole width.
const HEIGHT: f64 = 220.0;
/// Number of panels of gains side by side.
const GAIN_PANELS: usize = 2;
/// Height of a panel of gains.
const GAIN_HEIGHT: f64 = 400.0;
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

/// Adds the points of all depths to a plot. `find` returns mean and interval of a model at a depth, in per cent.
fn add<F>(plot: Plot, study: &DepthStudy, models: &[ModelKind], find: F) -> Plot
where
    F: Fn(Depth, ModelKind) -> Option<(f64, Option<Interval>)>,
{
    let depths = &study.plan.depths;
    let plot = plot.series(&depths.iter().map(|&depth| name(depth)).collect::<Vec<_>>());
    depths.iter().fold(plot, |plot, &depth| {
        let found = models.iter().enumerate().filter_map(|(k, &model)| Some((place(k, depth), find(depth, model)?)));
        let found: Vec<_> = found.collect();
        let intervals = found.iter().filter_map(|(x, (_, interval))| interval.map(|of| [*x, of.low, of.high]));
        let dots: Vec<[f64; 2]> = found.iter().map(|(x, (mean, _))| [*x, *mean]).collect();
        plot.intervals(name(depth), &intervals.collect::<Vec<_>>()).dots(name(depth), &dots)
    })
}

/// Returns the title of a dataset's panel.
fn title(graph: &DepthGraph) -> String {
    let metric = if graph.metric == "auroc" { "AUROC" } else { &graph.metric };
    format!("{} ({metric})", graph.dataset)
}

/// Plots the test metric of every model at both depths, one panel per dataset.
pub fn depth(study: &DepthStudy) -> String {
    let models = &study.plan.models;
    let plot = |graph: &DepthGraph| {
        let x = Axis::categories("", models.iter().map(ToString::to_string));
        let plot = Plot::new(title(graph), x, Axis::linear("test metric (%)")).height(HEIGHT);
        add(plot, study, models, |depth, model| {
            let test = study.cell(&graph.dataset, depth, model)?.test.in_percent();
            Some((test.mean, test.interval().ok()))
        })
    };
    let plots: Vec<Plot> = study.plan.graphs.iter().map(plot).collect();
    panels_with_shared_legend("Test metric of all models (bars: 95 % intervals; scales differ)", 1, &plots)
}

/// Plots the gain of self-supervision over the same attention without it, one panel per dataset.
pub fn gains(study: &DepthStudy) -> String {
    let models: Vec<ModelKind> = study.plan.models.iter().copied().filter(|&model| twin(model).is_some()).collect();
    let plot = |graph: &DepthGraph| {
        let x = Axis::categories("", models.iter().map(ToString::to_string));
        let plot = Plot::new(title(graph), x, Axis::linear("gain (points)")).height(GAIN_HEIGHT);
        // The line at zero is behind the points.
        add(plot.mark_y(0.0, ""), study, &models, |depth, model| {
            let mut found = study.of(Question::SelfSupervision).filter(|found| found.dataset == graph.dataset);
            let found = found.find(|found| found.depth == Some(depth) && found.a == model.to_string())?;
            Some((100.0 * found.difference, found.interval.map(Interval::in_percent)))
        })
    };
    let plots: Vec<Plot> = study.plan.graphs.iter().map(plot).collect();
    panels_with_shared_legend("Gain of self-supervision (bars: 95 % intervals; scales differ)", GAIN_PANELS, &plots)
}
