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
// Where several lanes of a team own the same heads (SHARERS), they divide the features of an edge: each takes a block of
// neighbouring ones, and sums over features are completed by `add_sharers`.
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

// Lanes of a team that own the same heads, and the number of the lane among them.
constexpr int SHARERS = TEAM / OWNERS;
__device__ __forceinline__ int sharer() { return team_lane() / OWNERS; }
// Features of an edge that a lane takes: of all if they are few, and of a chunk.
constexpr int FEW_SHARE = (FEW_FEATURES + SHARERS - 1) / SHARERS;
constexpr int CHUNK_SHARE = (CHUNK + SHARERS - 1) / SHARERS;

// Sums over the lanes that own the same heads.
__device__ __forceinline__ void add_sharers(Heads& heads) { add_teams<OWNERS, TEAM>(heads); }

// Numbers per feature and head, for each thread.
template <int COUNT>
struct FeatureSums {
    float of[COUNT][GROUPS * OWNED][THREADS];
};

template <int COUNT>
__device__ __forceinline__ Heads feature_sum(const FeatureSums<COUNT>& sums, word feature) {
    Heads result;
    EACH_HEAD(g, h) result.of[g][h] = sums.of[feature][g * OWNED + h][threadIdx.x];
    return result;
}

template <int COUNT>
__device__ __forceinline__ void set_feature_sum(FeatureSums<COUNT>& sums, word feature, const Heads& from) {
    EACH_HEAD(g, h) sums.of[feature][g * OWNED + h][threadIdx.x] = from.of[g][h];
}

template <int COUNT>
__device__ __forceinline__ void clear_feature_sums(FeatureSums<COUNT>& sums) {
    for (int c = 0; c < COUNT; ++c) set_feature_sum(sums, c, all_heads(0.0f));
}

// Features of an edge from the first one of the chunk on.
__device__ __forceinline__ const float* chunk_of(const Edges& edges, size_t edge) {
    return edges.features + edge * edges.width + edges.first;
}

// Calls `BODY` for each feature `k` that this lane takes of an edge, with its value `feature`.
#define EACH_FEATURE(edges, edge, BODY)                                            \
    if (FEW_FEATURES) {                                                            \
        Few few = few_of(edges, edge);                                             \
        _Pragma("unroll") for (int q = 0; q < FEW_SHARE; ++q) {                    \
            word k = sharer() * FEW_SHARE + q;                                     \
            float feature = few.of[q];                                             \
            if (FEW_FEATURES % SHARERS == 0 || k < FEW_FEATURES) BODY              \
        }                                                                          \
    } else {                                                                       \
        const float* row = (edges).features + (size_t)(edge) * (edges).width;      \
        _Pragma("unroll 4") for (word k = sharer(); k < (edges).width; k += SHARERS) { \
            float feature = __ldg(row + k);                                        \
            BODY                                                                   \
        }                                                                          \
    }

// The features that a lane takes of an edge with a few.
struct Few {
    float of[FEW_SHARE ? FEW_SHARE : 1];
};

__device__ __forceinline__ Few few_of(const Edges& edges, size_t edge) {
    constexpr bool BY_FOUR = FEW_FEATURES % 4 == 0 && FEW_SHARE % 4 == 0;
    Few few;
    word first = sharer() * FEW_SHARE;
    const float* row = edges.features + edge * FEW_FEATURES;
#pragma unroll
    for (int q = 0; q < FEW_SHARE; q += BY_FOUR ? 4 : 1) {
        // A lane beyond the last feature reads it once more, without effect.
        word k = min(first + q, (word)(FEW_FEATURES - (BY_FOUR ? 4 : 1)));
        if (BY_FOUR) {
            float4 four = __ldg((const float4*)(row + k));
            few.of[q] = four.x, few.of[q + 1] = four.y, few.of[q + 2] = four.z, few.of[q + 3] = four.w;
        } else {
            few.of[q] = __ldg(row + k);
        }
    }
    return few;
}

// Terms of an edge: u_h . f, and ln w. All lanes of a warp ask for them together.
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
        add_sharers(terms.score);
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
    add_sharers(product);
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
