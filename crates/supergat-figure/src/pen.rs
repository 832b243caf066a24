//! What all marks need: places, colours, words for the pointer.

use crate::frame::Frame;
use crate::plot::{Layer, Plot};
use crate::style::series;
use crate::text::{escaped, number, place};
use std::fmt::Write as _;

/// What draws one layer.
pub(crate) struct Pen<'a> {
    pub(crate) text: &'a mut String,
    pub(crate) plot: &'a Plot,
    pub(crate) frame: &'a Frame,
    pub(crate) layer: &'a Layer,
}

impl Pen<'_> {
    /// Colour and classes of a mark.
    pub(crate) fn colour(&self, classes: &str) -> String {
        series(self.layer.series.unwrap_or(0), classes)
    }

    /// What a pointer shows: the name of the series and the words.
    pub(crate) fn tip(&self, words: &str) -> String {
        let name = self.layer.series.map(|k| format!("{}: ", self.plot.names[k])).unwrap_or_default();
        format!("<title>{}</title>", escaped(&format!("{name}{words}")))
    }

    /// A value of the horizontal axis in words.
    pub(crate) fn said(&self, x: f64) -> String {
        let named = self.plot.x.names().get(x.round().max(0.0) as usize).filter(|_| self.plot.x.is_categorical());
        named.cloned().unwrap_or_else(|| number(x))
    }

    /// The place of a value, where it has one on both axes.
    pub(crate) fn at(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let axis = self.plot.right.as_ref().filter(|_| self.layer.right).unwrap_or(&self.plot.y);
        let there = self.plot.x.takes(x) && axis.takes(y);
        there.then(|| [self.frame.x.at(x), self.frame.vertical(self.layer).at(y)])
    }

    /// The place of a value that lies within the frame.
    pub(crate) fn inside(&self, point: [f64; 2]) -> Option<[f64; 2]> {
        let within = |_: &[f64; 2]| self.frame.x.holds(point[0]) && self.frame.vertical(self.layer).holds(point[1]);
        self.at(point).filter(within)
    }

    /// Puts something into the frame that may reach beyond: a figure within the figure cuts it off.
    pub(crate) fn clipped(&mut self, content: &str) {
        let [x, y, wide, high] = [self.frame.left, self.frame.top, self.frame.width, self.frame.height].map(place);
        let _ = writeln!(
            self.text,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" viewBox=\"{x} {y} {wide} {high}\">{content}</svg>"
        );
    }
}
