//! Recorded sequences of kernels (CUDA graphs). The first run does the work directly, which compiles the kernels
//! and fills the memory of libraries. The second run is recorded, and replayed from then on.
//!
//! A library that loads its kernels in one thread may disturb a recording in another. So one thread at a time runs or
//! records for the first time, and a recording that failed is tried again in the next run.

use crate::error::{device_error, failed};
use crate::launch::{Cuda, FIRST_RUN};
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use std::fmt;
use std::sync::PoisonError;
use supergat_core::Result;

/// A recorded sequence of kernels.
#[derive(Default)]
pub struct Recording {
    state: State,
}

#[derive(Default)]
enum State {
    #[default]
    New,
    /// The sequence was run at least once. The number counts failed recordings.
    Run(u8),
    Recorded(CudaGraph),
}

/// Number of failures after which a sequence is run without a recording.
const MOST_FAILURES: u8 = 5;

// SAFETY: a recording is only used through exclusive references, so by one thread at a time, as graphs require.
unsafe impl Send for Recording {}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::New => "new",
            State::Run(_) => "run",
            State::Recorded(_) => "recorded",
        };
        write!(f, "Recording({state})")
    }
}

/// Runs, records or replays a sequence of kernels.
pub(crate) fn replay(cuda: &Cuda, recording: &mut Recording, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    match &mut recording.state {
        State::New => {
            let _alone = FIRST_RUN.lock().unwrap_or_else(PoisonError::into_inner);
            work()?;
            recording.state = State::Run(0);
            Ok(())
        }
        State::Run(failures) if *failures < MOST_FAILURES => {
            let _alone = FIRST_RUN.lock().unwrap_or_else(PoisonError::into_inner);
            cuda.synchronise()?;
            match record(cuda, work) {
                Ok(graph) => {
                    graph.launch().map_err(|e| failed("replay a recording", e))?;
                    recording.state = State::Recorded(graph);
                    Ok(())
                }
                // Nothing was run while recording.
                Err(_) => {
                    *failures += 1;
                    work()
                }
            }
        }
        State::Run(_) => work(),
        State::Recorded(graph) => graph.launch().map_err(|e| failed("replay a recording", e)),
    }
}

fn record(cuda: &Cuda, work: &mut dyn FnMut() -> Result<()>) -> Result<CudaGraph> {
    let stream = cuda.stream()?;
    cuda.start_step();
    stream
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .map_err(|e| failed("start a recording", e))?;
    let done = work();
    // The recording is ended even if the work failed, so that the stream can be used again.
    let graph = stream.end_capture(CUgraphInstantiate_flags(0));
    cuda.start_step();
    done?;
    let graph = graph.map_err(|e| failed("end a recording", e))?;
    let graph = graph.ok_or_else(|| device_error("the GPU recorded nothing: report this as a bug".into()))?;
    graph.upload().map_err(|e| failed("prepare a recording", e))?;
    Ok(graph)
}
