// Attention: out_i = sum_j drop(alpha_ij) z_j with alpha_i = softmax_j(LeakyReLU(e_ij)), over the incoming edges of i.
//
//     m   largest score so far         l   sum of exp(score - m)         o   sum of exp(score - m) drop z_j
//     m'  = max(m, score)    l' = exp(m - m') l + exp(score - m')    o' = exp(m - m') o + exp(score - m') drop z_j
//     out = o / l
//
// One pass over the edges. Teams take turns at the edges of a node, and their sums are combined at the end. Nodes with
// many edges (`heavy`) have a block each, the others share blocks.
//
// Defined by the host: DROPS, CHOOSES.

// Edges whose rows a team loads at once.
constexpr int FLIGHT = GROUPS * HELD == 1 ? 4 : GROUPS * HELD == 2 ? 2 : 1;
// Below all scores, but finite.
constexpr float LOWEST = -1e30f;

struct Input {
    const word* offsets;
    const word* sources;
    const float* z;
    const float* source_score;
    const byte* keep;
    const byte* chosen;
    float keep_scale, slope;
};

struct Running {
    Heads largest, sum;
    Row out;
};

// Adds the edges first, first + stride, ... of a node's list [begin, end); `trips` is equal in all lanes of a warp.
__device__ __forceinline__ void walk(
    const Input& input, const Row& own, const Heads& own_score, word node, word begin, word end, word first, word stride,
    word trips, Running& running) {
    int head = first_head();
    for (word trip = 0; trip < trips; trip += FLIGHT) {
        Row rows[FLIGHT];
        Heads scores[FLIGHT], weights[FLIGHT];
        word edges[FLIGHT];
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            word edge = begin + first + (trip + u) * stride;
            edges[u] = edge;
            word j = edge < end ? __ldg(input.sources + edge) : node;
            rows[u] = load_row(input.z, j);
            if (HAS_GO) scores[u] = load_heads(input.source_score + (size_t)j * HEAD_ROW, head);
        }
        Heads before = running.largest;
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            Heads dp = HAS_DP ? dot(own, rows[u]) : all_heads(0.0f);
            EACH_HEAD(g, h) {
                float go = HAS_GO ? own_score.of[g][h] + scores[u].of[g][h] : 0.0f;
                float score = leaky(form_score(go, dp.of[g][h]), input.slope);
                if (edges[u] >= end) score = 2.0f * LOWEST;
                scores[u].of[g][h] = score;
                running.largest.of[g][h] = fmaxf(running.largest.of[g][h], score);
            }
        }
        Heads shrink;
        EACH_HEAD(g, h) {
            shrink.of[g][h] = __expf(before.of[g][h] - running.largest.of[g][h]);
            running.sum.of[g][h] *= shrink.of[g][h];
        }
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            bool valid = edges[u] < end;
            EACH_GROUP(g) {
                size_t place = valid ? (size_t)edges[u] * GROUPS + g : 0;
                word keep = DROPS ? __ldg(input.keep + place) : 0, chosen = CHOOSES ? __ldg(input.chosen + place) : 0;
#pragma unroll
                for (int h = 0; h < OWNED; ++h) {
                    float p = __expf(scores[u].of[g][h] - running.largest.of[g][h]);
                    if (CHOOSES) p = by_bit(chosen, head + h, p);
                    running.sum.of[g][h] += p;
                    weights[u].of[g][h] = DROPS ? p * by_bit(keep, head + h, input.keep_scale) : p;
                }
            }
        }
        Factors factor = spread(shrink);
        EACH_QUAD(g, k) running.out.quad[g][k] = running.out.quad[g][k] * factor.of[g];
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            Factors weight = spread(weights[u]);
            EACH_QUAD(g, k) add_product(running.out.quad[g][k], weight.of[g], rows[u].quad[g][k]);
        }
    }
}

