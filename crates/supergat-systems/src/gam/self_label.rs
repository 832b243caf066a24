//! Choice of the nodes that a classifier labels itself.

use supergat_core::argmax;
use supergat_cpu::kernels::Primitives;

/// Returns the nodes without a label that the probabilities are most certain of, with their classes.
///
/// At most `most` nodes are chosen, with a probability of at least `least`. `shares` limits the nodes of each class to its
/// share of `most`, rounded, but not to none; without shares, classes do not count. Ties go to the smaller node.
pub(super) fn most_certain<T: Primitives>(
    probabilities: &[T],
    labels: &[Option<u32>],
    most: usize,
    least: f64,
    shares: Option<&[f64]>,
) -> Vec<(u32, u32)> {
    let classes = probabilities.len() / labels.len().max(1);
    let mut candidates: Vec<(f64, u32, u32)> = Vec::new();
    for (node, (label, row)) in labels.iter().zip(probabilities.chunks_exact(classes.max(1))).enumerate() {
        let class = argmax(row);
        let certainty = row[class].to_f64();
        if label.is_none() && certainty >= least {
            candidates.push((certainty, node as u32, class as u32));
        }
    }
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut room: Vec<usize> = match shares {
        Some(shares) => {
            let room = |share: &f64| (share * most as f64).round() as usize;
            shares.iter().map(|share| if *share > 0.0 { room(share).max(1) } else { 0 }).collect()
        }
        None => vec![most; classes],
    };
    let mut chosen = Vec::new();
    for (_, node, class) in candidates {
        let room = &mut room[class as usize];
        if *room > 0 && chosen.len() < most {
            *room -= 1;
            chosen.push((node, class));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_the_most_certain_nodes_without_a_label() {
        let probabilities = [0.9f32, 0.1, 0.8, 0.2, 0.3, 0.7, 0.95, 0.05, 0.45, 0.55];
        let labels = [None, None, None, Some(0), None];
        let chosen = |most, least, shares| most_certain(&probabilities, &labels, most, least, shares);
        // One node of each class: node 0 is the most certain of class 0, node 2 of class 1.
        assert_eq!(chosen(2, 0.0, Some(&[0.5, 0.5])), [(0, 0), (2, 1)]);
        assert_eq!(chosen(2, 0.0, None), [(0, 0), (1, 0)]);
        assert_eq!(chosen(9, 0.75, None), [(0, 0), (1, 0)]);
        // Every class with a share has room for a node.
        assert_eq!(chosen(2, 0.0, Some(&[0.1, 0.9])), [(0, 0), (2, 1)]);
    }
}
