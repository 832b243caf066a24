//! Densities over the plane, drawn as cells whose opacity grows with the value.

use std::collections::BTreeMap;

/// Values on a regular grid over a rectangle, row by row from the bottom.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Left and right end of the rectangle.
    pub x: [f64; 2],
    /// Lower and upper end of the rectangle.
    pub y: [f64; 2],
    /// Number of values per row.
    pub columns: usize,
    /// Non-negative values; the largest is drawn with full opacity.
    pub values: Vec<f64>,
}

impl Density {
    /// Returns the rectangles `[x0, y0, x1, y1]` of each opacity level from 1 to [`LEVELS`]. Adjacent cells
    /// of a row with the same level are merged.
    pub(crate) fn rectangles(&self) -> BTreeMap<u32, Vec<[f64; 4]>> {
        let most = self.values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        if self.columns == 0 || most == 0.0 {
            return BTreeMap::new();
        }
        let rows = self.values.len() / self.columns;
        let along = |[low, high]: [f64; 2], k: usize, of: usize| low + (high - low) * k as f64 / of as f64;
        let mut found: BTreeMap<u32, Vec<[f64; 4]>> = BTreeMap::new();
        for (row, values) in self.values.chunks_exact(self.columns).enumerate() {
            let levels: Vec<u32> = values.iter().map(|value| (LEVELS * value.max(0.0) / most).round() as u32).collect();
            let mut start = 0;
            for run in levels.chunk_by(|a, b| a == b) {
                let end = start + run.len();
                let corners = [
                    along(self.x, start, self.columns),
                    along(self.y, row, rows),
                    along(self.x, end, self.columns),
                    along(self.y, row + 1, rows),
                ];
                if run[0] > 0 {
                    found.entry(run[0]).or_default().push(corners);
                }
                start = end;
            }
        }
        found
    }
}

/// Number of opacity levels.
pub(crate) const LEVELS: f64 = 24.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_adjacent_cells_of_one_level() {
        let density = Density { x: [0.0, 4.0], y: [0.0, 1.0], columns: 4, values: vec![0.0, 2.0, 2.0, 1.0] };
        let expected = BTreeMap::from([(12, vec![[3.0, 0.0, 4.0, 1.0]]), (24, vec![[1.0, 0.0, 3.0, 1.0]])]);
        assert_eq!(density.rectangles(), expected);
        let odd = Density { values: vec![f64::NAN; 4], ..density.clone() };
        assert!(odd.rectangles().is_empty() && Density { columns: 0, ..density }.rectangles().is_empty());
    }
}
