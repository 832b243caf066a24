// Gradient of attention and of the edge loss.
//
//     out_i = sum_j alpha_ij k_ij z_j           alpha_i = softmax_j(LeakyReLU(e_ij)), k is dropout, g_i = d out_i
//     d LeakyReLU(e_ij) = alpha_ij (k_ij g_i . z_j - g_i . out_i)
//     d z_j += alpha_ij k_ij g_i                and d z_i, d z_j through the scores e_ij
//     L_E = mean of softplus(-x) over sampled edges and of softplus(x) over sampled non-edges, x = mean logit of heads
//     d x = sigmoid(x) - 1 for edges, sigmoid(x) for non-edges
//
// Every node gathers its own gradient: as target over its incoming edges and as source over its outgoing edges (one
// walk if the graph is symmetric), and over its non-edges in both directions. Teams take turns at the edges of a node,
// as in the forward pass. The gradients of the vectors, sum_i d t_i z_i and sum_i d s_i z_i, and the losses are summed
// per block; the last block adds up the blocks.
//
// Defined by the host: DROPS, CHOOSES, SYMMETRIC, SUPERVISED.

// Whether the rows of the next edge are loaded before the present one is processed.
constexpr bool AHEAD = GROUPS * HELD <= 2;

struct Input {
    const word* offsets;
    const word* sources;
    const word* out_offsets;
    const word* targets;
    // Position of each outgoing edge among the incoming edges.
    const word* positions;
    const float* z;
    const float* source_score;
    const float* state;
    const float* gradient;
    const byte* keep;
    const byte* chosen;
    const byte* positives;
    float keep_scale, slope, pair_weight;
};

// What is known of a node as target: its state.
struct Target {
    Heads score, largest, inverse, shared;
};

struct Own {
    Row z, gradient;
    Target target;
    Heads source;
};

struct Gathered {
    Row d_z;
    Heads d_target, d_source;
    float loss;
};

__device__ __forceinline__ Heads slot(const Input& input, size_t node, int slot) {
    return load_heads(input.state + (node * STATE + slot) * HEAD_ROW, first_head());
}

__device__ __forceinline__ Heads source_of(const Input& input, size_t node) {
    return load_heads(input.source_score + node * HEAD_ROW, first_head());
}

__device__ __forceinline__ Target target_of(const Input& input, size_t node) {
    Target target;
    if (HAS_GO) target.score = slot(input, node, SCORE);
    target.largest = slot(input, node, LARGEST);
    target.inverse = slot(input, node, INVERSE);
    target.shared = slot(input, node, SHARED);
    return target;
}

__device__ __forceinline__ Own own_of(const Input& input, size_t node) {
    Own own;
    own.z = load_row(input.z, node);
    own.gradient = load_row(input.gradient, node);
    own.target = target_of(input, node);
    if (HAS_GO) own.source = source_of(input, node);
    return own;
}

// A neighbour and the bits of the edges from it and to it.
template <bool IN, bool OUT>
struct Neighbour {
    Row z, gradient;
    Target target;
    Heads source;
    word keep_in[GROUPS], keep_out[GROUPS], chosen_in[GROUPS], chosen_out[GROUPS];
    bool valid, marked_in, marked_out;
};

// Place of an edge: neighbour, and positions of the edges from it and to it.
struct Place {
    word node, in, out;
    bool valid;
};

template <bool IN, bool OUT>
__device__ __forceinline__ Place place_of(const Input& input, word node, word begin, word end, word at) {
    Place place;
    place.valid = at < end;
    // A node that has nothing left visits its first neighbour again, in vain.
    word edge = place.valid ? at : begin;
    if (begin == end) {
        place.node = node, place.in = 0, place.out = 0;
        return place;
    }
    place.node = __ldg((IN ? input.sources : input.targets) + edge);
    place.in = IN ? edge : 0;
    place.out = OUT && (DROPS || CHOOSES || SUPERVISED) ? __ldg(input.positions + edge) : 0;
    return place;
}

__device__ __forceinline__ bool is_marked(const Input& input, word edge) {
    return __ldg(input.positives + edge / 8) >> (edge % 8) & 1;
}