// Scales the sums to a new largest score.
__device__ __forceinline__ void rescale(Running& running, const Heads& largest) {
    Heads shrink;
    EACH_HEAD(g, h) {
        shrink.of[g][h] = __expf(running.largest.of[g][h] - largest.of[g][h]);
        running.sum.of[g][h] *= shrink.of[g][h];
    }
    Factors factor = spread(shrink);
    EACH_QUAD(g, k) running.out.quad[g][k] = running.out.quad[g][k] * factor.of[g];
    running.largest = largest;
}

// Combines the sums of the teams that share a node: LANES lanes, of which groups of FROM are combined already.
template <int FROM, int LANES>
__device__ __forceinline__ void combine(Running& running) {
    if (LANES == FROM) return;
    Heads largest = running.largest;
#pragma unroll
    for (int step = FROM; step < LANES; step *= 2) {
        EACH_HEAD(g, h) {
            largest.of[g][h] = fmaxf(largest.of[g][h], __shfl_xor_sync(ALL_LANES, largest.of[g][h], step));
        }
    }
    rescale(running, largest);
    add_teams<FROM, LANES>(running.sum);
    add_teams<FROM, LANES>(running.out);
}

// Divides by the sum of the exponentials and stores the results of a node. All lanes of a warp call this; those with
// `stores` store.
__device__ __forceinline__ void finish(Running& running, word node, bool stores, float* state, float* out) {
    Heads inverse;
    EACH_HEAD(g, h) inverse.of[g][h] = 1.0f / running.sum.of[g][h];
    Factors factor = spread(inverse);
    EACH_QUAD(g, k) running.out.quad[g][k] = running.out.quad[g][k] * factor.of[g];
    if (stores) {
        float* own = state + (size_t)node * STATE * HEAD_ROW;
        store_heads(own + LARGEST * HEAD_ROW, first_head(), running.largest);
        store_heads(own + INVERSE * HEAD_ROW, first_head(), inverse);
        store_row(out, node, running.out);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) attention_forward(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources, const word* __restrict__ heavy,
    word heavy_count, word heavy_blocks, word most_edges, const float* __restrict__ z,
    const float* __restrict__ source_score, const byte* __restrict__ keep, float keep_scale,
    const byte* __restrict__ chosen, float slope, float* state, float* __restrict__ out) {
    __shared__ BlockMemory memory;
    Input input = {offsets, sources, z, source_score, keep, chosen, keep_scale, slope};
    // A block has one heavy node after another, or a few light nodes.
    bool is_heavy = blockIdx.x < heavy_blocks;
    word first = is_heavy ? threadIdx.x / TEAM : threadIdx.x % SHARED_LANES / TEAM;
    word stride = is_heavy ? TEAMS_PER_BLOCK : TEAMS, index = blockIdx.x;
    do {
        size_t place = (size_t)(blockIdx.x - heavy_blocks) * NODES_PER_BLOCK + threadIdx.x / SHARED_LANES;
        word node = is_heavy ? heavy[index] : (word)min(place, (size_t)nodes - 1);
        word begin = offsets[node], end = offsets[node + 1];
        bool works = is_heavy || (place < nodes && end - begin <= most_edges);
        if (!works) end = begin;
        word trips = (end - begin + stride - 1) / stride;
        if (NODES_PER_WARP > 1) trips = warp_max(trips);
        if (trips == 0) return;
        Running running = {all_heads(LOWEST), all_heads(0.0f), zero_row()};
        Heads own_score = load_heads(state + ((size_t)node * STATE + SCORE) * HEAD_ROW, first_head());
        walk(input, load_row(z, node), own_score, node, begin, end, first, stride, trips, running);
        combine<TEAM, SHARED_LANES>(running);
        if (is_heavy) {
            combine<SHARED_LANES, 32>(running);
            Heads largest = running.largest;
            largest_of_warps(largest, memory);
            rescale(running, largest);
            add_warps(running.sum, memory);
            add_warps(running.out, memory);
        }
        bool stores = is_heavy ? threadIdx.x < TEAM : works && threadIdx.x % SHARED_LANES < TEAM;
        finish(running, node, stores, state, out);
        index += heavy_blocks;
    } while (is_heavy && index < heavy_count);
}
