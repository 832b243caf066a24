//! Where the graph lies on the map of average degree and homophily that the paper draws from synthetic graphs.

use super::{Report, Run};
use crate::graph_statistics::homophily;
use crate::recipe::{Known, figure, recommend};

/// The most nodes for which the recommendation is made here: it takes seconds from there on.
const MOST_NODES: usize = 500_000;

pub(super) fn add(report: Report, run: &Run<'_>) -> Report {
    let report = report.section("The paper's map");
    if run.dataset.nodes() > MOST_NODES {
        return report.text("The graph is too large to be placed here in a moment; `supergat recommend` does it.");
    }
    let recommendation = recommend(run.dataset, Known::TrainingAndValidation);
    let truth = match homophily(&run.dataset.examples).node {
        Some(homophily) => format!(" By all labels, those of test nodes too, its homophily is {homophily:.3}."),
        None => String::new(),
    };
    let caption = format!(
        "Squares are the paper's synthetic graphs, in the colour of the attention that did best and as large as its gain over GAT. The dot is this graph as \
         training and validation nodes show it.{truth}"
    );
    let map = figure(&run.dataset.name, &recommendation);
    report.text(&recommendation.reasons.join(" ")).figure("recipe", map, &caption)
}
