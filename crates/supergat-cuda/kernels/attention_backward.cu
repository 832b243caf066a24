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
// as in the forward pass. The gradients of the vectors, sum_i d t_i z_i and sum_i d s_i z_i, are summed per block, and
// another kernel adds up the blocks. The last block adds up the losses.
//
// GO needs no walk as target if the forward pass kept P and A (ABOVE): the gradients of the coefficients of a node add up
// to zero, so only edges with scores above zero, where the slope of LeakyReLU is another one, contribute to
//
//     d t_i = (1 - slope) (g_i . P_i - A_i g_i . out_i)     P_i = sum of alpha_ij k_ij z_j,  A_i = sum of alpha_ij
//
// Features of edges (`edges.cuh`) have the gradient d u_h = sum over incoming edges of d e_ijh f_ij. If messages carry
// them, the gradient of a coefficient is g_i . (z_j + V_h f_ij) = g_i . z_j + d s_ih . f_ij. A launch for further features
// computes their part of d u only.
//
// Defined by the host: DROPS, CHOOSES, SYMMETRIC, SUPERVISED, ABOVE.

// Whether edges are visited as incoming and outgoing ones together, by halves of a team.
constexpr bool TOGETHER = SYMMETRIC && !ABOVE;
constexpr bool SPLIT = TOGETHER && HALVES;

// Adds the gradients of a node from its sampled incoming edges under GO, a lane per edge, without the softmax.
__device__ __forceinline__ void add_sampled(
    const Input& input, const Node& own, word first, word end, word step, Sums& gathered) {
    Heads score;
    EACH_HEAD(g, h) score.of[g][h] = own.state.of[g][h].x;
    float own_sum = sum_of_heads(score), sum = 0.0f, loss = 0.0f;
    for (word at = first + threadIdx.x % SHARED_LANES; at < end; at += step) {
        if (!is_marked(input.positives, at)) continue;
        const float* scores = input.source_score + (size_t)__ldg(input.sources + at) * NODE_HEADS;
        float x = own_sum;
#pragma unroll
        for (int h = 0; h < NODE_HEADS; ++h) x += __ldg(scores + h);
        sum += edge_gradient(input.pair_weight, x * (1.0f / HEADS), true, loss);
    }
#pragma unroll
    for (int lanes = 1; lanes < TEAM; lanes *= 2) {
        sum += __shfl_xor_sync(ALL_LANES, sum, lanes);
        loss += __shfl_xor_sync(ALL_LANES, loss, lanes);
    }
    EACH_HEAD(g, h) gathered.scores[0].of[g][h] += sum;
    gathered.loss += loss;
}

// Gradient of the score of a node as target, from the sums over its edges with scores above zero.
__device__ __forceinline__ Heads score_gradient_above(const Input& input, const Node& own, size_t nodes, size_t node) {
    const float* above = input.state + nodes * STATE * NODE_HEADS;
    Heads d = dot(own.gradient, load_row(above, node)), share = node_heads(above + nodes * ROW, node);
    EACH_HEAD(g, h) {
        d.of[g][h] = (1.0f - input.slope) * fmaf(-share.of[g][h], own.state.of[g][h].z, d.of[g][h]);
    }
    return d;
}

// A sampled non-edge of a node, loaded by one lane: the other node, and whether this node is the target.
struct NonEdge {
    word node, is_target;
};

// The non-edge number `at` of a node: those as target come first.
__device__ __forceinline__ NonEdge non_edge_at(const NonEdges& lists, word node, const NonEdgeRange& range, word at) {
    if (at >= range.count) return {node, 0};
    bool is_target = at < range.as_target_count;
    word place = is_target ? range.as_target + at : range.as_source + (at - range.as_target_count);
    return {__ldg((is_target ? lists.sources : lists.targets) + place), is_target};
}

