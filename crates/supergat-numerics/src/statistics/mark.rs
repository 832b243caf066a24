//! The paper's stars and arrows: an unpaired t-test with pooled variance against a reference, in the paper
//! GAT-GO.
//!
//! Two stars mean p < 0.0001, one star p < 0.0005. The paper defines the arrow only as "worse than" the
//! reference. Its arrows agree with p < 0.05, the level that it uses elsewhere, so this level is used here.

use super::{ALPHA, Moments, TTest, Undefined, pooled_t_of_moments};
use serde::Serialize;
use std::fmt;

/// Number of stars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stars {
    /// p is 0.0005 or more.
    None,
    /// p < 0.0005.
    One,
    /// p < 0.0001.
    Two,
}

/// Result of a comparison with the reference, at p < 0.05.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The mean is larger.
    Better,
    /// The mean is smaller.
    Worse,
    /// No significant difference.
    Same,
}

/// Comparison of a sample with a reference, and the paper's mark for it. Displayed as `**`, `*`, `↓` or
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mark {
    /// The t-test.
    pub test: TTest,
    /// Number of stars.
    pub stars: Stars,
    /// Direction of the difference.
    pub direction: Direction,
}

/// Compares a sample with a reference and returns its mark.
pub fn mark(ours: &[f64], reference: &[f64]) -> Result<Mark, Undefined> {
    mark_of_moments(Moments::of(ours)?, Moments::of(reference)?)
}

/// Returns the mark of a sample given by its moments, as in a published table.
pub fn mark_of_moments(ours: Moments, reference: Moments) -> Result<Mark, Undefined> {
    let test = pooled_t_of_moments(ours, reference)?;
    let stars = match test.p {
        p if p < 0.0001 => Stars::Two,
        p if p < 0.0005 => Stars::One,
        _ => Stars::None,
    };
    let direction = match test.difference {
        _ if test.p >= ALPHA => Direction::Same,
        difference if difference > 0.0 => Direction::Better,
        _ => Direction::Worse,
    };
    Ok(Mark { test, stars, direction })
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match (self.direction, self.stars) {
            (Direction::Worse, _) => "↓",
            (Direction::Better, Stars::Two) => "**",
            (Direction::Better, Stars::One) => "*",
            _ => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{A, B};
    use super::*;

    /// Cells of the paper's tables and their GAT: mean and standard deviation of both, number of runs, and
    /// mark.
    #[test]
    fn reproduces_published_marks() {
        for (ours, gat, n, expected) in [
            ((84.3, 0.6), (83.0, 0.7), 100, "**"),
            ((82.7, 0.6), (83.0, 0.7), 100, "↓"),
            ((72.5, 0.8), (72.5, 0.7), 100, ""),
            ((72.6, 0.8), (72.5, 0.7), 100, ""),
            ((81.3, 0.5), (79.0, 0.4), 100, "**"),
            ((67.2, 1.2), (72.2, 0.6), 30, "↓"),
            ((74.4, 0.4), (72.2, 0.6), 30, "**"),
            ((77.9, 0.5), (77.6, 0.6), 100, "*"),
        ] {
            let moments = |(mean, std)| Moments { n, mean, std };
            let mark = mark_of_moments(moments(ours), moments(gat)).unwrap();
            assert_eq!(mark.to_string(), expected, "{mark:?}");
        }
    }

    #[test]
    fn finds_directions_and_rejects_small_samples() {
        assert_eq!(mark(&A, &B).unwrap().direction, Direction::Better);
        assert_eq!(mark(&B, &A).unwrap().direction, Direction::Worse);
        assert_eq!(mark(&A, &A).unwrap().direction, Direction::Same);
        assert_eq!(mark(&A, &B[..1]), Err(Undefined::TooFew { found: 1, needed: 2 }));
    }
}
