//! The paper's map: synthetic graphs over average degree and homophily, each with its best form of attention.
//!
//! The best form of a graph follows this rule. `differ` is the unpaired t-test with pooled variance at p <
//! 0.05, `best` the better of SuperGAT-SD and SuperGAT-MX:
//!
//! | condition | form |
//! |---|---|
//! | `best` is not better than GAT, or does not `differ` from it | GAT-Any: self-supervision gains nothing |
//! | else, SD and MX do not `differ` | SuperGAT-Any |
//! | else | the better of SD and MX |
//!
//! The size of a square is the gain: the mean of `best` minus that of GAT.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use supergat_numerics::statistics::{ALPHA, Moments, Summary, Undefined, from_percent, paired_t, pooled_t_of_moments};

/// The paper's accuracies on its 144 synthetic graphs, in per cent.
const PAPER: &str = include_str!("paper.json");

/// Largest homophily at which the paper finds SuperGAT-SD ahead of SuperGAT-MX.
pub(super) const LOW_HOMOPHILY: f64 = 0.2;

/// Forms of attention that perform best on a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreferredForm {
    /// All forms perform equally well, so self-supervision is not needed.
    GatAny,
    /// Self-supervision helps, with either form.
    SupergatAny,
    /// SuperGAT-SD.
    Sd,
    /// SuperGAT-MX.
    Mx,
}

impl PreferredForm {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::GatAny, Self::SupergatAny, Self::Sd, Self::Mx];
    /// All variants in the order of their colours in figures.
    pub const SHOWN: [Self; 4] = [Self::Sd, Self::Mx, Self::GatAny, Self::SupergatAny];

    /// Applies the rule of this module to the accuracies on one graph.
    pub fn best(gat: Moments, sd: Moments, mx: Moments) -> Self {
        let all = [gat, sd, mx];
        Self::by_rule(all.map(|of| of.mean), |a, b| differ(all[a], all[b]))
    }

    /// Applies the rule with a paired t-test to the accuracies on several graphs, each used by all models.
    pub fn best_of_pairs(gat: &[f64], sd: &[f64], mx: &[f64]) -> Self {
        let all = [gat, sd, mx];
        let means = all.map(|values| Summary::of(values.to_vec()).mean);
        Self::by_rule(means, |a, b| match paired_t(all[a], all[b]) {
            Ok(test) => test.p < ALPHA,
            Err(Undefined::NoVariance) => true,
            Err(_) => false,
        })
    }

    /// Applies the rule to the means of GAT, SD and MX.
    fn by_rule([gat, sd, mx]: [f64; 3], differ: impl Fn(usize, usize) -> bool) -> Self {
        let (best, mean) = if sd > mx { (1, sd) } else { (2, mx) };
        if mean <= gat || !differ(best, 0) {
            Self::GatAny
        } else if !differ(1, 2) {
            Self::SupergatAny
        } else if sd > mx {
            Self::Sd
        } else {
            Self::Mx
        }
    }
}

impl fmt::Display for PreferredForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::GatAny => "GAT-Any",
            Self::SupergatAny => "SuperGAT-Any",
            Self::Sd => "SuperGAT-SD",
            Self::Mx => "SuperGAT-MX",
        })
    }
}

/// Whether two means differ at p < 0.05. Without any variance (both are printed as 100.0 ± 0.0, for instance)
/// they differ if they are not equal.
pub fn differ(a: Moments, b: Moments) -> bool {
    match pooled_t_of_moments(a, b) {
        Ok(test) => test.p < ALPHA,
        Err(Undefined::NoVariance) => a.mean != b.mean,
        Err(_) => false,
    }
}

/// A synthetic graph and the accuracies on it, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
    /// GCN.
    pub gcn: Moments,
    /// GAT.
    pub gat: Moments,
    /// SuperGAT-SD.
    pub sd: Moments,
    /// SuperGAT-MX.
    pub mx: Moments,
}

impl Cell {
    /// Returns the best form on this graph.
    pub fn form(&self) -> PreferredForm {
        PreferredForm::best(self.gat, self.sd, self.mx)
    }

    /// Gain of the better SuperGAT over GAT.
    pub fn gain(&self) -> f64 {
        self.sd.mean.max(self.mx.mean) - self.gat.mean
    }
}

/// Synthetic graphs on a grid of degrees and homophilies, both ascending.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Map {
    degrees: Vec<f64>,
    homophilies: Vec<f64>,
    /// Cells ordered by degree, then by homophily.
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Printed {
    runs: usize,
    degrees: Vec<f64>,
    homophilies: Vec<f64>,
    /// Mean and standard deviation in per cent for each model, degree and homophily.
    models: BTreeMap<String, Vec<Vec<[f64; 2]>>>,
}

impl Map {
    /// Returns the map printed in the paper.
    pub fn paper() -> Self {
        let Printed { runs, degrees, homophilies, models } = serde_json::from_str(PAPER).expect("checked by a test");
        let of = |model: &str, d: usize, h: usize| {
            let [mean, std] = models[model][d][h].map(from_percent);
            Moments { n: runs, mean, std }
        };
        let cell = |d: usize, h: usize| Cell {
            degree: degrees[d],
            homophily: homophilies[h],
            gcn: of("gcn", d, h),
            gat: of("gat-go", d, h),
            sd: of("supergat-sd", d, h),
            mx: of("supergat-mx", d, h),
        };
        let cells = (0..degrees.len()).flat_map(|d| (0..homophilies.len()).map(move |h| (d, h)));
        let cells = cells.map(|(d, h)| cell(d, h)).collect();
        Self { degrees, homophilies, cells }
    }

