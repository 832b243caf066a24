//! Margin losses of attention scores (CGAT): sum over triples (i, j, k) and heads of relu(s_ik + margin - s_ij), where
//! j -> i is an edge and k a rival of j at i.
//!
//! Rivals are drawn where they are needed: their random numbers depend on the edge and the number of the rival only.

use crate::attention::{self, Scratch, THREADS};
use crate::clock::Clock;
use crate::compile::{Source, Variant};
use crate::dropout::tag;
use crate::launch::{Cuda, grid, launch};
use crate::problem::{Lists, Problem};
use crate::sparse::address;
use cudarc::driver::CudaSlice;
use supergat_core::device::{Attention, AttentionGradient, ProjectedGradient};
use supergat_core::graph::Adjacency;
use supergat_core::kernels::compare_classes;
use supergat_core::layers::{Boundary, Contrast};
use supergat_core::random::Purpose;
use supergat_core::{Error, Example, Labels, Result};

const MARGIN: Source =
    Source { name: "margin", text: concat!(include_str!("../kernels/rows.cuh"), include_str!("../kernels/margin.cu")) };

/// Constraints on one example.
#[derive(Debug)]
pub(crate) struct MarginPlan {
    contrast: Contrast,
    /// Number of triples of the loss between edges and non-edges.
    triples: usize,
    classes: Option<Classes>,
}

/// Edges of the training nodes, by class.
#[derive(Debug)]
struct Classes {
    /// Bit per edge: whether it joins training nodes of the same class.
    alike: CudaSlice<u8>,
    /// For each training node, the training nodes of other classes that have an edge to it.
    unlike: Lists,
    /// Number of triples of the loss between classes.
    triples: usize,
}

impl MarginPlan {
    /// Validates the constraints and prepares them for an example.
    pub(crate) fn new(cuda: &Cuda, example: &Example<f32>, contrast: Contrast) -> Result<Self> {
        contrast.check()?;
        let graph = &*example.graph;
        let incoming = graph.incoming();
        let (nodes, per_edge) = (graph.nodes(), contrast.negatives_per_edge);
        let outside = |i: usize| nodes - incoming.range(i).len();
        let (triples, classes) = match (&contrast.boundary, &example.labels) {
            (None, _) => (count(incoming, None, outside) * per_edge, None),
            (Some(_), Labels::Single { of, .. }) => {
                let mut class = vec![Labels::UNKNOWN; nodes];
                example.train.iter().for_each(|&node| class[node as usize] = of[node as usize]);
                let (alike, offsets, neighbours) = compare_classes(incoming.lists(), 0, &class, Labels::UNKNOWN);
                let unlike = Adjacency { offsets, neighbours };
                let offsets: Vec<u32> = unlike.offsets.iter().map(|&offset| offset as u32).collect();
                let classes = Classes {
                    alike: cuda.uploaded(&alike)?,
                    triples: count(incoming, Some(&alike), |i| unlike.range(i).len()) * per_edge,
                    unlike: Lists { offsets: cuda.uploaded(&offsets)?, nodes: cuda.uploaded(&unlike.neighbours)? },
                };
                (count(incoming, Some(&alike), outside) * per_edge, Some(classes))
            }
            (Some(_), Labels::Multi { .. }) => {
                return Err(Error::Hyperparameter {
                    name: "lambda_b",
                    value: "given".into(),
                    reason: "classes have a boundary only where every node has one class; use the model cgat".into(),
                });
            }
        };
        Ok(Self { contrast, triples, classes })
    }

    /// Returns the number of edges per node that each head attends to in training.
    pub(crate) fn top_k(&self) -> usize {
        self.contrast.top_k
    }
}

/// Returns the number of edges that have rivals: those with a bit in `among` whose target has a pool.
fn count(incoming: &Adjacency, among: Option<&[u8]>, pool: impl Fn(usize) -> usize) -> usize {
    let is_among = |e: usize| among.is_none_or(|bits| bits[e / 8] >> (e % 8) & 1 == 1);
    let nodes = incoming.offsets.len() - 1;
    (0..nodes).filter(|&i| pool(i) > 0).map(|i| incoming.range(i).filter(|&e| is_among(e)).count()).sum()
}

