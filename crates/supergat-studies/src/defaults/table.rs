//! Results of the study: defaults of every family, and rules that name a family.

use crate::defaults::candidates::family;
use crate::defaults::graphs::StudyGraph;
use crate::defaults::plan::{DefaultsPlan, DefaultsTask, PROPAGATION};
use crate::defaults::recommended::RecommendTask;
use crate::defaults::traits::{TRAITS, Traits};
use crate::defaults::tree::{Case, Tree};
use serde::Serialize;
use supergat_numerics::statistics::{ALPHA, Interval, Summary, paired_t};
use supergat_select::sweep::{Job, Record, RecordIndex, ResultsFile};
use supergat_train::task::{Status, Task};

/// Questions above each leaf of a tree.
const DEPTH: usize = 2;
/// Families whose difference shows what self-supervision adds.
const TWINS: [&str; 2] = ["gat-mx", "supergat-mx"];

/// Metrics of the runs of a candidate, by split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateResult {
    /// Name of the candidate.
    pub name: &'static str,
    /// Validation metric.
    pub validation: Summary,
    /// Test metric.
    pub test: Summary,
    /// Mean seconds of a run.
    pub seconds: f64,
}

impl CandidateResult {
    fn in_percent(&self) -> Self {
        Self { validation: self.validation.in_percent(), test: self.test.in_percent(), ..self.clone() }
    }
}

/// Results of a graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphResult {
    /// Graph.
    pub graph: StudyGraph,
    /// Mean traits over the splits, in the order of [`TRAITS`].
    pub traits: Vec<f64>,
    /// Traits of every split, which labels of its test nodes have no part in.
    pub traits_by_split: Vec<Vec<f64>>,
    /// Results by family, in the order of the plan, and candidate.
    pub families: Vec<Vec<CandidateResult>>,
    /// Answers of `recommend`, one per split; empty if a split has none.
    pub recommended: Vec<String>,
}

impl GraphResult {
    fn in_percent(&self) -> Self {
        let of_family = |family: &Vec<CandidateResult>| family.iter().map(CandidateResult::in_percent).collect();
        Self { families: self.families.iter().map(of_family).collect(), ..self.clone() }
    }
}

/// Defaults of a family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyDefaults {
    /// Family.
    pub family: String,
    /// Candidate with the least mean regret over all graphs.
    pub chosen: &'static str,
    /// Mean regret of every candidate over all graphs.
    pub regrets: Vec<f64>,
    /// Mean regret of the candidate that is chosen without the graph on which it is judged.
    pub held_out: f64,
    /// Largest regret of the candidate that is chosen over all graphs, and the graph.
    pub worst: (f64, String),
    /// Number of graphs without which another candidate would be chosen.
    pub changes: usize,
}

/// A rule that names a family for a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The family with the best validation metric on the split.
    Measured,
    /// The answer of `recommend` on the split, within seconds and without test nodes.
    Recommended,
    /// The family of a tree of decisions over traits.
    Recipe,
    /// Always the same family.
    Always(String),
}

/// Results of a rule over all graphs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleResult {
    /// Rule.
    pub rule: Rule,
    /// Regret on every graph: the metric of the best family minus that of the named one.
    pub regrets: Vec<f64>,
    /// Whether the named family is significantly worse than the best one, for every graph.
    pub worse: Vec<bool>,
}

impl RuleResult {
    /// Returns the number of graphs on which the rule is not significantly worse than the best family.
    pub fn not_worse(&self) -> usize {
        self.worse.iter().filter(|worse| !**worse).count()
    }

    /// Returns the median regret.
    pub fn median(&self) -> f64 {
        let mut regrets = self.regrets.clone();
        regrets.sort_by(f64::total_cmp);
        let middle = regrets.len() / 2;
        match regrets.len() {
            0 => f64::NAN,
            odd if !odd.is_multiple_of(2) => regrets[middle],
            _ => f64::midpoint(regrets[middle - 1], regrets[middle]),
        }
    }
}

/// Gain of self-supervision over `gat-mx` on a graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Graph.
    pub graph: String,
    /// Mean difference over the splits.
    pub difference: f64,
    /// 95 % interval; `None` if there is no test.
    pub interval: Option<Interval>,
    /// p-value of the paired t-test; `None` if there is none.
    pub p: Option<f64>,
}

