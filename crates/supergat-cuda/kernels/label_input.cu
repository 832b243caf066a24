// Labels as input: rows with a number per class that follow the features of a node.
//
//   y_i = one-hot label (0/1 of each class, if a node may have several)      nodes that show their label
//   y_i = 0, or the probabilities of the previous pass (label reuse)         all other nodes
//
// Rows are stored after dropout, whose mask has a bit per node and class; each row starts a new byte.

#define NO_PLACE 0xFFFFFFFFu

// Factor of a number after dropout; `bytes` is the length of a row of the mask.
__device__ __forceinline__ float kept(
    const word* clock, word tag, word threshold, float scale, wide node, word bytes, word column) {
    if (clock == nullptr || threshold == 0) return 1.0f;
    word keep = keep_byte(Stream(clock, tag), node * bytes + column / 8, threshold);
    return keep >> (column % 8) & 1 ? scale : 0.0f;
}

// `places` are the places of nodes among the `train` training nodes, of which `count` show their label in a step. Without
// a clock all do. A thread has the eight classes of a byte of the mask.
extern "C" __global__ void __launch_bounds__(256) show_labels(word nodes, word classes, const word* __restrict__ single,
    const byte* __restrict__ multi, const word* __restrict__ places, const word* __restrict__ clock, word choice_tag,
    word dropout_tag, word threshold, float scale, wide train, word grid_rows, word grid_columns, wide count,
    byte* __restrict__ shown, float* __restrict__ rows) {
    await_earlier_kernels();
    word bytes = (classes + 7) / 8;
    wide thread = (wide)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= (wide)nodes * bytes) return;
    wide node = thread / bytes;
    word first = (word)(thread % bytes) * 8, place = places[node];
    bool is_shown = place != NO_PLACE;
    if (is_shown && clock != nullptr)
        is_shown = Permutation(Stream(clock, choice_tag), train, grid_rows, grid_columns).apply(place) < count;
    if (first == 0) shown[node] = is_shown;
    word label = is_shown && multi == nullptr ? single[node] : NO_PLACE;
    for (word c = first; c < min(first + 8, classes); ++c) {
        bool has = multi == nullptr ? c == label : is_shown && multi[node * classes + c] == 1;
        rows[node * classes + c] = has ? kept(clock, dropout_tag, threshold, scale, node, bytes, c) : 0.0f;
    }
}

// A warp has the row of a node.
extern "C" __global__ void __launch_bounds__(256) reuse_labels(word nodes, word classes, word is_multi,
    const byte* __restrict__ shown, const word* __restrict__ clock, word dropout_tag, word threshold, float scale,
    const float* __restrict__ logits, float* __restrict__ rows) {
    await_earlier_kernels();
    word bytes = (classes + 7) / 8, lane = threadIdx.x % 32;
    wide node = ((wide)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (node >= nodes || shown[node]) return;
    const float* from = logits + node * classes;
    float largest = __int_as_float(0xFF800000), sum = 0.0f;
    if (!is_multi) {
        for (word c = lane; c < classes; c += 32) largest = fmaxf(largest, from[c]);
        largest = warp_max(largest);
        for (word c = lane; c < classes; c += 32) sum += expf(from[c] - largest);
        sum = warp_sum(sum);
    }
    for (word c = lane; c < classes; c += 32) {
        float p = is_multi ? 1.0f / (1.0f + expf(-from[c])) : expf(from[c] - largest) / sum;
        rows[node * classes + c] = p * kept(clock, dropout_tag, threshold, scale, node, bytes, c);
    }
}