template <bool IN, bool OUT>
__device__ __forceinline__ Neighbour<IN, OUT> neighbour_of(const Input& input, const Place& place) {
    Neighbour<IN, OUT> other;
    other.valid = place.valid;
    other.z = load_row(input.z, place.node);
    if (OUT) {
        other.gradient = load_row(input.gradient, place.node);
        other.target = target_of(input, place.node);
    }
    if (HAS_GO && IN) other.source = source_of(input, place.node);
    EACH_GROUP(g) {
        size_t in = (size_t)place.in * GROUPS + g, out = (size_t)place.out * GROUPS + g;
        if (DROPS && IN) other.keep_in[g] = __ldg(input.keep + in);
        if (DROPS && OUT) other.keep_out[g] = __ldg(input.keep + out);
        if (CHOOSES && IN) other.chosen_in[g] = __ldg(input.chosen + in);
        if (CHOOSES && OUT) other.chosen_out[g] = __ldg(input.chosen + out);
    }
    other.marked_in = SUPERVISED && IN && place.valid && is_marked(input, place.in);
    other.marked_out = SUPERVISED && OUT && place.valid && is_marked(input, place.out);
    return other;
}

// Gradient of the raw scores of an edge for one head, and its coefficient after dropout.
struct EdgeGradient {
    float go, dp, weight;
};

// `product` is the gradient of the target's output times the source's row.
__device__ __forceinline__ EdgeGradient through_softmax(
    const Input& input, const Target& target, int g, int h, float go, float dp, float product, word keep_bits,
    word chosen_bits) {
    int head = first_head() + h;
    float score = form_score(go, dp);
    float alpha = __expf(leaky(score, input.slope) - target.largest.of[g][h]) * target.inverse.of[g][h];
    if (CHOOSES) alpha = by_bit(chosen_bits, head, alpha);
    float keep = DROPS ? by_bit(keep_bits, head, input.keep_scale) : 1.0f;
    float d_leaky = alpha * (product * keep - target.shared.of[g][h]);
    float d_score = score > 0.0f ? d_leaky : d_leaky * input.slope;
    float2 d = form_score_backward(d_score, go, dp);
    return {d.x, d.y, alpha * keep};
}

// Gradient of every head's logit for a sampled edge with mean logit x; adds the loss if `counts`.
__device__ __forceinline__ float edge_gradient(const Input& input, float x, bool counts, float& loss) {
    float small = __expf(-fabsf(x));
    if (counts) loss += softplus(-x, small);
    return -__fdividef(x > 0.0f ? small : 1.0f, 1.0f + small) * input.pair_weight;
}

// Factor of the dot product in the logit.
__device__ __forceinline__ float logit_scale() { return FORM == 2 ? score_scale() : 1.0f; }

