// Attention: out_i = sum_j drop(alpha_ij) z_j with alpha_i = softmax_j(LeakyReLU(e_ij)), over the incoming edges of i.
// V2: out_i = sum_j drop(alpha_ij) s_j with alpha_i = softmax_j(a . LeakyReLU(t_i + s_j)); a row of z is s_i, then t_i.
//
//     m   about the largest score      l   sum of exp(score - m)         o   sum of exp(score - m) drop z_j
//     m'  = max(m, score) if the score is far above m, else m
//     l' = exp(m - m') l + exp(score - m')    o' = exp(m - m') o + exp(score - m') drop z_j
//     out = o / l
//
// One pass over the edges. Teams take turns at the edges of a node, and their sums are combined at the end. Nodes with
// many edges (`heavy`) have a block each, the others share blocks.
//
// If messages carry the features of edges (`edges.cuh`), their weighted sums are taken along, and V times the sums is
// added in the end. A launch for further features computes the coefficients again and adds to `out`.
//
// For the backward pass of GO, the sums over the edges with scores above zero are kept behind the state (ABOVE; see
// `attention_backward.cu`).
//
// Defined by the host: DROPS, CHOOSES, ABOVE.

// Below all scores, but finite.
constexpr float LOWEST = -1e30f;
// How far a score may be above m before m changes and the sums are scaled. exp(ROOM) is far from an overflow.
constexpr float ROOM = 8.0f;

struct Input {
    const word* sources;
    const Gathered* z;
    const float* source_score;
    const float* vectors;
    const byte* keep;
    const byte* chosen;
    float keep_scale, slope;
    IF_EDGES(Edges edges; FeatureSums<CHUNK>* features;)
};

// Sums of some edges, and the same sums over those of them with scores above zero.
struct Running {
    Heads largest, sum;
    Row out;
    Heads sum_above;
    Row out_above;
};

// Multiplies the sums by a factor per head.
__device__ __forceinline__ void scale(Running& running, const Heads& by) {
    Factors factor = spread(by);
    EACH_HEAD(g, h) {
        running.sum.of[g][h] *= by.of[g][h];
        if (ABOVE) running.sum_above.of[g][h] *= by.of[g][h];
    }
    EACH_QUAD(g, k) {
        running.out.quad[g][k] = running.out.quad[g][k] * factor.of[g];
        if (ABOVE) running.out_above.quad[g][k] = running.out_above.quad[g][k] * factor.of[g];
    }
}

#if EDGES
// Scales the sums of features.
__device__ __forceinline__ void scale_features(const Input& input, const Heads& by) {
    for (word c = 0; c < input.edges.count; ++c) {
        Heads sum = feature_sum(*input.features, c);
        EACH_HEAD(g, h) sum.of[g][h] *= by.of[g][h];
        set_feature_sum(*input.features, c, sum);
    }
}

// Adds the features of an edge.
__device__ __forceinline__ void add_features(const Input& input, word edge, const Heads& weight) {
    for (word c = 0; c < input.edges.count; ++c) {
        Heads sum = feature_sum(*input.features, c);
        float feature = __ldg(chunk_of(input.edges, edge) + c);
        EACH_HEAD(g, h) sum.of[g][h] = fmaf(weight.of[g][h], feature, sum.of[g][h]);
        set_feature_sum(*input.features, c, sum);
    }
}
#endif

// An edge, loaded by one lane: the source, and bytes of the dropout mask and of chosen heads.
struct Edge {
    word node;
    word kept[GROUPS], chosen[GROUPS];
};

// What is read of a source.
struct Source {
    Row row;
    Heads score;
};

