// Rows of heads in registers.
//
// A row has GROUPS groups of VECTORS * 8 numbers: element f * LANE_HEADS + h of a group is feature f of head h. It is
// divided among the lanes of a team, a power of two: in every group, lane l has the quads (four numbers) l, l + TEAM,
// ... So every quad of a lane has the same heads. Scores and other numbers per head are divided too: in every group,
// a lane owns OWNED heads.
//
//     fold    numbers per element, summed over features: lanes exchange halves of their heads until each has its own
//     spread  numbers per head, repeated for the elements of a lane's quads: the reverse

// Not every kernel uses all of these.
#pragma nv_diag_suppress 177

// Defined by the host: FORM, GROUPS, VECTORS, LANE_HEADS, FEATURES, HEADS, NODE_LANES, and HALF if the rows that are gathered
// over edges have 16 bits per number.

#ifndef HALF
#define HALF 0
#endif

// A number as bfloat16, the upper half of its 32 bits.
typedef unsigned short half;

// Four numbers as they are stored, and as they are computed with.
template <class Number>
struct Stored;
template <>
struct Stored<float> {
    typedef float4 Quad;
};
template <>
struct Stored<half> {
    typedef uint2 Quad;
};
__device__ __forceinline__ float4 widened(float4 quad) { return quad; }
__device__ __forceinline__ float4 widened(uint2 quad) {
    return make_float4(
        __uint_as_float(quad.x << 16), __uint_as_float(quad.x & 0xFFFF0000u), __uint_as_float(quad.y << 16),
        __uint_as_float(quad.y & 0xFFFF0000u));
}

// A number of the rows that are gathered over edges, and four of them.
#if HALF
typedef half Gathered;
#else
typedef float Gathered;
#endif
typedef Stored<Gathered>::Quad GatheredQuad;

constexpr int smaller(int a, int b) { return a < b ? a : b; }
constexpr int bits_of(int power) { return power <= 1 ? 0 : 1 + bits_of(power / 2); }
constexpr int power_from(int n, int power = 1) { return power >= n ? power : power_from(n, 2 * power); }

// Quads per group.
constexpr int QUADS = 2 * VECTORS;
// Lanes of a team: few, but enough for at most so many quads per lane if possible. Few lanes spend fewer instructions on an
// edge, so they are better if memory does not limit the kernel.
constexpr int MOST_HELD = HALF ? 4 : 3;
constexpr int team_from(int lanes) {
    return lanes >= 32 || lanes >= QUADS || GROUPS * ((QUADS + lanes - 1) / lanes) <= MOST_HELD ? lanes
                                                                                                 : team_from(2 * lanes);
}
constexpr int TEAM = QUADS > 8 ? team_from(4) : power_from(QUADS);
constexpr int TEAM_BITS = bits_of(TEAM);
// Quads of a lane in each group.
constexpr int HELD = (QUADS + TEAM - 1) / TEAM;
// Heads of a quad, and heads that a lane owns in each group.
constexpr int QUAD_HEADS = smaller(LANE_HEADS, 4);
constexpr int OWNERS = smaller(TEAM, LANE_HEADS);
constexpr int OWNED = LANE_HEADS / OWNERS;
// First bit of the lane that heads are exchanged over, and the number of exchanges.
constexpr int FIRST_BIT = LANE_HEADS == 8 ? 1 : 0;
constexpr int EXCHANGES = bits_of(QUAD_HEADS / OWNED);
// Numbers per row and per row of heads, and heads of a node.
constexpr int ROW = GROUPS * QUADS * 4;
constexpr int HEAD_ROW = GROUPS * 8;
constexpr int NODE_HEADS = GROUPS * LANE_HEADS;
// Lanes that share a node, and the teams among them.
constexpr int SHARED_LANES = NODE_LANES > TEAM ? NODE_LANES : TEAM;
constexpr int TEAMS = SHARED_LANES / TEAM;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int NODES_PER_WARP = 32 / SHARED_LANES;
constexpr int NODES_PER_BLOCK = WARPS * NODES_PER_WARP;
constexpr int TEAMS_PER_BLOCK = THREADS / TEAM;

// Slots of the state of a node, a quad per head: the score of the node as target, the logarithm of the sum of the
// exponentials of its scores, the shared term of the gradients of its coefficients, and its score as source. Forms without
// scores of nodes, whose logits may be large, have the rounding error of the logarithm in place of the first.
constexpr int SCORE = 0, LOG_SUM = 1, SHARED = 2, SOURCE = 3, STATE = 4;
constexpr int REST = SCORE;

