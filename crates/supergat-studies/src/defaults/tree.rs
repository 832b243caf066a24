//! Small trees of decisions that name an option for a graph by its traits.
//!
//! Let `cost(g, o)` be the cost of option o on graph g. A leaf with graphs G names the option of least mean cost. A split
//! `x <= a` of a trait x divides G into two parts, and the best split has the least sum of costs of both leaves:
//!
//! ```text
//! option(G) = argmin over o of the sum of cost(g, o) over g in G
//! split(G)  = argmin over (x, a) of cost(left part, its option) + cost(right part, its option)
//! ```

use serde::Serialize;

/// Fewest graphs of a leaf.
const LEAST: usize = 4;
/// Least gain of a split, as a share of the cost without it. Smaller gains are likely to be luck.
const GAIN: f64 = 0.1;

/// A graph as a tree sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Values of the traits.
    pub traits: Vec<f64>,
    /// Cost of every option.
    pub costs: Vec<f64>,
}

/// A tree of decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tree {
    /// The option of all graphs here, and their number.
    Leaf {
        /// Number of the option.
        option: usize,
        /// Number of graphs.
        graphs: usize,
    },
    /// A question about a trait.
    Split(Box<Decision>),
}

/// A question about a trait, with both answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// Number of the trait.
    pub feature: usize,
    /// Largest value of the first answer.
    pub at_most: f64,
    /// Tree of graphs with values up to `at_most`.
    pub low: Tree,
    /// Tree of the other graphs.
    pub high: Tree,
}

impl Tree {
    /// Grows a tree of at most `depth` questions above each leaf. `None` if there are no cases.
    pub(super) fn grow(cases: &[&Case], depth: usize) -> Option<Self> {
        let (option, cost) = cheapest(cases)?;
        let leaf = Self::Leaf { option, graphs: cases.len() };
        if depth == 0 {
            return Some(leaf);
        }
        let best = splits(cases).min_by(|a, b| a.2.total_cmp(&b.2));
        let Some((feature, at_most, _)) = best.filter(|(.., split)| *split < cost - GAIN * cost) else {
            return Some(leaf);
        };
        let (low, high): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.traits[feature] <= at_most);
        let (low, high) = (Self::grow(&low, depth - 1)?, Self::grow(&high, depth - 1)?);
        Some(Self::Split(Box::new(Decision { feature, at_most, low, high })))
    }

    /// Returns the option for a graph with these traits.
    pub fn option(&self, traits: &[f64]) -> usize {
        match self {
            Self::Leaf { option, .. } => *option,
            Self::Split(decision) if traits[decision.feature] <= decision.at_most => decision.low.option(traits),
            Self::Split(decision) => decision.high.option(traits),
        }
    }
}

/// Returns the option of least cost, the first of equal ones, and the sum of its costs.
fn cheapest(cases: &[&Case]) -> Option<(usize, f64)> {
    let options = cases.first()?.costs.len();
    let sum = |option: usize| cases.iter().map(|case| case.costs[option]).sum::<f64>();
    (0..options).map(|option| (option, sum(option))).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns every split into parts that are large enough: trait, threshold and cost.
fn splits<'a>(cases: &'a [&'a Case]) -> impl Iterator<Item = (usize, f64, f64)> + 'a {
    let traits = cases.first().map_or(0, |case| case.traits.len());
    (0..traits).flat_map(move |feature| {
        let mut values: Vec<f64> = cases.iter().map(|case| case.traits[feature]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let middles: Vec<f64> = values.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
        middles.into_iter().filter_map(move |at_most| {
            let (low, high): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.traits[feature] <= at_most);
            if low.len() < LEAST || high.len() < LEAST {
                return None;
            }
            Some((feature, at_most, cheapest(&low)?.1 + cheapest(&high)?.1))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Option 1 is best for large values of the second trait, otherwise option 0.
    fn cases() -> Vec<Case> {
        let case = |k: usize| {
            let value = k as f64;
            let costs = if k >= 10 { vec![3.0, 0.0] } else { vec![0.0, 2.0] };
            Case { traits: vec![(7 * k % 5) as f64, value], costs }
        };
        (0..20).map(case).collect()
    }

    #[test]
    fn finds_the_trait_that_matters() {
        let cases = cases();
        let cases: Vec<&Case> = cases.iter().collect();
        let tree = Tree::grow(&cases, 2).unwrap();
        let Tree::Split(decision) = &tree else { panic!("{tree:?}") };
        assert_eq!((decision.feature, decision.at_most), (1, 9.5));
        assert_eq!(decision.low, Tree::Leaf { option: 0, graphs: 10 });
        assert_eq!((tree.option(&[0.0, 3.0]), tree.option(&[0.0, 30.0])), (0, 1));
        assert_eq!(Tree::grow(&cases, 0), Some(Tree::Leaf { option: 1, graphs: 20 }));
    }

    #[test]
    fn leaves_are_large_and_gains_are_not_small() {
        let cases = cases();
        let few: Vec<&Case> = cases[7..14].iter().collect();
        assert!(matches!(Tree::grow(&few, 2), Some(Tree::Leaf { .. })), "no part of four graphs on both sides");
        let same: Vec<Case> = (0..20).map(|k| Case { traits: vec![k as f64], costs: vec![1.0, 1.0] }).collect();
        assert!(matches!(Tree::grow(&same.iter().collect::<Vec<_>>(), 2), Some(Tree::Leaf { option: 0, .. })));
        assert_eq!(Tree::grow(&[], 2), None);
    }
}
