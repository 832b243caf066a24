//! Detection of mixtures: graphs whose nodes form several modes of degree and homophily.
//!
//! The paper finds that its map for choosing an attention form fails on graphs whose [`Density`] has
//! distant modes, which are mixtures of different subgraphs. Here a mode is a local maximum of the density
//! such that
//!
//! - every path to a higher maximum crosses a valley below the share [`MAX_VALLEY`] of its own height,
//! - its height is at least the share [`MIN_HEIGHT`] of the highest maximum, and
//! - its basin contains at least the share [`MIN_SHARE`] of the nodes. The basin is the set of grid cells
//!   whose steepest ascent ends at the maximum.
//!
//! A maximum with a shallower valley is merged, with its basin, into the higher one. A graph is a mixture if
//! two of its modes differ in homophily by at least [`MIN_HOMOPHILY_GAP`] and one of them has a degree of at
//! least [`MIN_DEGREE`]. Leaves and hubs of the same homophily often form two modes, but no mixture. Nodes
//! with one or two neighbours have a homophily of 0, 1/2 or 1 in any graph. The thresholds were chosen on the
//! published datasets.

use super::density::{COLUMNS, Density, ROWS};
use serde::Serialize;

/// Maximum height of the valley between two modes, as a share of the lower mode.
pub const MAX_VALLEY: f64 = 0.5;
/// Minimum height of a mode, as a share of the highest.
pub const MIN_HEIGHT: f64 = 0.3;
/// Minimum share of the nodes in a mode.
pub const MIN_SHARE: f64 = 0.02;
/// Minimum difference in homophily of two modes of a mixture.
pub const MIN_HOMOPHILY_GAP: f64 = 0.5;
/// Minimum degree of at least one of these two modes.
pub const MIN_DEGREE: f64 = 3.0;
/// Density below which a cell counts as empty, as a share of the highest.
const EMPTY: f64 = 1e-6;

/// A mode of a density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mode {
    /// Degree at the peak.
    pub degree: f64,
    /// Homophily at the peak.
    pub homophily: f64,
    /// Height of the peak, as a share of the highest.
    pub height: f64,
    /// Height of the highest pass to a higher mode, as a share of its own height; `None` for the highest
    /// mode.
    pub valley: Option<f64>,
    /// Share of the nodes in its basin.
    pub share: f64,
}

/// Returns whether modes are those of a mixture.
pub fn is_mixture(modes: &[Mode]) -> bool {
    let far = |a: &Mode| modes.iter().any(|b| (a.homophily - b.homophily).abs() >= MIN_HOMOPHILY_GAP);
    modes.iter().any(|mode| mode.degree >= MIN_DEGREE && far(mode))
}

/// A local maximum of the density.
#[derive(Debug, Clone, Copy)]
struct Peak {
    cell: usize,
    /// The higher peak it was merged with and the height of the pass; `None` for the highest peak.
    merged: Option<(usize, f64)>,
    /// Share of the nodes in its own basin.
    share: f64,
}

/// Returns the modes of a density, the highest first.
pub fn modes(density: &Density) -> Vec<Mode> {
    let peaks = peaks(density);
    let height = |peak: &Peak| density.values[peak.cell];
    let is_separate = |peak: &Peak| peak.merged.is_none_or(|(_, pass)| pass < MAX_VALLEY * height(peak));
    // Higher peaks come first, so the owner of a merged peak is already known.
    let mut owner: Vec<usize> = Vec::with_capacity(peaks.len());
    for (k, peak) in peaks.iter().enumerate() {
        owner.push(if is_separate(peak) { k } else { peak.merged.map_or(k, |(higher, _)| owner[higher]) });
    }
    let share = |mode: usize| (0..peaks.len()).filter(|&k| owner[k] == mode).map(|k| peaks[k].share).sum::<f64>();
    let mode = |(k, peak): (usize, &Peak)| Mode {
        degree: 10f64.powf(density.degrees[peak.cell % COLUMNS]),
        homophily: density.homophilies[peak.cell / COLUMNS],
        height: height(peak) / height(&peaks[0]),
        valley: peak.merged.map(|(_, pass)| pass / height(peak)),
        share: share(k),
    };
    let all = peaks.iter().enumerate().filter(|(k, _)| owner[*k] == *k).map(mode);
    all.filter(|mode| mode.valley.is_none() || (mode.share >= MIN_SHARE && mode.height >= MIN_HEIGHT)).collect()
}

/// Returns all local maxima, the highest first. Cells are added to basins from the highest to the lowest
/// density; a cell where two basins meet is a pass.
fn peaks(density: &Density) -> Vec<Peak> {
    let values = &density.values;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let lowest = EMPTY * values[order[0]];
    let mut peaks: Vec<Peak> = Vec::new();
    // Peak at the end of the steepest ascent from each cell.
    let mut basin: Vec<Option<usize>> = vec![None; values.len()];
    for cell in order.into_iter().take_while(|&cell| values[cell] > lowest) {
        let around: Vec<usize> = neighbours(cell).filter(|&other| basin[other].is_some()).collect();
        let steepest = around.iter().copied().reduce(|a, b| if values[b] > values[a] { b } else { a });
        let peak = steepest.and_then(|other| basin[other]).unwrap_or_else(|| {
            peaks.push(Peak { cell, merged: None, share: 0.0 });
            peaks.len() - 1
        });
        basin[cell] = Some(peak);
        peaks[peak].share += density.share(cell);
        let mut highest: Vec<usize> =
            around.iter().filter_map(|&other| basin[other]).map(|k| highest_merged(&peaks, k)).collect();
        highest.sort_unstable();
        highest.dedup();
        // The peak with the smallest index is the highest.
        for lower in highest.iter().skip(1) {
            peaks[*lower].merged = Some((highest[0], values[cell]));
        }
    }
    peaks
}