// Adds the edges first, first + 1, ... of a node up to `end`, in chunks that are `step` edges apart.
__device__ __forceinline__ void walk(
    const Input& input, Ring ring, const Row& own, const Heads& own_score, word node, word first, word end, word step,
    Running& running) {
    Row a;
    if (IS_V2) a = load_row(input.vectors, 0);
    IF_EDGES(if (MESSAGES) clear_feature_sums(*input.features);)
    auto load = [&](word at) {
        Edge edge = {node};
        if (at >= end) return edge;
        edge.node = __ldg(input.sources + at);
        EACH_GROUP(g) {
            if (DROPS) edge.kept[g] = __ldg(input.keep + (size_t)at * GROUPS + g);
            if (CHOOSES) edge.chosen[g] = __ldg(input.chosen + (size_t)at * GROUPS + g);
        }
        return edge;
    };
    auto gather = [&](auto& way, size_t j) {
        Source source;
        source.row = way.row(input.z, source_row(j));
        if (HAS_GO) source.score = way.heads(input.source_score, j);
        return source;
    };
    auto visit = [&](const Source& source, const Edge& edges, word lane, word at, bool is_edge) {
        Heads dp = pair_score(a, own, source.row, input.slope), score, shrink, weight;
        IF_EDGES(Terms terms = terms_of(input.edges, is_edge ? at : 0);)
        bool grows = false;
        EACH_GROUP(g) {
#pragma unroll
            for (int h = 0; h < OWNED; ++h) {
                float go = HAS_GO ? own_score.of[g][h] + source.score.of[g][h] : 0.0f;
                float x = leaky_score(form_score(go, dp.of[g][h]) IF_EDGES(+ terms.score.of[g][h]), input.slope);
                IF_EDGES(x += terms.log_weight;)
                score.of[g][h] = is_edge ? x : 2.0f * LOWEST;
                grows |= score.of[g][h] > running.largest.of[g][h] + ROOM;
            }
        }
        if (__any_sync(ALL_LANES, grows)) {
            EACH_HEAD(g, h) {
                float largest = fmaxf(running.largest.of[g][h], score.of[g][h]);
                shrink.of[g][h] = __expf(running.largest.of[g][h] - largest);
                running.largest.of[g][h] = largest;
            }
            scale(running, shrink);
            IF_EDGES(if (MESSAGES) scale_features(input, shrink);)
        }
        EACH_GROUP(g) {
            word kept = DROPS ? of_lane(edges.kept[g], lane) : 0, chosen = CHOOSES ? of_lane(edges.chosen[g], lane) : 0;
#pragma unroll
            for (int h = 0; h < OWNED; ++h) {
                float x = score.of[g][h], p = __expf(x - running.largest.of[g][h]);
                if (CHOOSES) p = by_bit(chosen, first_head() + h, p);
                weight.of[g][h] = DROPS ? p * by_bit(kept, first_head() + h, input.keep_scale) : p;
                running.sum.of[g][h] += p;
                if (ABOVE) {
                    running.sum_above.of[g][h] += x > 0.0f ? p : 0.0f;
                    // The sign tells all lanes that the score is not above zero.
                    if (x <= 0.0f) weight.of[g][h] = -weight.of[g][h];
                }
            }
        }
        IF_EDGES(if (MESSAGES) add_features(input, is_edge ? at : 0, weight);)
        IF_EDGES(if (RESUMES) return;)
        Factors factor = spread(weight);
        EACH_QUAD(g, k) {
            float4 z = source.row.quad[g][k];
            add_product(running.out.quad[g][k], ABOVE ? absolute(factor.of[g]) : factor.of[g], z);
            if (ABOVE) add_product(running.out_above.quad[g][k], above_zero(factor.of[g]), z);
        }
    };
    visit_entries<ROW_BYTES + (HAS_GO ? HEAD_BYTES : 0), false>(
        ring, load(first + threadIdx.x % SHARED_LANES), first, end, step, load, gather, visit);
}

