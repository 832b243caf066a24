// Gradient of attention and of the edge loss from one edge; the formulas are above `attention_backward.cu`.

struct Input {
    const word* offsets;
    const word* sources;
    const word* out_offsets;
    const word* targets;
    // Position of each outgoing edge among the incoming edges.
    const word* positions;
    const Gathered* z;
    const float* source_score;
    const float* state;
    const Gathered* gradient;
    const byte* keep;
    const byte* chosen;
    const byte* positives;
    float keep_scale, slope, pair_weight;
    // Features: gradients of the vectors u.
    IF_EDGES(Edges edges; FeatureSums<CHUNK_SHARE>* features;)
};

// A node gets the gradient of an edge as its target (IN) or as its source (OUT). If both are computed together and teams
// have lanes enough, half of the lanes of a team have the heads as target, the other half as source.
// Lanes that share the features of an edge have the same side.
constexpr bool HALVES = TEAM >= 2 * OWNERS && !EDGE_FEATURES;

template <bool IN, bool OUT>
constexpr int SIDES = IN && OUT && !HALVES ? 2 : 1;

// Whether a lane belongs to the half that has the heads as source.
__device__ __forceinline__ bool is_upper() { return team_lane() / OWNERS % 2; }

// Whether a lane computes its heads as source on a side.
template <bool IN, bool OUT>
__device__ __forceinline__ bool is_source(int side) {
    return IN && OUT ? (HALVES ? is_upper() : side == 1) : OUT;
}

// A node; a neighbour has the parts that the sides need.
struct Node {
    Row z, gradient;
    State state;
};

// Gradients of a node. Without halves, scores[0] is the gradient of the score as target, scores[1] of that as source.
struct Sums {
    Row d_z;
    Heads scores[2];
    float loss;
};

// Whether neighbours give their rows of z. GO does not need them if the forward pass kept sums for the targets.
template <bool IN, bool OUT>
constexpr bool NEEDS_Z = HAS_DP || IN;

template <bool IN, bool OUT>
constexpr int BYTES = (NEEDS_Z<IN, OUT> ? ROW_BYTES : 0) + (OUT ? ROW_BYTES : 0) + (OUT || HAS_GO ? STATE_BYTES : 0);

// Rows and state of a neighbour that the sides need.
template <bool IN, bool OUT, class Way>
__device__ __forceinline__ Node neighbour(const Input& input, Way& way, size_t node) {
    Node other;
    if (NEEDS_Z<IN, OUT>) other.z = way.row(input.z, node);
    if (OUT) other.gradient = way.row(input.gradient, node);
    if (OUT || HAS_GO) other.state = way.state(input.state, node);
    return other;
}

// An edge of a list, loaded by one lane: the neighbour, and what is known of the edges from it (low) and to it (high):
// bytes of the dropout mask and of chosen heads, and bits of the sample.
struct Edge {
    word node, position;
    word kept[GROUPS], chosen[GROUPS];
    word marks;
};

template <bool IN, bool OUT>
__device__ __forceinline__ Edge edge_at(const Input& input, word node, word end, word at) {
    Edge edge = {node};
    if (at >= end) return edge;
    edge.node = __ldg((IN ? input.sources : input.targets) + at);
    edge.position = OUT && (DROPS || CHOOSES || SUPERVISED || EDGES) ? __ldg(input.positions + at) : 0;
    EACH_GROUP(g) {
        size_t in = (size_t)at * GROUPS + g, out = (size_t)edge.position * GROUPS + g;
        if (DROPS) edge.kept[g] = (IN ? __ldg(input.keep + in) : 0u) | (OUT ? __ldg(input.keep + out) << 8 : 0u);
        if (CHOOSES) edge.chosen[g] = (IN ? __ldg(input.chosen + in) : 0u) | (OUT ? __ldg(input.chosen + out) << 8 : 0u);
    }
    if (SUPERVISED && IN) edge.marks |= is_marked(input.positives, at);
    if (SUPERVISED && OUT) edge.marks |= is_marked(input.positives, edge.position) << 1;
    return edge;
}

// The edge that a lane loaded, in all lanes of a team.
__device__ __forceinline__ Edge edge_of(const Edge& edges, word lane) {
    Edge edge;
    EACH_GROUP(g) {
        if (DROPS) edge.kept[g] = of_lane(edges.kept[g], lane);
        if (CHOOSES) edge.chosen[g] = of_lane(edges.chosen[g], lane);
    }
    if (SUPERVISED) edge.marks = of_lane(edges.marks, lane);
    IF_EDGES(edge.node = of_lane(edges.node, lane); edge.position = of_lane(edges.position, lane);)
    return edge;
}

// Factor of the dot product in the logit.
__device__ __forceinline__ float logit_scale() { return FORM == 2 ? score_scale() : 1.0f; }

// Sums over features of both sides, each for the lanes that have the side.
template <bool IN, bool OUT>
struct Products {
    Heads of[SIDES<IN, OUT>];
};

