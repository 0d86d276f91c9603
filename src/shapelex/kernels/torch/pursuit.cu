// ORMP and OMP of many rows at once, with the choices of pursuit.py.
//
// THREADS threads code one row, and each has SLOTS atoms. `corr[a] = d_j^H r`, `left[a]` is the squared norm of the
// part of atom j outside the chosen span, and `q_l^H d_j`, the basis at level l, is kept for every atom: for the first
// REG_LEVELS levels in registers, for later ones in shared memory. Besides what group.cuh names, fused.py defines
//   N_ATOMS          atoms, or candidates per row where SUBSET is 1
//   N_NONZERO, N_COORDINATES
//   SLOTS            atoms per thread
//   REG_LEVELS       levels in registers; all that are needed where THREADS < 32
//   ROWS             rows per block of ROWS * THREADS threads
//   CORR_STRIDE      atoms in all: the length of a row of `correlations`
//   GRAM_STRIDE      length of a row of `gram`, which may be padded
//   GRAM_SHARED      1 where a block copies the Gram matrix to shared memory
//   BY_CORRELATION   0 for ORMP, 1 for OMP
//   SUBSET           1 where each row chooses among the candidates that `subset` lists, padded with -1
//   HAS_TARGET       1 where a row ends at an error target
//   PATH             1 where the weights of all sparsities are wanted
// `limits`: independent, gain, target and unsure, as in weights.py.
//
// Out: support, weights before refinement, the smallest squared norm that a chosen atom had left, and the squared norm
// of the residual as a part of that of the row. Whether a row has reached its target may be unsure by rounding; then its smallest norm is -1, and
// pursuit.py must code it again by its coordinates.

#define LAST (N_NONZERO - 1)
#define LEVELS (PATH ? N_NONZERO : 1)

__device__ __forceinline__ REAL score_of(Complex corr, REAL left, REAL independent) {
    if (!(left > independent)) return REAL(0);
    return BY_CORRELATION ? square(corr) : fast_quotient(square(corr), left);
}

// Whether the row ends before the next choice; `unsure` is set where rounding decides.
__device__ __forceinline__ bool meets_target(REAL residual, REAL norm2, const REAL* limits, bool& unsure) {
    const REAL stop = limits[2] * norm2, margin = limits[3] * norm2;
    if (residual > stop + margin) return false;
    unsure = unsure || residual > stop - margin;
    return true;
}

#if THREADS < 32
extern "C" __device__ int row_bytes = 0;

