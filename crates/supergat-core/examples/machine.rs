//! Peak rates of this machine, for the roofline in docs/performance.md: streaming copy, gather of rows, and
//! multiply-adds, on one and on two threads. Prints one JSON object per number of threads.
//!
//!   cargo run --release -p supergat-core --example machine

use std::hint::black_box;
use std::time::Instant;

/// Returns the shortest time of several calls, in seconds.
fn best(mut work: impl FnMut()) -> f64 {
    (0..7)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Returns the shortest time of calling `work` on `threads` threads, in seconds.
fn on_threads(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    best(|| {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let work = &work;
                scope.spawn(move || work(thread));
            }
        });
    })
}

/// Measures the bytes read and written per second when copying 256 MiB.
fn copy(threads: usize) -> f64 {
    let bytes = 256usize << 20;
    let from = vec![1u8; bytes];
    let to: Vec<std::sync::Mutex<Vec<u8>>> =
        (0..threads).map(|_| std::sync::Mutex::new(vec![0u8; bytes / threads])).collect();
    let seconds = on_threads(threads, |thread| {
        let part = bytes / threads;
        to[thread].lock().unwrap().copy_from_slice(&from[thread * part..][..part]);
    });
    2.0 * bytes as f64 / seconds
}

/// Measures the bytes read per second when reading rows of 512 MiB in random order, with prefetching.
fn gather(threads: usize, row_bytes: usize) -> f64 {
    let width = row_bytes / 4;
    let rows = (512usize << 20) / row_bytes;
    // In large pages, like the buffers of the kernels.
    let mut table = supergat_core::kernels::defaults::<f32>(rows * width);
    table.fill(1.0);
    let reads = 1 << 20;
    let place = |k: usize| (k as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> 20;
    let seconds = on_threads(threads, |thread| {
        let mut sums = [0.0f32; 16];
        for k in (thread..reads).step_by(threads) {
            prefetch(&table[place(k + 8 * threads) % rows * width..][..width]);
            for chunk in table[place(k) % rows * width..][..width].chunks_exact(16) {
                sums.iter_mut().zip(chunk).for_each(|(s, v)| *s += v);
            }
        }
        black_box(sums);
    });
    (reads * row_bytes) as f64 / seconds
}

fn prefetch(row: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(16) {
        // SAFETY: prefetching has no visible effect; SSE is part of x86-64.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    black_box(row);
}

/// Measures the floating-point operations per second of multiply-adds on vectors of eight; each counts as
/// two.
fn multiply_add(threads: usize) -> f64 {
    const TURNS: usize = 1 << 24;
    let seconds = on_threads(threads, |_| {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were detected.
            return unsafe { multiply_adds_avx2(TURNS) };
        }
        multiply_adds(TURNS);
    });
    (threads * TURNS * CHAINS * 8 * 2) as f64 / seconds
}

/// Number of independent sums, enough to hide the latency of each addition.
const CHAINS: usize = 10;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_adds_avx2(turns: usize) {
    use std::arch::x86_64::*;
    let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(1e-3)));
    let mut sums = [_mm256_setzero_ps(); CHAINS];
    for _ in 0..turns {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, a, b);
        }
    }
    black_box(sums);
}

fn multiply_adds(turns: usize) {
    let (a, b) = (black_box(0.999f32), black_box(1e-3f32));
    let mut sums = [[0.0f32; 8]; CHAINS];
    for _ in 0..turns {
        for sum in sums.iter_mut().flatten() {
            *sum = *sum * a + b;
        }
    }
    black_box(sums);
}

fn main() {
    let giga = |value: f64| (value / 1e8).round() / 10.0;
    for threads in [1, 2] {
        let object = serde_json::json!({
            "threads": threads,
            "copy_gb_s": giga(copy(threads)),
            "gather_256_gb_s": giga(gather(threads, 256)),
            "gather_512_gb_s": giga(gather(threads, 512)),
            "multiply_add_gflop_s": giga(multiply_add(threads)),
        });
        println!("{object}");
    }
}