// Forms of the scores: GO, DP, SD, MX, V2.
constexpr bool IS_V2 = FORM == 4;
constexpr bool HAS_GO = FORM == 0 || FORM == 3;
constexpr bool HAS_DP = FORM != 0 && !IS_V2;

// A lane's part of a row.
struct Row {
    float4 quad[GROUPS][HELD];
};

// A lane's numbers per head.
struct Heads {
    float of[GROUPS][OWNED];
};

// A lane's part of the state of a node.
struct State {
    float4 of[GROUPS][OWNED];
};

// Factors of a lane's elements.
struct Factors {
    float4 of[GROUPS];
};

#define EACH_GROUP(g) _Pragma("unroll") for (int g = 0; g < GROUPS; ++g)
#define EACH_QUAD(g, k) EACH_GROUP(g) _Pragma("unroll") for (int k = 0; k < HELD; ++k)
#define EACH_HEAD(g, h) EACH_GROUP(g) _Pragma("unroll") for (int h = 0; h < OWNED; ++h)

__device__ __forceinline__ float4 operator*(float4 a, float4 b) {
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}

// sum += a * b
__device__ __forceinline__ void add_product(float4& sum, float4 a, float4 b) {
    sum.x = fmaf(a.x, b.x, sum.x);
    sum.y = fmaf(a.y, b.y, sum.y);
    sum.z = fmaf(a.z, b.z, sum.z);
    sum.w = fmaf(a.w, b.w, sum.w);
}

__device__ __forceinline__ float4 absolute(float4 a) { return make_float4(fabsf(a.x), fabsf(a.y), fabsf(a.z), fabsf(a.w)); }

__device__ __forceinline__ float4 above_zero(float4 a) {
    return make_float4(fmaxf(a.x, 0.0f), fmaxf(a.y, 0.0f), fmaxf(a.z, 0.0f), fmaxf(a.w, 0.0f));
}

__device__ __forceinline__ float4 exchanged(float4 a, int step) {
    return make_float4(
        __shfl_xor_sync(ALL_LANES, a.x, step), __shfl_xor_sync(ALL_LANES, a.y, step),
        __shfl_xor_sync(ALL_LANES, a.z, step), __shfl_xor_sync(ALL_LANES, a.w, step));
}

__device__ __forceinline__ void add(float4& sum, float4 a) {
    sum.x += a.x;
    sum.y += a.y;
    sum.z += a.z;
    sum.w += a.w;
}

// Number of the lane in its team.
__device__ __forceinline__ int team_lane() { return threadIdx.x % TEAM; }

// First head that a lane owns in each group.
__device__ __forceinline__ int first_head() {
    int lane = team_lane(), count = QUAD_HEADS;
    int first = LANE_HEADS == 8 ? 4 * (lane & 1) : 0;
#pragma unroll
    for (int k = 0; k < EXCHANGES; ++k) {
        count /= 2;
        first += count * (lane >> (FIRST_BIT + k) & 1);
    }
    return first;
}

// Whether a quad of a lane is inside the row.
__device__ __forceinline__ bool inside(int k) { return QUADS % TEAM == 0 || team_lane() + k * TEAM < QUADS; }

__device__ __forceinline__ size_t quad_place(size_t row, int g, int k) {
    return row * (ROW / 4) + g * QUADS + k * TEAM + team_lane();
}

