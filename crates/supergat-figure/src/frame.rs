//! The frame of a plot: position, axes, ticks and labels.

use crate::axis::{Axis, Scale};
use crate::plot::{Plot, PlotItem, Shape};
use crate::style::min_max;
use crate::text::{self, FONT_SIZE, coordinate, shortened, width};
use std::fmt::Write as _;

/// Maximum length of a name on an axis, in characters.
const MAX_NAME: usize = 22;

/// Area in which the marks of a plot are drawn, and the scales that map values to coordinates.
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) right: Option<Scale>,
    slanted: bool,
}

/// One of the axes.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below,
    Left,
    Right,
}

impl Frame {
    /// Returns the frame that fits, with ticks and labels, into a rectangle `[left, top, width, height]`.
    pub(crate) fn within(plot: &Plot, [left, top, wide, high]: [f64; 4]) -> Self {
        let slanted = is_crowded(&plot.x, wide);
        let bottom = top + (high - room_below(&plot.x, slanted)).max(20.0);
        let vertical_scale = |axis: &Axis, side: Side| {
            // The first name of a vertical axis is at the top.
            let (start, end) = if axis.is_categorical() { (top, bottom) } else { (bottom, top) };
            axis.scale(extent(plot, axis, side), start, end)
        };
        let y = vertical_scale(&plot.y, Side::Left);
        let right = plot.right.as_ref().map(|axis| vertical_scale(axis, Side::Right));
        let from = left + room_beside(&plot.y, &y);
        let beside = plot.right.as_ref().zip(right.as_ref()).map_or(18.0, |(axis, scale)| room_beside(axis, scale));
        let to = (left + wide - beside).max(from + 20.0);
        let x = plot.x.scale(extent(plot, &plot.x, Side::Below), from, to);
        Self { left: from, top, width: to - from, height: bottom - top, x, y, right, slanted }
    }

    /// Returns the scale of the vertical axis that an item uses.
    pub(crate) fn vertical(&self, item: &PlotItem) -> &Scale {
        self.right.as_ref().filter(|_| item.right).unwrap_or(&self.y)
    }

    /// Draws grid, ticks and labels.
    pub(crate) fn draw(&self, out: &mut String, plot: &Plot) {
        self.draw_below(out, &plot.x);
        self.draw_beside(out, &plot.y, &self.y, false);
        if let (Some(axis), Some(scale)) = (&plot.right, &self.right) {
            self.draw_beside(out, axis, scale, true);
        }
        let [x, y, wide, high] = [self.left, self.top, self.width, self.height].map(coordinate);
        // Writing to a string never fails.
        let _ = writeln!(out, "<path class=\"axis line\" d=\"M{x} {y}v{high}h{wide}\"/>");
    }

    fn draw_below(&self, out: &mut String, axis: &Axis) {
        let bottom = self.top + self.height;
        let room = if axis.is_categorical() { 1.0 } else { 58.0 };
        for (x, words) in axis.ticks(&self.x, room) {
            if !axis.is_categorical() {
                let (x, top, bottom) = (coordinate(x), coordinate(self.top), coordinate(bottom));
                let _ = writeln!(out, "<path class=\"grid line\" d=\"M{x} {top}V{bottom}\"/>");
            }
            let y = bottom + if self.slanted { 14.0 } else { 18.0 };
            let turned = match self.slanted {
                true => format!("text-anchor=\"end\" transform=\"rotate(-45 {} {})\"", coordinate(x), coordinate(y)),
                false => "text-anchor=\"middle\"".into(),
            };
            text::write(out, "pale", [x, y], &turned, &shortened(&words, MAX_NAME));
        }
        if !axis.label.is_empty() {
            let middle = [self.left + self.width / 2.0, bottom + room_below(axis, self.slanted) - 9.0];
            text::write(out, "", middle, "text-anchor=\"middle\"", &axis.label);
        }
    }

