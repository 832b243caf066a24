//! Recommends a model for a graph by the paper's map, with confidence and reasons.
//!
//! Every square of the map votes for its form, with weight exp(-t^2 / 2) at distance t. The unit of distance
//! is one square; degrees between two columns are interpolated by their logarithm. One square is the margin
//! within which the paper assigns a graph to a region; at two squares, the widest margin it allows, the
//! weight is 1/7. The votes are averaged over a normal distribution around the estimated homophily, or over
//! all homophilies if there is no estimate.
//!
//! The form with the largest share s wins. The recommended model, and the probability that no other form is
//! better:
//!
//! | winner | model | probability |
//! |---|---|---|
//! | GAT-Any | gat-go: no form is better, and it needs no edge loss | s(GAT-Any) |
//! | SuperGAT-SD | supergat-sd | s(SD) + s(SuperGAT-Any) + s(GAT-Any) |
//! | SuperGAT-MX | supergat-mx | s(MX) + s(SuperGAT-Any) + s(GAT-Any) |
//! | SuperGAT-Any | supergat-mx, or supergat-sd at homophilies up to 0.2, where the paper finds it ahead | as above |
//!
//! If most nodes are labelled, the reasons also state whether the graph is a [mixture](super::mixture) of
//! parts with different homophilies, on which the paper's map fails.

use super::homophily::{self, HomophilyEstimate};
use super::labelled::{Known, Unknown};
use super::reasons;
use super::squares::{LOW_HOMOPHILY, Map, PreferredForm};
use super::vote::{Share, homophilies, shares};
use serde::Serialize;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_numerics::homophily::Degree;

/// Smallest confidence of a clear recommendation; below it is a close call.
const CLEAR: f64 = 0.7;

/// Recommended model for a graph, with confidence and reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapAnswer {
    /// The recommended model.
    pub recommendation: ModelKind,
    /// Probability that no other form is better, by the map; `None` if no node has a neighbour.
    pub confidence: Option<f64>,
    /// Whether the recommendation is a close call.
    pub close_call: bool,
    /// Other models of the map, the most probable first.
    pub alternatives: Vec<ModelKind>,
    /// Shares of the votes for each form, the largest first.
    pub forms: Vec<Share>,
    /// Average degree.
    pub degree: f64,
    /// Estimated homophily, if there is an estimate.
    pub homophily: Option<HomophilyEstimate>,
    /// Reasons, as sentences.
    pub reasons: Vec<String>,
}

impl MapAnswer {
    /// Returns the probability, by the map, that no other form is better than this model; `None` for models that are not
    /// on the map, and without links.
    pub(crate) fn chance_of(&self, model: ModelKind) -> Option<f64> {
        let models = [PreferredForm::GatAny, PreferredForm::Sd, PreferredForm::Mx].map(|form| model_for(form, 0.0));
        let is_known = models.contains(&model) && !self.forms.is_empty();
        is_known.then(|| chance(model, &PreferredForm::ALL.map(|form| self.share_of(form))))
    }

    /// Lists the shares of the votes, such as `SuperGAT-MX 57 %, GAT-Any 43 %`; empty without links.
    pub fn votes(&self) -> String {
        reasons::votes(&self.forms)
    }

    /// Returns the share of the votes for a form.
    pub(crate) fn share_of(&self, form: PreferredForm) -> f64 {
        self.forms.iter().find(|share| share.form == form).map_or(0.0, |share| share.share)
    }
}

/// Recommends a model for a dataset, using the labels in `known` only.
pub fn consult(dataset: &Dataset, known: Known) -> MapAnswer {
    let mut answer = of_estimate(Degree::of(&dataset.examples).mean, homophily::estimate(dataset, known));
    if let Some(sentence) = reasons::on_mixture(dataset, known) {
        answer.reasons.push(sentence);
        answer.close_call = true;
    }
    answer
}

/// Recommends a model from an average degree and a homophily estimate.
fn of_estimate(degree: f64, estimate: Result<HomophilyEstimate, Unknown>) -> MapAnswer {
    if degree == 0.0 {
        return without_links();
    }
    let map = Map::paper();
    let homophilies = homophilies(estimate.as_ref().ok());
    let shares = shares(&map, degree, &homophilies);
    let middle = homophilies.iter().map(|(h, weight)| h * weight).sum::<f64>();
    let mut forms: Vec<Share> =
        PreferredForm::ALL.into_iter().zip(shares).map(|(form, share)| Share { form, share }).collect();
    forms.sort_by(|a, b| b.share.total_cmp(&a.share));
    let winner = forms[0].form;
    let model = model_for(winner, middle);
    let confidence = chance(model, &shares);
    let mut reasons = vec![reasons::on_homophily(&estimate), reasons::on_map(degree, estimate.as_ref().ok(), &forms)];
    if estimate.is_ok() {
        reasons.push(reasons::on_form(winner, model));
        reasons.push(reasons::on_distance(&map, degree, middle, winner));
    }
    reasons.extend(reasons::on_doubt(&map, degree, estimate.as_ref().ok()));
    MapAnswer {
        recommendation: model,
        confidence: Some(confidence),
        close_call: confidence < CLEAR || estimate.is_err(),
        alternatives: alternatives(model, &shares),
        forms,
        degree,
        homophily: estimate.ok(),
        reasons,
    }
}

fn without_links() -> MapAnswer {
    MapAnswer {
        recommendation: ModelKind::Mlp,
        confidence: None,
        close_call: false,
        alternatives: Vec::new(),
        forms: Vec::new(),
        degree: 0.0,
        homophily: None,
        reasons: vec!["No node has a neighbour, so attention has no effect and only features can be used.".into()],
    }
}

