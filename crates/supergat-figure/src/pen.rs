//! Drawing context of marks: coordinates, colours and tooltips.

use crate::frame::Frame;
use crate::plot::{Plot, PlotItem};
use crate::style::series;
use crate::text::{coordinate, escaped, number};
use std::fmt::Write as _;

/// Drawing context of one plot item.
pub(crate) struct Pen<'a> {
    pub(crate) text: &'a mut String,
    pub(crate) plot: &'a Plot,
    pub(crate) frame: &'a Frame,
    pub(crate) item: &'a PlotItem,
}

impl Pen<'_> {
    /// Returns the attributes for the colour and classes of a mark.
    pub(crate) fn colour(&self, classes: &str) -> String {
        series(self.item.series.unwrap_or(0), classes)
    }

    /// Returns a tooltip with the name of the series and the words.
    pub(crate) fn tip(&self, words: &str) -> String {
        let name = self.item.series.map(|k| format!("{}: ", self.plot.names[k])).unwrap_or_default();
        format!("<title>{}</title>", escaped(&format!("{name}{words}")))
    }

    /// Returns a value of the horizontal axis as text: a name or a number.
    pub(crate) fn x_text(&self, x: f64) -> String {
        let named = self.plot.x.names().get(x.round().max(0.0) as usize).filter(|_| self.plot.x.is_categorical());
        named.cloned().unwrap_or_else(|| number(x))
    }

    /// Returns the coordinates of a point that both axes accept.
    pub(crate) fn at(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let axis = self.plot.right.as_ref().filter(|_| self.item.right).unwrap_or(&self.plot.y);
        let accepted = self.plot.x.accepts(x) && axis.accepts(y);
        accepted.then(|| [self.frame.x.at(x), self.frame.vertical(self.item).at(y)])
    }

    /// Returns the coordinates of a point that lies within the frame.
    pub(crate) fn inside(&self, point: [f64; 2]) -> Option<[f64; 2]> {
        let within =
            |_: &[f64; 2]| self.frame.x.contains(point[0]) && self.frame.vertical(self.item).contains(point[1]);
        self.at(point).filter(within)
    }

    /// Draws content clipped to the frame, by a nested SVG element.
    pub(crate) fn clipped(&mut self, content: &str) {
        let [x, y, wide, high] = [self.frame.left, self.frame.top, self.frame.width, self.frame.height].map(coordinate);
        let _ = writeln!(
            self.text,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" viewBox=\"{x} {y} {wide} {high}\">{content}</svg>"
        );
    }
}
