//! Labels as input: rows with a number per class that follow the features of a node.
//!
//! ```text
//! y_i = one-hot label (0/1 of each class, if a node may have several)      nodes that show their label
//! y_i = 0, or the probabilities of the previous pass (label reuse)         all other nodes
//! z   = drop(X) W + drop(Y) V        d V = drop(Y)^T d z
//! ```
//!
//! Most rows have one number or none, so products skip zeros. Rows are stored after dropout.

use super::dense::Dense;
use super::parts::{Parts, Rows};
use super::simd::{Isa, Kernel, dispatch, vectors, vectors_mut};
use super::sparse::{Entries, GATHER, Numbers, add_rows, add_to_rows};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::example::NO_PLACE;
use supergat_core::heads::LANES;
use supergat_core::random::{Permutation, Stream};
use supergat_core::{Dropout, Labels};

/// Choice of the training nodes that show their label: those whose place has an image below `shown`.
#[derive(Debug, Clone, Copy)]
pub struct LabelChoice {
    /// Permutation of the places of training nodes.
    pub permutation: Permutation,
    /// Number of training nodes that show their label.
    pub shown: u64,
}

/// Dropout of rows of labels: a bit per node and class, where each row starts a new byte.
#[derive(Debug, Clone, Copy)]
pub struct LabelDropout {
    /// Random numbers.
    pub stream: Stream,
    /// Probability.
    pub dropout: Dropout,
}

impl LabelDropout {
    fn apply<T: SimdReal>(self, node: usize, row: &mut [T]) {
        let (bytes, scale) = (row.len().div_ceil(8), self.dropout.scale());
        for (b, values) in row.chunks_mut(8).enumerate() {
            if values.iter().all(|value| *value == T::ZERO) {
                continue;
            }
            let keep = self.dropout.byte(&self.stream, (node * bytes + b) as u64);
            for (bit, value) in values.iter_mut().enumerate() {
                *value = if keep >> bit & 1 == 1 { *value * scale } else { T::ZERO };
            }
        }
    }
}

/// Writes a row per node, and a byte per node that is 1 where it shows its label. `places` are the places of nodes among
/// the training nodes. Without `choice`, all training nodes show their label; labels of other nodes are not read.
pub fn show_labels<T: SimdReal>(
    parts: &Parts,
    labels: &Labels,
    places: &[u32],
    choice: Option<LabelChoice>,
    dropout: Option<LabelDropout>,
    shown: &mut [u8],
    rows: &mut [T],
) {
    let width = labels.classes();
    let is_shown = |place: u32| {
        place != NO_PLACE && choice.is_none_or(|choice| choice.permutation.apply(place.into()) < choice.shown)
    };
    parts.for_each((Rows { data: shown, width: 1 }, Rows { data: rows, width }), |nodes, (shown, rows)| {
        for ((node, shown), row) in nodes.zip(shown.data).zip(rows.data.chunks_exact_mut(width)) {
            row.fill(T::ZERO);
            *shown = is_shown(places[node]).into();
            if *shown == 0 {
                continue;
            }
            match labels {
                Labels::Single { of, .. } => row[of[node] as usize] = T::ONE,
                Labels::Multi { of, .. } => {
                    row.iter_mut().zip(&of[node * width..]).for_each(|(y, &label)| *y = T::from_f64(label.into()));
                }
            }
            if let Some(dropout) = dropout {
                dropout.apply(node, row);
            }
        }
    });
}

/// Writes the probabilities of the classes, from the logits, to the rows of nodes that do not show their label.
pub fn reuse_labels<T: SimdReal>(
    parts: &Parts,
    labels: &Labels,
    shown: &[u8],
    dropout: Option<LabelDropout>,
    logits: &[T],
    rows: &mut [T],
) {
    let width = labels.classes();
    parts.for_each(Rows { data: rows, width }, |nodes, rows| {
        for (node, row) in nodes.zip(rows.data.chunks_exact_mut(width)) {
            if shown[node] == 1 {
                continue;
            }
            let logits = &logits[node * width..(node + 1) * width];
            if labels.is_multi() {
                row.iter_mut().zip(logits).for_each(|(y, &x)| *y = T::ONE / (T::ONE + (-x).exp()));
            } else {
                let largest = logits.iter().copied().fold(T::NEG_INFINITY, T::max);
                row.iter_mut().zip(logits).for_each(|(y, &x)| *y = (x - largest).exp());
                let sum: T = row.iter().copied().sum();
                row.iter_mut().for_each(|y| *y = *y / sum);
            }
            if let Some(dropout) = dropout {
                dropout.apply(node, row);
            }
        }
    });
}

