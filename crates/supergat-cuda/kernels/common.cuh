// Functions that all kernels share: counter-based random numbers (Philox 4x32-10), keyed permutations, sums over
// lanes, and the arrival of blocks.

typedef unsigned char byte;
typedef unsigned int word;
typedef unsigned long long wide;

#define ALL_LANES 0xFFFFFFFFu

// Every kernel starts with this, before it reads or writes memory: it may be started while the kernel before it ends
// (programmatic dependent launch), waits here until that one has ended, and lets the next one start.
__device__ __forceinline__ void await_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---------------------------------------------------------------------------------------------- random numbers

// Maps 128 bits of a counter to 128 random bits under a key.
__device__ __forceinline__ uint4 philox(uint4 c, word key_low, word key_high) {
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        word high0 = __umulhi(c.x, 0xD2511F53u), low0 = c.x * 0xD2511F53u;
        word high1 = __umulhi(c.z, 0xCD9E8D57u), low1 = c.z * 0xCD9E8D57u;
        c = make_uint4(high1 ^ c.y ^ key_low, low1, high0 ^ c.w ^ key_high, low0);
        key_low += 0x9E3779B9u;
        key_high += 0xBB67AE85u;
    }
    return c;
}

// Random numbers of (seed, step, layer, purpose); `tag` is layer << 16 | purpose. The clock is seed (low, high),
// step.
struct Stream {
    word key_low, key_high, step, tag;

    __device__ __forceinline__ Stream(const word* clock, word tag)
        : key_low(clock[0]), key_high(clock[1]), step(clock[2]), tag(tag) {}

    // 128 random bits.
    __device__ __forceinline__ uint4 block(wide index) const {
        return philox(make_uint4((word)index, (word)(index >> 32), step, tag), key_low, key_high);
    }

    // A whole number in [0, n).
    __device__ __forceinline__ wide below(wide index, wide n) const {
        uint4 bits = block(index);
        return __umul64hi((wide)bits.y << 32 | bits.x, n);
    }
};

// Bits of kept values of byte `index`: bit b is set if the b-th 16-bit number of its block is at least
// `threshold`.
__device__ __forceinline__ word keep_byte(const Stream& stream, wide index, word threshold) {
    uint4 block = stream.block(index);
    word words[4] = {block.x, block.y, block.z, block.w}, bits = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        bits |= (word)((words[k] & 0xFFFFu) >= threshold) << (2 * k);
        bits |= (word)((words[k] >> 16) >= threshold) << (2 * k + 1);
    }
    return bits;
}

// A keyed permutation of 0..n: a Feistel network on the cells of a grid of `rows` x `columns`. Results of n or more
// are permuted again.
struct Permutation {
    wide n;
    word rows, columns;
    word keys[6];

    __device__ __forceinline__ Permutation(const Stream& stream, wide n, word rows, word columns)
        : n(n), rows(rows), columns(columns) {
        uint4 a = stream.block(0), b = stream.block(1);
        keys[0] = a.x, keys[1] = a.y, keys[2] = a.z, keys[3] = a.w, keys[4] = b.x, keys[5] = b.y;
    }

    // (value + hash of other) mod side.
    __device__ __forceinline__ static word shifted(word value, word other, word side) {
        word hash = (other * 0xD2511F53u) ^ __umulhi(other, 0xD2511F53u);
        word sum = value + __umulhi(hash, side);
        return min(sum, sum - side);
    }

    // Row and column of a number.
    __device__ __forceinline__ uint2 cell(wide x) const {
        if ((x >> 32) == 0) return make_uint2((word)x / columns, (word)x % columns);
        return make_uint2((word)(x / columns), (word)(x % columns));
    }

    // Applies the network once.
    __device__ __forceinline__ uint2 step(uint2 cell) const {
#pragma unroll
        for (int k = 0; k < 6; k += 2) {
            cell.x = shifted(cell.x, cell.y ^ keys[k], rows);
            cell.y = shifted(cell.y, cell.x ^ keys[k + 1], columns);
        }
        return cell;
    }

    // Image of x, which must be below n.
    __device__ __forceinline__ wide apply(wide x) const {
        uint2 at = cell(x);
        wide image;
        do {
            at = step(at);
            image = (wide)at.x * columns + at.y;
        } while (image >= n);
        return image;
    }
};

// --------------------------------------------------------------------------------------------- sums over lanes

// Sum over the 32 lanes of a warp, in every lane.
template <typename T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

// Largest value of the 32 lanes of a warp, in every lane.
template <typename T>
__device__ __forceinline__ T warp_max(T value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(ALL_LANES, value, step));
    return value;
}

// Sum over the threads of a block, in every thread; the order is fixed. `shared` has 32 places.
template <typename T>
__device__ __forceinline__ T block_sum(T value, T* shared) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
    value = warp_sum(value);
    __syncthreads();
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    T sum = 0;
    for (int k = 0; k < warps; ++k) sum += shared[k];
    return sum;
}

// Sum of the values of the threads before this one in a block; `total` becomes the sum of all. `shared` has 33
// places.
__device__ __forceinline__ word block_scan(word value, word* shared, word& total) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
    word inclusive = value;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        word before = __shfl_up_sync(ALL_LANES, inclusive, step);
        if (lane >= step) inclusive += before;
    }
    __syncthreads();
    if (lane == 31) shared[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        word own = lane < warps ? shared[lane] : 0, sums = own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            word before = __shfl_up_sync(ALL_LANES, sums, step);
            if (lane >= step) sums += before;
        }
        shared[lane] = sums - own;
        if (lane == 31) shared[32] = sums;
    }
    __syncthreads();
    total = shared[32];
    return shared[warp] + inclusive - value;
}

// -------------------------------------------------------------------------------------------- arrival of blocks

// Returns in every thread whether this block is the last one of the grid to get here. What the other blocks wrote
// before is then visible, if it is read past the first cache (`__ldcg`). `counter` is zero before and afterwards.
__device__ __forceinline__ bool is_last_block(word* counter) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counter, 1) == gridDim.x - 1;
        if (last) *counter = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// ---------------------------------------------------------------------------------------------------- formulas

// ln(1 + exp(x)) from exp(-|x|), with an error of about 1e-7.
__device__ __forceinline__ float softplus(float x, float exp_of_minus_abs) {
    return fmaxf(x, 0.0f) + __logf(1.0f + exp_of_minus_abs);
}

// 1 / (1 + exp(-x)).
__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

// LeakyReLU.
__device__ __forceinline__ float leaky(float x, float slope) { return x > 0.0f ? x : x * slope; }