    fn draw_beside(&self, out: &mut String, axis: &Axis, scale: &Scale, right: bool) {
        let room = if axis.is_categorical() { 1.0 } else { 44.0 };
        let (edge, sign, anchor) = match right {
            true => (self.left + self.width, 1.0, "start"),
            false => (self.left, -1.0, "end"),
        };
        for (y, words) in axis.ticks(scale, room) {
            if !axis.is_categorical() && !right {
                let (x, y, wide) = (coordinate(edge), coordinate(y), coordinate(self.width));
                let _ = writeln!(out, "<path class=\"grid line\" d=\"M{x} {y}h{wide}\"/>");
            }
            let look = format!("text-anchor=\"{anchor}\"");
            text::write(out, "pale", [edge + 7.0 * sign, y + 4.5], &look, &shortened(&words, MAX_NAME));
        }
        if !axis.label.is_empty() {
            let x = edge + sign * (room_beside(axis, scale) - 12.0) + if right { 0.0 } else { 4.0 };
            let y = self.top + self.height / 2.0;
            let turned =
                format!("text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y));
            text::write(out, "", [x, y], &turned, &axis.label);
        }
    }
}

/// Whether the names of the horizontal axis are too long to be written horizontally.
fn is_crowded(axis: &Axis, wide: f64) -> bool {
    let each = (wide - 90.0) / axis.names().len().max(1) as f64;
    axis.names().iter().any(|name| width(&shortened(name, MAX_NAME), FONT_SIZE) + 6.0 > each)
}

/// Height of ticks and label of the horizontal axis.
fn room_below(axis: &Axis, slanted: bool) -> f64 {
    let label = if axis.label.is_empty() { 8.0 } else { 26.0 };
    let longest = axis.names().iter().map(|name| width(&shortened(name, MAX_NAME), FONT_SIZE)).fold(0.0, f64::max);
    label + if slanted { 18.0 + 0.71 * longest } else { 22.0 }
}

/// Width of ticks and label of a vertical axis.
fn room_beside(axis: &Axis, scale: &Scale) -> f64 {
    let longest = axis
        .ticks(scale, 44.0)
        .iter()
        .map(|(_, words)| width(&shortened(words, MAX_NAME), FONT_SIZE))
        .fold(0.0, f64::max);
    longest + if axis.label.is_empty() { 18.0 } else { 36.0 }
}

/// Returns the smallest and largest value that an axis must show.
fn extent(plot: &Plot, axis: &Axis, side: Side) -> Option<[f64; 2]> {
    let items = plot.items.iter().filter(|item| side == Side::Below || item.right == (side == Side::Right));
    let values =
        items.flat_map(
            |item| if side == Side::Below { horizontal_values(&item.shape) } else { vertical_values(&item.shape) },
        );
    min_max(values.filter(|&value| axis.accepts(value)))
}

/// Horizontal values of a shape.
fn horizontal_values(shape: &Shape) -> Vec<f64> {
    match shape {
        Shape::Line(points)
        | Shape::Faint(points)
        | Shape::Steps(points)
        | Shape::Dots(points)
        | Shape::Bars(points) => points.iter().map(|[x, _]| *x).collect(),
        Shape::Band(bands) | Shape::Intervals(bands) => bands.iter().map(|[x, ..]| *x).collect(),
        Shape::Labelled(points) => points.iter().map(|([x, _], _)| *x).collect(),
        Shape::Shaded(dots) => dots.iter().map(|dot| dot.at[0]).collect(),
        Shape::Boxes(boxes) => boxes.iter().map(|(x, _)| *x).collect(),
        Shape::Squares(squares) => squares.iter().map(|([x, _], _)| *x).collect(),
        Shape::Segments(segments) => segments.iter().flat_map(|[a, _, b, _]| [*a, *b]).collect(),
        Shape::Density(density) => density.x.into(),
        Shape::Vertical(x, _) => vec![*x],
        Shape::Cells(_) | Shape::Horizontal(..) => Vec::new(),
    }
}

/// Vertical values of a shape.
fn vertical_values(shape: &Shape) -> Vec<f64> {
    match shape {
        Shape::Line(points) | Shape::Faint(points) | Shape::Steps(points) | Shape::Dots(points) => {
            points.iter().map(|[_, y]| *y).collect()
        }
        Shape::Bars(points) => points.iter().map(|[_, y]| *y).chain([0.0]).collect(),
        Shape::Band(bands) | Shape::Intervals(bands) => bands.iter().flat_map(|[_, low, high]| [*low, *high]).collect(),
        Shape::Labelled(points) => points.iter().map(|([_, y], _)| *y).collect(),
        Shape::Shaded(dots) => dots.iter().map(|dot| dot.at[1]).collect(),
        Shape::Boxes(boxes) => {
            boxes.iter().flat_map(|(_, of)| of.beyond.iter().copied().chain([of.low, of.high])).collect()
        }
        Shape::Squares(squares) => squares.iter().map(|([_, y], _)| *y).collect(),
        Shape::Segments(segments) => segments.iter().flat_map(|[_, a, _, b]| [*a, *b]).collect(),
        Shape::Density(density) => density.y.into(),
        Shape::Horizontal(y, _) => vec![*y],
        Shape::Cells(_) | Shape::Vertical(..) => Vec::new(),
    }
}
