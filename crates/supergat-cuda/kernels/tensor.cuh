// Products of matrices by tensor cores, from factors in shared memory.
//
// Tensor cores take factors of 11 significant bits (TF32). So every number is divided into two of them, x = high + low, and
//
//     x w = high_x high_w + high_x low_w + low_x high_w
//
// has an error of about 2^-21 of the product, as sums in single precision have. Without SPLITS, only the first product is
// computed.
//
// Defined by the host: SPLITS, DROPS.

// Terms that tensor cores add at once, and tiles of 16 rows and of 8 columns of a warp: 32 by 32 numbers.
constexpr int STEP = 8, DOWN = 2, ACROSS = 4;

// Copies four numbers to shared memory in the background, or zeros.
__device__ __forceinline__ void copy_quad(float* to, const float* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((word)__cvta_generic_to_shared(to)), "l"(from),
                 "r"(inside ? 16 : 0));
}

// Ends a group of copies.
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;"); }

// Waits for all groups of copies but the last one, or for all.
__device__ __forceinline__ void await_copies(bool but_the_last) {
    if (but_the_last) asm volatile("cp.async.wait_group 1;" ::: "memory");
    else asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// The bits of a dropout mask for the four numbers at a place of rows of whole bytes.
__device__ __forceinline__ word kept_quad(const byte* keep, size_t place, bool inside) {
    return inside ? __ldg(keep + place / 8) >> (place % 8) : 0;
}

// Sets numbers to zero that a mask does not keep.
__device__ __forceinline__ void drop_quad(float* at, word bits) {
    float4 x = *(float4*)at;
    *(float4*)at = make_float4(
        bits & 1 ? x.x : 0.0f, bits & 2 ? x.y : 0.0f, bits & 4 ? x.z : 0.0f, bits & 8 ? x.w : 0.0f);
}

// A number as the sum of two that tensor cores take.
struct Parts {
    word high, low;

    __device__ __forceinline__ explicit Parts(float x)
        : high(__float_as_uint(x) + 0x1000u & 0xFFFFE000u), low(__float_as_uint(x - __uint_as_float(high))) {}
};

// Sums of a lane: in tile (d, a), the numbers at row 16 d + lane / 4 and columns 8 a + lane % 4 * 2 and the next one, and
// those eight rows below.
struct Tiles {
    float sum[DOWN][ACROSS][4];

    // Calls `store(row, column, x, y)` for all pairs of numbers, from the first row and column of the warp.
    template <class Store>
    __device__ __forceinline__ void each(word row, word column, const Store& store) const {
        int lane = threadIdx.x % 32;
#pragma unroll
        for (int d = 0; d < DOWN; ++d) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
#pragma unroll
                for (int a = 0; a < ACROSS; ++a) {
                    store(
                        row + 16 * d + 8 * k + lane / 4, column + 8 * a + lane % 4 * 2, sum[d][a][2 * k],
                        sum[d][a][2 * k + 1]);
                }
            }
        }
    }
};

// sum += a b, of a tile of 16 x 8 and one of 8 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const word (&a)[4], const word (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Adds the products of STEP terms to the tiles of a warp. `left(row, term)` and `right(term, column)` are the factors.
template <class Left, class Right>
__device__ __forceinline__ void add_step(Tiles& tiles, const Left& left, const Right& right) {
    int lane = threadIdx.x % 32, group = lane / 4, within = lane % 4;
    word high[DOWN][4], low[DOWN][4], right_high[ACROSS][2], right_low[ACROSS][2];
#pragma unroll
    for (int d = 0; d < DOWN; ++d) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            Parts parts(left(16 * d + k % 2 * 8 + group, k / 2 * 4 + within));
            high[d][k] = parts.high, low[d][k] = parts.low;
        }
    }
#pragma unroll
    for (int a = 0; a < ACROSS; ++a) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            Parts parts(right(4 * k + within, 8 * a + group));
            right_high[a][k] = parts.high, right_low[a][k] = parts.low;
        }
    }
    // Products into the same sum wait for one another, so they are far apart.
    auto add = [&](const word (&x)[DOWN][4], const word (&w)[ACROSS][2]) {
#pragma unroll
        for (int d = 0; d < DOWN; ++d) {
#pragma unroll
            for (int a = 0; a < ACROSS; ++a) multiply_add(tiles.sum[d][a], x[d], w[a]);
        }
    };
    if (SPLITS) {
        add(low, right_high);
        add(high, right_low);
    }
    add(high, right_high);
}