    /// Average degrees of the grid, ascending.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// Homophilies of the grid, ascending.
    pub fn homophilies(&self) -> &[f64] {
        &self.homophilies
    }

    /// All cells, ordered by degree and then by homophily.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the cell at these indices of [`Map::degrees`] and [`Map::homophilies`].
    pub fn cell(&self, degree: usize, homophily: usize) -> &Cell {
        &self.cells[degree * self.homophilies.len() + homophily]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_all_printed_numbers() {
        let map = Map::paper();
        assert_eq!((map.degrees().len(), map.homophilies().len(), map.cells().len()), (16, 9, 144));
        assert!(map.degrees().is_sorted() && map.homophilies().is_sorted());
        let cell = map.cell(4, 7);
        assert_eq!((cell.degree, cell.homophily, cell.mx), (5.0, 0.8, Moments { n: 5, mean: 0.831, std: 0.01 }));
        assert_eq!((cell.gcn.mean, cell.gat.mean, cell.sd.mean), (0.78, 0.787, 0.81));
        assert!((cell.gain() - 0.044).abs() < 1e-12);
    }

    fn forms(degrees: [f64; 2], homophilies: [f64; 2]) -> [usize; 4] {
        let within = |value: f64, [low, high]: [f64; 2]| low <= value && value <= high;
        let map = Map::paper();
        let cells = map.cells().iter().filter(|c| within(c.degree, degrees) && within(c.homophily, homophilies));
        let found: Vec<PreferredForm> = cells.map(Cell::form).collect();
        PreferredForm::ALL.map(|form| found.iter().filter(|f| **f == form).count())
    }

    /// "If the homophily is low (<= 0.2), SuperGAT-SD performs best"; "there are two MX regions: lower-middle
    /// average degree (2.5 - 7.5) and high homophily (0.8 - 0.9), and upper-middle average degree (7.5 - 50)
    /// and lower-middle homophily (0.3 - 0.5)"; "if the average degree and homophily are high enough, there
    /// is no difference between all models". Counts are of GAT-Any, SuperGAT-Any, SD, MX.
    #[test]
    fn reproduces_the_regions_of_the_paper() {
        assert_eq!(forms([1.0, 100.0], [0.1, 0.2]), [1, 8, 23, 0]);
        assert_eq!(forms([2.5, 7.5], [0.8, 0.9]), [1, 3, 0, 4]);
        assert_eq!(forms([7.5, 50.0], [0.3, 0.5]), [0, 13, 0, 14]);
        assert_eq!(forms([1.0, 100.0], [0.1, 0.9])[3], 20, "two MX squares lie outside the regions");
        assert_eq!(forms([75.0, 100.0], [0.7, 0.9]), [6, 0, 0, 0]);
    }

    /// The variance between graphs is larger than the difference of the models.
    #[test]
    fn paired_rule_detects_differences_hidden_by_graph_variance() {
        let gat = [40.0, 44.0, 48.0, 52.0, 56.0];
        let plus = |points: f64, noise: f64| [1.0, -1.0, 0.0, 1.0, -1.0].map(|sign| points + noise * sign);
        let of = |gain: [f64; 5]| std::array::from_fn::<f64, 5, _>(|k| gat[k] + gain[k]);
        let (sd, mx) = (of(plus(1.0, 0.3)), of(plus(3.0, 0.2)));
        let moments = |values: &[f64]| Moments::of(values).unwrap();
        assert_eq!(PreferredForm::best(moments(&gat), moments(&sd), moments(&mx)), PreferredForm::GatAny);
        assert_eq!(PreferredForm::best_of_pairs(&gat, &sd, &mx), PreferredForm::Mx);
        assert_eq!(PreferredForm::best_of_pairs(&gat, &mx, &of(plus(3.0, 0.5))), PreferredForm::SupergatAny);
        assert_eq!(PreferredForm::best_of_pairs(&gat, &of(plus(0.1, 1.0)), &of(plus(0.2, 1.0))), PreferredForm::GatAny);
        assert_eq!(PreferredForm::best_of_pairs(&gat, &gat, &gat), PreferredForm::GatAny);
    }

    #[test]
    fn applies_the_rule_to_worked_examples() {
        let of = |mean, std| Moments { n: 5, mean, std };
        assert_eq!(PreferredForm::best(of(50.0, 1.0), of(50.5, 1.0), of(50.6, 1.0)), PreferredForm::GatAny);
        assert_eq!(PreferredForm::best(of(60.0, 1.0), of(50.0, 1.0), of(51.0, 1.0)), PreferredForm::GatAny);
        assert_eq!(PreferredForm::best(of(50.0, 1.0), of(60.0, 1.0), of(60.5, 1.0)), PreferredForm::SupergatAny);
        assert_eq!(PreferredForm::best(of(50.0, 1.0), of(60.0, 1.0), of(50.0, 1.0)), PreferredForm::Sd);
        assert_eq!(PreferredForm::best(of(50.0, 1.0), of(50.0, 1.0), of(60.0, 1.0)), PreferredForm::Mx);
        assert_eq!(PreferredForm::best(of(100.0, 0.0), of(100.0, 0.0), of(100.0, 0.0)), PreferredForm::GatAny);
        assert_eq!(PreferredForm::best(of(99.0, 0.0), of(99.5, 0.0), of(100.0, 0.0)), PreferredForm::Mx);
    }
}
