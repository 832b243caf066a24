//! Calls of MPI. Only the communication thread makes them; errors are sentences.

use mpi_sys::*;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// Result with a sentence as error.
pub type Result<T> = std::result::Result<T, String>;

/// Messages are divided into pieces of this length. Pieces that arrive show that a long message makes progress, and
/// the length of a piece fits into an `i32`, as MPI demands.
const PIECE: usize = 4 << 20;
/// Largest tag that every MPI library permits.
const LARGEST_TAG: usize = 32767;

/// MPI after its initialisation, on the thread that initialised it: no other thread may call it.
#[derive(Debug)]
pub struct Mpi {
    /// Number of this process.
    pub rank: usize,
    /// Number of processes.
    pub count: usize,
    /// Makes the type neither `Send` nor `Sync`.
    thread: PhantomData<*const ()>,
}

impl Mpi {
    /// Initialises MPI. Its errors are returned from now on, instead of ending the job.
    pub fn start() -> Result<Self> {
        let (mut started, mut level, mut rank, mut count) = (0, 0, 0, 0);
        // SAFETY: this function may be called at any time.
        check("MPI_Initialized", unsafe { MPI_Initialized(&mut started) })?;
        if started != 0 {
            return Err("another library of this process has started MPI already".into());
        }
        // SAFETY: MPI is not initialised. Null pointers stand for no arguments.
        check("MPI_Init_thread", unsafe {
            MPI_Init_thread(null_mut(), null_mut(), RSMPI_THREAD_FUNNELED, &mut level)
        })?;
        // SAFETY: a constant of the library.
        if level < unsafe { RSMPI_THREAD_FUNNELED } {
            return Err("this MPI library does not support threads (MPI_THREAD_FUNNELED)".into());
        }
        // SAFETY: MPI is initialised, and this is its thread.
        unsafe {
            check("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN))?;
            check("MPI_Comm_rank", MPI_Comm_rank(RSMPI_COMM_WORLD, &mut rank))?;
            check("MPI_Comm_size", MPI_Comm_size(RSMPI_COMM_WORLD, &mut count))?;
        }
        Ok(Self { rank: rank as usize, count: count as usize, thread: PhantomData })
    }

    /// Lets the library work: deliver messages that it has buffered, and answer other processes.
    pub fn progress(&self) {
        let mut found = 0;
        // SAFETY: MPI is initialised, and this is its thread. A failure is noticed when a message is sent or received.
        unsafe { MPI_Iprobe(RSMPI_ANY_SOURCE, RSMPI_ANY_TAG, RSMPI_COMM_WORLD, &mut found, RSMPI_STATUS_IGNORE) };
    }

    /// Ends all processes.
    pub fn abort(&self, code: u8) -> ! {
        // SAFETY: MPI is initialised, and this is its thread.
        unsafe { MPI_Abort(RSMPI_COMM_WORLD, code.into()) };
        std::process::exit(code.into())
    }

    /// Waits until all processes call this method, with `pause` between two looks, and ends MPI.
    pub fn finish(self, mut pause: impl FnMut()) -> Result<()> {
        let (mut all, mut met) = (MPI_Request(null_mut()), 0);
        // SAFETY: MPI is initialised, and this is its thread. The request is that of the barrier.
        unsafe {
            check("MPI_Ibarrier", MPI_Ibarrier(RSMPI_COMM_WORLD, &mut all))?;
            loop {
                check("MPI_Test", MPI_Test(&mut all, &mut met, RSMPI_STATUS_IGNORE))?;
                if met != 0 {
                    return check("MPI_Finalize", MPI_Finalize());
                }
                pause();
            }
        }
    }
}

/// Pieces of messages that are being sent or received. Its memory is reused by the next messages.
#[derive(Debug, Default)]
pub struct Transfers {
    requests: Vec<MPI_Request>,
    /// One for each request.
    pieces: Vec<Piece>,
    /// Places of requests that have finished since the last look, and their statuses.
    finished: Vec<c_int>,
    statuses: Vec<MPI_Status>,
    under_way: usize,
    /// First error.
    error: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    peer: usize,
    /// Length of the message.
    message: usize,
    length: usize,
    /// Number of pieces of the message that follow this one, which is its tag. A message of another length than
    /// expected has another tag in one of its pieces, or a piece of another length.
    following: c_int,
    is_received: bool,
}

impl Transfers {
    /// Starts to send a message.
    ///
    /// # Safety
    /// The memory is valid for reading and is not changed as long as [`Self::are_under_way`] is true.
    pub unsafe fn send(&mut self, _: &Mpi, to: usize, bytes: *const u8, length: usize) {
        self.start(to, length, false, |offset, piece, request| {
            // SAFETY: the piece is part of the message, whose memory is valid. The process exists, since the caller
            // has checked it.
            unsafe {
                let start = bytes.add(offset).cast();
                let (length, to) = (piece.length as c_int, piece.peer as c_int);
                MPI_Isend(start, length, RSMPI_UINT8_T, to, piece.following, RSMPI_COMM_WORLD, request)
            }
        });
    }

