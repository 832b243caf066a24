//! Self-supervised graph attention networks on NVIDIA GPUs.
//!
//! [`Cuda`] is a [`Device`](supergat_core::Device): all primitives of layers as kernels, which are compiled for the present GPU when they
//! are first used. No part of CUDA is needed to build this crate. Results have the same bits in every run, because
//! sums are always taken in the same order.

mod adam;
mod attention;
mod backward;
mod beside;
mod block;
mod clock;
mod columns;
mod compile;
mod convolution;
mod dense;
mod dropout;
mod edges;
mod error;
mod label_input;
mod labels;
mod launch;
mod library;
mod margin;
mod memory;
mod output;
mod problem;
mod problems;
mod product;
mod record;
mod recording;
mod report;
mod samples;
mod scratch;
mod sparse;
mod teams;
mod top_k;

pub use clock::Clock;
pub use launch::{Cuda, DeviceInfo, SIDE_BY_SIDE, SMALL_GRAPH, devices};
pub use memory::{Bits, Numbers};
pub use problem::Problem;
pub use record::Record;
pub use recording::Recording;
pub use scratch::Scratch;

use supergat_core::Result;

/// Compiles all kernels for an architecture such as `sm_90`: with all definitions in use, or each source once, and again
/// for GATv2, rows of 16 bits, and weights or features of edges, if it has code for them. Returns how many were compiled, or
/// `None` without NVRTC. Needs no GPU.
#[doc(hidden)]
pub fn compile_all(architecture: &str, all_definitions: bool) -> Result<Option<usize>> {
    if library::compiler().is_err() {
        return Ok(None);
    }
    let without_definitions = [
        &adam::ADAM,
        &block::BLOCK,
        &clock::CLOCK,
        &dense::DROP,
        &dropout::DROPOUT,
        &label_input::LABEL_INPUT,
        &labels::LABELS,
        &output::OUTPUT,
        &product::PARTS,
        &sparse::SPARSE,
    ];
    let mut variants = [
        without_definitions.map(|source| (source, Vec::new())).into(),
        attention::variants(),
        backward::variants(),
        convolution::variants(),
        edges::variants(),
        margin::variants(),
        product::variants(),
        report::variants(),
        samples::variants(),
        top_k::variants(),
    ]
    .concat();
    if !all_definitions {
        let mut seen = std::collections::BTreeSet::new();
        let flag = |defines: &[(&str, i64)], name| defines.contains(&(name, 1));
        variants.retain(|(source, defines)| {
            let of_edges = ["WEIGHTED", "EDGE_FEATURES", "MESSAGES", "RESUMES", "HALF", "TRANSPOSED"]
                .map(|name| flag(defines, name));
            seen.insert((source.name, of_edges, defines.contains(&("FORM", 4))))
        });
    }
    for (source, defines) in &variants {
        compile::compile(source, defines, architecture)?;
    }
    Ok(Some(variants.len()))
}
