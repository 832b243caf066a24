//! Kinds of models and their names.

use crate::error::{Error, Result};
use crate::form::Form;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Kind of model, known to users by names such as `supergat-mx`. The engine trains those that are networks.
///
/// ```
/// use supergat_core::ModelKind;
/// let kind: ModelKind = "supergat-mx".parse().unwrap();
/// assert!(kind.is_self_supervised());
/// assert_eq!(kind.to_string(), "supergat-mx");
/// let [plain, supervised] = ["gatv2", "supergat-v2"].map(|name| name.parse::<ModelKind>().unwrap());
/// assert!(plain.form() == supervised.form() && !plain.is_self_supervised());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelKind {
    /// Graph attention.
    Attention {
        /// Form of attention.
        form: Form,
        /// Whether attention also learns to predict edges.
        self_supervised: bool,
    },
    /// Graph attention of form GO, constrained in training by margins between scores (CGAT).
    Constrained {
        /// Whether the classes of training nodes constrain attention too. Useful if most nodes are training
        /// nodes.
        by_classes: bool,
    },
    /// Graph convolution: the weights of neighbours depend on the graph only.
    Convolution(Convolution),
    /// Multilayer perceptron, which ignores neighbours.
    Mlp,
    /// A system: a network, and a part that learns or chooses edges or labels. It has its own training.
    System(System),
    /// Label propagation: a baseline that is not a network.
    LabelPropagation,
    /// Gradient-boosted trees on the columns of a node and of its neighbours: a baseline that is not a network.
    Trees,
}

impl ModelKind {
    /// All model kinds.
    pub const ALL: [Self; 23] = {
        const fn attention(form: Form, self_supervised: bool) -> ModelKind {
            ModelKind::Attention { form, self_supervised }
        }
        [
            attention(Form::Go, false),
            attention(Form::Dp, false),
            attention(Form::Sd, false),
            attention(Form::Mx, false),
            attention(Form::V2, false),
            attention(Form::Go, true),
            attention(Form::Dp, true),
            attention(Form::Sd, true),
            attention(Form::Mx, true),
            attention(Form::V2, true),
            Self::Convolution(Convolution::Gcn),
            Self::Convolution(Convolution::GcnIncoming),
            Self::Convolution(Convolution::Sage),
            Self::Convolution(Convolution::SageRoot),
            Self::Mlp,
            Self::Constrained { by_classes: false },
            Self::Constrained { by_classes: true },
            Self::System(System::Glcn),
            Self::System(System::Lds),
            Self::System(System::NeuralSparse),
            Self::System(System::Gam),
            Self::LabelPropagation,
            Self::Trees,
        ]
    };

    /// Returns whether models of this kind are networks of layers, which [`crate::Trainer`] trains.
    ///
    /// ```
    /// use supergat_core::ModelKind;
    /// assert!(ModelKind::Mlp.is_network());
    /// assert!(!ModelKind::LabelPropagation.is_network() && !ModelKind::Trees.is_network());
    /// ```
    pub fn is_network(self) -> bool {
        !matches!(self, Self::System(_) | Self::LabelPropagation | Self::Trees)
    }

    /// Returns the system, which the crate `supergat-systems` trains; `None` for all other models.
    ///
    /// ```
    /// use supergat_core::ModelKind;
    /// let [glcn, gcn] = ["glcn", "gcn"].map(|name| name.parse::<ModelKind>().unwrap());
    /// assert!(glcn.system().is_some() && gcn.system().is_none() && !glcn.is_network());
    /// ```
    pub fn system(self) -> Option<System> {
        if let Self::System(system) = self { Some(system) } else { None }
    }

    /// Returns whether models of this kind are trained in epochs, with learning rate, weight decay and dropout.
    pub fn has_epochs(self) -> bool {
        self.is_network() || self.system().is_some()
    }

    /// Returns whether the model is graph attention that nothing constrains.
    pub fn is_attention(self) -> bool {
        matches!(self, Self::Attention { .. })
    }

    /// Returns whether rows that attention gathers over links can have 16 bits per number.
    pub fn gathers_half_rows(self) -> bool {
        self.is_attention() && self.form() != Some(Form::V2)
    }

    /// Returns the form of attention; `None` without attention.
    ///
    /// ```
    /// use supergat_core::{Form, ModelKind};
    /// let form = |name: &str| name.parse::<ModelKind>().unwrap().form();
    /// assert_eq!([form("gat-dp"), form("cgat"), form("gcn-gam")], [Some(Form::Dp), Some(Form::Go), None]);
    /// ```
    pub fn form(self) -> Option<Form> {
        match self {
            Self::Attention { form, .. } => Some(form),
            Self::Constrained { .. } => Some(Form::Go),
            Self::Convolution(_) | Self::Mlp | Self::System(_) | Self::LabelPropagation | Self::Trees => None,
        }
    }