// Adds the gradients of a node from its non-edges. `next` are those of the first chunk.
__device__ __forceinline__ void walk_non_edges(
    const Input& input, Ring ring, const NonEdges& lists, const Node& own, word node, const NonEdgeRange& range,
    NonEdge next, word first, word step, Sums& gathered) {
    auto load = [&](word at) { return non_edge_at(lists, node, range, at); };
    auto gather = [&](auto& way, size_t other) {
        Node result;
        if (HAS_DP) result.z = way.row(input.z, other);
        else result.state = way.state(input.state, other);
        return result;
    };
    visit_entries<HAS_DP ? ROW_BYTES : STATE_BYTES, true>(
        ring, next, first, range.count, step, load, gather,
        [&](const Node& other, const NonEdge& entries, word lane, word, bool is_entry) {
            bool is_target = of_lane(entries.is_target, lane);
            float x;
            if (HAS_DP) {
                x = sum_of_elements(products(own.z, other.z)) * (logit_scale() / HEADS);
            } else {
                Heads go;
                EACH_HEAD(g, h) {
                    float4 mine = own.state.of[g][h], its = other.state.of[g][h];
                    go.of[g][h] = is_target ? mine.x + its.w : its.x + mine.w;
                }
                x = sum_of_heads(go) * (1.0f / HEADS);
            }
            float d = non_edge_gradient(input.pair_weight, x, is_target, gathered.loss);
            d = is_entry ? d : 0.0f;
            if (HAS_DP) {
                d *= logit_scale();
                EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], make_float4(d, d, d, d), other.z.quad[g][k]);
            } else {
                EACH_HEAD(g, h) {
                    if (SPLIT) {
                        gathered.scores[0].of[g][h] += is_target != is_upper() ? d : 0.0f;
                    } else {
                        gathered.scores[0].of[g][h] += is_target ? d : 0.0f;
                        gathered.scores[1].of[g][h] += is_target ? 0.0f : d;
                    }
                }
            }
        });
}

// Sums over the nodes of a thread, in registers, or in shared memory where a lane has many quads.
struct VectorSums {
    static constexpr int QUADS_OF_LANE = GROUPS * HELD;
    static constexpr bool IN_MEMORY = HAS_GO && HALF && QUADS_OF_LANE > 3 && QUADS_OF_LANE <= MOST_HELD;
    static constexpr int IN_SHARED = IN_MEMORY ? 2 * QUADS_OF_LANE : 1;

    float4 (*memory)[THREADS];
    Row rows[2];

