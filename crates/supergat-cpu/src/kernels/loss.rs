//! Losses of node labels, their gradients, and the counts behind accuracy and micro-F1.

use super::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{Arithmetic as _, Isa, Kernel, Lanes as _, P, Pair, SimdReal, dispatch, largest_lane};
use std::ops::Range;
use supergat_core::Real as _;
use supergat_core::heads::LANES;
use supergat_core::hyperparameters::TrainingSettings;
use supergat_core::{Counts, Labels, argmax};

/// Sum of softplus(x) = ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|)). One logarithm is taken of a product
/// of many factors between 1 and 2.
#[derive(Debug)]
pub struct SoftplusSum {
    sum: f64,
    product: f64,
    factors: u32,
}

impl Default for SoftplusSum {
    fn default() -> Self {
        Self { sum: 0.0, product: 1.0, factors: 0 }
    }
}

impl SoftplusSum {
    /// Adds softplus(x): the loss of an edge for x = -logit, the loss of a non-edge for x = logit.
    #[inline(always)]
    pub fn add<T: SimdReal>(&mut self, x: T) {
        self.add_if(true, x, (-x.abs()).exp());
    }

    /// Adds softplus(x) if `counts`, from a known exp(-|x|). Branch-free: sample membership is unpredictable.
    #[inline(always)]
    pub fn add_if<T: SimdReal>(&mut self, counts: bool, x: T, exp_of_minus_abs: T) {
        self.sum += if counts { x.max(T::ZERO).to_f64() } else { 0.0 };
        self.product *= 1.0 + if counts { exp_of_minus_abs.to_f64() } else { 0.0 };
        self.factors += 1;
        if self.factors == 512 {
            self.flush();
        }
    }

    #[inline(never)]
    fn flush(&mut self) {
        self.sum += self.product.ln();
        (self.product, self.factors) = (1.0, 0);
    }

    /// Returns the sum.
    pub fn total(mut self) -> f64 {
        self.flush();
        self.sum
    }
}

/// [`SoftplusSum`] of many terms at a time: a sum and a product per lane.
pub struct SoftplusLanes<X: Pair> {
    sums: X,
    products: X,
    steps: u32,
    total: f64,
}

impl<X: Pair> SoftplusLanes<X> {
    /// Largest number of factors of a lane. The product of the lanes is then at most 2^512.
    const STEPS: u32 = 32;

    /// Returns an empty sum.
    #[inline(always)]
    pub fn new() -> Self {
        Self { sums: X::zero(), products: X::splat(X::Item::ONE), steps: 0, total: 0.0 }
    }

    /// Adds softplus(x) of the lanes where a bit of `counts` is set, from known exp(-|x|).
    #[inline(always)]
    pub fn add(&mut self, counts: [u8; 2], x: X, exp_of_minus_abs: X) {
        let (zero, counts) = (X::zero(), X::from_bits(counts, X::Item::ONE));
        self.sums = self.sums.add(counts.if_positive(x.max(zero), zero));
        let small = counts.if_positive(exp_of_minus_abs, zero);
        self.products = small.mul_add(self.products, self.products);
        self.steps += 1;
        if self.steps == Self::STEPS {
            self.total += softplus_total(self.sums.arrays(), self.products.arrays());
            *self = Self { total: self.total, ..Self::new() };
        }
    }

    /// Returns the sum.
    #[inline(always)]
    pub fn total(self) -> f64 {
        self.total + softplus_total(self.sums.arrays(), self.products.arrays())
    }
}

/// Returns the sum of `sums` and of the logarithms of `products`.
#[inline(never)]
fn softplus_total<T: SimdReal>(sums: [[T; LANES]; 2], products: [[T; LANES]; 2]) -> f64 {
    let mut product = 1.0;
    products.as_flattened().iter().for_each(|factor| product *= factor.to_f64());
    sums.as_flattened().iter().map(|sum| sum.to_f64()).sum::<f64>() + product.ln()
}

