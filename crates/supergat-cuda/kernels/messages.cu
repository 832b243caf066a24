// Gradient of messages that carry the features of their edge, out_i += V_h s_ih with the weighted sums s_i of features:
//
//     d s_ih = V_h^T g_ih         d V_h = sum_i g_ih s_ih^T        g_i = d out_i
//
// A team per node has AT_ONCE features, those of the block's second index. The gradients of V are summed per block; the
// last block with the same features adds up the blocks.
//
// Defined by the host: AT_ONCE.

extern "C" __global__ void __launch_bounds__(THREADS) messages_backward(
    word nodes, word width, const float* __restrict__ gradient, const float* __restrict__ matrix,
    const float* __restrict__ sums, float* __restrict__ d_sums, float* partial, word* counter,
    float* __restrict__ d_matrix) {
    await_earlier_kernels();
    __shared__ BlockMemory memory;
    word first = blockIdx.y * AT_ONCE, count = min(width - first, (word)AT_ONCE);
    int head = first_head();
    Row total[AT_ONCE];
#pragma unroll
    for (word c = 0; c < AT_ONCE; ++c) total[c] = zero_row();
    size_t step = (size_t)gridDim.x * TEAMS_PER_BLOCK;
    size_t team = (size_t)blockIdx.x * TEAMS_PER_BLOCK + threadIdx.x / TEAM;
    for (; team - threadIdx.x % 32 / TEAM < nodes; team += step) {
        bool works = team < nodes;
        size_t node = works ? team : nodes - 1;
        Row own = load_row(gradient, node);
#pragma unroll
        for (word c = 0; c < AT_ONCE; ++c) {
            if (c < count) {
                size_t place = (node * width + first + c) * HEAD_ROW;
                Heads d_sum = dot(own, load_row(matrix, first + c)), sum = load_heads(sums + place, head);
                if (works) store_heads(d_sums + place, head, d_sum);
                Factors factor = spread(sum);
                if (works) EACH_QUAD(g, k) add_product(total[c].quad[g][k], factor.of[g], own.quad[g][k]);
            }
        }
    }
#pragma unroll
    for (word c = 0; c < AT_ONCE; ++c) {
        if (c < count) {
            add_teams<TEAM, 32>(total[c]);
            add_warps(total[c], memory);
            if (threadIdx.x < TEAM) store_row(partial, (size_t)blockIdx.x * width + first + c, total[c]);
        }
    }
    if (!is_last_block(counter + blockIdx.y)) return;
    const float4* parts = (const float4*)partial + (size_t)first * (ROW / 4);
    add_quads(parts, gridDim.x, width * (ROW / 4), count * (ROW / 4), (float4*)d_matrix + (size_t)first * (ROW / 4));
}
