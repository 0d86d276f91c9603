// ORMP followed by exchanges of one chosen atom for another, while the error falls.
//
// With M the inverse of the Gram matrix of the chosen atoms, `weights` = M c_S and the rows B = M G_S. of `combined`,
// dropping the atom at place p costs |a_p|^2 / M_pp; then the correlation r_j of atom j with the residual becomes
// r_j + conj(B_pj) a_p / M_pp, its squared norm outside the chosen span left_j + |B_pj|^2 / M_pp, and adding it gains
// the quotient of the square of the one and the other. Choosing an atom is an exchange without an atom that is dropped:
// all choices and exchanges are the same rank-one updates. N_NONZERO columns beside those of the atoms hold M itself.
//
// THREADS threads, whole warps, have one row, and each has SLOTS columns. The first REG_LEVELS rows of B are in
// registers, later ones in shared memory. Definitions and `limits` are those of pursuit.cu, and a last limit, the
// machine epsilon; and
//   FORCED           1 where the first support is given: what `support` has comes in and goes out
//   MOST_EXCHANGES   exchanges after which the kernel stops
// Out: the first support and the last one, the part of the squared norm that ORMP leaves, and the number of exchanges.
// What rank-one updates promise is checked by the caller. The correlations r_j are known to roundings of the norm of the
// row, so a gain is known to roundings of that norm times the root of what is gained before the loss is subtracted.

#define WARPS (THREADS / 32)
#define N_COLUMNS (N_ATOMS + N_NONZERO)
#define TOGETHER (SLOTS % 2 == 0 && sizeof(REAL) == 4 ? 2 : 1)
#define N_KEPT ((N_COLUMNS + TOGETHER - 1) / TOGETHER)
#define STRIDE (TOGETHER * (N_KEPT + 1))
#define SHARED_LEVELS (N_NONZERO > REG_LEVELS ? N_NONZERO - REG_LEVELS : 0)
#define COLUMN (REG_LEVELS > 0 ? REG_LEVELS : 1)
// What is left of a column that must not be chosen: an atom that is, or one of M. Nothing that is added makes it positive.
#define NEVER REAL(-1e30)

struct __align__(2 * TOGETHER * sizeof(REAL)) Atoms {
    Complex of[TOGETHER];
};

struct Adding {
    static constexpr bool drops = false;
};
struct Exchanging {
    static constexpr bool drops = true;
};

// What a warp publishes of its best choice or exchange.
struct Candidate {
    REAL gain, left;
    Complex corr;
    int place, atom;
};

// What exchanges of the atom at one place need: a / M_pp, 1 / M_pp and what dropping it costs.
struct __align__(16) Place {
    Complex x;
    REAL inv_pivot, loss;
};

struct __align__(16) Shared {
    Atoms combined[(SHARED_LEVELS > 0 ? SHARED_LEVELS * STRIDE + THREADS * SLOTS - N_COLUMNS : 0) / TOGETHER + 1];
    Place places[N_NONZERO];
    // Multiples of the dropped row and of the new row in all others.
    Complex beta[N_NONZERO], b[N_NONZERO];
    Complex of_atom[COLUMN], of_place[COLUMN];
    Complex weights[N_NONZERO];
    REAL pivots[N_NONZERO];
    Candidate candidates[WARPS];
    REAL norm2[WARPS];
    int support[N_NONZERO];
};

extern "C" __device__ int row_bytes = sizeof(Shared);

__device__ __forceinline__ void wait_for_row(int group) {
    if (WARPS == 1)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(THREADS) : "memory");
}

__device__ __forceinline__ int column_of(int thread, int slot) {
    return TOGETHER * (thread + THREADS * (slot / TOGETHER)) + slot % TOGETHER;
}
__device__ __forceinline__ int thread_of(int column) { return column / TOGETHER % THREADS; }
__device__ __forceinline__ int slot_of(int column) {
    return column / (TOGETHER * THREADS) * TOGETHER + column % TOGETHER;
}

__device__ __forceinline__ void publish(const Complex (&levels)[COLUMN][SLOTS], int slot, int n, Complex* out) {
#pragma unroll
    for (int a = 0; a < SLOTS; a++)
        if (slot == a) {
#pragma unroll
            for (int i = 0; i < REG_LEVELS; i++)
                if (i < n) out[i] = levels[i][a];
        }
}

// The best exchange that a thread knows of: its gain, place and slot.
struct Best {
    REAL gain;
    int place, slot;
};

