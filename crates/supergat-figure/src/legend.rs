//! The legend, in rows above the frame, where it covers nothing.

use crate::plot::{Layer, Plot, Shape};
use crate::style::{ends, series, strength};
use crate::text::{LETTERS, escaped, number, place, shortened, width};
use std::fmt::Write as _;

const ROW: f64 = 20.0;
const MOST_LETTERS: usize = 40;

/// Draws the legend from a place on, and says how high it is.
pub(crate) fn draw(text: &mut String, plot: &Plot, left: f64, top: f64, wide: f64) -> f64 {
    let (mut x, mut y) = (left, top);
    for (k, name) in plot.names.iter().enumerate() {
        let layers: Vec<&Layer> = plot.layers.iter().filter(|layer| layer.series == Some(k)).collect();
        // A name that only keeps its colour for other panels has no entry.
        let Some(first) = layers.first() else { continue };
        let name = shortened(name, MOST_LETTERS);
        let room = 24.0 + width(&name, LETTERS) + 9.0;
        if x > left && x + room > left + wide {
            (x, y) = (left, y + ROW);
        }
        let line = layers.iter().any(|layer| matches!(layer.shape, Shape::Line(_) | Shape::Faint(_) | Shape::Steps(_)));
        sign(text, k, line, first.right, x, y);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\">{}</text>", place(x + 24.0), place(y + 14.5), escaped(&name));
        x += room;
    }
    let named = if x > left { y - top + ROW } else { 0.0 };
    named + strengths(text, plot, left, top + named)
}

/// A line for lines, a square for all else.
fn sign(text: &mut String, k: usize, line: bool, right: bool, x: f64, y: f64) {
    let _ = match line {
        true => {
            let dashes = if right { " stroke-dasharray=\"6 4\"" } else { "" };
            let (colour, x, y) = (series(k, "line"), place(x), place(y + 10.0));
            writeln!(text, "<path {colour} stroke-width=\"2.5\"{dashes} d=\"M{x} {y}h18\"/>")
        }
        false => {
            let (colour, x, y) = (series(k, "area"), place(x + 4.0), place(y + 4.0));
            writeln!(text, "<rect {colour} x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\"/>")
        }
    };
}

/// What the colours of cells mean, from the smallest to the largest value.
fn strengths(text: &mut String, plot: &Plot, left: f64, top: f64) -> f64 {
    let values = plot.layers.iter().flat_map(|layer| match &layer.shape {
        Shape::Cells(cells) => cells.iter().map(|cell| cell.value).collect(),
        Shape::Shaded(dots) => dots.iter().map(|dot| dot.value).collect(),
        _ => Vec::new(),
    });
    let Some([low, high]) = ends(values) else { return 0.0 };
    let (low, high) = (number(low), number(high));
    let from = left + width(&low, LETTERS) + 8.0;
    let _ = writeln!(text, "<text class=\"pale\" x=\"{}\" y=\"{}\">{low}</text>", place(left), place(top + 14.5));
    for k in 0..=8 {
        let (x, y) = (place(from + 14.0 * f64::from(k)), place(top + 4.0));
        let strength = strength(f64::from(k) / 8.0);
        let _ = writeln!(
            text,
            "<rect class=\"cell\" x=\"{x}\" y=\"{y}\" width=\"14\" height=\"12\" fill-opacity=\"{strength:.2}\"/>"
        );
    }
    let (x, y) = (place(from + 134.0), place(top + 14.5));
    let _ = writeln!(text, "<text class=\"pale\" x=\"{x}\" y=\"{y}\">{high}</text>");
    ROW
}
