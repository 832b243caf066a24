//! Attention of a classifier on the edges of a graph.

use supergat_core::{Direction, EdgeValues, Graph};

/// Attention of one edge in one layer and head. See [`Attention`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeAttention {
    /// Node that is attended to.
    pub source: usize,
    /// Node that attends.
    pub target: usize,
    /// Layer, from 0.
    pub layer: usize,
    /// Attention head, from 0.
    pub head: usize,
    /// Attention coefficient; those of all incoming edges of a node sum to one.
    pub coefficient: f32,
    /// Edge logit; the sigmoid of its mean over heads is the probability of an edge.
    pub logit: f32,
}

impl EdgeAttention {
    /// Returns whether the edge is the self-loop of a node.
    pub fn is_self_loop(&self) -> bool {
        self.source == self.target
    }
}

/// Attention on all edges of one graph, as [`crate::Classifier::attention`] returns it.
///
/// ```
/// use supergat::{Classifier, Dataset};
/// let dataset = Dataset::builder(3)
///     .edges(&[(0, 1), (1, 2)])
///     .dense_features(&[1.0, 0.5, -1.0], 1)
///     .labels(&[Some(0), Some(0), Some(1)])
///     .split(&[0, 2], &[1], &[])
///     .build()?;
/// let model = Classifier::builder().model("supergat-mx").layers(2).heads(2).max_epochs(5).fit(&dataset)?;
/// let attention = model.attention(&dataset, 0)?;
/// // Node 1 attends to nodes 0, 2 and itself, with two heads in each of two layers.
/// let edges = attention.of(1);
/// assert_eq!(edges.len(), 3 * 2 * 2);
/// let first = |edge: &&supergat::EdgeAttention| edge.layer == 1 && edge.head == 0;
/// let sum: f32 = edges.iter().filter(first).map(|edge| edge.coefficient).sum();
/// assert!((sum - 1.0).abs() < 1e-5);
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug)]
pub struct Attention<'g> {
    graph: &'g Graph,
    layers: Vec<EdgeValues<f32>>,
}

impl<'g> Attention<'g> {
    pub(crate) fn new(graph: &'g Graph, layers: Vec<EdgeValues<f32>>) -> Self {
        Self { graph, layers }
    }

    /// Number of attention layers.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Returns the attention of a node to its neighbours and itself. Panics if there is no such node.
    pub fn of(&self, node: usize) -> Vec<EdgeAttention> {
        self.graph.incoming().range(node).flat_map(|position| self.edge(position, node)).collect()
    }

    /// Returns the attention of all edges: the links in the order they were given, each followed by its reverse where links are
    /// undirected, then the self-loops.
    pub fn edges(&self) -> impl Iterator<Item = EdgeAttention> + '_ {
        let incoming = self.graph.incoming();
        listed_order(self.graph).into_iter().flat_map(move |position| {
            let target = incoming.offsets.partition_point(|&offset| offset <= position as u64) - 1;
            self.edge(position, target)
        })
    }

    fn edge(&self, position: usize, target: usize) -> impl Iterator<Item = EdgeAttention> + '_ {
        let source = self.graph.incoming().neighbours[position] as usize;
        self.layers.iter().enumerate().flat_map(move |(layer, values)| {
            (0..values.heads).map(move |head| {
                let at = position * values.heads + head;
                let (coefficient, logit) = (values.coefficients[at], values.logits[at]);
                EdgeAttention { source, target, layer, head, coefficient, logit }
            })
        })
    }
}

/// Returns the positions of all edges, each once, in the order of [`Attention::edges`].
fn listed_order(graph: &Graph) -> Vec<usize> {
    let mut order = Vec::with_capacity(graph.edges());
    let mut seen = vec![false; graph.edges()];
    let loop_of = |node: usize| graph.position(node as u32, node as u32).expect("every node has a self-loop");
    let loops: Vec<usize> = (0..graph.nodes()).map(loop_of).collect();
    // Self-loops of the list are listed with the added ones.
    loops.iter().for_each(|&position| seen[position] = true);
    let mut add = |position: usize| {
        if !std::mem::replace(&mut seen[position], true) {
            order.push(position);
        }
    };
    let incoming = graph.incoming();
    for &position in graph.position_of_input() {
        add(position as usize);
        if graph.direction() == Direction::Undirected {
            let target = incoming.offsets.partition_point(|&offset| offset <= position) - 1;
            let source = incoming.neighbours[position as usize];
            add(graph.position(target as u32, source).expect("both directions were inserted"));
        }
    }
    order.extend(loops);
    order
}
