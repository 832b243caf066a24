//! Whether a graph looks like one or like several put together: the modes of its nodes' degrees and homophilies.
//!
//! The paper finds that its recipe for choosing an attention fails on graphs whose [`Density`] has modes far apart: a mixture of different sub-graphs. Here a
//! mode is a local maximum p of the density
//!
//! - that no path leads from to a higher one without going through a valley below [`VALLEY`] of its own height,
//! - that is at least [`LOWEST`] as high as the highest, and
//! - whose slopes hold at least [`SMALLEST`] of the nodes: from every cell of the grid one goes uphill, and all cells that lead to p are its slopes.
//!
//! Maxima with shallower valleys belong to the one that the path leads to, with their slopes. A graph is a mixture when the homophilies of two of its
//! modes differ by at least [`APART`] and one of them has a degree of at least [`NEIGHBOURS`]. Leaves and hubs of the same homophily are often two modes, and
//! no mixture; and where nodes have one neighbour or two, homophily is 0, 1/2 or 1 in any graph. These numbers were chosen with the published datasets in sight.

use crate::density::{COLUMNS, Density, ROWS};
use serde::Serialize;

/// A valley between two modes lies below this share of the lower one.
pub const VALLEY: f64 = 0.5;
/// A mode is at least this high, as a share of the highest.
pub const LOWEST: f64 = 0.3;
/// A mode holds at least this share of the nodes.
pub const SMALLEST: f64 = 0.02;
/// Modes of a mixture differ at least so much in homophily.
pub const APART: f64 = 0.5;
/// And one of them has at least so many neighbours.
pub const NEIGHBOURS: f64 = 3.0;
/// Cells below this share of the highest are empty.
const EMPTY: f64 = 1e-6;

/// A mode of a density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mode {
    /// Degree of its peak.
    pub degree: f64,
    /// Homophily of its peak.
    pub homophily: f64,
    /// Height of its peak as a share of the highest.
    pub height: f64,
    /// The highest pass to a higher mode, as a share of its own height; `None` of the highest.
    pub valley: Option<f64>,
    /// Share of the nodes on its slopes.
    pub share: f64,
}

/// Whether modes are those of a mixture.
pub fn is_mixture(modes: &[Mode]) -> bool {
    let far = |a: &Mode| modes.iter().any(|b| (a.homophily - b.homophily).abs() >= APART);
    modes.iter().any(|mode| mode.degree >= NEIGHBOURS && far(mode))
}

/// A local maximum, and where its slopes end.
#[derive(Debug, Clone, Copy)]
struct Peak {
    cell: usize,
    /// The higher peak that it was joined to, and the height of the pass; `None` of the highest.
    joined: Option<(usize, f64)>,
    /// Share of the nodes on its own slopes.
    share: f64,
}

/// The modes of a density, the highest first.
pub fn modes(density: &Density) -> Vec<Mode> {
    let peaks = peaks(density);
    let height = |peak: &Peak| density.values[peak.cell];
    let is_separate = |peak: &Peak| peak.joined.is_none_or(|(_, pass)| pass < VALLEY * height(peak));
    // Higher peaks come first, so that what a peak is joined to has been judged before it.
    let mut owner: Vec<usize> = Vec::with_capacity(peaks.len());
    for (k, peak) in peaks.iter().enumerate() {
        owner.push(if is_separate(peak) { k } else { peak.joined.map_or(k, |(higher, _)| owner[higher]) });
    }
    let share = |mode: usize| (0..peaks.len()).filter(|&k| owner[k] == mode).map(|k| peaks[k].share).sum::<f64>();
    let mode = |(k, peak): (usize, &Peak)| Mode {
        degree: 10f64.powf(density.degrees[peak.cell % COLUMNS]),
        homophily: density.homophilies[peak.cell / COLUMNS],
        height: height(peak) / height(&peaks[0]),
        valley: peak.joined.map(|(_, pass)| pass / height(peak)),
        share: share(k),
    };
    let all = peaks.iter().enumerate().filter(|(k, _)| owner[*k] == *k).map(mode);
    all.filter(|mode| mode.valley.is_none() || (mode.share >= SMALLEST && mode.height >= LOWEST)).collect()
}

