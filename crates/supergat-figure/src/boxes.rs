//! Bars and box plots. Series with the same position are drawn side by side.

use crate::pen::Pen;
use crate::plot::Shape;
use crate::quartiles::Quartiles;
use crate::text::{coordinate, number};
use std::fmt::Write as _;

/// Maximum width of a bar or box.
const MAX_WIDTH: f64 = 44.0;
/// Maximum number of outliers drawn per box.
const MAX_OUTLIERS: usize = 24;

/// Draws bars from zero, or from the lower edge of a logarithmic axis.
pub(crate) fn bars(pen: &mut Pen, points: &[[f64; 2]]) {
    let (shift, wide) = slot(pen);
    let (top, bottom) = (pen.frame.top, pen.frame.top + pen.frame.height);
    for &[x, y] in points {
        let Some([at, height]) = pen.at([x, y]).filter(|_| pen.frame.x.contains(x)) else { continue };
        let zero = pen.at([x, 0.0]).map_or(bottom, |[_, zero]| zero).clamp(top, bottom);
        let height = height.clamp(top, bottom);
        let (colour, tip) = (pen.colour("area"), pen.tip(&format!("{}, {}", pen.x_text(x), number(y))));
        let (x, y) = (coordinate(at + shift - wide / 2.0), coordinate(height.min(zero)));
        let (wide, high) = (coordinate(wide), coordinate((height - zero).abs()));
        let _ =
            writeln!(pen.text, "<rect {colour} x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\">{tip}</rect>");
    }
}

/// Draws boxes with whiskers, a line at the median and circles for outliers.
pub(crate) fn boxes(pen: &mut Pen, boxes: &[(f64, Quartiles)]) {
    let (shift, wide) = slot(pen);
    for (x, of) in boxes {
        let five = [of.low, of.first, of.median, of.third, of.high];
        let Some(points) = five.iter().map(|&value| pen.inside([*x, value])).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let heights: Vec<String> = points.iter().map(|[_, y]| coordinate(*y)).collect();
        let [low, first, median, third, high] = &heights[..] else { continue };
        let (middle, left) = (points[0][0] + shift, coordinate(points[0][0] + shift - wide / 2.0));
        let (whisker, cap) = (coordinate(middle), coordinate(middle - wide / 4.0));
        let words = format!(
            "{}: median {}, box {} to {}, {} values",
            pen.x_text(*x),
            number(of.median),
            number(of.first),
            number(of.third),
            of.count
        );
        let (area, line, tip) = (pen.colour(""), pen.colour("line"), pen.tip(&words));
        let (wide, half, tall) =
            (coordinate(wide), coordinate(wide / 2.0), coordinate((points[1][1] - points[3][1]).abs()));
        let _ = writeln!(
            pen.text,
            "<path {line} stroke-width=\"1.3\" d=\"M{whisker} {low}V{first}M{whisker} {third}V{high}M{cap} {low}h{half}M{cap} {high}h{half}\"/>\n\
             <rect {area} fill-opacity=\"0.35\" stroke-width=\"1.3\" x=\"{left}\" y=\"{third}\" width=\"{wide}\" height=\"{tall}\">{tip}</rect>\n\
             <path {line} stroke-width=\"2.6\" d=\"M{left} {median}h{wide}\"/>"
        );
        for value in thinned(&of.beyond) {
            let Some([_, y]) = pen.inside([*x, value]) else { continue };
            let tip = pen.tip(&number(value));
            let _ =
                writeln!(pen.text, "<circle {line} cx=\"{whisker}\" cy=\"{}\" r=\"2.5\">{tip}</circle>", coordinate(y));
        }
    }
}

/// Returns at most [`MAX_OUTLIERS`] of the sorted values, evenly spaced, with both ends.
fn thinned(values: &[f64]) -> Vec<f64> {
    match values.len() {
        many if many > MAX_OUTLIERS => (0..MAX_OUTLIERS).map(|k| values[k * (many - 1) / (MAX_OUTLIERS - 1)]).collect(),
        _ => values.to_vec(),
    }
}

/// Returns the horizontal shift of this item and the width of its bars. The smallest distance between two
/// positions is divided among the series that share a position with this item.
fn slot(pen: &Pen) -> (f64, f64) {
    let mine = positions(&pen.item.shape);
    let mut sharing = Vec::new();
    let mut all = Vec::new();
    for item in &pen.plot.items {
        let found = positions(&item.shape);
        if !sharing.contains(&item.series) && found.iter().any(|x| mine.contains(x)) {
            sharing.push(item.series);
        }
        all.extend(found.into_iter().filter(|&x| pen.plot.x.accepts(x)).map(|x| pen.frame.x.at(x)));
    }
    all.sort_by(f64::total_cmp);
    let gaps = all.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.01);
    let nearest = gaps.fold(pen.frame.width / pen.plot.x.names().len().max(4) as f64, f64::min);
    let each = (0.84 * nearest / sharing.len().max(1) as f64).min(MAX_WIDTH);
    let slot = sharing.iter().position(|series| *series == pen.item.series).unwrap_or(0) as f64;
    ((slot - (sharing.len().max(1) as f64 - 1.0) / 2.0) * each, 0.86 * each)
}

/// Horizontal positions of the bars or boxes of a shape.
fn positions(shape: &Shape) -> Vec<f64> {
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
    fn limits_outliers_and_keeps_both_ends() {
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let kept = thinned(&values);
        assert_eq!((kept.len(), kept[0], kept[MAX_OUTLIERS - 1]), (MAX_OUTLIERS, 0.0, 4999.0));
        assert_eq!(thinned(&values[..3]), [0.0, 1.0, 2.0]);
    }
}
