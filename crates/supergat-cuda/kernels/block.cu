// Hidden blocks of deep networks, from the sums s over neighbours:
//
//   y = s + b + shortcut
//   layer norm    x = (y - mean of the row) / sqrt(variance of the row + epsilon)          out = act(w x + c)
//   batch norm    the same with the mean and the variance of each column; running ones in evaluation
//
// and their gradients, from the gradient d of the next layer's input:
//
//   g   = d keep scale act'(out)             d_c = sum over nodes of g,  d_w = sum over nodes of g x
//   d_y = (g w - mean(g w) - x mean(g w x)) / sqrt(variance + epsilon)    means over the row or over the column
//
// A row has `quads` vectors of four numbers in the layout of heads: groups of eight heads with `vectors` vectors of
// eight; heads are the fastest axis. Padding is zero and stays zero.

constexpr float EPSILON = 1e-5f;
// Share of new statistics in running ones.
constexpr float MOMENTUM = 0.1f;

// What is added to the sums: nothing, the product that is in `out` already plus a second bias, or rows under a mask.
struct Shortcut {
    const float4* bias;
    const float4* rows;
    const unsigned char* keep;
    float scale;
    unsigned is_product;
};

__device__ __forceinline__ float4 map(unsigned activation, float4 x)
{
    return make_float4(activated(activation, x.x), activated(activation, x.y), activated(activation, x.z),
        activated(activation, x.w));
}

__device__ __forceinline__ float4 times(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}

// a * b + c
__device__ __forceinline__ float4 times_plus(float4 a, float4 b, float4 c)
{
    return make_float4(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y), fmaf(a.z, b.z, c.z), fmaf(a.w, b.w, c.w));
}

__device__ __forceinline__ float4 minus(float4 a, float4 b)
{
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

__device__ __forceinline__ float4 all(float x) { return make_float4(x, x, x, x); }

__device__ __forceinline__ float total(float4 x) { return (x.x + x.y) + (x.z + x.w); }

__device__ __forceinline__ float4 inverse_deviation(float4 variance)
{
    return make_float4(1.f / sqrtf(variance.x + EPSILON), 1.f / sqrtf(variance.y + EPSILON),
        1.f / sqrtf(variance.z + EPSILON), 1.f / sqrtf(variance.w + EPSILON));
}

// y at a place; `out` contains the product of a linear shortcut.
__device__ __forceinline__ float4 shortened(const Shortcut& shortcut, const float4* sums, const float4* bias,
    const float4* out, size_t at, unsigned quad)
{
    float4 y = sums[at];
    add(y, bias[quad]);
    if (shortcut.is_product) {
        float4 product = out[at];
        add(product, shortcut.bias[quad]);
        add(y, product);
    } else if (shortcut.rows != nullptr) {
        float4 x = shortcut.rows[at];
        if (shortcut.keep != nullptr) drop(x, shortcut.keep, at, shortcut.scale);
        add(y, x);
    }
    return y;
}

// out = act(y), without norm.
extern "C" __global__ void __launch_bounds__(256) block_forward(size_t count, unsigned quads, unsigned activation,
    Shortcut shortcut, const float4* __restrict__ sums, const float4* __restrict__ bias, float4* out)
{
    await_earlier_kernels();
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step)
        out[at] = map(activation, shortened(shortcut, sums, bias, out, at, (unsigned)(at % quads)));
}

// Rows that a thread reads at once.
constexpr unsigned TURNS = 4;

// Mean of some numbers, and the sum of their squared differences from it.
struct Moments {
    float count;
    float4 mean, squares;
};

// Moments of the numbers of both:
//
//   n = n_a + n_b    mean = mean_a + d n_b / n    squares = squares_a + squares_b + d^2 n_a n_b / n    d = mean_b - mean_a
__device__ __forceinline__ Moments merged(const Moments& a, const Moments& b)
{
    float count = a.count + b.count, share = b.count > 0.f ? __fdividef(b.count, count) : 0.f;
    float4 d = minus(b.mean, a.mean), squares = a.squares;
    add(squares, b.squares);
    return {count, times_plus(d, all(share), a.mean), times_plus(times(d, d), all(a.count * share), squares)};
}

// Combines what the threads of `rows` rows of a block have, pair by pair; the threads of the first row get the result.
template <class T, class Combine>
__device__ __forceinline__ T combined_rows(T* shared, T own, unsigned rows, unsigned columns, Combine combine)
{
    unsigned row = threadIdx.x / columns;
    while (rows > 1) {
        unsigned half = (rows + 1) / 2;
        __syncthreads();
        shared[threadIdx.x] = own;
        __syncthreads();
        if (row + half < rows) own = combine(own, shared[threadIdx.x + half * columns]);
        rows = half;
    }
    return own;
}

