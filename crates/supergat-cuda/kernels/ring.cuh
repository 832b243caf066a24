// What a node gathers from its list of edges. Rows of further edges are on their way from global to shared memory while an
// edge is processed. Every thread copies and reads its own quads only, so threads do not wait for each other.
//
// Defined by the host: RING, the bytes per thread in the shared memory of a launch.

struct Ring {
    byte* memory;

    // What a thread has behind its first `bytes` bytes.
    template <class T>
    __device__ __forceinline__ T& at(int bytes) {
        return ((T*)(memory + bytes * THREADS))[threadIdx.x];
    }
};

// The shared memory of a launch.
__device__ __forceinline__ Ring ring_of_block() {
    extern __shared__ float4 launch_memory[];
    return {(byte*)launch_memory};
}

// Edges whose rows are on their way at once if each needs `bytes` bytes of a thread.
constexpr int depth_of(int bytes) { return smaller(RING / bytes, 4); }
// Bytes that are loaded ahead into registers where none fit into shared memory.
constexpr int MOST_AHEAD = 80;

// Bytes of a thread in a row that is gathered, in a state, and in numbers per head.
constexpr int ROW_BYTES = GROUPS * HELD * (int)sizeof(GatheredQuad);
constexpr int STATE_BYTES = GROUPS * OWNED * (int)sizeof(float4), HEAD_BYTES = GROUPS * OWNED * (int)sizeof(float);

// Starts to copy 4, 8 or 16 bytes, through the first cache or, if they are 16, past it.
template <bool CACHED, class T>
__device__ __forceinline__ void copy(T& to, const T* from) {
#if __CUDA_ARCH__ >= 800
    word place = (word)__cvta_generic_to_shared(&to);
    if (!CACHED && sizeof(T) == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(sizeof(T)) : "memory");
    }
#else
    to = __ldg(from);
#endif
}

// Ends the copies of an edge.
__device__ __forceinline__ void close_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most the last LATER edges are on their way.
template <int LATER>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

// Three ways to the rows and states of an edge, which is described once: copies start, arrive, or are not made.
template <bool CACHED>
struct Departure {
    Ring ring;
    int place;

    template <bool THROUGH_CACHE = true, class T>
    __device__ __forceinline__ void send(const T* from) {
        copy<THROUGH_CACHE>(ring.at<T>(place), from);
        place += sizeof(T);
    }

    __device__ __forceinline__ Row row(const Gathered* rows, size_t row) {
        EACH_QUAD(g, k) {
            if (inside(k)) send<CACHED>((const GatheredQuad*)rows + quad_place(row, g, k));
            else place += sizeof(GatheredQuad);
        }
        return zero_row();
    }

    __device__ __forceinline__ State state(const float* states, size_t node) {
        EACH_HEAD(g, h) send((const float4*)states + head_place(node, g, h));
        return State{};
    }

    __device__ __forceinline__ Heads heads(const float* numbers, size_t node) {
        EACH_HEAD(g, h) send(numbers + head_place(node, g, h));
        return all_heads(0.0f);
    }
};

struct Arrival {
    Ring ring;
    int place;

    template <class T>
    __device__ __forceinline__ T receive() {
        place += sizeof(T);
        return ring.at<T>(place - (int)sizeof(T));
    }

    __device__ __forceinline__ Row row(const Gathered*, size_t) {
        Row result;
        EACH_QUAD(g, k) {
            float4 quad = widened(receive<GatheredQuad>());
            result.quad[g][k] = inside(k) ? quad : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        return result;
    }

    __device__ __forceinline__ State state(const float*, size_t) {
        State result;
        EACH_HEAD(g, h) result.of[g][h] = receive<float4>();
        return result;
    }

    __device__ __forceinline__ Heads heads(const float*, size_t) {
        Heads result;
        EACH_HEAD(g, h) result.of[g][h] = receive<float>();
        return result;
    }
};

struct Direct {
    __device__ __forceinline__ Row row(const Gathered* rows, size_t row) { return load_row(rows, row); }
    __device__ __forceinline__ State state(const float* states, size_t node) { return load_state(states, node); }
    __device__ __forceinline__ Heads heads(const float* numbers, size_t node) { return node_heads(numbers, node); }
};

// A number that a lane loaded, in all lanes of a team.
__device__ __forceinline__ word of_lane(word value, word lane) { return __shfl_sync(ALL_LANES, value, lane); }

// Visits the entries of a node's list from `first` up to `end`, in chunks that are `step` entries apart: each of the lanes
// that share the node loads one entry of a chunk by `load(at)`, and the teams take turns at the entries. `next` are those of
// the first chunk. `gather(way, node)` describes the rows of a node, BYTES bytes of a thread; `visit(rows, entries, lane, at,
// is_entry)` processes the entry that `lane` loaded. A team without an entry visits a node all the same, without effect. All
// lanes of a warp call this.
template <int BYTES, bool CACHED, class Entry, class Load, class Gather, class Visit>
__device__ __forceinline__ void visit_entries(
    Ring ring, Entry next, word first, word end, word step, Load load, Gather gather, Visit visit) {
    constexpr int DEPTH = depth_of(BYTES);
    word own = threadIdx.x % SHARED_LANES, team = own / TEAM, lane = threadIdx.x % 32 - own + team;
    for (; __any_sync(ALL_LANES, first < end); first += step) {
        Entry entries = next;
        next = load(first + step + own);
        word count = first < end ? min(end - first, (word)SHARED_LANES) : 0, visits = (count + TEAMS - 1) / TEAMS;
        if (NODES_PER_WARP > 1) visits = warp_max(visits);
        auto send = [&](word turn, int place) {
            if (turn < visits) {
                Departure<CACHED> way{ring, place};
                gather(way, of_lane(entries.node, lane + turn * TEAMS));
            }
            close_copies();
        };
#pragma unroll
        for (int turn = 0; turn < DEPTH; ++turn) send(turn, turn * BYTES);
        int place = 0;
        Direct direct;
        decltype(gather(direct, 0)) ahead;
        if (DEPTH == 0 && BYTES <= MOST_AHEAD) ahead = gather(direct, of_lane(entries.node, lane));
        for (word turn = 0; turn < visits; ++turn) {
            word at = turn * TEAMS;
            auto process = [&](const auto& rows) { visit(rows, entries, lane + at, first + at + team, at + team < count); };
            if constexpr (DEPTH > 0) {
                wait_for_copies<DEPTH - 1>();
                Arrival way{ring, place};
                auto rows = gather(way, 0);
                send(turn + DEPTH, place);
                process(rows);
                place = place == (DEPTH - 1) * BYTES ? 0 : place + BYTES;
            } else if constexpr (BYTES <= MOST_AHEAD) {
                auto rows = ahead;
                word later = min(turn + 1, visits - 1);
                ahead = gather(direct, of_lane(entries.node, lane + later * TEAMS));
                process(rows);
            } else {
                process(gather(direct, of_lane(entries.node, lane + at)));
            }
        }
    }
}