// g_i . z_j of the target i and the source j on each side.
template <bool IN, bool OUT>
__device__ __forceinline__ Products<IN, OUT> products_of(const Node& own, const Node& other) {
    Products<IN, OUT> result;
    if constexpr (IN && OUT && HALVES) {
        Heads in = exchange(products(own.gradient, other.z)), out = exchange(products(other.gradient, own.z));
        EACH_HEAD(g, h) {
            float kept = is_upper() ? out.of[g][h] : in.of[g][h], sent = is_upper() ? in.of[g][h] : out.of[g][h];
            result.of[0].of[g][h] = kept + __shfl_xor_sync(ALL_LANES, sent, OWNERS);
        }
        add_teams<2 * OWNERS, TEAM>(result.of[0]);
    } else {
#pragma unroll
        for (int side = 0; side < SIDES<IN, OUT>; ++side) {
            result.of[side] =
                is_source<IN, OUT>(side) ? dot(other.gradient, own.z) : dot(own.gradient, other.z);
        }
    }
    return result;
}

// Adds the gradients of a node from a neighbour. `at` is the edge's place in the node's list.
template <bool IN, bool OUT>
__device__ __forceinline__ void visit(
    const Input& input, const Node& own, word node, const Node& other, const Edge& edge, word at, bool is_edge,
    Sums& gathered) {
    Heads dp = HAS_DP ? dot(own.z, other.z) : all_heads(0.0f);
    Products<IN, OUT> product = products_of<IN, OUT>(own, other);
    Heads d_dp = all_heads(0.0f), weight = all_heads(0.0f), d_in = all_heads(0.0f);
    float mean_dp = SUPERVISED && HAS_DP ? sum_of_heads(dp) * (logit_scale() / HEADS) : 0.0f;
#pragma unroll
    for (int side = 0; side < SIDES<IN, OUT>; ++side) {
        bool out = is_source<IN, OUT>(side);
        word shift = out ? 8 : 0;
        IF_EDGES(size_t position = out ? edge.position : at;)
        IF_EDGES(Terms terms = terms_of(input.edges, is_edge ? position : 0);)
#if MESSAGES
        add_heads(product.of[side], message_product(input.edges, is_edge ? position : 0, out ? edge.node : node));
#endif
        Heads go = all_heads(0.0f);
        if (HAS_GO) {
            EACH_HEAD(g, h) {
                float4 mine = own.state.of[g][h], its = other.state.of[g][h];
                go.of[g][h] = out ? its.x + mine.w : mine.x + its.w;
            }
        }
        // The loss of an edge is counted at its target.
        float d_logit = 0.0f;
        if (SUPERVISED) {
            bool marked = edge.marks >> (out ? 1 : 0) & 1;
            float mean = HAS_DP ? mean_dp : sum_of_heads(go) * (1.0f / HEADS);
            float d = edge_gradient(input.pair_weight, mean, marked && !out, gathered.loss);
            d_logit = marked ? d : 0.0f;
        }
        EACH_HEAD(g, h) {
            float4 target = out ? other.state.of[g][h] : own.state.of[g][h];
            int bit = first_head() + h + shift;
            float score = form_score(go.of[g][h], dp.of[g][h]) IF_EDGES(+ terms.score.of[g][h]);
            float logit = leaky(score, input.slope) IF_EDGES(+ terms.log_weight);
            float alpha = is_edge ? coefficient(logit, target) : 0.0f;
            if (CHOOSES) alpha = by_bit(edge.chosen[g], bit, alpha);
            float keep = DROPS ? by_bit(edge.kept[g], bit, input.keep_scale) : 1.0f;
            float d_leaky = alpha * (product.of[side].of[g][h] * keep - target.z);
            float d_score = score > 0.0f ? d_leaky : d_leaky * input.slope;
            float2 d = form_score_backward(d_score, go.of[g][h], dp.of[g][h]);
            d_dp.of[g][h] += HAS_DP ? d.y + d_logit * logit_scale() : 0.0f;
            if (HAS_GO) gathered.scores[IN ? side : 1].of[g][h] += HAS_DP ? d.x : d.x + d_logit;
            weight.of[g][h] += out ? alpha * keep : 0.0f;
            if (!out) d_in.of[g][h] = d_score;
        }
    }
    IF_EDGES(if (EDGE_FEATURES && IN) add_vector_gradient(input.edges, *input.features, is_edge ? at : 0, d_in);)
    IF_EDGES(if (RESUMES) return;)
    if (IN && OUT && HALVES) {
        if (HAS_DP) add_teams<OWNERS, 2 * OWNERS>(d_dp);
        add_teams<OWNERS, 2 * OWNERS>(weight);
    }
    if (OUT) {
        Factors factor = spread(weight);
        EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], factor.of[g], other.gradient.quad[g][k]);
    }
    if (HAS_DP) {
        Factors factor = spread(d_dp);
        EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], factor.of[g], other.z.quad[g][k]);
    }
}

// Adds the gradients of a node from the edges first, first + 1, ... of one of its lists up to `end`, in chunks that are
// `step` edges apart.
template <bool IN, bool OUT>
__device__ __forceinline__ void walk(
    const Input& input, Ring ring, const Node& own, word node, word first, word end, word step, Sums& gathered) {
    visit_entries<BYTES<IN, OUT>, true>(
        ring, edge_at<IN, OUT>(input, node, end, first + threadIdx.x % SHARED_LANES), first, end, step, [&](word at) { return edge_at<IN, OUT>(input, node, end, at); },
        [&](auto& way, size_t other) { return neighbour<IN, OUT>(input, way, other); },
        [&](const Node& other, const Edge& edges, word lane, word at, bool is_edge) {
            visit<IN, OUT>(input, own, node, other, edge_of(edges, lane), at, is_edge, gathered);
        });
}
