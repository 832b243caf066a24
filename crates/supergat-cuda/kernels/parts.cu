// Sums of blocks of another kernel, in a fixed order: out = sum of the parts, each of `quads` quads.

constexpr int WIDTH = 8, HEIGHT = 32;

extern "C" __global__ void __launch_bounds__(WIDTH* HEIGHT) add_parts(
    word quads, word count, const float4* __restrict__ parts, float4* __restrict__ out) {
    await_earlier_kernels();
    __shared__ float4 shared[HEIGHT][WIDTH];
    word column = threadIdx.x % WIDTH, row = threadIdx.x / WIDTH, quad = blockIdx.x * WIDTH + column;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    auto add = [&](float4 x) { sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w; };
    if (quad < quads) {
#pragma unroll 4
        for (word part = row; part < count; part += HEIGHT) add(parts[(size_t)part * quads + quad]);
    }
    shared[row][column] = sum;
    for (int rows = HEIGHT / 2; rows > 0; rows /= 2) {
        __syncthreads();
        if (row < rows) {
            add(shared[row + rows][column]);
            shared[row][column] = sum;
        }
    }
    if (row == 0 && quad < quads) out[quad] = sum;
}
