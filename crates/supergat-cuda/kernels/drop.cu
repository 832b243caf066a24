// Dropout of dense rows: out = keep scale x. Each row of the mask starts a new byte.

// Rows of a multiple of eight numbers: a thread per byte of the mask.
extern "C" __global__ void __launch_bounds__(256) drop_bytes(size_t bytes, const float4* __restrict__ x,
    const unsigned char* __restrict__ keep, float scale, float4* __restrict__ out)
{
    await_earlier_kernels();
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < 2 * bytes; at += stride) {
        unsigned bits = keep[at >> 1] >> (4 * (at & 1));
        float4 v = x[at];
        v.x *= bits & 1 ? scale : 0.f;
        v.y *= bits & 2 ? scale : 0.f;
        v.z *= bits & 4 ? scale : 0.f;
        v.w *= bits & 8 ? scale : 0.f;
        out[at] = v;
    }
}

// Rows of any length: a thread per number.
extern "C" __global__ void __launch_bounds__(256) drop_numbers(size_t count, unsigned columns, const float* __restrict__ x,
    const unsigned char* __restrict__ keep, float scale, float* __restrict__ out)
{
    await_earlier_kernels();
    size_t stride = (size_t)gridDim.x * blockDim.x, row_bytes = (columns + 7) / 8;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        size_t row = at / columns;
        unsigned column = (unsigned)(at - row * columns);
        out[at] = x[at] * (keep[row * row_bytes + (column >> 3)] >> (column & 7) & 1 ? scale : 0.f);
    }
}
