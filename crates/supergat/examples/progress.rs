//! Reports progress every 20 epochs and stops when the time is over.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use supergat::{Classifier, Observation};

fn main() -> supergat::Result<()> {
    let dataset = supergat::load("random-partition:classes=4,nodes=200,degree=10,homophily=0.8")?;
    let started = Instant::now();
    let training = Classifier::builder()
        .model("supergat-mx")
        .observe(|event| {
            match event {
                Observation::Epoch(seed, epoch) if epoch.epoch % 20 == 0 => {
                    let (loss, accuracy) = (epoch.train.total, 100.0 * epoch.validation.metric);
                    println!("seed {seed}, epoch {}: loss {loss:.3}, validation {accuracy:.1} %", epoch.epoch);
                }
                Observation::Done(run, ..) => println!("seed {} took {:.1} s", run.seed, run.seconds),
                _ => {}
            }
            if started.elapsed() < Duration::from_secs(10) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .train(&dataset)?;
    println!("test {:.1} %{}", training.test().mean, if training.interrupted { ", interrupted" } else { "" });
    Ok(())
}
