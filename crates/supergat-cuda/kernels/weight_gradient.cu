// out = scale (keep rows)^T g, of the rows of some nodes for each block along z; see `tensor.cuh`.
//
// A block has a tile of SIDE by SIDE numbers of the result, and a warp has one of 32 by 32. Factors are copied to shared
// memory in chunks of DEPTH nodes, the next chunk while one is computed.

constexpr int SIDE = 64, DEPTH = 32, THREADS = 128;
// Numbers of a row in shared memory: the lanes of a warp read from different banks.
constexpr int PITCH = SIDE + 8;
constexpr int CHUNK = DEPTH * PITCH;
// Quads of rows that a thread copies in a chunk.
constexpr int TURNS = SIDE * DEPTH / 4 / THREADS;

// `depth` and `width`, the lengths of the rows and of those of g, are multiples of eight, and `share`, the number of nodes of a
// block, is one of DEPTH. The results of the blocks along z follow one another.
extern "C" __global__ void __launch_bounds__(THREADS) weight_gradient(
    word nodes, word depth, word width, word share, const float* __restrict__ rows, const byte* __restrict__ keep,
    float scale, const float* __restrict__ gradient, float* __restrict__ out) {
    await_earlier_kernels();
    __shared__ __align__(16) float of_rows[2][CHUNK], of_gradient[2][CHUNK];
    word first_column = blockIdx.x * SIDE, first_row = blockIdx.y * SIDE;
    size_t first_node = (size_t)blockIdx.z * share;
    word end = (word)min(first_node + share, (size_t)nodes), chunks = (end - (word)first_node + DEPTH - 1) / DEPTH;
    // Calls `work(turn, place in shared memory, node, column of the tile)` for the thread's quads of a chunk.
    auto each_quad = [&](word chunk, const auto& work) {
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            word quad = turn * THREADS + threadIdx.x, r = quad / (SIDE / 4), c = quad % (SIDE / 4) * 4;
            work(turn, r * PITCH + c, first_node + chunk * DEPTH + r, c);
        }
    };
    auto copy_chunk = [&](word chunk) {
        each_quad(chunk, [&](int, word at, size_t node, word c) {
            bool has_row = node < end && first_row + c < depth, has_gradient = node < end && first_column + c < width;
            copy_quad(&of_rows[chunk % 2][at], rows + (has_row ? node * depth + first_row + c : 0), has_row);
            copy_quad(
                &of_gradient[chunk % 2][at], gradient + (has_gradient ? node * width + first_column + c : 0), has_gradient);
        });
        end_copies();
    };
    word kept[TURNS], next[TURNS];
    auto read_mask = [&](word chunk) {
        each_quad(chunk, [&](int turn, word, size_t node, word c) {
            next[turn] = kept_quad(keep, node * depth + first_row + c, node < end && first_row + c < depth);
        });
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
        if (DROPS) each_quad(chunk, [&](int turn, word at, size_t, word) { drop_quad(own + at, kept[turn]); });
        __syncthreads();
        const float *left = own + warp_row, *right = of_gradient[chunk % 2] + warp_column;
#pragma unroll
        for (int step = 0; step < DEPTH; step += STEP) {
            add_step(
                tiles, [&](int row, int term) { return left[(step + term) * PITCH + row]; },
                [&](int term, int column) { return right[(step + term) * PITCH + column]; });
        }
        __syncthreads();
    }
    out += (size_t)blockIdx.z * depth * width;
    tiles.each(first_row + warp_row, first_column + warp_column, [&](word row, word column, float x, float y) {
        if (row >= depth || column >= width) return;
        *(float2*)(out + (size_t)row * width + column) = make_float2(scale * x, scale * y);
    });
}