__device__ __forceinline__ Moments merge_rows(Moments* shared, const Moments& own, unsigned rows, unsigned columns)
{
    return combined_rows(shared, own, rows, columns, [](const Moments& a, const Moments& b) { return merged(a, b); });
}

// Writes y, and the mean and the variance of each column. Threads are columns by rows, blocks along y take further columns; the
// last block of a column combines those of all blocks in order.
extern "C" __global__ void __launch_bounds__(256, 3) batch_statistics(unsigned nodes, unsigned quads, Shortcut shortcut,
    const float4* __restrict__ sums, const float4* __restrict__ bias, float4* out, float4* partial, unsigned* tickets,
    float4* mean, float4* variance)
{
    await_earlier_kernels();
    __shared__ Moments shared[256];
    unsigned columns = quads < 256 ? quads : 256, rows = 256 / columns;
    unsigned row = threadIdx.x / columns, column = threadIdx.x % columns, quad = blockIdx.y * columns + column;
    bool working = row < rows && quad < quads;
    size_t step = (size_t)gridDim.x * rows;
    Moments own = {0.f, zero_quad(), zero_quad()};
    if (working) {
        for (size_t first = (size_t)blockIdx.x * rows + row; first < nodes; first += TURNS * step) {
            float4 y[TURNS];
#pragma unroll
            for (unsigned k = 0; k < TURNS; k++) {
                size_t node = first + k * step;
                if (node < nodes) y[k] = shortened(shortcut, sums, bias, out, node * quads + quad, quad);
            }
            Moments turns = {0.f, zero_quad(), zero_quad()};
#pragma unroll
            for (unsigned k = 0; k < TURNS; k++) {
                size_t node = first + k * step;
                if (node >= nodes) break;
                out[node * quads + quad] = y[k];
                turns.count += 1.f;
                add(turns.mean, y[k]);
            }
            turns.mean = times(turns.mean, all(__fdividef(1.f, turns.count)));
#pragma unroll
            for (unsigned k = 0; k < TURNS; k++) {
                if (first + k * step >= nodes) break;
                float4 d = minus(y[k], turns.mean);
                turns.squares = times_plus(d, d, turns.squares);
            }
            own = merged(own, turns);
        }
    }
    own = merge_rows(shared, own, rows, columns);
    if (row == 0 && quad < quads) {
        __stcg(&partial[(size_t)blockIdx.x * 2 * quads + quad], own.mean);
        __stcg(&partial[((size_t)blockIdx.x * 2 + 1) * quads + quad], own.squares);
    }
    if (!arrives_last(&tickets[blockIdx.y])) return;
    own = {0.f, zero_quad(), zero_quad()};
    if (working) {
#pragma unroll 4
        for (unsigned b = row; b < gridDim.x; b += rows) {
            // Nodes of a block: `rows` of every whole step, and some of the rest.
            size_t rest = nodes % step, before = (size_t)b * rows;
            float count = (float)(nodes / step * rows + (rest > before ? min(rest - before, (size_t)rows) : 0));
            float4 of_mean = __ldcg(&partial[(size_t)b * 2 * quads + quad]);
            own = merged(own, {count, of_mean, __ldcg(&partial[((size_t)b * 2 + 1) * quads + quad])});
        }
    }
    own = merge_rows(shared, own, rows, columns);
    if (row == 0 && quad < quads) {
        mean[quad] = own.mean;
        variance[quad] = times(own.squares, all(1.f / (float)nodes));
    }
    if (threadIdx.x == 0) tickets[blockIdx.y] = 0;
}

// out = act(w x + c) in place, with the statistics of columns. Writes x unless `normalised` is null. If the statistics
// are running ones, copies them to `used`.
extern "C" __global__ void __launch_bounds__(256) batch_forward(size_t count, unsigned quads, unsigned activation,
    const float4* mean, const float4* variance, const float4* __restrict__ weight, const float4* __restrict__ bias,
    float4* __restrict__ normalised, float4* out, float4* used)
{
    await_earlier_kernels();
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        unsigned quad = (unsigned)(at % quads);
        float4 m = mean[quad], v = variance[quad];
        float4 x = times(minus(out[at], m), inverse_deviation(v));
        if (normalised != nullptr) normalised[at] = x;
        out[at] = map(activation, times_plus(x, weight[quad], bias[quad]));
        if (used != nullptr && at < quads) {
            used[at] = m;
            used[quads + at] = v;
        }
    }
}

// Whether the numbers of a quad are no padding, as factors.
__device__ __forceinline__ float4 used_lanes(const Shape& shape, unsigned quad)
{
    unsigned group_quads = shape.vectors * 2, group = quad / group_quads;
    float4 used;
    float* each = &used.x;
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        unsigned within = (quad - group * group_quads) * 4 + k;
        unsigned f = within / shape.lane_heads, h = group * 8 + within % shape.lane_heads;
        each[k] = f < shape.features && h < shape.heads ? 1.f : 0.f;
    }
    return used;
}

