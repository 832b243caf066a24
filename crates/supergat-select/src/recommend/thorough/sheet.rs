//! Results as text tables.

use crate::recommend::thorough::answer::{FamilyComparison, FamilyResult, ThoroughAnswer, Verdict};
use supergat_figure::Tone;
use supergat_figure::sheet::Sheet;

/// Returns the results of all families, the best first.
pub fn families(answer: &ThoroughAnswer) -> Sheet {
    let mut all: Vec<&FamilyResult> = answer.families.iter().collect();
    all.sort_by(|a, b| b.test.mean.total_cmp(&a.test.mean));
    let row = |result: &&FamilyResult| {
        let test = &result.test;
        let is_winner = answer.family == Some(result.family);
        let row = vec![
            result.family.name.to_owned(),
            format!("{:.2} ± {:.2}", 100.0 * test.mean, 100.0 * test.std),
            test.interval()
                .map_or_else(|_| dash(), |found| format!("{:.2} to {:.2}", 100.0 * found.low, 100.0 * found.high)),
            format!("{:.2}", 100.0 * result.validation.mean),
            result.trials.to_string(),
            settings(result),
        ];
        (if is_winner { Tone::Good } else { Tone::Plain }, row)
    };
    let numbers = |result: &&FamilyResult| {
        let values: Vec<String> = result.test.values.iter().map(f64::to_string).collect();
        let end = |end: fn(supergat_numerics::statistics::Interval) -> f64| {
            result.test.interval().map(|found| end(found).to_string()).unwrap_or_default()
        };
        vec![
            result.family.name.to_owned(),
            result.settings.model.to_string(),
            result.test.mean.to_string(),
            result.test.std.to_string(),
            end(|found| found.low),
            end(|found| found.high),
            result.validation.mean.to_string(),
            result.trials.to_string(),
            result.test.values.len().to_string(),
            settings(result),
            values.join(" "),
        ]
    };
    Sheet {
        title: format!("Families, test {} in %", answer.metric),
        header: ["family", "test", "95 % interval", "validation", "trials", "settings"].map(str::to_owned).to_vec(),
        rows: all.iter().map(row).collect(),
        csv_header: "family,model,test,std,low,high,validation,trials,splits,settings,values".into(),
        csv_rows: all.iter().map(numbers).collect(),
        notes: answer.notes.clone(),
    }
}

/// Returns the comparisons of the best family with all others.
pub fn comparisons(answer: &ThoroughAnswer) -> Sheet {
    let row = |found: &FamilyComparison| {
        let tone = if found.verdict == Verdict::Worse { Tone::Good } else { Tone::Plain };
        let row = vec![
            format!("{} - {}", found.best.name, found.family.name),
            format!("{:+.2}", 100.0 * found.difference),
            found
                .interval
                .map_or_else(dash, |interval| format!("{:+.2} to {:+.2}", 100.0 * interval.low, 100.0 * interval.high)),
            found.p.map_or_else(dash, p_value),
            found.holm.map_or_else(dash, p_value),
            found.wilcoxon.map_or_else(dash, p_value),
            verdict(found.verdict).to_owned(),
        ];
        (tone, row)
    };
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let numbers = |found: &FamilyComparison| {
        vec![
            found.best.name.to_owned(),
            found.family.name.to_owned(),
            found.difference.to_string(),
            number(found.interval.map(|interval| interval.low)),
            number(found.interval.map(|interval| interval.high)),
            number(found.p),
            number(found.holm),
            number(found.wilcoxon),
            verdict(found.verdict).to_owned(),
        ]
    };
    let header = ["best - other", "points", "95 % interval", "p", "p (Holm)", "p (Wilcoxon)", "the best is"];
    Sheet {
        title: "The best family against all others".into(),
        header: header.map(str::to_owned).to_vec(),
        rows: answer.comparisons.iter().map(row).collect(),
        csv_header: "best,family,difference,low,high,p,p_holm,p_wilcoxon,verdict".into(),
        csv_rows: answer.comparisons.iter().map(numbers).collect(),
        notes: vec![
            "Paired t-tests over splits, with Holm's correction over all rows; intervals and Wilcoxon's test are not corrected.".into(),
        ],
    }
}

/// Returns the selected settings in short.
fn settings(result: &FamilyResult) -> String {
    let settings = &result.settings;
    if !settings.model.is_network() {
        return settings.get("propagation_alpha").map_or_else(dash, |alpha| format!("alpha {alpha}"));
    }
    let mut words = vec![format!("{} x {}", settings.network.layers, settings.network.hidden)];
    if settings.model.form().is_some() {
        words.push(format!("{} heads", settings.network.heads));
    }
    if settings.network.norm.name() != "none" {
        words.push(format!("{} norm", settings.network.norm.name()));
    }
    if settings.network.residual.name() != "none" {
        words.push("residual".into());
    }
    words.push(format!("dropout {}", settings.network.dropout));
    words.push(format!("lr {}", short(settings.training.lr)));
    words.push(format!("lambda_2 {}", short(settings.training.lambda_2)));
    if settings.model.is_self_supervised() {
        words.push(format!("lambda_e {}", short(settings.edge_loss.lambda_e)));
    }
    if result.balanced {
        words.push("balanced classes".into());
    }
    words.join(", ")
}

/// Formats a positive number with two digits.
fn short(value: f64) -> String {
    if value >= 0.01 { format!("{value:.2}") } else { format!("{value:.1e}") }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse => "better",
        Verdict::Open => "not significantly better",
        Verdict::Untested => "not tested",
    }
}

fn p_value(p: f64) -> String {
    if p < 1e-4 { "<0.0001".into() } else { format!("{p:.4}") }
}

fn dash() -> String {
    "-".into()
}
