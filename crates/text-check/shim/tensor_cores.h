// Products of tensor cores and loads of matrices, for the fibers of a warp. Which lane holds which
// element is what the PTX ISA says of `mma` and `ldmatrix`, written as formulas of the lane; the
// printed functions around the instructions are not used.
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
inline unsigned int factor(const signed char value) { return (unsigned int)(int)value; }
inline unsigned int factor(const unsigned char value) { return value; }
inline double factor(const double value) { return value; }
inline float plus(const float sum, const float value) { return sum + value; }
inline double plus(const double sum, const double value) { return sum + value; }
inline int plus(const int sum, const unsigned int value) { return (int)((unsigned int)sum + value); }

// d += a * b, of tiles of m x k and k x 8 elements. In a register of 4 bytes (8 for f64) there are
// `each` neighbours along k.
template <size_t D, size_t A, size_t B, typename S, typename T>
inline void product_of(S *const (&d)[D], const T (&a)[A], const T (&b)[B]) {
    constexpr int each = sizeof(T) < 4 ? 4 / sizeof(T) : 1, k = 4 * B, m = 8 * A / B;
    static_assert(D * 4 == m, "a tile of the results");
    struct held {
        const T *a, *b;
    };
    const held own = {a, b};
    const held *lanes[32];
    hand_round(&own, lanes);
    S sums[D];
    for (int e = 0; e < (int)D; ++e) {
        const int row = lane() / 4 + 8 * (e / 2), column = lane() % 4 * 2 + e % 2;
        sums[e] = *d[e];
        for (int at = 0; at < k; ++at) {
            const int quarter = at / each % 4, part = at / (4 * each), place = at % each;
            const T of_a = lanes[row % 8 * 4 + quarter]->a[(part * (m / 8) + row / 8) * each + place];
            const T of_b = lanes[column * 4 + quarter]->b[part * each + place];
            sums[e] = plus(sums[e], factor(of_a) * factor(of_b));
        }
    }
    all_have_read();
    for (int e = 0; e < (int)D; ++e) {
        *d[e] = sums[e];
    }
}
template <typename S, typename T, size_t A, size_t B>
inline void product(S &d0, S &d1, const T (&a)[A], const T (&b)[B]) {
    S *const d[] = {&d0, &d1};
    product_of(d, a, b);
}
template <typename S, typename T, size_t A, size_t B>
inline void product(S &d0, S &d1, S &d2, S &d3, const T (&a)[A], const T (&b)[B]) {
    S *const d[] = {&d0, &d1, &d2, &d3};
    product_of(d, a, b);
}

// Loads matrices of 8 x 8 elements of two bytes: lane 8 i + r points to row r of matrix i.
template <int count, bool transposed, typename T> inline void load_matrices(T *const to, const T *const row) {
    const T *rows[32];
    hand_round(row, rows);
    T taken[2 * count];
    for (int e = 0; e < 2 * count; ++e) {
        const int across = lane() / 4, along = lane() % 4 * 2 + e % 2;
        taken[e] = rows[e / 2 * 8 + (transposed ? along : across)][transposed ? across : along];
    }
    all_have_read();
    memcpy(to, taken, sizeof taken);
}

} // namespace shim

// In functions that are printed, and not called here.
inline size_t __cvta_generic_to_shared(const void *const at) { return reinterpret_cast<size_t>(at); }
