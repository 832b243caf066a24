//! Rounds of GAM.

use super::agreement::AgreementModel;
use super::pairs::Pairs;
use super::regulariser::{Regulariser, softmax};
use super::self_label::most_certain;
use std::ops::ControlFlow;
use supergat_core::device::{Adam, Memory as _};
use supergat_core::hyperparameters::GamOptions;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{
    Epoch, Error, Example, Labels, Network, Outcome, Prepared, Result, Score, Session, StepLoss, Trained,
};
use supergat_cpu::kernels::{LabelTerms, MOST_PARTS, Parts, Primitives};
use supergat_cpu::{Cpu, Model};

/// Number of rounds without a better validation metric.
const ROUNDS: usize = 5;

/// A training by GAM on a prepared graph.
#[derive(Debug)]
pub(super) struct GamTrainer<'p, T: Primitives> {
    prepared: &'p Prepared<Cpu<T>>,
    options: GamOptions,
    seed: u64,
    /// Labels of training nodes, and those that were predicted.
    labels: Labels,
    is_labelled: Vec<bool>,
    shares: Vec<f64>,
    agreement: AgreementModel<T>,
    memory: Memory<T>,
    /// Weights of the best epoch.
    best: Vec<Buffer<T>>,
    outcome: Option<Outcome>,
    epoch: usize,
}

#[derive(Debug)]
struct Memory<T> {
    parts: Parts,
    partial: Vec<f64>,
    logits: Vec<T>,
    gradient: Vec<T>,
    probabilities: Vec<T>,
}

impl<'p, T: Primitives> GamTrainer<'p, T> {
    /// Prepares a training of a GCN. Fails unless there is one graph whose nodes have one class each.
    pub(super) fn new(prepared: &'p Prepared<Cpu<T>>, options: GamOptions, seed: u64) -> Result<Self> {
        let example = example(prepared)?;
        let Labels::Single { classes, of } = &example.labels else { unreachable!("checked above") };
        let nodes = example.graph.nodes();
        let (mut known, mut is_labelled, mut shares) = (vec![0; nodes], vec![false; nodes], vec![0.0; *classes]);
        for &node in &example.train {
            let class = of[node as usize];
            known[node as usize] = class;
            is_labelled[node as usize] = true;
            shares[class as usize] += 1.0 / example.train.len() as f64;
        }
        let zeros = || vec![T::ZERO; nodes * classes];
        let memory = Memory {
            parts: Parts::even(0..nodes, 64),
            partial: vec![0.0; MOST_PARTS],
            logits: zeros(),
            gradient: zeros(),
            probabilities: zeros(),
        };
        Ok(Self {
            prepared,
            options,
            seed,
            labels: Labels::Single { classes: *classes, of: known },
            is_labelled,
            shares,
            agreement: AgreementModel::new(&example.features, &options),
            memory,
            best: Vec::new(),
            outcome: None,
            epoch: 0,
        })
    }

    /// Returns the number of bytes that a training allocates beside its network.
    pub(super) fn bytes(example: &Example<T>, options: &GamOptions) -> u64 {
        let (nodes, columns) = (example.graph.nodes(), example.features.columns());
        let rows = 3 * nodes * example.labels.classes() * size_of::<T>();
        // Both ends, the class and the weight of a link.
        let edges = 24 * example.graph.edges();
        AgreementModel::<T>::bytes(columns, nodes, options) + (rows + edges) as u64
    }