// Scales the sums to a new largest score.
__device__ __forceinline__ void rescale(Running& running, const Heads& largest) {
    Heads shrink;
    EACH_HEAD(g, h) shrink.of[g][h] = __expf(running.largest.of[g][h] - largest.of[g][h]);
    scale(running, shrink);
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
    if (ABOVE) {
        add_teams<FROM, LANES>(running.sum_above);
        add_teams<FROM, LANES>(running.out_above);
    }
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
__device__ __forceinline__ void finish(
    Running& running, word nodes, word node, bool stores, float* state, float* out) {
    Heads inverse, log_sum, rest;
    EACH_HEAD(g, h) {
        // A node without edges has no coefficients.
        bool has_edges = running.sum.of[g][h] > 0.0f;
        inverse.of[g][h] = has_edges ? 1.0f / running.sum.of[g][h] : 0.0f;
        float log_of_sum = has_edges ? logf(running.sum.of[g][h]) : -LOWEST;
        log_sum.of[g][h] = running.largest.of[g][h] + log_of_sum;
        rest.of[g][h] = (running.largest.of[g][h] - log_sum.of[g][h]) + log_of_sum;
    }
    scale(running, inverse);
    if (!stores) return;
    store_slot(state, node, LOG_SUM, log_sum);
    if (!HAS_GO) store_slot(state, node, REST, rest);
    IF_EDGES(if (RESUMES) add_stored(out, node, running.out);)
    store_row(out, node, running.out);
    if (ABOVE) {
        float* above = state + (size_t)nodes * STATE * NODE_HEADS;
        store_row(above, node, running.out_above);
        store_node_heads(above + (size_t)nodes * ROW, node, running.sum_above);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, IS_V2 || EDGES ? 1 : GROUPS * HELD <= 3 ? 4 : HALF && GROUPS * HELD <= MOST_HELD ? 3 : 1) attention_forward(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources, const word* __restrict__ heavy,
    word heavy_count, word heavy_blocks, word most_edges, const Gathered* __restrict__ z,
    const float* __restrict__ source_score, const float* __restrict__ vectors, const byte* __restrict__ keep,
    float keep_scale, const byte* __restrict__ chosen, float slope, float* state, float* __restrict__ out IF_EDGES(, Edges terms)) {
    await_earlier_kernels();
    __shared__ BlockMemory memory;
    Ring ring = ring_of_block();
    IF_EDGES(__shared__ FeatureSums<CHUNK> features;)
    Input input = {sources, z, source_score, vectors, keep, chosen, keep_scale, slope IF_EDGES(, terms, &features)};
    // A block has one heavy node after another, or a few light nodes.
    bool is_heavy = blockIdx.x < heavy_blocks;
    word first = is_heavy ? threadIdx.x / SHARED_LANES * SHARED_LANES : 0;
    word stride = is_heavy ? THREADS : SHARED_LANES, index = blockIdx.x;
    do {
        size_t place = (size_t)(blockIdx.x - heavy_blocks) * NODES_PER_BLOCK + threadIdx.x / SHARED_LANES;
        word node = is_heavy ? heavy[index] : (word)min(place, (size_t)nodes - 1);
        word begin = offsets[node], end = offsets[node + 1];
        bool works = is_heavy || (place < nodes && end - begin <= most_edges);
        if (!works) end = begin;
        if (!__any_sync(ALL_LANES, works)) return;
        Running running = {all_heads(LOWEST), all_heads(0.0f), zero_row(), all_heads(0.0f), zero_row()};
        Heads own_score;
        if (HAS_GO) own_score = load_slot(state, node, SCORE);
        walk(input, ring, load_row(z, target_row(node)), own_score, node, begin + first, end, stride, running);
        IF_EDGES(Heads walked = running.largest;)
        combine<TEAM, SHARED_LANES>(running);
        if (is_heavy) {
            combine<SHARED_LANES, 32>(running);
            Heads largest = running.largest;
            largest_of_warps(largest, memory);
            rescale(running, largest);
            add_warps(running.sum, memory);
            add_warps(running.out, memory);
            if (ABOVE) {
                add_warps(running.sum_above, memory);
                add_warps(running.out_above, memory);
            }
        }
        bool stores = is_heavy ? threadIdx.x < TEAM : works && threadIdx.x % SHARED_LANES < TEAM;
        IF_EDGES(if (MESSAGES) finish_features(input, walked, node, is_heavy, stores, memory, running);)
        finish(running, nodes, node, stores, state, out);
        index += heavy_blocks;
    } while (is_heavy && index < heavy_count);
}
