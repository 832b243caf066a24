// Sums over neighbours with weights fixed by the graph:
//
//   out_i = outer_i sum_j w_ij inner_j z_j (+ root_i)
//
// Edges have weights w if the host defines WEIGHTED; else all are 1.
//
// With a root, a row of z has two halves, and the second one is added. `copy` writes the node's own row of z to
// the second half of its row of `out`, for the gradient of the root.

#ifdef WEIGHTED
#define WEIGHTS , const float* __restrict__ weights
#define FACTOR(e, j) (weights[e] * inner[j])
#else
#define WEIGHTS
#define FACTOR(e, j) inner[j]
#endif

extern "C" __global__ void __launch_bounds__(128) aggregate(const Segment* __restrict__ segments,
    const Split* __restrict__ splits, unsigned count, const unsigned* __restrict__ neighbours,
    const float* __restrict__ outer, const float* __restrict__ inner, unsigned own, unsigned root, unsigned copy,
    const float4* __restrict__ z, unsigned z_quads, unsigned quads, unsigned lanes, float4* partial,
    unsigned* tickets, float4* __restrict__ out, unsigned out_quads WEIGHTS)
{
    await_earlier_kernels();
    sum_segments(segments, splits, count, partial, tickets, quads, lanes,
        [&](unsigned list, unsigned e, unsigned column, float4& sum) {
            unsigned j = neighbours[e];
            if (own || j != list) quad_add(sum, FACTOR(e, j), z[(size_t)j * z_quads + column]);
        },
        [&](unsigned list, unsigned column, float4 sum) {
            float factor = outer[list];
            float4 x = quad_zero();
            if (root) x = z[(size_t)list * z_quads + quads + column];
            quad_add(x, factor, sum);
            out[(size_t)list * out_quads + column] = x;
            if (copy) out[(size_t)list * out_quads + quads + column] = z[(size_t)list * z_quads + column];
        });
}
