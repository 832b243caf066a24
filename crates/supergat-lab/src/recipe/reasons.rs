//! Why a network is recommended, in sentences.

use super::homophily::{self, HomophilyEstimate, Source};
use super::map::{Form, LOW_HOMOPHILY, Map};
use super::sample::{Known, Unknown};
use super::vote::{Share, column, row, squares};
use crate::density::Density;
use crate::mixture::{is_mixture, modes};
use supergat_core::ModelKind;
use supergat_data::Dataset;

/// Where the homophily comes from.
pub(super) fn on_homophily(estimate: &Result<HomophilyEstimate, Unknown>) -> String {
    match estimate {
        Ok(HomophilyEstimate { from, labelled, links, .. }) => {
            let pairs = if *links == 1 { "one link".to_owned() } else { format!("{links} links") };
            match from {
                Source::Links => format!("The homophily comes from {pairs} between {labelled} labelled nodes."),
                Source::LinksAndFeatures => format!(
                    "The homophily comes from {pairs} between {labelled} labelled nodes, and from how much the features of their other neighbours look like their own class."
                ),
                Source::Features => format!(
                    "No link joins two of the {labelled} labelled nodes; the homophily comes from how much the features of their neighbours look like their own class."
                ),
            }
        }
        Err(reason) => format!("The homophily is not known, since {reason}; all values are taken as equally likely."),
    }
}

/// What the map says around the graph.
pub(super) fn on_map(degree: f64, estimate: Option<&HomophilyEstimate>, forms: &[Share]) -> String {
    let place = match estimate {
        Some(estimate) => format!("around degree {degree:.1} and homophily {:.2}", estimate.estimate),
        None => format!("around degree {degree:.1}"),
    };
    let forms = forms.iter().filter(|share| share.share >= 0.005);
    let forms: Vec<String> = forms.map(|Share { form, share }| format!("{form} {:.0} %", 100.0 * share)).collect();
    format!("The paper's map of 144 synthetic graphs votes, {place}: {}.", forms.join(", "))
}

/// What the winning form means, and why that network.
pub(super) fn on_form(winner: Form, model: ModelKind) -> String {
    match winner {
        Form::GatAny => "No form gains on GAT there, so the cheapest is named.".into(),
        Form::SupergatAny => format!(
            "Self-supervision gains there, and SuperGAT-SD and SuperGAT-MX tie; {model} is named because the paper finds it ahead at homophilies {} {LOW_HOMOPHILY}, also on its real graphs.",
            if model.form() == Some(supergat_core::kernels::Form::Sd) { "up to" } else { "above" }
        ),
        Form::Sd | Form::Mx => format!("{winner} is significantly better there than GAT and than the other SuperGAT."),
    }
}

/// How far another answer is.
pub(super) fn on_distance(map: &Map, degree: f64, homophily: f64, winner: Form) -> String {
    let (column, row) = (column(map, degree), row(map, homophily));
    let distance = |(c, r, _): &(f64, f64, Form)| (c - column).hypot(r - row);
    let others = squares(map).filter(|(_, _, form)| *form != winner);
    let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("the map has several forms");
    let cell = map.cell(nearest.0 as usize, nearest.1 as usize);
    format!(
        "The nearest square with another answer is {}, {:.1} squares away, at degree {} and homophily {}.",
        nearest.2,
        distance(&nearest),
        cell.degree,
        cell.homophily
    )
}

/// Where the graph is a mixture, what of.
pub(super) fn on_mixture(dataset: &Dataset, known: Known) -> Option<String> {
    let modes = modes(&Density::of(&homophily::points(dataset, known)?)?);
    let places = modes.iter().map(|mode| format!("degree {:.0} and homophily {:.2}", mode.degree, mode.homophily));
    let places: Vec<String> = places.collect();
    is_mixture(&modes).then(|| {
        format!(
            "The graph looks like a mixture, its nodes gather around {}; the paper's recipe fails on such graphs.",
            places.join(", ")
        )
    })
}

/// What else makes the answer less sure.
pub(super) fn on_doubt(map: &Map, degree: f64, estimate: Option<&HomophilyEstimate>) -> Vec<String> {
    let mut sentences = Vec::new();
    let (first, last) = (map.degrees()[0], map.degrees()[map.degrees().len() - 1]);
    if !(first..=last).contains(&degree) {
        sentences.push(format!("Degree {degree:.1} lies outside the map, which reaches from {first} to {last}."));
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
