//! Draws the marks of a plot within its frame.

use crate::boxes;
use crate::density::{Density, LEVELS};
use crate::frame::Frame;
use crate::labels;
use crate::pen::Pen;
use crate::plot::{Cell, Plot, Shaded, Shape};
use crate::style::{cell_text_classes, min_max, opacity, series, share};
use crate::text::{self, FONT_SIZE, coordinate, number, width};
use std::fmt::Write as _;

/// Maximum number of points of a line that are also drawn as dots.
const MAX_LINE_DOTS: usize = 24;

/// Draws all marks of a plot, or the text "no data" if there are none.
pub(crate) fn draw(out: &mut String, plot: &Plot, frame: &Frame) {
    let before = out.len();
    for item in &plot.items {
        Pen { text: out, plot, frame, item }.draw();
    }
    if out.len() == before {
        let centre = [frame.left + frame.width / 2.0, frame.top + frame.height / 2.0];
        text::write(out, "pale", centre, "text-anchor=\"middle\"", "no data");
    }
}

/// Returns the corners of a staircase through points: across at the old height, then up or down.
fn staircase(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let corners = points.windows(2).flat_map(|pair| [[pair[1][0], pair[0][1]], pair[1]]);
    points.first().copied().into_iter().chain(corners).collect()
}

