//! A GPU with its stream of work, its libraries and its compiled kernels, and the launch of kernels.

use crate::beside::{Beside, Blas};
use crate::compile::{self, Source};
use crate::error::{blas_failed, device_error, failed};
use crate::library;
use crate::memory::address;
use cudarc::cublas::sys as blas;
use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, LaunchConfig, sys};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use supergat_core::Result;

/// An NVIDIA GPU that runs layers.
///
/// Clones share a stream of work, which must be used by one thread at a time. Trainings that run at once need a
/// `Cuda` each.
///
/// ```no_run
/// use supergat_cuda::{Cuda, devices};
/// for (index, device) in devices()?.iter().enumerate() {
///     println!("{index}: {} with {} bytes of memory", device.name, device.total_memory);
/// }
/// let cuda = Cuda::new(0)?;
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Cuda {
    pub(crate) inner: Arc<Inner>,
}

/// State that all clones of a [`Cuda`] share.
pub(crate) struct Inner {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    side_stream: Arc<CudaStream>,
    pub(crate) beside: Beside,
    pub(crate) blas: Blas,
    architecture: String,
    multiprocessors: usize,
    /// Largest shared memory of a block, in bytes.
    shared_memory: usize,
    /// Free memory in bytes when the GPU was opened.
    pub(crate) free_at_start: usize,
    /// Major number of the compute capability.
    generation: i32,
    /// Whether products round their inputs.
    rounds_products: AtomicBool,
    modules: Mutex<HashMap<String, Arc<CudaModule>>>,
    functions: Mutex<HashMap<String, CudaFunction>>,
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cuda({}, {})", self.inner.context.ordinal(), self.inner.architecture)
    }
}

/// Name, memory and versions of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Name of the product.
    pub name: String,
    /// Memory in bytes.
    pub total_memory: u64,
    /// Memory in bytes that no program uses.
    pub free_memory: u64,
    /// Compute capability: major and minor number.
    pub compute_capability: (i32, i32),
    /// Version of CUDA that the driver supports: major and minor number.
    pub driver: (i32, i32),
}

/// Lists the GPUs.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    let driver = library::driver()?;
    (0..library::count()?)
        .map(|index| {
            let context = CudaContext::new(index).map_err(|e| failed("open the GPU", e))?;
            let (free, total) = context.mem_get_info().map_err(|e| failed("ask the GPU for its memory", e))?;
            Ok(DeviceInfo {
                name: context.name().map_err(|e| failed("ask the GPU for its name", e))?,
                total_memory: total as u64,
                free_memory: free as u64,
                compute_capability: context
                    .compute_capability()
                    .map_err(|e| failed("ask the GPU for its compute capability", e))?,
                driver,
            })
        })
        .collect()
}

/// Major numbers of the compute capabilities of generations of GPUs.
const AMPERE: i32 = 8;
const HOPPER: i32 = 9;

/// Held by the thread that runs or records a sequence for the first time.
pub(crate) static FIRST_RUN: Mutex<()> = Mutex::new(());