    __device__ __forceinline__ explicit VectorSums(float4 (*memory)[THREADS]) : memory(memory), rows{zero_row(), zero_row()} {
        if (!IN_MEMORY) return;
#pragma unroll
        for (int k = 0; k < IN_SHARED; ++k) memory[k][threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }

    // Adds a row times factors to the sum of targets (0) or of sources (1).
    __device__ __forceinline__ void add(int side, const Factors& factors, const Row& row) {
        EACH_QUAD(g, k) {
            float4& sum = IN_MEMORY ? memory[side * QUADS_OF_LANE + g * HELD + k][threadIdx.x] : rows[side].quad[g][k];
            add_product(sum, factors.of[g], row.quad[g][k]);
        }
    }

    __device__ __forceinline__ Row sum(int side) const {
        if (!IN_MEMORY) return rows[side];
        Row row;
        EACH_QUAD(g, k) row.quad[g][k] = memory[side * QUADS_OF_LANE + g * HELD + k][threadIdx.x];
        return row;
    }
};

// Completes the gradient of a node, stores it, and adds its part of the gradients of the vectors. All lanes of a warp
// call this; those with `stores` store.
__device__ __forceinline__ void finish(
    const Node& own, Sums& gathered, const float* vectors, word node, bool stores, float* d_z, VectorSums& sums) {
    if (HAS_GO) {
        Factors target = spread(gathered.scores[0]), source = spread(gathered.scores[1]);
        Row a_target = load_row(vectors, 0), a_source = load_row(vectors, 1);
        EACH_QUAD(g, k) {
            add_product(gathered.d_z.quad[g][k], target.of[g], a_target.quad[g][k]);
            add_product(gathered.d_z.quad[g][k], source.of[g], a_source.quad[g][k]);
        }
        if (stores) {
            sums.add(0, target, own.z);
            sums.add(1, source, own.z);
        }
    }
    if (stores) store_row(d_z, node, gathered.d_z);
}

extern "C" __global__ void __launch_bounds__(THREADS, ABOVE && GROUPS == 1 && HELD <= 2 ? 3 : 2) attention_backward(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources,
    const word* __restrict__ out_offsets, const word* __restrict__ targets, const word* __restrict__ positions,
    const word* __restrict__ heavy, word heavy_count, word heavy_blocks, word most_edges, const Gathered* __restrict__ z,
    const float* __restrict__ source_score, const float* __restrict__ state, const Gathered* __restrict__ gradient,
    const byte* __restrict__ keep, float keep_scale, const byte* __restrict__ chosen, float slope,
    const float* __restrict__ vectors, const byte* __restrict__ positives,
    const word* __restrict__ non_edge_target_offsets, const word* __restrict__ non_edge_sources,
    const word* __restrict__ non_edge_source_offsets, const word* __restrict__ non_edge_targets, float pair_weight,
    double inverse_count, const word* __restrict__ sample_error, float* __restrict__ d_z, float* partial,
    double* losses, word* counter, double* record IF_EDGES(, Edges edges)) {
    await_earlier_kernels();
    __shared__ BlockMemory memory;
    Ring ring = ring_of_block();
    IF_EDGES(__shared__ FeatureSums<CHUNK_SHARE> features;)
    Input input = {offsets, sources,  out_offsets, targets, positions,  z,          source_score, state,
                   gradient, keep,    chosen,      positives, keep_scale, slope,    pair_weight
                   IF_EDGES(, edges, &features)};
    NonEdges lists = {non_edge_target_offsets, non_edge_sources, non_edge_source_offsets, non_edge_targets};
    __shared__ float4 sums_memory[VectorSums::IN_SHARED][THREADS];
    VectorSums sums(sums_memory);
    double loss = 0.0;
    IF_EDGES(if (EDGE_FEATURES) clear_feature_sums(features);)
    // A block has one heavy node after another, or a few light nodes at a time.
    bool is_heavy = blockIdx.x < heavy_blocks;
    word first = is_heavy ? threadIdx.x / SHARED_LANES * SHARED_LANES : 0, stride = is_heavy ? THREADS : SHARED_LANES;
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
        if (!__any_sync(ALL_LANES, works)) continue;
        NonEdgeRange range = {0, 0, 0, 0};
        if (SUPERVISED && works) range = range_of(lists, node);
        // The first non-edges are on their way while edges are processed.
        NonEdge others = {node, 0};
        if (SUPERVISED) others = non_edge_at(lists, node, range, first + threadIdx.x % SHARED_LANES);
        Node own = {load_row(z, node), load_row(gradient, node), load_state(state, node)};
        Heads above = all_heads(0.0f);
        if (ABOVE) above = score_gradient_above(input, own, nodes, node);
        Sums gathered = {zero_row(), {all_heads(0.0f), all_heads(0.0f)}, 0.0f};
#if RESUMES
        walk<true, false>(input, ring, own, node, begin + first, end, stride, gathered);
        continue;
#endif
        if (TOGETHER) {
            walk<true, true>(input, ring, own, node, begin + first, end, stride, gathered);
        } else {
            if (!ABOVE) walk<true, false>(input, ring, own, node, begin + first, end, stride, gathered);
            if (ABOVE && SUPERVISED) add_sampled(input, own, begin + first, end, stride, gathered);
            walk<false, true>(input, ring, own, node, out + first, out_end, stride, gathered);
        }
        if (SUPERVISED) walk_non_edges(input, ring, lists, own, node, range, others, first, stride, gathered);
        if (team_lane() == 0) loss += gathered.loss;
        add_teams<TEAM, SHARED_LANES>(gathered.d_z);
        if (HAS_GO) {
            if (SPLIT) {
                EACH_HEAD(g, h) {
                    float mine = gathered.scores[0].of[g][h], its = __shfl_xor_sync(ALL_LANES, mine, OWNERS);
                    gathered.scores[0].of[g][h] = is_upper() ? its : mine;
                    gathered.scores[1].of[g][h] = is_upper() ? mine : its;
                }
            }
            add_teams<TEAM, SHARED_LANES>(gathered.scores[0]);
            add_teams<TEAM, SHARED_LANES>(gathered.scores[1]);
        }
        if (is_heavy) {
            add_teams<SHARED_LANES, 32>(gathered.d_z);
            add_warps(gathered.d_z, memory);
            if (HAS_GO) {
                add_teams<SHARED_LANES, 32>(gathered.scores[0]);
                add_warps(gathered.scores[0], memory);
                add_teams<SHARED_LANES, 32>(gathered.scores[1]);
                add_warps(gathered.scores[1], memory);
            }
        }
        if (ABOVE) {
            EACH_HEAD(g, h) gathered.scores[0].of[g][h] += above.of[g][h];
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
        Row target = sums.sum(0), source = sums.sum(1);
        add_teams<TEAM, 32>(target);
        add_warps(target, memory);
        add_teams<TEAM, 32>(source);
        add_warps(source, memory);
        if (threadIdx.x < TEAM) {
            store_row(partial, 2 * (size_t)blockIdx.x, target);
            store_row(partial, 2 * (size_t)blockIdx.x + 1, source);
        }
    }
    if ((!SUPERVISED && !EDGE_FEATURES) || !is_last_block(counter)) return;
    if (SUPERVISED) add_losses(losses, loss_memory, inverse_count, sample_error, record);
    IF_EDGES(if (EDGE_FEATURES) add_vector_gradients(edges);)
}
