//! Peak rates of this machine, for `scripts/roofline.py`: a copy of memory, multiply-adds on the longest vectors, and random
//! rows of tables of given sizes, on one and on two threads. Prints one JSON object per number of threads.
//!
//!   cargo run --release -p supergat-cpu --example machine -- 19717x256 500x256      tables: rows x bytes of a row

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;
use supergat_core::memory::{Buffer, prefetch};

/// Returns the shortest time of several calls of `work` on all of `threads` threads, in seconds.
fn fastest(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let once = || {
        let started = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let work = &work;
                scope.spawn(move || work(thread));
            }
        });
        started.elapsed().as_secs_f64()
    };
    (0..7).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Returns the bytes read and written per second in a copy of 256 MiB.
fn copy(threads: usize) -> f64 {
    let part = (256 << 20) / threads;
    let from = vec![1u8; part * threads];
    let to: Vec<_> = (0..threads).map(|_| Mutex::new(vec![0u8; part])).collect();
    let seconds = fastest(threads, |thread| {
        to[thread].lock().expect("no thread panics").copy_from_slice(&from[thread * part..][..part]);
    });
    2.0 * (part * threads) as f64 / seconds
}

/// Returns the bytes read per second from random rows of a table, which are prefetched.
fn gather(threads: usize, rows: usize, bytes: usize) -> f64 {
    let width = bytes / size_of::<f32>();
    let reads = (256 << 20) / bytes;
    let table = Buffer::<f32>::zeros(rows * width);
    let order: Vec<u32> =
        (0..reads as u64).map(|k| (k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32 % rows as u32).collect();
    let seconds = fastest(threads, |thread| {
        let part = &order[thread * reads / threads..(thread + 1) * reads / threads];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was detected.
            return unsafe { add_rows_of_sixteen(&table, part, width) };
        }
        add_rows(&table, part, width);
    });
    (reads * bytes) as f64 / seconds
}

/// [`add_rows`] on vectors of sixteen numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn add_rows_of_sixteen(table: &[f32], order: &[u32], width: usize) {
    add_rows(table, order, width);
}

/// Adds the rows of a table in an order. Rows of tables that the second cache may not hold are prefetched.
#[inline(always)]
fn add_rows(table: &[f32], order: &[u32], width: usize) {
    const AHEAD: usize = 12;
    let large = table.len() > 1 << 17;
    let mut sums = [[0.0f32; 8]; 4];
    for (k, row) in order.iter().enumerate() {
        if large {
            let ahead = order[(k + AHEAD).min(order.len() - 1)] as usize;
            prefetch(&table[ahead * width..][..width]);
        }
        let (fours, rest) = table[*row as usize * width..][..width].as_chunks::<8>().0.as_chunks::<4>();
        for four in fours {
            for (sum, part) in sums.iter_mut().zip(four) {
                add(sum, part);
            }
        }
        for part in rest {
            add(&mut sums[0], part);
        }
    }
    black_box(sums);
}

#[inline(always)]
fn add(sum: &mut [f32; 8], part: &[f32; 8]) {
    sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
}

/// Independent sums of multiply-adds, enough to hide their latency.
const CHAINS: usize = 12;

/// Returns the operations per second of multiply-adds, each of which counts as two.
fn multiply_adds(threads: usize) -> f64 {
    const TURNS: usize = 1 << 23;
    let seconds = fastest(threads, |_| sums_of_products(TURNS));
    (threads * TURNS * CHAINS * 16 * 2) as f64 / seconds
}

#[cfg(target_arch = "x86_64")]
fn sums_of_products(turns: usize) {
    use std::arch::x86_64::*;
    macro_rules! sums {
        ($name:ident, $features:literal, $vectors:literal, $set:ident, $multiply_add:ident) => {
            #[target_feature(enable = $features)]
            fn $name(turns: usize) {
                let (a, b) = ($set(black_box(0.999)), $set(black_box(1e-3)));
                let mut sums = [a; CHAINS * $vectors];
                for _ in 0..turns {
                    for sum in &mut sums {
                        *sum = $multiply_add(*sum, a, b);
                    }
                }
                black_box(sums);
            }
        };
    }
    sums!(of_sixteen, "avx512f", 1, _mm512_set1_ps, _mm512_fmadd_ps);
    sums!(of_eight, "avx2,fma", 2, _mm256_set1_ps, _mm256_fmadd_ps);
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was detected.
        unsafe { of_sixteen(turns) }
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features were detected.
        unsafe { of_eight(turns) }
    } else {
        portable(turns);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn sums_of_products(turns: usize) {
    portable(turns);
}

fn portable(turns: usize) {
    let (a, b) = (black_box(0.999f32), black_box(1e-3f32));
    let mut sums = [[a; 16]; CHAINS];
    for _ in 0..turns {
        for sum in sums.as_flattened_mut() {
            *sum = *sum * a + b;
        }
    }
    black_box(sums);
}

fn main() {
    let giga = |value: f64| (value / 1e8).round() / 10.0;
    let tables: Vec<String> = std::env::args().skip(1).collect();
    for threads in [1, 2] {
        let rates = tables.iter().map(|table| {
            let size = table.split_once('x').and_then(|(rows, bytes)| Some((rows.parse().ok()?, bytes.parse().ok()?)));
            let (rows, bytes) = size.unwrap_or_else(|| panic!("{table} is not ROWSxBYTES"));
            (table.clone(), giga(gather(threads, rows, bytes)).into())
        });
        let object = serde_json::json!({
            "threads": threads,
            "copy_gb_s": giga(copy(threads)),
            "multiply_add_gflop_s": giga(multiply_adds(threads)),
            "gather_gb_s": rates.collect::<serde_json::Map<_, _>>(),
        });
        println!("{object}");
    }
}
