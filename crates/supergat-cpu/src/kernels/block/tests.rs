//! Blocks compared with plain loops, on layouts with and without padding and on rows of several parts.

use super::activation::activate;
use super::*;
use crate::kernels::output::sum_parts;
use crate::kernels::parts::{MOST_PARTS, Parts};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Activation, HeadLayout};

const LAYOUTS: [(usize, usize); 6] = [(1, 3), (1, 16), (3, 2), (8, 2), (9, 3), (4, 5)];

/// Returns numbers with zero padding: a row per node, in the layout of the kernels.
fn rows(layout: HeadLayout, nodes: usize, salt: u16) -> Vec<f64> {
    let stream = Stream::new(3, 0, salt, Purpose::Weights);
    let mut all = vec![0.0; nodes * layout.stride()];
    for node in 0..nodes {
        for (k, place) in layout.canonical().enumerate() {
            all[node * layout.stride() + place] = stream.normal_pair((node * 1000 + k) as u64)[0] + 0.3;
        }
    }
    all
}

fn close(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-11, "{what}: found {found}, expected {expected}");
}

#[test]
fn layer_norm_leaves_padding_out() {
    for (heads, features) in LAYOUTS {
        let (layout, nodes) = (HeadLayout::new(heads, features), 300);
        let stride = layout.stride();
        let parts = Parts::even(0..nodes, 64);
        let [sums, input] = [1, 2].map(|salt| rows(layout, nodes, salt));
        let [bias, weight, shift] = [3, 4, 5].map(|salt| rows(layout, 1, salt));
        let (mut out, mut normalised, mut inverse) = (vec![9.0; sums.len()], vec![9.0; sums.len()], vec![9.0; nodes]);
        let norm = RowNorm { weight: &weight, bias: &shift, normalised: &mut normalised, inverse: &mut inverse };
        let finish = Finish::Layer(Activation::Relu, norm);
        block_forward(&parts, layout, &bias, &sums, Shortcut::Rows(&input, None), finish, &mut out);
        for node in 0..nodes {
            let places: Vec<usize> = layout.canonical().collect();
            let at = |list: &[f64], place: usize| list[node * stride + place];
            let y: Vec<f64> = places.iter().map(|&p| at(&sums, p) + at(&input, p) + bias[p]).collect();
            let mean = y.iter().sum::<f64>() / y.len() as f64;
            let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64;
            close("inverse", inverse[node], 1.0 / (variance + NORM_EPSILON).sqrt());
            for (&place, y) in places.iter().zip(&y) {
                let x = (y - mean) * inverse[node];
                close("normalised", at(&normalised, place), x);
                close("output", at(&out, place), (weight[place] * x + shift[place]).max(0.0));
            }
            let used = |place: &usize| places.contains(place);
            assert!((0..stride).filter(|place| !used(place)).all(|place| at(&out, place) == 0.0), "padding");
        }
    }
}

#[test]
fn batch_norm_has_the_statistics_of_columns() {
    for (heads, features) in LAYOUTS {
        let (layout, nodes) = (HeadLayout::new(heads, features), 3001);
        let stride = layout.stride();
        let parts = Parts::even(0..nodes, 64);
        assert!(parts.len() > 8 && parts.len() <= MOST_PARTS);
        let values = rows(layout, nodes, 1);
        let mut partial = vec![9.0; parts.len() * stride];
        let (mut mean, mut variance) = (vec![9.0; stride], vec![9.0; stride]);
        column_sums(&parts, stride, &values, None, &mut partial);
        sum_parts(parts.len(), &partial, &mut mean);
        mean.iter_mut().for_each(|mean| *mean /= nodes as f64);
        column_sums(&parts, stride, &values, Some(&mean), &mut partial);
        sum_parts(parts.len(), &partial, &mut variance);
        for column in 0..stride {
            let of_column = || values.iter().skip(column).step_by(stride);
            let expected = of_column().sum::<f64>() / nodes as f64;
            close("mean", mean[column], expected);
            close("variance", variance[column] / 1e3, of_column().map(|v| (v - expected).powi(2)).sum::<f64>() / 1e3);
        }
        let [weight, bias] = [2, 3].map(|salt| rows(layout, 1, salt));
        let inverse: Vec<f64> = variance.iter().map(|v| 1.0 / (v / nodes as f64 + NORM_EPSILON).sqrt()).collect();
        let norm = ColumnNorm { mean: &mean, inverse: &inverse, weight: &weight, bias: &bias };
        let (mut out, mut normalised) = (values.clone(), vec![9.0; values.len()]);
        columns_forward(&parts, Activation::Elu, norm, &mut out, &mut normalised);
        for (k, y) in values.iter().enumerate() {
            let column = k % stride;
            let x = (y - mean[column]) * inverse[column];
            close("normalised", normalised[k], x);
            let x = weight[column] * x + bias[column];
            close("output", out[k], if x > 0.0 { x } else { x.exp() - 1.0 });
        }
    }
}

#[test]
fn activations_keep_nan() {
    use crate::kernels::simd::{Arithmetic, Lanes, Plain};
    for activation in [Activation::Elu, Activation::Relu] {
        assert!(activate(activation, Plain::<f64>::splat(f64::NAN)).array()[0].is_nan());
        assert_eq!(activate(activation, Plain::<f64>::splat(2.0)).array()[0], 2.0);
    }
    assert_eq!(activate(Activation::Relu, Plain::<f64>::splat(-2.0)).array()[0], 0.0);
}
