//! The published study: GAT with GO and with DP attention, with two and four layers, without
//! self-supervision.

use crate::SeededRuns;
use crate::agreement::{Agreement, Measures};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use supergat_core::{Form, ModelKind, Result};
use supergat_data::Dataset;
use supergat_numerics::statistics::{Spread, Summary};
use supergat_select::sweep::{Record, ResultsFile};
use supergat_train::fitted::Fitted;
use supergat_train::settings::Settings;
use supergat_train::task::Task;

/// Numbers of layers of the published networks.
const DEPTHS: [usize; 2] = [2, 4];
/// Attention forms of the published networks.
const FORMS: [Form; 2] = [Form::Go, Form::Dp];

/// Distributions of [`Measures`] over nodes and heads.
pub type Spreads = Measures<Spread>;

/// Summary of an [`Agreement`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Distributions in the attention layers, from first to last.
    pub layers: Vec<Spreads>,
    /// Distributions for uniform attention.
    pub uniform: Spreads,
}

impl Spreads {
    fn of(measures: &Measures) -> Option<Self> {
        Some(Self {
            divergence: Spread::of(&measures.divergence)?,
            reverse: Spread::of(&measures.reverse)?,
            entropy: Spread::of(&measures.entropy)?,
            relative_entropy: Spread::of(&measures.relative_entropy)?,
        })
    }

    fn mean_of(all: &[&Self]) -> Self {
        let mean = |of: fn(&Self) -> Spread| Spread::mean_of(&all.iter().map(|one| of(one)).collect::<Vec<_>>());
        Self {
            divergence: mean(|s| s.divergence),
            reverse: mean(|s| s.reverse),
            entropy: mean(|s| s.entropy),
            relative_entropy: mean(|s| s.relative_entropy),
        }
    }
}

impl Profile {
    /// Summarises an agreement; `None` if no node was measured or the model has no attention.
    pub fn of(agreement: &Agreement) -> Option<Self> {
        let layers: Vec<Spreads> = agreement.layers.iter().map(Spreads::of).collect::<Option<_>>()?;
        (!layers.is_empty()).then_some(Self { layers, uniform: Spreads::of(&agreement.uniform)? })
    }

    /// Returns the distributions in the last layer.
    pub fn last(&self) -> &Spreads {
        self.layers.last().expect("a profile has layers")
    }

    /// Returns the mean over runs of the same network; panics if there are none.
    fn mean_of(profiles: &[Self]) -> Self {
        let layer = |k: usize| Spreads::mean_of(&profiles.iter().map(|profile| &profile.layers[k]).collect::<Vec<_>>());
        Self {
            layers: (0..profiles[0].layers.len()).map(layer).collect(),
            uniform: Spreads::mean_of(&profiles.iter().map(|profile| &profile.uniform).collect::<Vec<_>>()),
        }
    }
}

/// Task that measures the agreement of attention with labels on all graphs.
#[derive(Debug, Clone, Copy)]
pub struct LabelAgreement;

impl Task for LabelAgreement {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn measure(&self, dataset: &Dataset, _: u64, model: &Fitted) -> Result<Value> {
        let profile = Profile::of(&Agreement::of(model, dataset)?);
        Ok(serde_json::to_value(profile).expect("numbers by name"))
    }
}

/// Results of one network over seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Network {
    /// Dataset.
    pub dataset: String,
    /// Model.
    pub model: ModelKind,
    /// Number of attention layers.
    pub depth: usize,
    /// Seeds with a result; all values are in this order.
    pub seeds: Vec<u64>,
    /// Test metric of the nodes.
    pub test: Summary,
    /// Mean KLD(alpha, ell) in the last layer, by seed.
    pub divergences: Vec<f64>,
    /// Mean KLD(ell, alpha) in the last layer, by seed.
    pub reverses: Vec<f64>,
    /// Distributions, averaged over seeds.
    pub profile: Profile,
}

/// Plans both forms at both depths with the published settings, or the general ones if there are none. Loads the dataset to
/// obtain its name.
pub fn plan(source: &str, seeds: u64) -> supergat_data::Result<SeededRuns> {
    let dataset = supergat_data::load(source)?;
    let preset = dataset.preset.as_deref().unwrap_or_default();
    let all = DEPTHS.iter().flat_map(|&depth| FORMS.map(|form| settings(preset, form, depth)));
    Ok(SeededRuns::new(source, &dataset, all.collect(), seeds))
}