impl Cuda {
    /// Opens a GPU.
    pub fn new(index: usize) -> Result<Self> {
        let driver = library::driver()?;
        let count = library::count()?;
        if index >= count {
            let last = count.saturating_sub(1);
            return Err(device_error(format!("there is no GPU {index}: this machine has GPUs 0 to {last}")));
        }
        let _alone = FIRST_RUN.lock().unwrap_or_else(PoisonError::into_inner);
        library::compiler()?;
        library::compatible(driver)?;
        library::blas()?;
        let context = CudaContext::new(index).map_err(|e| failed("open the GPU", e))?;
        let (free_at_start, _) = context.mem_get_info().map_err(|e| failed("ask the GPU for its memory", e))?;
        // SAFETY: all memory of this context is used by its one stream only.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(|e| failed("create a stream", e))?;
        let side_stream = context.new_stream().map_err(|e| failed("create a stream", e))?;
        let (major, minor) =
            context.compute_capability().map_err(|e| failed("ask the GPU for its compute capability", e))?;
        let multiprocessors = context
            .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(|e| failed("ask the GPU for its multiprocessors", e))?;
        let shared_memory = context
            .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .map_err(|e| failed("ask the GPU for its shared memory", e))?;
        let cuda = Self {
            inner: Arc::new(Inner {
                blas: Blas::new(&stream)?,
                beside: Beside::new(&context)?,
                context,
                stream,
                side_stream,
                architecture: format!("sm_{major}{minor}"),
                multiprocessors: multiprocessors.max(1) as usize,
                shared_memory: shared_memory.max(0) as usize,
                free_at_start,
                generation: major,
                rounds_products: AtomicBool::default(),
                modules: Mutex::default(),
                functions: Mutex::default(),
            }),
        };
        cuda.set_tf32(false)?;
        Ok(cuda)
    }

    /// Allows products of dense matrices to round their inputs to 10 bits (TF32), which is several times faster.
    /// By default they are computed in full single precision.
    pub fn set_tf32(&self, allowed: bool) -> Result<()> {
        self.inner.rounds_products.store(allowed, Ordering::Relaxed);
        let mode = if allowed {
            blas::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH
        } else {
            blas::cublasMath_t::CUBLAS_DEFAULT_MATH
        };
        for blas in [&self.inner.blas, &self.inner.beside.blas] {
            // SAFETY: the handle is valid.
            unsafe { blas::cublasSetMathMode(*blas.handle.handle(), mode) }
                .result()
                .map_err(|e| blas_failed("set the precision of cuBLAS", e))?;
        }
        Ok(())
    }

    /// Returns whether products of dense matrices round their inputs.
    pub(crate) fn rounds_products(&self) -> bool {
        self.inner.rounds_products.load(Ordering::Relaxed)
    }

    /// Returns whether tensor cores multiply numbers of 11 bits, and copies to shared memory run in the background.
    pub(crate) fn has_tensor_cores(&self) -> bool {
        self.inner.generation >= AMPERE
    }

    /// Returns the number of multiprocessors.
    pub(crate) fn multiprocessors(&self) -> usize {
        self.inner.multiprocessors
    }

    /// Returns the largest shared memory of a block, in bytes.
    pub(crate) fn shared_memory(&self) -> usize {
        self.inner.shared_memory
    }

    /// Returns the launch of threads for a number of places, of which a thread may have several.
    pub(crate) fn places(&self, count: usize) -> LaunchConfig {
        grid(count.div_ceil(256).min(32 * self.multiprocessors()), 256)
    }

    /// Returns the stream of work that may run beside the other.
    pub(crate) fn side_stream(&self) -> &Arc<CudaStream> {
        &self.inner.side_stream
    }

    /// Creates an event, which orders the work of two streams.
    pub(crate) fn event(&self) -> Result<CudaEvent> {
        event(&self.inner.context)
    }

    /// Compiles `source` with these definitions, once, and returns one of its functions.
    pub(crate) fn function(
        &self,
        source: &'static Source,
        defines: &[(&str, i64)],
        name: &str,
    ) -> Result<CudaFunction> {
        use std::fmt::Write;
        let mut key = String::from(source.name);
        for (name, value) in defines {
            let _ = write!(key, " {name}={value}");
        }
        let module_key = key.len();
        let _ = write!(key, " {name}");
        let mut functions = self.inner.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(&key) {
            return Ok(function.clone());
        }
        let mut modules = self.inner.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match modules.get(&key[..module_key]) {
            Some(module) => Arc::clone(module),
            None => {
                let code = compile::compile(source, defines, &self.inner.architecture)?;
                let module = self
                    .inner
                    .context
                    .load_module(cudarc::nvrtc::Ptx::from_binary(code))
                    .map_err(|e| failed("load compiled kernels", e))?;
                modules.insert(key[..module_key].to_owned(), Arc::clone(&module));
                module
            }
        };
        let function = module.load_function(name).map_err(|e| failed("find a compiled kernel", e))?;
        if self.shared_memory() >= MOST_SHARED {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(most, DYNAMIC_SHARED).map_err(|e| failed("use its shared memory", e))?;
        }
        functions.insert(key, function.clone());
        Ok(function)
    }

