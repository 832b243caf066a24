//! The metric by degree and homophily of the test nodes.
//!
//! The degree is the number of other nodes in the attention neighbourhood. The homophily is the share of
//! neighbours with the node's label, or the share of common labels if nodes have several.

use super::{INTERVAL, Report, Run};
use supergat_core::{Counts, Labels};
use supergat_cpu::kernels::Primitives;
use supergat_figure::{Axis, Plot, panels};
use supergat_numerics::homophily::neighbourhoods;
use supergat_numerics::statistics::wilson;

/// Upper ends and names of the homophily bins, ascending.
const HOMOPHILY: [(f64, &str); 6] =
    [(0.0, "0"), (0.25, "to 0.25"), (0.5, "to 0.5"), (0.75, "to 0.75"), (0.999_999, "below 1"), (1.0, "1")];
/// Number of degree bins: 0, 1, 2, 3-4, 5-8, ..., the last without an upper end.
const DEGREES: usize = 12;

/// Test nodes with similar degree or homophily.
#[derive(Debug, Clone, PartialEq)]
struct Bin {
    name: String,
    nodes: usize,
    counts: Counts,
}

pub(super) fn add(report: Report, run: &Run<'_>) -> Report {
    let several = run.dataset.is_multi_label();
    // Other metrics are not defined for a few nodes.
    let metric = if several { "micro-f1" } else { "accuracy" };
    let mut degrees: Vec<Bin> = (0..DEGREES).map(|k| Bin::named(degree_name(k))).collect();
    let mut homophilies: Vec<Bin> = HOMOPHILY.iter().map(|(_, name)| Bin::named((*name).to_owned())).collect();
    for (_, example, logits) in run.tested() {
        let neighbourhoods = neighbourhoods(example);
        for &node in &example.test {
            let (_, mut counts) = f32::evaluate(&example.labels, &[node], logits);
            let node = node as usize;
            if let (Labels::Single { of, .. }, Some(_)) = (&example.labels, &run.decision.threshold) {
                let right = u64::from(run.class(run.row(logits, node)) == of[node] as usize);
                counts = Counts { hits: right, false_alarms: 1 - right, misses: 1 - right };
            }
            degrees[degree_bin(example.graph.incoming().of(node).len() - 1)].add(counts);
            let [known, same] = neighbourhoods[node];
            if known > 0.0 {
                homophilies[homophily_bin(same / known)].add(counts);
            }
        }
    }
    degrees.retain(|bin| bin.nodes > 0);
    homophilies.retain(|bin| bin.nodes > 0);
    let plots = [
        plot("By degree", "neighbours of the node", metric, &degrees, several),
        plot("By homophily", "share of neighbours with its label", metric, &homophilies, several),
    ];
    let interval = if several { "" } else { INTERVAL };
    let caption = format!(
        "Test nodes with few neighbours, or with neighbours of other classes, are often harder to classify. {interval}"
    );
    let rows: Vec<Vec<String>> = [("degree", &degrees), ("homophily", &homophilies)]
        .into_iter()
        .flat_map(|(by, bins)| bins.iter().map(move |bin| bin.row(by, several)))
        .collect();
    let measured = format!("{metric} (%)");
    let header = ["by", "bin", "test nodes", &measured, "95 % interval"];
    report
        .section("By degree and homophily")
        .figure("degree-and-homophily", panels("", 2, &plots), caption.trim())
        .table(&header[..if several { 4 } else { 5 }], &rows)
}

fn plot(title: &str, label: &str, metric: &str, bins: &[Bin], several: bool) -> Plot {
    let names = bins.iter().map(|bin| bin.name.as_str());
    let points: Vec<[f64; 2]> = bins.iter().enumerate().map(|(k, bin)| [k as f64, bin.percent()]).collect();
    let plot =
        Plot::new(title, Axis::categories(label, names), Axis::linear(format!("{metric} (%)")).range(0.0, 100.0));
    let plot = plot.bars(metric, &points);
    let interval = |(k, bin): (usize, &Bin)| bin.interval().map(|[low, high]| [k as f64, low, high]);
    let intervals: Vec<[f64; 3]> = bins.iter().enumerate().filter_map(interval).collect();
    if several { plot } else { plot.intervals("95 % interval", &intervals) }
}

impl Bin {
    fn named(name: String) -> Self {
        Self { name, nodes: 0, counts: Counts::default() }
    }

    fn add(&mut self, counts: Counts) {
        self.nodes += 1;
        self.counts += counts;
    }

    fn percent(&self) -> f64 {
        100.0 * self.counts.micro_f1()
    }

    /// Returns the 95 % interval in percent, for nodes with one label each.
    fn interval(&self) -> Option<[f64; 2]> {
        wilson(self.counts.hits as usize, self.nodes).ok().map(|interval| [100.0 * interval.low, 100.0 * interval.high])
    }

    fn row(&self, by: &str, several: bool) -> Vec<String> {
        let interval = self.interval().filter(|_| !several).map(|[low, high]| format!("{low:.1} to {high:.1}"));
        let row = [by.into(), self.name.clone(), self.nodes.to_string(), format!("{:.1}", self.percent())];
        row.into_iter().chain(interval).collect()
    }
}

/// Returns the bin of a degree. Degrees 0, 1 and 2 have their own bins; the others end at powers of two.
fn degree_bin(degree: usize) -> usize {
    let bin = if degree <= 2 { degree } else { degree.next_power_of_two().ilog2() as usize + 1 };
    bin.min(DEGREES - 1)
}

fn degree_name(bin: usize) -> String {
    match bin {
        0..=2 => bin.to_string(),
        _ if bin == DEGREES - 1 => format!("{}+", (1 << (bin - 2)) + 1),
        _ => format!("{}-{}", (1 << (bin - 2)) + 1, 1 << (bin - 1)),
    }
}

fn homophily_bin(homophily: f64) -> usize {
    HOMOPHILY.iter().position(|(end, _)| homophily <= *end).unwrap_or(HOMOPHILY.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigns_degrees_and_homophilies_to_bins() {
        let names: Vec<String> =
            [0, 1, 2, 3, 4, 5, 8, 9, 512, 513, 1_000_000].map(|d| degree_name(degree_bin(d))).into();
        assert_eq!(names, ["0", "1", "2", "3-4", "3-4", "5-8", "5-8", "9-16", "257-512", "513+", "513+"]);
        let names = [0.0, 0.1, 0.25, 0.3, 0.99, 1.0].map(|h| HOMOPHILY[homophily_bin(h)].1);
        assert_eq!(names, ["0", "to 0.25", "to 0.25", "to 0.5", "below 1", "1"]);
    }
}