// Adds the gradients of a node from a neighbour.
template <bool IN, bool OUT>
__device__ __forceinline__ void visit(
    const Input& input, const Own& own, const Neighbour<IN, OUT>& other, Gathered& gathered) {
    Heads dp = HAS_DP ? dot(own.z, other.z) : all_heads(0.0f);
    Heads product_in = IN ? dot(own.gradient, other.z) : all_heads(0.0f);
    Heads product_out = OUT ? dot(other.gradient, own.z) : all_heads(0.0f);
    Heads go_in = all_heads(0.0f), go_out = all_heads(0.0f);
    if (HAS_GO && IN) EACH_HEAD(g, h) go_in.of[g][h] = own.target.score.of[g][h] + other.source.of[g][h];
    if (HAS_GO && OUT) EACH_HEAD(g, h) go_out.of[g][h] = other.target.score.of[g][h] + own.source.of[g][h];

    float logit_in = 0.0f, logit_out = 0.0f;
    if (SUPERVISED) {
        if (HAS_DP) {
            float x = sum_of_heads(dp) * (logit_scale() / HEADS);
            float d = edge_gradient(input, x, other.marked_in, gathered.loss);
            logit_in = other.marked_in ? d : 0.0f;
            logit_out = other.marked_out ? d : 0.0f;
        } else {
            if (IN) {
                float x = sum_of_heads(go_in) * (1.0f / HEADS);
                float d = edge_gradient(input, x, other.marked_in, gathered.loss);
                logit_in = other.marked_in ? d : 0.0f;
            }
            if (OUT) {
                float x = sum_of_heads(go_out) * (1.0f / HEADS), none = 0.0f;
                float d = edge_gradient(input, x, false, none);
                logit_out = other.marked_out ? d : 0.0f;
            }
        }
    }
    Heads d_dp = all_heads(HAS_DP ? (logit_in + logit_out) * logit_scale() : 0.0f), weight = all_heads(0.0f);
    EACH_HEAD(g, h) {
        float d_target = HAS_DP ? 0.0f : logit_in, d_source = HAS_DP ? 0.0f : logit_out;
        if (IN) {
            EdgeGradient d = through_softmax(
                input, own.target, g, h, go_in.of[g][h], dp.of[g][h], product_in.of[g][h], other.keep_in[g],
                other.chosen_in[g]);
            d_dp.of[g][h] += other.valid ? d.dp : 0.0f;
            d_target += other.valid ? d.go : 0.0f;
        }
        if (OUT) {
            EdgeGradient d = through_softmax(
                input, other.target, g, h, go_out.of[g][h], dp.of[g][h], product_out.of[g][h], other.keep_out[g],
                other.chosen_out[g]);
            d_dp.of[g][h] += other.valid ? d.dp : 0.0f;
            d_source += other.valid ? d.go : 0.0f;
            weight.of[g][h] = other.valid ? d.weight : 0.0f;
        }
        if (HAS_GO) {
            gathered.d_target.of[g][h] += d_target;
            gathered.d_source.of[g][h] += d_source;
        }
    }
    if (OUT) {
        Factors factor = spread(weight);
        EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], factor.of[g], other.gradient.quad[g][k]);
    }
    if (HAS_DP) {
        Factors factor = spread(d_dp);
        EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], factor.of[g], other.z.quad[g][k]);
    }
}

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

// Sampled non-edges: sources by target, and targets by source.
struct NonEdges {
    const word* target_offsets;
    const word* sources;
    const word* source_offsets;
    const word* targets;
};

// Ranges of a node in the lists of non-edges.
struct NonEdgeRange {
    word as_target, as_target_count, as_source, count;
};

__device__ __forceinline__ NonEdgeRange range_of(const NonEdges& lists, word node) {
    NonEdgeRange range;
    range.as_target = __ldg(lists.target_offsets + node);
    range.as_target_count = __ldg(lists.target_offsets + node + 1) - range.as_target;
    range.as_source = __ldg(lists.source_offsets + node);
    range.count = range.as_target_count + __ldg(lists.source_offsets + node + 1) - range.as_source;
    return range;
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
        float small = __expf(-fabsf(x));
        float d = valid ? __fdividef(x > 0.0f ? 1.0f : small, 1.0f + small) * input.pair_weight : 0.0f;
        if (is_target) gathered.loss += softplus(x, small);
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

__device__ __forceinline__ word turns(word count, word stride) { return (count + stride - 1) / stride; }

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
    double* losses, word* counter, float* d_vectors, double* record) {
    __shared__ BlockMemory memory;
    Input input = {offsets, sources,  out_offsets, targets, positions,  z,          source_score, state,
                   gradient, keep,    chosen,      positives, keep_scale, slope,    pair_weight};
    NonEdges lists = {non_edge_target_offsets, non_edge_sources, non_edge_source_offsets, non_edge_targets};
    VectorSums sums = {zero_row(), zero_row()};
    double loss = 0.0;
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
        if (in_trips == 0) continue;
        Own own = own_of(input, node);
        Gathered gathered = nothing();
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
    if (!HAS_GO && !SUPERVISED) return;
    __shared__ double loss_memory[32];
    if (SUPERVISED) {
        loss = block_sum(loss, loss_memory);
        if (threadIdx.x == 0) losses[blockIdx.x] = loss;
    }
    if (HAS_GO) {
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
    if (SUPERVISED) {
        loss = 0.0;
        for (word block = threadIdx.x; block < gridDim.x; block += THREADS) loss += __ldcg(losses + block);
        loss = block_sum(loss, loss_memory);
        if (threadIdx.x == 0) *record += *sample_error ? __longlong_as_double(0x7FF8000000000000ll) : loss * inverse_count;
    }
    if (HAS_GO) add_blocks(partial, gridDim.x, d_vectors, false);
}
