// Gradient of GATv2 attention and of the edge loss.
//
//     e_ij  = a . LeakyReLU(t_i + s_j)          a row of z is s_i, then t_i
//     out_i = sum_j alpha_ij k_ij s_j           alpha_i = softmax_j(e_ij), k is dropout, g_i = d out_i
//     d_ij  = alpha_ij (k_ij g_i . s_j - g_i . out_i)     gradient of e_ij; the edge loss (`gradient.cuh`) adds to it
//     m_ij  = 1 where t_i + s_j is above zero, else the slope
//     p_i   = sum_j d_ij m_ij                   over incoming edges and non-edges
//     q_j   = sum_i d_ij m_ij                   over outgoing edges and non-edges
//     d t_i = a p_i
//     d s_j = a q_j + sum_i alpha_ij k_ij g_i
//     d a   = sum_i p_i t_i + q_i s_i           because LeakyReLU(x) = m x
//
// Every node gathers its own gradient: first as target over its incoming edges, then as source over its outgoing edges.
// So only one of both sums is in registers at a time. Teams take turns at the edges of a node, as in the forward pass. The
// gradient of `a` and the losses are summed per block; the last block adds up the blocks.
//
// Weights and features of edges add ln w_ij and u . f_ij to e_ij in the softmax (`edges.cuh`). If messages carry features,
// the gradient of a coefficient is g_i . s_j + d s_ih . f_ij. A launch for further features computes their part of d u only.
//
// Defined by the host: DROPS, SUPERVISED.

// Edges whose rows a team loads at once, by the rows that each of them needs.
constexpr int FLIGHT_IN = GROUPS * HELD == 1 ? 4 : GROUPS * HELD == 2 ? 2 : 1;
constexpr int FLIGHT_OUT = GROUPS * HELD == 1 ? 2 : 1;

struct Input {
    const word* offsets;
    const word* sources;
    const word* out_offsets;
    const word* targets;
    // Position of each outgoing edge among the incoming edges.
    const word* positions;
    const float* z;
    const float* vectors;
    const float* state;
    const float* gradient;
    const byte* keep;
    const byte* positives;
    float keep_scale, slope, pair_weight;
    // Features: gradients of the vectors u.
    IF_EDGES(Edges edges; FeatureSums<CHUNK_SHARE>* features;)
};

// A node as target: t_i, g_i and its state.
struct Target {
    Row row, gradient;
    State state;
};

__device__ __forceinline__ Target target_of(const Input& input, size_t node) {
    return {load_row(input.z, target_row(node)), load_row(input.gradient, node),
            load_state(input.state, node)};
}

// An edge of a node: its other end, and its position among the incoming edges.
struct Edge {
    word node, position;
    word keep[GROUPS];
    bool valid, marked;
};

// The edge number `at` of a node's incoming (IN) or outgoing list [begin, end).
template <bool IN>
__device__ __forceinline__ Edge edge_of(const Input& input, word node, word begin, word end, word at) {
    Edge edge;
    edge.valid = at < end;
    edge.node = node, edge.position = 0;
    // A node that has nothing left visits its first neighbour again, without effect.
    if (begin < end) {
        word place = edge.valid ? at : begin;
        edge.node = __ldg((IN ? input.sources : input.targets) + place);
        edge.position = IN ? place : DROPS || SUPERVISED || EDGES ? __ldg(input.positions + place) : 0;
    }
    EACH_GROUP(g) edge.keep[g] = DROPS ? __ldg(input.keep + (size_t)edge.position * GROUPS + g) : 0;
    edge.marked = SUPERVISED && edge.valid && is_marked(input.positives, edge.position);
    return edge;
}

// Gradient of the scores of an edge through the softmax and from the edge loss, and its coefficients after dropout.
struct EdgeGradient {
    Heads softmax, weight;
    float loss;
};

