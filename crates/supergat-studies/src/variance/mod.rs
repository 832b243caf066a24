//! Variance of unnormalised attention: the paper's proposition, and the exact formula.
//!
//! A layer maps F features to F' features by a matrix W, whose entries are independent and uniformly
//! distributed with mean zero and variance w. The vector a has 2 F' such entries of variance v. Let h_i and
//! h_j be the inputs of two nodes, independent of W and a, and let d = h_i . h_j. The proposition states
//!
//! ```text
//! Var e_GO  = 2 F' w v E|h|^2                                                 e_GO = a^T [W h_i ; W h_j]
//! Var e_DP >= F' w^2 (4/5 E d^2 + Var d)                                      e_DP = (W h_i)^T (W h_j)
//! ```
//!
//! The first is exact. The second is a lower bound that omits some squares. The exact variance is
//!
//! ```text
//! Var e_DP  = F' w^2 (E |h_i|^2 |h_j|^2 - 6/5 E sum_r h_ir^2 h_jr^2 + E d^2 + F' Var d)
//! ```
//!
//! by the law of total variance: given the inputs, the F' terms of e_DP are independent, each with mean w d
//! and variance w^2 (|h_i|^2 |h_j|^2 - 6/5 sum_r h_ir^2 h_jr^2 + d^2), where 6/5 = 3 - 9/5 and E W^4 = 9/5
//! w^2. The paper's proof has Var d in place of F' Var d: it adds the variances of the F' terms, but these
//! depend on the same d and are correlated. The bound is valid nevertheless.

mod cases;
mod layers;
mod simulation;

pub use cases::{Case, Varied, cases};
pub use layers::{LayerVariances, layer_variances};
pub use simulation::{VarianceEstimate, simulate};

use serde::Serialize;

/// Expectations over pairs of inputs that determine the variances of attention.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Moments {
    /// E |h|^2.
    pub norm: f64,
    /// E |h_i|^2 |h_j|^2.
    pub norms: f64,
    /// E sum_r h_ir^2 h_jr^2.
    pub squares: f64,
    /// E d.
    pub dot: f64,
    /// E d^2.
    pub dot_square: f64,
}

/// Normally distributed inputs of two nodes. Different features are independent; the same feature of the two
/// nodes may be correlated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Inputs {
    /// Number of features.
    pub features: usize,
    /// Mean of a feature.
    pub mean: f64,
    /// Variance of a feature.
    pub variance: f64,
    /// Correlation of a feature between the two nodes, from 0 to 1.
    pub correlation: f64,
}

/// Size of a layer and variances of its initial parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Weights {
    /// Number of output features per head.
    pub features: usize,
    /// Variance of an element of W.
    pub matrix: f64,
    /// Variance of an element of a.
    pub vector: f64,
}

impl Weights {
    /// Returns the Glorot initialisation of a layer with `heads` heads of `features` features: variances of
    /// 2 / (fan in + fan out).
    pub fn glorot(inputs: usize, heads: usize, features: usize) -> Self {
        let variance = |fans: usize| 2.0 / fans as f64;
        Self { features, matrix: variance(inputs + heads * features), vector: variance(heads + 2 * features) }
    }
}

impl Inputs {
    /// Returns the expectations. For the values x and y of one feature with mean m, variance s^2 and
    /// covariance c, E x y = m^2 + c and E x^2 y^2 = (m^2 + s^2)^2 + 2 c^2 + 4 m^2 c.
    pub fn moments(&self) -> Moments {
        let (n, square) = (self.features as f64, self.mean.powi(2));
        let covariance = self.correlation * self.variance;
        let second = square + self.variance;
        let product = square + covariance;
        let products = second.powi(2) + 2.0 * covariance.powi(2) + 4.0 * square * covariance;
        let dot = n * product;
        Moments {
            norm: n * second,
            norms: n * products + n * (n - 1.0) * second.powi(2),
            squares: n * products,
            dot,
            dot_square: dot.powi(2) + n * (products - product.powi(2)),
        }
    }
}

impl Moments {
    /// Returns Var d.
    fn dot_variance(&self) -> f64 {
        self.dot_square - self.dot.powi(2)
    }

    /// Returns the variance of e_GO.
    pub fn go(&self, weights: &Weights) -> f64 {
        2.0 * weights.features as f64 * weights.matrix * weights.vector * self.norm
    }

    /// Returns the proposition's lower bound on the variance of e_DP.
    pub fn dp_bound(&self, weights: &Weights) -> f64 {
        weights.features as f64 * weights.matrix.powi(2) * (0.8 * self.dot_square + self.dot_variance())
    }

    /// Returns the exact variance of e_DP.
    pub fn dp(&self, weights: &Weights) -> f64 {
        let features = weights.features as f64;
        let given_inputs = self.norms - 1.2 * self.squares + self.dot_square;
        features * weights.matrix.powi(2) * (given_inputs + features * self.dot_variance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one constant feature, e_DP is a sum of squares of uniform numbers, each of variance 4/5 w^2.
    #[test]
    fn one_constant_feature_attains_the_bound() {
        let weights = Weights { features: 3, matrix: 0.5, vector: 2.0 };
        let moments = Inputs { features: 1, mean: 1.0, variance: 0.0, correlation: 0.0 }.moments();
        assert!((moments.dp(&weights) - 3.0 * 0.25 * 0.8).abs() < 1e-12);
        assert!((moments.dp_bound(&weights) - 3.0 * 0.25 * 0.8).abs() < 1e-12);
        assert!((moments.go(&weights) - 2.0 * 3.0 * 0.5 * 2.0).abs() < 1e-12);
    }

    #[test]
    fn bound_does_not_exceed_the_variance() {
        for features in [1, 2, 7, 64] {
            for mean in [0.0, 0.3, 2.0] {
                for correlation in [0.0, 0.5, 1.0] {
                    let moments = Inputs { features, mean, variance: 1.5, correlation }.moments();
                    let weights = Weights::glorot(features, 8, 8);
                    assert!(moments.dp_bound(&weights) <= moments.dp(&weights) * (1.0 + 1e-12), "{moments:?}");
                }
            }
        }
    }

    /// With correlation 1 both nodes are equal: the moments are those of a chi-squared variable.
    #[test]
    fn equal_nodes_have_chi_squared_moments() {
        let moments = Inputs { features: 5, mean: 0.0, variance: 1.0, correlation: 1.0 }.moments();
        assert_eq!(moments, Moments { norm: 5.0, norms: 35.0, squares: 15.0, dot: 5.0, dot_square: 35.0 });
    }
}