    /// Starts to receive a message.
    ///
    /// # Safety
    /// The memory is valid for writing and is not accessed otherwise while [`Self::are_under_way`] is true.
    pub unsafe fn receive(&mut self, _: &Mpi, from: usize, bytes: *mut u8, length: usize) {
        self.start(from, length, true, |offset, piece, request| {
            // SAFETY: the piece is part of the memory, which is valid. The process exists, since the caller has
            // checked it.
            unsafe {
                let start = bytes.add(offset).cast();
                let (length, from) = (piece.length as c_int, piece.peer as c_int);
                MPI_Irecv(start, length, RSMPI_UINT8_T, from, RSMPI_ANY_TAG, RSMPI_COMM_WORLD, request)
            }
        });
    }

    fn start(
        &mut self,
        peer: usize,
        length: usize,
        is_received: bool,
        call: impl Fn(usize, Piece, *mut MPI_Request) -> c_int,
    ) {
        for offset in (0..length).step_by(PIECE) {
            let left = length - offset;
            let following = (left.div_ceil(PIECE) - 1).min(LARGEST_TAG) as c_int;
            let piece = Piece { peer, message: length, length: left.min(PIECE), following, is_received };
            let mut request = MPI_Request(null_mut());
            let name = if is_received { "MPI_Irecv" } else { "MPI_Isend" };
            match check(name, call(offset, piece, &mut request)) {
                Ok(()) => {
                    self.requests.push(request);
                    self.pieces.push(piece);
                    self.under_way += 1;
                }
                Err(error) => self.note(error),
            }
        }
    }

    fn note(&mut self, error: String) {
        self.error.get_or_insert(error);
    }

    /// Lets MPI work, and returns whether a piece was sent or received completely.
    pub fn poll(&mut self, mpi: &Mpi) -> bool {
        if self.under_way == 0 {
            return false;
        }
        let count = self.requests.len();
        // SAFETY: a status consists of numbers.
        let empty = unsafe { std::mem::zeroed::<MPI_Status>() };
        self.finished.resize(count, 0);
        self.statuses.resize(count, empty);
        let mut finished = 0;
        // SAFETY: the three lists have `count` elements, and all memory of messages is valid until they have finished.
        let code = unsafe {
            let (requests, places) = (self.requests.as_mut_ptr(), self.finished.as_mut_ptr());
            MPI_Testsome(count as c_int, requests, &mut finished, places, self.statuses.as_mut_ptr())
        };
        let in_status = code == MPI_ERR_IN_STATUS as c_int;
        if !in_status && let Err(error) = check("MPI_Testsome", code) {
            // Nothing is known about the memory of the messages any more.
            eprintln!("error: process {} of {}: {error}", mpi.rank, mpi.count);
            mpi.abort(1);
        }
        for k in 0..finished.max(0) as usize {
            let (piece, status) = (self.pieces[self.finished[k] as usize], self.statuses[k]);
            self.under_way -= 1;
            let code = if in_status { status.MPI_ERROR } else { MPI_SUCCESS as c_int };
            if let Err(error) = piece.check(code, &status) {
                self.note(error);
            }
        }
        finished > 0
    }

    /// Returns whether MPI still uses the memory of a message.
    pub fn are_under_way(&self) -> bool {
        self.under_way > 0
    }

    /// Returns the processes of messages that are not complete, sorted.
    pub fn open_peers(&self) -> Vec<usize> {
        // SAFETY: a constant of the library.
        let done = unsafe { RSMPI_REQUEST_NULL };
        let open = self.requests.iter().zip(&self.pieces).filter(|(request, _)| **request != done);
        let mut peers: Vec<usize> = open.map(|(_, piece)| piece.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// Returns the first error of all messages, which are complete, and is ready for further messages.
    pub fn finish(&mut self) -> Result<()> {
        assert!(!self.are_under_way(), "messages are under way");
        self.requests.clear();
        self.pieces.clear();
        self.error.take().map_or(Ok(()), Err)
    }
}

impl Piece {
    /// Validates what was received in place of this piece.
    fn check(&self, code: c_int, status: &MPI_Status) -> Result<()> {
        let Self { peer, message, length, following, is_received } = *self;
        let (mut class, mut received) = (0, 0);
        // SAFETY: MPI is initialised, and this is its thread.
        unsafe { MPI_Error_class(code, &mut class) };
        let of_length = |than| Err(format!("process {peer} sent a {than} message than the {message} bytes expected"));
        if is_received && class == MPI_ERR_TRUNCATE as c_int {
            return of_length("longer");
        }
        let direction = if is_received { "from" } else { "to" };
        check("the transfer", code).map_err(|error| format!("a message {direction} process {peer}: {error}"))?;
        if !is_received {
            return Ok(());
        }
        // SAFETY: the status is that of a finished request.
        check("MPI_Get_count", unsafe { MPI_Get_count(status, RSMPI_UINT8_T, &mut received) })?;
        match received as usize == length && status.MPI_TAG == following {
            true => Ok(()),
            false if status.MPI_TAG > following => of_length("longer"),
            false => of_length("shorter"),
        }
    }
}

/// Turns an error code into a sentence.
fn check(name: &str, code: c_int) -> Result<()> {
    if code == MPI_SUCCESS as c_int {
        return Ok(());
    }
    let (mut text, mut length) = ([0u8; MPI_MAX_ERROR_STRING as usize + 1], 0);
    // SAFETY: the memory has the length that MPI demands.
    unsafe { MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = String::from_utf8_lossy(&text[..(length.max(0) as usize).min(text.len())]).into_owned();
    Err(format!("{name}: {text}"))
}
