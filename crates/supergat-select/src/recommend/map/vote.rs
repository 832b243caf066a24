//! Votes of the map's squares for their forms, as described in `consult.rs`.

use super::homophily::HomophilyEstimate;
use super::squares::{Map, PreferredForm};
use serde::Serialize;

/// Distance of the homophilies that are averaged over, in standard errors.
const STEP: f64 = 0.125;
/// Largest deviation of these homophilies from the estimate, in standard errors.
const REACH: f64 = 2.5;

/// Share of the votes for a form.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// The form.
    pub form: PreferredForm,
    /// Share of the votes, from 0 to 1.
    pub share: f64,
}

/// Returns possible homophilies with weights that sum to one.
pub(super) fn homophilies(estimate: Option<&HomophilyEstimate>) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = match estimate {
        Some(HomophilyEstimate { estimate, error, .. }) => {
            let steps = (REACH / STEP) as i32;
            let point = |k: i32| (estimate + f64::from(k) * STEP * error, (-0.5 * (f64::from(k) * STEP).powi(2)).exp());
            (-steps..=steps).map(point).filter(|(h, _)| (0.0..=1.0).contains(h)).collect()
        }
        None => (0..=100).map(|k| (f64::from(k) / 100.0, 1.0)).collect(),
    };
    let total: f64 = points.iter().map(|(_, weight)| weight).sum();
    points.into_iter().map(|(h, weight)| (h, weight / total)).collect()
}

/// Returns the share of the votes of every form, in the order of [`PreferredForm::ALL`].
pub(super) fn shares(map: &Map, degree: f64, homophilies: &[(f64, f64)]) -> [f64; 4] {
    let (squares, column) = (squares(map).collect::<Vec<_>>(), column(map, degree));
    let mut shares = [0.0; 4];
    for (h, weight) in homophilies {
        let row = row(map, *h);
        let vote = |c: f64, r: f64| (-0.5 * ((c - column).powi(2) + (r - row).powi(2))).exp();
        let votes: Vec<(PreferredForm, f64)> = squares.iter().map(|&(c, r, form)| (form, vote(c, r))).collect();
        let total: f64 = votes.iter().map(|(_, vote)| vote).sum();
        votes.iter().for_each(|(form, vote)| shares[*form as usize] += weight * vote / total);
    }
    shares
}

/// Returns column, row and best form of every square.
pub(super) fn squares(map: &Map) -> impl Iterator<Item = (f64, f64, PreferredForm)> {
    let rows = map.homophilies().len();
    map.cells().iter().enumerate().map(move |(k, cell)| ((k / rows) as f64, (k % rows) as f64, cell.form()))
}

/// Returns the fractional column of a degree, interpolated by its logarithm and limited to the map.
pub(super) fn column(map: &Map, degree: f64) -> f64 {
    let degrees = map.degrees();
    let degree = degree.clamp(degrees[0], degrees[degrees.len() - 1]);
    let left = degrees.partition_point(|d| *d <= degree).clamp(1, degrees.len() - 1) - 1;
    left as f64 + (degree / degrees[left]).ln() / (degrees[left + 1] / degrees[left]).ln()
}

/// Returns the fractional row of a homophily; rows are equally spaced.
pub(super) fn row(map: &Map, homophily: f64) -> f64 {
    let rows = map.homophilies();
    (homophily - rows[0]) / (rows[1] - rows[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_columns_and_rows() {
        let map = Map::paper();
        assert!((column(&map, 1.0), column(&map, 100.0)) == (0.0, 15.0));
        assert!((column(&map, 0.1), column(&map, 1e9)) == (0.0, 15.0));
        assert!(
            (column(&map, 5.0) - 4.0).abs() < 1e-12 && (column(&map, 50f64.sqrt() * 75f64.sqrt()) - 13.5).abs() < 1e-12
        );
        assert!((row(&map, 0.35) - 2.5).abs() < 1e-12);
    }
}
