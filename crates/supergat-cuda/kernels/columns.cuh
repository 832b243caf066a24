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