/// All results of the study. Graphs without all runs are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DefaultsStudy {
    /// Plan.
    pub plan: DefaultsPlan,
    /// Complete graphs.
    pub graphs: Vec<GraphResult>,
    /// Defaults of every family.
    pub defaults: Vec<FamilyDefaults>,
    /// Rules, the best first.
    pub rules: Vec<RuleResult>,
    /// Best family of every graph, with defaults that were chosen without it.
    pub best: Vec<String>,
    /// Tree of decisions over all graphs, whose options are families.
    pub recipe: Option<Tree>,
    /// Gain of self-supervision.
    pub gains: Vec<Gain>,
    /// Tree of decisions over all graphs, whose options are `gat-mx` and `supergat-mx`.
    pub gain_recipe: Option<Tree>,
    /// Number of graphs on which a tree grown without them is right about the sign of the gain.
    pub gain_hits: usize,
}

impl DefaultsStudy {
    /// Evaluates the runs of a plan.
    pub fn new(plan: &DefaultsPlan, results: &ResultsFile) -> Self {
        let records = Records::new(plan, results);
        let found: Vec<GraphResult> = plan.graphs.iter().filter_map(|graph| records.graph(plan, graph)).collect();
        // Candidates and families are compared in per cent, where equal means are equal to the last bit.
        let graphs: Vec<GraphResult> = found.iter().map(GraphResult::in_percent).collect();
        let all: Vec<usize> = (0..graphs.len()).collect();
        let overall = View::chosen(plan, &graphs, all.clone());
        // For every graph, candidates that were chosen without it and its relatives.
        let views: Vec<View<'_>> = all
            .iter()
            .map(|&graph| {
                let is_other = |other: &usize| graphs[*other].graph.original() != graphs[graph].graph.original();
                View::chosen(plan, &graphs, all.iter().copied().filter(is_other).collect())
            })
            .collect();
        let defaults = match graphs.is_empty() {
            true => Vec::new(),
            false => (0..plan.families.len()).map(|family| defaults(&overall, &views, family)).collect(),
        };
        let best: Vec<usize> = all.iter().map(|&graph| views[graph].best(graph)).collect();
        let trees: Vec<Option<Tree>> = views.iter().map(View::recipe).collect();
        let named = |rule: &Rule, graph: usize, split: usize| match rule {
            Rule::Always(name) => plan.families.iter().position(|family| family == name).unwrap_or(0),
            Rule::Measured => views[graph].best_by(|family| views[graph].of(graph, family).validation.values[split]),
            // An answer outside the families of the study counts as their worst.
            Rule::Recommended => answered(plan, &graphs[graph].recommended[split])
                .unwrap_or_else(|| views[graph].best_by(|family| -views[graph].of(graph, family).test.mean)),
            Rule::Recipe => trees[graph].as_ref().map_or(0, |tree| tree.option(&graphs[graph].traits_by_split[split])),
        };
        let always = plan.families.iter().cloned().map(Rule::Always);
        let has_answers = graphs.iter().all(|graph| !graph.recommended.is_empty());
        let recommended = Some(Rule::Recommended).filter(|_| has_answers);
        let judged = [Rule::Measured, Rule::Recipe].into_iter().chain(recommended).chain(always);
        let rules = judged.filter(|_| !all.is_empty()).map(|rule| {
            let (mut regrets, mut worse) = (Vec::new(), Vec::new());
            for &graph in &all {
                let top = &views[graph].of(graph, best[graph]).test.values;
                let metric = |split| views[graph].of(graph, named(&rule, graph, split)).test.values[split];
                let own: Vec<f64> = (0..top.len()).map(metric).collect();
                regrets.push(Summary::of(top.clone()).mean - Summary::of(own.clone()).mean);
                worse.push(is_worse(top, &own));
            }
            RuleResult { rule, regrets, worse }
        });
        let mut rules: Vec<RuleResult> = rules.collect();
        rules.sort_by(|a, b| Summary::of(a.regrets.clone()).mean.total_cmp(&Summary::of(b.regrets.clone()).mean));
        rules.iter_mut().flat_map(|rule| &mut rule.regrets).for_each(|regret| *regret /= 100.0);
        let gains: Vec<Gain> = all.iter().filter_map(|&graph| views[graph].gain(graph)).collect();
        let gain_hits = (0..gains.len()).filter(|&graph| {
            let option = views[graph].gain_recipe().map_or(0, |tree| tree.option(&graphs[graph].traits));
            (option == 1) == (gains[graph].difference > 0.0)
        });
        Self {
            plan: plan.clone(),
            best: best.iter().map(|&family| plan.families[family].clone()).collect(),
            recipe: overall.recipe(),
            gain_recipe: overall.gain_recipe(),
            gain_hits: gain_hits.count(),
            defaults,
            rules,
            gains,
            graphs: found,
        }
    }
}

/// Results in per cent with one candidate of every family, chosen over some graphs.
struct View<'a> {
    plan: &'a DefaultsPlan,
    graphs: &'a [GraphResult],
    /// The graphs that chose.
    over: Vec<usize>,
    /// The candidate of every family.
    candidates: Vec<usize>,
}

