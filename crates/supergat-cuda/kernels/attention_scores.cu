// Scores of nodes: t_i = a_target . z_i in the state, s_i = a_source . z_i, for each head. Forward passes read
// the scores of sources only, from an array of their own.

extern "C" __global__ void __launch_bounds__(THREADS) attention_scores(
    word nodes, const float* __restrict__ z, const float* __restrict__ vectors, float* __restrict__ state,
    float* __restrict__ source_score) {
    await_earlier_kernels();
    size_t team = ((size_t)blockIdx.x * THREADS + threadIdx.x) / TEAM;
    size_t node = min(team, (size_t)nodes - 1);
    Row own = load_row(z, node);
    Heads target = dot(own, load_row(vectors, 0)), source = dot(own, load_row(vectors, 1));
    if (team < nodes) {
        store_scores(state, node, target, source);
        store_node_heads(source_score, node, source);
    }
}
