// Products of narrow dense matrices, stored by rows, with dropout of X during the product:
//
//   KIND 0   C = drop(X) W       rows = nodes,    columns = stride,  depth = width of X
//   KIND 1   C = drop(X)^T G     rows = width,    columns = stride,  depth = nodes, divided among blocks along z
//   KIND 2   C = G W^T           rows = nodes,    columns = width,   depth = stride
//
// A block computes a tile of 16 TM x BN numbers of C. A thread computes TM x 4 of them, in registers, from tiles of
// both factors in shared memory. `columns` is a multiple of eight.

#define BK 16
#define BM (16 * TM)
#define TC (BN / 4)
#define THREADS (16 * TC)

// Four factors of dropout for columns from `column` on, a multiple of four.
__device__ __forceinline__ float4 drop4(float4 v, const unsigned char* keep, size_t byte, unsigned column, float scale)
{
    if (keep != nullptr) {
        unsigned bits = keep[byte] >> (column & 4);
        v.x *= bits & 1 ? scale : 0.f;
        v.y *= bits & 2 ? scale : 0.f;
        v.z *= bits & 4 ? scale : 0.f;
        v.w *= bits & 8 ? scale : 0.f;
    }
    return v;
}

// Numbers of X of a row from `column` on, after dropout; zeros outside of X.
__device__ __forceinline__ float4 load_x(const float* x, const unsigned char* keep, float scale, size_t row, size_t rows,
    unsigned column, unsigned width)
{
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (row >= rows || column >= width) return v;
    const float* from = x + row * width + column;
    if (width % 4 == 0) {
        v = *(const float4*)from;
    } else {
        v.x = from[0];
        if (column + 1 < width) v.y = from[1];
        if (column + 2 < width) v.z = from[2];
        if (column + 3 < width) v.w = from[3];
    }
    return drop4(v, keep, row * ((width + 7) / 8) + column / 8, column, scale);
}

extern "C" __global__ void __launch_bounds__(THREADS) multiply(size_t rows, unsigned columns, size_t depth,
    size_t depth_per_block, const float* __restrict__ x, const unsigned char* __restrict__ keep, float scale,
    const float* __restrict__ y, float* __restrict__ out, float* partial, unsigned* tickets)
{
    __shared__ float4 a_tile[BK][BM / 4 + 1];
    __shared__ float4 b_tile[BK][BN / 4 + 1];
    __shared__ bool last;
    size_t row0 = (size_t)blockIdx.x * BM;
    unsigned column0 = blockIdx.y * BN;
    unsigned tr = threadIdx.x / TC, tc = threadIdx.x % TC;
    size_t start = (size_t)blockIdx.z * depth_per_block;
    size_t end = start + depth_per_block < depth ? start + depth_per_block : depth;
    float sum[TM][4];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = 0.f;

    for (size_t k0 = start; k0 < end; k0 += BK) {
        // Tile of the first factor, with the depth as slow axis.
#if KIND == 1
        for (unsigned t = threadIdx.x; t < BK * BM / 4; t += THREADS) {
            unsigned k = t / (BM / 4), m = t % (BM / 4);
            a_tile[k][m] = load_x(x, keep, scale, k0 + k, end, (unsigned)row0 + 4 * m, (unsigned)rows);
        }
#else
        for (unsigned t = threadIdx.x; t < BM * BK / 4; t += THREADS) {
            unsigned m = t / (BK / 4), k = t % (BK / 4) * 4;
            float4 v = load_x(x, keep, scale, row0 + m, rows, (unsigned)k0 + k, (unsigned)depth);
            ((float*)a_tile[k])[m] = v.x;
            ((float*)a_tile[k + 1])[m] = v.y;
            ((float*)a_tile[k + 2])[m] = v.z;
            ((float*)a_tile[k + 3])[m] = v.w;
        }
#endif
        // Tile of the second factor.
#if KIND == 2
        for (unsigned t = threadIdx.x; t < BN * BK / 4; t += THREADS) {
            unsigned n = t / (BK / 4), k = t % (BK / 4) * 4;
            float4 v = load_x(y, nullptr, 1.f, column0 + n, columns, (unsigned)k0 + k, (unsigned)depth);
            ((float*)b_tile[k])[n] = v.x;
            ((float*)b_tile[k + 1])[n] = v.y;
            ((float*)b_tile[k + 2])[n] = v.z;
            ((float*)b_tile[k + 3])[n] = v.w;
        }
#else
        for (unsigned t = threadIdx.x; t < BK * BN / 4; t += THREADS) {
            unsigned k = t / (BN / 4), n = t % (BN / 4);
            b_tile[k][n] = load_x(y, nullptr, 1.f, k0 + k, end, column0 + 4 * n, columns);
        }
#endif
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a[TM];
#if TM == 2
            *(float2*)a = ((const float2*)a_tile[k])[tr];
#else
#pragma unroll
            for (int i = 0; i < TM / 4; i++) *(float4*)(a + 4 * i) = a_tile[k][tr * (TM / 4) + i];
#endif
            float4 b = b_tile[k][tc];
#pragma unroll
            for (int i = 0; i < TM; i++) {
                sum[i][0] = fmaf(a[i], b.x, sum[i][0]);
                sum[i][1] = fmaf(a[i], b.y, sum[i][1]);
                sum[i][2] = fmaf(a[i], b.z, sum[i][2]);
                sum[i][3] = fmaf(a[i], b.w, sum[i][3]);
            }
        }
        __syncthreads();
    }

    unsigned column = column0 + 4 * tc;
    bool split = gridDim.z > 1;
    float* to = split ? partial + (size_t)blockIdx.z * rows * columns : out;
#pragma unroll
    for (int i = 0; i < TM; i++) {
        size_t row = row0 + tr * TM + i;
        if (row < rows && column < columns)
            __stcg((float4*)(to + row * columns + column), make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]));
    }
    // Without tickets, another kernel adds the sums of the blocks.
    if (!split || tickets == nullptr) return;
    __threadfence();
    __syncthreads();
    unsigned* ticket = tickets + blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) last = atomicAdd(ticket, 1u) + 1 == gridDim.z;
    __syncthreads();
    if (!last) return;
    __threadfence();
#pragma unroll
    for (int i = 0; i < TM; i++) {
        size_t row = row0 + tr * TM + i;
        if (row >= rows || column >= columns) continue;
        float4 total = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll 4
        for (unsigned z = 0; z < gridDim.z; z++) {
            float4 v = __ldcg((const float4*)(partial + (z * rows + row) * columns + column));
            total.x += v.x; total.y += v.y; total.z += v.z; total.w += v.w;
        }
        *(float4*)(out + row * columns + column) = total;
    }
    if (threadIdx.x == 0) *ticket = 0;
}
