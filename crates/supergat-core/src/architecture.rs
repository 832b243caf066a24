//! Which network, and its shape.

use crate::error::{Error, Result};
use crate::example::Example;
use crate::kernels::{Form, HeadLayout, MAX_HEADS, Real};
use crate::layers::Convolution;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelKind {
    /// Graph attention.
    Attention {
        /// Form of the attention.
        form: Form,
        /// Whether attention also learns to predict edges.
        self_supervised: bool,
    },
    /// Graph attention of form GO, constrained in training by margins between scores (CGAT).
    Constrained {
        /// Whether the classes of training nodes constrain it too: for graphs most of whose nodes are for training.
        by_classes: bool,
    },
    /// Neighbours weighed by the graph alone.
    Convolution(Convolution),
    /// No neighbours at all.
    Mlp,
}

impl ModelKind {
    /// Every network there is.
    pub const ALL: [Self; 15] = {
        const fn of(form: Form, self_supervised: bool) -> ModelKind {
            ModelKind::Attention { form, self_supervised }
        }
        [
            of(Form::Go, false),
            of(Form::Dp, false),
            of(Form::Sd, false),
            of(Form::Mx, false),
            of(Form::Go, true),
            of(Form::Dp, true),
            of(Form::Sd, true),
            of(Form::Mx, true),
            Self::Constrained { by_classes: false },
            Self::Constrained { by_classes: true },
            Self::Convolution(Convolution::Gcn),
            Self::Convolution(Convolution::GcnIncoming),
            Self::Convolution(Convolution::Sage),
            Self::Convolution(Convolution::SageRoot),
            Self::Mlp,
        ]
    };

    /// Form of the attention, for networks that have it.
    pub fn form(self) -> Option<Form> {
        match self {
            Self::Attention { form, .. } => Some(form),
            Self::Constrained { .. } => Some(Form::Go),
            Self::Convolution(_) | Self::Mlp => None,
        }
    }

    /// Whether attention also learns to predict edges.
    pub fn is_self_supervised(self) -> bool {
        matches!(self, Self::Attention { self_supervised: true, .. })
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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

/// Shape of a network; with the parameters it is all that prediction needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    /// Which network.
    pub model: ModelKind,
    /// Features per node.
    pub input_features: usize,
    /// Classes.
    pub classes: usize,
    /// Whether a node may have several classes.
    pub multi_label: bool,
    /// Layers.
    pub layers: usize,
    /// Features per head in hidden layers.
    pub hidden: usize,
    /// Heads of hidden layers (without attention these have heads * hidden features).
    pub heads: usize,
    /// Heads of the last layer.
    pub output_heads: usize,
    /// Dropout of inputs and attention coefficients.
    pub dropout: f64,
    /// Negative slope of LeakyReLU.
    pub negative_slope: f64,
}

impl Architecture {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        let refuse =
            |name, value: String, reason: &str| Err(Error::Hyperparameter { name, value, reason: reason.to_owned() });
        for (name, value, most) in [
            ("layers", self.layers, 1000),
            ("hidden", self.hidden, 1 << 16),
            ("heads", self.heads, MAX_HEADS),
            ("output_heads", self.output_heads, MAX_HEADS),
            ("input_features", self.input_features, 1 << 24),
            ("classes", self.classes, 1 << 20),
        ] {
            if !(1..=most).contains(&value) {
                return refuse(name, value.to_string(), &format!("must lie between 1 and {most}"));
            }
        }
        let widest = [self.hidden * self.heads, self.classes * self.output_heads].into_iter().max().unwrap_or(0);
        if self.input_features.max(self.hidden * self.heads).saturating_mul(widest) >= 1 << 31 {
            return refuse("hidden", self.hidden.to_string(), "a weight matrix would have more than 2^31 elements");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return refuse("dropout", self.dropout.to_string(), "must lie in [0, 1)");
        }
        if !(0.0..=1.0).contains(&self.negative_slope) {
            return refuse("negative_slope", self.negative_slope.to_string(), "must lie in [0, 1]");
        }
        Ok(())
    }

    /// Bytes of the parameters of a model in training, its gradients, the optimiser's memory and a copy of the best epoch included. Padding
    /// of heads and small parameters are rounded up to whole vectors.
    pub fn parameter_bytes<T: Real>(&self) -> u64 {
        let hidden = HeadLayout::new(self.heads, self.hidden).stride() as u64;
        let last = HeadLayout::new(self.output_heads, self.classes).stride() as u64;
        let mut weights = 0;
        let mut rows = self.input_features as u64;
        for index in 0..self.layers {
            let columns = if index + 1 == self.layers { last } else { hidden };
            // Weights, both halves of the attention vector, bias.
            weights += (rows + 3) * columns;
            rows = columns;
        }
        // Value, gradient, two moments and the best value; four bytes name an element's place.
        weights * (5 * size_of::<T>() as u64 + 4)
    }

    /// Whether a dataset's example fits.
    pub fn accepts<T: Real>(&self, example: &Example<T>) -> Result<()> {
        let fits = |what, expected, found| {
            if expected == found { Ok(()) } else { Err(Error::Incompatible { what, expected, found }) }
        };
        fits("features per node", self.input_features, example.features.columns())?;
        fits("classes", self.classes, example.labels.classes())?;
        fits("several labels per node (0: no, 1: yes)", self.multi_label.into(), example.labels.is_multi().into())
    }
}
