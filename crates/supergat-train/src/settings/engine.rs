//! Configuration of the engine from settings: architecture, training, and options of systems.

use super::{FamilySettings, Settings};
use supergat_core::heads::LANES;
use supergat_core::hyperparameters::{PropagationSettings, TreeSettings};
use supergat_core::{Architecture, Error, Example, HeadLayout, Precision, System, TrainConfig};
use supergat_data::Dataset;
use supergat_systems::Options;

impl Settings {
    /// Returns the architecture of the network for a dataset.
    pub fn architecture(&self, dataset: &Dataset) -> Architecture {
        let edge_features = if self.model.reads_edge_features() { dataset.edge_features() } else { 0 };
        let mut network = self.network;
        // Networks without attention do not read its options. Systems with layers of their own refuse them.
        if !self.model.system().is_some_and(System::has_own_layers) {
            network.self_loops |= !self.model.is_attention();
            network.separate_ego &= self.model.is_attention();
            network.attention_dropout |= self.model.form().is_none();
            network.edge_messages &= edge_features > 0;
        }
        if network.precision == Precision::Auto && self.gathers_half_rows(dataset) {
            network.precision = Precision::Bf16;
        }
        Architecture {
            model: self.model,
            input_features: dataset.features(),
            classes: dataset.classes(),
            multi_label: dataset.is_multi_label(),
            edge_features,
            network,
        }
    }

    /// Returns whether rows of 16 bits pay for a dataset, and attention can gather them: rows of 32 bits that are larger than
    /// caches have to come from memory.
    fn gathers_half_rows(&self, dataset: &Dataset) -> bool {
        const LARGE: usize = 64 << 20;
        let heads = self.network.heads.max(self.network.output_heads);
        let row = HeadLayout::new(self.network.heads, self.network.hidden).stride() * size_of::<f32>();
        let fits = |example: &Example<f32>| example.graph.is_symmetric() && example.edges.is_none();
        self.model.gathers_half_rows()
            && heads <= LANES
            && dataset.examples.iter().all(fits)
            && dataset.examples.iter().any(|example| example.graph.nodes() * row >= LARGE)
    }

    /// Validates the settings for a dataset.
    pub fn check(&self, dataset: &Dataset) -> supergat_core::Result<()> {
        crate::baselines::check_available(self.model)?;
        let mut copy = *self;
        copy.groups_mut().into_iter().try_for_each(|group| group.check())?;
        if self.model.has_epochs() {
            self.architecture(dataset).check()?;
        }
        if self.correct_and_smooth.is_some() && dataset.is_multi_label() {
            let reason = "needs nodes with one class each, and these may have several".into();
            return Err(Error::Hyperparameter { name: "correct_and_smooth", value: "true".into(), reason });
        }
        Ok(())
    }

    /// Returns the settings of boosted trees: the defaults for other models.
    pub fn trees(&self) -> TreeSettings {
        if let FamilySettings::Trees(trees) = self.family { trees } else { TreeSettings::default() }
    }

    /// Returns the options of a system, for models that are one.
    pub(crate) fn system(&self) -> Option<Options> {
        if let FamilySettings::System(options) = self.family { Some(options) } else { None }
    }

    /// Returns the steps of label propagation: the defaults for other models.
    pub(crate) fn propagation(&self) -> PropagationSettings {
        if let FamilySettings::Propagation(steps) = self.family { steps } else { PropagationSettings::default() }
    }

    /// Returns the training configuration.
    pub fn training(&self) -> TrainConfig {
        TrainConfig {
            training: self.training,
            edge_loss: self.edge_loss,
            early_stopping: self.early_stopping,
            contrast: if let FamilySettings::Constrained(contrast) = self.family { Some(contrast) } else { None },
            select: self.select,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value as Json;
    use supergat_core::ModelKind;

    /// Settings and architectures as the version before groups in architectures wrote them to files of models.
    const WRITTEN: &str = include_str!("../../tests/architectures.jsonl");

    #[test]
    fn architectures_keep_their_bytes() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        for line in WRITTEN.lines() {
            let (settings, _): (Settings, Json) = serde_json::from_str(line).unwrap();
            let text = serde_json::to_string(&settings.architecture(&dataset)).unwrap();
            assert!(line.ends_with(&format!(",{text}]")), "{text}\n{line}");
        }
    }

    #[test]
    fn every_group_is_checked() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        let many = 1_000_000_000usize;
        for (model, name) in [
            ("gcn", "layers"),
            ("mlp", "max_epochs"),
            ("mlp", "early_stop_window"),
            ("cgat", "top_k"),
            ("label-propagation", "propagation_iterations"),
            ("glcn", "graph_hidden"),
            ("mlp", "smooth_iterations"),
            #[cfg(feature = "trees")]
            ("trees", "tree_depth"),
        ] {
            let mut settings = Settings::general(model.parse::<ModelKind>().unwrap());
            settings.set("smooth_alpha", 0.5).unwrap();
            settings.check(&dataset).unwrap();
            assert!(settings.put(name, many.into()), "{name}");
            let error = settings.check(&dataset).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} = 1000000000: must be")), "{error}");
        }
    }

    #[test]
    fn large_graphs_have_rows_of_16_bits_if_attention_can_gather_them() {
        let wide = |spec: &str, model: &str, heads| {
            let dataset = supergat_data::load(spec).unwrap();
            let settings = Settings::general(model.parse().unwrap());
            let settings = settings.with(|s| (s.network.heads, s.network.hidden) = (heads, 8192 / heads));
            settings.architecture(&dataset).network.precision
        };
        let [small, large] =
            [2047, 2048].map(|nodes| format!("random-graph:nodes={nodes},degree=2,features=4,classes=2"));
        assert_eq!(wide(&large, "supergat-mx", 8), Precision::Bf16);
        assert_eq!(wide(&small, "supergat-mx", 8), Precision::Auto);
        assert_eq!(wide(&large, "supergat-mx", 16), Precision::Auto);
        assert_eq!([wide(&large, "gatv2", 8), wide(&large, "gcn", 8)], [Precision::Auto; 2]);
    }
}