    /// Runs all rounds and returns the GCN of the best epoch. `observe` is called after every epoch and may stop the
    /// training.
    pub(super) fn run(mut self, mut observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<Trained<Cpu<T>>> {
        let (mut interrupted, mut since) = (false, 0);
        for round in 0..self.options.rounds {
            let (improved, flow) = self.round(round, &mut observe)?;
            interrupted = flow.is_break();
            since = if improved || round == 0 { 0 } else { since + 1 };
            let more = round == 0 || self.add_labels();
            if interrupted || since >= ROUNDS || !more {
                break;
            }
        }
        let mut model = Model::zeros(*self.prepared.architecture())?;
        let (device, mut best) = (*self.prepared.device(), self.best.iter());
        model.for_each_parameter(|p| device.copy(best.next().expect("as many as parameters"), &mut p.value))?;
        let logits = vec![model.predict(&self.prepared.examples()[0])?];
        let outcome = self.outcome.expect("at least one epoch was run");
        Ok(Trained { model, outcome: Outcome { epochs: self.epoch, interrupted, ..outcome }, logits })
    }

    /// Trains both models once. Returns whether the best epoch of all rounds is one of this round, and leaves the
    /// probabilities of its best epoch in the memory.
    fn round(
        &mut self,
        round: usize,
        observe: &mut impl FnMut(&Epoch) -> ControlFlow<()>,
    ) -> Result<(bool, ControlFlow<()>)> {
        let example = &self.prepared.examples()[0];
        // The first round has the random numbers of a GCN without GAM.
        let seed = match round {
            0 => self.seed,
            _ => Stream::new(self.seed, round as u32, 0, Purpose::RoundSeed).bits(0),
        };
        let regulariser = (round > 0).then(|| self.regulariser(example, seed));
        let architecture = *self.prepared.architecture();
        let network = Network::on(self.prepared.device(), architecture, seed)?;
        let mut session = Session::new(self.prepared, network, seed, true)?;
        if self.best.is_empty() {
            self.best = session.network().parameters().map(|p| Buffer::zeros(p.stored())).collect();
        }
        let (mut best_of_round, mut since, mut improved) = (f64::NEG_INFINITY, 0, false);
        let mut certain = vec![T::ZERO; self.memory.logits.len()];
        for step in 0..self.prepared.config().training.max_epochs {
            let train = self.step(&mut session, step, seed, regulariser.as_ref())?;
            session.forward(0, false)?;
            let [validation, test] = self.evaluate(&session)?;
            let epoch = self.epoch;
            if let Some(loss) = [train.total, validation.loss].into_iter().find(|loss| !loss.is_finite()) {
                return Err(Error::Diverged { epoch, loss, has_edge_loss: false });
            }
            since += 1;
            if validation.metric >= best_of_round {
                since = if validation.metric > best_of_round { 0 } else { since };
                best_of_round = validation.metric;
                softmax(&self.memory.logits, architecture.classes, &mut certain);
            }
            let best = self.outcome.is_none_or(|outcome| validation.metric >= outcome.validation.metric);
            if best {
                improved = true;
                let outcome = Outcome { epochs: epoch + 1, best_epoch: epoch, validation, test, interrupted: false };
                self.outcome = Some(outcome);
                let parameters = session.network().parameters();
                self.best.iter_mut().zip(parameters).for_each(|(best, p)| best.copy_from_slice(&p.value));
            }
            self.epoch += 1;
            if observe(&Epoch { epoch, train, validation, test, best }).is_break() {
                return Ok((improved, ControlFlow::Break(())));
            }
            if since >= self.options.round_patience {
                break;
            }
        }
        self.memory.probabilities = certain;
        Ok((improved, ControlFlow::Continue(())))
    }

    /// Trains the agreement model, and weighs the edges by it.
    fn regulariser(&mut self, example: &Example<T>, seed: u64) -> Regulariser<T> {
        let Labels::Single { classes, of } = &self.labels else { unreachable!("made of single labels") };
        let labelled: Vec<u32> = (0..of.len() as u32).filter(|&node| self.is_labelled[node as usize]).collect();
        let pairs = Pairs::new(&labelled, of, *classes, seed);
        self.agreement.fit(&example.features, &pairs, seed);
        let known = self.known();
        let agreement = |pairs: &[[u32; 2]]| self.agreement.agreement(&example.features, pairs);
        Regulariser::new(&example.graph, &known, &self.options, agreement)
    }

    fn known(&self) -> Vec<Option<u32>> {
        let Labels::Single { of, .. } = &self.labels else { unreachable!("made of single labels") };
        of.iter().zip(&self.is_labelled).map(|(&class, &known)| known.then_some(class)).collect()
    }

    /// Runs one step of the classifier.
    fn step(
        &mut self,
        session: &mut Session<'_, Cpu<T>>,
        step: usize,
        seed: u64,
        regulariser: Option<&Regulariser<T>>,
    ) -> Result<StepLoss> {
        let loss = self.differentiate(session, step, seed, regulariser)?;
        let config = self.prepared.config();
        session.update(Adam { lr: config.training.lr, lambda_2: config.training.lambda_2 })?;
        session.advance()?;
        Ok(loss)
    }

    /// Computes the gradients of all weights of the classifier. The loss of edges is the agreement loss.
    fn differentiate(
        &mut self,
        session: &mut Session<'_, Cpu<T>>,
        step: usize,
        seed: u64,
        regulariser: Option<&Regulariser<T>>,
    ) -> Result<StepLoss> {
        let config = self.prepared.config();
        let example = &self.prepared.examples()[0];
        let Memory { parts, partial, logits, gradient, probabilities } = &mut self.memory;
        session.forward(0, true)?;
        session.read_logits(0, logits)?;
        let class_weights = example.class_weights.as_deref().unwrap_or(&[]);
        let Labels::Single { classes, of } = &self.labels else { unreachable!("made of single labels") };
        let weight = |node: usize| class_weights.get(of[node] as usize).copied().unwrap_or(1.0);
        let total = (0..of.len()).filter(|&node| self.is_labelled[node]).map(weight).sum();
        let terms = LabelTerms { class_weights, total, shown: &[], settings: &config.training };
        let label = T::label_loss_backward(parts, &self.labels, &self.is_labelled, terms, logits, gradient, partial);
        let edge = regulariser.map_or(0.0, |edges| {
            edges.add_gradient(
                [seed, step as u64],
                self.options.agreement_edges,
                logits,
                *classes,
                probabilities,
                gradient,
            )
        });
        session.backward_from(0, true, None, gradient)?;
        Ok(StepLoss { label, edge, total: label + edge })
    }

    /// Returns the scores of the validation and the test nodes after a forward pass.
    fn evaluate(&mut self, session: &Session<'_, Cpu<T>>) -> Result<[Score; 2]> {
        let example = &self.prepared.examples()[0];
        session.read_logits(0, &mut self.memory.logits)?;
        let score = |nodes: &[u32]| {
            let (loss, counts) = T::evaluate(&example.labels, nodes, &self.memory.logits);
            Score { loss: loss / nodes.len().max(1) as f64, metric: counts.micro_f1() }
        };
        let mut scores = [score(&example.validation), score(&example.test)];
        if let Some(scorer) = self.prepared.scorer() {
            let metrics = scorer.score(std::slice::from_ref(&self.memory.logits));
            scores.iter_mut().zip(metrics).for_each(|(score, metric)| score.metric = metric);
        }
        Ok(scores)
    }

    /// Labels the nodes that the last round is most certain of. Returns whether there were any.
    fn add_labels(&mut self) -> bool {
        let GamOptions { self_labels, self_label_certainty, keep_class_shares, .. } = self.options;
        let shares = keep_class_shares.then_some(&self.shares[..]);
        let chosen = most_certain(&self.memory.probabilities, &self.known(), self_labels, self_label_certainty, shares);
        let Labels::Single { of, .. } = &mut self.labels else { unreachable!("made of single labels") };
        for &(node, class) in &chosen {
            of[node as usize] = class;
            self.is_labelled[node as usize] = true;
        }
        !chosen.is_empty()
    }
}

/// Returns the only example. Fails if GAM cannot train on the examples.
fn example<T: Primitives>(prepared: &Prepared<Cpu<T>>) -> Result<&Example<T>> {
    let refuse =
        |reason: &str| Err(Error::Hyperparameter { name: "model", value: "gcn-gam".into(), reason: reason.into() });
    let [example] = prepared.examples() else { return refuse("needs one graph, and the dataset has several") };
    if example.labels.is_multi() {
        return refuse("needs nodes with one class each, and these may have several");
    }
    if prepared.architecture().reads_labels() {
        return refuse("labels nodes itself; set label_input to 0");
    }
    for (split, nodes) in [("training", &example.train), ("validation", &example.validation)] {
        if nodes.is_empty() {
            return Err(Error::EmptySplit { split });
        }
    }
    Ok(example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use supergat_core::{Architecture, Direction, Features, Graph, TrainConfig, Trainer};

    /// A graph of two classes with noisy features, and links mostly within classes.
    fn example<T: Primitives>() -> Example<T> {
        let (nodes, stream) = (300u32, Stream::new(9, 0, 0, Purpose::SyntheticFeatures));
        let class = |node: u32| node % 3;
        let link = |k: u64| {
            let [i, step] = [stream.below(3 * k, u64::from(nodes)), stream.below(3 * k + 1, 99)].map(|v| v as u32);
            (i, (i + 3 * step + u32::from(stream.uniform(3 * k + 2) < 0.2)) % nodes)
        };
        let links: Vec<(u32, u32)> = (0..900).map(link).collect();
        let graph = Graph::from_edges(nodes as usize, &links, Direction::Undirected).unwrap();
        let noise = Stream::new(9, 1, 0, Purpose::SyntheticFeatures);
        let value = |node: u32, k: u32| {
            let [a, _] = noise.normal_pair(u64::from(8 * node + k));
            T::from_f64(if k == class(node) { 1.0 } else { 0.0 } + 0.8 * a)
        };
        let features = (0..nodes).flat_map(|node| (0..8).map(move |k| (node, k))).map(|(node, k)| value(node, k));
        let features = Features::dense(nodes as usize, 8, features.collect()).unwrap();
        let labels = Labels::Single { classes: 3, of: (0..nodes).map(class).collect() };
        let splits = [(0..12).collect(), (12..72).collect(), (72..nodes).collect()];
        Example::new(graph, features, labels, splits).unwrap()
    }

    fn options(rounds: usize) -> GamOptions {
        GamOptions {
            agreement_hidden: 16,
            agreement_lr: 0.01,
            agreement_steps: 150,
            agreement_edges: 64,
            lambda_ll: 0.1,
            lambda_lu: 2.0,
            lambda_uu: 1.0,
            self_labels: 30,
            self_label_certainty: 0.4,
            keep_class_shares: true,
            rounds,
            round_patience: 30,
        }
    }

    fn prepared(example: &Example<f32>, max_epochs: usize) -> Prepared<Cpu<f32>> {
        let architecture = Architecture::new("gcn".parse().unwrap(), example);
        let training = TrainConfig::default().with(|c| c.training.max_epochs = max_epochs);
        Prepared::on(&Cpu::default(), std::slice::from_ref(example), architecture, training).unwrap()
    }

    fn train(rounds: usize) -> (Vec<Epoch>, Trained<Cpu<f32>>) {
        let prepared = prepared(&example(), 60);
        let mut history = Vec::new();
        let trained = GamTrainer::new(&prepared, options(rounds), 4).unwrap().run(|epoch| {
            history.push(*epoch);
            ControlFlow::Continue(())
        });
        (history, trained.unwrap())
    }

    #[test]
    fn first_round_is_the_network_alone() {
        let (history, trained) = train(1);
        let prepared = prepared(&example(), history.len());
        let mut alone = Vec::new();
        let outcome = Trainer::new(&prepared, 4).unwrap().run(|epoch| {
            alone.push(*epoch);
            ControlFlow::Continue(())
        });
        assert_eq!(alone, history);
        assert_eq!(outcome.unwrap().logits, trained.logits);
    }

    #[test]
    fn gradients_of_a_later_round_match_differences() {
        let example = example::<f64>();
        let shape = Architecture::new("gcn".parse().unwrap(), &example)
            .with(|a| (a.network.hidden, a.network.dropout) = (3, 0.3));
        let prepared = Prepared::on(&Cpu::default(), &[example], shape, TrainConfig::default()).unwrap();
        let mut trainer = GamTrainer::new(&prepared, options(2), 4).unwrap();
        let regulariser = trainer.regulariser(&prepared.examples()[0], 4);
        let network = Network::on(prepared.device(), shape, 4).unwrap();
        let mut session = Session::new(&prepared, network, 4, true).unwrap();
        let without = trainer.differentiate(&mut session, 0, 4, None).unwrap();
        let first = trainer.differentiate(&mut session, 0, 4, Some(&regulariser)).unwrap();
        assert!(without.total < first.total && first.total == first.label + first.edge);
        let of = |p: &supergat_core::layers::Parameter<Cpu<f64>>| {
            let device = prepared.device();
            (p.name.clone(), p.to_rows(device).unwrap(), p.gradient_to_rows(device).unwrap())
        };
        let all: Vec<_> = session.network().parameters().map(of).collect();
        for (number, (name, values, gradient)) in all.iter().enumerate() {
            for (element, found) in gradient.iter().enumerate() {
                let mut loss = |shift: f64| {
                    let (mut moved, mut index) = (values.clone(), 0);
                    moved[element] += shift;
                    let network = session.network_mut();
                    let set = |p: &mut supergat_core::layers::Parameter<Cpu<f64>>| {
                        index += 1;
                        if index == number + 1 { p.set_rows(prepared.device(), &moved) } else { Ok(()) }
                    };
                    network.for_each_parameter(set).unwrap();
                    trainer.differentiate(&mut session, 0, 4, Some(&regulariser)).unwrap().total
                };
                let expected = (loss(1e-6) - loss(-1e-6)) / 2e-6;
                loss(0.0);
                let error = (found - expected).abs() / (1.0 + expected.abs());
                assert!(error < 1e-7, "{name}[{element}]: found {found}, central difference {expected}");
            }
        }
    }

    #[test]
    fn later_rounds_have_an_agreement_loss() {
        let (history, trained) = train(4);
        let first = history.iter().position(|epoch| epoch.train.edge > 0.0).expect("a later round");
        assert!(history[first..].iter().all(|epoch| epoch.train.edge > 0.0) && first >= 30);
        assert!(trained.outcome.test.metric > 0.45, "{:?}", trained.outcome);
        assert_eq!(trained.outcome.epochs, history.len());
        assert!(history[trained.outcome.best_epoch].best);
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(3))
        };
        let ((history, one), (again, three)) = (with(1), with(3));
        assert!(history == again && one.logits == three.logits);
    }

