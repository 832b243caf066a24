// Samples of the edge loss: `positives` edges and `wanted` non-edges, grouped by target and by source.
//
//     an edge e is in the sample if permutation(e) < positives
//     candidates are the pairs permutation(0), permutation(1), ...; the first `wanted` that are no edges are kept
//
// If there are few non-edges (LISTED), they are permuted themselves. Both groupings are counting sorts whose lists are
// in the order of drawing. The whole work is one kernel, whose blocks wait for each other between its phases; so there
// must be so few blocks that all run at once.
//
// Defined by the host: LISTED.

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

// Waits until all blocks are here. `goal` counts the arrivals so far; `counter` is zero at the start.
__device__ __forceinline__ void wait_for_blocks(word* counter, word& goal) {
    goal += gridDim.x;
    __syncthreads();
    if (gridDim.x > 1 && threadIdx.x == 0) {
        __threadfence();
        atomicAdd(counter, 1);
        while (*(volatile word*)counter < goal) {
        }
        __threadfence();
    }
    __syncthreads();
}

// Range of block or warp `index` when `count` things are divided among `parts`.
__device__ __forceinline__ uint2 share(word count, word parts, word index) {
    word each = (count + parts - 1) / parts;
    wide first = (wide)each * index;
    return make_uint2((word)min(first, (wide)count), (word)min(first + each, (wide)count));
}

__device__ __forceinline__ bool is_edge(const word* offsets, const word* sources, word source, word target) {
    word first = __ldg(offsets + target), last = __ldg(offsets + target + 1);
    while (first < last) {
        word middle = first + (last - first) / 2;
        word found = __ldg(sources + middle);
        if (found == source) return true;
        if (found < source) first = middle + 1;
        else last = middle;
    }
    return false;
}

