// Rounds numbers to bfloat16, the upper half of their 32 bits: to the nearest, of two equally near ones to the even one.

__device__ __forceinline__ word rounded(float x) {
    word bits = __float_as_uint(x);
    return (x != x ? bits | 0x400000u : bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
}

extern "C" __global__ void round_rows(wide quads, const float4* __restrict__ from, uint2* __restrict__ to) {
    await_earlier_kernels();
    for (wide at = (wide)blockIdx.x * blockDim.x + threadIdx.x; at < quads; at += (wide)gridDim.x * blockDim.x) {
        float4 x = from[at];
        to[at] = make_uint2(rounded(x.x) | rounded(x.y) << 16, rounded(x.z) | rounded(x.w) << 16);
    }
}
