// Gradient of attention and of the edge loss.
//
//     out_i = sum_j alpha_ij k_ij z_j           alpha_i = softmax_j(LeakyReLU(e_ij)), k is dropout, g_i = d out_i
//     d LeakyReLU(e_ij) = alpha_ij (k_ij g_i . z_j - g_i . out_i)
//     d z_j += alpha_ij k_ij g_i                and d z_i, d z_j through the scores e_ij
//
// The edge loss and its gradient are in `gradient.cuh`.
//
// Every node gathers its own gradient: as target over its incoming edges and as source over its outgoing edges (one
// walk if the graph is symmetric), and over its non-edges in both directions. Teams take turns at the edges of a node,
// as in the forward pass. The gradients of the vectors, sum_i d t_i z_i and sum_i d s_i z_i, and the losses are summed
// per block; the last block adds up the blocks.
//
// Features of edges (`edges.cuh`) have the gradient d u_h = sum over incoming edges of d e_ijh f_ij. If messages carry
// them, the gradient of a coefficient is g_i . (z_j + V_h f_ij) = g_i . z_j + d s_ih . f_ij. A launch for further features
// computes their part of d u only.
//
// Defined by the host: DROPS, CHOOSES, SYMMETRIC, SUPERVISED.

// Whether the rows of the next edge are loaded before the present one is processed.
constexpr bool AHEAD = GROUPS * HELD <= 2;

// Adds the gradients of a node from the neighbours first, first + stride, ... of its list [begin, end); `trips` is
// equal in all lanes of a warp.
template <bool IN, bool OUT>
__device__ __forceinline__ void walk(
    const Input& input, const Own& own, word node, word begin, word end, word first, word stride, word trips,
    Gathered& gathered) {
    word at = begin + first;
    if (!AHEAD) {
        for (word trip = 0; trip < trips; ++trip, at += stride) {
            Place place = place_of<IN, OUT>(input, node, begin, end, at);
            visit<IN, OUT>(input, own, neighbour_of<IN, OUT>(input, place), gathered);
        }
        return;
    }
    if (trips == 0) return;
    Neighbour<IN, OUT> now = neighbour_of<IN, OUT>(input, place_of<IN, OUT>(input, node, begin, end, at));
    Place next = place_of<IN, OUT>(input, node, begin, end, at + stride);
    for (word trip = 1; trip < trips; ++trip) {
        at += stride;
        Place later = place_of<IN, OUT>(input, node, begin, end, at + stride);
        Neighbour<IN, OUT> following = neighbour_of<IN, OUT>(input, next);
        visit<IN, OUT>(input, own, now, gathered);
        now = following;
        next = later;
    }
    visit<IN, OUT>(input, own, now, gathered);
}

// Adds the gradients of a node from its non-edges first, first + stride, ...
__device__ __forceinline__ void walk_non_edges(
    const Input& input, const NonEdges& lists, const Own& own, word node, const NonEdgeRange& range, word first,
    word stride, word trips, Gathered& gathered) {
    word at = first;
    for (word trip = 0; trip < trips; ++trip, at += stride) {
        bool valid = at < range.count, is_target = at < range.as_target_count;
        word j = node;
        if (valid) {
            j = is_target ? __ldg(lists.sources + range.as_target + at)
                          : __ldg(lists.targets + range.as_source + (at - range.as_target_count));
        }
        Row z;
        float x;
        if (HAS_DP) {
            z = load_row(input.z, j);
            x = sum_of_elements(products(own.z, z)) * (logit_scale() / HEADS);
        } else {
            const float* place = is_target ? input.source_score + (size_t)j * HEAD_ROW
                                           : input.state + ((size_t)j * STATE + SCORE) * HEAD_ROW;
            Heads go = load_heads(place, first_head());
            EACH_HEAD(g, h) go.of[g][h] += is_target ? own.target.score.of[g][h] : own.source.of[g][h];
            x = sum_of_heads(go) * (1.0f / HEADS);
        }
        float d = non_edge_gradient(input.pair_weight, x, is_target, gathered.loss);
        d = valid ? d : 0.0f;
        if (HAS_DP) {
            d *= logit_scale();
            EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], make_float4(d, d, d, d), z.quad[g][k]);
        } else {
            EACH_HEAD(g, h) {
                gathered.d_target.of[g][h] += is_target ? d : 0.0f;
                gathered.d_source.of[g][h] += is_target ? 0.0f : d;
            }
        }
    }
}

