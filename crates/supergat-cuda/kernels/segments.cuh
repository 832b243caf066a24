// Sums over lists of very different lengths. Lists are cut into segments, each of which one warp sums. The warp
// that finishes a list last adds the sums of its segments in their order, so the result does not depend on
// which warp that is.

// A segment: list, first and last entry, and the place in the table of cut lists (or none).
struct Segment { unsigned list, start, end, split; };
// A cut list: its first segment, its number of segments, and the row of the first sum.
struct Split { unsigned first, count, row, unused; };

#define NOT_SPLIT 0xFFFFFFFFu

__device__ __forceinline__ float4 quad_zero() { return make_float4(0.f, 0.f, 0.f, 0.f); }

__device__ __forceinline__ void quad_add(float4& sum, float factor, float4 x)
{
    sum.x = fmaf(factor, x.x, sum.x);
    sum.y = fmaf(factor, x.y, sum.y);
    sum.z = fmaf(factor, x.z, sum.z);
    sum.w = fmaf(factor, x.w, sum.w);
}

// Adds the sums of the groups of `lanes` lanes of a warp.
__device__ __forceinline__ float4 quad_fold(float4 sum, unsigned lanes)
{
    for (unsigned d = lanes; d < 32; d <<= 1) {
        sum.x += __shfl_xor_sync(0xFFFFFFFFu, sum.x, d);
        sum.y += __shfl_xor_sync(0xFFFFFFFFu, sum.y, d);
        sum.z += __shfl_xor_sync(0xFFFFFFFFu, sum.z, d);
        sum.w += __shfl_xor_sync(0xFFFFFFFFu, sum.w, d);
    }
    return sum;
}

// Sums a segment per warp. `quads` are the vectors of four numbers of a row. Groups of `lanes` lanes share the
// entries; lane l of a group sums column l of every 32 columns. `entry(list, e, column, sum)` adds entry e,
// `finish(list, column, sum)` stores the sum of a list.
template <class Entry, class Finish>
__device__ __forceinline__ void sum_segments(const Segment* segments, const Split* splits, unsigned count, float4* partial,
    unsigned* tickets, unsigned quads, unsigned lanes, Entry entry, Finish finish)
{
    unsigned item = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (item >= count) return;
    unsigned lane = threadIdx.x % 32, own = lane % lanes, group = lane / lanes, groups = 32 / lanes;
    Segment s = segments[item];
    Split split = {0, 0, 0, 0};
    if (s.split != NOT_SPLIT) split = splits[s.split];
    for (unsigned first = 0; first < quads; first += lanes) {
        unsigned column = first + own;
        float4 sum = quad_zero();
        if (column < quads) {
#pragma unroll 4
            for (unsigned e = s.start + group; e < s.end; e += groups) entry(s.list, e, column, sum);
        }
        sum = quad_fold(sum, lanes);
        if (group == 0 && column < quads) {
            if (s.split == NOT_SPLIT) finish(s.list, column, sum);
            else __stcg(&partial[(size_t)(split.row + item - split.first) * quads + column], sum);
        }
    }
    if (s.split == NOT_SPLIT) return;
    __threadfence();
    __syncwarp();
    unsigned ticket = 0;
    if (lane == 0) ticket = atomicAdd(&tickets[s.split], 1u);
    ticket = __shfl_sync(0xFFFFFFFFu, ticket, 0);
    if (ticket + 1 != split.count) return;
    __threadfence();
    for (unsigned first = 0; first < quads; first += lanes) {
        unsigned column = first + own;
        float4 sum = quad_zero();
        if (column < quads) {
#pragma unroll 4
            for (unsigned k = group; k < split.count; k += groups)
                quad_add(sum, 1.f, __ldcg(&partial[(size_t)(split.row + k) * quads + column]));
        }
        sum = quad_fold(sum, lanes);
        if (group == 0 && column < quads) finish(s.list, column, sum);
    }
    if (lane == 0) tickets[s.split] = 0;
}
