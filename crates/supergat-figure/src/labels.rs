//! Placement of names beside dots without overlaps.

use crate::text::{FONT_SIZE, width};

/// Returns the left end and base line of each name, beside its dot and within `[left, top, right, bottom]`.
/// Overlaps with dots and other names are avoided where possible.
pub(crate) fn name_positions(dots: &[([f64; 2], &str)], bounds: [f64; 4]) -> Vec<[f64; 2]> {
    let mut taken: Vec<[f64; 4]> = dots.iter().map(|([x, y], _)| [x - 5.0, y - 5.0, x + 5.0, y + 5.0]).collect();
    dots.iter()
        .map(|&(dot, name)| {
            let covered = |candidate: &[f64; 4]| -> f64 {
                let outside = area(candidate) - overlap(candidate, &bounds);
                outside + taken.iter().map(|other| overlap(candidate, other)).sum::<f64>()
            };
            let best = candidates(dot, width(name, FONT_SIZE))
                .into_iter()
                .min_by(|a, b| covered(a).total_cmp(&covered(b)))
                .unwrap_or([dot[0], dot[1], dot[0], dot[1]]);
            taken.push(best);
            [best[0], best[3] - 3.0]
        })
        .collect()
}

/// Candidate rectangles around a dot, in order of preference.
fn candidates([x, y]: [f64; 2], wide: f64) -> Vec<[f64; 4]> {
    let high = FONT_SIZE + 2.0;
    let at = |left: f64, middle: f64| [left, middle - high / 2.0, left + wide, middle + high / 2.0];
    let ring = |distance: f64| {
        let (right, left, centre) = (x + distance, x - distance - wide, x - wide / 2.0);
        let (up, down) = (y - distance - 5.0, y + distance + 5.0);
        [
            at(right, y),
            at(left, y),
            at(centre, up),
            at(centre, down),
            at(right, up),
            at(right, down),
            at(left, up),
            at(left, down),
        ]
    };
    [8.0, 16.0, 26.0, 38.0].into_iter().flat_map(ring).collect()
}

fn area([left, top, right, bottom]: &[f64; 4]) -> f64 {
    (right - left).max(0.0) * (bottom - top).max(0.0)
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    area(&[a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avoids_overlapping_names() {
        let dots = [
            ([100.0, 100.0], "cora"),
            ([110.0, 100.0], "pubmed"),
            ([105.0, 104.0], "citeseer"),
            ([198.0, 5.0], "physics"),
        ];
        let bounds = [0.0, 0.0, 200.0, 200.0];
        let boxes: Vec<[f64; 4]> = name_positions(&dots, bounds)
            .iter()
            .zip(&dots)
            .map(|([x, y], (_, name))| [*x, y + 3.0 - FONT_SIZE - 2.0, x + width(name, FONT_SIZE), y + 3.0])
            .collect();
        for (k, a) in boxes.iter().enumerate() {
            assert!(boxes[..k].iter().all(|b| overlap(a, b) == 0.0), "{boxes:?}");
            assert!((overlap(a, &bounds) - area(a)).abs() < 1e-9, "{a:?}");
        }
    }
}
