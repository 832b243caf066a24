//! Layouts and initial values of parameters.

use supergat_core::HeadLayout;
use supergat_core::layers::Parameter;
use supergat_core::random::{Purpose, Stream};
use supergat_cpu::Cpu;

#[test]
fn reads_back_rows_in_any_layout() {
    let input = HeadLayout::new(3, 2);
    let output = HeadLayout::new(5, 3);
    let device = Cpu::<f64>::default();
    let mut w = Parameter::weight(&device, "w".into(), input, true, output, 1).unwrap();
    assert_eq!((w.shape, w.elements()), ([6, 15], 90));
    let elements: Vec<f64> = (0..90).map(f64::from).collect();
    w.set_rows(&device, &elements).unwrap();
    assert_eq!(w.to_rows(&device).unwrap(), elements);
    // From head 2, feature 1 of the input to head 4, feature 2 of the output.
    assert_eq!(w.value[input.index(2, 1) * output.stride() + output.index(4, 2)], 5.0 * 15.0 + 14.0);
}

#[test]
fn glorot_draws_uniformly_from_the_interval() {
    let (device, output) = (Cpu::<f64>::default(), HeadLayout::new(8, 8));
    let mut w = Parameter::weight(&device, "w".into(), HeadLayout::plain(100), false, output, 1).unwrap();
    w.glorot(&device, Stream::new(0, 0, 0, Purpose::Weights)).unwrap();
    let limit = (6.0f64 / 164.0).sqrt();
    let values = w.to_rows(&device).unwrap();
    assert!(values.iter().all(|v| v.abs() <= limit));
    let variance = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
    assert!((variance / (limit * limit / 3.0) - 1.0).abs() < 0.05);
}
