//! Results of a grid as text tables.

use crate::grid::table::{BestForm, FormComparison, GridRow, GridStudy};
use crate::reproduce::printed_name;
use supergat_figure::Tone;
use supergat_figure::sheet::{Sheet, exact, or_dash};
use supergat_numerics::statistics::{Summary, to_percent};
use supergat_select::recommend::map::PreferredForm;

/// Returns the number of accuracies that agree with the paper's, by model.
pub fn summary(study: &GridStudy) -> Sheet {
    let rows = study.shares.iter().map(|share| {
        let row = vec![
            share.model.map_or("all".into(), |model| printed_name(&model.to_string())),
            share.numbers.to_string(),
            share.within.to_string(),
            format!("{:.0} %", percent(share.within, share.numbers)),
            format!("{:+.2}", 100.0 * share.difference),
            format!("{:.2}", 100.0 * share.absolute),
            or_dash(share.gain_absolute.map(|gain| format!("{:.2}", 100.0 * gain))),
        ];
        (Tone::Plain, row)
    });
    let (points, complete) = (study.plan.points().len(), study.complete_points());
    let deviation = if study.plan.redrawn { "the larger standard deviation" } else { "the paper's standard deviation" };
    let mut notes = vec![format!(
        "within: our mean differs from the paper's by at most 2.0 percentage points, or twice {deviation} if that is \
         larger. {complete} of {points} graphs are complete."
    )];
    if study.plan.redrawn {
        notes.push("Run k of every model uses graph k; graph 0 selected the settings.".into());
        if let Some(all) = study.shares.last() {
            notes.push(format!(
                "With twice the paper's standard deviation alone, which is that of training on one graph, {} of {} are \
                 within.",
                all.within_printed, all.numbers
            ));
        }
    }
    if study.is_coarse() {
        notes.push(
            "This grid is coarse: there are fewer candidate settings than in the paper, so that self-supervision may \
             gain less than it could."
                .into(),
        );
    }
    let header = "model,numbers,within,share,mean difference,mean absolute difference,\
                  mean absolute difference of gains over GAT";
    Sheet::new("Agreement with the paper's accuracies", header.split(','), rows).with_notes(notes)
}

/// Returns counts of graphs by the paper's best form (rows) and ours (columns).
pub fn confusion(study: &GridStudy) -> Sheet {
    let header = ["the paper's best form".to_owned()].into_iter();
    let header = header.chain(PreferredForm::ALL.map(|form| format!("ours: {form}")));
    let rows = PreferredForm::ALL.iter().zip(study.confusion()).map(|(form, counts)| {
        (Tone::Plain, std::iter::once(form.to_string()).chain(counts.iter().map(ToString::to_string)).collect())
    });
    let agreement = |forms: &[PreferredForm], which: &str| {
        let (graphs, same) = study.agreement(forms);
        format!("{which}: our best form is the same on {same} of {graphs}.")
    };
    let (graphs, same) = study.largest_mean_agreement();
    let notes = vec![
        agreement(&PreferredForm::ALL, "All graphs"),
        agreement(&PreferredForm::ALL[1..], "Graphs where the paper's SuperGAT differs from its GAT"),
        agreement(&[PreferredForm::Sd, PreferredForm::Mx], "Graphs where the paper's SD and MX differ as well"),
        format!(
            "On {same} of these {graphs} the paper's best form also has our largest mean, whether or not the difference is \
             significant."
        ),
        format!(
            "Best forms by the paper's rule: {} at level 0.05 between GAT and the better SuperGAT (if not significant, \
             GAT-Any), then between SD and MX (if not significant, SuperGAT-Any).",
            if study.plan.redrawn {
                "t-test, paired over graphs for ours and unpaired for the paper's,"
            } else {
                "unpaired t-test"
            }
        ),
    ];
    Sheet::new("Best form of attention", header, rows).with_notes(notes)
}

