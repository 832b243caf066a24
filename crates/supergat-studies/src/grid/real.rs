//! Degree and homophily of the real graphs, as printed in the paper.

use supergat_select::recommend::map::PreferredForm::{self, GatAny, Mx, Sd, SupergatAny};

/// A real graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealGraph {
    /// Name of the dataset.
    pub name: &'static str,
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
    /// Best form in the paper's experiments; [`PreferredForm::GatAny`] where no form is significantly better.
    pub form: PreferredForm,
}

/// The 17 real graphs of the paper.
pub const REAL_GRAPHS: [RealGraph; 17] = [
    graph("four-univ", 1.83, 0.16, Sd),
    graph("ppi", 28.0, 0.17, Sd),
    graph("chameleon", 15.85, 0.21, Mx),
    graph("crocodile", 15.48, 0.26, GatAny),
    graph("flickr", 10.08, 0.32, GatAny),
    graph("cora-full", 6.41, 0.59, Mx),
    graph("ogbn-arxiv", 7.68, 0.63, Mx),
    graph("wiki-cs", 26.4, 0.68, SupergatAny),
    graph("citeseer", 2.78, 0.72, GatAny),
    graph("pubmed", 4.5, 0.79, Mx),
    graph("cora-ml", 5.45, 0.81, Mx),
    graph("dblp", 5.97, 0.81, Mx),
    graph("computers", 35.76, 0.81, GatAny),
    graph("cora", 3.9, 0.83, Mx),
    graph("cs", 8.93, 0.83, Mx),
    graph("photo", 31.13, 0.85, GatAny),
    graph("physics", 14.38, 0.91, Mx),
];

const fn graph(name: &'static str, degree: f64, homophily: f64, form: PreferredForm) -> RealGraph {
    RealGraph { name, degree, homophily, form }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_each_dataset_of_the_paper_once() {
        let mut names = REAL_GRAPHS.map(|graph| graph.name).to_vec();
        let mut known = supergat_data::KNOWN.to_vec();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
        assert_eq!(REAL_GRAPHS.iter().filter(|graph| graph.form == Mx).count(), 9, "the paper states nine datasets");
    }
}