/// All local maxima, the highest first: cells are flooded from the highest to the lowest, and where two floods meet there is a pass.
fn peaks(density: &Density) -> Vec<Peak> {
    let values = &density.values;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let lowest = EMPTY * values[order[0]];
    let mut peaks: Vec<Peak> = Vec::new();
    // The peak that the way uphill from a cell ends at.
    let mut uphill: Vec<Option<usize>> = vec![None; values.len()];
    for cell in order.into_iter().take_while(|&cell| values[cell] > lowest) {
        let flooded = neighbours(cell).filter(|&other| uphill[other].is_some());
        let around: Vec<usize> = flooded.collect();
        let steepest = around.iter().copied().reduce(|a, b| if values[b] > values[a] { b } else { a });
        let peak = steepest.and_then(|other| uphill[other]).unwrap_or_else(|| {
            peaks.push(Peak { cell, joined: None, share: 0.0 });
            peaks.len() - 1
        });
        uphill[cell] = Some(peak);
        peaks[peak].share += density.share(cell);
        let mut floods: Vec<usize> =
            around.iter().filter_map(|&other| uphill[other]).map(|k| flood(&peaks, k)).collect();
        floods.sort_unstable();
        floods.dedup();
        // The earliest peak is the highest.
        for lower in floods.iter().skip(1) {
            peaks[*lower].joined = Some((floods[0], values[cell]));
        }
    }
    peaks
}

/// The highest peak of the flood that a peak is in.
fn flood(peaks: &[Peak], mut k: usize) -> usize {
    while let Some((higher, _)) = peaks[k].joined {
        k = higher;
    }
    k
}

/// The up to eight cells around one.
fn neighbours(cell: usize) -> impl Iterator<Item = usize> {
    let (row, column) = (cell / COLUMNS, cell % COLUMNS);
    let rows = row.saturating_sub(1)..=(row + 1).min(ROWS - 1);
    let columns = move || column.saturating_sub(1)..=(column + 1).min(COLUMNS - 1);
    rows.flat_map(move |row| columns().map(move |column| row * COLUMNS + column)).filter(move |&other| other != cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::Point;
    use supergat_core::random::{Purpose, Stream};

    /// Normally distributed points around some places: (log10 of the degree, homophily, how many, spread).
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
    fn one_cloud_has_one_mode() {
        let modes = found(&[(1.0, 0.7, 2000, 0.12)]);
        let [mode] = modes[..] else { panic!("{modes:?}") };
        assert!((mode.degree.log10() - 1.0).abs() < 0.1 && (mode.homophily - 0.7).abs() < 0.1, "{mode:?}");
        assert!(mode.height == 1.0 && mode.valley.is_none() && (mode.share - 1.0).abs() < 0.01, "{mode:?}");
    }

    #[test]
    fn clouds_far_apart_are_modes_with_their_shares() {
        let modes = found(&[(0.5, 0.8, 3000, 0.07), (2.0, 0.2, 2000, 0.07)]);
        let [high, low] = modes[..] else { panic!("{modes:?}") };
        assert!((high.share - 0.6).abs() < 0.02 && (low.share - 0.4).abs() < 0.02, "{modes:?}");
        assert!((low.degree.log10() - 2.0).abs() < 0.1 && (low.homophily - 0.2).abs() < 0.1, "{low:?}");
        assert!(low.valley.unwrap() < 0.01 && is_mixture(&modes), "{modes:?}");
        // The same homophily at another degree is a mode as well, but no mixture.
        let modes = found(&[(0.5, 0.8, 3000, 0.07), (2.0, 0.7, 2000, 0.07)]);
        assert!(modes.len() == 2 && !is_mixture(&modes), "{modes:?}");
        // Nodes with one or two neighbours, of which all are of the same class or none, are in every graph.
        let modes = found(&[(0.0, 0.95, 3000, 0.02), (0.3, 0.05, 2000, 0.02)]);
        assert!(modes.len() == 2 && !is_mixture(&modes), "{modes:?}");
    }

    /// Two clouds come near each other: the valley fills, and there is one mode left, which holds all nodes.
    #[test]
    fn a_shallow_valley_separates_nothing() {
        let at = |x: f64| found(&[(1.0, 0.5, 2000, 0.1), (x, 0.5, 1500, 0.1)]);
        assert_eq!([2.0, 1.8, 1.2, 1.0].map(|x| at(x).len()), [2, 2, 1, 1]);
        assert!((at(1.2)[0].share - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_low_peak_is_no_mode() {
        let second = |count| found(&[(1.0, 0.8, 1000, 0.1), (2.5, 0.2, count, 0.1)]).len();
        assert_eq!([500, 150].map(second), [2, 1]);
    }

    /// A pile of few nodes may be high, but is no mode before there are enough of them.
    #[test]
    fn a_handful_of_nodes_is_no_mode() {
        let second = |count| found(&[(1.0, 0.5, 10_000, 0.15), (1.7, 0.1, count, 0.001)]).len();
        assert_eq!([300, 190].map(second), [2, 1]);
    }
}