impl<'a> View<'a> {
    /// Chooses the candidates with the least mean regret over some graphs.
    fn chosen(plan: &'a DefaultsPlan, graphs: &'a [GraphResult], over: Vec<usize>) -> Self {
        let families = 0..if graphs.is_empty() { 0 } else { plan.families.len() };
        let candidates = families.map(|family| chosen(graphs, &over, family)).collect();
        Self { plan, graphs, over, candidates }
    }

    /// Returns the results of a family on a graph.
    fn of(&self, graph: usize, family: usize) -> &'a CandidateResult {
        &self.graphs[graph].families[family][self.candidates[family]]
    }

    /// Returns the family with the largest score, the first of equal ones.
    fn best_by(&self, score: impl Fn(usize) -> f64) -> usize {
        let families = (0..self.candidates.len()).rev();
        families.max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(0)
    }

    /// Returns the family with the best mean test metric on a graph.
    fn best(&self, graph: usize) -> usize {
        self.best_by(|family| self.of(graph, family).test.mean)
    }

    /// Grows a tree over the graphs that chose; its options are the families.
    fn recipe(&self) -> Option<Tree> {
        let case = |&graph: &usize| {
            let top = self.of(graph, self.best(graph)).test.mean;
            let costs = (0..self.candidates.len()).map(|family| top - self.of(graph, family).test.mean).collect();
            Case { traits: self.graphs[graph].traits.clone(), costs }
        };
        let cases: Vec<Case> = self.over.iter().map(case).collect();
        Tree::grow(&cases.iter().collect::<Vec<_>>(), DEPTH)
    }

    /// Returns what self-supervision adds on a graph; `None` if the study does not have both twins.
    fn gain(&self, graph: usize) -> Option<Gain> {
        let [without, with] = TWINS.map(|name| self.plan.families.iter().position(|family| family == name));
        Some(gain(&self.graphs[graph].graph, self.of(graph, with?), self.of(graph, without?)))
    }

    /// Grows a tree over the graphs that chose; its options are no self-supervision and self-supervision.
    fn gain_recipe(&self) -> Option<Tree> {
        let case = |&graph: &usize| {
            let difference = self.gain(graph)?.difference;
            let costs = vec![difference.max(0.0), (-difference).max(0.0)];
            Some(Case { traits: self.graphs[graph].traits.clone(), costs })
        };
        let cases: Vec<Case> = self.over.iter().filter_map(case).collect();
        Tree::grow(&cases.iter().collect::<Vec<_>>(), DEPTH)
    }
}

/// Returns whether the best family is significantly better, split by split. Equal differences on all splits have no test;
/// they are significant.
fn is_worse(best: &[f64], named: &[f64]) -> bool {
    match paired_t(best, named) {
        Ok(test) => test.p < ALPHA && test.t > 0.0,
        Err(_) => best.iter().zip(named).all(|(best, named)| best > named),
    }
}

/// Returns the family of a recommended model.
fn answered(plan: &DefaultsPlan, model: &str) -> Option<usize> {
    let is_answer = |name: &String| name == model || family(name).is_some_and(|(_, kind)| kind.to_string() == model);
    plan.families.iter().position(is_answer)
}

/// Returns the regrets of the candidates of a family on a graph.
fn regrets(graph: &GraphResult, family: usize) -> Vec<f64> {
    let means: Vec<f64> = graph.families[family].iter().map(|candidate| candidate.test.mean).collect();
    let top = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    means.into_iter().map(|mean| top - mean).collect()
}

/// Returns the mean regret of every candidate of a family over some graphs.
fn mean_regrets(graphs: &[GraphResult], over: &[usize], family: usize) -> Vec<f64> {
    let count = graphs[0].families[family].len();
    let mut sums = vec![0.0; count];
    for &graph in over {
        sums.iter_mut().zip(regrets(&graphs[graph], family)).for_each(|(sum, regret)| *sum += regret);
    }
    sums.into_iter().map(|sum| sum / over.len().max(1) as f64).collect()
}

/// Returns the candidate of a family with the least mean regret over some graphs, the first of equal ones.
fn chosen(graphs: &[GraphResult], over: &[usize], family: usize) -> usize {
    let means = mean_regrets(graphs, over, family);
    (0..means.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0)
}

