//! Several plots in one figure.

use crate::plot::{Plot, WIDTH, figure};
use crate::text::escaped;
use std::fmt::Write as _;

/// Plots side by side, so many in a row; each row is as high as its highest plot.
pub fn panels(title: &str, columns: usize, plots: &[Plot]) -> String {
    let columns = columns.clamp(1, plots.len().max(1));
    let wide = WIDTH / columns as f64;
    let mut body = String::new();
    let mut y = 8.0;
    if !title.is_empty() {
        y = 34.0;
        let _ =
            writeln!(body, "<text x=\"12\" y=\"24\" font-size=\"17\" font-weight=\"600\">{}</text>", escaped(title));
    }
    for row in plots.chunks(columns) {
        // Narrow plots need less height than wide ones, though not in the same proportion.
        let heights = row.iter().map(|plot| if columns > 1 { (0.72 * plot.height).max(160.0) } else { plot.height });
        let high = heights.fold(0.0, f64::max).round();
        for (column, plot) in row.iter().enumerate() {
            body += &plot.body([column as f64 * wide, y, wide, high], 14.0);
        }
        y += high + 8.0;
    }
    figure(title, y, &body)
}
