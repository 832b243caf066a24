// Gradient of attention and of the edge loss from one edge; the formulas are above `attention_backward.cu`.

struct Input {
    const word* offsets;
    const word* sources;
    const word* out_offsets;
    const word* targets;
    // Position of each outgoing edge among the incoming edges.
    const word* positions;
    const float* z;
    const float* source_score;
    const float* state;
    const float* gradient;
    const byte* keep;
    const byte* chosen;
    const byte* positives;
    float keep_scale, slope, pair_weight;
    // Features: gradients of the vectors u.
    IF_EDGES(Edges edges; FeatureSums<CHUNK_SHARE>* features;)
};

// What is known of a node as target: its state.
struct Target {
    Heads score, largest, inverse, shared;
};

struct Own {
    Row z, gradient;
    Target target;
    Heads source;
    IF_EDGES(word node;)
};

struct Gathered {
    Row d_z;
    Heads d_target, d_source;
    float loss;
};

__device__ __forceinline__ Heads slot(const Input& input, size_t node, int slot) {
    return load_heads(input.state + (node * STATE + slot) * HEAD_ROW, first_head());
}

__device__ __forceinline__ Heads source_of(const Input& input, size_t node) {
    return load_heads(input.source_score + node * HEAD_ROW, first_head());
}

__device__ __forceinline__ Target target_of(const Input& input, size_t node) {
    Target target;
    if (HAS_GO) target.score = slot(input, node, SCORE);
    target.largest = slot(input, node, LARGEST);
    target.inverse = slot(input, node, INVERSE);
    target.shared = slot(input, node, SHARED);
    return target;
}

__device__ __forceinline__ Own own_of(const Input& input, size_t node) {
    Own own;
    own.z = load_row(input.z, node);
    own.gradient = load_row(input.gradient, node);
    own.target = target_of(input, node);
    if (HAS_GO) own.source = source_of(input, node);
    IF_EDGES(own.node = (word)node;)
    return own;
}

// Place of an edge: neighbour, and positions of the edges from it and to it.
struct Place {
    word node, in, out;
    bool valid;
};

// A neighbour and the bits of the edges from it and to it.
template <bool IN, bool OUT>
struct Neighbour {
    Row z, gradient;
    Target target;
    Heads source;
    word keep_in[GROUPS], keep_out[GROUPS], chosen_in[GROUPS], chosen_out[GROUPS];
    bool valid, marked_in, marked_out;
    IF_EDGES(Place place;)
};

template <bool IN, bool OUT>
__device__ __forceinline__ Place place_of(const Input& input, word node, word begin, word end, word at) {
    Place place;
    place.valid = at < end;
    // A node that has nothing left visits its first neighbour again, without effect.
    word edge = place.valid ? at : begin;
    if (begin == end) {
        place.node = node, place.in = 0, place.out = 0;
        return place;
    }
    place.node = __ldg((IN ? input.sources : input.targets) + edge);
    place.in = IN ? edge : 0;
    place.out = OUT && (DROPS || CHOOSES || SUPERVISED || EDGES) ? __ldg(input.positions + edge) : 0;
    return place;
}

template <bool IN, bool OUT>
__device__ __forceinline__ Neighbour<IN, OUT> neighbour_of(const Input& input, const Place& place) {
    Neighbour<IN, OUT> other;
    other.valid = place.valid;
    IF_EDGES(other.place = place;)
    other.z = load_row(input.z, place.node);
    if (OUT) {
        other.gradient = load_row(input.gradient, place.node);
        other.target = target_of(input, place.node);
    }
    if (HAS_GO && IN) other.source = source_of(input, place.node);
    EACH_GROUP(g) {
        size_t in = (size_t)place.in * GROUPS + g, out = (size_t)place.out * GROUPS + g;
        if (DROPS && IN) other.keep_in[g] = __ldg(input.keep + in);
        if (DROPS && OUT) other.keep_out[g] = __ldg(input.keep + out);
        if (CHOOSES && IN) other.chosen_in[g] = __ldg(input.chosen + in);
        if (CHOOSES && OUT) other.chosen_out[g] = __ldg(input.chosen + out);
    }
    other.marked_in = SUPERVISED && IN && place.valid && is_marked(input.positives, place.in);
    other.marked_out = SUPERVISED && OUT && place.valid && is_marked(input.positives, place.out);
    return other;
}

// Gradient of the raw scores of an edge for one head, its coefficient after dropout, and the gradient of its whole score.
struct EdgeGradient {
    float go, dp, weight;
    IF_EDGES(float score;)
};

