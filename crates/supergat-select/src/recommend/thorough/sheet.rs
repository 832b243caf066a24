//! Results as text tables.

use crate::recommend::thorough::answer::{FamilyComparison, FamilyResult, ThoroughAnswer, Verdict};
use supergat_core::words::count;
use supergat_figure::Tone;
use supergat_figure::sheet::{Sheet, exact, or_dash, p_value};

/// Returns the results of all families, the best first.
pub fn families(answer: &ThoroughAnswer) -> Sheet {
    let mut all: Vec<&FamilyResult> = answer.families.iter().collect();
    all.sort_by(|a, b| b.test.mean.total_cmp(&a.test.mean));
    let interval = |result: &FamilyResult| result.test.interval().ok();
    let row = |result: &&FamilyResult| {
        let test = &result.test;
        let is_winner = answer.family == Some(result.family);
        let row = vec![
            result.family.name.to_owned(),
            format!("{:.2} ± {:.2}", 100.0 * test.mean, 100.0 * test.std),
            or_dash(interval(result).map(|found| format!("{:.2} to {:.2}", 100.0 * found.low, 100.0 * found.high))),
            format!("{:.2}", 100.0 * result.validation.mean),
            result.trials.to_string(),
            settings(result),
        ];
        (if is_winner { Tone::Good } else { Tone::Plain }, row)
    };
    let numbers = |result: &&FamilyResult| {
        let values: Vec<String> = result.test.values.iter().map(f64::to_string).collect();
        vec![
            result.family.name.to_owned(),
            result.settings.model.to_string(),
            result.test.mean.to_string(),
            result.test.std.to_string(),
            exact(interval(result).map(|found| found.low)),
            exact(interval(result).map(|found| found.high)),
            result.validation.mean.to_string(),
            result.trials.to_string(),
            result.test.values.len().to_string(),
            settings(result),
            values.join(" "),
        ]
    };
    let title = format!("Families, test {} in %", answer.metric);
    let header = ["family", "test", "95 % interval", "validation", "trials", "settings"];
    let csv_header = "family,model,test,std,low,high,validation,trials,splits,settings,values";
    Sheet::new(title, header, all.iter().map(row))
        .with_csv(csv_header, all.iter().map(numbers))
        .with_notes(&answer.notes)
}

/// Returns the comparisons of the best family with all others.
pub fn comparisons(answer: &ThoroughAnswer) -> Sheet {
    let row = |found: &FamilyComparison| {
        let tone = if found.verdict == Verdict::Worse { Tone::Good } else { Tone::Plain };
        let row = vec![
            format!("{} - {}", found.best.name, found.family.name),
            format!("{:+.2}", 100.0 * found.difference),
            or_dash(found.interval.map(|ends| format!("{:+.2} to {:+.2}", 100.0 * ends.low, 100.0 * ends.high))),
            or_dash(found.p.map(p_value)),
            or_dash(found.holm.map(p_value)),
            or_dash(found.wilcoxon.map(p_value)),
            verdict(found.verdict).to_owned(),
        ];
        (tone, row)
    };
    let numbers = |found: &FamilyComparison| {
        vec![
            found.best.name.to_owned(),
            found.family.name.to_owned(),
            found.difference.to_string(),
            exact(found.interval.map(|interval| interval.low)),
            exact(found.interval.map(|interval| interval.high)),
            exact(found.p),
            exact(found.holm),
            exact(found.wilcoxon),
            verdict(found.verdict).to_owned(),
        ]
    };
    let header = ["best - other", "points", "95 % interval", "p", "p (Holm)", "p (Wilcoxon)", "the best is"];
    let csv_header = "best,family,difference,low,high,p,p_holm,p_wilcoxon,verdict";
    Sheet::new("The best family against all others", header, answer.comparisons.iter().map(row))
        .with_csv(csv_header, answer.comparisons.iter().map(numbers))
        .with_notes([
            "Paired t-tests over splits, with Holm's correction over all rows; intervals and Wilcoxon's test are not corrected.",
        ])
}

/// Returns the selected settings in short.
fn settings(result: &FamilyResult) -> String {
    let settings = &result.settings;
    if !settings.model.is_network() {
        return or_dash(settings.get("propagation_alpha").map(|alpha| format!("alpha {alpha}")));
    }
    let mut words = vec![format!("{} x {}", settings.network.layers, settings.network.hidden)];
    if settings.model.form().is_some() {
        words.push(count(settings.network.heads, "head"));
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
