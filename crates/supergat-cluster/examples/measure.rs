//! Measures the connection between processes and prints one JSON object.
//!
//! ```sh
//! mpirun -n 2 target/release/examples/measure            # messages of up to 200 MB, 200 ms of work
//! mpirun -n 2 target/release/examples/measure 20 100     # messages of up to 20 MB, 100 ms of work
//! ```
//!
//! - `pair`: processes 0 and 1, 2 and 3 and so on exchange messages of the same length in both directions at once.
//! - `all`: every process sends a message to every other process.
//! - `sum`: `TreeSum` of lists of numbers (`f32`).
//! - `overlap`: a pair exchanges messages of the largest length while it computes. `hidden` is the part of the shorter
//!   of the two times that is saved: 1 is perfect.
//!
//! Times are those of the slowest process, and medians over batches of repetitions.

use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;
use supergat_cluster::peers::{Incoming, Outgoing, Peers, TreeSum, gather};
use supergat_core::Result;

/// Lengths of messages in bytes.
const LENGTHS: [usize; 6] = [8, 1024, 4 << 10, 64 << 10, 1 << 20, 16 << 20];
/// Time in seconds that a measurement takes, unless a repetition takes longer.
const BUDGET: f64 = 0.5;
/// Number of batches of a measurement.
const BATCHES: u32 = 7;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<f64>());
    let mut number = |default| numbers.next().unwrap_or(Ok(default));
    let (Ok(megabytes), Ok(milliseconds)) = (number(200.0), number(200.0)) else {
        eprintln!("usage: measure [MEGABYTES [MILLISECONDS]]");
        std::process::exit(2);
    };
    if let Err(error) = measure((megabytes * 1e6) as usize, milliseconds / 1e3) {
        supergat_cluster::mpi::abort_with(&error.to_string(), 1);
    }
}

fn measure(largest: usize, work_seconds: f64) -> Result<()> {
    let peers = supergat_cluster::mpi::connect()?;
    let peers = &*peers;
    let (rank, count) = (peers.rank(), peers.count());
    if count < 2 {
        eprintln!("measure needs several processes: mpirun -n 2 measure");
        std::process::exit(2);
    }
    let partner = (rank ^ 1 < count).then_some(rank ^ 1);
    let others: Vec<usize> = (0..count).filter(|peer| *peer != rank).collect();
    let lengths = || LENGTHS.into_iter().filter(|length| *length < largest);
    let bandwidth = |bytes: usize, seconds: f64| bytes as f64 / seconds / 1e9;

    let mut pair = Vec::new();
    for length in lengths().chain([largest]) {
        let seconds = exchanges(peers, partner.as_slice(), length)?;
        pair.push(json!({"bytes": length, "us": seconds * 1e6, "gb_per_s_each_way": bandwidth(length, seconds)}));
    }
    let mut all = Vec::new();
    for length in lengths() {
        let seconds = exchanges(peers, &others, length)?;
        let sent = length * others.len();
        all.push(json!({"bytes": length, "us": seconds * 1e6, "gb_per_s_out_of_a_process": bandwidth(sent, seconds)}));
    }
    let mut sum = Vec::new();
    for length in [1, 1000, 100_000] {
        let (mut own, mut total) = (vec![1f32; length], vec![0f32; length]);
        let tree = TreeSum::new(peers, |process| process..process + 1);
        let seconds = slowest(peers, || tree.add(peers, &mut own, &mut total))?;
        sum.push(json!({"numbers": length, "us": seconds * 1e6}));
    }
    let overlap = overlap(peers, partner.as_slice(), largest, work_seconds)?;
    if rank == 0 {
        println!("{}", json!({"processes": count, "pair": pair, "all": all, "sum": sum, "overlap": overlap}));
    }
    supergat_cluster::mpi::finish()
}

/// Returns the seconds of an exchange of messages of a length with some processes.
fn exchanges(peers: &dyn Peers, partners: &[usize], length: usize) -> Result<f64> {
    let mut buffers = Buffers::new(partners, length);
    slowest(peers, || buffers.exchange(peers, &mut || Ok(())))
}

/// Messages to and from some processes.
struct Buffers {
    sent: Vec<u8>,
    received: Vec<(usize, Vec<u8>)>,
}

impl Buffers {
    fn new(partners: &[usize], length: usize) -> Self {
        Self { sent: vec![7; length], received: partners.iter().map(|peer| (*peer, vec![1; length])).collect() }
    }

    fn exchange(&mut self, peers: &dyn Peers, meanwhile: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let outgoing: Vec<Outgoing<'_>> = self.received.iter().map(|(peer, _)| (*peer, &*self.sent)).collect();
        let mut incoming: Vec<Incoming<'_>> =
            self.received.iter_mut().map(|(peer, bytes)| (*peer, &mut **bytes)).collect();
        peers.exchange(&outgoing, &mut incoming, meanwhile)
    }
}

/// Returns the seconds that `work` takes in the slowest process: the median over some batches of repetitions.
fn slowest(peers: &dyn Peers, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut timed = |repetitions: u32| -> Result<f64> {
        gather(peers, &[0u8])?;
        let start = Instant::now();
        (0..repetitions).try_for_each(|_| work())?;
        let seconds = gather(peers, &[start.elapsed().as_secs_f64()])?;
        Ok(seconds.into_iter().flatten().fold(0.0, f64::max) / f64::from(repetitions))
    };
    timed(2)?;
    let repetitions = (BUDGET / f64::from(BATCHES) / timed(1)?).clamp(1.0, 1e4) as u32;
    let mut batches = (0..BATCHES).map(|_| timed(repetitions)).collect::<Result<Vec<f64>>>()?;
    batches.sort_unstable_by(f64::total_cmp);
    Ok(batches[batches.len() / 2])
}

fn overlap(peers: &dyn Peers, partners: &[usize], length: usize, seconds: f64) -> Result<Value> {
    let per_round = {
        let start = Instant::now();
        compute(1000);
        start.elapsed().as_secs_f64() / 1000.0
    };
    // All processes compute the same amount.
    let own_rounds = (seconds / per_round) as u64;
    let rounds = gather(peers, &[own_rounds])?.into_iter().flatten().min().unwrap_or(own_rounds);
    let work = &mut || {
        compute(rounds);
        Ok(())
    };
    let mut buffers = Buffers::new(partners, length);
    let transfer = slowest(peers, || buffers.exchange(peers, &mut || Ok(())))?;
    let compute = slowest(peers, &mut *work)?;
    let both = slowest(peers, || buffers.exchange(peers, work))?;
    let hidden = (transfer + compute - both) / transfer.min(compute);
    Ok(
        json!({"bytes": length, "transfer_ms": transfer * 1e3, "compute_ms": compute * 1e3, "both_ms": both * 1e3, "hidden": hidden}),
    )
}

/// Computes in registers.
fn compute(rounds: u64) {
    let mut x = [1.0f64; 8];
    for _ in 0..rounds * 1000 {
        x.iter_mut().for_each(|x| *x = *x * 1.000_000_1 + 1e-9);
    }
    black_box(x);
}
