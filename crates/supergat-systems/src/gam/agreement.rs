//! The agreement model: a network that says whether two nodes have the same class.
//!
//! ```text
//! e_i  = relu(x_i W + b)
//! z_ij = sum_k u_k (e_ik - e_jk)^2 + c          g_ij = sigmoid(z_ij)
//!
//! L    = mean over pairs of  softplus(z) - y z               y = 1 if both nodes have the same class
//! dL/dz = (g - y) / pairs
//! dL/du = sum dz (e_i - e_j)^2                  dL/dc = sum dz
//! dL/de_i = 2 dz u (e_i - e_j) = -dL/de_j       dL/dW = sum_i x_i^T (de_i [e_i > 0])
//! ```

use super::pairs::{LabelledPair, Pairs};
use crate::learned::Learned;
use supergat_core::hyperparameters::GamOptions;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Features, HeadLayout};
use supergat_cpu::kernels::{Adam, Compressed, Parts, Primitives};

/// Number of pairs in a step.
const BATCH: usize = 128;
/// Steps without improvement on held-out pairs after which training ends, as a share of all steps.
const PATIENCE: usize = 4;
/// Number of steps between two evaluations on held-out pairs.
const EVALUATE_EVERY: usize = 10;
/// Maximum number of held-out pairs.
const MOST_HELD_OUT: usize = 1000;

/// A model that says whether two nodes have the same class.
#[derive(Debug)]
pub(super) struct AgreementModel<T> {
    options: GamOptions,
    columns: usize,
    stride: usize,
    /// W, with a row per feature.
    encoder: Learned<T>,
    /// b.
    bias: Learned<T>,
    /// u, and c in the first number behind it.
    weight: Learned<T>,
    best: [Buffer<T>; 3],
    batch: Batch<T>,
}

/// Rows of the nodes of some pairs, and the memory of passes over them.
#[derive(Debug)]
struct Batch<T> {
    rows: usize,
    offsets: Vec<u64>,
    index: Vec<u32>,
    values: Vec<T>,
    parts: Parts,
    /// One part, because a copy of all weights per part costs more than it saves.
    whole: Parts,
    encodings: Buffer<T>,
    gradient: Buffer<T>,
    pairs: Vec<LabelledPair>,
}

impl<T: Primitives> Batch<T> {
    fn new(features: &Features<T>, pairs: usize, stride: usize) -> Self {
        let rows = 2 * pairs;
        let longest = match features {
            Features::Dense { columns, .. } => *columns,
            Features::Sparse(m) => (0..m.rows()).map(|row| m.row(row).0.len()).max().unwrap_or(0),
        };
        Self {
            rows,
            offsets: Vec::with_capacity(rows + 1),
            index: Vec::with_capacity(rows * longest),
            values: Vec::with_capacity(rows * longest),
            parts: Parts::even(0..rows, 64 * stride),
            whole: Parts::for_copies(0..rows, |row| row as u64, rows),
            encodings: Buffer::zeros(rows * stride),
            gradient: Buffer::zeros(rows * stride),
            pairs: Vec::with_capacity(pairs),
        }
    }

    /// Copies the features of both nodes of each pair; rows behind those of the pairs are empty.
    fn gather(&mut self, features: &Features<T>) {
        self.offsets.clear();
        self.index.clear();
        self.values.clear();
        self.offsets.push(0);
        for node in self.pairs.iter().flat_map(|pair| pair.nodes) {
            match features {
                Features::Dense { columns, values, .. } => {
                    self.index.extend(0..*columns as u32);
                    self.values.extend_from_slice(&values[node as usize * columns..][..*columns]);
                }
                Features::Sparse(m) => {
                    let (index, values) = m.row(node as usize);
                    self.index.extend_from_slice(index);
                    self.values.extend_from_slice(values);
                }
            }
            self.offsets.push(self.values.len() as u64);
        }
        self.offsets.resize(self.rows + 1, self.values.len() as u64);
    }
}

