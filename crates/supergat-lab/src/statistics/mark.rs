//! The paper's stars and arrows: an unpaired t-test with pooled variance against a reference (there: the graph attention network GAT with GO).
//!
//! Two stars stand for p < 0.0001, one for p < 0.0005. The paper says of the arrow only that it is "worse than" the reference; its arrows fit
//! a difference at p < 0.05, the level it uses elsewhere, and that is what is taken here.

use super::{ALPHA, Moments, TTest, Undefined, pooled_t_of_moments};
use serde::Serialize;
use std::fmt;

/// How many stars.
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

/// Where a sample lies relative to its reference, at p < 0.05.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The mean is larger.
    Better,
    /// The mean is smaller.
    Worse,
    /// No difference can be seen.
    Same,
}

/// The comparison of a sample with a reference, and how the paper would mark it. Shown as `**`, `*`, `↓` or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mark {
    /// The test.
    pub test: TTest,
    /// Its stars.
    pub stars: Stars,
    /// Its direction.
    pub direction: Direction,
}

/// Marks a sample against a reference.
pub fn mark(ours: &[f64], reference: &[f64]) -> Result<Mark, Undefined> {
    mark_of_moments(Moments::of(ours)?, Moments::of(reference)?)
}

/// The same where only number, mean and standard deviation are known, as of a published table.
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

    /// Cells of the paper's tables against their GAT: mean, deviation and runs of both, and the mark.
    #[test]
    fn published_cells_get_their_published_marks() {
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
    fn directions_and_degenerate_samples() {
        assert_eq!(mark(&A, &B).unwrap().direction, Direction::Better);
        assert_eq!(mark(&B, &A).unwrap().direction, Direction::Worse);
        assert_eq!(mark(&A, &A).unwrap().direction, Direction::Same);
        assert_eq!(mark(&A, &B[..1]), Err(Undefined::TooFew { found: 1, needed: 2 }));
    }
}
