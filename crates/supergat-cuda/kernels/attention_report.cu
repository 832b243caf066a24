// Attention as a result: alpha_ij = exp(LeakyReLU(e_ij) + ln w_ij - ln sum_i) and the edge logit of every edge
// and head, and the mean logit over heads of pairs. V2 has no LeakyReLU around e_ij.

// Raw scores of the pair j -> i.
__device__ __forceinline__ void raw_scores(
    const Gathered* z, const float* source_score, const float* vectors, const float* state, float slope, size_t i, size_t j,
    Heads& go, Heads& dp) {
    go = all_heads(0.0f);
    Row a, target, source;
    if (IS_V2) a = load_row(vectors, 0);
    if (IS_V2 || HAS_DP) target = load_row(z, target_row(i)), source = load_row(z, source_row(j));
    dp = pair_score(a, target, source, slope);
    if (HAS_GO) {
        Heads target = load_slot(state, i, SCORE), source = node_heads(source_score, j);
        EACH_HEAD(g, h) go.of[g][h] = target.of[g][h] + source.of[g][h];
    }
}

// A team per target goes over the edges of its node.
extern "C" __global__ void __launch_bounds__(THREADS) edge_values(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources, const Gathered* __restrict__ z,
    const float* __restrict__ source_score, const float* __restrict__ vectors, const float* __restrict__ state, float slope,
    float* __restrict__ coefficients, float* __restrict__ logits IF_EDGES(, Edges edges)) {
    await_earlier_kernels();
    size_t team = ((size_t)blockIdx.x * THREADS + threadIdx.x) / TEAM;
    word node = (word)min(team, (size_t)nodes - 1), begin = offsets[node], end = team < nodes ? offsets[node + 1] : begin;
    word trips = warp_max(end - begin);
    int first = first_head();
    State own = load_state(state, node);
    for (word trip = 0; trip < trips; ++trip) {
        bool valid = begin + trip < end;
        size_t edge = valid ? begin + trip : 0;
        Heads go, dp;
        IF_EDGES(Terms terms = terms_of(edges, edge);)
        raw_scores(z, source_score, vectors, state, slope, node, valid ? sources[edge] : node, go, dp);
        EACH_HEAD(g, h) {
            int head = g * 8 + first + h;
            float score = leaky_score(form_score(go.of[g][h], dp.of[g][h]) IF_EDGES(+ terms.score.of[g][h]), slope);
            IF_EDGES(score += terms.log_weight;)
            if (valid && head < HEADS && team_lane() < OWNERS) {
                coefficients[edge * HEADS + head] = coefficient(score, own.of[g][h]);
                logits[edge * HEADS + head] = form_logit(go.of[g][h], dp.of[g][h]);
            }
        }
    }
}

// A team per pair [source, target].
extern "C" __global__ void __launch_bounds__(THREADS) pair_logits(
    word count, const uint2* __restrict__ pairs, const Gathered* __restrict__ z, const float* __restrict__ source_score,
    const float* __restrict__ vectors, const float* __restrict__ state, float slope, float* __restrict__ out) {
    await_earlier_kernels();
    size_t team = ((size_t)blockIdx.x * THREADS + threadIdx.x) / TEAM;
    uint2 pair = pairs[min(team, (size_t)count - 1)];
    Heads go, dp;
    raw_scores(z, source_score, vectors, state, slope, pair.y, pair.x, go, dp);
    EACH_HEAD(g, h) go.of[g][h] = form_logit(go.of[g][h], dp.of[g][h]);
    float sum = sum_of_heads(go);
    if (team < count && team_lane() == 0) out[team] = sum * (1.0f / HEADS);
}