impl<T: Primitives> AgreementModel<T> {
    /// Allocates a model for nodes with these features.
    pub(super) fn new(features: &Features<T>, options: &GamOptions) -> Self {
        let (columns, stride) = (features.columns(), HeadLayout::plain(options.agreement_hidden).stride());
        let lengths = Self::lengths(columns, stride);
        let [encoder, bias, weight] = lengths.map(Learned::zeros);
        let best = lengths.map(Buffer::zeros);
        let batch = Batch::new(features, BATCH, stride);
        Self { options: *options, columns, stride, encoder, bias, weight, best, batch }
    }

    fn lengths(columns: usize, stride: usize) -> [usize; 3] {
        [columns * stride, stride, stride + 8]
    }

    /// Returns the number of bytes of a model for features with these columns, and of the encodings of `nodes` nodes.
    pub(super) fn bytes(columns: usize, nodes: usize, options: &GamOptions) -> u64 {
        let stride = HeadLayout::plain(options.agreement_hidden).stride();
        let learned: usize = Self::lengths(columns, stride).iter().sum();
        let rows = nodes + 4 * BATCH;
        Learned::<T>::bytes(learned) + ((learned + rows * stride) * size_of::<T>()) as u64
    }

    /// Draws new weights, and trains on pairs until those held out are not predicted better.
    pub(super) fn fit(&mut self, features: &Features<T>, pairs: &Pairs, seed: u64) {
        let stream = |layer, purpose| Stream::new(seed, 0, layer, purpose);
        self.encoder.draw(
            stream(0, Purpose::AgreementWeights),
            [self.columns, self.options.agreement_hidden],
            self.stride,
        );
        self.weight.draw(stream(1, Purpose::AgreementWeights), [1, self.options.agreement_hidden], self.stride);
        self.weight.value[self.stride] = T::ZERO;
        self.bias.value.fill(T::ZERO);
        self.bias.forget();
        let held_out = pairs.held_out(MOST_HELD_OUT);
        let patience = (self.options.agreement_steps / PATIENCE).max(1);
        let (mut best, mut since, mut drawn) = (-1.0, 0, 0);
        for step in 0..self.options.agreement_steps {
            self.batch.pairs.clear();
            pairs.draw(stream(0, Purpose::AgreementPairs), &mut drawn, BATCH, &mut self.batch.pairs);
            if self.batch.pairs.is_empty() {
                break;
            }
            self.backward(features);
            let adam = Adam { lr: self.options.agreement_lr, lambda_2: 0.0, step: step as u64 + 1 };
            for learned in [&mut self.encoder, &mut self.bias, &mut self.weight] {
                learned.step(adam);
            }
            since += 1;
            // Few labelled nodes have no pair to hold out. The last weights are kept then.
            let is_time = (step + 1) % EVALUATE_EVERY == 0 || step + 1 == self.options.agreement_steps;
            if is_time && !held_out.is_empty() {
                let accuracy = self.accuracy(features, &held_out);
                if accuracy > best {
                    (best, since) = (accuracy, 0);
                    let now = [&self.encoder.value, &self.bias.value, &self.weight.value];
                    self.best.iter_mut().zip(now).for_each(|(best, now)| best.copy_from_slice(now));
                } else if since >= patience {
                    break;
                }
            }
        }
        if best >= 0.0 {
            let now = [&mut self.encoder.value, &mut self.bias.value, &mut self.weight.value];
            now.into_iter().zip(&self.best).for_each(|(now, best)| now.copy_from_slice(best));
        }
    }