// Few atoms: a warp has 32 / THREADS rows. Nothing leaves the registers, and every thread of a row knows the whole
// triangular factor.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS) pursue(
    const Complex* __restrict__ rows, const Complex* __restrict__ correlations, const Complex* __restrict__ gram,
    const REAL* __restrict__ limits, const int* subset, long long n_rows, int* __restrict__ out_support,
    Complex* __restrict__ out_coefs, REAL* __restrict__ out_lowest, REAL* __restrict__ out_left) {
#if GRAM_SHARED
    __shared__ Complex gram_here[CORR_STRIDE * GRAM_STRIDE];
    for (int n = threadIdx.x; n < CORR_STRIDE * GRAM_STRIDE; n += THREADS * ROWS) gram_here[n] = gram[n];
    __syncthreads();
#define GRAM gram_here
#else
#define GRAM gram
#endif
    const int thread = threadIdx.x % THREADS, lane0 = threadIdx.x % 32 - thread;
    const long long wanted = (long long)blockIdx.x * ROWS + threadIdx.x / THREADS;
    // Threads without a row go along with the last one, and write nothing.
    const long long row = wanted < n_rows ? wanted : n_rows - 1;
    const REAL independent = limits[0];
    const REAL norm2 = sum_lanes(partial_norm2(rows + row * N_COORDINATES, thread), THREADS);

    Complex corr[SLOTS], basis[LAST > 0 ? LAST : 1][SLOTS];
    REAL left[SLOTS];
#if SUBSET
    int ids[SLOTS];
#endif
#pragma unroll
    for (int a = 0; a < SLOTS; a++) {
        const int j = thread + THREADS * a;
        corr[a] = {0, 0};
        left[a] = 0;
#if SUBSET
        ids[a] = j < N_ATOMS ? subset[row * N_ATOMS + j] : -1;
        if (ids[a] >= 0) {
            corr[a] = correlations[row * CORR_STRIDE + ids[a]];
            left[a] = GRAM[ids[a] * (GRAM_STRIDE + 1)].re;
        }
        ids[a] = ids[a] >= 0 ? ids[a] : 0;
#else
        if (j < N_ATOMS) {
            corr[a] = correlations[row * CORR_STRIDE + j];
            left[a] = GRAM[j * (GRAM_STRIDE + 1)].re;
        }
#endif
    }
    Complex triangle[N_NONZERO * LAST / 2 + 1], target[N_NONZERO];
    REAL inv_diag[N_NONZERO];
    int support[N_NONZERO];
    REAL lowest = 1, residual = norm2;
    bool going = true, unsure = false;
#pragma unroll
    for (int level = 0; level < N_NONZERO; level++) {
        if (HAS_TARGET && going) going = !meets_target(residual, norm2, limits, unsure);
        REAL top = 0, best_left = left[0];
        int slot = 0;
        Complex best_corr = corr[0];
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            const REAL score = score_of(corr[a], left[a], independent);
            if (score > top) {
                top = score;
                slot = a;
                best_corr = corr[a];
                best_left = left[a];
            }
        }
        int best = thread + THREADS * slot, id = best;
        if (THREADS > 1) {
            first_largest(top, best, THREADS);
            slot = best / THREADS;
        }
        const int source = lane0 + best % THREADS;
#if SUBSET
        id = ids[0];
#pragma unroll
        for (int a = 1; a < SLOTS; a++)
            if (slot == a) id = ids[a];
        if (THREADS > 1) id = __shfl_sync(FULL, id, source);
#else
        id = best;
#endif
        if (THREADS > 1) {
            best_corr = shuffle(best_corr, source);
            best_left = __shfl_sync(FULL, best_left, source);
        }
        going = going && top > 0 && square(best_corr) > limits[1] * norm2 * best_left;
        support[level] = going ? id : -1;
        const REAL inv_norm = going ? rsqrt(best_left) : REAL(0);
        inv_diag[level] = inv_norm;
        target[level] = scale(best_corr, inv_norm);
        sub_square(residual, target[level]);
        if (going) lowest = min(lowest, best_left);
        Complex own[SLOTS];
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            own[a] = {0, 0};
#if SUBSET
            if (level < LAST) own[a] = GRAM[id * GRAM_STRIDE + ids[a]];
#else
            if (level < LAST && (N_ATOMS == THREADS * SLOTS || thread + THREADS * a < N_ATOMS))
                own[a] = GRAM[id * GRAM_STRIDE + thread + THREADS * a];
#endif
        }
#pragma unroll
        for (int i = 0; i < level; i++) {
            Complex column = basis[i][0];
#pragma unroll
            for (int a = 1; a < SLOTS; a++)
                if (slot == a) column = basis[i][a];
            if (THREADS > 1) column = shuffle(column, source);
            triangle[level * (level - 1) / 2 + i] = column;
            if (level < LAST) {
#pragma unroll
                for (int a = 0; a < SLOTS; a++) sub_conj(own[a], column, basis[i][a]);
            }
        }
        if (level < LAST) {
#pragma unroll
            for (int a = 0; a < SLOTS; a++) {
                own[a] = scale(own[a], inv_norm);
                basis[level][a] = own[a];
                sub_conj(corr[a], own[a], target[level]);
                sub_square(left[a], own[a]);
                if (going && thread + THREADS * a == best) left[a] = 0;
            }
        }
    }
    if (wanted >= n_rows) return;
