//! Implementation of `supergat train`.

mod alone;
mod progress;
mod results;
mod resume;
mod start;
mod together;

use crate::args::TrainArgs;
use crate::config::Choices;
use crate::error::Result;
use crate::process::processes::{self, Mode};
use crate::process::threads;
use resume::Resumed;
use std::process::ExitCode;
use std::sync::Arc;
use supergat_cluster::peers::Peers;

/// Trains a model and writes the run folder. Of several processes, the first one decides how they train.
pub fn run(mut args: TrainArgs, peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let is_first = peers.rank() == 0;
    if !is_first && Mode::receive(&*peers)? == Mode::Runs {
        return processes::help(peers);
    }
    let (resumed, saved) = Resumed::open(&mut args, is_first)?.unzip();
    let options = std::mem::take(&mut args.options.0);
    let choices = Choices::new(options, args.config.as_deref())?;
    if !is_first || peers.count() > 1 && is_divided(&args, &choices, &peers)? {
        return together::run(args, choices, resumed, saved, peers);
    }
    alone::run(&args, &choices, resumed.as_ref(), saved, peers.count())
}

/// Decides how several processes train, and sends it to the others. Returns whether they train one network together; they
/// otherwise wait for runs of this process.
fn is_divided(args: &TrainArgs, choices: &Choices, peers: &Arc<dyn Peers>) -> Result<bool> {
    // Opening a file uses the thread pool.
    threads(args.sweep.threads)?;
    let mode = Mode::of(choices.dataset());
    mode.send(&**peers)?;
    if mode == Mode::Runs {
        processes::share_runs(Arc::clone(peers));
    }
    Ok(mode == Mode::Together)
}