    /// Computes the gradients for the pairs of the batch. Returns the loss.
    fn backward(&mut self, features: &Features<T>) -> f64 {
        self.batch.gather(features);
        let Batch { offsets, index, values, parts, whole, encodings, gradient, pairs, .. } = &mut self.batch;
        let (stride, x) = (self.stride, Compressed { offsets, index, values });
        T::sparse_product(parts, x, None, &self.encoder.value, stride, encodings);
        activate(encodings, &self.bias.value);
        self.weight.gradient.fill(T::ZERO);
        self.bias.gradient.fill(T::ZERO);
        gradient.fill(T::ZERO);
        let share = 1.0 / pairs.len().max(1) as f64;
        let (u, c) = self.weight.value.split_at(stride);
        let mut loss = 0.0;
        for ((pair, e), d) in
            pairs.iter().zip(encodings.chunks_exact(2 * stride)).zip(gradient.chunks_exact_mut(2 * stride))
        {
            let (first, second) = e.split_at(stride);
            let z = score(first, second, u, c[0]).to_f64();
            let y = f64::from(u8::from(pair.agrees));
            loss += share * (z.max(0.0) + (-z.abs()).exp().ln_1p() - y * z);
            let dz = T::from_f64(share * (sigmoid(z) - y));
            let (d_first, d_second) = d.split_at_mut(stride);
            let (du, dc) = self.weight.gradient.split_at_mut(stride);
            dc[0] += dz;
            let ends = first.iter().zip(second).zip(d_first.iter_mut().zip(d_second));
            for (((a, b), (d_a, d_b)), (u, du)) in ends.zip(u.iter().zip(du)) {
                let difference = *a - *b;
                *du += dz * difference * difference;
                let de = (dz + dz) * *u * difference;
                *d_a = if *a > T::ZERO { de } else { T::ZERO };
                *d_b = if *b > T::ZERO { -de } else { T::ZERO };
            }
        }
        for row in gradient.chunks_exact(stride) {
            T::add_list(&mut self.bias.gradient, row);
        }
        T::sparse_transposed_product(whole, x, None, gradient, stride, &mut [], &mut self.encoder.gradient);
        loss
    }

    /// Returns the share of pairs that are predicted right.
    fn accuracy(&mut self, features: &Features<T>, pairs: &[LabelledPair]) -> f64 {
        let mut right = 0;
        for chunk in pairs.chunks(BATCH) {
            self.batch.pairs.clear();
            self.batch.pairs.extend_from_slice(chunk);
            self.batch.gather(features);
            let Batch { offsets, index, values, parts, encodings, .. } = &mut self.batch;
            T::sparse_product(
                parts,
                Compressed { offsets, index, values },
                None,
                &self.encoder.value,
                self.stride,
                encodings,
            );
            activate(encodings, &self.bias.value);
            let (u, c) = self.weight.value.split_at(self.stride);
            for (pair, e) in chunk.iter().zip(encodings.chunks_exact(2 * self.stride)) {
                let (first, second) = e.split_at(self.stride);
                right += usize::from((score(first, second, u, c[0]) >= T::ZERO) == pair.agrees);
            }
        }
        right as f64 / pairs.len().max(1) as f64
    }

    /// Returns the probability that both nodes of a pair have the same class, for each pair.
    pub(super) fn agreement(&self, features: &Features<T>, pairs: &[[u32; 2]]) -> Vec<T> {
        let (rows, stride) = (features.rows(), self.stride);
        let mut encodings = Buffer::zeros(rows * stride);
        let parts = Parts::even(0..rows, stride);
        match features {
            Features::Dense { columns, values, .. } => {
                let x = supergat_cpu::kernels::Dense { values: &values[..], columns: *columns };
                T::dense_product(&parts, x, None, &self.encoder.value, stride, &mut encodings);
            }
            Features::Sparse(m) => {
                let x = Compressed { offsets: m.offsets(), index: m.column_of(), values: m.values() };
                T::sparse_product(&parts, x, None, &self.encoder.value, stride, &mut encodings);
            }
        }
        activate(&mut encodings, &self.bias.value);
        let (u, c) = self.weight.value.split_at(stride);
        let row = |node: u32| &encodings[node as usize * stride..][..stride];
        let of = |&[i, j]: &[u32; 2]| T::from_f64(sigmoid(score(row(i), row(j), u, c[0]).to_f64()));
        pairs.iter().map(of).collect()
    }
}

/// Adds the bias to every row and sets negative numbers to zero.
fn activate<T: Primitives>(rows: &mut [T], bias: &[T]) {
    for row in rows.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(v, b)| *v = (*v + *b).max(T::ZERO));
    }
}

