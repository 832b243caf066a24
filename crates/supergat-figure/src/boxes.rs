//! Bars and box plots: series that share a place stand side by side.

use crate::pen::Pen;
use crate::plot::Shape;
use crate::quartiles::Quartiles;
use crate::text::{number, place};
use std::fmt::Write as _;

/// The widest that a bar or box becomes.
const WIDEST: f64 = 44.0;
/// The most circles beyond the whiskers of a box.
const MOST_BEYOND: usize = 24;

/// Bars from zero, or from the lower edge of a logarithmic axis.
pub(crate) fn bars(pen: &mut Pen, points: &[[f64; 2]]) {
    let (shift, wide) = slot(pen);
    let (top, bottom) = (pen.frame.top, pen.frame.top + pen.frame.height);
    for &[x, y] in points {
        let Some([at, height]) = pen.at([x, y]).filter(|_| pen.frame.x.holds(x)) else { continue };
        let zero = pen.at([x, 0.0]).map_or(bottom, |[_, zero]| zero).clamp(top, bottom);
        let height = height.clamp(top, bottom);
        let (colour, tip) = (pen.colour("area"), pen.tip(&format!("{}, {}", pen.said(x), number(y))));
        let (x, y) = (place(at + shift - wide / 2.0), place(height.min(zero)));
        let (wide, high) = (place(wide), place((height - zero).abs()));
        let _ =
            writeln!(pen.text, "<rect {colour} x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\">{tip}</rect>");
    }
}

/// Boxes with whiskers, a line at the median and circles beyond the whiskers.
pub(crate) fn boxes(pen: &mut Pen, boxes: &[(f64, Quartiles)]) {
    let (shift, wide) = slot(pen);
    for (x, of) in boxes {
        let five = [of.low, of.first, of.median, of.third, of.high];
        let Some(places) = five.iter().map(|&value| pen.inside([*x, value])).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let heights: Vec<String> = places.iter().map(|[_, y]| place(*y)).collect();
        let [low, first, median, third, high] = &heights[..] else { continue };
        let (middle, left) = (places[0][0] + shift, place(places[0][0] + shift - wide / 2.0));
        let (whisker, cap) = (place(middle), place(middle - wide / 4.0));
        let words = format!(
            "{}: median {}, box {} to {}, {} values",
            pen.said(*x),
            number(of.median),
            number(of.first),
            number(of.third),
            of.count
        );
        let (area, line, tip) = (pen.colour(""), pen.colour("line"), pen.tip(&words));
        let (wide, half, tall) = (place(wide), place(wide / 2.0), place((places[1][1] - places[3][1]).abs()));
        let _ = writeln!(
            pen.text,
            "<path {line} stroke-width=\"1.3\" d=\"M{whisker} {low}V{first}M{whisker} {third}V{high}M{cap} {low}h{half}M{cap} {high}h{half}\"/>\n\
             <rect {area} fill-opacity=\"0.35\" stroke-width=\"1.3\" x=\"{left}\" y=\"{third}\" width=\"{wide}\" height=\"{tall}\">{tip}</rect>\n\
             <path {line} stroke-width=\"2.6\" d=\"M{left} {median}h{wide}\"/>"
        );
        for value in spread(&of.beyond) {
            let Some([_, y]) = pen.inside([*x, value]) else { continue };
            let tip = pen.tip(&number(value));
            let _ = writeln!(pen.text, "<circle {line} cx=\"{whisker}\" cy=\"{}\" r=\"2.5\">{tip}</circle>", place(y));
        }
    }
}

/// Of many sorted values some that stand for all, the ends among them.
fn spread(values: &[f64]) -> Vec<f64> {
    match values.len() {
        many if many > MOST_BEYOND => (0..MOST_BEYOND).map(|k| values[k * (many - 1) / (MOST_BEYOND - 1)]).collect(),
        _ => values.to_vec(),
    }
}

/// How far this layer is beside its place, and how wide a bar is: the distance of the nearest places is shared among the series that have a place in
/// common with this one.
fn slot(pen: &Pen) -> (f64, f64) {
    let mine = places(&pen.layer.shape);
    let mut rivals = Vec::new();
    let mut all = Vec::new();
    for layer in &pen.plot.layers {
        let found = places(&layer.shape);
        if !rivals.contains(&layer.series) && found.iter().any(|x| mine.contains(x)) {
            rivals.push(layer.series);
        }
        all.extend(found.into_iter().filter(|&x| pen.plot.x.takes(x)).map(|x| pen.frame.x.at(x)));
    }
    all.sort_by(f64::total_cmp);
    let gaps = all.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.01);
    let nearest = gaps.fold(pen.frame.width / pen.plot.x.names().len().max(4) as f64, f64::min);
    let each = (0.84 * nearest / rivals.len().max(1) as f64).min(WIDEST);
    let place = rivals.iter().position(|series| *series == pen.layer.series).unwrap_or(0) as f64;
    ((place - (rivals.len().max(1) as f64 - 1.0) / 2.0) * each, 0.86 * each)
}

/// Where a shape has bars or boxes.
fn places(shape: &Shape) -> Vec<f64> {
    match shape {
        Shape::Bars(points) => points.iter().map(|[x, _]| *x).collect(),
        Shape::Boxes(boxes) => boxes.iter().map(|(x, _)| *x).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_beyond_whiskers_are_bounded() {
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let kept = spread(&values);
        assert_eq!((kept.len(), kept[0], kept[MOST_BEYOND - 1]), (MOST_BEYOND, 0.0, 4999.0));
        assert_eq!(spread(&values[..3]), [0.0, 1.0, 2.0]);
    }
}
