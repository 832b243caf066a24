// Weights and features of edges in attention. An edge with weight w and features f has the score
//
//     e_ij = form(z_i, z_j) + u_h . f_ij         alpha_i = softmax_j(LeakyReLU(e_ij) + ln w_ij)
//     out_i = sum_j alpha_ij (z_j + V_h f_ij)    V only if messages carry features
//
// The features of messages are summed first, s_ih = sum_j alpha_ijh f_ij, so V is applied once per node.
//
// A sum over edges that has a number per feature and head (s_i, or the gradient of u) does not fit into registers: every
// thread has its own part of it in shared memory, where no other thread reads or writes. CHUNK features fit there at a
// time; a kernel is launched once per chunk, and RESUMES tells that it is not the first one.
//
// Defined by the host if edges have weights or features: EDGES, WEIGHTED, EDGE_FEATURES, MESSAGES, CHUNK, RESUMES, and
// FEW_FEATURES: the features per edge if they are few, so that registers hold them, else 0.

#ifndef EDGES
#define EDGES 0
#define WEIGHTED 0
#define EDGE_FEATURES 0
#define MESSAGES 0
#define CHUNK 1
#define RESUMES 0
#define FEW_FEATURES 0
#endif

struct Edges {
    // ln w of each edge.
    const float* log_weights;
    // Features, a row of `width` numbers per edge.
    const float* features;
    // The vectors u: a row of per-head values per feature.
    const float* vectors;
    // The matrix V: a row in the layout of z per feature.
    const float* matrix;
    // Weighted sums of features, or their gradient in the backward pass: a row of per-head values per node and feature.
    float* sums;
    // Gradient of u per block, and of all blocks.
    float* partial;
    float* d_vectors;
    // Features per edge, and the features of this launch.
    word width, first, count, unused;
};

// Code that is compiled only if edges have weights or features. Other kernels are the same text as without it.
#if EDGES
#define IF_EDGES(...) __VA_ARGS__
#else
#define IF_EDGES(...)
#endif

// Numbers per feature of a chunk and head, for each thread.
struct FeatureSums {
    float of[CHUNK][GROUPS * OWNED][THREADS];
};

__device__ __forceinline__ Heads feature_sum(const FeatureSums& sums, word feature) {
    Heads result;
    EACH_HEAD(g, h) result.of[g][h] = sums.of[feature][g * OWNED + h][threadIdx.x];
    return result;
}

__device__ __forceinline__ void set_feature_sum(FeatureSums& sums, word feature, const Heads& from) {
    EACH_HEAD(g, h) sums.of[feature][g * OWNED + h][threadIdx.x] = from.of[g][h];
}

__device__ __forceinline__ void clear_feature_sums(FeatureSums& sums, word count) {
    for (word c = 0; c < count; ++c) set_feature_sum(sums, c, all_heads(0.0f));
}

// Features of an edge from the first one of the chunk on.
__device__ __forceinline__ const float* chunk_of(const Edges& edges, size_t edge) {
    return edges.features + edge * edges.width + edges.first;
}

// Calls `BODY` for each feature `k` of an edge with its value `feature`.
#define EACH_FEATURE(edges, edge, BODY)                                            \
    if (FEW_FEATURES) {                                                                   \
        Few few = few_of(edges, edge);                                             \
        _Pragma("unroll") for (int k = 0; k < FEW_FEATURES; ++k) {                       \
            float feature = few.of[k];                                             \
            BODY                                                                   \
        }                                                                          \
    } else {                                                                       \
        const float* row = (edges).features + (size_t)(edge) * (edges).width;      \
        _Pragma("unroll 4") for (word k = 0; k < (edges).width; ++k) {             \
            float feature = __ldg(row + k);                                        \
            BODY                                                                   \
        }                                                                          \
    }

// A few features of an edge.
struct Few {
    float of[FEW_FEATURES ? FEW_FEATURES : 1];
};

__device__ __forceinline__ Few few_of(const Edges& edges, size_t edge) {
    Few few;
    const float* row = edges.features + edge * FEW_FEATURES;
#pragma unroll
    for (int k = 0; k < FEW_FEATURES; k += FEW_FEATURES % 4 ? 1 : 4) {
        if (FEW_FEATURES % 4) {
            few.of[k] = __ldg(row + k);
        } else {
            float4 four = __ldg((const float4*)(row + k));
            few.of[k] = four.x, few.of[k + 1] = four.y, few.of[k + 2] = four.z, few.of[k + 3] = four.w;
        }
    }
    return few;
}

// Terms of an edge: u_h . f, and ln w.
struct Terms {
    Heads score;
    float log_weight;
};

__device__ __forceinline__ Terms terms_of(const Edges& edges, size_t edge) {
    Terms terms = {all_heads(0.0f), WEIGHTED ? __ldg(edges.log_weights + edge) : 0.0f};
    if (EDGE_FEATURES) {
        EACH_FEATURE(edges, edge, {
            Heads vector = load_heads(edges.vectors + (size_t)k * HEAD_ROW, first_head());
            EACH_HEAD(g, h) terms.score.of[g][h] = fmaf(feature, vector.of[g][h], terms.score.of[g][h]);
        })
    }
    return terms;
}

// d s_i . f of the features of an edge to node i.
__device__ __forceinline__ Heads message_product(const Edges& edges, size_t edge, size_t target) {
    Heads product = all_heads(0.0f);
    const float* gradient = edges.sums + target * edges.width * HEAD_ROW;
    EACH_FEATURE(edges, edge, {
        Heads d_sum = load_heads(gradient + (size_t)k * HEAD_ROW, first_head());
        EACH_HEAD(g, h) product.of[g][h] = fmaf(feature, d_sum.of[g][h], product.of[g][h]);
    })
    return product;
}

// row += what is stored of a row of `rows`.
__device__ __forceinline__ void add_stored(const float* rows, size_t place, Row& row) {
    EACH_QUAD(g, k) {
        if (inside(k)) add(row.quad[g][k], ((const float4*)rows)[quad_place(place, g, k)]);
    }
}

// Sums `columns` quads per block over all blocks, in a fixed order. The quads of blocks are `stride` apart. Called by one
// block.
__device__ __forceinline__ void add_quads(
    const float4* partial, word blocks, word stride, word columns, float4* to) {
    __shared__ float4 part[THREADS];
    word width = min(columns, (word)THREADS), height = THREADS / width;
    word column = threadIdx.x % width, row = threadIdx.x / width;
    for (word start = 0; start < columns; start += width) {
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        bool valid = row < height && start + column < columns;
        if (valid) {
#pragma unroll 4
            for (word block = row; block < blocks; block += height) {
                add(sum, __ldcg(partial + (size_t)block * stride + start + column));
            }
        }
        __syncthreads();
        part[threadIdx.x] = sum;
        __syncthreads();
        if (valid && row == 0) {
            for (word r = 1; r < height; ++r) add(sum, part[r * width + column]);
            to[start + column] = sum;
        }
    }
}
