// Sums of columns over all rows, in a fixed order. A row has `quads` vectors of four numbers.

__device__ __forceinline__ void add(float4& sum, float4 x)
{
    sum.x += x.x; sum.y += x.y; sum.z += x.z; sum.w += x.w;
}

__device__ __forceinline__ float4 zero_quad() { return make_float4(0.f, 0.f, 0.f, 0.f); }

// Sum of `rows` rows of `width` quads in shared memory, by the threads of the first row.
__device__ __forceinline__ float4 sum_rows(const float4* shared, unsigned rows, unsigned width, unsigned column)
{
    float4 sum = shared[column];
    for (unsigned r = 1; r < rows; r++) add(sum, shared[r * width + column]);
    return sum;
}

// Whether the block is the last to arrive at a ticket. It then sees what all others have written.
__device__ __forceinline__ bool arrives_last(unsigned* ticket)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(ticket, 1u) + 1 == gridDim.x;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

// Activations: 0 none, 1 ELU, 2 ReLU.
__device__ __forceinline__ float activated(unsigned activation, float x)
{
    if (activation == 0 || x > 0.f) return x;
    // x - x is zero, or NaN for NaN.
    return activation == 1 ? expf(x) - 1.f : x - x;
}

// Derivative of an activation, from its output.
__device__ __forceinline__ float slope(unsigned activation, float y)
{
    if (activation == 0 || y > 0.f) return 1.f;
    return activation == 1 ? y + 1.f : 0.f;
}

// Multiplies a quad by its bits of a dropout mask.
__device__ __forceinline__ void drop(float4& g, const unsigned char* keep, size_t at, float scale)
{
    unsigned bits = keep[at >> 1] >> (4 * (at & 1));
    g.x *= bits & 1 ? scale : 0.f;
    g.y *= bits & 2 ? scale : 0.f;
    g.z *= bits & 4 ? scale : 0.f;
    g.w *= bits & 8 ? scale : 0.f;
}

// Rows of heads, and the place of the shared term of attention in the state of a node.
struct Shape {
    unsigned nodes, quads, vectors, groups, lane_heads, heads, features, slots, slot;
};

// The products of a quad, added up for its heads: the first numbers are those of up to four heads.
__device__ __forceinline__ float4 by_head(float4 x, unsigned lane_heads)
{
    if (lane_heads > 2) return x;
    x.x += x.z, x.y += x.w;
    if (lane_heads == 1) x.x += x.y;
    return x;
}

// Writes g_i . s_i of each head of the rows in shared memory, which are products by head: thread (row, group, head).
__device__ __forceinline__ void write_shared(
    const float4* products, unsigned rows, size_t first, Shape shape, float* state)
{
    unsigned per_row = shape.groups * shape.lane_heads, of_group = 2 * shape.vectors, step = shape.lane_heads == 8 ? 2 : 1;
    for (unsigned t = threadIdx.x; t < rows * per_row; t += blockDim.x) {
        unsigned row = t / per_row, group = t % per_row / shape.lane_heads, head = t % shape.lane_heads;
        size_t node = first + row;
        if (node >= shape.nodes) continue;
        const float* of_head = (const float*)(products + row * shape.quads + group * of_group) + head % 4;
        float sum = 0.f;
#pragma unroll 4
        for (unsigned quad = head / 4; quad < of_group; quad += step) sum += of_head[4 * quad];
        state[(node * per_row + t % per_row) * shape.slots + shape.slot] = sum;
    }
}
