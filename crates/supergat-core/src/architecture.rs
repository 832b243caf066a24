//! Model kinds and their architecture.

use crate::error::{Error, Result};
use crate::example::Example;
use crate::kernels::{Form, HeadLayout, MAX_HEADS, Real};
use crate::layers::Convolution;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Kind of network, known to users by names such as `supergat-mx`.
///
/// ```
/// use supergat_core::ModelKind;
/// let kind: ModelKind = "supergat-mx".parse().unwrap();
/// assert!(kind.is_self_supervised());
/// assert_eq!(kind.to_string(), "supergat-mx");
/// ```
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
        /// Whether the classes of training nodes constrain it too: for graphs on which most nodes are training nodes.
        by_classes: bool,
    },
    /// Graph convolution: weights of neighbours are fixed by the graph.
    Convolution(Convolution),
    /// Multilayer perceptron: neighbours are not read.
    Mlp,
}

impl ModelKind {
    /// All model kinds.
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

/// Shape of a network. With the parameters it is all that prediction needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    /// Kind of network.
    pub model: ModelKind,
    /// Number of features per node.
    pub input_features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Whether a node may have several classes.
    pub multi_label: bool,
    /// Number of layers.
    pub layers: usize,
    /// Number of features per head in hidden layers.
    pub hidden: usize,
    /// Number of attention heads in hidden layers. Layers without attention have heads * hidden features.
    pub heads: usize,
    /// Number of attention heads in the last layer.
    pub output_heads: usize,
    /// Dropout probability of layer inputs and attention coefficients.
    pub dropout: f64,
    /// Negative slope of LeakyReLU.
    pub negative_slope: f64,
}

impl Architecture {
    /// Creates the usual shape for an example: two layers, eight heads of eight features, dropout 0.6.
    pub fn new<T: Real>(model: ModelKind, example: &Example<T>) -> Self {
        let (hidden, heads) = if model.form().is_some() { (8, 8) } else { (64, 1) };
        Self {
            model,
            input_features: example.features.columns(),
            classes: example.labels.classes(),
            multi_label: example.labels.is_multi(),
            layers: 2,
            hidden,
            heads,
            output_heads: heads,
            dropout: 0.6,
            negative_slope: 0.2,
        }
    }

    /// Validates every number.
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

    /// Returns the number of bytes of all parameters in training, with gradients, optimiser state and a copy of the best epoch.
    /// Padding is included.
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
        // Value, gradient, two moments and the best value; four bytes for the index of an element.
        weights * (5 * size_of::<T>() as u64 + 4)
    }

    /// Checks that an example has the features and classes of this architecture.
    pub fn accepts<T: Real>(&self, example: &Example<T>) -> Result<()> {
        let fits = |what, expected, found| {
            if expected == found { Ok(()) } else { Err(Error::Incompatible { what, expected, found }) }
        };
        fits("features per node", self.input_features, example.features.columns())?;
        fits("classes", self.classes, example.labels.classes())?;
        fits("several labels per node (0: no, 1: yes)", self.multi_label.into(), example.labels.is_multi().into())
    }

    /// Converts logits, one row of classes per node, to probabilities: softmax over a row, or a sigmoid for each class where a node
    /// may have several.
    ///
    /// ```
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let example = Example::new(graph, Features::dense(2, 1, vec![1.0f32, 2.0])?, labels, [vec![0], vec![1], vec![]])?;
    /// let architecture = Architecture::new("gat-go".parse().unwrap(), &example);
    /// assert_eq!(architecture.probabilities(&[0.0f64, 0.0, 0.0, 0.0])?, [0.5, 0.5, 0.5, 0.5]);
    /// assert!(architecture.probabilities(&[0.0f64, 0.0, 0.0]).is_err());
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn probabilities<T: Real>(&self, logits: &[T]) -> Result<Vec<T>> {
        let rows = logits.len() / self.classes;
        if rows * self.classes != logits.len() {
            return Err(Error::SizeMismatch {
                what: "logits (a whole number of rows, one number per class)",
                expected: (rows + 1) * self.classes,
                found: logits.len(),
            });
        }
        let mut out = vec![T::ZERO; logits.len()];
        for (row, out) in logits.chunks_exact(self.classes).zip(out.chunks_exact_mut(self.classes)) {
            if self.multi_label {
                out.iter_mut().zip(row).for_each(|(o, &x)| *o = T::ONE / (T::ONE + (-x).exp()));
                continue;
            }
            let largest = row.iter().copied().fold(T::NEG_INFINITY, T::max);
            out.iter_mut().zip(row).for_each(|(o, &x)| *o = (x - largest).exp());
            let sum: T = out.iter().copied().sum();
            out.iter_mut().for_each(|o| *o = *o / sum);
        }
        Ok(out)
    }
}
