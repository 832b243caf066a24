//! The map with a graph on it.

use super::map::{Form, Map};
use super::recommend::Recommendation;
use supergat_figure::{Axis, Plot};

/// Squares coloured by form, the larger the more is gained; the graph is a dot with the interval of its homophily.
pub fn figure(name: &str, recommendation: &Recommendation) -> String {
    let map = Map::paper();
    let most = map.cells().iter().map(super::Cell::gain).fold(0.0, f64::max);
    let names = Form::SHOWN.map(|form| form.to_string());
    let homophily = Axis::linear("homophily").range(0.0, 1.0);
    let mut plot = Plot::new(
        format!("{name} on the paper's map of attention"),
        Axis::log("average degree").range(0.8, 130.0),
        homophily,
    )
    .height(440.0)
    .series(&names);
    for (form, name) in Form::SHOWN.into_iter().zip(&names) {
        let cells = map.cells().iter().filter(|cell| cell.form() == form);
        let squares: Vec<([f64; 2], f64)> =
            cells.map(|cell| ([cell.degree, cell.homophily], 0.3 + 0.45 * cell.gain().max(0.0) / most)).collect();
        plot = plot.squares(name, &squares);
    }
    let degree = recommendation.degree.clamp(0.8, 130.0);
    match &recommendation.homophily {
        Some(h) => plot
            .intervals(name, &[[degree, h.low, h.high]])
            .labelled_dots(name, &[([degree, h.estimate], name.to_owned())]),
        None if recommendation.degree > 0.0 => plot.mark_x(degree, name),
        None => plot,
    }
    .svg()
}
