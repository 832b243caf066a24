// Losses of node labels, their gradients, and the counts behind accuracy and micro-F1.
//
//   single labels     loss_i = ln sum_c exp(x_c) - x_y           d_c = (softmax_c - [c = y]) / count
//   multiple labels   loss_i = mean over c of softplus(+-x_c)    d_c = (sigmoid(x_c) - y_c) / (classes count)
//
// With weights of classes, a node counts as often as the weight of its class. The focal loss of a cross-entropy
// c = -ln p is (1 - p)^gamma c; its gradient is that of c, times (1 - p)^gamma + gamma p (1 - p)^(gamma - 1) c.
//
// Nodes that show their label as input do not count; `shown` marks them, or is null.
//
// A group of `lanes` lanes (a power of two up to 32) reads the row of a node. Losses are added in double precision:
// by thread, then by block, and the last block adds the sums of the blocks in their order.

#define NO_CLASS 0xFFFFFFFFu
#define LOWEST __int_as_float(0xFF800000)

__device__ __forceinline__ float group_max(float x, unsigned lanes)
{
    for (unsigned d = lanes / 2; d > 0; d >>= 1) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, d));
    return x;
}

__device__ __forceinline__ float group_sum(float x, unsigned lanes)
{
    for (unsigned d = lanes / 2; d > 0; d >>= 1) x += __shfl_xor_sync(0xFFFFFFFFu, x, d);
    return x;
}

__device__ __forceinline__ float row_max(const float* row, unsigned classes, unsigned own, unsigned lanes)
{
    float largest = LOWEST;
    for (unsigned c = own; c < classes; c += lanes) largest = fmaxf(largest, row[c]);
    return group_max(largest, lanes);
}

// softplus(x) = max(x, 0) + ln(1 + exp(-|x|)); NaN for NaN.
__device__ __forceinline__ double softplus(float x)
{
    return (double)(x > 0.f ? x : 0.f) + (double)log1pf(expf(-fabsf(x)));
}

