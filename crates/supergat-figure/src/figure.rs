//! SVG figures of one plot, or of several plots side by side.

use crate::frame::Frame;
use crate::plot::{Plot, Shape};
use crate::text::{self, FONT_SIZE, escaped, fitted};
use crate::{legend, marks, style};
use std::slice;

/// Width of a figure in its own units.
const WIDTH: f64 = 720.0;

impl Plot {
    /// Draws the plot as an SVG figure.
    pub fn svg(&self) -> String {
        figure(&self.title, self.height, &self.body([0.0, 0.0, WIDTH, self.height], 17.0, true))
    }

    /// Draws title, legend, frame and marks within a rectangle `[left, top, width, height]` of a figure. The
    /// legend has the names of the series only if `named`.
    fn body(&self, [left, top, wide, high]: [f64; 4], title_size: f64, named: bool) -> String {
        let mut text = String::new();
        let mut y = top;
        if !self.title.is_empty() {
            y += title_size + 7.0;
            heading(&mut text, &self.title, title_size, left, y, wide);
        }
        if named {
            y += legend::names(&mut text, slice::from_ref(self), left + 12.0, y + 6.0, wide - 24.0);
        }
        y += legend::colour_scale(&mut text, self, left + 12.0, y + 6.0);
        // The text of vertical lines is above the frame.
        let marked = self.items.iter().any(|item| matches!(item.shape, Shape::Vertical(..)));
        let gap = if marked { 20.0 } else { 14.0 };
        let frame = Frame::within(self, [left, y + gap, wide, top + high - y - gap]);
        frame.draw(&mut text, self);
        marks::draw(&mut text, self, &frame);
        text
    }
}

/// Draws plots as one SVG figure, `columns` per row. Each row is as high as its highest plot.
pub fn panels(title: &str, columns: usize, plots: &[Plot]) -> String {
    arranged(title, columns, plots, false)
}

/// Draws plots as [`panels`] does, but with one legend above all of them if their series have the same names.
pub fn panels_with_shared_legend(title: &str, columns: usize, plots: &[Plot]) -> String {
    arranged(title, columns, plots, plots.windows(2).all(|pair| pair[0].names == pair[1].names))
}

fn arranged(title: &str, columns: usize, plots: &[Plot], shared: bool) -> String {
    let columns = columns.clamp(1, plots.len().max(1));
    let wide = WIDTH / columns as f64;
    let mut body = String::new();
    let mut y = 0.0;
    if !title.is_empty() {
        y = 34.0;
        heading(&mut body, title, 17.0, 0.0, 24.0, WIDTH);
    }
    if shared {
        y += legend::names(&mut body, plots, 12.0, y, WIDTH - 24.0) + 6.0;
    }
    for row in plots.chunks(columns) {
        // Narrow plots need less height, but not in proportion to their width.
        let heights = row.iter().map(|plot| if columns > 1 { (0.72 * plot.height).max(160.0) } else { plot.height });
        let high = heights.fold(0.0, f64::max).round();
        for (column, plot) in row.iter().enumerate() {
            body += &plot.body([column as f64 * wide, y, wide, high], 14.0, !shared);
        }
        y += high + 8.0;
    }
    let titles: Vec<&str> = plots.iter().map(|plot| plot.title.as_str()).collect();
    figure(if title.is_empty() { titles.join("; ") } else { title.into() }.as_str(), y, &body)
}

/// Draws a title with its base line at `y`, from `left` over at most `wide` units.
fn heading(out: &mut String, title: &str, size: f64, left: f64, y: f64, wide: f64) {
    // Bold letters are wider than the estimate for normal ones.
    let (size, title) = fitted(title, size, 0.92 * (wide - 16.0));
    text::write(out, "", [left + 12.0, y], &format!("font-size=\"{size}\" font-weight=\"600\""), &title);
}

/// Wraps `body` into an SVG element with style sheet and background.
fn figure(title: &str, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sgf\" viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" role=\"img\" \
         aria-label=\"{}\" font-size=\"{FONT_SIZE}\">\n{}\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n",
        escaped(title),
        style::sheet()
    )
}
