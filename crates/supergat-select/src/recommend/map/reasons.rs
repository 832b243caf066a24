//! Reasons for a recommendation, as sentences.

use super::density::Density;
use super::homophily::{self, HomophilyEstimate, Source};
use super::labelled::{Known, Unknown};
use super::mixture::{is_mixture, modes};
use super::squares::{LOW_HOMOPHILY, Map, PreferredForm};
use super::vote::{Share, column, row, squares};
use supergat_core::ModelKind;
use supergat_core::words::count;
use supergat_data::Dataset;

/// States the evidence behind the homophily.
pub(super) fn on_homophily(estimate: &Result<HomophilyEstimate, Unknown>) -> String {
    match estimate {
        Ok(HomophilyEstimate { from, labelled, links, .. }) => {
            let pairs = count(*links, "link");
            match from {
                Source::Links => format!("The homophily is estimated from {pairs} between {labelled} labelled nodes."),
                Source::LinksAndFeatures => format!(
                    "The homophily is estimated from {pairs} between {labelled} labelled nodes and from the features of their unlabelled neighbours."
                ),
                Source::Features => format!(
                    "No link joins two of the {labelled} labelled nodes; the homophily is estimated from the features of their neighbours."
                ),
            }
        }
        Err(reason) => format!("The homophily is unknown, because {reason}; all values count as equally likely."),
    }
}

/// States the votes of the map around the graph.
pub(super) fn on_map(degree: f64, estimate: Option<&HomophilyEstimate>, forms: &[Share]) -> String {
    let location = match estimate {
        Some(estimate) => format!("around degree {degree:.1} and homophily {:.2}", estimate.estimate),
        None => format!("around degree {degree:.1}"),
    };
    format!("Votes of the paper's map of 144 synthetic graphs {location}: {}.", votes(forms))
}

/// Lists the shares of the votes, such as `SuperGAT-MX 57 %, GAT-Any 43 %`.
pub(super) fn votes(forms: &[Share]) -> String {
    let forms = forms.iter().filter(|share| share.share >= 0.005);
    let forms: Vec<String> = forms.map(|Share { form, share }| format!("{form} {:.0} %", 100.0 * share)).collect();
    forms.join(", ")
}

/// States the meaning of the winning form and why the model follows from it.
pub(super) fn on_form(winner: PreferredForm, model: ModelKind) -> String {
    match winner {
        PreferredForm::GatAny => "No form is better than GAT there, so the cheapest is preferred.".into(),
        PreferredForm::SupergatAny => format!(
            "Self-supervision improves accuracy there, and SuperGAT-SD and SuperGAT-MX tie; {model} is preferred because the paper finds it ahead at homophilies {} {LOW_HOMOPHILY}, also on its real graphs.",
            if model.form() == Some(supergat_core::Form::Sd) { "up to" } else { "above" }
        ),
        PreferredForm::Sd | PreferredForm::Mx => {
            format!("{winner} is significantly better there than GAT and than the other SuperGAT.")
        }
    }
}

/// States the distance to the nearest square with another form.
pub(super) fn on_distance(map: &Map, degree: f64, homophily: f64, winner: PreferredForm) -> String {
    let (column, row) = (column(map, degree), row(map, homophily));
    let distance = |(c, r, _): &(f64, f64, PreferredForm)| (c - column).hypot(r - row);
    let others = squares(map).filter(|(_, _, form)| *form != winner);
    let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("the map has several forms");
    let cell = map.cell(nearest.0 as usize, nearest.1 as usize);
    format!(
        "The nearest square with another best form is {}, {:.1} squares away, at degree {} and homophily {}.",
        nearest.2,
        distance(&nearest),
        cell.degree,
        cell.homophily
    )
}

/// Warns if the graph is a mixture, with the modes it consists of.
pub(super) fn on_mixture(dataset: &Dataset, known: Known) -> Option<String> {
    let modes = modes(&Density::of(&homophily::points(dataset, known)?)?);
    let modes_text = modes.iter().map(|mode| format!("degree {:.0} and homophily {:.2}", mode.degree, mode.homophily));
    let modes_text: Vec<String> = modes_text.collect();
    is_mixture(&modes).then(|| {
        format!(
            "The graph looks like a mixture with modes around {}; the paper's map fails on such graphs.",
            modes_text.join(", ")
        )
    })
}

/// States further causes of uncertainty.
pub(super) fn on_doubt(map: &Map, degree: f64, estimate: Option<&HomophilyEstimate>) -> Vec<String> {
    let mut sentences = Vec::new();
    let (first, last) = (map.degrees()[0], map.degrees()[map.degrees().len() - 1]);
    if !(first..=last).contains(&degree) {
        sentences.push(format!("Degree {degree:.1} is outside the map, which covers {first} to {last}."));
    }
    if let Some(estimate) = estimate {
        let rows = row(map, estimate.high) - row(map, estimate.low);
        if rows > 3.0 {
            sentences.push(format!(
                "The interval of the homophily covers {rows:.0} rows of the map; more labels would narrow it."
            ));
        }
    }
    sentences
}
