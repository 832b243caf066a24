//! Force-directed layout of a small graph: positions on a page such that linked nodes are near each other.
//!
//! Forces as in Fruchterman and Reingold, "Graph drawing by force-directed placement" (1991): all pairs
//! repel, links attract, and steps become smaller. A weak pull towards the centre keeps unconnected
//! components together. The layout is deterministic: nodes start on a spiral.

use rayon::prelude::*;
use supergat_core::Graph;

/// Maximum number of nodes. The time is quadratic in it, and larger drawings are not readable.
pub const MAX_NODES: usize = 5000;

const STEPS: usize = 200;
/// Length of the first and the last step, on a page of length 1.
const FIRST_STEP: f32 = 0.1;
const LAST_STEP: f32 = 0.0005;
/// Strength of the pull towards the centre, in units of the forces between two nodes.
const PULL: f32 = 0.6;

/// Returns a position for each node, with coordinates from 0 to 1.
pub fn layout(graph: &Graph) -> Vec<[f32; 2]> {
    let n = graph.nodes();
    let mut positions: Vec<[f32; 2]> = (0..n).map(|node| spiral(node, n)).collect();
    let distance = (1.0 / n.max(1) as f32).sqrt();
    for step in 0..STEPS {
        let progress = step as f32 / STEPS as f32;
        let length = FIRST_STEP * (LAST_STEP / FIRST_STEP).powf(progress);
        positions = (0..n).into_par_iter().map(|node| moved(graph, &positions, node, distance, length)).collect();
    }
    fit(&mut positions);
    positions
}

/// Returns the initial position of a node. Positions are evenly spread, and consecutive nodes are far apart.
fn spiral(node: usize, n: usize) -> [f32; 2] {
    let radius = 0.5 * ((node as f32 + 0.5) / n as f32).sqrt();
    let angle = node as f32 * std::f32::consts::PI * (3.0 - 5f32.sqrt());
    [0.5 + radius * angle.cos(), 0.5 + radius * angle.sin()]
}

/// Returns the new position of a node after one step.
fn moved(graph: &Graph, positions: &[[f32; 2]], node: usize, distance: f32, length: f32) -> [f32; 2] {
    let [x, y] = positions[node];
    let (mut fx, mut fy) = (0.0, 0.0);
    for &[ox, oy] in positions {
        let (dx, dy) = (x - ox, y - oy);
        // The node itself contributes zero, since both differences are zero.
        let scale = distance * distance / (dx * dx + dy * dy).max(1e-9);
        fx += dx * scale;
        fy += dy * scale;
    }
    for list in [graph.incoming(), graph.outgoing()] {
        for &other in list.of(node) {
            let [ox, oy] = positions[other as usize];
            let (dx, dy) = (ox - x, oy - y);
            // A link of a symmetric graph is in both lists, each with half of the force.
            let scale = 0.5 * (dx * dx + dy * dy).sqrt() / distance;
            fx += dx * scale;
            fy += dy * scale;
        }
    }
    let pull = PULL * distance * positions.len() as f32;
    fx += pull * (0.5 - x) * distance;
    fy += pull * (0.5 - y) * distance;
    let force = (fx * fx + fy * fy).sqrt().max(1e-9);
    let step = force.min(length) / force;
    [x + fx * step, y + fy * step]
}

/// Translates and scales the positions to fill the page, with the same scale in both directions.
fn fit(positions: &mut [[f32; 2]]) {
    let range = |axis: usize| {
        let values = positions.iter().map(|position| position[axis]);
        values.fold((f32::MAX, f32::MIN), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ranges = [range(0), range(1)];
    let extent = ranges.iter().map(|(least, most)| most - least).fold(1e-9, f32::max);
    for position in positions {
        for axis in 0..2 {
            let (least, most) = ranges[axis];
            position[axis] = 0.5 + (position[axis] - (least + most) / 2.0) / extent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn linked_nodes_are_near_each_other() {
        // Two rings of ten nodes, joined by one link, and an isolated node.
        let ring = |first: u32| (0..10).map(move |k| (first + k, first + (k + 1) % 10));
        let links: Vec<(u32, u32)> = ring(0).chain(ring(10)).chain([(0, 10)]).collect();
        let graph = Graph::from_edges(21, &links, Direction::Undirected).unwrap();
        let positions = layout(&graph);
        let distance = |a: usize, b: usize| {
            let [dx, dy] = [positions[a][0] - positions[b][0], positions[a][1] - positions[b][1]];
            (dx * dx + dy * dy).sqrt()
        };
        let mean =
            |pairs: &[(usize, usize)]| pairs.iter().map(|&(a, b)| distance(a, b)).sum::<f32>() / pairs.len() as f32;
        let linked: Vec<(usize, usize)> = links.iter().map(|&(a, b)| (a as usize, b as usize)).collect();
        let others: Vec<(usize, usize)> = (0..10).flat_map(|a| (10..20).map(move |b| (a, b))).collect();
        assert!(2.0 * mean(&linked) < mean(&others), "{} {}", mean(&linked), mean(&others));
        assert!(positions.iter().flatten().all(|value| (-0.001..=1.001).contains(value)));
        assert_eq!(positions, layout(&graph));
    }

    #[test]
    fn handles_graphs_with_zero_or_one_node() {
        assert!(layout(&Graph::from_edges(0, &[], Direction::Directed).unwrap()).is_empty());
        assert_eq!(layout(&Graph::from_edges(1, &[], Direction::Directed).unwrap()), [[0.5, 0.5]]);
    }
}