/// Returns the defaults of a family: chosen over all graphs, and for each graph without it and its relatives.
fn defaults(overall: &View<'_>, views: &[View<'_>], family: usize) -> FamilyDefaults {
    let View { plan, graphs, over: all, .. } = overall;
    let choice = overall.candidates[family];
    let own = all.iter().map(|&graph| regrets(&graphs[graph], family)[views[graph].candidates[family]]);
    let worst = all.iter().map(|&graph| (regrets(&graphs[graph], family)[choice], graphs[graph].graph.name()));
    FamilyDefaults {
        family: plan.families[family].clone(),
        chosen: plan.candidates_of(&plan.families[family])[choice].name,
        regrets: mean_regrets(graphs, all, family).into_iter().map(|regret| regret / 100.0).collect(),
        held_out: Summary::of(own.collect()).mean / 100.0,
        worst: worst
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(regret, graph)| (regret / 100.0, graph))
            .unwrap_or_default(),
        changes: views.iter().filter(|view| view.candidates[family] != choice).count(),
    }
}

/// Returns the gain of the first over the second, from results in per cent.
fn gain(graph: &StudyGraph, with: &CandidateResult, without: &CandidateResult) -> Gain {
    let test = paired_t(&with.test.values, &without.test.values).ok();
    Gain {
        graph: graph.name(),
        difference: (with.test.mean - without.test.mean) / 100.0,
        interval: test.map(|test| test.interval.in_fractions()),
        p: test.map(|test| test.p),
    }
}

/// Records of the study.
struct Records<'a> {
    runs: RecordIndex<'a>,
    /// Recommendations: by accuracy, and by AUROC.
    answers: [RecordIndex<'a>; 2],
}

impl<'a> Records<'a> {
    fn new(plan: &DefaultsPlan, results: &'a ResultsFile) -> Self {
        let index = |task: &str| RecordIndex::new(task, results.records());
        Self { runs: index(DefaultsTask::NAME), answers: RecommendTask::of(plan).map(|task| index(task.name())) }
    }

    /// Returns the results of a graph; `None` if a run is missing.
    fn graph(&self, plan: &DefaultsPlan, graph: &StudyGraph) -> Option<GraphResult> {
        let find = |index: &RecordIndex<'a>, name: &str, candidate: usize, split: u64| {
            index.find(&Job { source: graph.dataset.clone(), ..plan.job(graph, name, candidate, split)? })
        };
        let run = |name: &str, candidate: usize, split: u64| find(&self.runs, name, candidate, split);
        let candidate = |name: &String, number: usize| {
            let runs: Vec<&Record> = (0..plan.splits).map(|split| run(name, number, split)).collect::<Option<_>>()?;
            let scores = runs.iter().map(|record| match &record.status {
                Status::Ok { validation, test, .. } => Some([validation.metric, test.metric]),
                Status::Failed { .. } => None,
            });
            let scores: Vec<[f64; 2]> = scores.collect::<Option<_>>()?;
            let summary = |part: usize| Summary::of(scores.iter().map(|score| score[part]).collect());
            Some(CandidateResult {
                name: plan.candidates_of(name)[number].name,
                validation: summary(0),
                test: summary(1),
                seconds: runs.iter().map(|record| record.seconds).sum::<f64>() / runs.len().max(1) as f64,
            })
        };
        let family =
            |name: &String| (0..plan.candidates_of(name).len()).map(|number| candidate(name, number)).collect();
        let families: Vec<Vec<CandidateResult>> = plan.families.iter().map(family).collect::<Option<_>>()?;
        let place = |name: &str| plan.families.iter().position(|family| family == name);
        let traits_of = |split: u64| {
            let traits: Traits = run(PROPAGATION, 0, split)?.measured()?;
            // What a model gains over the largest class on validation nodes, at best; AUROC of the largest class is 0.5.
            let base = if graph.auroc { 0.5 } else { traits.largest_class };
            let signal = |name: &str| {
                let found = place(name).map(|place| families[place].iter());
                let best = found.map(|found| found.map(|found| found.validation.values[split as usize]));
                best.map_or(0.0, |values| values.fold(f64::NEG_INFINITY, f64::max) - base)
            };
            Some(traits.values([signal("mlp"), signal(PROPAGATION)]).to_vec())
        };
        let traits_by_split: Vec<Vec<f64>> = (0..plan.splits).map(traits_of).collect::<Option<_>>()?;
        let mean = |of: usize| traits_by_split.iter().map(|traits| traits[of]).sum::<f64>() / plan.splits as f64;
        let traits = (0..TRAITS.len()).map(mean).collect();
        let answers = &self.answers[usize::from(graph.auroc)];
        let answer = |split| find(answers, PROPAGATION, 0, split).and_then(Record::measured);
        let recommended: Option<Vec<String>> = (0..plan.splits).map(answer).collect();
        let recommended = recommended.unwrap_or_default();
        Some(GraphResult { graph: graph.clone(), traits, traits_by_split, families, recommended })
    }
}
