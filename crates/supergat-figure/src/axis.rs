//! Axes of a plot: label, range, scale and ticks.

use crate::text::number;

/// An axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    kind: Kind,
    range: Option<[f64; 2]>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Linear,
    Log,
    Categories(Vec<String>),
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Linear, range: None }
    }

    /// Creates a logarithmic axis. Values that are not positive are not drawn.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Log, range: None }
    }

    /// Creates an axis with one position per name; values are indices into `names`, from 0. A vertical axis
    /// has the first name at the top.
    pub fn categories<S: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { label: label.into(), kind: Kind::Categories(names), range: None }
    }

    /// Sets the range of the axis, instead of the smallest to the largest value. Marks outside are not drawn.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// Returns the names of a categorical axis, else an empty slice.
    pub(crate) fn names(&self) -> &[String] {
        match &self.kind {
            Kind::Categories(names) => names,
            _ => &[],
        }
    }

    /// Whether the axis has names instead of numbers.
    pub(crate) fn is_categorical(&self) -> bool {
        matches!(self.kind, Kind::Categories(_))
    }

    /// Whether the axis can show a value.
    pub(crate) fn accepts(&self, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || self.kind != Kind::Log)
    }

    /// Maps values from `extent[0]` to `extent[1]` onto the figure coordinates from `start` to `end`.
    pub(crate) fn scale(&self, extent: Option<[f64; 2]>, start: f64, end: f64) -> Scale {
        let log = self.kind == Kind::Log;
        let inner = |value: f64| if log { value.log10() } else { value };
        let fixed = self.range.filter(|[low, high]| self.accepts(*low) && self.accepts(*high) && low < high);
        let [low, high] = match (&self.kind, fixed, extent) {
            (Kind::Categories(names), ..) => [-0.5, names.len().max(1) as f64 - 0.5],
            (_, Some(range), _) => range.map(inner),
            (_, None, Some(extent)) => padded(extent.map(inner)),
            (_, None, None) => [0.0, 1.0],
        };
        Scale { log, low, high, start, end }
    }

    /// Returns coordinate and text of every tick, with about `room` units or more between ticks.
    pub(crate) fn ticks(&self, scale: &Scale, room: f64) -> Vec<(f64, String)> {
        let most = (scale.length() / room).floor().clamp(2.0, 12.0);
        let numbers = match &self.kind {
            Kind::Categories(names) => {
                return names.iter().enumerate().map(|(k, name)| (scale.at(k as f64), name.clone())).collect();
            }
            Kind::Linear => linear_ticks(scale.low, scale.high, most),
            Kind::Log => log_ticks(scale.low, scale.high, most),
        };
        numbers.into_iter().map(|(value, text)| (scale.at(value), text)).collect()
    }
}

/// Extends a range by 5 % on either side, so that no mark lies on the frame.
fn padded([low, high]: [f64; 2]) -> [f64; 2] {
    let margin = match high > low {
        true => 0.05 * (high - low),
        false => (0.05 * low.abs()).max(0.5),
    };
    [low - margin, high + margin]
}

/// Ticks at multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, most: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / most;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= rough).unwrap_or(10.0);
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    // The tolerance of 0.0005 steps keeps ticks at the ends despite rounding errors.
    let (first, last) = ((low / step - 5e-4).ceil() as i64, (high / step + 5e-4).floor() as i64);
    let text = |value: f64| match value.abs() >= 1e6 || (step < 1e-4 && value != 0.0) {
        true => number(value),
        false => format!("{:.digits$}", if value == 0.0 { 0.0 } else { value }),
    };
    (first..=last).map(|k| k as f64 * step).map(|value| (value, text(value))).collect()
}