/// Returns z of two encodings.
fn score<T: Primitives>(first: &[T], second: &[T], u: &[T], c: T) -> T {
    let mut sum = c;
    for ((a, b), u) in first.iter().zip(second).zip(u) {
        let difference = *a - *b;
        sum += *u * difference * difference;
    }
    sum
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::SparseMatrix;

    fn features() -> Features<f64> {
        let stream = Stream::new(3, 0, 0, Purpose::SyntheticFeatures);
        Features::dense(6, 5, (0..30).map(|k| stream.uniform(k) - 0.3).collect()).unwrap()
    }

    fn options(agreement_steps: usize) -> GamOptions {
        GamOptions { agreement_hidden: 3, agreement_lr: 0.01, agreement_steps, ..GamOptions::default() }
    }

    fn model(features: &Features<f64>) -> AgreementModel<f64> {
        let mut model = AgreementModel::new(features, &options(1));
        let stream = |layer| Stream::new(1, 0, layer, Purpose::AgreementWeights);
        model.encoder.draw(stream(0), [5, 3], model.stride);
        model.weight.draw(stream(1), [1, 3], model.stride);
        model.weight.value[model.stride] = 0.3;
        model.bias.value[..3].copy_from_slice(&[0.1, -0.2, 0.3]);
        let pair = |nodes, agrees| LabelledPair { nodes, agrees };
        model.batch.pairs.extend([pair([0, 1], true), pair([2, 0], false), pair([4, 5], true), pair([3, 1], false)]);
        model
    }

    #[test]
    fn learns_which_nodes_agree() {
        // Two classes, one for each sign of the feature.
        let features = Features::dense(8, 1, vec![1.0f32, 0.9, 0.8, 1.1, -1.0, -0.9, -0.8, -1.1]).unwrap();
        let pairs = Pairs::new(&[0, 1, 2, 4, 5, 6], &[0, 0, 0, 0, 1, 1, 1, 1], 2, 0);
        let options = GamOptions { agreement_hidden: 8, agreement_lr: 0.05, ..options(200) };
        let mut model = AgreementModel::new(&features, &options);
        model.fit(&features, &pairs, 0);
        let agreement = model.agreement(&features, &[[3, 0], [3, 7]]);
        assert!(agreement[0] > 0.5 && agreement[1] < 0.1, "{agreement:?}");
    }

    #[test]
    fn gradients_match_finite_differences() {
        let features = features();
        let mut model = model(&features);
        model.backward(&features);
        type Part = fn(&mut AgreementModel<f64>) -> &mut Learned<f64>;
        let parts: [Part; 3] = [|m| &mut m.encoder, |m| &mut m.bias, |m| &mut m.weight];
        let mut checked = 0;
        for part in parts {
            let gradient = part(&mut model).gradient.to_vec();
            for (k, exact) in gradient.into_iter().enumerate() {
                let value = part(&mut model).value[k];
                let mut at = |shift: f64| {
                    part(&mut model).value[k] = value + shift;
                    model.backward(&features)
                };
                let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
                part(&mut model).value[k] = value;
                assert!((numeric - exact).abs() < 1e-8, "{k}: {numeric} {exact}");
                checked += usize::from(exact != 0.0);
            }
        }
        assert!(checked > 15, "{checked}");
    }

    /// With few labelled nodes, no pair is held out. Later steps must not be thrown away then.
    #[test]
    fn without_held_out_pairs_the_last_weights_are_kept() {
        let features = features();
        let pairs = |seed| Pairs::new(&[0, 1, 2, 3], &[0, 0, 1, 1, 0, 0], 2, seed);
        let pairs = (0..).map(pairs).find(|pairs| pairs.held_out(MOST_HELD_OUT).is_empty()).unwrap();
        let fitted = |max_steps| {
            let mut model = AgreementModel::new(&features, &options(max_steps));
            model.fit(&features, &pairs, 1);
            model.agreement(&features, &[[0, 1], [0, 2]])
        };
        assert_ne!(fitted(EVALUATE_EVERY), fitted(8 * EVALUATE_EVERY));
    }

    #[test]
    fn sparse_features_give_the_same_agreement() {
        let dense = features();
        let offsets = (0..=6).map(|row| row * 5).collect();
        let index = (0..30).map(|k| k % 5).collect();
        let sparse = Features::Sparse(SparseMatrix::new(5, offsets, index, dense.values().to_vec()).unwrap());
        let [mut first, mut second] = [model(&dense), model(&sparse)];
        assert!((first.backward(&dense) - second.backward(&sparse)).abs() < 1e-12);
        let pairs = [[0, 1], [2, 5]];
        let [a, b] = [first.agreement(&dense, &pairs), second.agreement(&sparse, &pairs)];
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