// Marks sampled edges: bit e % 8 of byte e / 8.
__device__ __forceinline__ void mark_edges(
    const Permutation& permutation, word edges, word count, byte* marks, wide thread, wide threads) {
    word bytes = edges / 8 + (edges % 8 != 0);
    for (wide at = thread; at < bytes; at += threads) {
        word bits = 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            wide x = at * 8 + k;
            if (x < edges && permutation.apply(x) < count) bits |= 1u << k;
        }
        marks[at] = (byte)bits;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) draw_samples(
    const word* __restrict__ clock, word positive_tag, word negative_tag, word nodes, word edges,
    const word* __restrict__ offsets, const word* __restrict__ sources, word positives, uint2 positive_grid,
    const uint2* __restrict__ listed, wide negative_range, uint2 negative_grid, word candidates, word wanted,
    byte* marks, uint2* pairs, word* flags, word* block_counts, word* cursors, word* drawn, word* target_offsets,
    word* target_list, word* source_offsets, word* source_list, word* counter, word* error) {
    await_earlier_kernels();
    __shared__ word warp_counts[WARPS];
    __shared__ word scan[33];
    wide thread = (wide)blockIdx.x * THREADS + threadIdx.x, threads = (wide)gridDim.x * THREADS;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    word goal = 0;
    {
        Permutation permutation(Stream(clock, positive_tag), edges, positive_grid.x, positive_grid.y);
        mark_edges(permutation, edges, positives, marks, thread, threads);
    }
    // All non-edges are grouped by two keys: 0 by target, 1 by source. `cursors` and `drawn` have a half for each.
    word found = wanted;
    if (wanted > 0) {
        Permutation permutation(Stream(clock, negative_tag), negative_range, negative_grid.x, negative_grid.y);
        if (LISTED) {
            for (wide k = thread; k < wanted; k += threads) {
                uint2 pair = listed[permutation.apply(k)];
                pairs[k] = pair;
                atomicAdd(cursors + pair.y, 1);
                atomicAdd(cursors + nodes + pair.x, 1);
            }
        } else {
            // Each warp has words of 32 candidates one after another.
            uint2 words = share((candidates + 31) / 32, gridDim.x * WARPS, blockIdx.x * WARPS + warp);
            word accepted = 0;
            for (word at = words.x; at < words.y; ++at) {
                wide x = (wide)at * 32 + lane;
                bool accepts = false;
                if (x < candidates) {
                    uint2 pair = permutation.step(permutation.cell(x));
                    accepts = !is_edge(offsets, sources, pair.x, pair.y);
                }
                word bits = __ballot_sync(ALL_LANES, accepts);
                if (lane == 0) flags[at] = bits;
                accepted += __popc(bits);
            }
            if (lane == 0) warp_counts[warp] = accepted;
            __syncthreads();
            if (threadIdx.x == 0) {
                word sum = 0;
                for (int w = 0; w < WARPS; ++w) sum += warp_counts[w];
                block_counts[blockIdx.x] = sum;
            }
            wait_for_blocks(counter, goal);
            word before = 0, all = 0;
            for (word block = lane; block < gridDim.x; block += 32) {
                word count = __ldcg(block_counts + block);
                all += count;
                if (block < blockIdx.x) before += count;
            }
            before = warp_sum(before);
            all = warp_sum(all);
            for (int w = 0; w < warp; ++w) before += warp_counts[w];
            found = min(all, wanted);
            if (thread == 0) *error = all < wanted;
            for (word at = words.x; at < words.y && before < wanted; ++at) {
                word bits = __ldcg(flags + at), place = before + __popc(bits & ((1u << lane) - 1));
                if ((bits >> lane & 1) && place < wanted) {
                    uint2 pair = permutation.step(permutation.cell((wide)at * 32 + lane));
                    pairs[place] = pair;
                    atomicAdd(cursors + pair.y, 1);
                    atomicAdd(cursors + nodes + pair.x, 1);
                }
                before += __popc(bits);
            }
        }
        wait_for_blocks(counter, goal);
    }
    // Offsets are sums of counts. Each block has a range of nodes.
    uint2 own = share(nodes, gridDim.x, blockIdx.x);
    for (int key = 0; key < 2; ++key) {
        word sum = 0;
        for (word node = own.x + threadIdx.x; node < own.y; node += THREADS) {
            sum += __ldcg(cursors + (size_t)key * nodes + node);
        }
        sum = block_sum(sum, scan);
        if (threadIdx.x == 0) block_counts[(2 + key) * gridDim.x + blockIdx.x] = sum;
    }
    wait_for_blocks(counter, goal);
    for (int key = 0; key < 2; ++key) {
        word* key_offsets = key == 0 ? target_offsets : source_offsets;
        word before = 0;
        for (word block = lane; block < blockIdx.x; block += 32) {
            before += __ldcg(block_counts + (2 + key) * gridDim.x + block);
        }
        before = warp_sum(before);
        for (word start = own.x; start < own.y; start += THREADS) {
            word node = start + threadIdx.x, total;
            word* cursor = cursors + (size_t)key * nodes + node;
            word count = node < own.y ? __ldcg(cursor) : 0;
            word offset = before + block_scan(count, scan, total);
            if (node < own.y) {
                key_offsets[node] = offset;
                *cursor = offset;
            }
            before += total;
        }
        if (thread == 0) key_offsets[nodes] = found;
    }
    wait_for_blocks(counter, goal);
    for (wide k = thread; k < found; k += threads) {
        uint2 pair = __ldcg(pairs + k);
        drawn[atomicAdd(cursors + pair.y, 1)] = (word)k;
        drawn[wanted + atomicAdd(cursors + nodes + pair.x, 1)] = (word)k;
    }
    wait_for_blocks(counter, goal);
    // The place of a pair in its list is the number of pairs of the list that were drawn before.
    for (wide at = thread; at < 2 * (wide)found; at += threads) {
        int key = at >= found;
        const word* list = drawn + (key ? wanted : 0);
        word k = __ldcg(list + (key ? at - found : at));
        uint2 pair = __ldcg(pairs + k);
        const word* range = key ? source_offsets + pair.x : target_offsets + pair.y;
        word first = __ldcg(range), last = __ldcg(range + 1), place = first;
        for (word other = first; other < last; ++other) place += __ldcg(list + other) < k;
        if (key) source_list[place] = pair.y;
        else target_list[place] = pair.x;
    }
    for (wide at = thread; at < 2 * (wide)nodes; at += threads) cursors[at] = 0;
    // The last block sets the counter back.
    __syncthreads();
    if (gridDim.x > 1 && threadIdx.x == 0 && atomicAdd(counter, 1) == goal + gridDim.x - 1) *counter = 0;
}