template <class Number>
__device__ __forceinline__ Row load_row(const Number* rows, size_t row) {
    Row result;
    EACH_QUAD(g, k) {
        result.quad[g][k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (inside(k)) {
            result.quad[g][k] = widened(__ldg((const typename Stored<Number>::Quad*)rows + quad_place(row, g, k)));
        }
    }
    return result;
}

__device__ __forceinline__ void store_row(float* rows, size_t row, const Row& from) {
    EACH_QUAD(g, k) {
        if (inside(k)) ((float4*)rows)[quad_place(row, g, k)] = from.quad[g][k];
    }
}

__device__ __forceinline__ Row zero_row() {
    Row result;
    EACH_QUAD(g, k) result.quad[g][k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return result;
}

__device__ __forceinline__ Heads all_heads(float value) {
    Heads result;
    EACH_HEAD(g, h) result.of[g][h] = value;
    return result;
}

// Loads numbers per head; `first` is `first_head()`. They may have been written by an earlier kernel only.
__device__ __forceinline__ Heads load_heads(const float* from, int first) {
    Heads result;
    EACH_HEAD(g, h) result.of[g][h] = __ldg(from + g * 8 + first + h);
    return result;
}

// Stores a lane's numbers per head, repeated in all lanes of a vector that belong to a head.
__device__ __forceinline__ void put_heads(float* to, int first, const Heads& from) {
    EACH_HEAD(g, h) {
#pragma unroll
        for (int repeat = 0; repeat < 8; repeat += LANE_HEADS) to[g * 8 + repeat + first + h] = from.of[g][h];
    }
}

// Stores a team's numbers per head.
__device__ __forceinline__ void store_heads(float* to, int first, const Heads& from) {
    if (team_lane() < OWNERS) put_heads(to, first, from);
}

// Place of a head that a lane owns, among the heads of all nodes.
__device__ __forceinline__ size_t head_place(size_t node, int g, int h) {
    return node * NODE_HEADS + g * LANE_HEADS + first_head() + h;
}

// Loads the numbers per head of a node.
__device__ __forceinline__ Heads node_heads(const float* from, size_t node) {
    Heads result;
    EACH_HEAD(g, h) result.of[g][h] = __ldg(from + head_place(node, g, h));
    return result;
}

// Stores a team's numbers per head of a node.
__device__ __forceinline__ void store_node_heads(float* to, size_t node, const Heads& from) {
    if (team_lane() >= OWNERS) return;
    EACH_HEAD(g, h) to[head_place(node, g, h)] = from.of[g][h];
}

// Loads the state of a node.
__device__ __forceinline__ State load_state(const float* state, size_t node) {
    State result;
    EACH_HEAD(g, h) result.of[g][h] = __ldg((const float4*)state + head_place(node, g, h));
    return result;
}

// Loads one slot of the state of a node.
__device__ __forceinline__ Heads load_slot(const float* state, size_t node, int slot) {
    Heads result;
    EACH_HEAD(g, h) result.of[g][h] = __ldg(state + head_place(node, g, h) * STATE + slot);
    return result;
}

// Stores the scores of a node as target and as source. The other slots are filled later.
__device__ __forceinline__ void store_scores(float* state, size_t node, const Heads& target, const Heads& source) {
    if (team_lane() >= OWNERS) return;
    EACH_HEAD(g, h) {
        ((float4*)state)[head_place(node, g, h)] = make_float4(target.of[g][h], 0.0f, 0.0f, source.of[g][h]);
    }
}

// Stores one slot of the state of a node.
__device__ __forceinline__ void store_slot(float* state, size_t node, int slot, const Heads& from) {
    if (team_lane() >= OWNERS) return;
    EACH_HEAD(g, h) state[head_place(node, g, h) * STATE + slot] = from.of[g][h];
}

// Sums over LANES lanes, of which groups of FROM are summed already: over the teams that share a node, for example.
template <int FROM, int LANES>
__device__ __forceinline__ void add_teams(Row& row) {
#pragma unroll
    for (int step = FROM; step < LANES; step *= 2) EACH_QUAD(g, k) add(row.quad[g][k], exchanged(row.quad[g][k], step));
}

template <int FROM, int LANES>
__device__ __forceinline__ void add_teams(Heads& heads) {
#pragma unroll
    for (int step = FROM; step < LANES; step *= 2) {
        EACH_HEAD(g, h) heads.of[g][h] += __shfl_xor_sync(ALL_LANES, heads.of[g][h], step);
    }
}

// Elements of a lane's quads become numbers per head, each summed over one lane of every owner.
__device__ __forceinline__ Heads exchange(const Factors& elements) {
    int lane = team_lane();
    Heads result;
    EACH_GROUP(g) {
        float4 e = elements.of[g];
        float value[4] = {e.x, e.y, e.z, e.w};
        if (LANE_HEADS <= 2) value[0] += value[2], value[1] += value[3];
        if (LANE_HEADS == 1) value[0] += value[1];
        int count = QUAD_HEADS;
#pragma unroll
        for (int bit = FIRST_BIT; bit < FIRST_BIT + EXCHANGES; ++bit) {
            bool upper = lane >> bit & 1;
            count /= 2;
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                if (k < count) {
                    float kept = upper ? value[k + count] : value[k], sent = upper ? value[k] : value[k + count];
                    value[k] = kept + __shfl_xor_sync(ALL_LANES, sent, 1 << bit);
                }
            }
        }
#pragma unroll
        for (int h = 0; h < OWNED; ++h) result.of[g][h] = value[h];
    }
    return result;
}

// Sums over features: elements of a lane's quads, added up over its quads, become numbers per head.
__device__ __forceinline__ Heads fold(const Factors& elements) {
    Heads result = exchange(elements);
    add_teams<OWNERS, TEAM>(result);
    return result;
}

// Products of two rows, added up over a lane's quads.
__device__ __forceinline__ Factors products(const Row& a, const Row& b) {
    Factors sum;
    EACH_GROUP(g) {
        sum.of[g] = a.quad[g][0] * b.quad[g][0];
#pragma unroll
        for (int k = 1; k < HELD; ++k) add_product(sum.of[g], a.quad[g][k], b.quad[g][k]);
    }
    return sum;
}

// a LeakyReLU(t + s), added up over a lane's quads: the elements of the scores of V2.
__device__ __forceinline__ Factors leaky_products(const Row& a, const Row& t, const Row& s, float slope) {
    Factors sum;
    EACH_GROUP(g) {
        sum.of[g] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            float4 x = t.quad[g][k];
            add(x, s.quad[g][k]);
            x = make_float4(leaky(x.x, slope), leaky(x.y, slope), leaky(x.z, slope), leaky(x.w, slope));
            add_product(sum.of[g], a.quad[g][k], x);
        }
    }
    return sum;
}

