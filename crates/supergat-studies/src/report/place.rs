//! Position of the graph on the paper's map of average degree and homophily.

use super::{Report, Run};
use supergat_numerics::homophily::homophily;
use supergat_select::recommend::map::{Known, consult, figure};

/// Maximum number of nodes; larger graphs take seconds.
const MAX_NODES: usize = 500_000;

pub(super) fn add(report: Report, run: &Run<'_>) -> Report {
    let report = report.section("The paper's map");
    if run.dataset.nodes() > MAX_NODES {
        return report.text("The graph is too large for this section; run `supergat recommend` instead.");
    }
    let recommendation = consult(run.dataset, Known::TrainingAndValidation);
    let truth = match homophily(&run.dataset.examples).node {
        Some(homophily) => format!(" The homophily of all labels, test nodes included, is {homophily:.3}."),
        None => String::new(),
    };
    let caption = format!(
        "Squares are the paper's synthetic graphs. Their colour is the best form of attention, their area its gain over GAT. The dot is this \
         graph, with its homophily estimated from training and validation nodes.{truth}"
    );
    let map = figure(&run.dataset.name, &recommendation);
    report.text(&recommendation.reasons.join(" ")).figure("recipe", map, &caption)
}
