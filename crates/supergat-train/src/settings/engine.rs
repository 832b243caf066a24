//! Conversion of settings to the configuration of the engine: architecture, training, and options of systems.

use super::{FamilySettings, Settings};
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings, PropagationSettings, TreeSettings};
use supergat_core::{Architecture, Blocks, Boundary, Contrast, EarlyStop, Error, System, TrainConfig};
use supergat_data::Dataset;
use supergat_systems::Options;

impl Settings {
    /// Returns the architecture of the network for a dataset.
    pub fn architecture(&self, dataset: &Dataset) -> Architecture {
        // Systems with layers of their own refuse options of other layers; networks without attention do not read them.
        let refuses = self.model.system().is_some_and(System::has_own_layers);
        let (is_attention, has_form) = (self.model.is_attention() || refuses, self.model.form().is_some() || refuses);
        let carries = self.model.reads_edge_features() && dataset.edge_features() > 0;
        let network = &self.network;
        Architecture {
            model: self.model,
            input_features: dataset.features(),
            classes: dataset.classes(),
            multi_label: dataset.is_multi_label(),
            layers: network.layers,
            hidden: network.hidden,
            heads: network.heads,
            output_heads: network.output_heads,
            dropout: network.dropout,
            negative_slope: network.negative_slope,
            edge_features: if self.model.reads_edge_features() { dataset.edge_features() } else { 0 },
            edge_messages: network.edge_messages && (carries || refuses),
            label_input: network.label_input,
            label_reuse: network.label_reuse,
            blocks: Blocks {
                residual: network.residual,
                norm: network.norm,
                activation: network.activation,
                input_layer: network.input_layer,
                output_layer: network.output_layer,
                self_loops: network.self_loops || !is_attention,
                attention_dropout: network.attention_dropout || !has_form,
                separate_ego: network.separate_ego && is_attention,
            },
        }
    }

    /// Validates the settings for a dataset.
    pub fn check(&self, dataset: &Dataset) -> supergat_core::Result<()> {
        crate::baselines::check_available(self.model)?;
        if self.model.has_epochs() {
            self.training().check()?;
            self.architecture(dataset).check()?;
        }
        self.system().map_or(Ok(()), |options| options.check())?;
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

    /// Returns the constraints of CGAT, for models that have them.
    fn contrast(&self) -> Option<Contrast> {
        let FamilySettings::Constrained(all, by_classes) = self.family else { return None };
        let ConstraintSettings { top_k, negatives_per_edge, lambda_g, margin_g } = all;
        let boundary = by_classes.map(|ClassConstraintSettings { lambda_b, margin_b }| Boundary { lambda_b, margin_b });
        Some(Contrast { top_k, negatives_per_edge, lambda_g, margin_g, boundary })
    }

    /// Returns the training configuration.
    pub fn training(&self) -> TrainConfig {
        let (training, edge_loss, stopping) = (&self.training, &self.edge_loss, &self.early_stopping);
        TrainConfig {
            lr: training.lr,
            lambda_2: training.lambda_2,
            lambda_e: edge_loss.lambda_e,
            p_e: edge_loss.p_e,
            p_n: edge_loss.p_n,
            contrast: self.contrast(),
            focal_gamma: training.focal_gamma,
            checkpointing: training.checkpointing,
            max_epochs: training.max_epochs,
            early_stop: stopping.early_stop.then_some(EarlyStop {
                after: stopping.early_stop_after,
                window: stopping.early_stop_window,
                loss_change: stopping.early_stop_loss_change,
                metric_change: stopping.early_stop_metric_change,
            }),
            patience: stopping.patience,
            select: self.select,
        }
    }
}
