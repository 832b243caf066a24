//! Tables of the study.

use supergat_core::Form;
use supergat_figure::Tone;
use supergat_figure::sheet::Sheet;
use supergat_numerics::statistics::Spread;
use supergat_studies::agreement::{Network, Profile, Spreads};

/// Divergence: its name, its spread in a layer, and its mean in the last layer for each seed.
type Divergence = (&'static str, fn(&Spreads) -> &Spread, fn(&Network) -> &[f64]);

const DIVERGENCES: [Divergence; 2] = [
    ("KLD(att, agr)", |spreads| &spreads.divergence, |network| &network.divergences),
    ("KLD(agr, att)", |spreads| &spreads.reverse, |network| &network.reverses),
];

/// Compares GO with DP: which is closer to label agreement in the last layer, for each dataset and depth.
pub fn closer_form(networks: &[Network]) -> Sheet {
    let has_form = |network: &&Network, form| network.model.form() == Some(form);
    let rows = networks.iter().filter(|go| has_form(go, Form::Go)).flat_map(|go| {
        let comparable = |dp: &&Network| (&dp.dataset, dp.depth) == (&go.dataset, go.depth);
        let dp = networks.iter().filter(comparable).find(|dp| has_form(dp, Form::Dp));
        dp.into_iter().flat_map(move |dp| DIVERGENCES.map(|divergence| (Tone::Plain, pair(go, dp, divergence))))
    });
    let header =
        ["dataset", "layers", "divergence", "GO", "DP", "uniform", "nearer by mean", "by median", "GO nearer in", "n"];
    Sheet::new("Divergence from label agreement in the last layer", header, rows).with_notes([
        "Mean / median in nats, over n nodes and heads of a run, and the number of seeds in which GO has the smaller mean.",
        "KLD(att, agr) is the paper's formula, from attention to label agreement; KLD(agr, att) is the reverse.",
    ])
}

/// Builds the row that compares GO with DP.
fn pair(go: &Network, dp: &Network, (name, of, by_seed): Divergence) -> Vec<String> {
    let [a, b] = [go, dp].map(|network| of(network.profile.last()));
    let nearer = |a: f64, b: f64| if a < b { "GO".to_owned() } else { "DP".to_owned() };
    let count = by_seed(go).iter().zip(by_seed(dp)).filter(|(go, dp)| go < dp).count();
    // If the study was interrupted, seeds may be missing.
    let seeds = if go.seeds == dp.seeds { format!("{count} of {}", go.seeds.len()) } else { "-".to_owned() };
    vec![
        go.dataset.clone(),
        go.depth.to_string(),
        name.to_owned(),
        mean_and_median(a),
        mean_and_median(b),
        mean_and_median(of(&go.profile.uniform)),
        nearer(a.mean, b.mean),
        nearer(a.median, b.median),
        seeds,
        a.count.to_string(),
    ]
}

/// Builds the table of all layers of all models.
pub fn all_layers(networks: &[Network]) -> Sheet {
    let names: Vec<String> = networks.iter().map(|n| n.model.to_string()).collect();
    let all = networks.iter().zip(&names).map(|(n, model)| (n.dataset.as_str(), model.as_str(), &n.profile));
    layers(&all.collect::<Vec<_>>())
}

/// Builds the table of all layers, followed by uniform attention.
pub fn layers(profiles: &[(&str, &str, &Profile)]) -> Sheet {
    let header = ["dataset", "model", "layer", "KLD(att, agr)", "KLD(agr, att)", "entropy", "relative entropy", "n"];
    let lines = || profiles.iter().flat_map(|(dataset, model, profile)| lines(dataset, model, profile));
    let row = |line: Line<'_>| {
        let Spreads { divergence, reverse, entropy, relative_entropy } = line.spreads;
        let mut row = line.names.to_vec();
        row.extend([divergence, reverse, entropy, relative_entropy].map(mean_and_median));
        row.push(divergence.count.to_string());
        (Tone::Plain, row)
    };
    let csv_header = "dataset,model,layer,of,measure,n,mean,low,first,median,third,high";
    Sheet::new("All layers", header, lines().map(row))
        .with_csv(csv_header, lines().flat_map(|line| numbers(&line)))
        .with_notes([
            "Mean / median over n nodes and heads; divergences and entropy in nats, relative entropy as a share of its maximum.",
        ])
}

/// Row of the table.
struct Line<'a> {
    /// Dataset, model and layer.
    names: [String; 3],
    depth: usize,
    spreads: &'a Spreads,
}

fn lines<'a>(dataset: &'a str, model: &'a str, profile: &'a Profile) -> impl Iterator<Item = Line<'a>> {
    let depth = profile.layers.len();
    let line = move |layer: String, spreads| Line { names: [dataset.into(), model.into(), layer], depth, spreads };
    let layers = profile.layers.iter().enumerate();
    let layers = layers.map(move |(k, spreads)| line(format!("{} of {depth}", k + 1), spreads));
    layers.chain(std::iter::once(line("uniform".into(), &profile.uniform)))
}

/// Builds the CSV rows of a line, one per measure.
fn numbers(line: &Line<'_>) -> Vec<Vec<String>> {
    let Spreads { divergence, reverse, entropy, relative_entropy } = line.spreads;
    let measures = [
        ("kld-attention-agreement", divergence),
        ("kld-agreement-attention", reverse),
        ("entropy", entropy),
        ("relative-entropy", relative_entropy),
    ];
    let [dataset, model, layer] = &line.names;
    let layer = layer.split(' ').next().unwrap_or(layer);
    let row = |(name, spread): (&str, &Spread)| {
        let mut row: Vec<String> = [dataset, model, layer].map(|text| text.to_string()).to_vec();
        row.extend([line.depth.to_string(), name.to_owned(), spread.count.to_string()]);
        let Spread { mean, low, first, median, third, high, .. } = spread;
        row.extend([mean, low, first, median, third, high].map(|number| number.to_string()));
        row
    };
    measures.into_iter().map(row).collect()
}

/// Formats a spread as `mean / median`.
fn mean_and_median(spread: &Spread) -> String {
    format!("{:.3} / {:.3}", spread.mean, spread.median)
}
