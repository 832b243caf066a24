//! Places for the nodes of a small graph on a page, so that linked nodes lie near each other.
//!
//! Forces as in Fruchterman and Reingold, "Graph drawing by force-directed placement" (1991): all pairs repel, links attract, and
//! steps become smaller. A weak pull to the middle keeps parts together that no link joins. Nothing is random: nodes start on a spiral.

use rayon::prelude::*;
use supergat_core::Graph;

/// All pairs repel, so that larger graphs would take too long, and nobody could read them.
pub const MOST_NODES: usize = 5000;

const STEPS: usize = 200;
/// Length of the first and the last step, on a page of length 1.
const LARGEST_STEP: f32 = 0.1;
const SMALLEST_STEP: f32 = 0.0005;
/// How strongly nodes are pulled to the middle, in units of the forces between two nodes.
const PULL: f32 = 0.6;

/// A place for each node, all within 0..1 in both directions.
pub fn layout(graph: &Graph) -> Vec<[f32; 2]> {
    let n = graph.nodes();
    let mut places: Vec<[f32; 2]> = (0..n).map(|node| spiral(node, n)).collect();
    let distance = (1.0 / n.max(1) as f32).sqrt();
    for step in 0..STEPS {
        let progress = step as f32 / STEPS as f32;
        let length = LARGEST_STEP * (SMALLEST_STEP / LARGEST_STEP).powf(progress);
        places = (0..n).into_par_iter().map(|node| moved(graph, &places, node, distance, length)).collect();
    }
    fit(&mut places);
    places
}

/// Evenly spread places, neighbours in number far apart.
fn spiral(node: usize, n: usize) -> [f32; 2] {
    let radius = 0.5 * ((node as f32 + 0.5) / n as f32).sqrt();
    let angle = node as f32 * std::f32::consts::PI * (3.0 - 5f32.sqrt());
    [0.5 + radius * angle.cos(), 0.5 + radius * angle.sin()]
}

/// Where the forces on a node bring it in one step.
fn moved(graph: &Graph, places: &[[f32; 2]], node: usize, distance: f32, length: f32) -> [f32; 2] {
    let [x, y] = places[node];
    let (mut fx, mut fy) = (0.0, 0.0);
    for &[ox, oy] in places {
        let (dx, dy) = (x - ox, y - oy);
        // The node itself adds nothing, since both differences are zero.
        let scale = distance * distance / (dx * dx + dy * dy).max(1e-9);
        fx += dx * scale;
        fy += dy * scale;
    }
    for list in [graph.incoming(), graph.outgoing()] {
        for &other in list.of(node) {
            let [ox, oy] = places[other as usize];
            let (dx, dy) = (ox - x, oy - y);
            // Both lists name a link of a symmetric graph, each with half of the force.
            let scale = 0.5 * (dx * dx + dy * dy).sqrt() / distance;
            fx += dx * scale;
            fy += dy * scale;
        }
    }
    let pull = PULL * distance * places.len() as f32;
    fx += pull * (0.5 - x) * distance;
    fy += pull * (0.5 - y) * distance;
    let force = (fx * fx + fy * fy).sqrt().max(1e-9);
    let step = force.min(length) / force;
    [x + fx * step, y + fy * step]
}

/// Moves and scales the places, alike in both directions, so that they fill the page.
fn fit(places: &mut [[f32; 2]]) {
    let range = |axis: usize| {
        let values = places.iter().map(|place| place[axis]);
        values.fold((f32::MAX, f32::MIN), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ranges = [range(0), range(1)];
    let extent = ranges.iter().map(|(least, most)| most - least).fold(1e-9, f32::max);
    for place in places {
        for axis in 0..2 {
            let (least, most) = ranges[axis];
            place[axis] = 0.5 + (place[axis] - (least + most) / 2.0) / extent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn linked_nodes_lie_near_each_other() {
        // Two circles of ten, joined by one link, and a node alone.
        let ring = |first: u32| (0..10).map(move |k| (first + k, first + (k + 1) % 10));
        let links: Vec<(u32, u32)> = ring(0).chain(ring(10)).chain([(0, 10)]).collect();
        let graph = Graph::from_edges(21, &links, Direction::Undirected).unwrap();
        let places = layout(&graph);
        let distance = |a: usize, b: usize| {
            let [dx, dy] = [places[a][0] - places[b][0], places[a][1] - places[b][1]];
            (dx * dx + dy * dy).sqrt()
        };
        let mean =
            |pairs: &[(usize, usize)]| pairs.iter().map(|&(a, b)| distance(a, b)).sum::<f32>() / pairs.len() as f32;
        let linked: Vec<(usize, usize)> = links.iter().map(|&(a, b)| (a as usize, b as usize)).collect();
        let others: Vec<(usize, usize)> = (0..10).flat_map(|a| (10..20).map(move |b| (a, b))).collect();
        assert!(2.0 * mean(&linked) < mean(&others), "{} {}", mean(&linked), mean(&others));
        assert!(places.iter().flatten().all(|value| (-0.001..=1.001).contains(value)));
        assert_eq!(places, layout(&graph));
    }

    #[test]
    fn the_smallest_graphs_have_places() {
        assert!(layout(&Graph::from_edges(0, &[], Direction::Directed).unwrap()).is_empty());
        assert_eq!(layout(&Graph::from_edges(1, &[], Direction::Directed).unwrap()), [[0.5, 0.5]]);
    }
}