// Sum over a group of `lanes` lanes, in each of them.
__device__ __forceinline__ float group_sum(float value, unsigned lanes)
{
    for (unsigned step = 1; step < lanes; step *= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

// Layer norm: a group of `lanes` lanes per row. `normalised` and `inverse` are not written if null.
extern "C" __global__ void __launch_bounds__(256) layer_forward(Shape shape, unsigned lanes, unsigned activation,
    Shortcut shortcut, const float4* __restrict__ sums, const float4* __restrict__ bias, const float4* __restrict__ weight,
    const float4* __restrict__ norm_bias, float4* __restrict__ normalised, float* __restrict__ inverse, float4* out)
{
    await_earlier_kernels();
    size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    unsigned own = threadIdx.x % lanes;
    bool valid = row < shape.nodes;
    unsigned quads = valid ? shape.quads : 0;
    float share = 1.f / (float)(shape.heads * shape.features);
    size_t start = row * shape.quads;
    float sum = 0.f;
    for (unsigned quad = own; quad < quads; quad += lanes) {
        float4 y = shortened(shortcut, sums, bias, out, start + quad, quad);
        out[start + quad] = y;
        sum += total(y);
    }
    float mean = group_sum(sum, lanes) * share;
    float squares = 0.f;
    for (unsigned quad = own; quad < quads; quad += lanes) {
        float4 centred = times(minus(out[start + quad], all(mean)), used_lanes(shape, quad));
        out[start + quad] = centred;
        squares += total(times(centred, centred));
    }
    float scale = 1.f / sqrtf(group_sum(squares, lanes) * share + EPSILON);
    for (unsigned quad = own; quad < quads; quad += lanes) {
        float4 x = times(out[start + quad], all(scale));
        if (normalised != nullptr) normalised[start + quad] = x;
        out[start + quad] = map(activation, times_plus(x, weight[quad], norm_bias[quad]));
    }
    if (valid && own == 0 && inverse != nullptr) inverse[row] = scale;
}

// The gradients of the weight and the bias of a norm, in this order.
struct NormGradient {
    float4 weight, bias;
};

__device__ __forceinline__ NormGradient added(NormGradient a, const NormGradient& b)
{
    add(a.weight, b.weight);
    add(a.bias, b.bias);
    return a;
}

// Gradient of the activation's input, in place, and the gradients of the weight and the bias of a norm. Threads and blocks are
// those of `batch_statistics`.
extern "C" __global__ void __launch_bounds__(256, 3) norm_sums(unsigned nodes, unsigned quads, unsigned activation,
    const unsigned char* __restrict__ keep, float scale, const float4* __restrict__ output,
    const float4* __restrict__ normalised, float4* gradient, float4* partial, unsigned* tickets, float4* d_weight,
    float4* d_bias)
{
    await_earlier_kernels();
    __shared__ NormGradient shared[256];
    unsigned columns = quads < 256 ? quads : 256, rows = 256 / columns;
    unsigned row = threadIdx.x / columns, column = threadIdx.x % columns, quad = blockIdx.y * columns + column;
    bool working = row < rows && quad < quads;
    size_t step = (size_t)gridDim.x * rows;
    NormGradient sum = {zero_quad(), zero_quad()};
    if (working) {
        for (size_t first = (size_t)blockIdx.x * rows + row; first < nodes; first += TURNS * step) {
            float4 g[TURNS], y[TURNS], x[TURNS];
#pragma unroll
            for (unsigned k = 0; k < TURNS; k++) {
                size_t at = min(first + k * step, (size_t)nodes - 1) * quads + quad;
                g[k] = gradient[at], y[k] = output[at], x[k] = normalised[at];
            }
#pragma unroll
            for (unsigned k = 0; k < TURNS; k++) {
                if (first + k * step >= nodes) break;
                size_t at = (first + k * step) * quads + quad;
                g[k] = times(g[k], make_float4(slope(activation, y[k].x), slope(activation, y[k].y),
                    slope(activation, y[k].z), slope(activation, y[k].w)));
                if (keep != nullptr) drop(g[k], keep, at, scale);
                gradient[at] = g[k];
                sum = added(sum, {times(g[k], x[k]), g[k]});
            }
        }
    }
    auto add_rows_of_block = [&]() {
        sum = combined_rows(shared, sum, rows, columns,
            [](const NormGradient& a, const NormGradient& b) { return added(a, b); });
    };
    add_rows_of_block();
    if (row == 0 && quad < quads) {
        __stcg(&partial[(size_t)blockIdx.x * 2 * quads + quad], sum.weight);
        __stcg(&partial[((size_t)blockIdx.x * 2 + 1) * quads + quad], sum.bias);
    }
    if (!arrives_last(&tickets[blockIdx.y])) return;
    sum = {zero_quad(), zero_quad()};
    if (working) {
#pragma unroll 4
        for (unsigned b = row; b < gridDim.x; b += rows) {
            sum = added(sum, {__ldcg(&partial[(size_t)b * 2 * quads + quad]),
                __ldcg(&partial[((size_t)b * 2 + 1) * quads + quad])});
        }
    }
    add_rows_of_block();
    if (row == 0 && quad < quads) {
        d_weight[quad] = sum.weight;
        d_bias[quad] = sum.bias;
    }
    if (threadIdx.x == 0) tickets[blockIdx.y] = 0;
}

// Gradient of y through batch norm, in place. `share` is 1 / number of nodes, or zero with running statistics. With those of
// the nodes, clears the gradient of the bias, which the mean cancels, and moves the running statistics unless they are null;
// `unbiased` is the factor of an unbiased variance. Writes the shared term of attention unless `state` is null; a block then
// has whole rows.
extern "C" __global__ void __launch_bounds__(256) batch_backward(Shape shape, float share, float unbiased,
    const float4* __restrict__ weight, const float4* __restrict__ mean, const float4* __restrict__ variance,
    const float4* __restrict__ d_weight, const float4* __restrict__ d_bias, const float4* __restrict__ normalised,
    const float4* __restrict__ sums, float4* gradient, float4* bias, float4* running_mean, float4* running_variance,
    float* state)
{
    await_earlier_kernels();
    __shared__ float4 products[256];
    unsigned columns = shape.quads < 256 ? shape.quads : 256, rows = 256 / columns;
    unsigned row = threadIdx.x / columns, quad = blockIdx.y * columns + threadIdx.x % columns;
    bool working = row < rows && quad < shape.quads;
    float4 scale, of_one, of_x;
    if (working) {
        scale = times(weight[quad], inverse_deviation(variance[quad]));
        of_one = times(d_bias[quad], all(share)), of_x = times(d_weight[quad], all(share));
        if (blockIdx.x == 0 && row == 0) {
            if (share > 0.f) bias[quad] = zero_quad();
            if (running_mean != nullptr) {
                running_mean[quad] =
                    times_plus(all(1.f - MOMENTUM), running_mean[quad], times(all(MOMENTUM), mean[quad]));
                running_variance[quad] = times_plus(
                    all(1.f - MOMENTUM), running_variance[quad], times(all(MOMENTUM * unbiased), variance[quad]));
            }
        }
    }
    for (size_t first = (size_t)blockIdx.x * rows; first < shape.nodes; first += (size_t)gridDim.x * rows) {
        if (working && first + row < shape.nodes) {
            size_t at = (first + row) * shape.quads + quad;
            float4 g = times(minus(minus(gradient[at], of_one), times(normalised[at], of_x)), scale);
            gradient[at] = g;
            if (state != nullptr) products[threadIdx.x] = by_head(times(g, sums[at]), shape.lane_heads);
        }
        if (state != nullptr) {
            __syncthreads();
            write_shared(products, rows, first, shape, state);
            __syncthreads();
        }
    }
}

// Gradient of y through layer norm, in place: a group of `lanes` lanes per row.
extern "C" __global__ void __launch_bounds__(256) layer_backward(Shape shape, unsigned lanes,
    const float4* __restrict__ weight, const float4* __restrict__ normalised, const float* __restrict__ inverse,
    float4* gradient)
{
    await_earlier_kernels();
    size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    unsigned own = threadIdx.x % lanes;
    bool valid = row < shape.nodes;
    unsigned quads = valid ? shape.quads : 0;
    float share = 1.f / (float)(shape.heads * shape.features);
    size_t start = row * shape.quads;
    float sum = 0.f, product = 0.f;
    for (unsigned quad = own; quad < quads; quad += lanes) {
        float4 g = times(gradient[start + quad], weight[quad]);
        sum += total(g);
        product += total(times(g, normalised[start + quad]));
    }
    float mean = group_sum(sum, lanes) * share, slope = group_sum(product, lanes) * share;
    float scale = valid ? inverse[row] : 0.f;
    for (unsigned quad = own; quad < quads; quad += lanes) {
        float4 g = times(gradient[start + quad], weight[quad]);
        g = minus(minus(g, all(mean)), times(normalised[start + quad], all(slope)));
        gradient[start + quad] = times(times(g, all(scale)), used_lanes(shape, quad));
    }
}

// sum += rows
extern "C" __global__ void __launch_bounds__(256) add_rows(size_t count, const float4* __restrict__ rows, float4* sum)
{
    await_earlier_kernels();
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        float4 x = sum[at];
        add(x, rows[at]);
        sum[at] = x;
    }
}
