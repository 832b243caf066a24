//! The real graphs in the plane of degree and homophily, as the paper prints them.

use crate::recipe::Form::{self, GatAny, Mx, Sd, SupergatAny};

/// A real graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealGraph {
    /// Its name.
    pub name: &'static str,
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
    /// The form that did best in the paper's experiments, [`Form::GatAny`] where none differs.
    pub form: Form,
}

/// The paper's 17.
pub const REAL_GRAPHS: [RealGraph; 17] = [
    of("four-univ", 1.83, 0.16, Sd),
    of("ppi", 28.0, 0.17, Sd),
    of("chameleon", 15.85, 0.21, Mx),
    of("crocodile", 15.48, 0.26, GatAny),
    of("flickr", 10.08, 0.32, GatAny),
    of("cora-full", 6.41, 0.59, Mx),
    of("ogbn-arxiv", 7.68, 0.63, Mx),
    of("wiki-cs", 26.4, 0.68, SupergatAny),
    of("citeseer", 2.78, 0.72, GatAny),
    of("pubmed", 4.5, 0.79, Mx),
    of("cora-ml", 5.45, 0.81, Mx),
    of("dblp", 5.97, 0.81, Mx),
    of("computers", 35.76, 0.81, GatAny),
    of("cora", 3.9, 0.83, Mx),
    of("cs", 8.93, 0.83, Mx),
    of("photo", 31.13, 0.85, GatAny),
    of("physics", 14.38, 0.91, Mx),
];

const fn of(name: &'static str, degree: f64, homophily: f64, form: Form) -> RealGraph {
    RealGraph { name, degree, homophily, form }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dataset_of_the_paper_is_there_once() {
        let mut names = REAL_GRAPHS.map(|graph| graph.name).to_vec();
        let mut known = supergat_data::KNOWN.to_vec();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
        assert_eq!(REAL_GRAPHS.iter().filter(|graph| graph.form == Mx).count(), 9, "nine datasets, says the paper");
    }
}