#pragma unroll
    for (int n_chosen = PATH ? 1 : N_NONZERO; n_chosen <= N_NONZERO; n_chosen++) {
        Complex coef[N_NONZERO];
#pragma unroll
        for (int level = 0; level < N_NONZERO; level++) coef[level] = target[level];
#pragma unroll
        for (int level = N_NONZERO - 1; level >= 0; level--) {
            coef[level] = level < n_chosen ? scale(coef[level], inv_diag[level]) : Complex{0, 0};
#pragma unroll
            for (int i = 0; i < level; i++) sub(coef[i], triangle[level * (level - 1) / 2 + i], coef[level]);
        }
        const long long start = (row * LEVELS + (PATH ? n_chosen - 1 : 0)) * N_NONZERO;
#pragma unroll
        for (int level = 0; level < N_NONZERO; level++)
            if (thread == level % THREADS) out_coefs[start + level] = coef[level];
    }
#pragma unroll
    for (int level = 0; level < N_NONZERO; level++)
        if (thread == level % THREADS) out_support[row * N_NONZERO + level] = support[level];
    if (thread == 0) {
        out_lowest[row] = unsure ? REAL(-1) : lowest;
        out_left[row] = norm2 > 0 ? residual / norm2 : REAL(0);
    }
}
#else
// More atoms: THREADS / 32 warps have one row, and the rows of a block do not wait for each other. At each level the
// warps publish the column of their own best atom before it is known which is the best of all, so one barrier is
// enough; two generations of columns take turns.
#define WARPS (THREADS / 32)
#define N_SLOTS (THREADS * SLOTS)
// Two adjacent atoms per thread make one load of 16 bytes.
#define TOGETHER (SLOTS % 2 == 0 && sizeof(REAL) == 4 ? 2 : 1)
// Levels of the basis start in different banks of shared memory, and at multiples of 16 bytes. Slots beyond the atoms
// are not kept there, and what such threads read instead is never used.
#define N_KEPT ((N_ATOMS + TOGETHER - 1) / TOGETHER)
#define STRIDE (TOGETHER * (N_KEPT + 1))
#define SHARED_LEVELS (LAST > REG_LEVELS ? LAST - REG_LEVELS : 0)
#define COLUMN (REG_LEVELS > 0 ? REG_LEVELS : 1)

struct __align__(2 * TOGETHER * sizeof(REAL)) Atoms {
    Complex of[TOGETHER];
};

// What a warp publishes of its best atom.
struct Candidate {
    REAL score, left;
    Complex corr;
    int atom, id;
};

struct __align__(16) Shared {
    Atoms basis[(SHARED_LEVELS > 0 ? SHARED_LEVELS * STRIDE + N_SLOTS - N_ATOMS : 0) / TOGETHER + 1];
    Complex triangle[N_NONZERO * COLUMN];
    Complex columns[2][WARPS][COLUMN];
    Complex target[N_NONZERO];
    REAL inv_diag[N_NONZERO];
    Candidate candidates[2][WARPS];
    REAL norm2[WARPS];
    int ids[N_NONZERO], places[N_NONZERO];
};

extern "C" __device__ int row_bytes = sizeof(Shared);

__device__ __forceinline__ void wait_for_row(int group) {
    if (WARPS == 1)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(THREADS) : "memory");
}

// Number of the atom that a thread has in a slot, and the reverse.
__device__ __forceinline__ int atom_of(int thread, int slot) {
    return TOGETHER * (thread + THREADS * (slot / TOGETHER)) + slot % TOGETHER;
}
__device__ __forceinline__ int thread_of(int atom) { return atom / TOGETHER % THREADS; }
__device__ __forceinline__ int slot_of(int atom) {
    return atom / (TOGETHER * THREADS) * TOGETHER + atom % TOGETHER;
}

// Copies the column of one thread's atom in the first `n` levels that are in registers.
__device__ __forceinline__ void publish(const Complex (&levels)[COLUMN][SLOTS], int slot, int n, Complex* out) {
#pragma unroll
    for (int a = 0; a < SLOTS; a++)
        if (slot == a) {
#pragma unroll
            for (int i = 0; i < REG_LEVELS; i++)
                if (i < n) out[i] = levels[i][a];
        }
}