    /// Waits for all work.
    pub(crate) fn synchronise(&self) -> Result<()> {
        self.stream()?.synchronize().map_err(|e| failed("compute", e))
    }
}

/// Creates an event, which orders the work of two streams.
pub(crate) fn event(context: &Arc<CudaContext>) -> Result<CudaEvent> {
    let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
    context.new_event(Some(flags)).map_err(|e| failed("create an event", e))
}

/// Largest shared memory that launches ask for beside that which kernels declare, in bytes, and all of a block that has it.
const DYNAMIC_SHARED: i32 = 61_440;
pub(crate) const MOST_SHARED: usize = 110_592;

/// Returns the launch of `blocks` blocks of `threads` threads.
pub(crate) fn grid(blocks: usize, threads: u32) -> LaunchConfig {
    // The largest number of blocks along the first axis.
    let blocks = u32::try_from(blocks.clamp(1, (1 << 31) - 1)).unwrap_or(1);
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// Something that a kernel takes.
///
/// # Safety
///
/// What is pushed has the size and the layout of the kernel's parameter.
pub(crate) unsafe trait Argument {
    /// Appends the argument to those of a launch.
    fn push(&self, to: &mut Arguments);
}

/// Arguments of a launch: copies in whole words, and the word that each starts at.
#[derive(Default)]
pub(crate) struct Arguments {
    words: Vec<u64>,
    starts: Vec<usize>,
}

impl Arguments {
    /// Appends an argument.
    pub(crate) fn push(&mut self, argument: &impl Argument) {
        argument.push(self);
    }

    /// Appends a copy of a number, or of a struct of numbers.
    pub(crate) fn push_copy<T: Copy>(&mut self, value: &T) {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        let start = self.words.len();
        self.starts.push(start);
        self.words.resize(start + size_of::<T>().div_ceil(size_of::<u64>()), 0);
        // SAFETY: the words behind the start have room for the value, and enough alignment.
        unsafe { self.words.as_mut_ptr().add(start).cast::<T>().write(*value) };
    }
}

/// Lets kernels take copies of these types, which have the layout of their parameters.
macro_rules! copied_arguments {
    ($($type:ty),*) => {
        $(
            // SAFETY: numbers, or structs of numbers in the order of the kernel's struct.
            unsafe impl $crate::launch::Argument for $type {
                fn push(&self, to: &mut $crate::launch::Arguments) {
                    to.push_copy(self);
                }
            }
        )*
    };
}
pub(crate) use copied_arguments;
copied_arguments!(u32, u64, f32, f64, [u32; 2]);

// SAFETY: kernels take the address of memory.
unsafe impl<T> Argument for CudaSlice<T> {
    fn push(&self, to: &mut Arguments) {
        to.push_copy(&address(self));
    }
}

/// How the blocks of a kernel start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starts {
    /// Perhaps while the kernel before ends.
    Early,
    /// All at once, or not at all, so that blocks can wait for one another.
    Together,
}

