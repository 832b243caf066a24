//! Results of the study of depth as text tables.

use crate::depth::graphs::Depth;
use crate::depth::table::{CellResult, DepthComparison, DepthStudy, Question, Verdict};
use supergat_figure::Tone;
use supergat_figure::sheet::{Sheet, exact, or_dash, p_value};
use supergat_numerics::statistics::{Interval, Summary};

const TESTS: &str = "Paired t-tests over splits; Holm's correction is over all tests of a question. Splits of one \
                     graph share nodes, so p-values are too small rather than too large.";

/// Returns the answers in short: how often the first side is better or worse, and by how much.
pub fn summary(study: &DepthStudy) -> Sheet {
    let mut rows = Vec::new();
    for question in Question::ALL {
        for depth in [Some(Depth::Published), Some(Depth::Deep), None] {
            let all: Vec<&DepthComparison> = study.of(question).filter(|found| found.depth == depth).collect();
            if !all.is_empty() {
                rows.push(summary_row(question, depth, &all));
            }
        }
    }
    let cells = study.plan.cells().len();
    let complete = study.cells.iter().filter(|cell| cell.splits.len() as u64 == study.plan.splits).count();
    let notes = vec![
        format!(
            "{complete} of {cells} cells are complete. Each has a search of {} trials on split 0, by validation only, and \
             final runs on {} splits.",
            study.plan.trials, study.plan.splits
        ),
        "better, worse: significant at level 0.05 after Holm's correction. Differences are in percentage points."
            .into(),
        TESTS.into(),
    ];
    let header = ["question", "depth", "comparisons", "better", "worse", "mean difference", "largest", "smallest"];
    Sheet::new("Answers", header, rows).with_notes(notes)
}

fn summary_row(question: Question, depth: Option<Depth>, all: &[&DepthComparison]) -> (Tone, Vec<String>) {
    let count = |verdict| all.iter().filter(|found| found.verdict == verdict).count().to_string();
    let by_difference = |a: &&&DepthComparison, b: &&&DepthComparison| a.difference.total_cmp(&b.difference);
    let place = |found: Option<&&DepthComparison>| {
        or_dash(found.map(|found| format!("{:+.2} ({})", 100.0 * found.difference, at(found))))
    };
    let mean = Summary::of(all.iter().map(|found| 100.0 * found.difference).collect()).mean;
    let row = vec![
        question.text().into(),
        or_dash(depth.map(|depth| depth.name().into())),
        all.len().to_string(),
        count(Verdict::Better),
        count(Verdict::Worse),
        format!("{mean:+.2}"),
        place(all.iter().max_by(by_difference)),
        place(all.iter().min_by(by_difference)),
    ];
    (Tone::Plain, row)
}

/// Returns where a comparison was made, such as `supergat-mx on photo`.
fn at(found: &DepthComparison) -> String {
    let model = found.a.split([',', ' ']).next().unwrap_or_default();
    format!("{model} on {}", found.dataset)
}

/// Returns all comparisons.
pub fn comparisons(study: &DepthStudy) -> Sheet {
    let row = |found: &DepthComparison| {
        let tone = match found.verdict {
            Verdict::Better => Tone::Good,
            Verdict::Worse => Tone::Bad,
            Verdict::Open | Verdict::Untested => Tone::Plain,
        };
        let interval = found.interval.map(Interval::in_percent);
        let row = vec![
            found.dataset.clone(),
            or_dash(found.depth.map(|depth| depth.name().into())),
            found.a.clone(),
            found.b.clone(),
            format!("{:+.2}", 100.0 * found.difference),
            or_dash(interval.map(|interval| format!("{:+.2} to {:+.2}", interval.low, interval.high))),
            or_dash(found.effect.map(|d| format!("{d:+.2}"))),
            or_dash(found.p.map(p_value)),
            or_dash(found.holm.map(p_value)),
            or_dash(found.wilcoxon.map(p_value)),
            found.pairs.to_string(),
            verdict(found.verdict).into(),
        ];
        (tone, row)
    };
    let numbers = |found: &DepthComparison| {
        vec![
            question_name(found.question).into(),
            found.dataset.clone(),
            found.depth.map_or("", Depth::name).into(),
            found.a.clone(),
            found.b.clone(),
            found.difference.to_string(),
            exact(found.interval.map(|interval| interval.low)),
            exact(found.interval.map(|interval| interval.high)),
            exact(found.effect),
            exact(found.p),
            exact(found.holm),
            exact(found.wilcoxon),
            found.pairs.to_string(),
            verdict(found.verdict).into(),
        ]
    };
    let header = "dataset,depth,a,b,a - b,95 % interval,d,p,p (Holm),p (Wilcoxon),n,verdict";
    let csv_header = "question,dataset,depth,a,b,difference,low,high,d,p,p_holm,p_wilcoxon,n,verdict";
    Sheet::new("Comparisons, in percentage points", header.split(','), study.comparisons.iter().map(row))
        .with_csv(csv_header, study.comparisons.iter().map(numbers))
        .with_notes(["d: mean difference in standard deviations of the differences.", TESTS])
}