/// Returns the best form on every graph.
pub fn forms(study: &GridStudy) -> Sheet {
    let texts = |best: Option<BestForm>| match best {
        Some(BestForm { form, gain, .. }) => [form.to_string(), format!("{:+.1}", 100.0 * gain)],
        None => ["-".into(), "-".into()],
    };
    let rows = study.forms.iter().map(|graph: &FormComparison| {
        let same = match (graph.ours, graph.paper) {
            (Some(ours), Some(paper)) => {
                if ours.form == paper.form {
                    "yes"
                } else {
                    "no"
                }
            }
            _ => "-",
        };
        let point = [graph.point.degree.to_string(), graph.point.homophily.to_string()];
        let row = point.into_iter().chain(texts(graph.ours)).chain(texts(graph.paper)).chain([same.to_owned()]);
        (Tone::Plain, row.collect())
    });
    let header = ["degree", "homophily", "our form", "our gain", "the paper's form", "the paper's gain", "same"];
    Sheet::new("Best form on every graph", header, rows)
        .with_notes(["gain: difference between the better SuperGAT and GAT, in percentage points."])
}

/// Returns the results of every model on every graph.
pub fn cells(study: &GridStudy) -> Sheet {
    let rows = study.lines.iter().map(|line| (line.verdict.tone(), line.texts(study.plan.seeds)));
    let header = "degree,homophily,model,ours,n,paper,difference,lambda_2,lambda_E,verdict";
    let runs = if study.plan.redrawn { "n runs on different graphs" } else { "n seeds on one graph" };
    let note = format!(
        "ours: mean ± standard deviation over {runs}; lambda_2 and lambda_E were selected by validation accuracy, with \
         one run per candidate."
    );
    let csv_header = "degree,homophily,model,mean,std,n,wanted,paper_mean,paper_std,difference,lambda_2,lambda_e,\
                      verdict,form,paper_form";
    Sheet::new("Test accuracy in percent", header.split(','), rows)
        .with_csv(csv_header, study.lines.iter().map(|line| line.csv(study)))
        .with_notes([note])
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all as f64
}

impl GridRow {
    fn texts(&self, wanted: u64) -> Vec<String> {
        let n = self.count();
        let ours = self.ours.as_ref().map(Summary::in_percent);
        vec![
            self.point.degree.to_string(),
            self.point.homophily.to_string(),
            printed_name(&self.model.to_string()),
            or_dash(ours.map(|ours| format!("{:.1} ± {:.1}", ours.mean, ours.std))),
            if n as u64 == wanted { n.to_string() } else { format!("{n}/{wanted}") },
            or_dash(self.paper.map(|paper| format!("{:.1} ± {:.1}", to_percent(paper.mean), to_percent(paper.std)))),
            or_dash(self.difference.map(|difference| format!("{:+.1}", 100.0 * difference))),
            or_dash(self.lambda_2.map(|value| format!("{value:e}"))),
            or_dash(self.lambda_e.map(|value| format!("{value:e}"))),
            self.verdict.text(),
        ]
    }

    fn csv(&self, study: &GridStudy) -> Vec<String> {
        let graph = study.forms.iter().find(|graph| graph.point == self.point);
        let form = |best: Option<BestForm>| best.map(|best| best.form.to_string()).unwrap_or_default();
        vec![
            self.point.degree.to_string(),
            self.point.homophily.to_string(),
            self.model.to_string(),
            exact(self.ours.as_ref().map(|ours| ours.mean)),
            exact(self.ours.as_ref().map(|ours| ours.std)),
            self.count().to_string(),
            study.plan.seeds.to_string(),
            exact(self.paper.map(|paper| paper.mean)),
            exact(self.paper.map(|paper| paper.std)),
            exact(self.difference),
            exact(self.lambda_2),
            exact(self.lambda_e),
            self.verdict.exact(),
            form(graph.and_then(|graph| graph.ours)),
            form(graph.and_then(|graph| graph.paper)),
        ]
    }
}
