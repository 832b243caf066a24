//! Small random examples, networks and configurations for the tests.

#[allow(dead_code, reason = "tests of the command use all of it")]
#[path = "../../../supergat-cli/tests/cli/running.rs"]
mod running;

use running::Running;
use supergat_core::example::ExampleShape;
use supergat_core::hyperparameters::NetworkSettings;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{
    Architecture, Direction, Duplicates, EdgeAttributes, Example, Features, Form, Graph, Labels, ModelKind, Real,
    SparseMatrix,
};

/// Parameters of a random example.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub nodes: usize,
    pub edges: usize,
    pub features: usize,
    pub classes: usize,
    pub directed: bool,
    pub sparse: bool,
    pub multi: bool,
    pub seed: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { nodes: 12, edges: 25, features: 5, classes: 3, directed: true, sparse: false, multi: false, seed: 0 }
    }
}

impl Recipe {
    pub fn edge_list(&self) -> Vec<(u32, u32)> {
        let dice = Stream::new(self.seed, 0, 0, Purpose::SyntheticEdges);
        let node = |k: usize| dice.below(k as u64, self.nodes as u64) as u32;
        (0..self.edges).map(|e| (node(2 * e), node(2 * e + 1))).collect()
    }

    pub fn feature_values(&self) -> Vec<f64> {
        let dice = Stream::new(self.seed, 0, 0, Purpose::SyntheticFeatures);
        (0..(self.nodes * self.features) as u64)
            .map(|k| if self.sparse && dice.below(k, 3) > 0 { 0.0 } else { dice.normal_pair(k)[0] })
            .collect()
    }

    pub fn build<T: Real>(&self) -> Example<T> {
        let values: Vec<T> = self.feature_values().into_iter().map(T::from_f64).collect();
        let direction = if self.directed { Direction::Directed } else { Direction::Undirected };
        let graph = Graph::from_edges(self.nodes, &self.edge_list(), direction).unwrap();
        let features = if self.sparse {
            sparse(self.features, &values)
        } else {
            Features::dense(self.nodes, self.features, values).unwrap()
        };
        let dice = Stream::new(self.seed, 0, 0, Purpose::SyntheticLabels);
        let classes = self.classes;
        let labels = if self.multi {
            Labels::Multi { classes, of: (0..(self.nodes * classes) as u64).map(|k| dice.below(k, 2) as u8).collect() }
        } else {
            Labels::Single {
                classes,
                of: (0..self.nodes as u64).map(|k| dice.below(k, classes as u64) as u32).collect(),
            }
        };
        let third = self.nodes / 3;
        let list = |range: std::ops::Range<usize>| range.map(|n| n as u32).collect::<Vec<_>>();
        let splits = [list(0..third), list(third..2 * third), list(2 * third..self.nodes)];
        Example::new(graph, features, labels, splits).unwrap()
    }
}

fn sparse<T: Real>(columns: usize, values: &[T]) -> Features<T> {
    let (mut offsets, mut index, mut stored) = (vec![0u64], vec![], vec![]);
    for row in values.chunks(columns) {
        for (k, v) in row.iter().enumerate().filter(|(_, v)| **v != T::ZERO) {
            index.push(k as u32);
            stored.push(*v);
        }
        offsets.push(index.len() as u64);
    }
    Features::Sparse(SparseMatrix::new(columns, offsets, index, stored).unwrap())
}

/// Gives the edges of an example weights, or `width` features, or both.
pub fn with_edges<T: Real>(recipe: Recipe, weighted: bool, width: usize) -> Example<T> {
    let (example, links) = (recipe.build::<T>(), recipe.edges);
    let dice = Stream::new(recipe.seed, 1, 0, Purpose::SyntheticFeatures);
    let weights: Vec<f64> = (0..links as u64).map(|k| dice.normal_pair(k)[0].exp()).collect();
    let features: Vec<T> = (0..(links * width) as u64).map(|k| T::from_f64(dice.normal_pair(k)[1])).collect();
    let weights = weighted.then_some(&weights[..]);
    let edges = EdgeAttributes::of_links(&example.graph, weights, width, &features, Duplicates::Sum).unwrap();
    example.with_edges(edges).unwrap()
}

/// A small network for an example.
pub fn architecture<T: Real>(example: &Example<T>, form: Form, self_supervised: bool) -> Architecture {
    Architecture {
        model: ModelKind::Attention { form, self_supervised },
        input_features: example.features.columns(),
        classes: example.labels.classes(),
        multi_label: example.labels.is_multi(),
        edge_features: example.edge_features(),
        network: NetworkSettings {
            layers: 2,
            hidden: 3,
            heads: 2,
            output_heads: 2,
            dropout: 0.0,
            negative_slope: 0.2,
            ..NetworkSettings::default()
        },
    }
}

/// Returns an architecture with the options of deep networks of `blocks`; its sizes and other options stay.
#[allow(dead_code, reason = "not all tests need it")]
pub fn with_blocks(shape: Architecture, blocks: NetworkSettings) -> Architecture {
    shape.with(|a| {
        (a.network.residual, a.network.norm, a.network.activation) = (blocks.residual, blocks.norm, blocks.activation);
        (a.network.input_layer, a.network.output_layer) = (blocks.input_layer, blocks.output_layer);
        (a.network.self_loops, a.network.separate_ego) = (blocks.self_loops, blocks.separate_ego);
        a.network.attention_dropout = blocks.attention_dropout;
    })
}

/// The forms of the paper, which all devices have.
pub const FORMS: [Form; 4] = [Form::Go, Form::Dp, Form::Sd, Form::Mx];

/// All forms.
pub const ALL_FORMS: [Form; 5] = [Form::Go, Form::Dp, Form::Sd, Form::Mx, Form::V2];

/// Runs the tests of this binary, without `skipped`, again with lesser instruction sets. Does nothing within
/// such a run.
pub fn repeat_on_lesser_instruction_sets(skipped: Option<&str>) {
    const VARIABLE: &str = "SUPERGAT_SIMD";
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    for set in ["portable", "avx2"] {
        let mut tests = std::process::Command::new(std::env::current_exe().unwrap());
        // An empty name would skip all tests.
        tests.arg("--quiet").args(skipped.iter().flat_map(|test| ["--skip", test]));
        // Gradients are checked in double precision, for which AVX-512 has the kernels of AVX2.
        if set == "avx2" {
            tests.args(["--skip", "gradients::"]);
        }
        let status = Running::start(tests.env(VARIABLE, set)).wait().unwrap();
        assert!(status.success(), "{VARIABLE}={set}");
    }
}
