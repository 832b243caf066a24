//! Where the graph lies on the map of average degree and homophily that the paper draws from synthetic graphs.

use super::{Report, Run};
use crate::GraphStatistics;
use crate::recipe::{Form, Map};
use supergat_figure::{Axis, Plot};

/// The side of a square without any gain, where the largest is 1.
const LEAST: f64 = 0.2;

pub(super) fn add(report: Report, run: &Run<'_>) -> Report {
    let statistics = GraphStatistics::of(run.dataset);
    let report = report.section("The graph");
    let (Some(homophily), degree) = (statistics.homophily.node, statistics.degree.mean) else {
        return report
            .text("Without a labelled edge there is no homophily, so the graph has no place on the paper's map.");
    };
    let caption = format!(
        "Squares are the paper's synthetic graphs, in the colour of the attention that did best and as large as its gain over GAT. This graph has average \
         degree {degree:.2} and homophily {homophily:.3}, counted as the paper does."
    );
    report.figure("recipe", map(&run.dataset.name, degree, homophily), &caption)
}

fn map(name: &str, degree: f64, homophily: f64) -> String {
    let map = Map::paper();
    let largest = map.cells().iter().map(|cell| cell.gain()).fold(f64::MIN_POSITIVE, f64::max);
    let side = |gain: f64| (gain.max(0.0) / largest).sqrt().max(LEAST);
    let plot =
        Plot::new("Best attention by degree and homophily", Axis::log("average degree"), Axis::linear("homophily"));
    let plot = Form::ALL.iter().fold(plot, |plot, &form| {
        let cells = map.cells().iter().filter(|cell| cell.form() == form);
        let squares: Vec<([f64; 2], f64)> =
            cells.map(|cell| ([cell.degree, cell.homophily], side(cell.gain()))).collect();
        plot.squares(&form.to_string(), &squares)
    });
    plot.labelled_dots("this graph", &[([degree, homophily], name.to_owned())]).svg()
}
