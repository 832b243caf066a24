//! The plane of average degree and homophily, and the paper's map with a graph on it.

use super::map::{Cell, Form, Map};
use super::recommend::Recommendation;
use supergat_figure::{Axis, Plot};

/// The sides of a square without any gain and of the largest one; neighbours do not overlap.
const SIDES: [f64; 2] = [0.15, 0.75];
/// The average degrees that are shown.
const DEGREES: [f64; 2] = [0.8, 130.0];

/// A synthetic graph in the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Square {
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
    /// The form of attention that did best.
    pub form: Form,
    /// Points of the better SuperGAT over GAT.
    pub gain: f64,
}

impl Square {
    /// The paper's.
    pub fn paper() -> Vec<Self> {
        let square =
            |cell: &Cell| Self { degree: cell.degree, homophily: cell.homophily, form: cell.form(), gain: cell.gain() };
        Map::paper().cells().iter().map(square).collect()
    }
}

/// Squares in the colour of their form, with areas like their gains.
pub fn plane(title: &str, squares: &[Square]) -> Plot {
    let most = squares.iter().map(|square| square.gain).fold(0.0, f64::max);
    let side = |gain: f64| (SIDES[1] * (gain.max(0.0) / most).sqrt()).max(SIDES[0]);
    let names = Form::SHOWN.map(|form| form.to_string());
    let degree = Axis::log("average degree").range(DEGREES[0], DEGREES[1]);
    let mut plot = Plot::new(title, degree, Axis::linear("homophily").range(0.0, 1.0)).height(440.0).series(&names);
    for (form, name) in Form::SHOWN.into_iter().zip(&names) {
        let of_form = squares.iter().filter(|square| square.form == form);
        let placed = of_form.map(|square| ([square.degree, square.homophily], side(square.gain)));
        plot = plot.squares(name, &placed.collect::<Vec<_>>());
    }
    plot
}

/// The paper's map; the graph is a dot with the interval of its homophily.
pub fn figure(name: &str, recommendation: &Recommendation) -> String {
    let plot = plane(&format!("{name} on the paper's map of attention"), &Square::paper());
    let degree = recommendation.degree.clamp(DEGREES[0], DEGREES[1]);
    match &recommendation.homophily {
        Some(h) => plot
            .intervals(name, &[[degree, h.low, h.high]])
            .labelled_dots(name, &[([degree, h.estimate], name.to_owned())]),
        None if recommendation.degree > 0.0 => plot.mark_x(degree, name),
        None => plot,
    }
    .svg()
}
