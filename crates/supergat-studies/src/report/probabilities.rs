//! Probabilities of the test nodes: curves of rankings, reliability, and the nodes with the highest probabilities.

use super::{Report, Run, thinned};
use supergat_core::{Labels, Result};
use supergat_figure::{Axis, Plot, panels};
use supergat_numerics::metrics::{
    BINS, average_precision, calibration_error, gains, one_against_rest, precision_recall_curve, reliability, roc_auc,
    roc_curve,
};
use supergat_train::Decision;
use supergat_train::node_list::gathered;

/// Maximum number of classes with curves: those with the most test nodes.
const MAX_CURVES: usize = 5;
/// Maximum number of points of a curve.
const MAX_POINTS: usize = 300;

/// Adds ROC and precision-recall curves, a reliability diagram and, for two classes, the gain of the first nodes.
pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    let probabilities = run.probabilities_of(run.decision)?;
    let (labels, values) = gathered(run.dataset, &probabilities, |example| &example.test);
    let two = !labels.is_multi() && labels.classes() == 2;
    let positive_class = run.decision.positive_class();
    let classes = if two { vec![positive_class] } else { most_frequent(&labels, &values) };
    let names = &run.dataset.class_names;
    let mut roc = square("ROC curve", "false positive rate", "true positive rate");
    let mut precision_recall = square("Precision and recall", "recall", "precision");
    for &class in &classes {
        let (positive, scores) = one_against_rest(&labels, &values, class);
        if let Some(curve) = roc_curve(&positive, &scores) {
            let points = thinned(&curve, MAX_POINTS).map(|p| [p.false_positive_rate, p.true_positive_rate]);
            roc = roc.line(&names[class], &points.collect::<Vec<_>>());
        }
        if let Some(curve) = precision_recall_curve(&positive, &scores) {
            let points = thinned(&curve, MAX_POINTS).map(|p| [p.recall, p.precision]);
            precision_recall = precision_recall.line(&names[class], &points.collect::<Vec<_>>());
        }
    }
    let roc = roc.faint_line("chance", &[[0.0, 0.0], [1.0, 1.0]]);
    let mut reliable = square(
        "Reliability",
        "mean probability",
        if labels.is_multi() { "share with the label" } else { "share of right nodes" },
    );
    if run.decision.temperature.is_some() {
        let plain = run.probabilities_of(&Decision::default())?;
        let (labels, values) = gathered(run.dataset, &plain, |example| &example.test);
        reliable = reliable.faint_line("before calibration", &reliability_points(&labels, &values));
    }
    let reliable = reliable
        .line(
            if run.decision.temperature.is_some() { "calibrated" } else { "probabilities" },
            &reliability_points(&labels, &values),
        )
        .faint_line("exact", &[[0.0, 0.0], [1.0, 1.0]]);
    let mut plots = vec![roc, precision_recall, reliable];
    let mut table = Vec::new();
    if two {
        let (positive, scores) = one_against_rest(&labels, &values, positive_class);
        let nodes = positive.len();
        let numbers: Vec<usize> = (1..=MAX_POINTS).map(|k| (k * nodes).div_ceil(MAX_POINTS)).collect();
        if let Some(found) = gains(&positive, &scores, &numbers) {
            let points: Vec<[f64; 2]> =
                found.iter().map(|first| [first.k as f64 / nodes as f64, first.recall]).collect();
            let plot = square("Gain of the first nodes", "share of the nodes", "share of all positive nodes");
            plots.push(plot.line(&names[positive_class], &points).faint_line("chance", &[[0.0, 0.0], [1.0, 1.0]]));
        }
        table = first_nodes(&positive, &scores);
    }
    let error = calibration_error(&labels, &values).unwrap_or(0.0);
    let shown = match classes.len() {
        _ if two => format!("Curves are of the class {}.", names[positive_class]),
        shown if shown < labels.classes() => {
            format!("Curves are of the {shown} classes with the most test nodes, each against the rest.")
        }
        _ => "Each class is compared with the rest.".to_owned(),
    };
    let caption = format!("{shown} The calibration error is {:.2} %, over {BINS} bins of equal width.", 100.0 * error);
    let report = report.section("Probabilities").figure("probabilities", panels("", 2, &plots), &caption);
    Ok(match table.is_empty() {
        true => report,
        false => report
            .text(&format!("The test nodes with the highest probabilities of the class {}:", names[positive_class]))
            .table(&["first nodes", "precision (%)", "share of all found (%)", "times better than chance"], &table),
    })
}

/// Creates a plot of two shares.
fn square(title: &str, x: &str, y: &str) -> Plot {
    Plot::new(title, Axis::linear(x).range(0.0, 1.0), Axis::linear(y).range(0.0, 1.0))
}

/// Returns the classes with the most nodes, in their order.
fn most_frequent(labels: &Labels, values: &[f64]) -> Vec<usize> {
    let count = |class: usize| one_against_rest(labels, values, class).0.iter().filter(|has| **has).count();
    let mut order: Vec<(usize, usize)> = (0..labels.classes()).map(|class| (count(class), class)).collect();
    order.sort_by_key(|&(count, class)| (std::cmp::Reverse(count), class));
    let mut kept: Vec<usize> = order.into_iter().take(MAX_CURVES).map(|(_, class)| class).collect();
    kept.sort_unstable();
    kept
}

/// Returns mean probability and share of right nodes of every bin that has nodes.
fn reliability_points(labels: &Labels, values: &[f64]) -> Vec<[f64; 2]> {
    reliability(labels, values, BINS).iter().filter_map(|bin| Some([bin.confidence?, bin.right?])).collect()
}

/// Returns precision, gain and lift of the first nodes as rows of a table.
fn first_nodes(positive: &[bool], scores: &[f64]) -> Vec<Vec<String>> {
    let mut numbers: Vec<usize> =
        [10, 20, 50, 100, 200, 500, 1000].into_iter().filter(|k| *k < positive.len()).collect();
    numbers.push(positive.len());
    let row = |first: &supergat_numerics::metrics::FirstK| {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        vec![first.k.to_string(), percent(first.precision), percent(first.recall), format!("{:.2}", first.lift)]
    };
    gains(positive, scores, &numbers).map_or_else(Vec::new, |found| found.iter().map(row).collect())
}

/// Returns AUROC and average precision of each class against the rest.
pub(super) fn rankings(labels: &Labels, values: &[f64]) -> Vec<[Option<f64>; 2]> {
    let of = |class: usize| {
        let (positive, scores) = one_against_rest(labels, values, class);
        [roc_auc(&positive, &scores), average_precision(&positive, &scores)]
    };
    (0..labels.classes()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_first_nodes_up_to_all() {
        let positive: Vec<bool> = (0..40).map(|k| k < 10).collect();
        let scores: Vec<f64> = (0..40).map(|k| -f64::from(k)).collect();
        let rows = first_nodes(&positive, &scores);
        assert_eq!(rows[0], ["10", "100.0", "100.0", "4.00"]);
        assert_eq!((rows.len(), rows[2][3].as_str()), (3, "1.00"));
        assert_eq!(first_nodes(&[false; 40], &scores), Vec::<Vec<String>>::new());
    }

    #[test]
    fn shows_the_most_frequent_classes() {
        let of: Vec<u32> = (0..8u32).flat_map(|class| vec![class; class as usize]).collect();
        let values = vec![0.0; 8 * of.len()];
        assert_eq!(most_frequent(&Labels::Single { classes: 8, of }, &values), [3, 4, 5, 6, 7]);
    }
}
