//! Figures of the grid study.

use supergat_figure::{Axis, Plot, panels};
use supergat_numerics::statistics::to_percent;
use supergat_select::recommend::map::{PreferredForm, Square, plane};
use supergat_studies::grid::{BestForm, GAT, GCN, GridPoint, GridRow, GridStudy, MX, REAL_GRAPHS, SD};
use supergat_studies::reproduce::printed_name;

const PANELS: usize = 3;

/// Plots the gain over GAT against the degree, one panel per homophily. The paper's gains are faint lines.
pub fn gains(study: &GridStudy) -> String {
    let range = range(study);
    let plots: Vec<Plot> = study.plan.homophilies.iter().map(|&homophily| gain(study, homophily, range)).collect();
    panels("Gain over GAT in points (strong: ours, faint: the paper's)", PANELS, &plots)
}

/// Plots the gains of one homophily.
fn gain(study: &GridStudy, homophily: f64, [low, high]: [f64; 2]) -> Plot {
    let y = Axis::linear("").range(low, high);
    let mut plot = Plot::new(format!("homophily {homophily}"), Axis::log("average degree"), y);
    for model in [SD, MX, GCN].into_iter().filter(|model| study.plan.models.contains(model)) {
        let gains = |mean: fn(&GridRow) -> Option<f64>| -> Vec<[f64; 2]> {
            let degrees = study.plan.degrees.iter();
            let point = |&degree: &f64| {
                let at = |model| study.line(GridPoint { degree, homophily }, model).and_then(mean);
                Some([degree, at(model)? - at(GAT)?])
            };
            degrees.filter_map(point).collect()
        };
        let paper = gains(|line| line.paper.map(|paper| to_percent(paper.mean)));
        let ours = gains(|line| line.ours.as_ref().map(|ours| ours.in_percent().mean));
        let name = printed_name(&model.to_string());
        plot = plot.faint_line(&name, &paper).line(&name, &ours);
    }
    plot.mark_y(0.0, "")
}

/// Returns the smallest and largest gain in points, rounded outwards to multiples of five. All panels share this range.
fn range(study: &GridStudy) -> [f64; 2] {
    let mut range = [0.0f64, 0.0f64];
    for line in &study.lines {
        let Some(gat) = study.line(line.point, GAT) else { continue };
        let ours =
            line.ours.as_ref().zip(gat.ours.as_ref()).map(|(ours, gat)| ours.in_percent().mean - gat.in_percent().mean);
        let paper = line.paper.zip(gat.paper).map(|(paper, gat)| to_percent(paper.mean) - to_percent(gat.mean));
        for gain in ours.into_iter().chain(paper) {
            range = [range[0].min(gain), range[1].max(gain)];
        }
    }
    [5.0 * (range[0] / 5.0).floor(), 5.0 * (range[1] / 5.0).ceil()]
}

/// Plots the best form of attention over degree and homophily: our results above the paper's.
pub fn recipe(study: &GridStudy) -> String {
    let square = |place: GridPoint, BestForm { form, gain, .. }| {
        let GridPoint { degree, homophily } = place;
        Square { degree, homophily, form, gain }
    };
    let ours: Vec<Square> = study.forms.iter().filter_map(|graph| Some(square(graph.point, graph.ours?))).collect();
    panels("", 1, &[with_real_graphs(plane("Ours", &ours)), with_real_graphs(plane("The paper's", &Square::paper()))])
}

/// Adds a dot for every real graph, in the colour of its best form.
fn with_real_graphs(plot: Plot) -> Plot {
    PreferredForm::SHOWN.into_iter().fold(plot, |plot, form| {
        let real = REAL_GRAPHS.iter().filter(|graph| graph.form == form);
        let dots = real.map(|graph| ([graph.degree, graph.homophily], graph.name.to_owned()));
        plot.labelled_dots(&form.to_string(), &dots.collect::<Vec<_>>())
    })
}
