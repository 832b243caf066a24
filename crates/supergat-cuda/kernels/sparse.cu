// Products of sparse features X with weights, under a dropout mask:
//
//   out_i = sum over entries e of row i of    keep_e value_e W[column_e]
//   out_k = sum over entries e of column k of keep_e value_e G[row_e]
//
// The mask has a bit for each entry in the order of rows.

__device__ __forceinline__ float kept(const unsigned char* keep, float scale, unsigned e)
{
    return keep == nullptr ? 1.f : (keep[e >> 3] >> (e & 7) & 1 ? scale : 0.f);
}

// A warp per row.
extern "C" __global__ void __launch_bounds__(128) sparse_product(unsigned rows, const unsigned* __restrict__ offsets,
    const unsigned* __restrict__ index, const float* __restrict__ values, const unsigned char* __restrict__ keep,
    float scale, const float4* __restrict__ weight, unsigned quads, unsigned lanes, float4* __restrict__ out)
{
    await_earlier_kernels();
    unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    unsigned lane = threadIdx.x % 32, own = lane % lanes, group = lane / lanes, groups = 32 / lanes;
    unsigned start = offsets[row], end = offsets[row + 1];
    for (unsigned first = 0; first < quads; first += lanes) {
        unsigned column = first + own;
        float4 sum = quad_zero();
        if (column < quads) {
#pragma unroll 4
            for (unsigned e = start + group; e < end; e += groups) {
                float factor = kept(keep, scale, e);
                if (factor != 0.f) quad_add(sum, values[e] * factor, weight[(size_t)index[e] * quads + column]);
            }
        }
        sum = quad_fold(sum, lanes);
        if (group == 0 && column < quads) out[(size_t)row * quads + column] = sum;
    }
}

// A warp per segment of a column. `places` are the positions of the entries in the order of rows.
extern "C" __global__ void __launch_bounds__(128) sparse_transposed(const Segment* __restrict__ segments,
    const Split* __restrict__ splits, unsigned count, const unsigned* __restrict__ rows,
    const unsigned* __restrict__ places, const float* __restrict__ values, const unsigned char* __restrict__ keep,
    float scale, const float4* __restrict__ gradient, unsigned quads, unsigned lanes, float4* partial,
    unsigned* tickets, float4* __restrict__ out)
{
    await_earlier_kernels();
    sum_segments(segments, splits, count, partial, tickets, quads, lanes,
        [&](unsigned, unsigned e, unsigned column, float4& sum) {
            float factor = keep == nullptr ? 1.f : kept(keep, scale, places[e]);
            if (factor != 0.f) quad_add(sum, values[e] * factor, gradient[(size_t)rows[e] * quads + column]);
        },
        [&](unsigned list, unsigned column, float4 sum) { out[(size_t)list * quads + column] = sum; });
}