// Dot products of two rows, per head.
__device__ __forceinline__ Heads dot(const Row& a, const Row& b) { return fold(products(a, b)); }

// Numbers per head, repeated for the elements of a lane's quads.
__device__ __forceinline__ Factors spread(const Heads& heads) {
    int lane = team_lane();
    Factors result;
    EACH_GROUP(g) {
        float value[4];
#pragma unroll
        for (int h = 0; h < OWNED; ++h) value[h] = heads.of[g][h];
        int count = OWNED;
#pragma unroll
        for (int exchange = EXCHANGES - 1; exchange >= 0; --exchange) {
            bool upper = lane >> (FIRST_BIT + exchange) & 1;
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                if (k < count) {
                    float own = value[k], other = __shfl_xor_sync(ALL_LANES, own, 1 << (FIRST_BIT + exchange));
                    value[k] = upper ? other : own;
                    value[k + count] = upper ? own : other;
                }
            }
            count *= 2;
        }
        if (LANE_HEADS == 1) value[1] = value[0];
        if (LANE_HEADS <= 2) value[2] = value[0], value[3] = value[1];
        result.of[g] = make_float4(value[0], value[1], value[2], value[3]);
    }
    return result;
}

// Sum over all heads, in every lane of a team.
__device__ __forceinline__ float sum_of_heads(const Heads& heads) {
    float sum = 0.0f;
    EACH_HEAD(g, h) sum += heads.of[g][h];
#pragma unroll
    for (int step = 1; step < OWNERS; step *= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

// Sum of all elements, in every lane of a team.
__device__ __forceinline__ float sum_of_elements(const Factors& elements) {
    float sum = 0.0f;
    EACH_GROUP(g) sum += (elements.of[g].x + elements.of[g].y) + (elements.of[g].z + elements.of[g].w);
#pragma unroll
    for (int step = 1; step < TEAM; step *= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

// Shared memory of sums over the warps of a block.
struct BlockMemory {
    float4 quad[WARPS][TEAM];
    float head[WARPS][TEAM];
};

// Sums over the warps of a block, in order; the first team of the block receives the result. Teams of a warp must
// have equal values.
__device__ __forceinline__ void add_warps(Row& row, BlockMemory& memory) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    EACH_QUAD(g, k) {
        __syncthreads();
        if (lane < TEAM) memory.quad[warp][lane] = row.quad[g][k];
        __syncthreads();
        if (warp == 0) {
            row.quad[g][k] = memory.quad[0][team_lane()];
            for (int w = 1; w < WARPS; ++w) add(row.quad[g][k], memory.quad[w][team_lane()]);
        }
    }
}

__device__ __forceinline__ void add_warps(Heads& heads, BlockMemory& memory) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    EACH_HEAD(g, h) {
        __syncthreads();
        if (lane < TEAM) memory.head[warp][lane] = heads.of[g][h];
        __syncthreads();
        if (warp == 0) {
            heads.of[g][h] = memory.head[0][team_lane()];
            for (int w = 1; w < WARPS; ++w) heads.of[g][h] += memory.head[w][team_lane()];
        }
    }
}

// Largest values over the warps of a block, in every thread.
__device__ __forceinline__ void largest_of_warps(Heads& heads, BlockMemory& memory) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    EACH_HEAD(g, h) {
        __syncthreads();
        if (lane < TEAM) memory.head[warp][lane] = heads.of[g][h];
        __syncthreads();
        for (int w = 0; w < WARPS; ++w) heads.of[g][h] = fmaxf(heads.of[g][h], memory.head[w][team_lane()]);
    }
}

// 1 / sqrt(F), the factor of SD.
__device__ __forceinline__ float score_scale() { return 1.0f / sqrtf((float)FEATURES); }

// Rows of z of a node as source and as target. V2 has two rows per node.
__device__ __forceinline__ size_t source_row(size_t node) { return IS_V2 ? 2 * node : node; }
__device__ __forceinline__ size_t target_row(size_t node) { return IS_V2 ? 2 * node + 1 : node; }

// What the rows of a target and a source contribute to a score: the dot product, or the whole score of V2.
__device__ __forceinline__ Heads pair_score(const Row& a, const Row& target, const Row& source, float slope) {
    if (IS_V2) return fold(leaky_products(a, target, source, slope));
    return HAS_DP ? dot(target, source) : all_heads(0.0f);
}

// LeakyReLU of a score. V2 has it inside of the score.
__device__ __forceinline__ float leaky_score(float score, float slope) { return IS_V2 ? score : leaky(score, slope); }

// Coefficient of an edge, from its score and the state of its target.
__device__ __forceinline__ float coefficient(float score, float4 target) {
    float x = score - target.y;
    return __expf(HAS_GO ? x : x - target.x);
}

// Unnormalised attention from the additive score and what `pair_score` returns.
__device__ __forceinline__ float form_score(float go, float dp) {
    if (FORM == 0) return go;
    if (FORM == 1 || IS_V2) return dp;
    if (FORM == 2) return dp * score_scale();
    return go * sigmoid(dp);
}

// Edge logit.
__device__ __forceinline__ float form_logit(float go, float dp) {
    if (FORM == 0) return go;
    return FORM == 2 ? dp * score_scale() : dp;
}

// Gradients of `go` and `dp` from that of the score.
__device__ __forceinline__ float2 form_score_backward(float d, float go, float dp) {
    if (FORM == 0) return make_float2(d, 0.0f);
    if (FORM == 1) return make_float2(0.0f, d);
    if (FORM == 2) return make_float2(0.0f, d * score_scale());
    float gate = sigmoid(dp);
    return make_float2(d * gate, d * go * (gate * (1.0f - gate)));
}

// Factor of an edge and head by its bit: `value` or 0.
__device__ __forceinline__ float by_bit(word bits, int lane, float value) {
    return bits >> lane & 1 ? value : 0.0f;
}

// Sums two rows per block over all blocks, in a fixed order; the result is stored, or added if `adds`. Called by one
// block.
__device__ __forceinline__ void add_blocks(const float* partial, word blocks, float* to, bool adds) {
    __shared__ float4 part[THREADS];
    constexpr int COLUMNS = ROW / 2;
    constexpr int WIDTH = COLUMNS < THREADS ? COLUMNS : THREADS, HEIGHT = THREADS / WIDTH;
    int column = threadIdx.x % WIDTH, row = threadIdx.x / WIDTH;
    for (int start = 0; start < COLUMNS; start += WIDTH) {
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        bool valid = row < HEIGHT && start + column < COLUMNS;
        if (valid) {
#pragma unroll 4
            for (word block = row; block < blocks; block += HEIGHT) {
                add(sum, __ldcg((const float4*)partial + (size_t)block * COLUMNS + start + column));
            }
        }
        __syncthreads();
        part[threadIdx.x] = sum;
        __syncthreads();
        if (valid && row == 0) {
            for (int r = 1; r < HEIGHT; ++r) add(sum, part[r * WIDTH + column]);
            float4* place = (float4*)to + start + column;
            if (adds) add(sum, *place);
            *place = sum;
        }
    }
}
