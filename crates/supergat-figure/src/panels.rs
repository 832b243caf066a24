//! Several plots in one figure.

use crate::plot::{Plot, WIDTH, figure, heading};

/// Plots side by side, so many in a row; each row is as high as its highest plot.
pub fn panels(title: &str, columns: usize, plots: &[Plot]) -> String {
    let columns = columns.clamp(1, plots.len().max(1));
    let wide = WIDTH / columns as f64;
    let mut body = String::new();
    let mut y = 0.0;
    if !title.is_empty() {
        y = 34.0;
        heading(&mut body, title, 17.0, 0.0, 24.0, WIDTH);
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
    let titles: Vec<&str> = plots.iter().map(|plot| plot.title.as_str()).collect();
    figure(if title.is_empty() { titles.join("; ") } else { title.into() }.as_str(), y, &body)
}
