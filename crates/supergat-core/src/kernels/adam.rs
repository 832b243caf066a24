//! Adam (Kingma & Ba 2014) with coupled weight decay: the decay is part of the gradient.
//!
//! `g <- g + lambda_2 w;  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr m^ / (sqrt(v^) + eps)`,
//! where `m^ = m / (1 - b1^t)` and `v^ = v / (1 - b2^t)`.

use super::parts::{Rows, for_each_chunk};
use super::simd::{Isa, Kernel, Real, dispatch};

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
pub fn adam<T: Real>(adam: Adam, weights: &mut [T], gradient: &[T], moment1: &mut [T], moment2: &mut [T]) {
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

struct Update<'a, T> {
    w: &'a mut [T],
    g: &'a [T],
    m: &'a mut [T],
    v: &'a mut [T],
    rate: T,
    correction: T,
    decay: T,
}

impl<T: Real> Kernel for Update<'_, T> {
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
}
