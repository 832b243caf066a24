//! Learned matrices with gradient and optimiser state.

use crate::device::{Device, ParameterMemory};
use crate::error::Result;
use crate::heads::HeadLayout;
use crate::memory::Arena;
use crate::random::Stream;
use crate::real::Real;

/// A learned matrix. It is read and written as rows and columns, and stored in the padded layout of the
/// kernels.
///
/// ```
/// use supergat_cpu::Cpu;
/// use supergat_core::HeadLayout;
/// use supergat_core::layers::Parameter;
/// let (device, input, output) = (Cpu::<f32>::default(), HeadLayout::plain(2), HeadLayout::plain(3));
/// let mut weight = Parameter::weight(&device, "layer1.w".into(), input, false, output, 1)?;
/// weight.set_rows(&device, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!((weight.shape, weight.elements()), ([2, 3], 6));
/// assert_eq!(weight.to_rows(&device)?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(weight.value.len(), 2 * output.stride());
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Parameter<D: Device> {
    /// Name within the model, such as `layer1.w`.
    pub name: String,
    /// Number of rows and columns.
    pub shape: [usize; 2],
    /// Index into `value` of each element, in row-major order.
    places: Vec<u32>,
    /// Indices of further copies of each element, relative to its index. Their gradients are equal.
    copies: Vec<usize>,
    /// Number of stored numbers.
    stored: usize,
    /// Whether the optimiser updates it. Running statistics of batch norm are saved like parameters, but not learned.
    pub learned: bool,
    /// Stored numbers. Padding is always zero.
    pub value: D::Numbers,
    /// Gradient, in the layout of `value`.
    pub gradient: D::Numbers,
    moments: [D::Numbers; 2],
}

impl<D: Device> Parameter<D> {
    /// Creates a zero matrix stored in `stored` numbers; `places` are the indices of its elements, in
    /// row-major order.
    pub fn new(
        device: &D,
        name: String,
        shape: [usize; 2],
        stored: usize,
        places: impl Iterator<Item = usize>,
    ) -> Result<Self> {
        let places: Vec<u32> = places.map(|p| u32::try_from(p).expect("fewer than 2^32 weights")).collect();
        debug_assert_eq!(places.len(), shape[0] * shape[1]);
        let mut arena = Arena::allocating();
        let mut zeros = || device.numbers(stored, &mut arena);
        let (value, gradient, moments) = (zeros()?, zeros()?, [zeros()?, zeros()?]);
        Ok(Self { name, shape, places, copies: Vec::new(), stored, learned: true, value, gradient, moments })
    }

    /// Creates `halves` zero matrices side by side, each from `input` to `output` features. Each input number
    /// has one row in the layout of the output per matrix.
    pub fn weight(
        device: &D,
        name: String,
        input: HeadLayout,
        padded_input: bool,
        output: HeadLayout,
        halves: usize,
    ) -> Result<Self> {
        let rows = if padded_input { input.stride() } else { input.features };
        let stride = output.stride();
        let shape = [input.heads * input.features, halves * output.heads * output.features];
        let starts = input.canonical().flat_map(|r| (r * halves..(r + 1) * halves).map(|row| row * stride));
        let places = starts.flat_map(|start| output.canonical().map(move |c| start + c));
        Self::new(device, name, shape, rows * halves * stride, places)
    }

    /// Creates a zero matrix with a row per head, stored as rows of per-head values: one for each column.
    pub fn per_head(device: &D, name: String, layout: HeadLayout, columns: usize) -> Result<Self> {
        let (heads, stride) = (layout.heads, layout.head_stride());
        let places = (0..heads).flat_map(|h| (0..columns).map(move |k| k * stride + h));
        let matrix = Self::new(device, name, [heads, columns], columns * stride, places)?;
        // A vector repeats the values of its heads.
        let lanes = stride / layout.groups;
        Ok(Self { copies: (layout.lane_heads..lanes).step_by(layout.lane_heads).collect(), ..matrix })
    }

    /// Creates a zero row in the layout of the output.
    pub fn row(device: &D, name: String, output: HeadLayout) -> Result<Self> {
        Self::new(device, name, [1, output.heads * output.features], output.stride(), output.canonical())
    }