/// Weights of the terms of the loss of labels.
#[derive(Debug, Clone, Copy)]
pub struct LabelTerms<'a> {
    /// Weight of each class; empty if all are 1. Only for single labels.
    pub class_weights: &'a [f64],
    /// Sum of the weights of all nodes that count: their number without weights.
    pub total: f64,
    /// Nodes that show their label as input and do not count, marked by 1; empty if there are none.
    pub shown: &'a [u8],
    /// Settings of training, such as the exponent of the focal loss.
    pub settings: &'a TrainingSettings,
}

/// Returns the mean loss of the nodes marked by `chosen`, and writes its gradient by the logits (zero for
/// other nodes).
///
/// Single labels: cross-entropy of the softmax. Multiple labels: binary cross-entropy, the mean over nodes
/// and classes. With weights of classes, the mean is the weighted one. The focal loss of a probability p of the true
/// class is `(1 - p)^gamma (-ln p)` (Lin et al. 2017).
pub fn label_loss_backward<T: SimdReal>(
    parts: &Parts,
    labels: &Labels,
    chosen: &[bool],
    terms: LabelTerms<'_>,
    logits: &[T],
    gradient: &mut [T],
    partial: &mut [f64],
) -> f64 {
    let classes = labels.classes();
    let outputs = (Rows { data: gradient, width: classes }, PerPart { data: &mut partial[..parts.len()], width: 1 });
    parts.for_each(outputs, |nodes, (gradient, loss)| {
        loss.data[0] = dispatch(LabelLoss { nodes, labels, chosen, terms, logits, gradient: gradient.data });
    });
    partial[..parts.len()].iter().sum::<f64>() / terms.total
}

/// Loss and gradient of a range of nodes.
struct LabelLoss<'a, T> {
    nodes: Range<usize>,
    labels: &'a Labels,
    chosen: &'a [bool],
    terms: LabelTerms<'a>,
    logits: &'a [T],
    gradient: &'a mut [T],
}

impl<T: SimdReal> Kernel for LabelLoss<'_, T> {
    type Number = T;
    type Output = f64;
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Self { nodes, labels, chosen, terms, logits, gradient } = self;
        let (classes, gamma) = (labels.classes(), terms.settings.focal_gamma);
        let mut loss = 0.0;
        for (i, row) in nodes.zip(gradient.chunks_exact_mut(classes)) {
            if !chosen[i] || terms.shown.get(i) == Some(&1) {
                row.fill(T::ZERO);
                continue;
            }
            let logits = &logits[i * classes..(i + 1) * classes];
            loss += match labels {
                Labels::Single { of, .. } => {
                    let own = of[i] as usize;
                    let weight = terms.class_weights.get(own).copied().unwrap_or(1.0);
                    one_label::<T, I>(own, logits, [weight, weight / terms.total], gamma, row)
                }
                Labels::Multi { of, .. } => many_labels(&of[i * classes..], logits, 1.0 / terms.total, gamma, row),
            };
        }
        loss
    }
}

/// Returns the loss of a node of one class, times the first of the weights, and writes its gradient, times the second.
#[inline(always)]
fn one_label<T: SimdReal, I: Isa>(own: usize, logits: &[T], weights: [f64; 2], gamma: f64, out: &mut [T]) -> f64 {
    let mut largest = P::<T, I>::splat(T::NEG_INFINITY);
    for logits in logits.chunks(2 * LANES) {
        largest = padded::<T, I>(logits).max(largest);
    }
    let largest = largest_lane::<T, I>(largest);
    let mut sums = P::<T, I>::zero();
    for (logits, out) in logits.chunks(2 * LANES).zip(out.chunks_mut(2 * LANES)) {
        let exp = padded::<T, I>(logits).sub(P::<T, I>::splat(largest)).exp();
        sums = sums.add(exp);
        out.copy_from_slice(&exp.arrays().as_flattened()[..out.len()]);
    }
    let sum = sums.sum().fold(1).array()[0];
    let value = sum.to_f64().ln() + (largest - logits[own]).to_f64();
    let (value, factor) = if gamma == 0.0 { (value, 1.0) } else { focal(value, gamma) };
    let weight = T::from_f64(weights[1] * factor);
    let scale = weight / sum;
    for o in &mut *out {
        *o *= scale;
    }
    out[own] = out[own] - weight;
    weights[0] * value
}

