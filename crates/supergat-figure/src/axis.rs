//! Axes: what they show, from where to where, and their ticks.

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
    /// Equal distances for equal differences.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Linear, range: None }
    }

    /// Equal distances for equal ratios. Values that are not positive are left out.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Log, range: None }
    }

    /// A place for each name; values are positions in the list, from 0 on. A vertical axis has the first name on top.
    pub fn categories<S: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { label: label.into(), kind: Kind::Categories(names), range: None }
    }

    /// From where to where, instead of from the smallest to the largest value. What lies outside is not drawn.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// The names of a categorical axis.
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

    /// Whether a value has a place on such an axis.
    pub(crate) fn takes(&self, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || self.kind != Kind::Log)
    }

    /// The axis between two places of the figure, for values that reach from `extent[0]` to `extent[1]`.
    pub(crate) fn scale(&self, extent: Option<[f64; 2]>, start: f64, end: f64) -> Scale {
        let log = self.kind == Kind::Log;
        let inner = |value: f64| if log { value.log10() } else { value };
        let fixed = self.range.filter(|[low, high]| self.takes(*low) && self.takes(*high) && low < high);
        let [low, high] = match (&self.kind, fixed, extent) {
            (Kind::Categories(names), ..) => [-0.5, names.len().max(1) as f64 - 0.5],
            (_, Some(range), _) => range.map(inner),
            (_, None, Some(extent)) => padded(extent.map(inner)),
            (_, None, None) => [0.0, 1.0],
        };
        Scale { log, low, high, start, end }
    }

    /// Places and texts of the ticks, at least about `room` units apart.
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

/// A twentieth more on either side, so that no mark lies on the frame.
fn padded([low, high]: [f64; 2]) -> [f64; 2] {
    let margin = match high > low {
        true => 0.05 * (high - low),
        false => (0.05 * low.abs()).max(0.5),
    };
    [low - margin, high + margin]
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, most: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / most;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= rough).unwrap_or(10.0);
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    // Half a thousandth of a step forgives rounding at the ends.
    let (first, last) = ((low / step - 5e-4).ceil() as i64, (high / step + 5e-4).floor() as i64);
    let text = |value: f64| match value.abs() >= 1e6 || (step < 1e-4 && value != 0.0) {
        true => number(value),
        false => format!("{:.digits$}", if value == 0.0 { 0.0 } else { value }),
    };
    (first..=last).map(|k| k as f64 * step).map(|value| (value, text(value))).collect()
}

/// Powers of ten where there are two of them, else also their multiples; as many as fit.
fn log_ticks(low: f64, high: f64, most: f64) -> Vec<(f64, String)> {
    let (first, last) = ((low - 1e-9).ceil() as i32, (high + 1e-9).floor() as i32);
    if last - first >= 1 {
        let stride = (f64::from(last - first + 1) / most).ceil().max(1.0) as usize;
        let small = first >= -2 && last <= 4;
        let text = |power: i32| if small { number(10.0_f64.powi(power)) } else { power_of_ten(power) };
        return (first..=last).step_by(stride).map(|power| (10.0_f64.powi(power), text(power))).collect();
    }
    linear_ticks(10.0_f64.powf(low), 10.0_f64.powf(high), most)
}

/// The number with its exponent raised.
fn power_of_ten(power: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize - '0' as usize],
    };
    format!("10{}", power.to_string().chars().map(raised).collect::<String>())
}

/// An axis laid into a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// The place of a value that the axis takes.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)
    }

    /// Whether a value has a place within the frame, up to rounding.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let place = self.at(value);
        let (low, high) = (self.start.min(self.end), self.start.max(self.end));
        place.is_finite() && (low - 0.01..=high + 0.01).contains(&place)
    }

    /// Its length in the figure.
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
    fn ticks_are_round_numbers() {
        assert_eq!(texts(linear_ticks(0.0, 1.0, 5.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(linear_ticks(79.6, 85.1, 6.0)), ["80", "81", "82", "83", "84", "85"]);
        assert_eq!(texts(linear_ticks(-0.03, 0.03, 4.0)), ["-0.02", "0.00", "0.02"]);
        assert_eq!(texts(linear_ticks(0.0, 4e6, 4.0)), ["0", "1.00e6", "2.00e6", "3.00e6", "4.00e6"]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(texts(log_ticks(-5.0, 2.0, 12.0))[..2], ["10⁻⁵", "10⁻⁴"]);
        assert_eq!(texts(log_ticks(-5.0, 2.0, 4.0)).len(), 4);
        assert_eq!(texts(log_ticks(-1.0, 2.0, 8.0)), ["0.1", "1", "10", "100"]);
        assert_eq!(texts(log_ticks(0.35, 0.95, 4.0)), ["4", "6", "8"]);
    }

    #[test]
    fn values_find_their_places() {
        let scale = Axis::log("").range(0.01, 100.0).scale(None, 0.0, 100.0);
        assert_eq!((scale.at(1.0), scale.holds(1000.0), scale.holds(100.0)), (50.0, false, true));
        assert!(!Axis::log("").takes(0.0) && Axis::linear("").takes(0.0) && !Axis::linear("").takes(f64::INFINITY));
        let names = Axis::categories("", ["a", "b"]).scale(None, 0.0, 100.0);
        assert_eq!((names.at(0.0), names.at(1.0)), (25.0, 75.0));
        let one = Axis::linear("").scale(Some([3.0, 3.0]), 0.0, 100.0);
        assert_eq!(one.at(3.0), 50.0);
        // A range that makes no sense is not used.
        assert_eq!(Axis::log("").range(0.0, 1.0).scale(Some([1.0, 100.0]), 0.0, 100.0).at(10.0), 50.0);
    }
}