/// Ticks at powers of ten if the range contains two of them, else also at their multiples; at most `most`.
fn log_ticks(low: f64, high: f64, most: f64) -> Vec<(f64, String)> {
    let (first, last) = ((low - 1e-9).ceil() as i32, (high + 1e-9).floor() as i32);
    if last - first >= 1 {
        let stride = (f64::from(last - first + 1) / most).ceil().max(1.0) as usize;
        let small = first >= -2 && last <= 4;
        let text = |power: i32| if small { number(10.0_f64.powi(power)) } else { power_of_ten(power) };
        return (first..=last).step_by(stride).map(|power| (10.0_f64.powi(power), text(power))).collect();
    }
    // Short ranges: 1, 2 and 5 times a power of ten, or linear ticks if those are fewer than three.
    let (low, high) = (10.0_f64.powf(low), 10.0_f64.powf(high));
    let multiples = (first - 1..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|k| k * 10.0_f64.powi(power)));
    let ticks: Vec<(f64, String)> =
        multiples.filter(|value| (low..=high).contains(value)).map(|value| (value, number(value))).collect();
    if ticks.len() < 3 { linear_ticks(low, high, most.min(5.0)) } else { ticks }
}

/// Writes a power of ten with a superscript exponent.
fn power_of_ten(power: i32) -> String {
    let superscript = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize - '0' as usize],
    };
    format!("10{}", power.to_string().chars().map(superscript).collect::<String>())
}

/// Mapping from the values of an axis to figure coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// Returns the coordinate of a value that the axis accepts.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)
    }

    /// Whether a value lies within the frame, up to rounding.
    pub(crate) fn contains(&self, value: f64) -> bool {
        let coordinate = self.at(value);
        let (low, high) = (self.start.min(self.end), self.start.max(self.end));
        coordinate.is_finite() && (low - 0.01..=high + 0.01).contains(&coordinate)
    }

    /// Length in figure units.
    pub(crate) fn length(&self) -> f64 {
        (self.end - self.start).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: Vec<(f64, String)>) -> Vec<String> {
        ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn places_linear_ticks_at_round_numbers() {
        assert_eq!(texts(linear_ticks(0.0, 1.0, 5.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(linear_ticks(79.6, 85.1, 6.0)), ["80", "81", "82", "83", "84", "85"]);
        assert_eq!(texts(linear_ticks(-0.03, 0.03, 4.0)), ["-0.02", "0.00", "0.02"]);
        assert_eq!(texts(linear_ticks(0.0, 4e6, 4.0)), ["0", "1.00e6", "2.00e6", "3.00e6", "4.00e6"]);
    }

    #[test]
    fn places_logarithmic_ticks_at_powers_of_ten() {
        assert_eq!(texts(log_ticks(-5.0, 2.0, 12.0))[..2], ["10⁻⁵", "10⁻⁴"]);
        assert_eq!(texts(log_ticks(-5.0, 2.0, 4.0)).len(), 4);
        assert_eq!(texts(log_ticks(-1.0, 2.0, 8.0)), ["0.1", "1", "10", "100"]);
        assert_eq!(texts(log_ticks(0.35, 0.95, 4.0)), ["4", "6", "8"]);
        assert_eq!(texts(log_ticks(0.25, 1.75, 9.0)), ["2", "5", "10", "20", "50"]);
    }

    #[test]
    fn maps_values_to_coordinates() {
        let scale = Axis::log("").range(0.01, 100.0).scale(None, 0.0, 100.0);
        assert_eq!((scale.at(1.0), scale.contains(1000.0), scale.contains(100.0)), (50.0, false, true));
        assert!(
            !Axis::log("").accepts(0.0) && Axis::linear("").accepts(0.0) && !Axis::linear("").accepts(f64::INFINITY)
        );
        let names = Axis::categories("", ["a", "b"]).scale(None, 0.0, 100.0);
        assert_eq!((names.at(0.0), names.at(1.0)), (25.0, 75.0));
        let one = Axis::linear("").scale(Some([3.0, 3.0]), 0.0, 100.0);
        assert_eq!(one.at(3.0), 50.0);
        // An invalid range is ignored.
        assert_eq!(Axis::log("").range(0.0, 1.0).scale(Some([1.0, 100.0]), 0.0, 100.0).at(10.0), 50.0);
    }
}