    /// Returns whether attention, or the choice of neighbours, has terms of the features of edges.
    pub fn reads_edge_features(self) -> bool {
        self.is_attention() || self == Self::System(System::NeuralSparse)
    }

    /// Fails if networks of this kind do not read weights of edges although they have attention: those of CGAT.
    pub fn accepts_edge_weights(self) -> Result<()> {
        match self {
            Self::Constrained { .. } => Err(Error::Hyperparameter {
                name: "model",
                value: self.to_string(),
                reason: "does not read weights of edges; use a gat or supergat model".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns whether attention also learns to predict edges.
    pub fn is_self_supervised(self) -> bool {
        matches!(self, Self::Attention { self_supervised: true, .. })
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attention { form: Form::V2, self_supervised: false } => f.pad("gatv2"),
            Self::Attention { form, self_supervised } => {
                f.pad(&format!("{}-{}", if *self_supervised { "supergat" } else { "gat" }, form.name()))
            }
            Self::Constrained { by_classes: false } => f.pad("cgat"),
            Self::Constrained { by_classes: true } => f.pad("cgat-full-supervised"),
            Self::Convolution(Convolution::Gcn) => f.pad("gcn"),
            Self::Convolution(Convolution::GcnIncoming) => f.pad("gcn-incoming"),
            Self::Convolution(Convolution::Sage) => f.pad("sage"),
            Self::Convolution(Convolution::SageRoot) => f.pad("sage-root"),
            Self::Mlp => f.pad("mlp"),
            Self::System(System::Glcn) => f.pad("glcn"),
            Self::System(System::NeuralSparse) => f.pad("neuralsparse"),
            Self::System(System::Gam) => f.pad("gcn-gam"),
            Self::System(System::Lds) => f.pad("lds"),
            Self::LabelPropagation => f.pad("label-propagation"),
            Self::Trees => f.pad("trees"),
        }
    }
}

impl FromStr for ModelKind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == name).ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(ToString::to_string).collect();
            format!("unknown model `{name}`: expected one of {}", names.join(", "))
        })
    }
}

impl TryFrom<String> for ModelKind {
    type Error = String;
    fn try_from(name: String) -> std::result::Result<Self, String> {
        name.parse()
    }
}

impl From<ModelKind> for String {
    fn from(kind: ModelKind) -> Self {
        kind.to_string()
    }
}

/// Graph convolution of a baseline. Kinds differ in the weights of neighbours.
///
/// ```
/// use supergat_core::{Convolution, ModelKind};
/// assert_eq!("sage-root".parse::<ModelKind>(), Ok(ModelKind::Convolution(Convolution::SageRoot)));
/// assert_eq!(ModelKind::Convolution(Convolution::Gcn).to_string(), "gcn");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Convolution {
    /// GCN (Kipf & Welling 2017) as in the paper's experiments: degrees count outgoing edges.
    Gcn,
    /// GCN whose degrees count incoming edges. Equal to [`Convolution::Gcn`] on undirected graphs.
    GcnIncoming,
    /// GraphSAGE (Hamilton et al. 2017) as in the paper's experiments: the mean includes the node itself.
    Sage,
    /// GraphSAGE with a separate weight for the node itself.
    SageRoot,
}

/// System: a network, and a part that learns or chooses edges or labels; see the crate `supergat-systems`.
///
/// ```
/// use supergat_core::{ModelKind, System};
/// assert_eq!("glcn".parse(), Ok(ModelKind::System(System::Glcn)));
/// assert_eq!(ModelKind::System(System::Gam).to_string(), "gcn-gam");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum System {
    /// GLCN (Jiang et al. 2019): learns the weights of edges from differences of projected features.
    Glcn,
    /// NeuralSparse (Zheng et al. 2020): chooses a few neighbours of each node for a GCN.
    NeuralSparse,
    /// A GCN trained by Graph Agreement Models (Stretcu et al. 2019), which learn what nodes have the same class.
    Gam,
    /// LDS (Franceschi et al. 2019): learns the probability of every edge of a GCN.
    Lds,
}

impl System {
    /// Returns whether the layers are those of the system: GCN layers over weighted edges, without options of deep networks.
    /// GAM has the GCN of the engine.
    ///
    /// ```
    /// use supergat_core::System;
    /// assert!(System::Glcn.has_own_layers() && !System::Gam.has_own_layers());
    /// ```
    pub fn has_own_layers(self) -> bool {
        self != Self::Gam
    }

    /// Returns whether a training consists of rounds, each of which trains a network from new weights. Such systems have
    /// rules of their own for early stopping.
    pub fn has_rounds(self) -> bool {
        matches!(self, Self::Gam | Self::Lds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_is_listed_once_and_found_by_its_name() {
        let names: HashSet<String> = ModelKind::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), ModelKind::ALL.len());
        assert!(ModelKind::ALL.into_iter().all(|kind| kind.to_string().parse() == Ok(kind)));
    }
}