// `target` is the node `target_node`; the loss is added if `counts`.
__device__ __forceinline__ EdgeGradient gradient_of(
    const Input& input, const Row& a, const Target& target, const Row& source, const Edge& edge, word target_node,
    bool counts, float& loss) {
    Heads scores = fold(leaky_products(a, target.row, source, input.slope));
    Heads products = dot(target.gradient, source);
    EdgeGradient result;
    result.loss = 0.0f;
    if (SUPERVISED) {
        float d = edge_gradient(input.pair_weight, sum_of_heads(scores) * (1.0f / HEADS), counts && edge.marked, loss);
        result.loss = edge.marked ? d : 0.0f;
    }
#if EDGES
    Terms terms = terms_of(input.edges, edge.position);
    EACH_HEAD(g, h) scores.of[g][h] += terms.score.of[g][h] + terms.log_weight;
    if (MESSAGES) add_heads(products, message_product(input.edges, edge.position, target_node));
#endif
    int first = first_head();
    EACH_HEAD(g, h) {
        float alpha = coefficient(scores.of[g][h], target.state.of[g][h]);
        float keep = DROPS ? by_bit(edge.keep[g], first + h, input.keep_scale) : 1.0f;
        float d = alpha * (products.of[g][h] * keep - target.state.of[g][h].z);
        result.softmax.of[g][h] = edge.valid ? d : 0.0f;
        result.weight.of[g][h] = edge.valid ? alpha * keep : 0.0f;
    }
    return result;
}

// sum += d m with m = 1 where t + s is above zero, else the slope.
__device__ __forceinline__ void add_by_sign(Row& sum, const Row& t, const Row& s, const Factors& d, float slope) {
    EACH_QUAD(g, k) {
        float4 x = t.quad[g][k], positive = d.of[g];
        add(x, s.quad[g][k]);
        float4 other = positive * make_float4(slope, slope, slope, slope);
        add(sum.quad[g][k],
            make_float4(
                x.x > 0.0f ? positive.x : other.x, x.y > 0.0f ? positive.y : other.y,
                x.z > 0.0f ? positive.z : other.z, x.w > 0.0f ? positive.w : other.w));
    }
}

// Gradient of the scores of an edge, repeated for the elements of a lane's quads.
__device__ __forceinline__ Factors spread_score(const EdgeGradient& d) {
    Heads score;
    EACH_HEAD(g, h) score.of[g][h] = d.softmax.of[g][h] + d.loss;
    return spread(score);
}

// Turns of the teams at a list: those at first, first + stride, ... of [begin, end); `trips` is equal in all lanes of a
// warp.
struct Turns {
    word begin, end, first, stride, trips;
};

// Adds to p of a target, and to the gradients of u, from its incoming edges.
__device__ __forceinline__ void walk_in(
    const Input& input, const Row& a, const Target& own, word node, const Turns& turns, Row& p, float& loss) {
    word at = turns.begin + turns.first;
    for (word trip = 0; trip < turns.trips; trip += FLIGHT_IN) {
        Edge edges[FLIGHT_IN];
        Row sources[FLIGHT_IN];
#pragma unroll
        for (int u = 0; u < FLIGHT_IN; ++u, at += turns.stride) {
            edges[u] = edge_of<true>(input, node, turns.begin, turns.end, at);
            sources[u] = load_row(input.z, source_row(edges[u].node));
        }
#pragma unroll
        for (int u = 0; u < FLIGHT_IN; ++u) {
            EdgeGradient d = gradient_of(input, a, own, sources[u], edges[u], node, true, loss);
            IF_EDGES(if (EDGE_FEATURES) add_vector_gradient(input.edges, *input.features, edges[u].position, d.softmax);)
            IF_EDGES(if (RESUMES) continue;)
            add_by_sign(p, own.row, sources[u], spread_score(d), input.slope);
        }
    }
}

