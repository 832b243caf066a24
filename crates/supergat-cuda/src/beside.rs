//! Work beside the main stream: dropout masks, which need nothing but random numbers, and gradients of weights and products of
//! shortcuts, which nothing needs for a while.
//!
//! Whatever is launched in the main stream waits for the work beside it. Kernels that may overlap with it name the memory that
//! they write, and wait only if the work beside uses it.

use crate::error::{blas_failed, failed};
use crate::launch::{Cuda, event};
use cudarc::cublas::{CudaBlas, sys as blas};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use supergat_core::Result;

/// cuBLAS in a stream, with memory of its own.
pub(crate) struct Blas {
    pub(crate) handle: CudaBlas,
    /// With memory of its own, cuBLAS always computes in the same order and allocates nothing.
    _workspace: CudaSlice<u8>,
}

/// Bytes of memory for cuBLAS; its manual recommends this size for recent GPUs.
const WORKSPACE: usize = 32 << 20;

impl Blas {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let handle = CudaBlas::new(Arc::clone(stream)).map_err(|e| blas_failed("start cuBLAS", e))?;
        let workspace = stream.alloc_zeros::<u8>(WORKSPACE).map_err(|e| failed("allocate memory for cuBLAS", e))?;
        let pointer = workspace.device_ptr(stream).0;
        // SAFETY: the memory lives as long as the handle.
        unsafe { blas::cublasSetWorkspace_v2(*handle.handle(), pointer as *mut _, WORKSPACE) }
            .result()
            .map_err(|e| blas_failed("give cuBLAS memory", e))?;
        Ok(Self { handle, _workspace: workspace })
    }
}

/// A stream beside the main one.
pub(crate) struct Beside {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) blas: Blas,
    /// Where work beside starts in the main stream.
    start: CudaEvent,
    /// Ends of pieces of work, which take turns.
    ends: Vec<CudaEvent>,
    /// Where the input of the last product was ready.
    ready: CudaEvent,
    state: Mutex<State>,
}

/// Largest number of unfinished pieces of work.
const MOST: usize = 16;

/// A piece of work beside the main stream: the addresses that it reads and writes, and its end.
struct Work {
    used: [u64; 3],
    end: usize,
}

#[derive(Default)]
struct State {
    /// Work that the main stream has not waited for, in its order.
    unfinished: Vec<Work>,
    /// End of the next piece of work.
    next: usize,
    /// Address of the input of the last product; zero if other work than attention followed.
    input: u64,
    /// Addresses of the masks that were drawn in this step.
    masks: Vec<u64>,
}

/// Where work beside the main stream starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// After all work so far.
    Now,
    /// Where the input of the last product was ready.
    AtInput,
    /// After the work beside so far.
    AtOnce,
}

impl Beside {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self> {
        let stream = context.new_stream().map_err(|e| failed("create a stream", e))?;
        let ends = (0..MOST).map(|_| event(context)).collect::<Result<_>>()?;
        let [start, ready] = [event(context)?, event(context)?];
        Ok(Self { blas: Blas::new(&stream)?, stream, start, ends, ready, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cuda {
    /// Returns the main stream, in which most work is done, after it has been told to wait for the work beside it.
    pub(crate) fn stream(&self) -> Result<&Arc<CudaStream>> {
        self.inner.beside.state().input = 0;
        self.wait_for(|_| true)
    }

    /// Returns the main stream for work that may overlap with the work beside it: of what the other uses, it reads and writes
    /// no more than these addresses.
    pub(crate) fn stream_beside(&self, touched: &[u64]) -> Result<&Arc<CudaStream>> {
        self.wait_for(|work| work.used.iter().any(|address| touched.contains(address)))
    }

    /// Lets the main stream wait for the last needed piece of work, and thus for all before it.
    fn wait_for(&self, is_needed: impl Fn(&Work) -> bool) -> Result<&Arc<CudaStream>> {
        let unfinished = &mut self.inner.beside.state().unfinished;
        if let Some(last) = unfinished.iter().rposition(is_needed) {
            let end = &self.inner.beside.ends[unfinished[last].end];
            self.inner.stream.wait(end).map_err(|e| failed("order its work", e))?;
            unfinished.drain(..=last);
        }
        Ok(&self.inner.stream)
    }

    /// Notes that a step starts, or a recording of one. Nothing beside the main stream is unfinished.
    pub(crate) fn start_step(&self) {
        let mut state = self.inner.beside.state();
        (state.input, state.next) = (0, 0);
        state.unfinished.clear();
        state.masks.clear();
    }

    /// Returns where a mask at this address can be drawn: the first one of a step after all work so far, others at once, unless
    /// the mask has been drawn and perhaps used in this step.
    pub(crate) fn start_of_mask(&self, mask: u64) -> Start {
        let masks = &mut self.inner.beside.state().masks;
        let is_used = masks.contains(&mask);
        if !is_used {
            masks.push(mask);
        }
        if is_used || masks.len() == 1 { Start::Now } else { Start::AtOnce }
    }

    /// Notes that the input of a product is ready.
    pub(crate) fn note_input(&self, input: u64) -> Result<()> {
        let Beside { ready, .. } = &self.inner.beside;
        self.inner.beside.state().input = input;
        ready.record(&self.inner.stream).map_err(|e| failed("order its work", e))
    }

    /// Forgets the input of the last product, whose memory is written again.
    pub(crate) fn forget_input(&self) {
        self.inner.beside.state().input = 0;
    }

    /// Returns whether an input is that of the last product.
    pub(crate) fn is_last_input(&self, input: u64) -> bool {
        self.inner.beside.state().input == input
    }

    /// Does work beside the main stream, which reads and writes these addresses.
    pub(crate) fn beside(&self, used: [u64; 3], from: Start, work: impl FnOnce(&Beside) -> Result<()>) -> Result<()> {
        let Beside { stream, start, ends, ready, .. } = &self.inner.beside;
        let fail = |e| failed("order its work", e);
        if self.inner.beside.state().unfinished.len() == MOST {
            self.wait_for(|_| true)?;
        }
        match from {
            Start::Now => {
                start.record(&self.inner.stream).map_err(fail)?;
                stream.wait(start).map_err(fail)?;
            }
            Start::AtInput => stream.wait(ready).map_err(fail)?,
            Start::AtOnce => {}
        }
        work(&self.inner.beside)?;
        let mut state = self.inner.beside.state();
        let end = state.next;
        ends[end].record(stream).map_err(fail)?;
        state.unfinished.push(Work { used, end });
        state.next = (end + 1) % MOST;
        Ok(())
    }
}
