//! A grid as tables of texts.

use crate::grid::table::{Choice, Compared, Line, Study};
use crate::recipe::Form;
use crate::reproduce::printed_name;
use crate::sheet::Sheet;
use supergat_figure::Tone;

/// How many numbers agree with the paper's, by model.
pub fn summary(study: &Study) -> Sheet {
    let rows = study.shares.iter().map(|share| {
        let row = vec![
            share.model.map_or("all".into(), |model| printed_name(&model.to_string())),
            share.numbers.to_string(),
            share.within.to_string(),
            format!("{:.0} %", percent(share.within, share.numbers)),
            format!("{:+.2}", share.difference),
            format!("{:.2}", share.absolute),
            share.gain_absolute.map_or("-".into(), |gain| format!("{gain:.2}")),
        ];
        (Tone::Plain, row)
    });
    let (cells, whole) = (study.plan.places().len(), study.whole_cells());
    let deviation = if study.plan.redrawn { "the larger deviation" } else { "the paper's deviation" };
    let mut notes = vec![format!(
        "within: our mean differs from the paper's by at most 2.0 points, or twice {deviation} where that is more. \
         {whole} of {cells} graphs are complete."
    )];
    if study.plan.redrawn {
        notes
            .push("Every run has a graph of its own, which all models share; the first one chose the settings.".into());
        if let Some(all) = study.shares.last() {
            notes.push(format!(
                "With twice the paper's deviation alone, which is that of training on one graph, {} of {} are within.",
                all.within_printed, all.numbers
            ));
        }
    }
    if study.is_coarse() {
        notes.push(
            "This grid is coarse: fewer settings were tried than in the paper, so that self-supervision may show less \
             than it can."
                .into(),
        );
    }
    sheet(
        "Agreement with the paper's accuracies",
        "model,numbers,within,share,mean difference,mean absolute difference,the same of gains over GAT",
        rows,
        notes,
    )
}

/// The paper's best forms (rows) against ours (columns).
pub fn confusion(study: &Study) -> Sheet {
    let header = format!("the paper's best form,{}", Form::ALL.map(|form| format!("ours: {form}")).join(","));
    let rows = Form::ALL.iter().zip(study.confusion()).map(|(form, counts)| {
        (Tone::Plain, std::iter::once(form.to_string()).chain(counts.iter().map(ToString::to_string)).collect())
    });
    let said = |of: &[Form], which: &str| {
        let (graphs, same) = study.agreement(of);
        format!("{which}: ours is the same on {same} of {graphs}.")
    };
    let (graphs, same) = study.leaders();
    let notes = vec![
        said(&Form::ALL, "All graphs"),
        said(&Form::ALL[1..], "Graphs where the paper's SuperGAT differs from its GAT"),
        said(&[Form::Sd, Form::Mx], "Graphs where the paper's SD and MX differ as well"),
        format!(
            "On {same} of these {graphs} the paper's form has our largest mean too, whether or not a test tells it apart."
        ),
        format!(
            "Forms by the paper's rule: {} at 0.05 between GAT and the better SuperGAT (else GAT-Any), then between SD \
             and MX (else SuperGAT-Any).",
            if study.plan.redrawn {
                "t-test, ours paired over graphs and the paper's unpaired,"
            } else {
                "unpaired t-test"
            }
        ),
    ];
    sheet("Best form of attention", &header, rows, notes)
}

/// The best form on every graph.
pub fn forms(study: &Study) -> Sheet {
    let texts = |choice: Option<Choice>| match choice {
        Some(Choice { form, gain, .. }) => [form.to_string(), format!("{gain:+.1}")],
        None => ["-".into(), "-".into()],
    };
    let rows = study.forms.iter().map(|graph: &Compared| {
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
        let place = [graph.place.degree.to_string(), graph.place.homophily.to_string()];
        let row = place.into_iter().chain(texts(graph.ours)).chain(texts(graph.paper)).chain([same.to_owned()]);
        (Tone::Plain, row.collect())
    });
    let notes = vec!["gain: points of the better SuperGAT over GAT.".into()];
    sheet(
        "Best form on every graph",
        "degree,homophily,our form,our gain,the paper's form,the paper's gain,same",
        rows,
        notes,
    )
}

/// Every model on every graph.
pub fn cells(study: &Study) -> Sheet {
    let rows = study.lines.iter().map(|line| (line.verdict.tone(), line.texts(study.plan.seeds)));
    let header = "degree,homophily,model,ours,n,paper,difference,lambda_2,lambda_E,verdict";
    let runs = if study.plan.redrawn { "n runs, on a graph each" } else { "n seeds on one graph" };
    let notes = vec![format!(
        "ours: mean ± standard deviation of {runs}; one run of every setting chose lambda_2 and lambda_E by validation \
         accuracy."
    )];
    let plain = sheet("Test accuracy in percent", header, rows, notes);
    Sheet {
        csv_header: "degree,homophily,model,mean,std,n,wanted,paper_mean,paper_std,difference,lambda_2,lambda_e,\
                     verdict,form,paper_form"
            .into(),
        csv_rows: study.lines.iter().map(|line| line.csv(study)).collect(),
        ..plain
    }
}

fn sheet(title: &str, header: &str, rows: impl Iterator<Item = (Tone, Vec<String>)>, notes: Vec<String>) -> Sheet {
    let rows: Vec<_> = rows.collect();
    Sheet {
        title: title.into(),
        header: header.split(',').map(Into::into).collect(),
        csv_header: header.into(),
        csv_rows: rows.iter().map(|(_, row)| row.clone()).collect(),
        rows,
        notes,
    }
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all as f64
}

impl Line {
    fn texts(&self, wanted: u64) -> Vec<String> {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let n = self.count();
        vec![
            self.place.degree.to_string(),
            self.place.homophily.to_string(),
            printed_name(&self.model.to_string()),
            or_none(self.ours.as_ref().map(|ours| format!("{:.1} ± {:.1}", ours.mean, ours.std))),
            if n as u64 == wanted { n.to_string() } else { format!("{n}/{wanted}") },
            or_none(self.paper.map(|paper| format!("{:.1} ± {:.1}", paper.mean, paper.std))),
            or_none(self.difference.map(|difference| format!("{difference:+.1}"))),
            or_none(self.lambda_2.map(|value| format!("{value:e}"))),
            or_none(self.lambda_e.map(|value| format!("{value:e}"))),
            self.verdict.text(),
        ]
    }

    fn csv(&self, study: &Study) -> Vec<String> {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let graph = study.forms.iter().find(|graph| graph.place == self.place);
        let form = |choice: Option<Choice>| choice.map(|choice| choice.form.to_string()).unwrap_or_default();
        vec![
            self.place.degree.to_string(),
            self.place.homophily.to_string(),
            self.model.to_string(),
            number(self.ours.as_ref().map(|ours| ours.mean)),
            number(self.ours.as_ref().map(|ours| ours.std)),
            self.count().to_string(),
            study.plan.seeds.to_string(),
            number(self.paper.map(|paper| paper.mean)),
            number(self.paper.map(|paper| paper.std)),
            number(self.difference),
            number(self.lambda_2),
            number(self.lambda_e),
            self.verdict.text(),
            form(graph.and_then(|graph| graph.ours)),
            form(graph.and_then(|graph| graph.paper)),
        ]
    }
}
