//! Confusion matrix of the test nodes, or F1 of each label if nodes have several labels.

use super::probabilities::rankings;
use super::{Report, Run};
use supergat_core::words::count;
use supergat_core::{Counts, Labels, Result};
use supergat_figure::{Axis, Cell, Plot};
use supergat_train::node_list::gathered;

/// Maximum number of classes in the matrix. The others, with the fewest test nodes, are combined into one.
const MAX_CLASSES: usize = 30;
/// Maximum number of rows in the table of mistakes.
const MAX_MISTAKES: usize = 10;
/// Maximum number of best labels, and of worst labels, by F1.
const MAX_LABELS: usize = 15;

pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    match run.dataset.is_multi_label() {
        true => Ok(add_labels(report, run)),
        false => add_matrix(report, run),
    }
}

/// Returns the number of test nodes by true class (row) and predicted class (column).
fn confusion(run: &Run<'_>) -> Vec<Vec<u64>> {
    let classes = run.dataset.classes();
    let mut matrix = vec![vec![0; classes]; classes];
    for (_, example, logits) in run.tested() {
        let Labels::Single { of, .. } = &example.labels else { continue };
        for &node in &example.test {
            let node = node as usize;
            if let Some(row) = matrix.get_mut(of[node] as usize) {
                row[run.class(run.row(logits, node))] += 1;
            }
        }
    }
    matrix
}

fn add_matrix(report: Report, run: &Run<'_>) -> Result<Report> {
    let matrix = confusion(run);
    let (names, small) = grouped(&run.dataset.class_names, &matrix);
    let total = |row: &[u64]| row.iter().sum::<u64>();
    let mut cells = Vec::new();
    for (y, row) in small.iter().enumerate().filter(|(_, row)| total(row) > 0) {
        for (x, &count) in row.iter().enumerate() {
            let value = 100.0 * count as f64 / total(row) as f64;
            cells.push(Cell { x, y, value, text: if count > 0 { count.to_string() } else { String::new() } });
        }
    }
    let height = 190.0 + 26.0 * names.len() as f64;
    let plot =
        Plot::new("Test nodes by class", Axis::categories("predicted", names.clone()), Axis::categories("true", names));
    let grouped = match matrix.len().saturating_sub(MAX_CLASSES) {
        0 => String::new(),
        rest => format!(" The {rest} of {} classes with the fewest test nodes are combined.", matrix.len()),
    };
    let at = match &run.decision.threshold {
        Some(threshold) => {
            let name = &run.dataset.class_names[run.decision.positive_class()];
            format!(" with the threshold {:.4} of the class {name}", threshold.value)
        }
        None => String::new(),
    };
    let caption =
        format!("Confusion matrix{at}. Numbers count nodes; colours show the percentage of the true class.{grouped}");
    let report = report.section("Classes").figure("classes", plot.height(height).cells(&cells).svg(), &caption);
    let header = ["class", "test nodes", "precision (%)", "recall (%)", "F1 (%)", "AUROC (%)", "average precision (%)"];
    let report = report.table(&header, &each_class(run, &matrix)?);
    let mistakes = mistakes(run, &matrix);
    Ok(match mistakes.is_empty() {
        true => report.text("All test nodes are classified correctly."),
        false => report
            .text("The most frequent mistakes:")
            .table(&["true", "predicted", "nodes", "% of the true class"], &mistakes),
    })
}

/// Returns the metrics of the classes with the most test nodes as rows of a table, in the order of the classes.
fn each_class(run: &Run<'_>, matrix: &[Vec<u64>]) -> Result<Vec<Vec<String>>> {
    let probabilities = run.probabilities_of(run.decision)?;
    let (labels, values) = gathered(run.dataset, &probabilities, |example| &example.test);
    let rankings = rankings(&labels, &values);
    let nodes = |class: usize| matrix[class].iter().sum::<u64>();
    let mut order: Vec<usize> = (0..matrix.len()).collect();
    order.sort_by_key(|&class| (std::cmp::Reverse(nodes(class)), class));
    order.truncate(MAX_CLASSES);
    order.sort_unstable();
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let row = |class: usize| {
        let (hits, predicted) = (matrix[class][class], matrix.iter().map(|row| row[class]).sum::<u64>());
        let [auroc, precision] = rankings[class];
        let metrics = [
            share(hits, predicted),
            share(hits, nodes(class)),
            share(2 * hits, predicted + nodes(class)),
            auroc,
            precision,
        ];
        let texts = metrics.map(|value| value.map_or_else(String::new, |value| format!("{:.1}", 100.0 * value)));
        [run.dataset.class_names[class].clone(), nodes(class).to_string()].into_iter().chain(texts).collect()
    };
    Ok(order.into_iter().map(row).collect())
}

/// Keeps the classes with the most test nodes, in their order, and combines all others into one.
fn grouped(names: &[String], matrix: &[Vec<u64>]) -> (Vec<String>, Vec<Vec<u64>>) {
    let mut order: Vec<usize> = (0..matrix.len()).collect();
    order.sort_by_key(|&k| (std::cmp::Reverse(matrix[k].iter().sum::<u64>()), k));
    let mut kept: Vec<usize> = order.into_iter().take(MAX_CLASSES).collect();
    kept.sort_unstable();
    let index = |class: usize| kept.binary_search(&class).unwrap_or(kept.len());
    let size = kept.len() + usize::from(kept.len() < matrix.len());
    let mut small = vec![vec![0; size]; size];
    for (class, row) in matrix.iter().enumerate() {
        row.iter().enumerate().for_each(|(predicted, count)| small[index(class)][index(predicted)] += count);
    }
    let mut kept_names: Vec<String> = kept.iter().map(|&k| names[k].clone()).collect();
    kept_names.resize_with(size, || "all others".into());
    (kept_names, small)
}