/// Returns the highest of the peaks that a peak is merged with.
fn highest_merged(peaks: &[Peak], mut k: usize) -> usize {
    while let Some((higher, _)) = peaks[k].merged {
        k = higher;
    }
    k
}

/// Returns the up to eight cells around a cell.
fn neighbours(cell: usize) -> impl Iterator<Item = usize> {
    let (row, column) = (cell / COLUMNS, cell % COLUMNS);
    let rows = row.saturating_sub(1)..=(row + 1).min(ROWS - 1);
    let columns = move || column.saturating_sub(1)..=(column + 1).min(COLUMNS - 1);
    rows.flat_map(move |row| columns().map(move |column| row * COLUMNS + column)).filter(move |&other| other != cell)
}

#[cfg(test)]
mod tests {
    use super::super::density::Point;
    use super::*;
    use supergat_core::random::{Purpose, Stream};

    /// Returns normally distributed points around centres: (log10 of the degree, homophily, count, spread).
    fn points(clouds: &[(f64, f64, usize, f64)]) -> Vec<Point> {
        let cloud = |(k, &(x, y, count, spread)): (usize, &(f64, f64, usize, f64))| {
            let stream = Stream::new(1, k as u32, 0, Purpose::SyntheticFeatures);
            let point = move |index| {
                let [a, b] = stream.normal_pair(index);
                [(x + spread * a).max(0.0), (y + spread * b).clamp(0.0, 1.0)]
            };
            (0..count as u64).map(point).collect::<Vec<_>>()
        };
        clouds.iter().enumerate().flat_map(cloud).collect()
    }

    fn found(clouds: &[(f64, f64, usize, f64)]) -> Vec<Mode> {
        modes(&Density::of(&points(clouds)).unwrap())
    }

    #[test]
    fn single_cloud_has_one_mode() {
        let modes = found(&[(1.0, 0.7, 2000, 0.12)]);
        let [mode] = modes[..] else { panic!("{modes:?}") };
        assert!((mode.degree.log10() - 1.0).abs() < 0.1 && (mode.homophily - 0.7).abs() < 0.1, "{mode:?}");
        assert!(mode.height == 1.0 && mode.valley.is_none() && (mode.share - 1.0).abs() < 0.01, "{mode:?}");
    }

    #[test]
    fn distant_clouds_are_separate_modes() {
        let modes = found(&[(0.5, 0.8, 3000, 0.07), (2.0, 0.2, 2000, 0.07)]);
        let [high, low] = modes[..] else { panic!("{modes:?}") };
        assert!((high.share - 0.6).abs() < 0.02 && (low.share - 0.4).abs() < 0.02, "{modes:?}");
        assert!((low.degree.log10() - 2.0).abs() < 0.1 && (low.homophily - 0.2).abs() < 0.1, "{low:?}");
        assert!(low.valley.unwrap() < 0.01 && is_mixture(&modes), "{modes:?}");
        // A second degree with similar homophily is a mode, but no mixture.
        let modes = found(&[(0.5, 0.8, 3000, 0.07), (2.0, 0.7, 2000, 0.07)]);
        assert!(modes.len() == 2 && !is_mixture(&modes), "{modes:?}");
        // Every graph has nodes with one or two neighbours and homophily 0 or 1.
        let modes = found(&[(0.0, 0.95, 3000, 0.02), (0.3, 0.05, 2000, 0.02)]);
        assert!(modes.len() == 2 && !is_mixture(&modes), "{modes:?}");
    }

    /// The valley becomes shallower as two clouds approach each other, until one mode contains all nodes.
    #[test]
    fn merges_modes_with_a_shallow_valley() {
        let at = |x: f64| found(&[(1.0, 0.5, 2000, 0.1), (x, 0.5, 1500, 0.1)]);
        assert_eq!([2.0, 1.8, 1.2, 1.0].map(|x| at(x).len()), [2, 2, 1, 1]);
        assert!((at(1.2)[0].share - 1.0).abs() < 0.01);
    }

    #[test]
    fn ignores_low_peaks() {
        let second = |count| found(&[(1.0, 0.8, 1000, 0.1), (2.5, 0.2, count, 0.1)]).len();
        assert_eq!([500, 150].map(second), [2, 1]);
    }

    /// A high peak of few nodes is not a mode.
    #[test]
    fn ignores_peaks_with_few_nodes() {
        let second = |count| found(&[(1.0, 0.5, 10_000, 0.15), (1.7, 0.1, count, 0.001)]).len();
        assert_eq!([300, 190].map(second), [2, 1]);
    }
}
