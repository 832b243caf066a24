//! The legend, in rows above the frame: names of series, and a colour scale.

use crate::plot::{Plot, PlotItem, Shape};
use crate::style::{min_max, opacity, series};
use crate::text::{self, FONT_SIZE, coordinate, number, shortened, width};
use std::fmt::Write as _;

/// Height of a row.
const ROW: f64 = 20.0;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 40;

/// Draws the names of the series of plots from `(left, top)` over at most `wide` units, and returns their
/// height. All plots have the same series.
pub(crate) fn names(out: &mut String, plots: &[Plot], left: f64, top: f64, wide: f64) -> f64 {
    let (mut x, mut y) = (left, top);
    for (k, name) in plots.first().map_or(&[][..], |plot| &plot.names).iter().enumerate() {
        let items = plots.iter().flat_map(|plot| &plot.items).filter(|item| item.series == Some(k));
        let items: Vec<&PlotItem> = items.collect();
        // A name without items only reserves its colour for other panels.
        let Some(first) = items.first() else { continue };
        let name = shortened(name, MAX_NAME);
        let room = 24.0 + width(&name, FONT_SIZE) + 9.0;
        if x > left && x + room > left + wide {
            (x, y) = (left, y + ROW);
        }
        let line = items.iter().any(|item| matches!(item.shape, Shape::Line(_) | Shape::Faint(_) | Shape::Steps(_)));
        symbol(out, k, line, first.right, x, y);
        text::write(out, "", [x + 24.0, y + 14.5], "", &name);
        x += room;
    }
    if x > left { y - top + ROW } else { 0.0 }
}

/// Draws the symbol of an entry: a line for lines, a square for everything else.
fn symbol(text: &mut String, k: usize, line: bool, right: bool, x: f64, y: f64) {
    let _ = match line {
        true => {
            let dashes = if right { " stroke-dasharray=\"6 4\"" } else { "" };
            let (colour, x, y) = (series(k, "line"), coordinate(x), coordinate(y + 10.0));
            writeln!(text, "<path {colour} stroke-width=\"2.5\"{dashes} d=\"M{x} {y}h18\"/>")
        }
        false => {
            let (colour, x, y) = (series(k, "area"), coordinate(x + 4.0), coordinate(y + 4.0));
            writeln!(text, "<rect {colour} x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\"/>")
        }
    };
}

/// Draws the colour scale of cells and shaded dots, from the smallest to the largest value; returns its
/// height.
pub(crate) fn colour_scale(out: &mut String, plot: &Plot, left: f64, top: f64) -> f64 {
    let values = plot.items.iter().flat_map(|item| match &item.shape {
        Shape::Cells(cells) => cells.iter().map(|cell| cell.value).collect(),
        Shape::Shaded(dots) => dots.iter().map(|dot| dot.value).collect(),
        _ => Vec::new(),
    });
    let Some([low, high]) = min_max(values) else { return 0.0 };
    let (low, high) = (number(low), number(high));
    let from = left + width(&low, FONT_SIZE) + 8.0;
    text::write(out, "pale", [left, top + 14.5], "", &low);
    for k in 0..=8 {
        let (x, y) = (coordinate(from + 14.0 * f64::from(k)), coordinate(top + 4.0));
        let opacity = opacity(f64::from(k) / 8.0);
        let _ = writeln!(
            out,
            "<rect class=\"cell\" x=\"{x}\" y=\"{y}\" width=\"14\" height=\"12\" fill-opacity=\"{opacity:.2}\"/>"
        );
    }
    text::write(out, "pale", [from + 134.0, top + 14.5], "", &high);
    ROW
}
