// What the fused kernels share: complex numbers, and sums and maxima over the threads of one shape.
//
// fused.py puts the definitions of one dictionary size in front of this file:
//   REAL      float or double
//   THREADS   threads per shape: a power of two below 32, or a multiple of 32

struct __align__(2 * sizeof(REAL)) Complex {
    REAL re, im;
};

#define FULL 0xffffffffu

// a - conj(b) * c and a - b * c, as four multiply-adds: products that are added up first would take six operations.
__device__ __forceinline__ void sub_conj(Complex& a, Complex b, Complex c) {
    a.re -= b.re * c.re;
    a.im -= b.re * c.im;
    a.re -= b.im * c.im;
    a.im += b.im * c.re;
}
__device__ __forceinline__ void sub(Complex& a, Complex b, Complex c) {
    a.re -= b.re * c.re;
    a.im -= b.re * c.im;
    a.re += b.im * c.im;
    a.im -= b.im * c.re;
}
// a - |b|^2.
__device__ __forceinline__ void sub_square(REAL& a, Complex b) {
    a -= b.re * b.re;
    a -= b.im * b.im;
}
__device__ __forceinline__ Complex scale(Complex a, REAL factor) { return {a.re * factor, a.im * factor}; }
__device__ __forceinline__ REAL square(Complex a) { return a.re * a.re + a.im * a.im; }
__device__ __forceinline__ Complex shuffle(Complex a, int lane) {
    return {__shfl_sync(FULL, a.re, lane), __shfl_sync(FULL, a.im, lane)};
}

__device__ __forceinline__ float fast_quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double fast_quotient(double a, double b) { return a / b; }

// Sum over aligned groups of `width` lanes.
__device__ __forceinline__ REAL sum_lanes(REAL value, int width) {
#pragma unroll
    for (int step = width / 2; step > 0; step /= 2) value += __shfl_xor_sync(FULL, value, step);
    return value;
}

// The largest of values that are not negative, over aligned groups of `width` lanes, and the lowest number of those
// that have it.
template <typename T>
__device__ __forceinline__ void first_largest(T& value, int& number, int width) {
#pragma unroll
    for (int step = width / 2; step > 0; step /= 2) {
        const T other = __shfl_xor_sync(FULL, value, step);
        const int its_number = __shfl_xor_sync(FULL, number, step);
        if (other > value || (other == value && its_number < number)) {
            value = other;
            number = its_number;
        }
    }
}
__device__ __forceinline__ void first_largest_of_warp(float& value, int& number) {
    const unsigned bits = __float_as_uint(value), top = __reduce_max_sync(FULL, bits);
    number = __reduce_min_sync(FULL, bits == top ? (unsigned)number : 0x7fffffffu);
    value = __uint_as_float(top);
}
__device__ __forceinline__ void first_largest_of_warp(double& value, int& number) { first_largest(value, number, 32); }

// Squared norm of a row; every thread of the shape that is in this warp or below gets the part that `thread` has.
__device__ __forceinline__ REAL partial_norm2(const Complex* __restrict__ row, int thread) {
    REAL norm2 = 0;
    for (int n = thread; n < N_COORDINATES; n += THREADS) norm2 += square(row[n]);
    return norm2;
}
