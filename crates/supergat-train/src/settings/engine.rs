//! Conversion of settings for the engine: architecture, training configuration, and options of models that are not networks.

use super::Settings;
use supergat_core::{Architecture, Blocks, Boundary, Contrast, EarlyStop, Error, ModelKind, System, TrainConfig};
use supergat_data::Dataset;
use supergat_systems::gam::GamOptions;
use supergat_systems::lds::LdsOptions;
use supergat_systems::{GlcnOptions, NeuralSparseOptions, Options};

/// Settings of boosted trees.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "trees"), expect(dead_code, reason = "only training reads all of them"))]
pub(crate) struct TreeSettings {
    pub(crate) count: usize,
    pub(crate) lr: f64,
    pub(crate) depth: usize,
    pub(crate) l2: f64,
    pub(crate) node_share: f64,
    pub(crate) column_share: f64,
    pub(crate) patience: usize,
    pub(crate) components: usize,
}

impl Settings {
    /// Returns the architecture of the network for a dataset.
    pub fn architecture(&self, dataset: &Dataset) -> Architecture {
        // Systems with layers of their own refuse options of other layers; networks without attention do not read them.
        let refuses = self.model.system().is_some_and(System::has_own_layers);
        let (is_attention, has_form) = (self.model.is_attention() || refuses, self.model.form().is_some() || refuses);
        let carries = self.model.reads_edge_features() && dataset.edge_features() > 0;
        Architecture {
            model: self.model,
            input_features: dataset.features(),
            classes: dataset.classes(),
            multi_label: dataset.is_multi_label(),
            layers: self.layers,
            hidden: self.hidden,
            heads: self.heads,
            output_heads: self.output_heads,
            dropout: self.dropout,
            negative_slope: self.negative_slope,
            edge_features: if self.model.reads_edge_features() { dataset.edge_features() } else { 0 },
            edge_messages: self.edge_messages && (carries || refuses),
            label_input: self.label_input,
            label_reuse: self.label_reuse,
            blocks: Blocks {
                residual: self.residual,
                norm: self.norm,
                activation: self.activation,
                input_layer: self.input_layer,
                output_layer: self.output_layer,
                self_loops: self.self_loops || !is_attention,
                attention_dropout: self.attention_dropout || !has_form,
                separate_ego: self.separate_ego && is_attention,
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
        if self.correct_and_smooth == Some(true) && dataset.is_multi_label() {
            let reason = "needs nodes with one class each, and these may have several".into();
            return Err(Error::Hyperparameter { name: "correct_and_smooth", value: "true".into(), reason });
        }
        Ok(())
    }

    /// Returns the settings of boosted trees.
    pub(crate) fn trees(&self) -> TreeSettings {
        let general = Self::general(ModelKind::Trees);
        let whole = |own: Option<usize>, general: Option<usize>| own.or(general).expect("the model has it");
        let number = |own: Option<f64>, general: Option<f64>| own.or(general).expect("the model has it");
        TreeSettings {
            count: whole(self.tree_count, general.tree_count),
            lr: number(self.tree_lr, general.tree_lr),
            depth: whole(self.tree_depth, general.tree_depth),
            l2: number(self.tree_l2, general.tree_l2),
            node_share: number(self.tree_node_share, general.tree_node_share),
            column_share: number(self.tree_column_share, general.tree_column_share),
            patience: whole(self.tree_patience, general.tree_patience),
            components: whole(self.tree_components, general.tree_components),
        }
    }

    /// Returns the options of a system, for models that are one.
    pub(crate) fn system(&self) -> Option<Options> {
        let general = Self::general(self.model);
        macro_rules! all {
            ($options:ident { $($name:ident),* }) => {
                $options { $($name: self.$name.or(general.$name).expect("the model has it")),* }
            };
        }
        Some(match self.model.system()? {
            System::Glcn => Options::Glcn(all!(GlcnOptions {
                graph_hidden,
                graph_lr,
                lambda_graph,
                gamma_graph,
                graph_from_labels,
                lr_decay
            })),
            System::NeuralSparse => Options::NeuralSparse(all!(NeuralSparseOptions {
                sampled_neighbours,
                sampler_hidden,
                temperature,
                temperature_decay,
                least_temperature
            })),
            System::Gam => Options::Gam(all!(GamOptions {
                agreement_hidden,
                agreement_lr,
                agreement_steps,
                agreement_edges,
                lambda_ll,
                lambda_lu,
                lambda_uu,
                self_labels,
                self_label_certainty,
                keep_class_shares,
                rounds,
                round_patience
            })),
            System::Lds => Options::Lds(all!(LdsOptions {
                similar_neighbours,
                edge_lr,
                edge_steps,
                inner_steps,
                inner_patience,
                graph_samples,
                outer_patience
            })),
        })
    }

    /// Returns strength and number of the steps of label propagation.
    pub(crate) fn propagation(&self) -> (f64, usize) {
        let general = Self::general(ModelKind::LabelPropagation);
        let alpha = self.propagation_alpha.or(general.propagation_alpha);
        let iterations = self.propagation_iterations.or(general.propagation_iterations);
        alpha.zip(iterations).expect("the model has both")
    }

    /// Returns the constraints of CGAT, for models that have them.
    fn contrast(&self) -> Option<Contrast> {
        let boundary = self.lambda_b.zip(self.margin_b).map(|(lambda_b, margin_b)| Boundary { lambda_b, margin_b });
        Some(Contrast {
            top_k: self.top_k?,
            negatives_per_edge: self.negatives_per_edge?,
            lambda_g: self.lambda_g?,
            margin_g: self.margin_g?,
            boundary,
        })
    }

    /// Returns the training configuration.
    pub fn training(&self) -> TrainConfig {
        TrainConfig {
            lr: self.lr,
            lambda_2: self.lambda_2,
            lambda_e: self.lambda_e,
            p_e: self.p_e,
            p_n: self.p_n,
            contrast: self.contrast(),
            focal_gamma: self.focal_gamma,
            checkpointing: self.checkpointing,
            max_epochs: self.max_epochs,
            early_stop: self.early_stop.then_some(EarlyStop {
                patience: self.early_stop_patience,
                window: self.early_stop_window,
                loss_change: self.early_stop_loss_change,
                metric_change: self.early_stop_metric_change,
            }),
            patience: self.patience,
            select: self.select,
        }
    }
}