// `product` is the gradient of the target's output times the source's row.
__device__ __forceinline__ EdgeGradient through_softmax(
    const Input& input, const Target& target, int g, int h, float go, float dp, float product, word keep_bits,
    word chosen_bits IF_EDGES(, const Terms& terms)) {
    int head = first_head() + h;
    float score = form_score(go, dp) IF_EDGES(+ terms.score.of[g][h]);
    float logit = leaky(score, input.slope) IF_EDGES(+ terms.log_weight);
    float alpha = __expf(logit - target.largest.of[g][h]) * target.inverse.of[g][h];
    if (CHOOSES) alpha = by_bit(chosen_bits, head, alpha);
    float keep = DROPS ? by_bit(keep_bits, head, input.keep_scale) : 1.0f;
    float d_leaky = alpha * (product * keep - target.shared.of[g][h]);
    float d_score = score > 0.0f ? d_leaky : d_leaky * input.slope;
    float2 d = form_score_backward(d_score, go, dp);
    return {d.x, d.y, alpha * keep IF_EDGES(, d_score)};
}

// Factor of the dot product in the logit.
__device__ __forceinline__ float logit_scale() { return FORM == 2 ? score_scale() : 1.0f; }

// Adds the gradients of a node from a neighbour.
template <bool IN, bool OUT>
__device__ __forceinline__ void visit(
    const Input& input, const Own& own, const Neighbour<IN, OUT>& other, Gathered& gathered) {
    Heads dp = HAS_DP ? dot(own.z, other.z) : all_heads(0.0f);
    Heads product_in = IN ? dot(own.gradient, other.z) : all_heads(0.0f);
    Heads product_out = OUT ? dot(other.gradient, own.z) : all_heads(0.0f);
#if EDGES
    Terms terms_in, terms_out;
    if (IN) terms_in = terms_of(input.edges, other.place.in);
    if (OUT) terms_out = terms_of(input.edges, other.place.out);
    if (MESSAGES && IN) add_heads(product_in, message_product(input.edges, other.place.in, own.node));
    if (MESSAGES && OUT) add_heads(product_out, message_product(input.edges, other.place.out, other.place.node));
    Heads d_score = all_heads(0.0f);
#endif
    Heads go_in = all_heads(0.0f), go_out = all_heads(0.0f);
    if (HAS_GO && IN) EACH_HEAD(g, h) go_in.of[g][h] = own.target.score.of[g][h] + other.source.of[g][h];
    if (HAS_GO && OUT) EACH_HEAD(g, h) go_out.of[g][h] = other.target.score.of[g][h] + own.source.of[g][h];

    float logit_in = 0.0f, logit_out = 0.0f;
    if (SUPERVISED) {
        if (HAS_DP) {
            float x = sum_of_heads(dp) * (logit_scale() / HEADS);
            float d = edge_gradient(input.pair_weight, x, other.marked_in, gathered.loss);
            logit_in = other.marked_in ? d : 0.0f;
            logit_out = other.marked_out ? d : 0.0f;
        } else {
            if (IN) {
                float x = sum_of_heads(go_in) * (1.0f / HEADS);
                float d = edge_gradient(input.pair_weight, x, other.marked_in, gathered.loss);
                logit_in = other.marked_in ? d : 0.0f;
            }
            if (OUT) {
                float x = sum_of_heads(go_out) * (1.0f / HEADS), none = 0.0f;
                float d = edge_gradient(input.pair_weight, x, false, none);
                logit_out = other.marked_out ? d : 0.0f;
            }
        }
    }
    Heads d_dp = all_heads(HAS_DP ? (logit_in + logit_out) * logit_scale() : 0.0f), weight = all_heads(0.0f);
    EACH_HEAD(g, h) {
        float d_target = HAS_DP ? 0.0f : logit_in, d_source = HAS_DP ? 0.0f : logit_out;
        if (IN) {
            EdgeGradient d = through_softmax(
                input, own.target, g, h, go_in.of[g][h], dp.of[g][h], product_in.of[g][h], other.keep_in[g],
                other.chosen_in[g] IF_EDGES(, terms_in));
            d_dp.of[g][h] += other.valid ? d.dp : 0.0f;
            d_target += other.valid ? d.go : 0.0f;
            IF_EDGES(d_score.of[g][h] = other.valid ? d.score : 0.0f;)
        }
        if (OUT) {
            EdgeGradient d = through_softmax(
                input, other.target, g, h, go_out.of[g][h], dp.of[g][h], product_out.of[g][h], other.keep_out[g],
                other.chosen_out[g] IF_EDGES(, terms_out));
            d_dp.of[g][h] += other.valid ? d.dp : 0.0f;
            d_source += other.valid ? d.go : 0.0f;
            weight.of[g][h] = other.valid ? d.weight : 0.0f;
        }
        if (HAS_GO) {
            gathered.d_target.of[g][h] += d_target;
            gathered.d_source.of[g][h] += d_source;
        }
    }
    IF_EDGES(if (EDGE_FEATURES && IN) add_vector_gradient(input.edges, *input.features, other.place.in, d_score);)
    IF_EDGES(if (RESUMES) return;)
    if (OUT) {
        Factors factor = spread(weight);
        EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], factor.of[g], other.gradient.quad[g][k]);
    }
    if (HAS_DP) {
        Factors factor = spread(d_dp);
        EACH_QUAD(g, k) add_product(gathered.d_z.quad[g][k], factor.of[g], other.z.quad[g][k]);
    }
}
