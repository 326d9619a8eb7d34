// Products of tensor cores, loads and stores of matrices, for the fibers of a warp. Which lane
// holds which element is what the PTX ISA says of `mma`, `ldmatrix` and `stmatrix`, written as
// formulas of the lane; the printed functions around the instructions are not used.
#pragma once

#include "cuda_shim.h"

namespace shim {

// Hands a pointer to the others of the warp, and takes theirs. The caller keeps what its own points
// to until `all_have_read`.
template <typename T> inline void hand_round(const T *const own, const T *(&theirs)[32]) {
    warp &shared = my_warp();
    const unsigned int turn = shared.turn[lane()]++ & 1;
    memcpy(&shared.slot[turn][lane()], &own, sizeof own);
    give_way(waits::warp, 0xffffffffu);
    for (int other = 0; other < 32; ++other) {
        memcpy(&theirs[other], &shared.slot[turn][other], sizeof own);
    }
}
inline void all_have_read() { give_way(waits::warp, 0xffffffffu); }

inline float factor(const __half value) { return __half2float(value); }
inline float factor(const __nv_bfloat16 value) { return __bfloat162float(value); }
inline float factor(const __nv_fp8_e4m3 value) { return float(value); }
inline float factor(const __nv_fp8_e5m2 value) { return float(value); }
inline unsigned int factor(const signed char value) { return (unsigned int)(int)value; }
inline unsigned int factor(const unsigned char value) { return value; }
inline double factor(const double value) { return value; }
// Factors of f32 are rounded to tf32: to the nearest multiple of what the tenth bit is worth.
inline float factor(const float value) {
    unsigned int bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;
    const unsigned int rest = bits & 0x1fffu;
    bits = bits - rest + (rest >= 0x1000u ? 0x2000u : 0u);
    float rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    return rounded;
}
inline float plus(const float sum, const float value) { return sum + value; }
inline double plus(const double sum, const double value) { return sum + value; }
inline int plus(const int sum, const unsigned int value) { return (int)((unsigned int)sum + value); }

// What is added up in, for each type of results.
template <typename S> struct total {
    typedef S type;
    static S from(const S value) { return value; }
    static S to(const S value) { return value; }
};
template <> struct total<__half> {
    typedef float type;
    static float from(const __half value) { return __half2float(value); }
    static __half to(const float value) { return __float2half(value); }
};

// d += a * b, of tiles of m x k and k x 8 elements. In a register of 4 bytes (8 for f64) there are
// `each` neighbours along k.
template <size_t D, size_t A, size_t B, typename S, typename T, typename U>
inline void product_of(S *const (&d)[D], const T (&a)[A], const U (&b)[B]) {
    static_assert(sizeof(T) == sizeof(U), "elements of both factors in a register");
    constexpr int each = sizeof(T) < 4 ? 4 / sizeof(T) : 1, k = 4 * B, m = 8 * A / B;
    static_assert(D * 4 == m, "a tile of the results");
    struct held {
        const T *a;
        const U *b;
    };
    const held own = {a, b};
    const held *lanes[32];
    hand_round(&own, lanes);
    typename total<S>::type sums[D];
    for (int e = 0; e < (int)D; ++e) {
        const int row = lane() / 4 + 8 * (e / 2), column = lane() % 4 * 2 + e % 2;
        sums[e] = total<S>::from(*d[e]);
        for (int at = 0; at < k; ++at) {
            const int quarter = at / each % 4, part = at / (4 * each), place = at % each;
            const T of_a = lanes[row % 8 * 4 + quarter]->a[(part * (m / 8) + row / 8) * each + place];
            const U of_b = lanes[column * 4 + quarter]->b[part * each + place];
            sums[e] = plus(sums[e], factor(of_a) * factor(of_b));
        }
    }
    all_have_read();
    for (int e = 0; e < (int)D; ++e) {
        *d[e] = total<S>::to(sums[e]);
    }
}
template <typename S, typename T, typename U, size_t A, size_t B>
inline void product(S &d0, S &d1, const T (&a)[A], const U (&b)[B]) {
    S *const d[] = {&d0, &d1};
    product_of(d, a, b);
}
template <typename S, typename T, typename U, size_t A, size_t B>
inline void product(S &d0, S &d1, S &d2, S &d3, const T (&a)[A], const U (&b)[B]) {
    S *const d[] = {&d0, &d1, &d2, &d3};
    product_of(d, a, b);
}
// Volta's product of 8 x 8 x 4, by each quad pair of the warp for itself: lanes 4 q to 4 q + 3, and
// the same from 16 on. The r-th of these eight lanes holds row r of `a` and column r of `b`.
template <typename T>
inline void product(float &d0, float &d1, float &d2, float &d3, float &d4, float &d5, float &d6, float &d7,
                    const T (&a)[4], const T (&b)[4]) {
    float *const d[] = {&d0, &d1, &d2, &d3, &d4, &d5, &d6, &d7};
    struct held {
        const T *a, *b;
    };
    const held own = {a, b};
    const held *lanes[32];
    hand_round(&own, lanes);
    const int first = lane() / 4 % 4 * 4;
    float sums[8];
    for (int e = 0; e < 8; ++e) {
        const int row = (lane() & 1) + (e & 2) + (lane() < 16 ? 0 : 4);
        const int column = (e & 4) + (lane() & 2) + (e & 1);
        sums[e] = *d[e];
        for (int at = 0; at < 4; ++at) {
            const T of_a = lanes[first + row % 4 + (row < 4 ? 0 : 16)]->a[at];
            const T of_b = lanes[first + column % 4 + (column < 4 ? 0 : 16)]->b[at];
            sums[e] = plus(sums[e], factor(of_a) * factor(of_b));
        }
    }
    all_have_read();
    for (int e = 0; e < 8; ++e) {
        *d[e] = sums[e];
    }
}

// Loads matrices of eight rows of 16 bytes: lane 8 i + r points to row r of matrix i.
template <int count, bool transposed, typename T> inline void load_matrices(T *const to, const T *const row) {
    const T *rows[32];
    hand_round(row, rows);
    // Four bytes of each matrix.
    constexpr int each = 4 / sizeof(T);
    T taken[each * count];
    for (int e = 0; e < each * count; ++e) {
        const int across = lane() / 4, along = lane() % 4 * each + e % each;
        taken[e] = rows[e / each * 8 + (transposed ? along : across)][transposed ? across : along];
    }
    all_have_read();
    memcpy(to, taken, sizeof taken);
}

// Stores matrices of eight rows of eight elements of two bytes: lane 8 i + r points to row r of
// matrix i.
template <int count, bool transposed, typename T> inline void store_matrices(T *const row, const T *const from) {
    const T *rows[32];
    hand_round(row, rows);
    for (int e = 0; e < 2 * count; ++e) {
        const int across = lane() / 4, along = lane() % 4 * 2 + e % 2;
        T *const to = const_cast<T *>(rows[e / 2 * 8 + (transposed ? along : across)]);
        to[transposed ? across : along] = from[e];
    }
    all_have_read();
}

} // namespace shim

// In functions that are printed, and not called here.
inline size_t __cvta_generic_to_shared(const void *const at) { return reinterpret_cast<size_t>(at); }