/// Loads at most two vectors of logits. Lanes without one have the weight exp(-infinity) = 0.
#[inline(always)]
fn padded<T: SimdReal, I: Isa>(logits: &[T]) -> P<T, I> {
    if let Some(both) = logits.as_chunks().0.first_chunk() {
        return P::<T, I>::load(both);
    }
    let mut lanes = [[T::NEG_INFINITY; LANES]; 2];
    lanes.as_flattened_mut()[..logits.len()].copy_from_slice(logits);
    P::<T, I>::load(&lanes)
}

/// Returns the loss of a node of many classes, the mean over classes, and writes its gradient, times `weight`.
#[inline(never)]
fn many_labels<T: SimdReal>(labels: &[u8], logits: &[T], weight: f64, gamma: f64, out: &mut [T]) -> f64 {
    let per_class = T::from_f64(weight / logits.len() as f64);
    for ((o, &x), &y) in out.iter_mut().zip(logits).zip(labels) {
        let p = T::ONE / (T::ONE + (-x).exp());
        *o = (p - T::from_f64(f64::from(y))) * per_class;
    }
    if gamma == 0.0 {
        return mean_of_labels(labels, logits);
    }
    let mut loss = 0.0;
    for ((o, x), y) in out.iter_mut().zip(logits).zip(labels) {
        let (x, y) = (x.to_f64(), *y == 1);
        let (value, factor) = focal(softplus(if y { -x } else { x }), gamma);
        loss += value / logits.len() as f64;
        *o *= T::from_f64(factor);
    }
    loss
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Returns the focal loss for a cross-entropy `c = -ln p`, and the factor that turns the gradient of the cross-entropy
/// into that of the focal loss: `(1 - p)^gamma + gamma p (1 - p)^(gamma - 1) c`.
fn focal(c: f64, gamma: f64) -> (f64, f64) {
    let (p, miss) = ((-c).exp(), -(-c).exp_m1());
    let power = miss.powf(gamma);
    // c / (1 - p) tends to 1 as p tends to 1.
    let ratio = if miss > 0.0 { c / miss } else { 1.0 };
    (power * c, power * (1.0 + gamma * p * ratio))
}

/// Returns the loss of one node: with multiple labels, the mean over classes.
fn row_loss<T: SimdReal>(labels: &Labels, node: usize, logits: &[T]) -> f64 {
    match labels {
        Labels::Single { of, .. } => {
            let largest = logits.iter().copied().fold(T::NEG_INFINITY, T::max);
            let sum: T = logits.iter().map(|&x| (x - largest).exp()).sum();
            sum.to_f64().ln() + (largest - logits[of[node] as usize]).to_f64()
        }
        Labels::Multi { classes, of } => mean_of_labels(&of[node * classes..], logits),
    }
}

/// Returns the mean loss over the classes of a node.
fn mean_of_labels<T: SimdReal>(labels: &[u8], logits: &[T]) -> f64 {
    let mut sum = SoftplusSum::default();
    for (&x, &y) in logits.iter().zip(labels) {
        sum.add(if y == 1 { -x } else { x });
    }
    sum.total() / logits.len() as f64
}

/// Returns the sum of the losses of the listed nodes, and their counts.
pub fn evaluate<T: SimdReal>(labels: &Labels, nodes: &[u32], logits: &[T]) -> (f64, Counts) {
    let classes = labels.classes();
    let mut loss = 0.0;
    let mut counts = Counts::default();
    for &node in nodes {
        let node = node as usize;
        let row = &logits[node * classes..(node + 1) * classes];
        loss += row_loss(labels, node, row);
        counts += count(labels, node, row);
    }
    (loss, counts)
}

fn count<T: SimdReal>(labels: &Labels, node: usize, logits: &[T]) -> Counts {
    match labels {
        Labels::Single { of, .. } => {
            let right = argmax(logits) == of[node] as usize;
            Counts { hits: u64::from(right), false_alarms: u64::from(!right), misses: u64::from(!right) }
        }
        Labels::Multi { classes, of } => {
            let mut counts = Counts::default();
            for (&x, &y) in logits.iter().zip(&of[node * classes..]) {
                match (x > T::ZERO, y == 1) {
                    (true, true) => counts.hits += 1,
                    (true, false) => counts.false_alarms += 1,
                    (false, true) => counts.misses += 1,
                    (false, false) => {}
                }
            }
            counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::simd::Plain;

    fn plain(settings: &TrainingSettings) -> LabelTerms<'_> {
        LabelTerms { class_weights: &[], total: 1.0, shown: &[], settings }
    }

    #[test]
    fn softplus_sum_is_accurate() {
        let xs: Vec<f64> = (0..3000).map(|k| f64::from(k) * 0.01 - 15.0).collect();
        let mut sum = SoftplusSum::default();
        xs.iter().for_each(|&x| sum.add(x));
        let exact: f64 = xs.iter().map(|x| x.max(0.0) + (-x.abs()).exp().ln_1p()).sum();
        assert!((sum.total() - exact).abs() < 1e-9 * exact);
        let mut sum = SoftplusSum::default();
        sum.add(f64::NAN);
        assert!(sum.total().is_nan());
    }

    #[test]
    fn softplus_lanes_add_the_terms_that_count() {
        type Lanes = [Plain<f64>; 2];
        let add = |sum: &mut SoftplusLanes<Lanes>, counts, xs: &[[f64; LANES]; 2]| {
            let x = Lanes::load(xs);
            sum.add(counts, x, x.exp_of_minus_abs());
        };
        let (mut sum, mut exact) = (SoftplusLanes::new(), SoftplusSum::default());
        for k in 0..100 {
            let xs: [_; 2] = std::array::from_fn(|h| std::array::from_fn(|l| f64::from(k) * 0.3 - (8 * h + l) as f64));
            add(&mut sum, [0b0110_0001, k as u8], &xs);
            let bits = u32::from(k as u8) << 8 | 0b0110_0001;
            let counted = (0..16).filter(|l| bits >> l & 1 == 1);
            counted.for_each(|l| exact.add(xs.as_flattened()[l]));
        }
        let (found, exact) = (sum.total(), exact.total());
        assert!((found - exact).abs() < 1e-9 * exact, "{found} {exact}");
        let mut sum = SoftplusLanes::new();
        add(&mut sum, [0, 1], &[[f64::NAN; LANES]; 2]);
        assert!(sum.total().is_nan());
    }

    /// The expected loss is -ln(e^2 / (e^1 + e^2 + e^0)).
    #[test]
    fn cross_entropy_and_gradient_match_worked_example() {
        let labels = Labels::Single { classes: 3, of: vec![1, Labels::UNKNOWN] };
        let parts = Parts::even(0..2, 1);
        let mut gradient = [9.0; 6];
        let logits = [1.0, 2.0, 0.0, 5.0, 5.0, 5.0];
        let loss = label_loss_backward(
            &parts,
            &labels,
            &[true, false],
            plain(&TrainingSettings::default()),
            &logits,
            &mut gradient,
            &mut vec![0.0; parts.len()],
        );
        assert!((loss - 0.407_605_964_444_380_2_f64).abs() < 1e-12);
        let expected = [0.244_728_471_054_797_67, -0.334_759_044_225_178_1, 0.090_030_573_170_380_45, 0.0, 0.0, 0.0];
        assert!(gradient.iter().zip(expected).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn gradients_match_finite_differences() {
        let single = Labels::Single { classes: 3, of: vec![2, 0, 1, 1] };
        let multi = Labels::Multi { classes: 3, of: vec![1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0] };
        let chosen = [true, true, false, true];
        let logits: Vec<f64> = (0..12).map(|k| f64::from(k * 7 % 11) * 0.3 - 1.5).collect();
        let parts = Parts::even(0..4, 1);
        let of_gamma = |focal_gamma| TrainingSettings { focal_gamma, ..TrainingSettings::default() };
        let [cross_entropy, weak, medium, strong] = [0.0, 0.5, 1.5, 2.0].map(of_gamma);
        let plain = plain(&cross_entropy);
        let shown = LabelTerms { shown: &[0, 1, 1, 0], total: 2.0, ..plain };
        let plain = LabelTerms { total: 3.0, ..plain };
        let weighted = LabelTerms { class_weights: &[0.5, 4.0, 2.0], total: 6.5, ..plain };
        let focal = LabelTerms { settings: &strong, ..plain };
        let weak = LabelTerms { settings: &weak, ..plain };
        let both = LabelTerms { settings: &medium, ..weighted };
        let cases = [(&single, plain), (&single, weighted), (&single, focal), (&single, weak), (&single, both)];
        let of_multi = [plain, focal, weak, shown].map(|terms| (&multi, terms));
        for (labels, terms) in cases.into_iter().chain([(&single, shown)]).chain(of_multi) {
            let f = |logits: &[f64], gradient: &mut [f64]| {
                label_loss_backward(&parts, labels, &chosen, terms, logits, gradient, &mut vec![0.0; parts.len()])
            };
            let mut gradient = vec![0.0; 12];
            f(&logits, &mut gradient);
            assert_eq!(gradient[3..6] == [0.0; 3], !terms.shown.is_empty(), "node 1 shows its label");
            for k in 0..12 {
                let mut moved = [logits.clone(), logits.clone()];
                moved[0][k] += 1e-6;
                moved[1][k] -= 1e-6;
                let slope = (f(&moved[0], &mut [0.0; 12]) - f(&moved[1], &mut [0.0; 12])) / 2e-6;
                assert!((gradient[k] - slope).abs() < 1e-9, "{k}: {} and {slope}", gradient[k]);
            }
        }
    }

    /// -0.75^2 ln 0.25 for p = 1 / 4, and no loss for p = 1.
    #[test]
    fn focal_loss_matches_worked_example() {
        let (value, _) = focal(-(0.25f64.ln()), 2.0);
        assert!((value - 0.779_790_578_130_282_f64).abs() < 1e-12, "{value}");
        for gamma in [0.5, 1.0, 2.0] {
            assert_eq!(focal(0.0, gamma), (0.0, 0.0));
        }
        assert_eq!(focal(0.7, 0.0), (0.7, 1.0 + 0.0));
    }

    #[test]
    fn micro_f1_of_single_labels_is_accuracy() {
        let labels = Labels::Single { classes: 2, of: vec![0, 1, 1] };
        let (_, counts) = evaluate(&labels, &[0, 1, 2], &[1.0f32, 0.0, 0.0, 1.0, 2.0, 1.0]);
        assert!((counts.micro_f1() - 2.0 / 3.0).abs() < 1e-12);
        let labels = Labels::Multi { classes: 2, of: vec![1, 0, 1, 1] };
        let (_, counts) = evaluate(&labels, &[0, 1], &[1.0f32, 1.0, -1.0, 1.0]);
        assert_eq!(counts, Counts { hits: 2, false_alarms: 1, misses: 1 });
        assert_eq!(Counts::default().micro_f1(), 0.0);
    }
}
