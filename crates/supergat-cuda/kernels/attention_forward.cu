// Attention: out_i = sum_j drop(alpha_ij) z_j with alpha_i = softmax_j(LeakyReLU(e_ij)), over the incoming edges of i.
// V2: out_i = sum_j drop(alpha_ij) s_j with alpha_i = softmax_j(a . LeakyReLU(t_i + s_j)); a row of z is s_i, then t_i.
//
//     m   largest score so far         l   sum of exp(score - m)         o   sum of exp(score - m) drop z_j
//     m'  = max(m, score)    l' = exp(m - m') l + exp(score - m')    o' = exp(m - m') o + exp(score - m') drop z_j
//     out = o / l
//
// One pass over the edges. Teams take turns at the edges of a node, and their sums are combined at the end. Nodes with
// many edges (`heavy`) have a block each, the others share blocks.
//
// If messages carry the features of edges (`edges.cuh`), their weighted sums are taken along, and V times the sums is
// added in the end. A launch for further features computes the coefficients again and adds to `out`.
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
    const float* vectors;
    const byte* keep;
    const byte* chosen;
    float keep_scale, slope;
    IF_EDGES(Edges edges; FeatureSums<CHUNK>* features;)
};

struct Running {
    Heads largest, sum;
    Row out;
};

#if EDGES
// Scales the sums of features to a new largest score, and adds the features of some edges before `end`.
__device__ __forceinline__ void add_features(
    const Input& input, const word (&edges)[FLIGHT], word end, const Heads& shrink,
    const Heads (&weights)[FLIGHT]) {
    for (word c = 0; c < input.edges.count; ++c) {
        Heads sum = feature_sum(*input.features, c);
        EACH_HEAD(g, h) sum.of[g][h] *= shrink.of[g][h];
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            // An edge outside the list has weight zero.
            float feature = __ldg(chunk_of(input.edges, edges[u] < end ? edges[u] : 0) + c);
            EACH_HEAD(g, h) sum.of[g][h] = fmaf(weights[u].of[g][h], feature, sum.of[g][h]);
        }
        set_feature_sum(*input.features, c, sum);
    }
}
#endif

