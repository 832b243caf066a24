// Margin losses of attention scores (CGAT): sum over triples (i, j, k) and heads of relu(s_ik + margin - s_ij), where
// j -> i is an edge, k a rival of j at i, and s_ij = LeakyReLU(t_i + s_j).
//
// A triple with a positive term adds weight s'_ik to the gradient of e_ik and subtracts weight s'_ij from that of e_ij.
// The slope s' is 1 or that of LeakyReLU. So every gradient is a count of terms of either slope, and counts can be
// added in any order. Rivals are drawn where they are needed.
//
//     d t_i = weight (n_1 + slope n_slope)    counts of +1 for e_ik and -1 for e_ij
//     d s_j = weight (n_1 + slope n_slope)    counts of -1 as source of e_ij and +1 as rival
//     d z_i = d t_i a_target + d s_i a_source
//
// Both kernels work on one group of heads.

// Counts of a node: [8 heads][as target, as source][slope 1, slope of LeakyReLU].
constexpr int COUNTS = 32;

// Node number `rank` of the nodes outside a sorted list.
__device__ __forceinline__ word outside_node(const word* list, word length, word rank) {
    word first = 0, last = length;
    while (first < last) {
        word middle = (first + last) / 2;
        if (list[middle] - middle <= rank) first = middle + 1;
        else last = middle;
    }
    return rank + first;
}

// Counts the terms of one loss, and writes the sum of the terms of each block. A warp per target has its slots (edge
// and number of the rival) in turn. The rivals of i are drawn from the nodes without an edge to i, or from the lists
// `pool` if those are given. Only edges with a bit in `among` have rivals, if it is given.
extern "C" __global__ void __launch_bounds__(THREADS) count_margin(
    const word* __restrict__ clock, word tag, word nodes, const word* __restrict__ offsets,
    const word* __restrict__ sources, const word* __restrict__ pool_offsets, const word* __restrict__ pool,
    const byte* __restrict__ among, word per_edge, const float* __restrict__ state,
    const float* __restrict__ source_score, float slope, float margin, word group, int* counts, double* losses) {
    await_earlier_kernels();
    __shared__ double loss_memory[32];
    Stream stream(clock, tag);
    double loss = 0.0;
    int lane = threadIdx.x % 32;
    for (word node = blockIdx.x * WARPS + threadIdx.x / 32; node < nodes; node += gridDim.x * WARPS) {
        word begin = offsets[node], degree = offsets[node + 1] - begin;
        const word* list = pool ? pool + pool_offsets[node] : sources + begin;
        word length = pool ? pool_offsets[node + 1] - pool_offsets[node] : degree;
        word free = pool ? length : nodes - degree;
        if (free == 0) continue;
        for (wide slot = lane; slot < (wide)degree * per_edge; slot += 32) {
            wide edge = begin + slot / per_edge;
            if (among && !(among[edge / 8] >> (edge % 8) & 1)) continue;
            word rank = (word)stream.below((wide)begin * per_edge + slot, free);
            word rival = pool ? list[rank] : outside_node(list, length, rank), source = sources[edge];
            for (int head = 0; head < 8 && group * 8 + head < HEADS; ++head) {
                float target = state[((size_t)node * NODE_HEADS + group * 8 + head) * STATE + SCORE];
                float e_edge = target + source_score[(size_t)source * NODE_HEADS + group * 8 + head];
                float e_rival = target + source_score[(size_t)rival * NODE_HEADS + group * 8 + head];
                float gap = leaky(e_rival, slope) + margin - leaky(e_edge, slope);
                if (gap > 0.0f) {
                    loss += gap;
                    int edge_kind = e_edge > 0.0f ? 0 : 1, rival_kind = e_rival > 0.0f ? 0 : 1;
                    if (edge_kind != rival_kind) {
                        atomicAdd(counts + (size_t)node * COUNTS + head * 4 + rival_kind, 1);
                        atomicSub(counts + (size_t)node * COUNTS + head * 4 + edge_kind, 1);
                    }
                    atomicSub(counts + (size_t)source * COUNTS + head * 4 + 2 + edge_kind, 1);
                    atomicAdd(counts + (size_t)rival * COUNTS + head * 4 + 2 + rival_kind, 1);
                }
            }
        }
    }
    loss = block_sum(loss, loss_memory);
    if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}

// Adds the gradients of one loss to those of z and of the vectors, adds weight times the sum of its terms to the record,
// and sets the counts back to zero. A team per node.
extern "C" __global__ void __launch_bounds__(THREADS) add_margin(
    word nodes, const Gathered* __restrict__ z, const float* __restrict__ vectors, float slope, float weight,
    double loss_weight, word group, int* counts, const double* losses, word loss_blocks, float* d_z, float* partial,
    word* counter, float* d_vectors, double* record) {
    await_earlier_kernels();
    __shared__ BlockMemory memory;
    __shared__ double loss_memory[32];
    int first = first_head();
    Row target_sum = zero_row(), source_sum = zero_row();
    size_t step = (size_t)gridDim.x * TEAMS_PER_BLOCK;
    size_t team = (size_t)blockIdx.x * TEAMS_PER_BLOCK + threadIdx.x / TEAM;
    for (; team - threadIdx.x % 32 / TEAM < nodes; team += step) {
        bool works = team < nodes;
        size_t node = works ? team : nodes - 1;
        Heads target, source;
        EACH_HEAD(g, h) {
            const int* own = counts + node * COUNTS + (first + h) * 4;
            bool counted = works && g == group;
            target.of[g][h] = counted ? weight * ((float)own[0] + slope * (float)own[1]) : 0.0f;
            source.of[g][h] = counted ? weight * ((float)own[2] + slope * (float)own[3]) : 0.0f;
        }
        __syncwarp();
        if (works) {
            for (int k = team_lane(); k < COUNTS; k += TEAM) counts[node * COUNTS + k] = 0;
        }
        Factors target_factor = spread(target), source_factor = spread(source);
        Row own = load_row(z, node), a_target = load_row(vectors, 0), a_source = load_row(vectors, 1);
        EACH_QUAD(g, k) {
            add_product(target_sum.quad[g][k], target_factor.of[g], own.quad[g][k]);
            add_product(source_sum.quad[g][k], source_factor.of[g], own.quad[g][k]);
            if (works && inside(k)) {
                float4* place = (float4*)d_z + quad_place(node, g, k);
                float4 sum = *place;
                add_product(sum, target_factor.of[g], a_target.quad[g][k]);
                add_product(sum, source_factor.of[g], a_source.quad[g][k]);
                *place = sum;
            }
        }
    }
    add_teams<TEAM, 32>(target_sum);
    add_warps(target_sum, memory);
    add_teams<TEAM, 32>(source_sum);
    add_warps(source_sum, memory);
    if (threadIdx.x < TEAM) {
        store_row(partial, 2 * (size_t)blockIdx.x, target_sum);
        store_row(partial, 2 * (size_t)blockIdx.x + 1, source_sum);
    }
    if (!is_last_block(counter)) return;
    double loss = 0.0;
    for (word block = threadIdx.x; block < loss_blocks; block += THREADS) loss += losses[block];
    loss = block_sum(loss, loss_memory);
    if (threadIdx.x == 0) *record += loss * loss_weight;
    add_blocks(partial, gridDim.x, d_vectors, true);
}
