//! Figures of the study: box plots of divergences and entropy by layer.

use crate::output::count;
use crate::run_folder::folder_name;
use supergat_figure::{Axis, Plot, Quartiles, panels};
use supergat_numerics::statistics::Spread;
use supergat_studies::agreement::{Network, Profile, Spreads};

/// Measure to plot: the name of the axis, and the field with its spread.
type Measure = (&'static str, fn(&Spreads) -> &Spread);

const MEASURES: [Measure; 3] = [
    ("KLD(att, agr)", |s| &s.divergence),
    ("KLD(agr, att)", |s| &s.reverse),
    ("relative entropy", |s| &s.relative_entropy),
];

/// Plots the measures of a run.
pub fn run_figure(title: &str, model: &str, profile: &Profile) -> String {
    panels(title, MEASURES.len(), &MEASURES.map(|measure| plot("", measure, &[(model.to_owned(), profile)])))
}

/// Plots all models on a dataset, one row per depth. Returns the file name and the SVG text.
pub fn dataset_figure(networks: &[Network]) -> (String, String) {
    let mut plots = Vec::new();
    for group in networks.chunk_by(|a, b| a.depth == b.depth) {
        let title = count(group[0].depth, "layer");
        let profiles: Vec<(String, &Profile)> = group.iter().map(|n| (n.model.to_string(), &n.profile)).collect();
        plots.extend(MEASURES.map(|measure| plot(&title, measure, &profiles)));
    }
    let dataset = &networks[0].dataset;
    (folder_name("label-agreement", dataset) + ".svg", panels(dataset, MEASURES.len(), &plots))
}

/// Plots one box per layer and model, and uniform attention on the right.
fn plot(title: &str, (name, of): Measure, profiles: &[(String, &Profile)]) -> Plot {
    let depth = profiles.iter().map(|(_, profile)| profile.layers.len()).max().unwrap_or(0);
    let categories = (1..=depth).map(|layer| layer.to_string()).chain(["unif.".to_owned()]);
    let mut plot = Plot::new(title, Axis::categories("layer", categories), Axis::linear(name));
    for (model, profile) in profiles {
        let boxes: Vec<(f64, Quartiles)> =
            profile.layers.iter().enumerate().map(|(k, spreads)| (k as f64, quartiles(of(spreads)))).collect();
        plot = plot.boxes(model, &boxes);
    }
    let uniform = profiles.first().map(|(_, profile)| (depth as f64, quartiles(of(&profile.uniform))));
    plot.boxes("uniform", uniform.as_slice())
}

fn quartiles(spread: &Spread) -> Quartiles {
    let Spread { count, low, first, median, third, high, .. } = *spread;
    Quartiles { low, first, median, third, high, beyond: Vec::new(), count }
}
