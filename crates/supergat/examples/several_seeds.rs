//! Trains with ten seeds and prints the mean test accuracy with its 95 % interval.

use supergat::Classifier;

fn main() -> supergat::Result<()> {
    let dataset = supergat::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.7")?;
    let training = Classifier::builder().model("supergat-sd").max_epochs(50).seeds(0..10).train(&dataset)?;
    let test = training.test();
    match test.interval() {
        Ok(interval) => println!("{:.1} % ({:.1} to {:.1})", test.mean, interval.low, interval.high),
        Err(reason) => println!("{:.1} % (no interval: {reason})", test.mean),
    }
    Ok(())
}