// Adds to q of a source, and to its gradient through messages, from its outgoing edges.
__device__ __forceinline__ void walk_out(
    const Input& input, const Row& a, const Row& own, word node, const Turns& turns, Row& q, Row& messages) {
    word at = turns.begin + turns.first;
    float none = 0.0f;
    for (word trip = 0; trip < turns.trips; trip += FLIGHT_OUT) {
        Edge edges[FLIGHT_OUT];
        Target targets[FLIGHT_OUT];
#pragma unroll
        for (int u = 0; u < FLIGHT_OUT; ++u, at += turns.stride) {
            edges[u] = edge_of<false>(input, node, turns.begin, turns.end, at);
            targets[u] = target_of(input, edges[u].node);
        }
#pragma unroll
        for (int u = 0; u < FLIGHT_OUT; ++u) {
            EdgeGradient d = gradient_of(input, a, targets[u], own, edges[u], edges[u].node, false, none);
            add_by_sign(q, targets[u].row, own, spread_score(d), input.slope);
            Factors weight = spread(d.weight);
            EACH_QUAD(g, k) add_product(messages.quad[g][k], weight.of[g], targets[u].gradient.quad[g][k]);
        }
    }
}

// Adds to p of a target (IN), or to q of a source, from its sampled non-edges. `others` are all lists of their other ends.
template <bool IN>
__device__ __forceinline__ void walk_non_edges(
    const Input& input, const word* others, const Row& a, const Row& own, word node, const Turns& turns, Row& sum,
    float& loss) {
    word at = turns.begin + turns.first;
    for (word trip = 0; trip < turns.trips; ++trip, at += turns.stride) {
        bool valid = at < turns.end;
        size_t j = valid ? __ldg(others + at) : node;
        Row other = load_row(input.z, IN ? source_row(j) : target_row(j));
        float x = sum_of_elements(leaky_products(a, own, other, input.slope)) * (1.0f / HEADS);
        float d = non_edge_gradient(input.pair_weight, x, IN && valid, loss);
        d = valid ? d : 0.0f;
        Factors factor;
        EACH_GROUP(g) factor.of[g] = make_float4(d, d, d, d);
        add_by_sign(sum, own, other, factor, input.slope);
    }
}

// Sums a row over the teams that share a node.
__device__ __forceinline__ void combine(Row& row, bool is_heavy, BlockMemory& memory) {
    add_teams<TEAM, SHARED_LANES>(row);
    if (is_heavy) {
        add_teams<SHARED_LANES, 32>(row);
        add_warps(row, memory);
    }
}

// Completes the gradient of a row of z from p or q and stores it; adds its part of the gradient of `a`.
__device__ __forceinline__ void finish(
    const Row& a, const Row& own, const Row& sum, Row d, size_t place, bool stores, float* d_z, Row& d_a) {
    if (!stores) return;
    EACH_QUAD(g, k) {
        add_product(d.quad[g][k], a.quad[g][k], sum.quad[g][k]);
        add_product(d_a.quad[g][k], sum.quad[g][k], own.quad[g][k]);
    }
    store_row(d_z, place, d);
}