/// Returns the model for a best form at some homophily.
fn model_for(form: PreferredForm, homophily: f64) -> ModelKind {
    let attention = |form, self_supervised| ModelKind::Attention { form, self_supervised };
    match form {
        PreferredForm::GatAny => attention(supergat_core::Form::Go, false),
        PreferredForm::Sd => attention(supergat_core::Form::Sd, true),
        PreferredForm::SupergatAny if homophily <= LOW_HOMOPHILY => attention(supergat_core::Form::Sd, true),
        PreferredForm::Mx | PreferredForm::SupergatAny => attention(supergat_core::Form::Mx, true),
    }
}

/// Returns the probability that no other form is better than this model; shares are in the order of
/// [`PreferredForm::ALL`].
fn chance(model: ModelKind, [gat_any, supergat_any, sd, mx]: &[f64; 4]) -> f64 {
    match model.form() {
        Some(supergat_core::Form::Sd) => sd + supergat_any + gat_any,
        Some(supergat_core::Form::Mx) => mx + supergat_any + gat_any,
        _ => *gat_any,
    }
}

/// Returns the other models, the most probable first: to be better, or for GAT to be as good at a lower cost.
fn alternatives(model: ModelKind, shares: &[f64; 4]) -> Vec<ModelKind> {
    let [gat, sd, mx] = [PreferredForm::GatAny, PreferredForm::Sd, PreferredForm::Mx].map(|form| model_for(form, 0.0));
    let chance = |other: ModelKind| match other {
        other if other == gat => shares[0],
        // Without the share in which gat-go is as good.
        other if model == gat => chance(other, shares) - shares[0],
        other => shares[if other == sd { 2 } else { 3 }],
    };
    let mut all: Vec<ModelKind> = [gat, sd, mx].into_iter().filter(|other| *other != model).collect();
    all.sort_by(|a, b| chance(*b).total_cmp(&chance(*a)));
    all
}

#[cfg(test)]
mod tests {
    use super::super::homophily::Source;
    use super::*;

    fn at(degree: f64, estimate: f64, error: f64) -> MapAnswer {
        let (low, high) = ((estimate - 2.0 * error).max(0.0), (estimate + 2.0 * error).min(1.0));
        let from = Source::Links;
        of_estimate(degree, Ok(HomophilyEstimate { estimate, low, high, error, from, labelled: 100, links: 9 }))
    }

    /// Degrees and homophilies are in the middle of the paper's regions.
    #[test]
    fn recommends_the_model_of_each_region() {
        for (degree, homophily, model) in [
            (2.0, 0.1, "supergat-sd"),
            (5.0, 0.9, "supergat-mx"),
            (15.0, 0.4, "supergat-mx"),
            (90.0, 0.9, "gat-go"),
            (20.0, 0.7, "supergat-mx"),
        ] {
            let answer = at(degree, homophily, 0.02);
            assert_eq!(answer.recommendation.to_string(), model, "{degree} {homophily} {answer:?}");
            let total: f64 = answer.forms.iter().map(|share| share.share).sum();
            assert!((total - 1.0).abs() < 1e-9);
            assert!(answer.forms.is_sorted_by(|a, b| a.share >= b.share) && answer.alternatives.len() == 2);
            assert!(!answer.alternatives.contains(&answer.recommendation), "{answer:?}");
        }
    }

    #[test]
    fn uncertain_homophily_lowers_confidence() {
        let sure = |error| at(2.0, 0.15, error).confidence.unwrap();
        assert!(sure(0.01) > sure(0.1) && sure(0.1) > sure(0.3));
        assert!(sure(0.01) > 0.95);
        let unknown = of_estimate(2.0, Err(Unknown::NoLabels));
        assert!(
            unknown.homophily.is_none() && unknown.close_call && unknown.reasons[0].contains("no node has a label")
        );
        assert!(unknown.confidence.unwrap() < sure(0.01));
    }

    /// The first half of the nodes is linked within classes, the second half between classes.
    #[test]
    fn reports_a_mixture() {
        let mut dataset = supergat_data::load("random-partition:classes=2,nodes=180,degree=6,homophily=0.7").unwrap();
        dataset.examples[0].train = (0..360).collect();
        assert!(!consult(&dataset, Known::Training).reasons.concat().contains("mixture"));
        let ring = |nodes: std::ops::Range<u32>, step: u32| {
            let n = nodes.len() as u32;
            nodes.clone().flat_map(move |i| [1, 3].map(|k| (i, nodes.start + (i - nodes.start + k * step) % n)))
        };
        let links: Vec<(u32, u32)> = ring(0..180, 2).chain(ring(180..360, 1)).collect();
        let graph = supergat_core::Graph::from_edges(360, &links, supergat_core::Direction::Undirected).unwrap();
        let labels = supergat_core::Labels::Single { classes: 2, of: (0..360).map(|i| i % 2).collect() };
        (dataset.examples[0].graph, dataset.examples[0].labels) = (graph.into(), labels);
        let answer = consult(&dataset, Known::Training);
        assert!(answer.close_call && answer.reasons.concat().contains("mixture"), "{answer:?}");
    }

    #[test]
    fn recommends_mlp_without_links() {
        let answer = of_estimate(0.0, Err(Unknown::NoNeighbours));
        assert_eq!((answer.recommendation, answer.confidence), (ModelKind::Mlp, None));
    }
}
