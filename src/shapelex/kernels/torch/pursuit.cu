// ORMP and OMP of many rows at once: one group of threads a row, one thread an atom.
//
// The twin of pursuit.py, with the same choices: `corr[j] = d_j^H r`, `left[j]` the squared norm of the part of atom j
// outside the chosen span, and `basis[l] = q_l^H d_j` of the own atom, kept in registers: all loops over levels
// are unrolled. Compiled for one dictionary size by pursuit_cuda.py, which defines
//   REAL, WORD        float and unsigned, or double and unsigned long long: WORD has the bits of a REAL
//   N_ATOMS, N_NONZERO, N_COORDINATES
//   GROUP             threads a row: a power of two up to 32, or a multiple of 32
//   ROWS              rows a block of GROUP * ROWS threads (1 where GROUP > 32)
//   BY_CORRELATION    0 for ORMP, 1 for OMP
//
// One thing is not like in pursuit.py: rows cannot stop at a target error. The torch twin does that.

struct Complex { REAL re, im; };

#define FULL 0xffffffffu
#define N_WARPS ((GROUP + 31) / 32)

__device__ __forceinline__ unsigned bits_of(float value) { return __float_as_uint(value); }
__device__ __forceinline__ unsigned long long bits_of(double value) { return __double_as_longlong(value); }

// Largest of non-negative floats by their bits, over aligned groups of `width` lanes.
__device__ __forceinline__ WORD largest(WORD word, int width) {
    for (int step = width / 2; step > 0; step /= 2) {
        WORD other = __shfl_xor_sync(FULL, word, step);
        word = other > word ? other : word;
    }
    return word;
}

__device__ __forceinline__ REAL sum(REAL value, int width) {
    for (int step = width / 2; step > 0; step /= 2) value += __shfl_xor_sync(FULL, value, step);
    return value;
}

// Gain of an atom; 0 where the chosen ones span it.
__device__ __forceinline__ REAL score_of(REAL re, REAL im, REAL left, REAL independent) {
    REAL square = re * re + im * im;
    if (!(left > independent)) return REAL(0);
    return BY_CORRELATION ? square : square / left;
}