// Sum over the 256 threads of a block, for thread 0.
__device__ double block_sum(double x, double* shared)
{
    for (unsigned d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(0xFFFFFFFFu, x, d);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (unsigned w = 0; w < 8; w++) sum += shared[w];
    __syncthreads();
    return sum;
}

// Loss of a row, in every lane of the group; only valid where `working`. All lanes of the warp must call it.
__device__ __forceinline__ double row_loss(bool working, const float* row, const unsigned* single, const unsigned char* multi,
    size_t node, unsigned classes, unsigned own, unsigned lanes, float& largest, float& sum)
{
    unsigned end = working ? classes : 0;
    if (multi == nullptr) {
        largest = row_max(row, end, own, lanes);
        sum = 0.f;
        for (unsigned c = own; c < end; c += lanes) sum += expf(row[c] - largest);
        sum = group_sum(sum, lanes);
        if (!working) return 0.0;
        return log((double)sum) + (double)(largest - row[single[node]]);
    }
    double loss = 0.0;
    for (unsigned c = own; c < end; c += lanes) loss += softplus(multi[node * classes + c] ? -row[c] : row[c]);
    for (unsigned d = lanes / 2; d > 0; d >>= 1) loss += __shfl_xor_sync(0xFFFFFFFFu, loss, d);
    return loss / (double)classes;
}

// Focal loss of a cross-entropy, and the factor of its gradient.
__device__ __forceinline__ double focal(double c, double gamma, double& factor)
{
    double p = exp(-c), miss = -expm1(-c), power = pow(miss, gamma);
    factor = power * (1.0 + gamma * p * (miss > 0.0 ? c / miss : 1.0));
    return power * c;
}

extern "C" __global__ void __launch_bounds__(256) label_loss_backward(unsigned nodes, unsigned classes, unsigned lanes,
    const unsigned* __restrict__ single, const unsigned char* __restrict__ multi, const unsigned char* __restrict__ chosen,
    const unsigned char* __restrict__ shown, const double* __restrict__ class_weights, double count, double gamma, const float* __restrict__ logits, float* __restrict__ gradient, double* partial, unsigned* ticket,
    double* record)
{
    await_earlier_kernels();
    __shared__ double shared[8];
    __shared__ bool last;
    unsigned own = threadIdx.x % lanes, per_block = 256 / lanes;
    double total = 0.0;
    for (size_t first = (size_t)blockIdx.x * per_block; first < nodes; first += (size_t)gridDim.x * per_block) {
        size_t node = first + threadIdx.x / lanes;
        bool inside = node < nodes, working = inside && chosen[node] && !(shown != nullptr && shown[node]);
        const float* row = logits + node * classes;
        float* to = gradient + node * classes;
        // Lanes of a warp go on together only if one of them has work.
        if (__any_sync(0xFFFFFFFFu, working)) {
            float largest = 0.f, sum = 1.f;
            double loss = row_loss(working, row, single, multi, node, classes, own, lanes, largest, sum);
            if (working) {
                double of_class = class_weights != nullptr ? class_weights[single[node]] : 1.0, of_focal = 1.0;
                if (gamma > 0.0 && multi == nullptr) loss = focal(loss, gamma, of_focal);
                if (own == 0 && (gamma == 0.0 || multi == nullptr)) total += of_class * loss;
                float weight = (float)(of_class * of_focal / count);
                if (multi == nullptr) {
                    unsigned y = single[node];
                    float factor = weight / sum;
                    for (unsigned c = own; c < classes; c += lanes) {
                        float p = expf(row[c] - largest) * factor;
                        to[c] = c == y ? p - weight : p;
                    }
                } else {
                    float each = weight / (float)classes;
                    for (unsigned c = own; c < classes; c += lanes) {
                        bool y = multi[node * classes + c];
                        float p = 1.f / (1.f + expf(-row[c]));
                        float gradient_of_class = (p - (float)y) * each;
                        if (gamma > 0.0) {
                            total += focal(softplus(y ? -row[c] : row[c]), gamma, of_focal) / (double)classes;
                            gradient_of_class *= (float)of_focal;
                        }
                        to[c] = gradient_of_class;
                    }
                }
            }
        }
        if (inside && !working)
            for (unsigned c = own; c < classes; c += lanes) to[c] = 0.f;
    }
    double sum = block_sum(total, shared);
    if (threadIdx.x == 0) {
        __stcg(&partial[blockIdx.x], sum);
        __threadfence();
        last = atomicAdd(ticket, 1u) + 1 == gridDim.x;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    total = 0.0;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += 256) total += __ldcg(&partial[b]);
    sum = block_sum(total, shared);
    if (threadIdx.x == 0) {
        record[0] = sum / count;
        record[1] = 0.0;
        *ticket = 0;
    }
}

// Index of the largest number of a row, the first one of several, as the CPU finds it.
__device__ __forceinline__ unsigned row_argmax(const float* row, unsigned classes, unsigned own, unsigned lanes)
{
    float best = LOWEST;
    unsigned place = NO_CLASS;
    for (unsigned c = own; c < classes; c += lanes) {
        float x = row[c];
        if (place == NO_CLASS ? !isnan(x) : x > best) { best = x; place = c; }
    }
    for (unsigned d = lanes / 2; d > 0; d >>= 1) {
        float x = __shfl_xor_sync(0xFFFFFFFFu, best, d);
        unsigned at = __shfl_xor_sync(0xFFFFFFFFu, place, d);
        bool better = place == NO_CLASS || x > best || (x == best && at < place);
        if (at != NO_CLASS && better) { best = x; place = at; }
    }
    return place == NO_CLASS ? 0 : place;
}

// Blocks along y: 0 for the validation nodes, 1 for the test nodes.
extern "C" __global__ void __launch_bounds__(256) evaluate(const unsigned* __restrict__ validation,
    const unsigned* __restrict__ test, unsigned validation_count, unsigned test_count, unsigned classes, unsigned lanes,
    const unsigned* __restrict__ single, const unsigned char* __restrict__ multi, const float* __restrict__ logits,
    double* partial, unsigned* tickets, double* record)
{
    await_earlier_kernels();
    __shared__ double shared[8];
    __shared__ bool last;
    const unsigned* list = blockIdx.y == 0 ? validation : test;
    unsigned count = blockIdx.y == 0 ? validation_count : test_count;
    unsigned own = threadIdx.x % lanes, per_block = 256 / lanes;
    // Loss, hits, false alarms, misses.
    double total[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t first = (size_t)blockIdx.x * per_block; first < count; first += (size_t)gridDim.x * per_block) {
        size_t k = first + threadIdx.x / lanes;
        bool working = k < count;
        size_t node = working ? list[k] : 0;
        const float* row = logits + node * classes;
        float largest = 0.f, sum = 1.f;
        double loss = row_loss(working, row, single, multi, node, classes, own, lanes, largest, sum);
        if (working && own == 0) total[0] += loss;
        if (multi == nullptr) {
            unsigned best = row_argmax(row, working ? classes : 0, own, lanes);
            if (working && own == 0) {
                if (isnan(row[0])) best = 0;
                bool right = best == single[node];
                total[1] += right ? 1.0 : 0.0;
                total[2] += right ? 0.0 : 1.0;
                total[3] += right ? 0.0 : 1.0;
            }
        } else if (working) {
            for (unsigned c = own; c < classes; c += lanes) {
                bool predicted = row[c] > 0.f, real = multi[node * classes + c] == 1;
                total[1] += predicted && real ? 1.0 : 0.0;
                total[2] += predicted && !real ? 1.0 : 0.0;
                total[3] += !predicted && real ? 1.0 : 0.0;
            }
        }
    }
    double* own_partial = partial + (size_t)blockIdx.y * gridDim.x * 4;
    for (unsigned n = 0; n < 4; n++) {
        double sum = block_sum(total[n], shared);
        if (threadIdx.x == 0) __stcg(&own_partial[blockIdx.x * 4 + n], sum);
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&tickets[blockIdx.y], 1u) + 1 == gridDim.x;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (unsigned n = 0; n < 4; n++) {
        double sum = 0.0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += 256) sum += __ldcg(&own_partial[b * 4 + n]);
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) record[n == 0 ? 2 + blockIdx.y : 4 + 3 * blockIdx.y + n - 1] = sum;
    }
    if (threadIdx.x == 0) tickets[blockIdx.y] = 0;
}
