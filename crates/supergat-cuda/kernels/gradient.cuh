// What the gradients of all forms of attention share: the edge loss, the lists of its non-edges, and the gradients of the
// vectors u of edge features.
//
//     L_E = mean of softplus(-x) over sampled edges and of softplus(x) over sampled non-edges, x = mean logit of heads
//     d x = sigmoid(x) - 1 for edges, sigmoid(x) for non-edges
//     d u_h = sum over incoming edges of d e_ijh f_ij

// Whether an edge is in the sample.
__device__ __forceinline__ bool is_marked(const byte* positives, word edge) {
    return __ldg(positives + edge / 8) >> (edge % 8) & 1;
}

// Gradient of every head's logit for a sampled edge with mean logit x; adds the loss if `counts`.
__device__ __forceinline__ float edge_gradient(float pair_weight, float x, bool counts, float& loss) {
    float small = __expf(-fabsf(x));
    loss += counts ? softplus(-x, small) : 0.0f;
    return -__fdividef(x > 0.0f ? small : 1.0f, 1.0f + small) * pair_weight;
}

// Gradient of every head's logit for a sampled non-edge with mean logit x; adds the loss if `counts`.
__device__ __forceinline__ float non_edge_gradient(float pair_weight, float x, bool counts, float& loss) {
    float small = __expf(-fabsf(x));
    loss += counts ? softplus(x, small) : 0.0f;
    return __fdividef(x > 0.0f ? 1.0f : small, 1.0f + small) * pair_weight;
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

// Number of turns in which `stride` teams take `count` edges.
__device__ __forceinline__ word turns(word count, word stride) { return (count + stride - 1) / stride; }

// Adds the losses of all blocks to the record. Called by one block.
__device__ __forceinline__ void add_losses(
    const double* losses, double* memory, double inverse_count, const word* sample_error, double* record) {
    double loss = 0.0;
    for (word block = threadIdx.x; block < gridDim.x; block += THREADS) loss += __ldcg(losses + block);
    loss = block_sum(loss, memory);
    if (threadIdx.x == 0) *record += *sample_error ? __longlong_as_double(0x7FF8000000000000ll) : loss * inverse_count;
}

#if EDGES
__device__ __forceinline__ void add_heads(Heads& sum, const Heads& heads) {
    EACH_HEAD(g, h) sum.of[g][h] += heads.of[g][h];
}

// Adds `d_score` times a feature to the gradients of the vectors u.
__device__ __forceinline__ void add_vector_product(
    FeatureSums<CHUNK_SHARE>& features, word share, const Heads& d_score, float feature) {
    Heads sum = feature_sum(features, share);
    EACH_HEAD(g, h) sum.of[g][h] = fmaf(d_score.of[g][h], feature, sum.of[g][h]);
    set_feature_sum(features, share, sum);
}

// Adds the gradients of the vectors u from that of the score of an edge: a lane adds those of its features.
__device__ __forceinline__ void add_vector_gradient(
    const Edges& edges, FeatureSums<CHUNK_SHARE>& features, size_t edge, const Heads& d_score) {
    word first = sharer() * CHUNK_SHARE;
    if (CHUNK == FEW_FEATURES) {
        EACH_FEATURE(edges, edge, { add_vector_product(features, k - first, d_score, feature); })
        return;
    }
    const float* chunk = chunk_of(edges, edge);
    for (word c = first; c < min(first + CHUNK_SHARE, edges.count); ++c) {
        add_vector_product(features, c - first, d_score, __ldg(chunk + c));
    }
}

// Sums the gradients of the vectors u over the threads of a block.
__device__ __forceinline__ void store_vector_gradient(
    const Edges& edges, const FeatureSums<CHUNK_SHARE>& features, BlockMemory& memory) {
    for (word share = 0; share < CHUNK_SHARE; ++share) {
        Heads sum = feature_sum(features, share);
        add_teams<TEAM, 32>(sum);
        add_warps(sum, memory);
        word c = sharer() * CHUNK_SHARE + share;
        size_t place = (size_t)blockIdx.x * edges.count + c;
        if (threadIdx.x < TEAM && c < edges.count) put_heads(edges.partial + place * HEAD_ROW, first_head(), sum);
    }
}

// Sums the gradients of the vectors u over all blocks. Called by one block.
__device__ __forceinline__ void add_vector_gradients(const Edges& edges) {
    word columns = edges.count * (HEAD_ROW / 4);
    float4* to = (float4*)(edges.d_vectors + (size_t)edges.first * HEAD_ROW);
    add_quads((const float4*)edges.partial, gridDim.x, columns, columns, to);
}
#endif
