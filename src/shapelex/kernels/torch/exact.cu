// The best of all supports of N_NONZERO atoms: one thread codes one row, and all threads walk the same tree.
//
// A node of the tree is a set of atoms in increasing order. The basis that they span does not depend on the row, so
// exact.py prepares it: for a node P and each later atom j there is one Entry, `direction` = q^H d_j with q the last
// orthonormal vector of P, and the inverse norm of the part of atom j outside the span of P, 0 where P spans it.
// Nodes that no support of the full size has as its beginning are left out. In the order in which the tree is walked,
// the entries of one size follow each other, and `tables` has the first entry of each size.
//
// Out: the support with the largest gain, the first of those that are equal to rounding. Besides what group.cuh names:
//   N_ATOMS, N_NONZERO, N_COORDINATES, ROWS, CORR_STRIDE

struct __align__(4 * sizeof(REAL)) Entry {
    Complex direction;
    REAL inv_norm, inv_norm2;
};

extern "C" __device__ int row_bytes = 0;

// What a thread knows of its row.
struct Search {
    // Squared gain that a support must exceed: that of the best so far, and a margin.
    REAL to_beat, margin;
    int best[N_NONZERO];
};


// Residual correlations of a node with the atoms after its last one. Those of the largest nodes are read most, and are
// in shared memory, where the values of one atom lie side by side for the rows of a block.
template <int SIZE>
struct Residuals {
    Complex values[N_ATOMS];
    __device__ __forceinline__ Complex& operator[](int j) { return values[j]; }
};
__shared__ Complex nearest_leaves[N_ATOMS * ROWS];
template <>
struct Residuals<(N_NONZERO > 1 ? N_NONZERO - 2 : 0)> {
    __device__ __forceinline__ Complex& operator[](int j) { return nearest_leaves[j * ROWS + threadIdx.x]; }
};

// Visits all supports that begin with the SIZE atoms of `node`.
template <int SIZE>
__device__ __forceinline__ void walk(Search& search, Residuals<SIZE>& corr, const Entry* (&tables)[N_NONZERO],
                                     int (&node)[N_NONZERO], REAL gain) {
    const int first = SIZE > 0 ? node[SIZE - 1] + 1 : 0;
    const Entry* entries = tables[SIZE] - first;
    tables[SIZE] += N_ATOMS - first;
    for (int j = first; j <= N_ATOMS - N_NONZERO + SIZE; j++) {
        node[SIZE] = j;
        const REAL inv_norm = entries[j].inv_norm;
        const Complex target = scale(corr[j], inv_norm);
        const REAL so_far = gain + square(target);
        const Entry* below = tables[SIZE + 1] - (j + 1);
        if constexpr (SIZE + 2 == N_NONZERO) {
            tables[SIZE + 1] += N_ATOMS - (j + 1);
#pragma unroll 2
            for (int k = j + 1; k < N_ATOMS; k++) {
                Complex residual = corr[k];
                sub_conj(residual, below[k].direction, target);
                const REAL found = so_far + square(residual) * below[k].inv_norm2;
                if (found > search.to_beat) {
                    search.to_beat = found + search.margin;
#pragma unroll
                    for (int i = 0; i < N_NONZERO - 1; i++) search.best[i] = node[i];
                    search.best[N_NONZERO - 1] = k;
                }
            }
        } else {
            Residuals<SIZE + 1> residuals;
            for (int k = j + 1; k < N_ATOMS; k++) {
                Complex residual = corr[k];
                sub_conj(residual, below[k].direction, target);
                residuals[k] = residual;
            }
            walk<SIZE + 1>(search, residuals, tables, node, so_far);
        }
    }
}

extern "C" __global__ void __launch_bounds__(ROWS) enumerate(
    const Complex* __restrict__ rows, const Complex* __restrict__ correlations, const Entry* __restrict__ entries,
    const long long* __restrict__ starts, REAL eps, long long n_rows, int* __restrict__ out_support) {
    const long long wanted = (long long)blockIdx.x * ROWS + threadIdx.x;
    // Threads without a row go along with the last one, and write nothing.
    const long long row = wanted < n_rows ? wanted : n_rows - 1;
    Search search;
    search.margin = 16 * eps * partial_norm2(rows + row * N_COORDINATES, 0);
    search.to_beat = -1;
    Residuals<0> corr;
    for (int j = 0; j < N_ATOMS; j++) corr[j] = correlations[row * CORR_STRIDE + j];
    const Entry* tables[N_NONZERO];
#pragma unroll
    for (int size = 0; size < N_NONZERO; size++) tables[size] = entries + starts[size];
    int node[N_NONZERO];
    walk<0>(search, corr, tables, node, REAL(0));
    if (wanted < n_rows)
#pragma unroll
        for (int level = 0; level < N_NONZERO; level++) out_support[row * N_NONZERO + level] = search.best[level];
}
