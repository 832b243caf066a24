// Top-k softmax: marks for every node and head the k incoming edges with the largest scores LeakyReLU(t_i + s_j), or
// all edges if there are at most k. Among equal scores the earlier edge is preferred.
//
// A warp per node and group of heads. Scores are compared as whole numbers in the same order. Their bits are found from
// the highest on: the k-th largest number is the largest x such that at least k scores are x or more.
//
// Defined by the host: GROUPS, LANE_HEADS.

constexpr int THREADS = 256;

// Whole number in the order of the scores. Adding zero makes both zeros equal.
__device__ __forceinline__ word ordered(float score) {
    word bits = __float_as_uint(score + 0.0f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

extern "C" __global__ void __launch_bounds__(THREADS) choose_top_k(
    word nodes, const word* __restrict__ offsets, const word* __restrict__ sources, const float* __restrict__ state,
    const float* __restrict__ source_score, float slope, word k, byte* __restrict__ chosen) {
    await_earlier_kernels();
    size_t warp = ((size_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= (size_t)nodes * GROUPS) return;
    word node = (word)(warp / GROUPS), g = (word)(warp % GROUPS), begin = offsets[node], end = offsets[node + 1];
    if (end - begin <= k) {
        for (word edge = begin + lane; edge < end; edge += 32) chosen[(size_t)edge * GROUPS + g] = 0xFF;
        return;
    }
    // The state has four slots per head, the first of which is the score.
    const float* own = state + ((size_t)node * GROUPS + g) * LANE_HEADS * 4;
    auto score = [&](word edge, int head) {
        return ordered(leaky(own[4 * head] + source_score[((size_t)sources[edge] * GROUPS + g) * LANE_HEADS + head], slope));
    };
    // The k-th largest score of each head, and how many edges with this score are chosen.
    word last[LANE_HEADS], equal[LANE_HEADS];
#pragma unroll
    for (int head = 0; head < LANE_HEADS; ++head) {
        word bound = 0, above = 0;
        for (int bit = 31; bit >= 0; --bit) {
            word trial = bound | 1u << bit, count = 0;
            for (word edge = begin + lane; edge < end; edge += 32) count += score(edge, head) >= trial;
            count = warp_sum(count);
            if (count >= k) bound = trial;
        }
        for (word edge = begin + lane; edge < end; edge += 32) above += score(edge, head) > bound;
        last[head] = bound;
        equal[head] = k - warp_sum(above);
    }
    for (word start = begin; start < end; start += 32) {
        word edge = start + lane, bits = 0;
#pragma unroll
        for (int head = 0; head < LANE_HEADS; ++head) {
            word own_score = edge < end ? score(edge, head) : 0;
            bool is_equal = edge < end && own_score == last[head];
            word alike = __ballot_sync(ALL_LANES, is_equal);
            bool takes = own_score > last[head] || (is_equal && __popc(alike & ((1u << lane) - 1)) < equal[head]);
            equal[head] -= min(equal[head], (word)__popc(alike));
            if (takes) bits |= 1u << head;
        }
#pragma unroll
        for (int repeat = LANE_HEADS; repeat < 8; repeat *= 2) bits |= bits << repeat;
        if (edge < end) chosen[(size_t)edge * GROUPS + g] = (byte)bits;
    }
}