// Adds the edges first, first + stride, ... of a node's list [begin, end); `trips` is equal in all lanes of a warp.
__device__ __forceinline__ void walk(
    const Input& input, const Row& own, const Heads& own_score, word node, word begin, word end, word first, word stride,
    word trips, Running& running) {
    int head = first_head();
    Row a;
    if (IS_V2) a = load_row(input.vectors, 0);
    IF_EDGES(if (MESSAGES) clear_feature_sums(*input.features);)
    for (word trip = 0; trip < trips; trip += FLIGHT) {
        Row rows[FLIGHT];
        Heads scores[FLIGHT], weights[FLIGHT];
        word edges[FLIGHT];
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            word edge = begin + first + (trip + u) * stride;
            edges[u] = edge;
            word j = edge < end ? __ldg(input.sources + edge) : node;
            rows[u] = load_row(input.z, source_row(j));
            if (HAS_GO) scores[u] = load_heads(input.source_score + (size_t)j * HEAD_ROW, head);
        }
        Heads before = running.largest;
#pragma unroll
        for (int u = 0; u < FLIGHT; ++u) {
            Heads dp = pair_score(a, own, rows[u], input.slope);
            IF_EDGES(Terms terms = terms_of(input.edges, edges[u] < end ? edges[u] : 0);)
            EACH_HEAD(g, h) {
                float go = HAS_GO ? own_score.of[g][h] + scores[u].of[g][h] : 0.0f;
                float score = leaky_score(form_score(go, dp.of[g][h]) IF_EDGES(+ terms.score.of[g][h]), input.slope);
                IF_EDGES(score += terms.log_weight;)
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
        IF_EDGES(if (MESSAGES) add_features(input, edges, end, shrink, weights);)
        IF_EDGES(if (RESUMES) continue;)
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

#if EDGES
// Combines the sums of features of the teams that share a node, stores them, and adds V times the sums to the output,
// before it is divided by the sum of the exponentials. `walked` are the largest scores that the sums are scaled to.
__device__ __forceinline__ void finish_features(
    const Input& input, const Heads& walked, word node, bool is_heavy, bool stores, BlockMemory& memory,
    Running& running) {
    const Edges& edges = input.edges;
    Heads shrink;
    EACH_HEAD(g, h) shrink.of[g][h] = __expf(walked.of[g][h] - running.largest.of[g][h]);
    for (word c = 0; c < edges.count; ++c) {
        Heads sum = feature_sum(*input.features, c);
        EACH_HEAD(g, h) sum.of[g][h] *= shrink.of[g][h];
        add_teams<TEAM, SHARED_LANES>(sum);
        if (is_heavy) {
            add_teams<SHARED_LANES, 32>(sum);
            add_warps(sum, memory);
        }
        Factors factor = spread(sum);
        Row row = load_row(edges.matrix, edges.first + c);
        EACH_QUAD(g, k) add_product(running.out.quad[g][k], factor.of[g], row.quad[g][k]);
        if (stores) {
            EACH_HEAD(g, h) sum.of[g][h] /= running.sum.of[g][h] > 0.0f ? running.sum.of[g][h] : 1.0f;
            size_t place = (size_t)node * edges.width + edges.first + c;
            store_heads(edges.sums + place * HEAD_ROW, first_head(), sum);
        }
    }
}
#endif

// Divides by the sum of the exponentials and stores the results of a node. All lanes of a warp call this; those with
// `stores` store.
__device__ __forceinline__ void finish(Running& running, word node, bool stores, float* state, float* out) {
    Heads inverse;
    // A node without edges has no coefficients.
    EACH_HEAD(g, h) inverse.of[g][h] = running.sum.of[g][h] > 0.0f ? 1.0f / running.sum.of[g][h] : 0.0f;
    Factors factor = spread(inverse);
    EACH_QUAD(g, k) running.out.quad[g][k] = running.out.quad[g][k] * factor.of[g];
    if (stores) {
        float* own = state + (size_t)node * STATE * HEAD_ROW;
        store_heads(own + LARGEST * HEAD_ROW, first_head(), running.largest);
        store_heads(own + INVERSE * HEAD_ROW, first_head(), inverse);
        IF_EDGES(if (RESUMES) add_stored(out, node, running.out);)
        store_row(out, node, running.out);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) attention_forward(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources, const word* __restrict__ heavy,
    word heavy_count, word heavy_blocks, word most_edges, const float* __restrict__ z,
    const float* __restrict__ source_score, const float* __restrict__ vectors, const byte* __restrict__ keep,
    float keep_scale, const byte* __restrict__ chosen, float slope, float* state, float* __restrict__ out IF_EDGES(, Edges terms)) {
    __shared__ BlockMemory memory;
    IF_EDGES(__shared__ FeatureSums<CHUNK> features;)
    Input input = {offsets, sources, z,          source_score, vectors,
                   keep,    chosen,  keep_scale, slope IF_EDGES(, terms, &features)};
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
        if (!__any_sync(ALL_LANES, works)) return;
        Running running = {all_heads(LOWEST), all_heads(0.0f), zero_row()};
        Heads own_score = load_heads(state + ((size_t)node * STATE + SCORE) * HEAD_ROW, first_head());
        walk(input, load_row(z, target_row(node)), own_score, node, begin, end, first, stride, trips, running);
        IF_EDGES(Heads walked = running.largest;)
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
        IF_EDGES(if (MESSAGES) finish_features(input, walked, node, is_heavy, stores, memory, running);)
        finish(running, node, stores, state, out);
        index += heavy_blocks;
    } while (is_heavy && index < heavy_count);
}
