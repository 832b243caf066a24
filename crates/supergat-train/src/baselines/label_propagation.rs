//! Label propagation as a model: it stores the labels of its training nodes.

use crate::known_labels::{KnownLabels, logits_of_scores, propagation};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use supergat_core::hyperparameters::{Hyperparameter, PropagationSettings};
use supergat_core::{Architecture, Error, Example, Result};
use supergat_cpu::Checkpoint;
use supergat_data::Dataset;
use supergat_numerics::propagation::{Steps, propagate_labels};

/// Entry of the metadata of a model file.
const ENTRY: &str = "label_propagation";
const NAME: &str = "label-propagation";

/// Label propagation with the known labels of a graph; see [`supergat_numerics::propagation`] for the equations.
///
/// It predicts nodes of the graph that it was fitted on.
#[derive(Debug, Clone)]
pub struct LabelPropagation {
    architecture: Architecture,
    parameters: Parameters,
    known: KnownLabels,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Parameters {
    alpha: f64,
    iterations: usize,
}

impl LabelPropagation {
    pub(super) fn fit(dataset: &Dataset, settings: &Settings) -> Result<Self> {
        let known = KnownLabels::of(dataset, &[|example| &example.train], NAME)?;
        let PropagationSettings { propagation_alpha: alpha, propagation_iterations: iterations } =
            settings.propagation();
        Ok(Self { architecture: settings.architecture(dataset), parameters: Parameters { alpha, iterations }, known })
    }

    pub(super) fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    pub(super) fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        self.known.check(dataset, NAME)?;
        let Parameters { alpha, iterations } = self.parameters;
        let (classes, steps) = (self.architecture.classes, Steps { alpha, count: iterations });
        let of_graph = |(example, known): (&Example<f32>, _)| {
            logits_of_scores(&propagate_labels(&propagation(example), known, classes, steps), classes)
        };
        Ok(dataset.examples.iter().zip(self.known.graphs()).map(of_graph).collect())
    }

    pub(super) fn store(&self, metadata: &mut HashMap<String, String>, lists: &mut HashMap<String, Vec<u32>>) {
        metadata.insert(ENTRY.into(), serde_json::to_string(&self.parameters).expect("two numbers"));
        self.known.store("known", lists);
    }

    pub(super) fn restore(checkpoint: &mut Checkpoint) -> Result<Self> {
        let refuse = |reason: &str| Error::Checkpoint { reason: reason.into() };
        let entry = checkpoint.metadata.remove(ENTRY).ok_or_else(|| refuse("it has no parameters"))?;
        let parameters: Parameters =
            serde_json::from_str(&entry).map_err(|_| refuse("its parameters are unreadable"))?;
        Hyperparameter::find("propagation_alpha")?.check(parameters.alpha.into())?;
        Hyperparameter::find("propagation_iterations")?.check(parameters.iterations.into())?;
        let known = KnownLabels::restore("known", &mut checkpoint.lists, checkpoint.architecture.classes, false)?;
        let known = known.ok_or_else(|| refuse("it has no known labels"))?;
        Ok(Self { architecture: checkpoint.architecture, parameters, known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::FamilySettings;
    use crate::{Fitted, run_seeds};
    use std::ops::ControlFlow;
    use supergat_core::Labels;

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
    }

    fn settings() -> Settings {
        Settings::general("label-propagation".parse().unwrap())
    }

    fn predicted(dataset: &Dataset, settings: &Settings) -> Vec<Vec<f32>> {
        run_seeds(dataset, settings, &[0], 2, |_| ControlFlow::Continue(())).unwrap().logits
    }

    #[test]
    fn is_fitted_scored_and_stored_like_a_network() {
        let (dataset, settings) = (dataset(), settings());
        let runs = run_seeds(&dataset, &settings, &[3, 4], 2, |_| ControlFlow::Continue(())).unwrap();
        let outcome = runs.runs[0].outcome;
        assert!(outcome.test.metric > 0.6 && outcome.validation.loss.is_finite(), "{outcome:?}");
        assert_eq!((runs.runs.len(), outcome), (2, runs.runs[1].outcome), "it has no random numbers");
        let bytes = runs.model.checkpoint(HashMap::new(), HashMap::new()).to_bytes();
        let read = Fitted::read(&mut Checkpoint::from_bytes(&bytes).unwrap()).unwrap();
        assert_eq!(read.logits(&dataset).unwrap(), runs.logits);
        let other = supergat_data::load("random-partition:classes=3,nodes=180,degree=7,homophily=0.8").unwrap();
        assert!(matches!(read.logits(&other), Err(Error::OtherGraph { .. })));
    }

    #[test]
    fn hyperparameters_change_predictions() {
        let with = |propagation_alpha, propagation_iterations| {
            let steps = PropagationSettings { propagation_alpha, propagation_iterations };
            predicted(&dataset(), &Settings { family: FamilySettings::Propagation(steps), ..settings() })
        };
        assert_ne!(with(0.9, 50), with(0.5, 50));
        assert_ne!(with(0.9, 50), with(0.9, 2));
        assert_eq!(with(0.9, 50), predicted(&dataset(), &settings()));
    }

    /// Labels of other nodes than those for training do not change a prediction.
    #[test]
    fn reads_labels_of_training_nodes_only() {
        let dataset = dataset();
        let mut changed = dataset.clone();
        let example = &mut changed.examples[0];
        let Labels::Single { of, .. } = &mut example.labels else { panic!("one class per node") };
        let is_training = |node: usize| example.train.contains(&(node as u32));
        (0..of.len()).filter(|&node| !is_training(node)).for_each(|node| of[node] = (of[node] + 1) % 3);
        assert_eq!(predicted(&changed, &settings()), predicted(&dataset, &settings()));
        // A changed training label does.
        let mut changed = dataset.clone();
        let first = changed.examples[0].train[0] as usize;
        let Labels::Single { of, .. } = &mut changed.examples[0].labels else { panic!("one class per node") };
        of[first] = (of[first] + 1) % 3;
        assert_ne!(predicted(&changed, &settings()), predicted(&dataset, &settings()));
    }

    #[test]
    fn weights_of_edges_count() {
        let weighted = |weight: f32| {
            let mut dataset = dataset();
            let graph = std::sync::Arc::clone(&dataset.examples[0].graph);
            let weights = (0..graph.edges()).map(|edge| if edge % 2 == 0 { weight } else { 1.0 }).collect();
            let attributes = supergat_core::EdgeAttributes::from_parts(&graph, weights, 0, Vec::new()).unwrap();
            dataset.examples[0] = dataset.examples[0].clone().with_edges(attributes).unwrap();
            predicted(&dataset, &settings())
        };
        assert_ne!(weighted(5.0), weighted(1.0));
    }

    #[test]
    fn several_classes_per_node_are_refused() {
        let mut dataset = dataset();
        dataset.examples[0].labels = Labels::Multi { classes: 3, of: vec![0; 3 * 540] };
        let error = run_seeds(&dataset, &settings(), &[0], 1, |_| ControlFlow::Continue(())).unwrap_err().to_string();
        assert_eq!(error, "model = label-propagation: needs nodes with one class each, and these may have several");
    }
}