/// One of the two losses.
struct Loss<'a> {
    purpose: Purpose,
    pool: Option<&'a Lists>,
    triples: usize,
    lambda: f64,
    margin: f64,
}

/// Adds the gradients of the margin losses to those of attention, and the losses to the place in the record.
#[allow(clippy::too_many_arguments)]
pub(crate) fn margin_backward(
    cuda: &Cuda,
    problem: &Problem,
    plan: &MarginPlan,
    attention: Attention<'_, Cuda>,
    (clock, layer): (&Clock, u16),
    from: AttentionGradient<'_, Cuda>,
    scratch: &Scratch,
    to: &mut ProjectedGradient<'_, Cuda>,
    place: u64,
) -> Result<()> {
    let (Some(vectors), Some(d_vectors)) = (from.vectors, to.vectors.as_mut()) else { return Ok(()) };
    let Contrast { negatives_per_edge, lambda_g, margin_g, boundary, .. } = plan.contrast;
    let structure = Loss {
        purpose: Purpose::ContrastRivals,
        pool: None,
        triples: plan.triples,
        lambda: lambda_g,
        margin: margin_g,
    };
    let boundary = boundary.zip(plan.classes.as_ref()).map(|(Boundary { lambda_b, margin_b }, classes)| Loss {
        purpose: Purpose::BoundaryRivals,
        pool: Some(&classes.unlike),
        triples: classes.triples,
        lambda: lambda_b,
        margin: margin_b,
    });
    let among = plan.classes.as_ref().map_or(0, |classes| address(&classes.alike));
    let layout = attention.layout;
    let defines = attention::defines(problem, layout, attention.form);
    let (nodes, per_edge, slope) = (problem.nodes as u32, negatives_per_edge as u32, attention.slope as f32);
    let most = attention::light_summing_blocks(cuda, problem, layout);
    // A warp has a node while terms are counted, a team while gradients are added.
    let count_blocks = problem.nodes.div_ceil(THREADS as usize / 32).min(most);
    let add_blocks = problem.nodes.div_ceil(attention::teams_per_block(layout)).min(most);
    for loss in [Some(structure), boundary].into_iter().flatten() {
        let weight = loss.lambda / (loss.triples.max(1) * layout.heads) as f64;
        let (factor, margin, tag) = (weight as f32, loss.margin as f32, tag(layer, loss.purpose));
        let [pool_offsets, pool] = loss.pool.map_or([0, 0], |lists| [address(&lists.offsets), address(&lists.nodes)]);
        for group in 0..layout.groups as u32 {
            launch!(
                cuda,
                &MARGIN,
                &defines,
                "count_margin",
                grid(count_blocks, THREADS),
                &clock.data,
                &tag,
                &nodes,
                &problem.incoming.offsets,
                &problem.incoming.nodes,
                &pool_offsets,
                &pool,
                &among,
                &per_edge,
                &from.state.0,
                &attention.source_score.0,
                &slope,
                &margin,
                &group,
                &scratch.counts,
                &scratch.losses
            )?;
            let loss_blocks = count_blocks as u32;
            launch!(
                cuda,
                &MARGIN,
                &defines,
                "add_margin",
                grid(add_blocks, THREADS),
                &nodes,
                &attention.z.0,
                &vectors.0,
                &slope,
                &factor,
                &weight,
                &group,
                &scratch.counts,
                &scratch.losses,
                &loss_blocks,
                &to.z.0,
                &scratch.partial,
                &scratch.counter,
                &d_vectors.0,
                &place
            )?;
        }
    }
    Ok(())
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    attention::representative_defines()
        .into_iter()
        .filter(|defines| defines[0].1 == 3)
        .map(|mut defines| -> Variant {
            // Margins constrain GO only.
            defines[0].1 = 0;
            (&MARGIN, defines)
        })
        .collect()
}
