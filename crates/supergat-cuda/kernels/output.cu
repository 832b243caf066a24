// Outputs of layers from the weighted sums s of heads, and their gradients:
//
//   concatenation   out = act(s + b)                g = d_out keep scale act'(out)
//   mean            out = mean over heads s + b     g = d_out / heads
//   d_b = sum over nodes of d_out (after dropout and act'),  shared_i = g_i . s_i for each head
//
// A row has `stride` numbers: groups of eight heads with `vectors` vectors of eight; heads are the fastest axis, and
// a vector has 8 / lane_heads features. `quads` are the vectors of four numbers of a row.

extern "C" __global__ void __launch_bounds__(256) concat_forward(size_t count, unsigned quads, unsigned activation,
    const float4* __restrict__ bias, const float4* __restrict__ sums, float4* __restrict__ out)
{
    await_earlier_kernels();
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        float4 y = sums[at];
        add(y, bias[at % quads]);
        out[at] = make_float4(activated(activation, y.x), activated(activation, y.y), activated(activation, y.z),
            activated(activation, y.w));
    }
}

// A thread per node and feature.
extern "C" __global__ void __launch_bounds__(256) mean_forward(size_t count, unsigned features, unsigned stride,
    unsigned groups, unsigned lane_heads, float share, const float* __restrict__ bias, const float* __restrict__ sums,
    float* __restrict__ out)
{
    await_earlier_kernels();
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned width = stride / groups;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        // A division of 32 bits is many times faster.
        size_t node = count >> 32 ? at / features : (unsigned)at / features;
        unsigned f = (unsigned)(at - node * features);
        const float* row = sums + node * stride + (size_t)f * lane_heads;
        float sum = 0.f;
        for (unsigned g = 0; g < groups; g++) {
            const float* heads = row + g * width;
            if (lane_heads == 8) {
                float4 a = *(const float4*)heads, b = *(const float4*)(heads + 4);
                sum += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
            } else {
                for (unsigned l = 0; l < lane_heads; l++) sum += heads[l];
            }
        }
        out[at] = fmaf(sum, share, bias[f]);
    }
}

// What a thread of output_backward works on: row and column in the block, and quad of the row.
struct Part {
    unsigned rows, columns, row, column, quad;
    bool working;
};

// The arguments of output_backward.
struct From {
    unsigned mean, activation;
    const unsigned char* keep;
    float scale;
    const float* above;
    const float4* output;
    const float4* sums;
};

// What a mean over heads gives back to a quad, before it is divided by the number of heads.
__device__ __forceinline__ float4 quad_above(const Shape& shape, const float* above, size_t node, unsigned quad)
{
    float4 d = zero_quad();
    float* each = &d.x;
    unsigned group_quads = shape.vectors * 2, group = quad / group_quads;
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        unsigned within = (quad - group * group_quads) * 4 + k;
        unsigned f = within / shape.lane_heads, h = group * 8 + within % shape.lane_heads;
        if (f < shape.features && h < shape.heads) each[k] = above[node * shape.features + f];
    }
    return d;
}

// Writes the gradients of all rows of a block, TURNS rows of a thread at once, and returns the sum of the gradients of
// outputs of this thread's rows and quad.
template <unsigned TURNS>
__device__ __forceinline__ float4 rows_backward(const Shape& shape, const Part& part, const From& from,
    float4* __restrict__ gradient, float* __restrict__ state, float4* shared)
{
    float4 sum = zero_quad();
    float share = 1.f / (float)shape.heads;
    unsigned together = TURNS * part.rows;
    for (size_t first = (size_t)blockIdx.x * together; first < shape.nodes; first += (size_t)gridDim.x * together) {
        float4 gradients[TURNS], outputs[TURNS], sums[TURNS];
#pragma unroll
        for (unsigned turn = 0; turn < TURNS; turn++) {
            size_t node = first + turn * part.rows + part.row, at = node * shape.quads + part.quad;
            gradients[turn] = outputs[turn] = sums[turn] = zero_quad();
            if (!part.working || node >= shape.nodes) continue;
            gradients[turn] = from.mean ? quad_above(shape, from.above, node, part.quad) : gradient[at];
            if (!from.mean && from.activation != 0) outputs[turn] = from.output[at];
            if (state != nullptr) sums[turn] = from.sums[at];
        }
#pragma unroll
        for (unsigned turn = 0; turn < TURNS; turn++) {
            size_t node = first + turn * part.rows + part.row, at = node * shape.quads + part.quad;
            if (!part.working || node >= shape.nodes) continue;
            float4 g = gradients[turn], y = outputs[turn], s = sums[turn];
            if (from.mean) {
                add(sum, g);
                g = make_float4(g.x * share, g.y * share, g.z * share, g.w * share);
            } else {
                if (from.activation != 0) {
                    g.x *= slope(from.activation, y.x);
                    g.y *= slope(from.activation, y.y);
                    g.z *= slope(from.activation, y.z);
                    g.w *= slope(from.activation, y.w);
                }
                if (from.keep != nullptr) drop(g, from.keep, at, from.scale);
                add(sum, g);
            }
            gradient[at] = g;
            if (state != nullptr) {
                shared[(turn * part.rows + part.row) * part.columns + part.column] =
                    by_head(make_float4(g.x * s.x, g.y * s.y, g.z * s.z, g.w * s.w), shape.lane_heads);
            }
        }
        if (state != nullptr) {
            __syncthreads();
            write_shared(shared, together, first, shape, state);
            __syncthreads();
        }
    }
    return sum;
}

