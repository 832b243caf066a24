// Adam with coupled weight decay:
//
//   g <- g + lambda_2 w;  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
//   w <- w - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//
// The two factors that depend on t are those of the clock. Every operation is rounded, as on the CPU.

__device__ __forceinline__ void update(float& w, float g, float& m, float& v, float rate, float correction, float decay)
{
    g = __fadd_rn(g, __fmul_rn(decay, w));
    m = __fadd_rn(__fmul_rn(0.9f, m), __fmul_rn((float)(1.0 - 0.9), g));
    v = __fadd_rn(__fmul_rn(0.999f, v), __fmul_rn(__fmul_rn((float)(1.0 - 0.999), g), g));
    float below = __fadd_rn(__fmul_rn(__fsqrt_rn(v), correction), 1e-8f);
    w = __fsub_rn(w, __fdiv_rn(__fmul_rn(rate, m), below));
}

struct Memory {
    float* value;
    const float* gradient;
    float* moment1;
    float* moment2;
    unsigned long long length;
    unsigned long long first_block;
};

struct Batch {
    Memory parameters[24];
    unsigned long long count;
};

// Blocks are divided among the parameters; a thread updates four numbers.
extern "C" __global__ void __launch_bounds__(256)
    adam(const unsigned* __restrict__ clock, double lr, float decay, const __grid_constant__ Batch batch)
{
    await_earlier_kernels();
    int number = 0;
    while (number + 1 < batch.count && batch.parameters[number + 1].first_block <= blockIdx.x) number++;
    const Memory& memory = batch.parameters[number];
    float rate = (float)(lr / *(const double*)(clock + 6)), correction = __uint_as_float(clock[5]);
    size_t at = ((size_t)(blockIdx.x - memory.first_block) * blockDim.x + threadIdx.x) * 4;
    if (at + 4 <= memory.length) {
        float4 w = *(float4*)(memory.value + at), g = *(const float4*)(memory.gradient + at);
        float4 m = *(float4*)(memory.moment1 + at), v = *(float4*)(memory.moment2 + at);
        update(w.x, g.x, m.x, v.x, rate, correction, decay);
        update(w.y, g.y, m.y, v.y, rate, correction, decay);
        update(w.z, g.z, m.z, v.z, rate, correction, decay);
        update(w.w, g.w, m.w, v.w, rate, correction, decay);
        *(float4*)(memory.value + at) = w;
        *(float4*)(memory.moment1 + at) = m;
        *(float4*)(memory.moment2 + at) = v;
    } else {
        for (size_t k = at; k < memory.length; k++)
            update(memory.value[k], memory.gradient[k], memory.moment1[k], memory.moment2[k], rate, correction, decay);
    }
}
