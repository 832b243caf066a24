//! Learned matrices with gradient and optimiser state.

use crate::kernels::{Adam, Buffer, HeadLayout, Primitives};
use crate::random::Stream;

/// A learned matrix. It is read and written as rows and columns, and stored in the padded layout of the
/// kernels.
///
/// ```
/// use supergat_core::kernels::HeadLayout;
/// use supergat_core::layers::Parameter;
/// let (input, output) = (HeadLayout::plain(2), HeadLayout::plain(3));
/// let mut weight = Parameter::<f32>::weight("layer1.w".into(), input, false, output, 1);
/// weight.set_rows(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!((weight.shape, weight.elements()), ([2, 3], 6));
/// assert_eq!(weight.to_rows(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(weight.value.len(), 2 * output.stride());
/// ```
#[derive(Debug, Clone)]
pub struct Parameter<T> {
    /// Name within the model, such as `layer1.w`.
    pub name: String,
    /// Number of rows and columns.
    pub shape: [usize; 2],
    /// Index into `value` of each element, in row-major order.
    places: Vec<u32>,
    /// Stored numbers. Padding is always zero.
    pub value: Buffer<T>,
    /// Gradient, in the layout of `value`.
    pub gradient: Buffer<T>,
    moments: [Buffer<T>; 2],
}

impl<T: Primitives> Parameter<T> {
    /// Creates a zero matrix stored in `stored` numbers; `places` are the indices of its elements, in
    /// row-major order.
    pub fn new(name: String, shape: [usize; 2], stored: usize, places: impl Iterator<Item = usize>) -> Self {
        let places: Vec<u32> = places.map(|p| u32::try_from(p).expect("fewer than 2^32 weights")).collect();
        debug_assert_eq!(places.len(), shape[0] * shape[1]);
        let zeros = || Buffer::zeros(stored);
        Self { name, shape, places, value: zeros(), gradient: zeros(), moments: [zeros(), zeros()] }
    }

    /// Creates `halves` zero matrices side by side, each from `input` to `output` features. Each input number
    /// has one row in the layout of the output per matrix.
    pub fn weight(name: String, input: HeadLayout, padded_input: bool, output: HeadLayout, halves: usize) -> Self {
        let rows = if padded_input { input.stride() } else { input.features };
        let stride = output.stride();
        let shape = [input.heads * input.features, halves * output.heads * output.features];
        let starts = input.canonical().flat_map(|r| (r * halves..(r + 1) * halves).map(|row| row * stride));
        let places = starts.flat_map(|start| output.canonical().map(move |c| start + c));
        Self::new(name, shape, rows * halves * stride, places)
    }

    /// Creates a zero row in the layout of the output.
    pub fn row(name: String, output: HeadLayout) -> Self {
        Self::new(name, [1, output.heads * output.features], output.stride(), output.canonical())
    }

    /// Draws every element uniformly from +-sqrt(6 / (rows + columns)) (Glorot & Bengio 2010). The values do
    /// not depend on the layout.
    pub fn glorot(&mut self, stream: Stream) {
        self.uniform(stream, (6.0 / (self.shape[0] + self.shape[1]) as f64).sqrt());
    }

    /// Draws every element uniformly from +-`limit`.
    pub fn uniform(&mut self, stream: Stream, limit: f64) {
        for (k, &place) in self.places.iter().enumerate() {
            self.value[place as usize] = T::from_f64(limit * (2.0 * stream.uniform(k as u64) - 1.0));
        }
    }

    /// Returns the elements in row-major order.
    pub fn to_rows(&self) -> Vec<T> {
        self.places.iter().map(|&p| self.value[p as usize]).collect()
    }

    /// Returns the gradient in row-major order.
    pub fn gradient_to_rows(&self) -> Vec<T> {
        self.places.iter().map(|&p| self.gradient[p as usize]).collect()
    }

    /// Sets all elements, in row-major order. Panics if their number differs from the shape.
    pub fn set_rows(&mut self, elements: &[T]) {
        assert_eq!(elements.len(), self.places.len());
        for (&place, &e) in self.places.iter().zip(elements) {
            self.value[place as usize] = e;
        }
    }

    /// Returns the number of elements, without padding.
    pub fn elements(&self) -> usize {
        self.places.len()
    }

    /// Applies one step of the optimiser.
    pub fn update(&mut self, adam: Adam) {
        let [m, v] = &mut self.moments;
        T::adam(adam, &mut self.value, &self.gradient, m, v);
    }
}

/// Returns the name of a layer in files: `layer1` for index 0.
pub(super) fn layer_name(index: u16) -> String {
    format!("layer{}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn reads_back_rows_in_any_layout() {
        let input = HeadLayout::new(3, 2);
        let output = HeadLayout::new(5, 3);
        let mut w = Parameter::<f64>::weight("w".into(), input, true, output, 1);
        assert_eq!((w.shape, w.elements()), ([6, 15], 90));
        let elements: Vec<f64> = (0..90).map(f64::from).collect();
        w.set_rows(&elements);
        assert_eq!(w.to_rows(), elements);
        // From head 2, feature 1 of the input to head 4, feature 2 of the output.
        assert_eq!(w.value[input.index(2, 1) * output.stride() + output.index(4, 2)], 5.0 * 15.0 + 14.0);
    }

    #[test]
    fn glorot_draws_uniformly_from_the_interval() {
        let mut w = Parameter::<f64>::weight("w".into(), HeadLayout::plain(100), false, HeadLayout::new(8, 8), 1);
        w.glorot(Stream::new(0, 0, 0, Purpose::Weights));
        let limit = (6.0f64 / 164.0).sqrt();
        let values = w.to_rows();
        assert!(values.iter().all(|v| v.abs() <= limit));
        let variance = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
        assert!((variance / (limit * limit / 3.0) - 1.0).abs() < 0.05);
    }
}