/// Returns the results of all cells with the selected settings.
pub fn cells(study: &DepthStudy) -> Sheet {
    let row = |cell: &CellResult| {
        let (s, test) = (&cell.settings, cell.test.in_percent());
        let supervised = |value: f64| or_dash(cell.model.is_self_supervised().then(|| three_digits(value)));
        let n = cell.splits.len();
        let wanted = study.plan.splits as usize;
        let row = vec![
            cell.dataset.clone(),
            cell.depth.name().into(),
            cell.model.to_string(),
            format!("{:.2} ± {:.2}", test.mean, test.std),
            if n == wanted { n.to_string() } else { format!("{n}/{wanted}") },
            format!("{} x {} x {}", s.network.layers, s.network.heads, s.network.hidden),
            s.network.norm.name().into(),
            s.network.residual.name().into(),
            three_digits(s.network.dropout),
            three_digits(s.training.lr),
            three_digits(s.training.lambda_2),
            supervised(s.edge_loss.lambda_e),
            supervised(s.edge_loss.p_n),
            supervised(s.edge_loss.p_e),
        ];
        (Tone::Plain, row)
    };
    let numbers = |cell: &CellResult| {
        let s = &cell.settings;
        let mut row = vec![cell.dataset.clone(), cell.depth.name().into(), cell.model.to_string(), cell.metric.clone()];
        let summary = [cell.test.mean, cell.test.std, cell.validation.mean, cell.validation.std];
        row.extend(summary.map(|number| number.to_string()));
        row.push(cell.splits.len().to_string());
        row.extend([s.network.layers, s.network.heads, s.network.hidden].map(|number| number.to_string()));
        row.extend([s.network.norm.name(), s.network.residual.name()].map(str::to_owned));
        row.extend([s.network.dropout, s.training.lr, s.training.lambda_2].map(|number| number.to_string()));
        let supervised = |value: f64| if cell.model.is_self_supervised() { value.to_string() } else { String::new() };
        row.extend([s.edge_loss.lambda_e, s.edge_loss.p_n, s.edge_loss.p_e].map(supervised));
        row
    };
    let mut metrics: Vec<&str> = study.plan.graphs.iter().map(|graph| graph.metric.as_str()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let header =
        "dataset,depth,model,test,n,layers x heads x hidden,norm,residual,dropout,lr,lambda_2,lambda_E,p_n,p_e";
    let csv_header = "dataset,depth,model,metric,test,test_std,validation,validation_std,n,layers,heads,hidden,norm,\
                      residual,dropout,lr,lambda_2,lambda_e,p_n,p_e";
    let note = format!("Mean ± standard deviation over n splits. Metric: {}.", metric_note(study, &metrics));
    Sheet::new("Test metric in percent, and selected settings", header.split(','), study.cells.iter().map(row))
        .with_csv(csv_header, study.cells.iter().map(numbers))
        .with_notes([note])
}

/// Returns the metrics with their datasets, if there are several.
fn metric_note(study: &DepthStudy, metrics: &[&str]) -> String {
    if let [one] = metrics {
        return (*one).to_owned();
    }
    let of = |metric: &&str| {
        let graphs = study.plan.graphs.iter().filter(|graph| graph.metric == **metric);
        format!("{metric} on {}", graphs.map(|graph| graph.dataset.as_str()).collect::<Vec<_>>().join(", "))
    };
    metrics.iter().map(of).collect::<Vec<_>>().join("; ")
}

fn question_name(question: Question) -> &'static str {
    match question {
        Question::SelfSupervision => "self-supervision",
        Question::OverGat => "over-gat",
        Question::Depth => "depth",
        Question::Change => "change",
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Open => "not significant",
        Verdict::Untested => "not tested",
    }
}

/// Formats a number with about three digits.
fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && size < 0.001 => format!("{value:.1e}"),
        _ => format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
