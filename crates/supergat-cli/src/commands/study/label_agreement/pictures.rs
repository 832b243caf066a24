//! The figures of the study: box plots of divergences and entropy, layer by layer.

use crate::run_folder::folder_name;
use supergat_figure::{Axis, Plot, Quartiles, panels};
use supergat_lab::agreement::{Network, Profile, Spreads};
use supergat_lab::statistics::Spread;

/// What is drawn: a name for the axis, and where it is found.
type Measure = (&'static str, fn(&Spreads) -> &Spread);

const MEASURES: [Measure; 3] = [
    ("KLD(att, agr)", |s| &s.divergence),
    ("KLD(agr, att)", |s| &s.reverse),
    ("relative entropy", |s| &s.relative_entropy),
];

/// The figure of a run.
pub fn of_run(title: &str, model: &str, profile: &Profile) -> String {
    panels(title, MEASURES.len(), &MEASURES.map(|measure| plot("", measure, &[(model.to_owned(), profile)])))
}

/// The figure of all networks on a dataset, a row for each depth, with the name of its file.
pub fn of_dataset(networks: &[Network]) -> (String, String) {
    let mut plots = Vec::new();
    for of_depth in networks.chunk_by(|a, b| a.depth == b.depth) {
        let title = format!("{} layers", of_depth[0].depth);
        let profiles: Vec<(String, &Profile)> = of_depth.iter().map(|n| (n.model.to_string(), &n.profile)).collect();
        plots.extend(MEASURES.map(|measure| plot(&title, measure, &profiles)));
    }
    let dataset = &networks[0].dataset;
    (folder_name("label-agreement", dataset) + ".svg", panels(dataset, MEASURES.len(), &plots))
}

/// A box per layer and model, and one of uniform attention at the right.
fn plot(title: &str, (name, of): Measure, profiles: &[(String, &Profile)]) -> Plot {
    let depth = profiles.iter().map(|(_, profile)| profile.layers.len()).max().unwrap_or(0);
    let places = (1..=depth).map(|layer| layer.to_string()).chain(["unif.".to_owned()]);
    let mut plot = Plot::new(title, Axis::categories("layer", places), Axis::linear(name));
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