// Rows that a thread has at once, if there are so many.
constexpr unsigned MOST_TURNS = 4;

// Threads: `columns` quads of a row by `rows` rows; blocks along y take further columns. The last block of a column
// adds the sums of all blocks in their order.
//
// mean = 0: `gradient` is read (from above) and overwritten. mean = 1: it is computed from `above`.
extern "C" __global__ void __launch_bounds__(256, 3) output_backward(Shape shape, unsigned mean, unsigned activation,
    const unsigned char* __restrict__ keep, float scale, const float* __restrict__ above,
    const float4* __restrict__ output, const float4* __restrict__ sums, float4* __restrict__ gradient,
    float* __restrict__ state, float4* partial, unsigned* tickets, float* __restrict__ bias)
{
    await_earlier_kernels();
    __shared__ float4 shared[MOST_TURNS * 256];
    unsigned columns = shape.quads < 256 ? shape.quads : 256, rows = 256 / columns;
    unsigned row = threadIdx.x / columns, column = threadIdx.x % columns, quad = blockIdx.y * columns + column;
    bool working = row < rows && quad < shape.quads;
    Part part = {rows, columns, row, column, quad, working};
    From from = {mean, activation, keep, scale, above, output, sums};
    // Blocks that have parts of a row only do not know its products.
    float* to = gridDim.y == 1 ? state : nullptr;
    float4 sum = shape.nodes > gridDim.x * rows ? rows_backward<MOST_TURNS>(shape, part, from, gradient, to, shared)
                                                : rows_backward<1>(shape, part, from, gradient, to, shared);
    __syncthreads();
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (row == 0 && quad < shape.quads)
        __stcg(&partial[(size_t)blockIdx.x * shape.quads + quad], sum_rows(shared, rows, columns, column));
    if (!arrives_last(&tickets[blockIdx.y])) return;
    sum = zero_quad();
    if (working) {
        for (unsigned b = row; b < gridDim.x; b += rows) add(sum, __ldcg(&partial[(size_t)b * shape.quads + quad]));
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (row == 0 && quad < shape.quads) {
        sum = sum_rows(shared, rows, columns, column);
        if (mean) {
            const float* total = &sum.x;
#pragma unroll
            for (unsigned k = 0; k < 4; k++) {
                unsigned at = quad * 4 + k, f = at / shape.lane_heads;
                // The first head of each feature.
                if (at < shape.vectors * 8 && at % shape.lane_heads == 0 && f < shape.features) bias[f] = total[k];
            }
        } else {
            ((float4*)bias)[quad] = sum;
        }
    }
    if (threadIdx.x == 0) tickets[blockIdx.y] = 0;
}

// g_i . s_i of rows that are too long for one block of output_backward: a thread per node, group and lane.
extern "C" __global__ void __launch_bounds__(256) shared_term(Shape shape, const float* __restrict__ gradient,
    const float* __restrict__ sums, float* state)
{
    await_earlier_kernels();
    unsigned per_row = shape.groups * 8, width = shape.vectors * 8;
    size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t node = t / per_row;
    unsigned group = (unsigned)(t % per_row) / 8, lane = t % 8;
    float sum = 0.f;
    if (node < shape.nodes) {
        size_t start = node * shape.quads * 4 + group * width;
        for (unsigned v = 0; v < shape.vectors; v++)
            sum = fmaf(gradient[start + v * 8 + lane], sums[start + v * 8 + lane], sum);
    }
    for (unsigned d = shape.lane_heads; d < 8; d <<= 1) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, d);
    if (node < shape.nodes && lane < shape.lane_heads) {
        size_t head = (node * shape.groups + group) * shape.lane_heads + lane;
        state[head * shape.slots + shape.slot] = sum;
    }
}
