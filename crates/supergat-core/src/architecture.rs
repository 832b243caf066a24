//! Architecture: the shape of a network and its validation.

use crate::error::{Error, Result};
use crate::example::Example;
use crate::features::Features;
use crate::hyperparameters::{check, default_number, default_whole};
use crate::kernels::{HeadLayout, Real};
use crate::model_kind::ModelKind;
use serde::{Deserialize, Serialize};

/// Shape of a network. Prediction needs only the architecture and the parameters.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1] };
/// let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// assert_eq!((architecture.layers, architecture.heads, architecture.hidden), (2, 8, 8));
/// assert_eq!((architecture.input_features, architecture.classes), (1, 2));
/// let error = Architecture { dropout: 1.0, ..architecture }.check().unwrap_err();
/// assert_eq!(error.to_string(), "dropout = 1: must lie in [0, 1)");
/// # Ok::<(), supergat_core::Error>(())
/// ```
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
    /// Number of attention heads in hidden layers. Hidden layers without attention have `heads * hidden`
    /// features.
    pub heads: usize,
    /// Number of attention heads in the last layer.
    pub output_heads: usize,
    /// Dropout probability of layer inputs and attention coefficients.
    pub dropout: f64,
    /// Negative slope of LeakyReLU.
    pub negative_slope: f64,
}

impl Architecture {
    /// Creates the default shape for an example: two layers, eight heads of eight features (64 features
    /// without attention), dropout 0.6.
    pub fn new<T: Real>(model: ModelKind, example: &Example<T>) -> Self {
        Self {
            model,
            input_features: example.features.columns(),
            classes: example.labels.classes(),
            multi_label: example.labels.is_multi(),
            layers: default_whole("layers", model),
            hidden: default_whole("hidden", model),
            heads: default_whole("heads", model),
            output_heads: default_whole("output_heads", model),
            dropout: default_number("dropout", model),
            negative_slope: default_number("negative_slope", model),
        }
    }

    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("output_heads", self.output_heads),
        ] {
            check(name, value)?;
        }
        check("dropout", self.dropout)?;
        check("negative_slope", self.negative_slope)?;
        let refuse =
            |name, value: usize, reason: String| Err(Error::Hyperparameter { name, value: value.to_string(), reason });
        for (name, value, most) in
            [("input_features", self.input_features, 1 << 24), ("classes", self.classes, 1 << 20)]
        {
            if !(1..=most).contains(&value) {
                return refuse(name, value, format!("must lie between 1 and {most}"));
            }
        }
        let widest = [self.hidden * self.heads, self.classes * self.output_heads].into_iter().max().unwrap_or(0);
        if self.input_features.max(self.hidden * self.heads).saturating_mul(widest) >= 1 << 31 {
            return refuse("hidden", self.hidden, "a weight matrix would have more than 2^31 elements".into());
        }
        Ok(())
    }

    /// Returns the number of bytes of all parameters in training, with gradients, optimiser state and a copy
    /// of the best epoch. Padding is included.
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
        self.accepts_features(&example.features)?;
        fits("classes", self.classes, example.labels.classes())?;
        fits("several labels per node (0: no, 1: yes)", self.multi_label.into(), example.labels.is_multi().into())
    }

    /// Checks the number of features per node.
    pub fn accepts_features<T: Real>(&self, features: &Features<T>) -> Result<()> {
        fits("features per node", self.input_features, features.columns())
    }

    /// Converts logits, one row of classes per node, to probabilities: softmax over each row, or the sigmoid
    /// of each logit if a node may have several classes.
    ///
    /// ```
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
    /// # let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
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

/// Returns an error unless the number in the data is that of the model.
fn fits(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Incompatible { what, expected, found }) }
}
