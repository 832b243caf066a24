//! Top-k softmax: selects the edges of each node and head with the k largest scores.

use super::attention::{Attention, SCORE, leaky};
use super::parts::{EdgeRows, Parts};
use super::simd::{Arithmetic, Isa, Kernel, Lanes, V, dispatch, vectors};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::heads::{LANES, MOST_CHOSEN};

/// Marks for every node and head the `k` incoming edges with the largest scores `LeakyReLU(a_target . z_i +
/// a_source . z_j)`, or all edges if there are at most `k`. Among equal scores the earlier edge is preferred.
/// `chosen` has a byte per edge and group of heads.
pub fn choose_top_k<T: SimdReal>(parts: &Parts, input: Attention<'_, T>, state: &[T], k: usize, chosen: &mut [u8]) {
    assert!((1..=MOST_CHOSEN).contains(&k), "between 1 and {MOST_CHOSEN} edges");
    let outputs = EdgeRows { data: chosen, offsets: input.incoming.offsets, width: input.layout.groups };
    parts.for_each(outputs, |nodes, chosen| dispatch(TopK { input, state, nodes, k, chosen: chosen.data }));
}

struct TopK<'a, T> {
    input: Attention<'a, T>,
    state: &'a [T],
    nodes: Range<usize>,
    k: usize,
    chosen: &'a mut [u8],
}

impl<T: SimdReal> Kernel for TopK<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Attention { layout, incoming, .. } = self.input;
        let (groups, k) = (layout.groups, self.k);
        let (state, source_score) = (vectors(self.state), vectors(self.input.source_score));
        let slope = V::<T, I>::splat(self.input.slope);
        let mut largest = [[T::ZERO; LANES]; MOST_CHOSEN];
        let mut chosen = self.chosen;
        for i in self.nodes {
            let sources = &incoming.nodes[incoming.range(i)];
            let (own, rest) = chosen.split_at_mut(sources.len() * groups);
            chosen = rest;
            if sources.len() <= k {
                own.fill(0xFF);
                continue;
            }
            for g in 0..groups {
                let target = V::<T, I>::load(&state[(i * STATE + SCORE) * groups + g]);
                let score = |j: u32| leaky(target.add(V::<T, I>::load(&source_score[j as usize * groups + g])), slope);
                let largest = &mut largest[..k];
                largest.fill([T::NEG_INFINITY; LANES]);
                for &j in sources {
                    insert::<T, I>(largest, score(j));
                }
                // Several edges may have the k-th largest score; `equal` counts how many of them are chosen.
                let last = largest[k - 1];
                let mut equal: [usize; LANES] =
                    std::array::from_fn(|l| largest.iter().filter(|score| score[l] == last[l]).count());
                for (&j, byte) in sources.iter().zip(own[g..].iter_mut().step_by(groups)) {
                    *byte = 0;
                    for (l, score) in score(j).array().into_iter().enumerate() {
                        let is_equal = score == last[l] && equal[l] > 0;
                        equal[l] -= usize::from(is_equal);
                        *byte |= u8::from(is_equal || score > last[l]) << l;
                    }
                }
            }
        }
    }
}

/// Inserts a number per lane into lists in descending order, and drops the last number of each list.
#[inline(always)]
fn insert<T: SimdReal, I: Isa>(list: &mut [[T; LANES]], mut value: V<T, I>) {
    for slot in list {
        let here = V::<T, I>::load(slot);
        let gap = value.sub(here);
        *slot = gap.if_positive(value, here).array();
        value = gap.if_positive(here, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Others;
    use supergat_core::graph::Neighbours;
    use supergat_core::{Form, HeadLayout};

    /// Three heads in four lanes, which are repeated. Node 0 has edges from all five nodes, node 1 from two
    /// of them.
    #[test]
    fn chooses_largest_scores_and_earlier_edges_of_equal_scores() {
        let layout = HeadLayout::new(3, 1);
        let by_head = [[5.0, 1.0, 4.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0], [-1.0, -2.0, 7.0, 7.0, 7.0]];
        let source_score: Vec<f64> =
            (0..5).flat_map(|j| (0..LANES).map(move |l| by_head.get(l % 4).map_or(0.0, |head| head[j]))).collect();
        let state = vec![0.5; 5 * STATE * LANES];
        let (offsets, nodes) = ([0, 5, 7, 7, 7, 7], [0, 1, 2, 3, 4, 1, 3]);
        let input = Attention {
            form: Form::Go,
            layout,
            slope: 0.2,
            z: &[],
            half: None,
            source_score: &source_score,
            vectors: &[],
            others: Others { z: &[], source_score: &source_score },
            incoming: Neighbours::new(&offsets, &nodes),
            keep: None,
            chosen: None,
            edges: None,
        };
        let mut chosen = [0; 7];
        choose_top_k(&Parts::by_offsets(&offsets), input, &state, 2, &mut chosen);
        let of_head = |h: usize| (0..5).filter(|&e| chosen[e] >> h & 1 == 1).collect::<Vec<_>>();
        assert_eq!([of_head(0), of_head(1), of_head(2)], [[0, 2], [0, 1], [2, 3]]);
        assert!(chosen[..5].iter().all(|byte| byte & 0xF == byte >> 4));
        assert_eq!(chosen[5..], [0xFF; 2]);
    }
}
