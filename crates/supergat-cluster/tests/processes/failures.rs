//! Processes that fail, of which the first is never at fault.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;
use supergat_cluster::peers::{Peers, gather};
use supergat_core::Result;

/// Connects, exchanges messages, and lets process 1 do `wrong` while the others wait for it.
fn goes_wrong(wrong: impl Fn(&dyn Peers)) -> Result<()> {
    let peers = supergat_cluster::mpi::connect()?;
    gather(&*peers, &[1u8])?;
    if peers.rank() == 1 {
        wrong(&*peers);
    }
    gather(&*peers, &[1u8])?;
    unreachable!("process 1 does not answer");
}

fn signal_myself(signal: &str) {
    Command::new("kill").args([signal, &std::process::id().to_string()]).status().unwrap();
    sleep(Duration::from_secs(60));
}

pub fn abort() -> Result<()> {
    goes_wrong(|_| supergat_cluster::mpi::abort_with("nodes.csv, line 7: no number", 3))
}

/// The panic is in another thread, while the first waits for messages.
pub fn panic() -> Result<()> {
    goes_wrong(|peers| {
        let panics = || {
            std::thread::spawn(|| {
                sleep(Duration::from_millis(50));
                panic!("out of cheese");
            });
        };
        panics();
        peers.exchange(&[], &mut [(0, &mut [0; 99])], &mut || Ok(())).unwrap();
    })
}

pub fn kill() -> Result<()> {
    goes_wrong(|_| signal_myself("-KILL"))
}

pub fn exit() -> Result<()> {
    goes_wrong(|_| std::process::exit(0))
}

pub fn stop() -> Result<()> {
    goes_wrong(|_| signal_myself("-STOP"))
}

/// The first two pieces have the expected length.
pub fn many_pieces() -> Result<()> {
    let peers = supergat_cluster::mpi::connect()?;
    let mut memory = vec![0; 8 << 20];
    match peers.rank() {
        0 => peers.exchange(&[], &mut [(1, &mut memory)], &mut || Ok(())),
        _ => peers.exchange(&[(0, &vec![1; 9 << 20])], &mut [], &mut || Ok(())),
    }
}

/// Both processes wait for each other for less than a second, but take longer.
pub fn slow() -> Result<()> {
    let peers = supergat_cluster::mpi::connect()?;
    let other = 1 - peers.rank();
    let compute = |seconds| {
        sleep(Duration::from_secs_f64(seconds));
        Ok(())
    };
    if peers.rank() == 0 {
        compute(2.5)?;
    }
    let time = if peers.rank() == 0 { 0.0 } else { 2.5 };
    peers.exchange(&[(other, &[1; 100])], &mut [(other, &mut [0; 100])], &mut || compute(time))?;
    supergat_cluster::mpi::finish()
}

/// A process of MPI, which another launcher counts as one of two.
pub fn lonely() -> Result<()> {
    // SAFETY: the test harness, which has started this thread, does not use the environment any more.
    unsafe { std::env::set_var("OMPI_COMM_WORLD_SIZE", "2") };
    supergat_cluster::mpi::connect()?;
    Ok(())
}