// Sums over the nodes of a block.
struct VectorSums {
    Row target, source;
};

// Completes the gradient of a node, stores it, and adds its part of the gradients of the vectors. All lanes of a warp
// call this; those with `stores` store.
__device__ __forceinline__ void finish(
    const Own& own, Gathered& gathered, const float* vectors, word node, bool stores, float* d_z, VectorSums& sums) {
    if (HAS_GO) {
        Factors target = spread(gathered.d_target), source = spread(gathered.d_source);
        Row a_target = load_row(vectors, 0), a_source = load_row(vectors, 1);
        EACH_QUAD(g, k) {
            add_product(gathered.d_z.quad[g][k], target.of[g], a_target.quad[g][k]);
            add_product(gathered.d_z.quad[g][k], source.of[g], a_source.quad[g][k]);
            if (stores) {
                add_product(sums.target.quad[g][k], target.of[g], own.z.quad[g][k]);
                add_product(sums.source.quad[g][k], source.of[g], own.z.quad[g][k]);
            }
        }
    }
    if (stores) store_row(d_z, node, gathered.d_z);
}

__device__ __forceinline__ Gathered nothing() { return {zero_row(), all_heads(0.0f), all_heads(0.0f), 0.0f}; }

extern "C" __global__ void __launch_bounds__(THREADS, 2) attention_backward(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources,
    const word* __restrict__ out_offsets, const word* __restrict__ targets, const word* __restrict__ positions,
    const word* __restrict__ heavy, word heavy_count, word heavy_blocks, word most_edges, const float* __restrict__ z,
    const float* __restrict__ source_score, const float* __restrict__ state, const float* __restrict__ gradient,
    const byte* __restrict__ keep, float keep_scale, const byte* __restrict__ chosen, float slope,
    const float* __restrict__ vectors, const byte* __restrict__ positives,
    const word* __restrict__ non_edge_target_offsets, const word* __restrict__ non_edge_sources,
    const word* __restrict__ non_edge_source_offsets, const word* __restrict__ non_edge_targets, float pair_weight,
    double inverse_count, const word* __restrict__ sample_error, float* __restrict__ d_z, float* partial,
    double* losses, word* counter, float* d_vectors, double* record IF_EDGES(, Edges edges)) {
    __shared__ BlockMemory memory;
    IF_EDGES(__shared__ FeatureSums<CHUNK_SHARE> features;)
    Input input = {offsets, sources,  out_offsets, targets, positions,  z,          source_score, state,
                   gradient, keep,    chosen,      positives, keep_scale, slope,    pair_weight
                   IF_EDGES(, edges, &features)};
    NonEdges lists = {non_edge_target_offsets, non_edge_sources, non_edge_source_offsets, non_edge_targets};
    VectorSums sums = {zero_row(), zero_row()};
    double loss = 0.0;
    IF_EDGES(if (EDGE_FEATURES) clear_feature_sums(features);)
    // A block has one heavy node after another, or a few light nodes at a time.
    bool is_heavy = blockIdx.x < heavy_blocks;
    word first = is_heavy ? threadIdx.x / TEAM : threadIdx.x % SHARED_LANES / TEAM;
    word stride = is_heavy ? TEAMS_PER_BLOCK : TEAMS;
    size_t step = is_heavy ? heavy_blocks : (size_t)(gridDim.x - heavy_blocks) * NODES_PER_BLOCK;
    // Place of the warp's first node, among the heavy nodes or among all, and the end of the places.
    size_t warp_place = is_heavy ? blockIdx.x
                                 : (size_t)(blockIdx.x - heavy_blocks) * NODES_PER_BLOCK +
                                       threadIdx.x / 32 * NODES_PER_WARP;
    size_t places = is_heavy ? heavy_count : nodes;
    for (; warp_place < places; warp_place += step) {
        size_t place = warp_place + threadIdx.x % 32 / SHARED_LANES;
        word node = is_heavy ? heavy[warp_place] : (word)min(place, (size_t)nodes - 1);
        word begin = offsets[node], end = offsets[node + 1];
        word out = SYMMETRIC ? begin : out_offsets[node], out_end = SYMMETRIC ? end : out_offsets[node + 1];
        bool works = is_heavy || (place < nodes && end - begin <= most_edges && out_end - out <= most_edges);
        if (!works) end = begin, out_end = out;
        NonEdgeRange range = {0, 0, 0, 0};
        if (SUPERVISED && works) range = range_of(lists, node);
        word in_trips = turns(end - begin, stride), out_trips = turns(out_end - out, stride);
        word trips = turns(range.count, stride);
        if (NODES_PER_WARP > 1) {
            in_trips = warp_max(in_trips);
            if (!SYMMETRIC) out_trips = warp_max(out_trips);
            if (SUPERVISED) trips = warp_max(trips);
        }
        if (!__any_sync(ALL_LANES, works)) continue;
        Own own = own_of(input, node);
        Gathered gathered = nothing();
#if RESUMES
        walk<true, false>(input, own, node, begin, end, first, stride, in_trips, gathered);
        continue;
#endif
        if (SYMMETRIC) {
            walk<true, true>(input, own, node, begin, end, first, stride, in_trips, gathered);
        } else {
            walk<true, false>(input, own, node, begin, end, first, stride, in_trips, gathered);
            walk<false, true>(input, own, node, out, out_end, first, stride, out_trips, gathered);
        }
        if (SUPERVISED) walk_non_edges(input, lists, own, node, range, first, stride, trips, gathered);
        if (team_lane() == 0) loss += gathered.loss;
        add_teams<TEAM, SHARED_LANES>(gathered.d_z);
        if (HAS_GO) {
            add_teams<TEAM, SHARED_LANES>(gathered.d_target);
            add_teams<TEAM, SHARED_LANES>(gathered.d_source);
        }
        if (is_heavy) {
            add_teams<SHARED_LANES, 32>(gathered.d_z);
            add_warps(gathered.d_z, memory);
            if (HAS_GO) {
                add_teams<SHARED_LANES, 32>(gathered.d_target);
                add_warps(gathered.d_target, memory);
                add_teams<SHARED_LANES, 32>(gathered.d_source);
                add_warps(gathered.d_source, memory);
            }
        }
        bool stores = is_heavy ? threadIdx.x < TEAM : works && threadIdx.x % SHARED_LANES < TEAM;
        finish(own, gathered, vectors, node, stores, d_z, sums);
    }
    if (!HAS_GO && !SUPERVISED && !EDGE_FEATURES) return;
    __shared__ double loss_memory[32];
    if (SUPERVISED) {
        loss = block_sum(loss, loss_memory);
        if (threadIdx.x == 0) losses[blockIdx.x] = loss;
    }
    IF_EDGES(if (EDGE_FEATURES) store_vector_gradient(edges, features, memory);)
    if (HAS_GO && !RESUMES) {
        add_teams<TEAM, 32>(sums.target);
        add_warps(sums.target, memory);
        add_teams<TEAM, 32>(sums.source);
        add_warps(sums.source, memory);
        if (threadIdx.x < TEAM) {
            store_row(partial, 2 * (size_t)blockIdx.x, sums.target);
            store_row(partial, 2 * (size_t)blockIdx.x + 1, sums.source);
        }
    }
    if (!is_last_block(counter)) return;
    if (SUPERVISED) add_losses(losses, loss_memory, inverse_count, sample_error, record);
    IF_EDGES(if (EDGE_FEATURES) add_vector_gradients(edges);)
    if (HAS_GO && !RESUMES) add_blocks(partial, gridDim.x, d_vectors, false);
}
