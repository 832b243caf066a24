//! A search as a picture (SVG): validation metric by trial, and where the trials were.

use crate::picture::escaped;
use std::fmt::Write as _;
use supergat_lab::tune::{Space, Trial, Values};

const WIDTH: f64 = 1060.0;
const HEIGHT: f64 = 470.0;
/// Side of a panel, and the places of the two.
const SIDE: f64 = 360.0;
const TOP: f64 = 62.0;
const LEFT: [f64; 2] = [80.0, 590.0];

/// An axis: what it shows, from where to where, and its ticks.
struct Axis {
    title: String,
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    fn linear(title: String, low: f64, high: f64, digits: usize) -> Self {
        let at = |k: u32| low + (high - low) * f64::from(k) / 4.0;
        Self { title, low, high, ticks: (0..=4).map(|k| (at(k), format!("{:.digits$}", at(k)))).collect() }
    }

    /// Powers of ten, as exponents.
    fn logarithmic(title: &str, low: f64, high: f64) -> Self {
        let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
        let ticks = (first..=last).map(|power| (f64::from(power), format!("1e{power}"))).collect();
        Self { title: title.to_owned(), low: low.log10(), high: high.log10(), ticks }
    }

    /// The share of the way from low to high, within the panel.
    fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// The picture of a search; `best` is an index into the trials, of which there is at least one.
pub fn svg(title: &str, metric: &str, space: &Space, trials: &[Trial], best: usize) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"28\" font-size=\"17\" font-weight=\"bold\">Search for {}</text>\n",
        LEFT[0],
        escaped(title)
    );
    let scores: Vec<f64> = trials.iter().map(|trial| 100.0 * trial.mean_of_all()).collect();
    let score = score_axis(metric, &scores);
    by_trial(&mut text, &score, &scores, best);
    by_place(&mut text, &score, space, trials, &scores, best);
    let _ = writeln!(
        text,
        "<text x=\"{}\" y=\"46\" fill=\"#555\">best: trial {}, {:.2} %; dark: good; at the lower edge: below {:.1} %</text>",
        LEFT[0], trials[best].number, scores[best], score.low
    );
    text + "</svg>\n"
}

/// From the lower quartile up: far below it nobody needs to see how far.
fn score_axis(metric: &str, scores: &[f64]) -> Axis {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[sorted.len() / 4], sorted[sorted.len() - 1]);
    let margin = (0.1 * (high - low)).max(0.1);
    Axis::linear(format!("validation {metric}, %"), low - margin, high + margin, 1)
}

fn by_trial(text: &mut String, score: &Axis, scores: &[f64], best: usize) {
    let trials = Axis::linear("trial".into(), 0.0, (scores.len() - 1).max(4).next_multiple_of(4) as f64, 0);
    frame(text, 0, &trials, score);
    let place = |k: usize, value: f64| point(0, &trials, score, k as f64, value);
    let mut path = String::new();
    let mut so_far = f64::MIN;
    for (k, &value) in scores.iter().enumerate() {
        let before = so_far;
        so_far = so_far.max(value);
        let [x, y] = place(k, so_far);
        // A staircase: across at the old height, then up.
        let _ = match k {
            0 => write!(path, "M{x:.1} {y:.1}"),
            _ => write!(path, "L{x:.1} {:.1}L{x:.1} {y:.1}", place(k, before)[1]),
        };
    }
    let _ = writeln!(text, "<path d=\"{path}\" fill=\"none\" stroke=\"#d55e00\" stroke-width=\"1.5\"/>");
    for (k, &value) in scores.iter().enumerate() {
        dot(text, place(k, value), score.share(value), k == best, &format!("trial {k}: {value:.2} %"));
    }
}