// The arguments are those of `attention_backward`; `source_score` and `chosen` are not read.
extern "C" __global__ void __launch_bounds__(THREADS, 2) attention_v2_backward(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources,
    const word* __restrict__ out_offsets, const word* __restrict__ targets, const word* __restrict__ positions,
    const word* __restrict__ heavy, word heavy_count, word heavy_blocks, word most_edges, const float* __restrict__ z,
    const float* __restrict__ source_score, const float* __restrict__ state, const float* __restrict__ gradient,
    const byte* __restrict__ keep, float keep_scale, const byte* __restrict__ chosen, float slope,
    const float* __restrict__ vectors, const byte* __restrict__ positives,
    const word* __restrict__ non_edge_target_offsets, const word* __restrict__ non_edge_sources,
    const word* __restrict__ non_edge_source_offsets, const word* __restrict__ non_edge_targets, float pair_weight,
    double inverse_count, const word* __restrict__ sample_error, float* __restrict__ d_z, float* partial,
    double* losses, word* counter, double* record IF_EDGES(, Edges edges)) {
    await_earlier_kernels();
    __shared__ BlockMemory memory;
    IF_EDGES(__shared__ FeatureSums<CHUNK_SHARE> features;)
    Input input = {offsets,  sources, out_offsets, targets,    positions, z,          vectors, state,
                   gradient, keep,    positives,   keep_scale, slope,     pair_weight IF_EDGES(, edges, &features)};
    NonEdges lists = {non_edge_target_offsets, non_edge_sources, non_edge_source_offsets, non_edge_targets};
    Row d_a = zero_row();
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
        word begin = offsets[node], end = offsets[node + 1], out = out_offsets[node], out_end = out_offsets[node + 1];
        bool works = is_heavy || (place < nodes && end - begin <= most_edges && out_end - out <= most_edges);
        if (!works) end = begin, out_end = out;
        NonEdgeRange range = {0, 0, 0, 0};
        if (SUPERVISED && works) range = range_of(lists, node);
        Turns lists_in = {begin, end, first, stride, turns(end - begin, stride)};
        Turns lists_out = {out, out_end, first, stride, turns(out_end - out, stride)};
        word count_in = range.as_target_count, count_out = range.count - range.as_target_count;
        Turns others_in = {range.as_target, range.as_target + count_in, first, stride, turns(count_in, stride)};
        Turns others_out = {range.as_source, range.as_source + count_out, first, stride, turns(count_out, stride)};
        if (NODES_PER_WARP > 1) {
            lists_in.trips = warp_max(lists_in.trips);
            lists_out.trips = warp_max(lists_out.trips);
            if (SUPERVISED) {
                others_in.trips = warp_max(others_in.trips);
                others_out.trips = warp_max(others_out.trips);
            }
        }
        if (!__any_sync(ALL_LANES, works)) continue;
        bool stores = is_heavy ? threadIdx.x < TEAM : works && threadIdx.x % SHARED_LANES < TEAM;
        Row a = load_row(vectors, 0);
        float loss_of_node = 0.0f;
        {
            Target own = target_of(input, node);
            Row p = zero_row();
            walk_in(input, a, own, node, lists_in, p, loss_of_node);
#if RESUMES
            continue;
#endif
            if (SUPERVISED) {
                walk_non_edges<true>(input, non_edge_sources, a, own.row, node, others_in, p, loss_of_node);
            }
            combine(p, is_heavy, memory);
            finish(a, own.row, p, zero_row(), target_row(node), stores, d_z, d_a);
        }
        Row own = load_row(z, source_row(node)), q = zero_row(), messages = zero_row();
        walk_out(input, a, own, node, lists_out, q, messages);
        float none = 0.0f;
        if (SUPERVISED) walk_non_edges<false>(input, non_edge_targets, a, own, node, others_out, q, none);
        combine(q, is_heavy, memory);
        combine(messages, is_heavy, memory);
        finish(a, own, q, messages, source_row(node), stores, d_z, d_a);
        if (team_lane() == 0) loss += loss_of_node;
    }
    __shared__ double loss_memory[32];
    if (SUPERVISED) {
        loss = block_sum(loss, loss_memory);
        if (threadIdx.x == 0) losses[blockIdx.x] = loss;
    }
    IF_EDGES(if (EDGE_FEATURES) store_vector_gradient(edges, features, memory);)
    if (!RESUMES) {
        add_teams<TEAM, 32>(d_a);
        add_warps(d_a, memory);
        if (threadIdx.x < TEAM) store_row(partial, blockIdx.x, d_a);
    }
    if ((!SUPERVISED && !EDGE_FEATURES) || !is_last_block(counter)) return;
    if (SUPERVISED) add_losses(losses, loss_memory, inverse_count, sample_error, record);
    IF_EDGES(if (EDGE_FEATURES) add_vector_gradients(edges);)
}