impl Pen<'_> {
    fn draw(&mut self) {
        match &self.item.shape {
            Shape::Line(points) => self.line(points),
            Shape::Faint(points) => self.path(points, "stroke-width=\"1.2\" stroke-opacity=\"0.3\""),
            Shape::Steps(points) => self.path(&staircase(points), "stroke-width=\"1.8\""),
            Shape::Band(bands) => self.band(bands),
            Shape::Dots(points) => self.dots(points),
            Shape::Shaded(dots) => self.shaded(dots),
            Shape::Labelled(points) => self.labelled(points),
            Shape::Intervals(intervals) => self.intervals(intervals),
            Shape::Bars(points) => boxes::bars(self, points),
            Shape::Boxes(of) => boxes::boxes(self, of),
            Shape::Squares(squares) => self.squares(squares),
            Shape::Cells(cells) => self.cells(cells),
            Shape::Segments(segments) => self.segments(segments),
            Shape::Density(density) => self.density(density),
            Shape::Vertical(x, words) => self.vertical(*x, words),
            Shape::Horizontal(y, words) => self.horizontal(*y, words),
        }
    }

    fn line(&mut self, points: &[[f64; 2]]) {
        let dashes = if self.item.right { " stroke-dasharray=\"6 4\"" } else { "" };
        self.path(points, &format!("stroke-width=\"2.2\"{dashes}"));
        if points.len() <= MAX_LINE_DOTS {
            self.dots(points);
        }
    }

    fn path(&mut self, points: &[[f64; 2]], look: &str) {
        let mut path = String::new();
        let mut joined = false;
        for &point in points {
            let Some([x, y]) = self.at(point) else {
                joined = false;
                continue;
            };
            let _ = write!(path, "{}{} {}", if joined { 'L' } else { 'M' }, coordinate(x), coordinate(y));
            joined = true;
        }
        if !path.is_empty() {
            let (colour, tip) = (self.colour("line"), self.tip(""));
            self.clipped(&format!("<path {colour} stroke-linejoin=\"round\" {look} d=\"{path}\">{tip}</path>"));
        }
    }

    fn band(&mut self, bands: &[[f64; 3]]) {
        let end = |k: usize| {
            bands.iter().filter_map(move |band| Some([band[0], band[k]]).filter(|_| band.iter().all(|v| v.is_finite())))
        };
        let edge: Vec<String> = end(1)
            .chain(end(2).collect::<Vec<_>>().into_iter().rev())
            .filter_map(|point| self.at(point))
            .map(|[x, y]| format!("{} {}", coordinate(x), coordinate(y)))
            .collect();
        if !edge.is_empty() {
            let colour = self.colour("area");
            self.clipped(&format!("<path {colour} fill-opacity=\"0.2\" d=\"M{}Z\"/>", edge.join("L")));
        }
    }

    fn dots(&mut self, points: &[[f64; 2]]) {
        let radius = match points.len() {
            0..60 => "4",
            60..300 => "3",
            _ => "2",
        };
        for &point in points {
            let Some([x, y]) = self.inside(point) else { continue };
            let words = format!("{}, {}", self.x_text(point[0]), number(point[1]));
            let (colour, x, y, tip) = (self.colour("ring"), coordinate(x), coordinate(y), self.tip(&words));
            let _ = writeln!(self.text, "<circle {colour} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\">{tip}</circle>");
        }
    }

    fn shaded(&mut self, dots: &[Shaded]) {
        let Some(range) = min_max(dots.iter().map(|dot| dot.value)) else { return };
        for dot in dots.iter().filter(|dot| dot.value.is_finite()) {
            let Some([x, y]) = self.inside(dot.at) else { continue };
            let (x, y, tip) = (coordinate(x), coordinate(y), self.tip(&dot.text));
            let opacity = opacity(share(dot.value, range));
            // The background circle hides the marks behind a transparent dot.
            let _ = writeln!(
                self.text,
                "<circle class=\"ground\" cx=\"{x}\" cy=\"{y}\" r=\"5.5\"/><circle class=\"cell rule\" stroke-opacity=\"0.35\" cx=\"{x}\" cy=\"{y}\" \
                 r=\"5\" fill-opacity=\"{opacity:.2}\">{tip}</circle>"
            );
        }
    }

    fn labelled(&mut self, points: &[([f64; 2], String)]) {
        let visible = points.iter().filter_map(|(point, name)| Some((self.inside(*point)?, name.as_str())));
        let visible: Vec<([f64; 2], &str)> = visible.collect();
        let frame = self.frame;
        let bounds = [frame.left, frame.top, frame.left + frame.width, frame.top + frame.height];
        self.dots(&points.iter().map(|(point, _)| *point).collect::<Vec<_>>());
        for (place, (_, name)) in labels::name_positions(&visible, bounds).into_iter().zip(&visible) {
            text::write(self.text, "halo", place, "", name);
        }
    }

    fn intervals(&mut self, intervals: &[[f64; 3]]) {
        for &[x, low, high] in intervals {
            let (Some([x0, y0]), Some([_, y1])) = (self.at([x, low]), self.at([x, high])) else { continue };
            let (colour, tip) = (self.colour("line"), self.tip(&format!("{} to {}", number(low), number(high))));
            let (x, left, y0, y1) = (coordinate(x0), coordinate(x0 - 4.0), coordinate(y0), coordinate(y1));
            self.clipped(&format!(
                "<path {colour} stroke-width=\"1.5\" d=\"M{left} {y0}h8M{x} {y0}V{y1}M{left} {y1}h8\">{tip}</path>"
            ));
        }
    }

    fn squares(&mut self, squares: &[([f64; 2], f64)]) {
        let across = self.frame.x.length() / self.plot.x.names().len().max(1) as f64;
        let up = self.frame.y.length() / self.plot.y.names().len().max(1) as f64;
        let full =
            if self.plot.x.is_categorical() && self.plot.y.is_categorical() { 0.9 * across.min(up) } else { 26.0 };
        for &(point, size) in squares {
            let Some([x, y]) = self.inside(point).filter(|_| size.is_finite() && size > 0.0) else { continue };
            let side = full * size.min(1.0);
            let (colour, tip) =
                (self.colour("area"), self.tip(&format!("{}, {}", self.x_text(point[0]), number(point[1]))));
            let (x, y, side) = (coordinate(x - side / 2.0), coordinate(y - side / 2.0), coordinate(side));
            let _ = writeln!(
                self.text,
                "<rect {colour} x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\">{tip}</rect>"
            );
        }
    }

    fn cells(&mut self, cells: &[Cell]) {
        let Some(range) = min_max(cells.iter().map(|cell| cell.value)) else { return };
        let wide = self.frame.width / self.plot.x.names().len().max(1) as f64;
        let tall = self.frame.height / self.plot.y.names().len().max(1) as f64;
        for cell in cells.iter().filter(|cell| cell.value.is_finite()) {
            let Some([x, y]) = self.inside([cell.x as f64, cell.y as f64]) else { continue };
            let opacity = opacity(share(cell.value, range));
            let row = self.plot.y.names().get(cell.y).map_or("", String::as_str);
            let tip = self.tip(&format!("{row}, {}: {}", self.x_text(cell.x as f64), number(cell.value)));
            let (left, top) = (coordinate(x - wide / 2.0 + 0.5), coordinate(y - tall / 2.0 + 0.5));
            let (w, h) = (coordinate(wide - 1.0), coordinate(tall - 1.0));
            let _ = writeln!(
                self.text,
                "<rect class=\"cell\" x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" fill-opacity=\"{opacity:.3}\">{tip}</rect>"
            );
            // A text that does not fit is shown by the tooltip only.
            if width(&cell.text, FONT_SIZE) <= wide && tall >= FONT_SIZE {
                let classes = cell_text_classes(opacity);
                let look = "text-anchor=\"middle\" pointer-events=\"none\"";
                text::write(self.text, &classes, [x, y + 4.5], look, &cell.text);
            }
        }
    }

    fn segments(&mut self, segments: &[[f64; 4]]) {
        let mut path = String::new();
        for &[x0, y0, x1, y1] in segments {
            if let (Some([a, b]), Some([c, d])) = (self.at([x0, y0]), self.at([x1, y1])) {
                let _ = write!(path, "M{} {}L{} {}", coordinate(a), coordinate(b), coordinate(c), coordinate(d));
            }
        }
        if !path.is_empty() {
            // Many segments are drawn fainter, so that single ones remain visible.
            let opacity = (40.0 / segments.len() as f64).sqrt().clamp(0.05, 0.35);
            self.clipped(&format!(
                "<path class=\"axis line\" stroke-opacity=\"{opacity:.2}\" stroke-width=\"0.8\" d=\"{path}\"/>"
            ));
        }
    }

    fn density(&mut self, density: &Density) {
        let mut content = String::new();
        let colour = match self.item.series {
            Some(k) => series(k, "area"),
            None => "class=\"cell\"".into(),
        };
        for (level, rectangles) in density.rectangles() {
            let mut path = String::new();
            for [x0, y0, x1, y1] in rectangles {
                let (Some([a, b]), Some([c, d])) = (self.at([x0, y0]), self.at([x1, y1])) else { continue };
                // Adjacent rectangles use equal coordinates, so that no gap is visible.
                let _ =
                    write!(path, "M{0} {1}H{2}V{3}H{0}Z", coordinate(a), coordinate(b), coordinate(c), coordinate(d));
            }
            let opacity = 0.85 * f64::from(level) / LEVELS;
            let _ = write!(
                content,
                "<path {colour} fill-opacity=\"{opacity:.2}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>"
            );
        }
        if !content.is_empty() {
            self.clipped(&content);
        }
    }

    fn vertical(&mut self, x: f64, words: &str) {
        if !self.plot.x.accepts(x) || !self.frame.x.contains(x) {
            return;
        }
        let (at, top, high) = (self.frame.x.at(x), self.frame.top, self.frame.height);
        // The text is above the frame and extends to the side with enough room.
        let room = self.frame.left + self.frame.width - at;
        let (shift, anchor) = if width(words, FONT_SIZE) < room { (-2.0, "start") } else { (2.0, "end") };
        self.rule(&format!("M{} {}v{}", coordinate(at), coordinate(top), coordinate(high)));
        text::write(self.text, "", [at + shift, top - 3.0], &format!("text-anchor=\"{anchor}\""), words);
    }

    fn horizontal(&mut self, y: f64, words: &str) {
        if !self.plot.y.accepts(y) || !self.frame.y.contains(y) {
            return;
        }
        let at = self.frame.y.at(y);
        let above = if at - self.frame.top > 20.0 { -5.0 } else { 15.0 };
        let (left, wide) = (self.frame.left, self.frame.width);
        self.rule(&format!("M{} {}h{}", coordinate(left), coordinate(at), coordinate(wide)));
        text::write(self.text, "halo", [left + wide - 3.0, at + above], "text-anchor=\"end\"", words);
    }

    /// Draws a dashed straight line.
    fn rule(&mut self, path: &str) {
        let _ = writeln!(self.text, "<path class=\"rule line\" stroke-dasharray=\"3 4\" d=\"{path}\"/>");
    }
}