// Replaces the values of one row of B and scores the exchanges of its atom.
template <bool REPLACES, bool DROPS, bool SCORES, int FIRST, int COUNT>
__device__ __forceinline__ void visit(
    Complex* values, const Shared& shared, int q, int place, const Complex (&old)[SLOTS], const Complex (&fresh)[SLOTS],
    const Complex (&corr)[SLOTS], const REAL (&left)[SLOTS], REAL independent, Best& best) {
    Complex beta = {0, 0}, b = {0, 0};
    Place at = {{0, 0}, 0, 0};
    if (REPLACES && DROPS) beta = shared.beta[q];
    if (REPLACES) b = shared.b[q];
    if (SCORES) at = shared.places[q];
#pragma unroll
    for (int e = 0; e < COUNT; e++) {
        const int a = FIRST + e;
        Complex value = values[e];
        if (REPLACES) {
            if (DROPS) sub(value, beta, old[a]);
            sub(value, b, fresh[a]);
            if (q == place) value = fresh[a];
            values[e] = value;
        }
        if (SCORES) {
            Complex r = corr[a];
            r.re += value.re * at.x.re;
            r.im += value.re * at.x.im;
            r.re += value.im * at.x.im;
            r.im -= value.im * at.x.re;
            const REAL remaining = left[a] + square(value) * at.inv_pivot;
            const REAL gain = fast_quotient(square(r), remaining) - at.loss;
            if (remaining > independent && gain > best.gain) best = {gain, q, a};
        }
    }
}

template <bool REPLACES, bool DROPS, bool SCORES, int FIRST>
__device__ __forceinline__ void visit_shared(
    Atoms* level, const Shared& shared, int thread, int q, int place, const Complex (&old)[SLOTS],
    const Complex (&fresh)[SLOTS], const Complex (&corr)[SLOTS], const REAL (&left)[SLOTS], REAL independent,
    Best& best) {
    if constexpr (FIRST < SLOTS) {
        Atoms values = level[THREADS * (FIRST / TOGETHER)];
        visit<REPLACES, DROPS, SCORES, FIRST, TOGETHER>(
            values.of, shared, q, place, old, fresh, corr, left, independent, best);
        if (REPLACES && thread + THREADS * (FIRST / TOGETHER) < N_KEPT) level[THREADS * (FIRST / TOGETHER)] = values;
        visit_shared<REPLACES, DROPS, SCORES, FIRST + TOGETHER>(
            level, shared, thread, q, place, old, fresh, corr, left, independent, best);
    }
}

// Visits all rows of B: replaces them after a choice, and scores the next exchanges.
template <bool REPLACES, bool DROPS, bool SCORES>
__device__ __forceinline__ Best visit_rows(
    Complex (&levels)[COLUMN][SLOTS], Shared& shared, int thread, int n_chosen, int place, const Complex (&old)[SLOTS],
    const Complex (&fresh)[SLOTS], const Complex (&corr)[SLOTS], const REAL (&left)[SLOTS], REAL independent) {
    Best best = {0, 0, 0};
#pragma unroll
    for (int q = 0; q < REG_LEVELS; q++)
        if (q < n_chosen)
            visit<REPLACES, DROPS, SCORES, 0, SLOTS>(
                levels[q], shared, q, place, old, fresh, corr, left, independent, best);
    for (int q = REG_LEVELS; q < n_chosen; q++)
        visit_shared<REPLACES, DROPS, SCORES, 0>(
            shared.combined + (q - REG_LEVELS) * (STRIDE / TOGETHER) + thread, shared, thread, q, place, old, fresh, corr,
            left, independent, best);
    return best;
}

extern "C" __global__ void __launch_bounds__(THREADS* ROWS) polish(
    const Complex* __restrict__ rows, const Complex* __restrict__ correlations, const Complex* __restrict__ gram,
    const REAL* __restrict__ limits, long long n_rows, int* __restrict__ out_first, int* __restrict__ support,
    REAL* __restrict__ out_left, int* __restrict__ out_exchanges) {
    extern __shared__ __align__(16) char memory[];
    const int group = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    const int warp = thread / 32, lane = thread % 32;
    const long long row = (long long)blockIdx.x * ROWS + group;
    if (row >= n_rows) return;
    Shared& shared = reinterpret_cast<Shared*>(memory)[group];
    const Complex* combined = reinterpret_cast<const Complex*>(shared.combined);
    const REAL independent = limits[0];

    REAL norm2 = sum_lanes(partial_norm2(rows + row * N_COORDINATES, thread), 32);
    if (WARPS > 1) {
        if (lane == 0) shared.norm2[warp] = norm2;
        wait_for_row(group);
        norm2 = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) norm2 += shared.norm2[w];
    }
    Complex corr[SLOTS], levels[COLUMN][SLOTS];
    REAL left[SLOTS];
