// out = scale (keep rows) W, where W or its transpose is in memory; see `tensor.cuh`.
//
// A block has a tile of SIDE by SIDE numbers of the result, and a warp has one of 32 by 32. Factors are copied to shared
// memory in chunks of DEPTH columns of the rows, the next chunk while one is computed.

// Defined by the host: TRANSPOSED if W has a row per column of the result.

constexpr int SIDE = 64, DEPTH = 32, THREADS = 128;
// Numbers of a row in shared memory: the lanes of a warp read from different banks.
constexpr int ROW_PITCH = DEPTH + 4;
constexpr int WEIGHT_PITCH = TRANSPOSED ? DEPTH + 4 : SIDE + 8;
constexpr int CHUNK_OF_ROWS = SIDE * ROW_PITCH, CHUNK_OF_WEIGHT = (TRANSPOSED ? SIDE : DEPTH) * WEIGHT_PITCH;
// Quads of each factor that a thread copies in a chunk.
constexpr int TURNS = SIDE * DEPTH / 4 / THREADS;

// `depth` and `width` are multiples of eight. If `adds`, the product is added to `out`.
extern "C" __global__ void __launch_bounds__(THREADS) product(
    word nodes, word depth, word width, const float* __restrict__ rows, const byte* __restrict__ keep, float scale,
    const float* __restrict__ weight, word adds, float* __restrict__ out) {
    await_earlier_kernels();
    __shared__ __align__(16) float of_rows[2][CHUNK_OF_ROWS], of_weight[2][CHUNK_OF_WEIGHT];
    // The tiles of a row follow one another, so that its numbers are still in the cache. Only the first axis of a grid has room
    // for all rows.
    word across = (width + SIDE - 1) / SIDE, first_column = blockIdx.x % across * SIDE;
    size_t first_row = (size_t)(blockIdx.x / across) * SIDE;
    word chunks = (depth + DEPTH - 1) / DEPTH;
    // Calls `work(turn, place in shared memory, place in the rows, whether it is inside)` for the thread's quads of a chunk.
    auto each_quad = [&](word chunk, const auto& work) {
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            word quad = turn * THREADS + threadIdx.x, r = quad / (DEPTH / 4), k = quad % (DEPTH / 4) * 4;
            bool inside = first_row + r < nodes && chunk * DEPTH + k < depth;
            work(turn, r * ROW_PITCH + k, inside ? (first_row + r) * depth + chunk * DEPTH + k : 0, inside);
        }
    };
    auto copy_chunk = [&](word chunk) {
        each_quad(chunk, [&](int, word at, size_t place, bool inside) {
            copy_quad(&of_rows[chunk % 2][at], rows + place, inside);
        });
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            word quad = turn * THREADS + threadIdx.x, of_row = TRANSPOSED ? DEPTH / 4 : SIDE / 4;
            word r = quad / of_row, c = quad % of_row * 4;
            word k = chunk * DEPTH + (TRANSPOSED ? c : r), column = first_column + (TRANSPOSED ? r : c);
            bool inside = k < depth && column < width;
            size_t place = TRANSPOSED ? (size_t)column * depth + k : (size_t)k * width + column;
            copy_quad(&of_weight[chunk % 2][r * WEIGHT_PITCH + c], weight + (inside ? place : 0), inside);
        }
        end_copies();
    };
    word kept[TURNS], next[TURNS];
    auto read_mask = [&](word chunk) {
        each_quad(chunk, [&](int turn, word, size_t place, bool inside) { next[turn] = kept_quad(keep, place, inside); });
    };
    word warp_row = threadIdx.x / 64 * 32, warp_column = threadIdx.x / 32 % 2 * 32;
    Tiles tiles = {};
    copy_chunk(0);
    if (DROPS) read_mask(0);
    for (word chunk = 0; chunk < chunks; ++chunk) {
        bool has_next = chunk + 1 < chunks;
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) kept[turn] = DROPS ? next[turn] : 0;
        if (has_next) {
            copy_chunk(chunk + 1);
            if (DROPS) read_mask(chunk + 1);
        }
        await_copies(has_next);
        float* own = of_rows[chunk % 2];
        if (DROPS) each_quad(chunk, [&](int turn, word at, size_t, bool) { drop_quad(own + at, kept[turn]); });
        __syncthreads();
        const float* left = own + warp_row * ROW_PITCH;
        const float* right = of_weight[chunk % 2] + warp_column * (TRANSPOSED ? WEIGHT_PITCH : 1);
#pragma unroll
        for (int step = 0; step < DEPTH; step += STEP) {
            add_step(
                tiles, [&](int row, int term) { return left[row * ROW_PITCH + step + term]; },
                [&](int term, int column) {
                    return TRANSPOSED ? right[column * WEIGHT_PITCH + step + term]
                                      : right[(step + term) * WEIGHT_PITCH + column];
                });
        }
        __syncthreads();
    }
    tiles.each(warp_row, first_column + warp_column, [&](word r, word column, float x, float y) {
        size_t row = first_row + r;
        if (row >= nodes || column >= width) return;
        float2* to = (float2*)(out + row * width + column);
        float2 before = adds ? *to : make_float2(0.0f, 0.0f);
        *to = make_float2(fmaf(scale, x, before.x), fmaf(scale, y, before.y));
    });
}