// out -= conj(factor) * (one level of the basis, of the atoms of this thread).
__device__ __forceinline__ void sub_level(Complex (&out)[SLOTS], Complex factor, const Atoms* level) {
#pragma unroll
    for (int b = 0; b < SLOTS / TOGETHER; b++) {
        const Atoms q = level[THREADS * b];
#pragma unroll
        for (int e = 0; e < TOGETHER; e++) sub_conj(out[TOGETHER * b + e], factor, q.of[e]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS* ROWS) pursue(
    const Complex* __restrict__ rows, const Complex* __restrict__ correlations, const Complex* __restrict__ gram,
    const REAL* __restrict__ limits, const int* subset, long long n_rows, int* __restrict__ out_support,
    Complex* __restrict__ out_coefs, REAL* __restrict__ out_lowest, REAL* __restrict__ out_left) {
    extern __shared__ __align__(16) char memory[];
    const int group = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    const int warp = thread / 32, lane = thread % 32;
    const long long row = (long long)blockIdx.x * ROWS + group;
    if (row >= n_rows) return;
    Shared& shared = reinterpret_cast<Shared*>(memory)[group];
    const Complex* basis = reinterpret_cast<const Complex*>(shared.basis);
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
#if SUBSET
    int ids[SLOTS];
#endif
#pragma unroll
    for (int a = 0; a < SLOTS; a++) {
        const int j = atom_of(thread, a);
        int id = j < N_ATOMS ? j : -1;
#if SUBSET
        if (id >= 0) id = subset[row * N_ATOMS + j];
        ids[a] = id >= 0 ? id : 0;
#endif
        corr[a] = id >= 0 ? correlations[row * CORR_STRIDE + id] : Complex{0, 0};
        left[a] = id >= 0 ? gram[(long long)id * (GRAM_STRIDE + 1)].re : REAL(0);
    }
    REAL lowest = 1, residual = norm2;
    int n_chosen = 0;
    bool unsure = false;

    // One level; false where the row ends before it. Levels in registers are unrolled, so `level` is a constant there.
    auto step = [&](const int level, const bool in_registers) {
        if (HAS_TARGET && meets_target(residual, norm2, limits, unsure)) return false;
        const int turn = level % 2;
        REAL top = 0;
        int slot = 0;
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            const REAL score = score_of(corr[a], left[a], independent);
            if (score > top) {
                top = score;
                slot = a;
            }
        }
        int best = atom_of(thread, slot);
        first_largest_of_warp(top, best);
        if (thread == thread_of(best)) {
            slot = slot_of(best);
            Candidate found = {top, left[0], corr[0], best, best};
#pragma unroll
            for (int a = 0; a < SLOTS; a++)
                if (slot == a) {
                    found.left = left[a];
                    found.corr = corr[a];
#if SUBSET
                    found.id = ids[a];
#endif
                }
            shared.candidates[turn][warp] = found;
            publish(levels, slot, in_registers ? level : REG_LEVELS, shared.columns[turn][warp]);
        }
        wait_for_row(group);
        int from = 0;
        top = shared.candidates[turn][0].score;
        best = shared.candidates[turn][0].atom;
#pragma unroll
        for (int w = 1; w < WARPS; w++) {
            const REAL score = shared.candidates[turn][w].score;
            const int atom = shared.candidates[turn][w].atom;
            if (score > top || (score == top && atom < best)) {
                top = score;
                best = atom;
                from = w;
            }
        }
        const Candidate chosen = shared.candidates[turn][from];
        if (!(top > 0 && square(chosen.corr) > limits[1] * norm2 * chosen.left)) return false;
        const Complex* column = shared.columns[turn][from];
        const REAL inv_norm = rsqrt(chosen.left);
        const Complex target = scale(chosen.corr, inv_norm);
        sub_square(residual, target);
        lowest = min(lowest, chosen.left);
        n_chosen = level + 1;
        if (thread < REG_LEVELS) shared.triangle[level * COLUMN + thread] = column[thread];
        if (thread == 0) {
            shared.target[level] = target;
            shared.inv_diag[level] = inv_norm;
            shared.ids[level] = chosen.id;
            shared.places[level] = best;
        }
        if (level == LAST) return true;
        Complex own[SLOTS], sums[SLOTS];
        const Complex* gram_row = gram + (long long)chosen.id * GRAM_STRIDE;
#pragma unroll
        for (int b = 0; b < SLOTS / TOGETHER; b++) {
#if SUBSET
#pragma unroll
            for (int e = 0; e < TOGETHER; e++) own[TOGETHER * b + e] = gram_row[ids[TOGETHER * b + e]];
#else
            const Atoms q = reinterpret_cast<const Atoms*>(gram_row)[thread + THREADS * b];
#pragma unroll
            for (int e = 0; e < TOGETHER; e++) own[TOGETHER * b + e] = q.of[e];
#endif
        }
#pragma unroll
        for (int a = 0; a < SLOTS; a++) sums[a] = {0, 0};
        // The Gram row is needed last: it travels meanwhile.
#pragma unroll
        for (int i = 0; i < REG_LEVELS; i++)
            if (i < level) {
                const Complex factor = column[i];
#pragma unroll
                for (int a = 0; a < SLOTS; a++) sub_conj(sums[a], factor, levels[i][a]);
            }
        if (!in_registers) {
#pragma unroll 4
            for (int i = 0; i < level - REG_LEVELS; i++)
                sub_level(sums, basis[i * STRIDE + best], shared.basis + i * (STRIDE / TOGETHER) + thread);
        }
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            own[a] = {(own[a].re + sums[a].re) * inv_norm, (own[a].im + sums[a].im) * inv_norm};
            sub_conj(corr[a], own[a], target);
            sub_square(left[a], own[a]);
            if (atom_of(thread, a) == best) left[a] = 0;
        }
        if (in_registers) {
#pragma unroll
            for (int a = 0; a < SLOTS; a++) levels[level][a] = own[a];
        } else {
#pragma unroll
            for (int b = 0; b < SLOTS / TOGETHER; b++) {
                Atoms q;
#pragma unroll
                for (int e = 0; e < TOGETHER; e++) q.of[e] = own[TOGETHER * b + e];
                if (thread + THREADS * b < N_KEPT)
                    shared.basis[(level - REG_LEVELS) * (STRIDE / TOGETHER) + thread + THREADS * b] = q;
            }
        }
        return true;
    };
    bool going = true;
#pragma unroll
    for (int level = 0; level < REG_LEVELS; level++)
        if (going) going = step(level, true);
    for (int level = REG_LEVELS; going && level < N_NONZERO; level++) going = step(level, false);
    wait_for_row(group);
    if (warp != 0) return;

    // Back substitution: lane i has the weights of the levels i, i + 32, …
    const int n_per_lane = (N_NONZERO + 31) / 32;
    for (int size = PATH ? 1 : N_NONZERO; size <= N_NONZERO; size++) {
        Complex coef[n_per_lane];
#pragma unroll
        for (int n = 0; n < n_per_lane; n++) {
            const int level = lane + 32 * n;
            coef[n] = level < min(size, n_chosen) ? shared.target[level] : Complex{0, 0};
        }
        for (int level = min(size, n_chosen) - 1; level >= 0; level--) {
            Complex value = coef[0];
#pragma unroll
            for (int n = 1; n < n_per_lane; n++)
                if (level / 32 == n) value = coef[n];
            value = scale(shuffle(value, level % 32), shared.inv_diag[level]);
            const int place = shared.places[level];
#pragma unroll
            for (int n = 0; n < n_per_lane; n++) {
                const int i = lane + 32 * n;
                if (i == level) coef[n] = value;
                if (i < level) {
                    const Complex t = i < REG_LEVELS ? shared.triangle[level * COLUMN + i]
                                                     : basis[(i - REG_LEVELS) * STRIDE + place];
                    sub(coef[n], t, value);
                }
            }
        }
#pragma unroll
        for (int n = 0; n < n_per_lane; n++) {
            const int level = lane + 32 * n;
            if (level < N_NONZERO) out_coefs[(row * LEVELS + (PATH ? size - 1 : 0)) * N_NONZERO + level] = coef[n];
        }
    }
    for (int level = lane; level < N_NONZERO; level += 32)
        out_support[row * N_NONZERO + level] = level < n_chosen ? shared.ids[level] : -1;
    if (lane == 0) {
        out_lowest[row] = unsure ? REAL(-1) : lowest;
        out_left[row] = norm2 > 0 ? residual / norm2 : REAL(0);
    }
}
#endif
