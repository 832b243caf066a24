//! Adam (Kingma & Ba 2014) with coupled weight decay: the decay is part of the gradient.
//!
//! `g <- g + lambda_2 w;  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr m^ / (sqrt(v^) + eps)`,
//! where `m^ = m / (1 - b1^t)` and `v^ = v / (1 - b2^t)`.

use super::parts::{Rows, for_each_chunk};
use super::simd::{Isa, Kernel, dispatch};
use crate::kernels::simd::SimdReal;

const B1: f64 = 0.9;
const B2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Hyperparameters of a step of Adam.
#[derive(Debug, Clone, Copy)]
pub struct Adam {
    /// Learning rate.
    pub lr: f64,
    /// Coupled weight decay.
    pub lambda_2: f64,
    /// Number of this step, from 1.
    pub step: u64,
}

/// Updates the weights and both moments in place.
pub fn adam<T: SimdReal>(adam: Adam, weights: &mut [T], gradient: &[T], moment1: &mut [T], moment2: &mut [T]) {
    const CHUNK: usize = 1 << 13;
    let step = i32::try_from(adam.step).unwrap_or(i32::MAX);
    let rate = T::from_f64(adam.lr / (1.0 - B1.powi(step)));
    let correction = T::from_f64(1.0 / (1.0 - B2.powi(step)).sqrt());
    let decay = T::from_f64(adam.lambda_2);
    let len = weights.len();
    let outputs =
        (Rows { data: weights, width: 1 }, Rows { data: moment1, width: 1 }, Rows { data: moment2, width: 1 });
    for_each_chunk(len, CHUNK, outputs, &|range, (w, m, v)| {
        dispatch(Update { w: w.data, g: &gradient[range], m: m.data, v: v.data, rate, correction, decay });
    });
}

/// Gradients of a loss by weights and moments, for the reverse pass over steps of Adam.
#[derive(Debug)]
pub struct AdamGradient<'a, T> {
    /// Gradient by the weights.
    pub weights: &'a [T],
    /// Gradients by both moments, replaced by those by the moments before the step.
    pub moments: [&'a mut [T]; 2],
    /// Gradient by the gradient of the step.
    pub gradient: &'a mut [T],
}

/// Passes the gradients of a loss back through one step of Adam without weight decay. `gradient` is that of the step, and
/// both moments are those after it. The gradient by the weights before the step is that by the weights after it, plus what
/// goes through `to.gradient`.
///
/// ```text
/// a_m <- a_m - a_w r / (s + eps)                        s = sqrt(v) / sqrt(1 - b2^t), r = lr / (1 - b1^t)
/// a_v <- a_v + a_w r m / (s + eps)^2 ds/dv              ds/dv = 0 where v = 0
/// a_g =  (1 - b1) a_m + 2 (1 - b2) g a_v,   a_m <- b1 a_m,   a_v <- b2 a_v
/// ```
pub fn adam_backward<T: SimdReal>(adam: Adam, gradient: &[T], moments: [&[T]; 2], to: AdamGradient<'_, T>) {
    let step = i32::try_from(adam.step).unwrap_or(i32::MAX);
    let rate = T::from_f64(adam.lr / (1.0 - B1.powi(step)));
    let correction = T::from_f64(1.0 / (1.0 - B2.powi(step)).sqrt());
    let [b1, b2, c1, c2, epsilon] = [B1, B2, 1.0 - B1, 1.0 - B2, EPSILON].map(T::from_f64);
    let half = T::from_f64(0.5);
    let [a_m, a_v] = to.moments;
    for (k, a_g) in to.gradient.iter_mut().enumerate() {
        let (a_w, g, m, v) = (to.weights[k], gradient[k], moments[0][k], moments[1][k]);
        let root = v.sqrt();
        let divisor = root * correction + epsilon;
        let by_m = a_m[k] - a_w * rate / divisor;
        let slope = if root > T::ZERO { half * correction / root } else { T::ZERO };
        let by_v = a_v[k] + a_w * rate * m / divisor / divisor * slope;
        *a_g = c1 * by_m + (c2 + c2) * g * by_v;
        a_m[k] = b1 * by_m;
        a_v[k] = b2 * by_v;
    }
}

struct Update<'a, T> {
    w: &'a mut [T],
    g: &'a [T],
    m: &'a mut [T],
    v: &'a mut [T],
    rate: T,
    correction: T,
    decay: T,
}

impl<T: SimdReal> Kernel for Update<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (b1, b2, epsilon) = (T::from_f64(B1), T::from_f64(B2), T::from_f64(EPSILON));
        let (c1, c2) = (T::from_f64(1.0 - B1), T::from_f64(1.0 - B2));
        for (((w, g), m), v) in self.w.iter_mut().zip(self.g).zip(self.m).zip(self.v) {
            let g = *g + self.decay * *w;
            *m = b1 * *m + c1 * g;
            *v = b2 * *v + c2 * g * g;
            *w = *w - self.rate * *m / (v.sqrt() * self.correction + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With gradient 0.5 and no decay, the first step is almost `lr`.
    #[test]
    fn two_steps_match_worked_example() {
        let (mut w, mut m, mut v) = ([1.0f64], [0.0], [0.0]);
        adam(Adam { lr: 0.1, lambda_2: 0.0, step: 1 }, &mut w, &[0.5], &mut m, &mut v);
        assert!((w[0] - (1.0 - 0.1 * 0.5 / (0.5 + 1e-8))).abs() < 1e-15);
        adam(Adam { lr: 0.1, lambda_2: 0.2, step: 2 }, &mut w, &[0.0], &mut m, &mut v);
        let g = 0.2 * 0.900_000_002;
        let m2 = (0.9 * 0.05 + 0.1 * g) / (1.0 - 0.81);
        let v2: f64 = (0.999 * 0.000_25 + 0.001 * g * g) / (1.0 - 0.998_001);
        assert!((w[0] - (0.900_000_002 - 0.1 * m2 / (v2.sqrt() + 1e-8))).abs() < 1e-12);
    }

    #[test]
    fn reverse_pass_matches_finite_differences() {
        let (gradients, weight) = ([0.3f64, -0.2, 0.5], 0.7);
        let at = |k: usize, shift: f64| {
            let (mut w, mut m, mut v) = ([weight], [0.1], [0.02]);
            for (t, g) in gradients.into_iter().enumerate() {
                let g = g + if t == k { shift } else { 0.0 };
                adam(Adam { lr: 0.1, lambda_2: 0.0, step: t as u64 + 4 }, &mut w, &[g], &mut m, &mut v);
            }
            w[0]
        };
        let mut after = Vec::new();
        let (mut w, mut m, mut v) = ([weight], [0.1], [0.02]);
        for (t, g) in gradients.into_iter().enumerate() {
            adam(Adam { lr: 0.1, lambda_2: 0.0, step: t as u64 + 4 }, &mut w, &[g], &mut m, &mut v);
            after.push([m, v]);
        }
        let (mut a_m, mut a_v) = ([0.0], [0.0]);
        for t in (0..3).rev() {
            let mut a_g = [0.0];
            let to = AdamGradient { weights: &[1.0], moments: [&mut a_m, &mut a_v], gradient: &mut a_g };
            let [m, v] = &after[t];
            adam_backward(Adam { lr: 0.1, lambda_2: 0.0, step: t as u64 + 4 }, &gradients[t..=t], [m, v], to);
            let numeric = (at(t, 1e-6) - at(t, -1e-6)) / 2e-6;
            assert!((numeric - a_g[0]).abs() < 1e-8, "{t}: {numeric} {}", a_g[0]);
        }
    }
}