/// Returns the most frequent mistakes as rows of a table.
fn mistakes(run: &Run<'_>, matrix: &[Vec<u64>]) -> Vec<Vec<String>> {
    let mut found: Vec<(u64, usize, usize)> = Vec::new();
    for (class, row) in matrix.iter().enumerate() {
        found.extend(
            row.iter().enumerate().filter(|(k, count)| *k != class && **count > 0).map(|(k, &n)| (n, class, k)),
        );
    }
    found.sort_by_key(|&(count, class, predicted)| (std::cmp::Reverse(count), class, predicted));
    let names = &run.dataset.class_names;
    let row = |&(count, class, predicted): &(u64, usize, usize)| {
        let share = 100.0 * count as f64 / matrix[class].iter().sum::<u64>() as f64;
        vec![names[class].clone(), names[predicted].clone(), count.to_string(), format!("{share:.1}")]
    };
    found.iter().take(MAX_MISTAKES).map(row).collect()
}

/// Counts hits, false alarms and misses of every label.
fn by_label(run: &Run<'_>) -> Vec<Counts> {
    let mut counts = vec![Counts::default(); run.dataset.classes()];
    for (_, example, logits) in run.tested() {
        let Labels::Multi { classes, of } = &example.labels else { continue };
        for &node in &example.test {
            let has = &of[node as usize * classes..][..*classes];
            for ((count, has), logit) in counts.iter_mut().zip(has).zip(run.row(logits, node as usize)) {
                match (*has == 1, *logit > 0.0) {
                    (true, true) => count.hits += 1,
                    (false, true) => count.false_alarms += 1,
                    (true, false) => count.misses += 1,
                    (false, false) => {}
                }
            }
        }
    }
    counts
}

fn add_labels(report: Report, run: &Run<'_>) -> Report {
    let counts = by_label(run);
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|&a, &b| counts[b].micro_f1().total_cmp(&counts[a].micro_f1()).then(a.cmp(&b)));
    if order.len() > 2 * MAX_LABELS {
        order.drain(MAX_LABELS..order.len() - MAX_LABELS);
    }
    let names: Vec<&str> = order.iter().map(|&k| run.dataset.class_names[k].as_str()).collect();
    let bars: Vec<[f64; 2]> =
        order.iter().enumerate().map(|(x, &k)| [x as f64, 100.0 * counts[k].micro_f1()]).collect();
    let plot = Plot::new(
        "F1 of each label on the test nodes",
        Axis::categories("", names),
        Axis::linear("F1 (%)").range(0.0, 100.0),
    );
    let left_out = match counts.len() - order.len() {
        0 => String::new(),
        rest => format!(" {} between the best and the worst are not shown.", count(rest, "label")),
    };
    let percent = |part: u64, rest: u64| format!("{:.1}", 100.0 * part as f64 / (part + rest).max(1) as f64);
    let row = |&k: &usize| {
        let Counts { hits, false_alarms, misses } = counts[k];
        vec![
            run.dataset.class_names[k].clone(),
            (hits + misses).to_string(),
            percent(hits, false_alarms),
            percent(hits, misses),
            format!("{:.1}", 100.0 * counts[k].micro_f1()),
        ]
    };
    report
        .section("Labels")
        .figure("labels", plot.bars("", &bars).svg(), &format!("From the best to the worst.{left_out}"))
        .table(
            &["label", "test nodes", "precision (%)", "recall (%)", "F1 (%)"],
            &order.iter().map(row).collect::<Vec<_>>(),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combines_small_classes() {
        let classes = MAX_CLASSES + 5;
        let names: Vec<String> = (0..classes).map(|k| k.to_string()).collect();
        // The first five classes have no test nodes. Class k has k test nodes, one of them predicted as class
        // 0.
        let matrix: Vec<Vec<u64>> = (0..classes as u64)
            .map(|k| {
                (0..classes as u64)
                    .map(|p| {
                        if k < 5 {
                            0
                        } else if p == k {
                            k - 1
                        } else {
                            u64::from(p == 0)
                        }
                    })
                    .collect()
            })
            .collect();
        let (kept, small) = grouped(&names, &matrix);
        assert_eq!((kept.len(), kept[0].as_str(), kept[MAX_CLASSES].as_str()), (MAX_CLASSES + 1, "5", "all others"));
        assert_eq!((small[0][0], small[0][MAX_CLASSES]), (4, 1));
        let sum = |matrix: &[Vec<u64>]| matrix.iter().flatten().sum::<u64>();
        assert_eq!(sum(&small), sum(&matrix));
        let (kept, small) = grouped(&names[..3], &[vec![1, 0, 0], vec![0, 2, 0], vec![3, 0, 0]]);
        assert_eq!((kept.len(), small[2][0]), (3, 3));
    }
}