#pragma unroll
    for (int a = 0; a < SLOTS; a++) {
        const int j = column_of(thread, a);
        corr[a] = j < N_ATOMS ? correlations[row * CORR_STRIDE + j] : Complex{0, 0};
        left[a] = j < N_ATOMS ? gram[(long long)j * (GRAM_STRIDE + 1)].re : NEVER;
#pragma unroll
        for (int i = 0; i < COLUMN; i++) levels[i][a] = {0, 0};
    }
    REAL residual = norm2;
    int n_chosen = 0;

    // The best candidate of all warps; `gain` and `number`, which is `place * N_COLUMNS + atom`, are those of this
    // thread. False where there is none.
    auto agree = [&](REAL gain, int number, Candidate& found) {
        first_largest_of_warp(gain, number);
        const int atom = number % N_COLUMNS;
        if (thread == thread_of(atom)) {
            const int slot = slot_of(atom);
            Candidate mine = {gain, left[0], corr[0], number / N_COLUMNS, atom};
#pragma unroll
            for (int a = 1; a < SLOTS; a++)
                if (slot == a) {
                    mine.left = left[a];
                    mine.corr = corr[a];
                }
            shared.candidates[warp] = mine;
        } else if (lane == 0 && thread_of(atom) / 32 != warp) {
            // No thread of this warp has a candidate.
            shared.candidates[warp].gain = 0;
        }
        wait_for_row(group);
        found = shared.candidates[0];
#pragma unroll
        for (int w = 1; w < WARPS; w++) {
            const Candidate other = shared.candidates[w];
            if (other.gain > found.gain ||
                (other.gain == found.gain &&
                 other.place * N_COLUMNS + other.atom < found.place * N_COLUMNS + found.atom))
                found = other;
        }
        return found.gain > 0;
    };

    // Chooses the atom of a candidate: at a new place, or instead of the one at its place, where the kind says so; then
    // it returns the best exchange that follows.
    auto choose = [&](const Candidate chosen, auto kind) {
        constexpr bool DROPS = decltype(kind)::drops;
        const bool drops = DROPS;
        const int place = drops ? chosen.place : n_chosen, atom = chosen.atom;
        if (thread == thread_of(atom)) publish(levels, slot_of(atom), n_chosen, shared.of_atom);
        if (drops && thread == thread_of(N_ATOMS + place))
            publish(levels, slot_of(N_ATOMS + place), n_chosen, shared.of_place);
        Place dropped = {{0, 0}, 0, 0};
        int its_atom = -1;
        if (drops) {
            dropped = shared.places[place];
            its_atom = shared.support[place];
        }
        wait_for_row(group);
        Complex corner = {0, 0};
        if (drops) corner = place < REG_LEVELS ? shared.of_atom[place] : combined[(place - REG_LEVELS) * STRIDE + atom];
        // Of the atom, with the dropped one put back.
        Complex its_corr = chosen.corr;
        its_corr.re += corner.re * dropped.x.re + corner.im * dropped.x.im;
        its_corr.im += corner.re * dropped.x.im - corner.im * dropped.x.re;
        const REAL its_left = chosen.left + square(corner) * dropped.inv_pivot, inverse = 1 / its_left;
        if (warp == 0) {
            const Complex new_weight = scale(its_corr, inverse), old_weight = drops ? shared.weights[place] : Complex{0, 0};
            const REAL old_pivot = drops ? shared.pivots[place] : REAL(0);
            __syncwarp();
            for (int q = lane; q < n_chosen; q += 32) {
                if (drops && q == place) continue;
                Complex b = q < REG_LEVELS ? shared.of_atom[q] : combined[(q - REG_LEVELS) * STRIDE + atom];
                Complex beta = {0, 0};
                if (drops)
                    beta = scale(q < REG_LEVELS ? shared.of_place[q]
                                                : combined[(q - REG_LEVELS) * STRIDE + N_ATOMS + place],
                                 dropped.inv_pivot);
                sub(b, beta, corner);
                Complex weight = shared.weights[q];
                sub(weight, beta, old_weight);
                sub(weight, b, new_weight);
                const REAL pivot = shared.pivots[q] + square(b) * inverse - square(beta) * old_pivot;
                shared.beta[q] = beta;
                shared.b[q] = b;
                shared.weights[q] = weight;
                shared.pivots[q] = pivot;
                shared.places[q] = {scale(weight, 1 / pivot), 1 / pivot, square(weight) / pivot};
            }
            if (lane == 0) {
                shared.beta[place] = shared.b[place] = {0, 0};
                shared.weights[place] = new_weight;
                shared.pivots[place] = inverse;
                shared.places[place] = {its_corr, its_left, square(its_corr) * inverse};
                shared.support[place] = atom;
            }
        }
        wait_for_row(group);
        // The new row is G_jl - sum_q conj(b_q) G_ql: from rows of B, whose roundings grow with every choice, it would soon
        // be wrong in single precision.
        Complex fresh[SLOTS], old[SLOTS];
        const Atoms* gram_here = reinterpret_cast<const Atoms*>(gram) + thread;
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            const int m = column_of(thread, a) - N_ATOMS;
            fresh[a] = gram_here[(long long)atom * (GRAM_STRIDE / TOGETHER) + THREADS * (a / TOGETHER)].of[a % TOGETHER];
            if (m == place) fresh[a] = {1, 0};
            if (m >= 0 && m < n_chosen && m != place) fresh[a] = {-shared.b[m].re, shared.b[m].im};
            old[a] = {0, 0};
        }