/// Computes `out += Y M` for rows of labels `Y`; `M` has a row of `stride` numbers per class.
pub fn label_product<T: SimdReal>(parts: &Parts, y: Dense<'_, T>, m: &[T], stride: usize, out: &mut [T]) {
    parts.for_each(Rows { data: out, width: stride }, |rows, out| {
        dispatch(Product { y, m: vectors(m), width: stride / LANES, rows, out: vectors_mut(out.data) });
    });
}

struct Product<'a, T> {
    y: Dense<'a, T>,
    m: &'a [[T; LANES]],
    width: usize,
    rows: Range<usize>,
    out: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for Product<'_, T> {
    type Number = T;
    type Output = ();
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (row, out) in self.rows.zip(self.out.chunks_exact_mut(self.width)) {
            nonzero(self.y, row, |entries| add_rows::<T, I>(out, entries, self.m, self.width));
        }
    }
}

/// Computes `out = Y^T G` for rows of labels `Y`; `G` has `stride` numbers per row. Each part of the rows sums into its
/// own copy of `out` in `copies`; the copies are then added in the order of the parts.
pub fn label_gradient<T: SimdReal>(
    parts: &Parts,
    y: Dense<'_, T>,
    g: &[T],
    stride: usize,
    copies: &mut [T],
    out: &mut [T],
) {
    parts.for_each_copy(copies, out, |rows, out| {
        dispatch(Gradient { y, g: vectors(g), width: stride / LANES, rows, out: vectors_mut(out) });
    });
}

struct Gradient<'a, T> {
    y: Dense<'a, T>,
    g: &'a [[T; LANES]],
    width: usize,
    rows: Range<usize>,
    out: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for Gradient<'_, T> {
    type Number = T;
    type Output = ();
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.out.fill([T::ZERO; LANES]);
        for row in self.rows {
            let g = &self.g[row * self.width..(row + 1) * self.width];
            nonzero(self.y, row, |entries| add_to_rows::<T, I>(self.out, entries, g));
        }
    }
}