impl Cuda {
    /// Starts a kernel.
    ///
    /// # Safety
    ///
    /// The arguments are those that the kernel declares, with memory of the lengths that it reads and writes.
    pub(crate) unsafe fn start(
        &self,
        stream: &CudaStream,
        function: &CudaFunction,
        config: LaunchConfig,
        starts: Starts,
        arguments: &mut Arguments,
    ) -> Result<()> {
        let fail = |e| failed("run a kernel", e);
        self.inner.context.bind_to_thread().map_err(fail)?;
        let Arguments { words, starts: places } = arguments;
        let mut pointers: Vec<*mut c_void> = places.iter().map(|&k| (&raw mut words[k]).cast()).collect();
        let (id, value) = match starts {
            Starts::Early => (
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            ),
            Starts::Together => (
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                sys::CUlaunchAttributeValue { cooperative: 1 },
            ),
        };
        let mut attribute = sys::CUlaunchAttribute { id, pad: [0; 4], value };
        let takes_attribute = starts == Starts::Together || self.inner.generation >= HOPPER;
        let config = sys::CUlaunchConfig {
            gridDimX: config.grid_dim.0,
            gridDimY: config.grid_dim.1,
            gridDimZ: config.grid_dim.2,
            blockDimX: config.block_dim.0,
            blockDimY: config.block_dim.1,
            blockDimZ: config.block_dim.2,
            sharedMemBytes: config.shared_mem_bytes,
            hStream: stream.cu_stream(),
            attrs: &raw mut attribute,
            numAttrs: takes_attribute.into(),
        };
        // SAFETY: the caller answers for the arguments; attribute and pointers live until the call returns.
        unsafe { sys::cuLaunchKernelEx(&raw const config, function.cu_function(), pointers.as_mut_ptr(), null_mut()) }
            .result()
            .map_err(fail)
    }
}

/// Launches a kernel: `launch!(cuda, SOURCE, [defines], "name", configuration, arguments...)`. Arguments are
/// references to numbers or to memory. After a semicolon there may be an optional last argument.
macro_rules! launch {
    ($cuda:expr, $source:expr, $defines:expr, $name:expr, $config:expr, $($arguments:tt)*) => {
        $crate::launch::launch_in!($cuda, $cuda.stream()?, $source, $defines, $name, $config, $($arguments)*)
    };
}
pub(crate) use launch;

/// Launches a kernel in the main stream, beside other work; see [`launch!`].
macro_rules! launch_in {
    ($cuda:expr, $stream:expr, $source:expr, $defines:expr, $name:expr, $config:expr, $($arguments:tt)*) => {
        $crate::launch::launch_as!(Early, $cuda, $stream, $source, $defines, $name, $config, $($arguments)*)
    };
}
pub(crate) use launch_in;

/// Launches a kernel whose blocks wait for one another, in any stream; see [`launch!`].
macro_rules! launch_cooperative {
    ($cuda:expr, $stream:expr, $source:expr, $defines:expr, $name:expr, $config:expr, $($arguments:tt)*) => {
        $crate::launch::launch_as!(Together, $cuda, $stream, $source, $defines, $name, $config, $($arguments)*)
    };
}
pub(crate) use launch_cooperative;

/// Launches a kernel whose blocks start in one of two ways; see [`launch!`].
macro_rules! launch_as {
    (
        $starts:ident, $cuda:expr, $stream:expr, $source:expr, $defines:expr, $name:expr, $config:expr,
        $($argument:expr),* $(,)? $(; $last:expr)?
    ) => {{
        let function = $cuda.function($source, $defines, $name)?;
        let mut arguments = $crate::launch::Arguments::default();
        $(arguments.push($argument);)*
        $(
            if let Some(last) = $last {
                arguments.push(last);
            }
        )?
        // SAFETY: the callers pass the arguments that the kernel declares, with buffers of the lengths that it
        // reads and writes.
        unsafe { $cuda.start($stream, &function, $config, $crate::launch::Starts::$starts, &mut arguments) }
    }};
}
pub(crate) use launch_as;

/// Largest number of trainings that share a GPU, each with its own [`Cuda`].
pub const SIDE_BY_SIDE: usize = 8;
/// Largest number of nodes of a graph whose trainings share a GPU: larger ones keep it busy alone.
pub const SMALL_GRAPH: usize = 100_000;