/// Returns the results in a file by network; networks without a result are omitted.
pub fn networks(runs: &SeededRuns, results: &ResultsFile) -> Vec<Network> {
    runs.settings.iter().filter_map(|settings| network(runs, settings, results)).collect()
}

fn network(runs: &SeededRuns, settings: &Settings, results: &ResultsFile) -> Option<Network> {
    let run = |record: &Record| Some((record.seed, record.test()?.metric, record.measured::<Profile>()?));
    let records = runs.records(LabelAgreement.name(), settings, results);
    let found: Vec<(u64, f64, Profile)> = records.into_iter().filter_map(run).collect();
    let profiles: Vec<Profile> = found.iter().map(|(.., profile)| profile.clone()).collect();
    (!found.is_empty()).then(|| Network {
        dataset: runs.dataset.clone(),
        model: settings.model,
        depth: settings.network.layers,
        seeds: found.iter().map(|(seed, ..)| *seed).collect(),
        test: Summary::of(found.iter().map(|(_, test, _)| *test).collect()),
        divergences: profiles.iter().map(|profile| profile.last().divergence.mean).collect(),
        reverses: profiles.iter().map(|profile| profile.last().reverse.mean).collect(),
        profile: Profile::mean_of(&profiles),
    })
}

fn settings(dataset: &str, form: Form, depth: usize) -> Settings {
    let model = ModelKind::Attention { form, self_supervised: false };
    let task = if depth == 2 { "attention".to_owned() } else { format!("attention-{depth}-layer") };
    let published = Settings::published_for(&task, dataset, model);
    published.unwrap_or_else(|| Settings::general(model).with(|s| s.network.layers = depth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use supergat_select::sweep::run_sweep;

    #[test]
    fn uses_published_settings() {
        let of = |dataset, form, depth| settings(dataset, form, depth);
        assert_eq!(
            (of("cora", Form::Go, 2).training.lambda_2, of("cora", Form::Dp, 4).training.lambda_2),
            (0.02, 0.01)
        );
        assert_eq!((of("pubmed", Form::Dp, 4).network.layers, of("pubmed", Form::Dp, 4).training.lambda_2), (4, 0.005));
        assert_eq!(
            (of("karate", Form::Dp, 4).network.layers, of("karate", Form::Dp, 4).model.to_string()),
            (4, "gat-dp".into())
        );
    }

    /// Profiles read from the results file equal the measured ones.
    #[test]
    fn stores_and_averages_profiles() {
        let source = "random-partition:classes=3,nodes=180,degree=6,homophily=0.6";
        let mut plan = plan(source, 2).unwrap();
        plan.settings.iter_mut().for_each(|settings| settings.training.max_epochs = 3);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut results = ResultsFile::open(&path).unwrap();
        let outcome =
            run_sweep(&LabelAgreement, plan.jobs(), &mut results, 2, |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!((outcome.ran, outcome.failed), (8, 0));
        let found = networks(&plan, &results);
        let shape: Vec<(String, usize, usize)> =
            found.iter().map(|n| (n.model.to_string(), n.depth, n.profile.layers.len())).collect();
        let named = |name: &str, depth| (name.to_owned(), depth, depth);
        assert_eq!(shape, [named("gat-go", 2), named("gat-dp", 2), named("gat-go", 4), named("gat-dp", 4)]);
        for network in &found {
            assert_eq!(network.seeds, [0, 1]);
            assert_eq!((network.test.values.len(), network.divergences.len(), network.reverses.len()), (2, 2, 2));
            let last = network.profile.last();
            assert_eq!((last.entropy.count, network.profile.uniform.entropy.count), (540 * 8, 540));
            let mean = (network.divergences[0] + network.divergences[1]) / 2.0;
            assert!((last.divergence.mean - mean).abs() < 1e-12);
            assert!((network.profile.uniform.relative_entropy.mean - 1.0).abs() < 1e-12);
        }
        drop(results);
        assert_eq!(networks(&plan, &ResultsFile::read(&path).unwrap()), found);
    }
}