#pragma unroll 4
        for (int q = 0; q < n_chosen; q++) {
            const Complex b = shared.b[q];
            const Atoms* of_chosen = gram_here + (long long)shared.support[q] * (GRAM_STRIDE / TOGETHER);
#pragma unroll
            for (int c = 0; c < SLOTS / TOGETHER; c++) {
                const Atoms values = of_chosen[THREADS * c];
#pragma unroll
                for (int e = 0; e < TOGETHER; e++) sub_conj(fresh[TOGETHER * c + e], b, values.of[e]);
            }
        }
        if (drops) {
#pragma unroll
            for (int q = 0; q < REG_LEVELS; q++)
                if (q == place) {
#pragma unroll
                    for (int a = 0; a < SLOTS; a++) old[a] = levels[q][a];
                }
            if (place >= REG_LEVELS) {
                const Atoms* level = shared.combined + (place - REG_LEVELS) * (STRIDE / TOGETHER) + thread;
#pragma unroll
                for (int a = 0; a < SLOTS; a++) old[a] = level[THREADS * (a / TOGETHER)].of[a % TOGETHER];
            }
        }
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            fresh[a] = scale(fresh[a], inverse);
            corr[a].re += old[a].re * dropped.x.re + old[a].im * dropped.x.im;
            corr[a].im += old[a].re * dropped.x.im - old[a].im * dropped.x.re;
            sub_conj(corr[a], fresh[a], its_corr);
            if (column_of(thread, a) == its_atom) left[a] = 0;
            left[a] += square(old[a]) * dropped.inv_pivot - square(fresh[a]) * its_left;
            if (column_of(thread, a) == atom) left[a] = NEVER;
        }
        if (!drops) n_chosen++;
        return visit_rows<true, DROPS, DROPS>(
            levels, shared, thread, n_chosen, place, old, fresh, corr, left, independent);
    };

    REAL gain;
    int number;
    Candidate found;
    bool may_exchange = true;
    while (n_chosen < N_NONZERO) {
        gain = 0;
        number = column_of(thread, 0);
#if FORCED
        const int given = support[row * N_NONZERO + n_chosen];
        if (given < 0) break;
        if (thread == thread_of(given)) {
            gain = 1;
            number = given;
        }
        may_exchange = agree(gain, number, found) && found.left > independent;
        if (!may_exchange) break;
#else
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            const REAL score = left[a] > independent ? fast_quotient(square(corr[a]), left[a]) : REAL(0);
            if (score > gain) {
                gain = score;
                number = column_of(thread, a);
            }
        }
        if (!agree(gain, number, found) || !(square(found.corr) > limits[1] * norm2 * found.left)) break;
#endif
        residual -= square(found.corr) / found.left;
        choose(found, Adding());
    }
#if !FORCED
    for (int level = thread; level < N_NONZERO; level += THREADS)
        out_first[row * N_NONZERO + level] = level < n_chosen ? shared.support[level] : -1;
#endif
    int n_exchanges = 0;
    // Where only rounding is left, gains tie.
    may_exchange = may_exchange && n_chosen > 0 && residual > limits[3] * norm2;
    if (may_exchange) {
        const Complex none[SLOTS] = {};
        Best best = visit_rows<false, false, true>(
            levels, shared, thread, n_chosen, 0, none, none, corr, left, independent);
        while (n_exchanges < MOST_EXCHANGES &&
               agree(best.gain, best.place * N_COLUMNS + column_of(thread, best.slot), found) &&
               found.gain > 16 * limits[4] * sqrt(norm2 * (found.gain + shared.places[found.place].loss))) {
            best = choose(found, Exchanging());
            n_exchanges++;
        }
    }
    wait_for_row(group);
    if (n_exchanges > 0 || !FORCED)
        for (int level = thread; level < N_NONZERO; level += THREADS)
            support[row * N_NONZERO + level] = level < n_chosen ? shared.support[level] : -1;
    if (thread == 0) {
        out_left[row] = norm2 > 0 ? residual / norm2 : REAL(0);
        out_exchanges[row] = n_exchanges;
    }
}