    #[test]
    fn labels_of_other_nodes_than_those_for_training_only_select() {
        let example = example();
        let mut changed = example.clone();
        let Labels::Single { of, .. } = &mut changed.labels else { panic!("one class per node") };
        example.test.iter().for_each(|&node| of[node as usize] = (of[node as usize] + 1) % 3);
        let logits = [example, changed].map(|example| {
            let prepared = prepared(&example, 40);
            let trainer = GamTrainer::new(&prepared, options(3), 1).unwrap();
            trainer.run(|_| ControlFlow::Continue(())).unwrap().logits
        });
        assert_eq!(logits[0], logits[1]);
    }

    #[test]
    fn observer_stops_training() {
        let prepared = prepared(&example(), 40);
        let trained = GamTrainer::new(&prepared, options(3), 1).unwrap().run(|epoch| match epoch.epoch {
            44 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let outcome = trained.unwrap().outcome;
        assert!(outcome.interrupted && outcome.epochs == 45, "{outcome:?}");
    }

    #[test]
    fn rejects_several_graphs_and_several_classes() {
        let example = example::<f32>();
        let architecture = Architecture::new("gcn".parse().unwrap(), &example);
        let two =
            Prepared::on(&Cpu::default(), &[example.clone(), example.clone()], architecture, TrainConfig::default())
                .unwrap();
        let error = GamTrainer::new(&two, options(2), 0).unwrap_err().to_string();
        assert_eq!(error, "model = gcn-gam: needs one graph, and the dataset has several");
        let labels = Labels::Multi { classes: 3, of: vec![0; 900] };
        let multi = Example { labels, graph: Arc::clone(&example.graph), ..example };
        let architecture = Architecture::new("gcn".parse().unwrap(), &multi);
        let prepared = Prepared::on(&Cpu::default(), &[multi], architecture, TrainConfig::default()).unwrap();
        let error = GamTrainer::new(&prepared, options(2), 0).unwrap_err().to_string();
        assert_eq!(error, "model = gcn-gam: needs nodes with one class each, and these may have several");
    }
}