/// Passes the numbers of a row that are not zero to `work`, some at a time.
#[inline(always)]
fn nonzero<T: SimdReal>(y: Dense<'_, T>, row: usize, mut work: impl FnMut(Entries<'_, T>)) {
    let mut numbers = Numbers::new();
    let values = &y.values[row * y.columns..(row + 1) * y.columns];
    for (block, values) in values.chunks(GATHER).enumerate() {
        let mut index = [0; GATHER];
        let mut bits = 0;
        for (k, &y) in values.iter().enumerate() {
            index[k] = (block * GATHER + k) as u32;
            bits |= u64::from(y != T::ZERO) << k;
        }
        if bits != 0 {
            work(Entries::new(&index[..values.len()], values, bits, T::ONE, &mut numbers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::DropoutMask;
    use supergat_core::random::Purpose;

    const PLACES: [u32; 5] = [1, NO_PLACE, 0, 2, 3];

    fn choice(step: u32, shown: u64) -> LabelChoice {
        let permutation = Stream::new(3, step, 0, Purpose::LabelChoice).permutation(4);
        LabelChoice { permutation, shown }
    }

    fn show(labels: &Labels, choice: Option<LabelChoice>, dropout: Option<LabelDropout>) -> (Vec<u8>, Vec<f64>) {
        let (mut shown, mut rows) = (vec![9; 5], vec![9.0; 5 * labels.classes()]);
        show_labels(&Parts::even(0..5, 1), labels, &PLACES, choice, dropout, &mut shown, &mut rows);
        (shown, rows)
    }

    #[test]
    fn training_nodes_show_their_labels() {
        let single = Labels::Single { classes: 2, of: vec![1, 0, 0, 1, 0] };
        let expected = vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        assert_eq!(show(&single, None, None), (vec![1, 0, 1, 1, 1], expected));
        let multi = Labels::Multi { classes: 2, of: vec![1, 1, 1, 1, 0, 0, 0, 1, 1, 0] };
        let expected = vec![1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        assert_eq!(show(&multi, None, None), (vec![1, 0, 1, 1, 1], expected));
    }

    #[test]
    fn a_step_shows_a_number_of_labels() {
        let labels = Labels::Single { classes: 1, of: vec![0; 5] };
        let mut counts = [0; 5];
        for step in 0..300 {
            let (shown, rows) = show(&labels, Some(choice(step, 3)), None);
            assert_eq!(shown.iter().sum::<u8>(), 3);
            assert!(shown.iter().zip(rows).all(|(shown, row)| f64::from(*shown) == row));
            counts.iter_mut().zip(shown).for_each(|(count, shown)| *count += u32::from(shown));
        }
        assert!(counts[1] == 0 && counts.iter().filter(|count| (190..260).contains(*count)).count() == 4, "{counts:?}");
    }

    #[test]
    fn dropout_keeps_the_bits_of_a_mask() {
        let labels = Labels::Multi { classes: 11, of: vec![1; 55] };
        let stream = Stream::new(3, 1, 0, Purpose::LabelDropout);
        let dropout = Dropout::new(0.25);
        let mut bytes = [0; 10];
        dropout.fill(stream, &mut bytes);
        let (_, rows) = show(&labels, None, Some(LabelDropout { stream, dropout }));
        for (k, value) in rows.into_iter().enumerate() {
            let (node, class) = (k / 11, k % 11);
            let is_kept = node != 1 && bytes[2 * node + class / 8] >> (class % 8) & 1 == 1;
            assert_eq!(value, if is_kept { 4.0 / 3.0 } else { 0.0 });
        }
    }

    #[test]
    fn other_nodes_reuse_their_probabilities() {
        let logits = [9.0, 9.0, 3f64.ln(), 0.0, 9.0, 9.0, 9.0, 9.0, 0.0, 0.0];
        let mut rows = vec![7.0; 10];
        let of = |labels: &Labels, rows: &mut Vec<f64>| {
            reuse_labels(&Parts::even(0..5, 1), labels, &[1, 0, 1, 1, 0], None, &logits, rows);
            rows.clone()
        };
        let single = of(&Labels::Single { classes: 2, of: vec![0; 5] }, &mut rows);
        let close = |a: &[f64], b: [f64; 10]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&single, [7.0, 7.0, 0.75, 0.25, 7.0, 7.0, 7.0, 7.0, 0.5, 0.5]));
        let multi = of(&Labels::Multi { classes: 2, of: vec![0; 10] }, &mut rows);
        assert!(close(&multi, [7.0, 7.0, 0.75, 0.5, 7.0, 7.0, 7.0, 7.0, 0.5, 0.5]));
    }

    #[test]
    fn products_match_plain_loops() {
        let (rows, stride) = (3000, 16);
        for columns in [3, 70] {
            let value = |k: usize| ((k * 37 + 11) % 101) as f64 / 100.0 - 0.5;
            let y: Vec<f64> = (0..rows * columns).map(|k| if k % 5 == 2 { value(k) } else { 0.0 }).collect();
            let m: Vec<f64> = (0..columns * stride).map(|k| value(k + 3)).collect();
            let g: Vec<f64> = (0..rows * stride).map(|k| value(k + 7)).collect();
            let (mut out, mut gradient) = (vec![0.5; rows * stride], vec![9.0; columns * stride]);
            let (mut expected, mut slope) = (out.clone(), vec![0.0; columns * stride]);
            for i in 0..rows {
                for k in 0..columns {
                    for c in 0..stride {
                        expected[i * stride + c] += y[i * columns + k] * m[k * stride + c];
                        slope[k * stride + c] += y[i * columns + k] * g[i * stride + c];
                    }
                }
            }
            let dense = Dense { values: &y, columns };
            label_product(&Parts::even(0..rows, 1), dense, &m, stride, &mut out);
            let copies = Parts::for_copies(0..rows, |row| row as u64, 1);
            let mut memory = vec![9.0; copies.len() * gradient.len()];
            label_gradient(&copies, dense, &g, stride, &mut memory, &mut gradient);
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(copies.len() > 1 && close(&out, &expected) && close(&gradient, &slope), "{columns} classes");
        }
    }
}