#if GROUP <= 32
// Small dictionaries: a warp holds 32 / GROUP rows. Nothing leaves the registers; every lane knows the whole
// triangular factor, so it solves for the coefficients by itself.
extern "C" __global__ void __launch_bounds__(GROUP * ROWS) pursue(
    const Complex* __restrict__ rows, const Complex* __restrict__ correlations, const Complex* __restrict__ gram,
    const REAL* __restrict__ limits, int n_rows, int* __restrict__ out_support, Complex* __restrict__ out_coefs,
    REAL* __restrict__ out_lowest) {
    const int atom = threadIdx.x % GROUP;
    const long long wanted = (long long)blockIdx.x * ROWS + threadIdx.x / GROUP;
    // Lanes without a row go along with the last one, and write nothing.
    const long long row = wanted < n_rows ? wanted : n_rows - 1;
    const int lane0 = (threadIdx.x % 32) / GROUP * GROUP;
    const REAL independent = limits[0];

    REAL norm2 = 0;
    for (int n = atom; n < N_COORDINATES; n += GROUP) {
        Complex x = rows[row * N_COORDINATES + n];
        norm2 += x.re * x.re + x.im * x.im;
    }
    norm2 = sum(norm2, GROUP);
    const REAL stop_gain = limits[1] * norm2;

    Complex corr = {0, 0};
    REAL left = 0;
    if (atom < N_ATOMS) {
        corr = correlations[row * N_ATOMS + atom];
        left = gram[atom * N_ATOMS + atom].re;
    }
    Complex basis[N_NONZERO], triangle[N_NONZERO * (N_NONZERO - 1) / 2 + 1], coef[N_NONZERO];
    REAL inv_diag[N_NONZERO];
    int support[N_NONZERO];
    REAL lowest = 1;
    bool going = true;
#pragma unroll
    for (int level = 0; level < N_NONZERO; level++) {
        REAL score = score_of(corr.re, corr.im, left, independent);
        WORD word = bits_of(score);
        WORD top = largest(word, GROUP);
        unsigned holders = __ballot_sync(FULL, word == top) >> lane0;
        const int best = __ffs(holders & (GROUP == 32 ? FULL : ((1u << (GROUP % 32)) - 1))) - 1;
        REAL best_re = __shfl_sync(FULL, corr.re, best, GROUP), best_im = __shfl_sync(FULL, corr.im, best, GROUP);
        REAL best_left = __shfl_sync(FULL, left, best, GROUP);
        REAL square = best_re * best_re + best_im * best_im;
        going = going && top != 0 && square > stop_gain * best_left;
        support[level] = going ? best : -1;
        REAL inv_norm = going ? REAL(1) / sqrt(best_left) : REAL(0);
        inv_diag[level] = inv_norm;
        coef[level] = {best_re * inv_norm, best_im * inv_norm};
        if (going) lowest = min(lowest, best_left);
        Complex own = {0, 0};
        if (atom < N_ATOMS) own = gram[best * N_ATOMS + atom];
#pragma unroll
        for (int i = 0; i < level; i++) {
            REAL re = __shfl_sync(FULL, basis[i].re, best, GROUP), im = __shfl_sync(FULL, basis[i].im, best, GROUP);
            triangle[level * (level - 1) / 2 + i] = {re, im};
            own.re -= re * basis[i].re + im * basis[i].im;
            own.im -= re * basis[i].im - im * basis[i].re;
        }
        own.re *= inv_norm;
        own.im *= inv_norm;
        basis[level] = own;
        corr.re -= own.re * coef[level].re + own.im * coef[level].im;
        corr.im -= own.re * coef[level].im - own.im * coef[level].re;
        left -= own.re * own.re + own.im * own.im;
        if (going && atom == best) left = 0;
    }
#pragma unroll
    for (int level = N_NONZERO - 1; level >= 0; level--) {
        coef[level].re *= inv_diag[level];
        coef[level].im *= inv_diag[level];
#pragma unroll
        for (int i = 0; i < level; i++) {
            Complex t = triangle[level * (level - 1) / 2 + i];
            coef[i].re -= t.re * coef[level].re - t.im * coef[level].im;
            coef[i].im -= t.re * coef[level].im + t.im * coef[level].re;
        }
    }
    if (wanted < n_rows) {
#pragma unroll
        for (int level = 0; level < N_NONZERO; level++)
            if (atom == level % GROUP) {
                out_support[row * N_NONZERO + level] = support[level];
                out_coefs[row * N_NONZERO + level] = coef[level];
            }
        if (atom == 0) out_lowest[row] = lowest;
    }
}
#else
// Large dictionaries: a block is one row. Each warp writes the column of its own best atom before it is known whether
// that is the best of all, so one barrier a level is enough; two generations of columns take turns.
extern "C" __global__ void __launch_bounds__(GROUP) pursue(
    const Complex* __restrict__ rows, const Complex* __restrict__ correlations, const Complex* __restrict__ gram,
    const REAL* __restrict__ limits, int n_rows, int* __restrict__ out_support, Complex* __restrict__ out_coefs,
    REAL* __restrict__ out_lowest) {
    const int atom = threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long row = blockIdx.x;
    __shared__ Complex columns[2][N_WARPS][N_NONZERO];
    __shared__ Complex best_corr[2][N_WARPS];
    __shared__ REAL best_left[2][N_WARPS];
    __shared__ WORD best_word[2][N_WARPS];
    __shared__ int best_atom[2][N_WARPS];
    __shared__ Complex triangle[N_NONZERO][N_NONZERO];
    __shared__ Complex coef[N_NONZERO];
    __shared__ REAL inv_diag[N_NONZERO], partial[N_WARPS];
    __shared__ int support[N_NONZERO];
    const REAL independent = limits[0];

    REAL norm2 = 0;
    for (int n = atom; n < N_COORDINATES; n += GROUP) {
        Complex x = rows[row * N_COORDINATES + n];
        norm2 += x.re * x.re + x.im * x.im;
    }
    norm2 = sum(norm2, 32);
    if (lane == 0) partial[warp] = norm2;
    __syncthreads();
    norm2 = 0;
    for (int w = 0; w < N_WARPS; w++) norm2 += partial[w];
    const REAL stop_gain = limits[1] * norm2;

    Complex corr = {0, 0};
    REAL left = 0;
    if (atom < N_ATOMS) {
        corr = correlations[row * N_ATOMS + atom];
        left = gram[(long long)atom * N_ATOMS + atom].re;
    }
    Complex basis[N_NONZERO];
    REAL lowest = 1;
    int n_chosen = 0;
#pragma unroll
    for (int level = 0; level < N_NONZERO; level++) {
        // No early way out: the unrolled levels keep their registers, and a row that has ended does nothing below.
        if (n_chosen == level) {
            const int turn = level % 2;
            REAL score = score_of(corr.re, corr.im, left, independent);
            WORD word = bits_of(score);
            WORD top = largest(word, 32);
            if (lane == __ffs(__ballot_sync(FULL, word == top)) - 1) {
                best_word[turn][warp] = word;
                best_atom[turn][warp] = atom;
                best_corr[turn][warp] = corr;
                best_left[turn][warp] = left;
#pragma unroll
                for (int i = 0; i < level; i++) columns[turn][warp][i] = basis[i];
            }
            __syncthreads();
            int from = 0;
            top = best_word[turn][0];
#pragma unroll
            for (int w = 1; w < N_WARPS; w++)
                if (best_word[turn][w] > top) {
                    top = best_word[turn][w];
                    from = w;
                }
            const int best = best_atom[turn][from];
            const Complex best_c = best_corr[turn][from];
            const REAL remaining = best_left[turn][from];
            const REAL square = best_c.re * best_c.re + best_c.im * best_c.im;
            if (top != 0 && square > stop_gain * remaining) {
                n_chosen = level + 1;
                const REAL inv_norm = REAL(1) / sqrt(remaining);
                const Complex target = {best_c.re * inv_norm, best_c.im * inv_norm};
                lowest = min(lowest, remaining);
                if (atom < level) triangle[level][atom] = columns[turn][from][atom];
                if (atom == 0) {
                    support[level] = best;
                    inv_diag[level] = inv_norm;
                    coef[level] = target;
                }
                if (level < N_NONZERO - 1) {
                    Complex own = {0, 0};
                    if (atom < N_ATOMS) own = gram[(long long)best * N_ATOMS + atom];
                    REAL sum_re = 0, sum_im = 0;
#pragma unroll
                    for (int i = 0; i < level; i++) {
                        const Complex t = columns[turn][from][i];
                        sum_re += t.re * basis[i].re + t.im * basis[i].im;
                        sum_im += t.re * basis[i].im - t.im * basis[i].re;
                    }
                    own.re = (own.re - sum_re) * inv_norm;
                    own.im = (own.im - sum_im) * inv_norm;
                    basis[level] = own;
                    corr.re -= own.re * target.re + own.im * target.im;
                    corr.im -= own.re * target.im - own.im * target.re;
                    left -= own.re * own.re + own.im * own.im;
                    if (atom == best) left = 0;
                }
            }
        }
    }
    __syncthreads();
    if (warp != 0) return;
    for (int level = n_chosen - 1; level >= 0; level--) {
        Complex c = coef[level];
        c.re *= inv_diag[level];
        c.im *= inv_diag[level];
        __syncwarp();
        for (int i = lane; i < level; i += 32) {
            Complex t = triangle[level][i];
            coef[i].re -= t.re * c.re - t.im * c.im;
            coef[i].im -= t.re * c.im + t.im * c.re;
        }
        if (lane == 0) coef[level] = c;
        __syncwarp();
    }
    for (int level = lane; level < N_NONZERO; level += 32) {
        const bool used = level < n_chosen;
        out_support[row * N_NONZERO + level] = used ? support[level] : -1;
        out_coefs[row * N_NONZERO + level] = used ? coef[level] : Complex{0, 0};
    }
    if (lane == 0) out_lowest[row] = lowest;
}
#endif
