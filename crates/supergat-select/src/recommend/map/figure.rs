//! Figures of synthetic graphs over degree and homophily, and of a graph on the paper's map.

use super::consult::MapAnswer;
use super::squares::{Cell, Map, PreferredForm};
use supergat_figure::{Axis, Plot};

/// Relative side of a square without gain and with the largest gain; adjacent squares do not overlap.
const SIDES: [f64; 2] = [0.15, 0.75];
/// Range of average degrees.
const DEGREES: [f64; 2] = [0.8, 130.0];

/// A synthetic graph in the plane of degree and homophily.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Square {
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
    /// Best form of attention.
    pub form: PreferredForm,
    /// Gain of the better SuperGAT over GAT.
    pub gain: f64,
}

impl Square {
    /// Returns the squares of the paper's map.
    pub fn paper() -> Vec<Self> {
        let square =
            |cell: &Cell| Self { degree: cell.degree, homophily: cell.homophily, form: cell.form(), gain: cell.gain() };
        Map::paper().cells().iter().map(square).collect()
    }
}

/// Draws squares in the colour of their form, with areas proportional to their gains.
pub fn plane(title: &str, squares: &[Square]) -> Plot {
    let most = squares.iter().map(|square| square.gain).fold(0.0, f64::max);
    let side = |gain: f64| (SIDES[1] * (gain.max(0.0) / most).sqrt()).max(SIDES[0]);
    let names = PreferredForm::SHOWN.map(|form| form.to_string());
    let degree = Axis::log("average degree").range(DEGREES[0], DEGREES[1]);
    let mut plot = Plot::new(title, degree, Axis::linear("homophily").range(0.0, 1.0)).height(440.0).series(&names);
    for (form, name) in PreferredForm::SHOWN.into_iter().zip(&names) {
        let of_form = squares.iter().filter(|square| square.form == form);
        let placed = of_form.map(|square| ([square.degree, square.homophily], side(square.gain)));
        plot = plot.squares(name, &placed.collect::<Vec<_>>());
    }
    plot
}

/// Draws the paper's map with the graph as a dot and the interval of its homophily, as SVG.
pub fn figure(name: &str, recommendation: &MapAnswer) -> String {
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