    /// Returns it as numbers that are not learned.
    pub fn not_learned(self) -> Self {
        Self { learned: false, ..self }
    }

    /// Draws weight and bias of a linear layer uniformly from +-1 / sqrt(input features), as PyTorch does.
    pub fn linear(device: &D, [weight, bias]: [&mut Self; 2], [of_weight, of_bias]: [Stream; 2]) -> Result<()> {
        let limit = 1.0 / (weight.shape[0] as f64).sqrt();
        weight.uniform(device, of_weight, limit)?;
        bias.uniform(device, of_bias, limit)
    }

    /// Draws every element uniformly from +-sqrt(6 / (rows + columns)) (Glorot & Bengio 2010). The values do
    /// not depend on the layout.
    pub fn glorot(&mut self, device: &D, stream: Stream) -> Result<()> {
        self.glorot_of_halves(device, stream, 1)
    }

    /// Draws `halves` matrices side by side, each as [`Parameter::glorot`] draws it.
    pub fn glorot_of_halves(&mut self, device: &D, stream: Stream, halves: usize) -> Result<()> {
        self.uniform(device, stream, (6.0 / (self.shape[0] + self.shape[1] / halves) as f64).sqrt())
    }

    /// Draws every element uniformly from +-`limit`.
    pub fn uniform(&mut self, device: &D, stream: Stream, limit: f64) -> Result<()> {
        let draw = |k: usize| D::Number::from_f64(limit * (2.0 * stream.uniform(k as u64) - 1.0));
        self.set_rows(device, &(0..self.places.len()).map(draw).collect::<Vec<_>>())
    }

    /// Returns the elements in row-major order.
    pub fn to_rows(&self, device: &D) -> Result<Vec<D::Number>> {
        self.rows_of(device, &self.value)
    }

    /// Returns the gradient in row-major order.
    pub fn gradient_to_rows(&self, device: &D) -> Result<Vec<D::Number>> {
        self.rows_of(device, &self.gradient)
    }

    /// Returns both moments of the optimiser in row-major order.
    pub(crate) fn moments_to_rows(&self, device: &D) -> Result<[Vec<D::Number>; 2]> {
        let [first, second] = &self.moments;
        Ok([self.rows_of(device, first)?, self.rows_of(device, second)?])
    }

    /// Sets both moments of the optimiser, in row-major order.
    pub(crate) fn set_moments(&mut self, device: &D, moments: [&[D::Number]; 2]) -> Result<()> {
        for (k, elements) in moments.into_iter().enumerate() {
            device.upload(&self.stored_of(elements), &mut self.moments[k])?;
        }
        Ok(())
    }

    /// Reads numbers in the layout of the elements, in row-major order.
    pub(crate) fn rows_of(&self, device: &D, numbers: &D::Numbers) -> Result<Vec<D::Number>> {
        let mut stored = vec![D::Number::ZERO; self.stored];
        device.download(numbers, &mut stored)?;
        Ok(self.places.iter().map(|&place| stored[place as usize]).collect())
    }

    /// Sets all elements, in row-major order. Panics if their number differs from the shape.
    pub fn set_rows(&mut self, device: &D, elements: &[D::Number]) -> Result<()> {
        device.upload(&self.stored_of(elements), &mut self.value)
    }

    /// Returns the stored form of elements in row-major order. Panics if their number differs from the shape.
    pub(crate) fn stored_of(&self, elements: &[D::Number]) -> Vec<D::Number> {
        assert_eq!(elements.len(), self.places.len());
        let mut stored = vec![D::Number::ZERO; self.stored];
        for (&place, &element) in self.places.iter().zip(elements) {
            stored[place as usize] = element;
            self.copies.iter().for_each(|copy| stored[place as usize + copy] = element);
        }
        stored
    }

    /// Returns the number of elements, without padding.
    pub fn elements(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of stored numbers, including padding.
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// Returns the numbers that the optimiser reads and writes.
    pub fn memory(&mut self) -> ParameterMemory<'_, D> {
        let Self { value, gradient, moments, stored, .. } = self;
        ParameterMemory { value, gradient, moments, len: *stored }
    }
}

/// Returns the name of a layer in files: `layer1` for index 0.
pub(super) fn layer_name(index: u16) -> String {
    format!("layer{}", index + 1)
}