/// The two hyperparameters on logarithmic scales, or the one and the metric.
fn by_place(text: &mut String, score: &Axis, space: &Space, trials: &[Trial], scores: &[f64], best: usize) {
    let scales = space.dimensions().iter().filter_map(|dimension| match dimension.values {
        Values::Between(low, high) => Some((dimension, Axis::logarithmic(dimension.name, low, high))),
        Values::OneOf(_) => None,
    });
    let scales: Vec<_> = scales.take(2).collect();
    let Some((first, x_axis)) = scales.first() else { return };
    let y_axis = scales.get(1).map_or(score, |(_, axis)| axis);
    frame(text, 1, x_axis, y_axis);
    // The good ones on top.
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    for k in order {
        let x = first.of(&trials[k].settings).log10();
        let y = scales.get(1).map_or(scores[k], |(second, _)| second.of(&trials[k].settings).log10());
        let words = format!("trial {k}: {:.2} %", scores[k]);
        dot(text, point(1, x_axis, y_axis, x, y), score.share(scores[k]), k == best, &words);
    }
}

fn point(panel: usize, x_axis: &Axis, y_axis: &Axis, x: f64, y: f64) -> [f64; 2] {
    [LEFT[panel] + SIDE * x_axis.share(x), TOP + SIDE * (1.0 - y_axis.share(y))]
}

fn dot(text: &mut String, [x, y]: [f64; 2], good: f64, best: bool, words: &str) {
    let shade = |pale: f64, dark: f64| pale + (dark - pale) * good;
    let (red, green, blue) = (shade(200.0, 0.0), shade(216.0, 76.0), shade(230.0, 140.0));
    let (radius, ring) = if best { (8.0, "stroke=\"#d55e00\" stroke-width=\"3\"") } else { (5.0, "stroke=\"white\"") };
    let _ = writeln!(
        text,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"rgb({red:.0},{green:.0},{blue:.0})\" {ring}><title>{words}</title></circle>"
    );
}

fn frame(text: &mut String, panel: usize, x_axis: &Axis, y_axis: &Axis) {
    let (left, bottom) = (LEFT[panel], TOP + SIDE);
    let _ = writeln!(
        text,
        "<rect x=\"{left}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#999\"/>"
    );
    for (value, label) in &x_axis.ticks {
        let x = left + SIDE * x_axis.share(*value);
        let _ = writeln!(text, "<path d=\"M{x:.1} {bottom}v5\" stroke=\"#999\"/>");
        let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", bottom + 19.0);
    }
    for (value, label) in &y_axis.ticks {
        let y = TOP + SIDE * (1.0 - y_axis.share(*value));
        let _ = writeln!(text, "<path d=\"M{left} {y:.1}h-5\" stroke=\"#999\"/>");
        let _ = writeln!(text, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", left - 8.0, y + 4.0);
    }
    let middle = left + SIDE / 2.0;
    let _ =
        writeln!(text, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", bottom + 40.0, x_axis.title);
    let (x, y) = (left - 54.0, TOP + SIDE / 2.0);
    let _ = writeln!(
        text,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
        y_axis.title
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_lab::Settings;

    fn picture(model: &str) -> String {
        let base = Settings::general(model.parse().unwrap());
        let space = Space::new(base.model, &[]);
        let trial = |number: usize| Trial {
            number,
            settings: Settings { lambda_2: 10.0_f64.powi(-(number as i32) - 1), ..base },
            scores: vec![0.5 + number as f64 / 20.0],
            finals: Vec::new(),
        };
        let trials: Vec<Trial> = (0..6).map(trial).collect();
        svg("<a> & b", "accuracy", &space, &trials, 5)
    }

    #[test]
    fn every_trial_is_in_both_panels() {
        for model in ["supergat-mx", "gat-go"] {
            let text = picture(model);
            assert_eq!(text.matches("<circle").count(), 12, "{text}");
            assert_eq!(text.matches("r=\"8\"").count(), 2);
            assert!(text.contains("Search for &lt;a&gt; &amp; b") && text.ends_with("</svg>\n"));
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        assert!(picture("supergat-mx").contains(">lambda_e<") && !picture("gat-go").contains(">lambda_e<"));
    }
}
