//! Simple work on long lists of numbers.

use crate::kernels::simd::SimdReal;
use rayon::prelude::*;

/// Numbers that a thread processes at a time.
const PIECE: usize = 1 << 15;

/// Computes `sum += list`.
pub fn add_list<T: SimdReal>(sum: &mut [T], list: &[T]) {
    sum.par_chunks_mut(PIECE).zip(list.par_chunks(PIECE)).for_each(|(sum, list)| {
        sum.iter_mut().zip(list).for_each(|(sum, number)| *sum += *number);
    });
}

/// Writes zeros.
pub fn clear_list<T: SimdReal>(list: &mut [T]) {
    list.par_chunks_mut(PIECE).for_each(|list| list.fill(T::ZERO));
}

/// Writes whether each row of `width` numbers is not all zero.
pub fn mark_active<T: SimdReal>(rows: &[T], width: usize, active: &mut [bool]) {
    let threads = (PIECE / width.max(1)).max(1);
    active.par_iter_mut().zip(rows.par_chunks(width.max(1))).with_min_len(threads).for_each(|(active, row)| {
        *active = row.iter().any(|number| *number != T::ZERO);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length() {
        let mut sum: Vec<f32> = (0..70_000).map(|k| k as f32).collect();
        add_list(&mut sum.clone()[..0], &[]);
        let list = sum.clone();
        add_list(&mut sum, &list);
        assert!(sum.iter().enumerate().all(|(k, x)| *x == 2.0 * k as f32));
        let mut active = vec![false; 35_000];
        mark_active(&sum, 2, &mut active);
        assert!(active.iter().all(|active| *active), "the first row is 0 and 2");
        clear_list(&mut sum[2..8]);
        mark_active(&sum, 2, &mut active);
        assert_eq!(active[..5], [true, false, false, false, true]);
    }
}
