// Enough of CUDA C++ for a system's C++ compiler to compile printed kernels, and to run them on one
// CPU thread.
//
// The threads of a block are fibers. One that reaches a barrier or a shuffle gives way to the
// others, and goes on when all whom it waits for have come. Blocks run one after another.
// Everything of a block is thread_local, so that several launches can run beside each other on
// different CPU threads.
//
// A launch fails, with a code (`fault` below), where the fibers cannot go on: a barrier that not
// all threads reach, a shuffle whose mask names threads that do not exist or leaves out the caller.
// A thread that has ended never comes to a barrier.
// Not `#pragma once`, which a header that is compiled ahead may not have.
#ifndef LOOPWRIGHT_CUDA_SHIM
#define LOOPWRIGHT_CUDA_SHIM

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// One copy for each CPU thread, thus for each block that runs. Unlike `static` it may stand behind
// `extern`.
#define __shared__ thread_local

struct uint3 {
    unsigned int x, y, z;
};
typedef uint3 dim3;

inline thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;
// Dynamic shared memory: as much as the largest device has.
extern thread_local unsigned char shared_memory[];

// Vector types.
#define SHIM_VECTOR(type, name)                              \
    struct __align__(2 * sizeof(type)) name##2 { type x, y; }; \
    struct __align__(sizeof(type) > 4 ? 16 : 4 * sizeof(type)) name##4 { type x, y, z, w; };
SHIM_VECTOR(signed char, char)
SHIM_VECTOR(unsigned char, uchar)
SHIM_VECTOR(short, short)
SHIM_VECTOR(unsigned short, ushort)
SHIM_VECTOR(int, int)
SHIM_VECTOR(unsigned int, uint)
SHIM_VECTOR(long long, longlong)
SHIM_VECTOR(unsigned long long, ulonglong)
SHIM_VECTOR(float, float)
SHIM_VECTOR(double, double)

// Accesses with a hint to the caches.
template <typename T> inline T __ldcs(const T *const from) { return *from; }
template <typename T, typename Value> inline void __stcs(T *const to, const Value value) { *to = value; }

// Updates that nothing comes between: fibers give way at barriers and shuffles only.
// As of CUDA's own, the pointer decides the type, to which the value is converted, and sums wrap.
template <typename T> struct shim_same { typedef T type; };
template <typename T> inline T shim_sum(const T a, const T b) { return a + b; }
inline int shim_sum(const int a, const int b) {
    return static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b));
}
inline long long shim_sum(const long long a, const long long b) {
    return static_cast<long long>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
template <typename T> inline T atomicAdd(T *const at, const typename shim_same<T>::type value) {
    const T old = *at;
    *at = shim_sum(old, value);
    return old;
}
template <typename T> inline T atomicMin(T *const at, const typename shim_same<T>::type value) {
    const T old = *at;
    *at = value < old ? value : old;
    return old;
}
template <typename T> inline T atomicMax(T *const at, const typename shim_same<T>::type value) {
    const T old = *at;
    *at = value > old ? value : old;
    return old;
}

template <typename T> inline T atomicAnd(T *const at, const typename shim_same<T>::type value) {
    const T old = *at;
    *at = old & value;
    return old;
}
template <typename T> inline T atomicOr(T *const at, const typename shim_same<T>::type value) {
    const T old = *at;
    *at = old | value;
    return old;
}

template <typename T> inline T atomicCAS(T *const at, const T expected, const T value) {
    const T old = *at;
    if (old == expected) *at = value;
    return old;
}

// One order of all blocks is one of each scope's.
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicMin_block atomicMin
#define atomicMin_system atomicMin
#define atomicMax_block atomicMax
#define atomicMax_system atomicMax
#define atomicAnd_block atomicAnd
#define atomicAnd_system atomicAnd
#define atomicOr_block atomicOr
#define atomicOr_system atomicOr
#define atomicCAS_block atomicCAS
#define atomicCAS_system atomicCAS

// Bits.
template <typename To, typename From> inline To shim_bits(const From from) {
    static_assert(sizeof(To) == sizeof(From), "the same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
inline float __int_as_float(const int bits) { return shim_bits<float>(bits); }
inline float __uint_as_float(const unsigned int bits) { return shim_bits<float>(bits); }
inline unsigned int __float_as_uint(const float value) { return shim_bits<unsigned int>(value); }
inline int __float_as_int(const float value) { return shim_bits<int>(value); }
inline double __longlong_as_double(const long long bits) { return shim_bits<double>(bits); }
inline long long __double_as_longlong(const double value) { return shim_bits<long long>(value); }

// f16 and bf16: storage and conversions, rounded to nearest, ties to even.
struct __half {
    uint16_t bits;
};
struct __nv_bfloat16 {
    uint16_t bits;
};
struct __align__(4) __half2 {
    __half x, y;
};
struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

// A number with `mantissa` stored bits and exponents from `least` (of the smallest normal) to
// `greatest`, in 16 bits.
inline uint16_t shim_narrow(const double value, const int mantissa, const int least, const int greatest) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const uint16_t infinity = (greatest - least + 2) << mantissa;
    if (value != value) {
        return sign | infinity | (1 << (mantissa - 1));
    }
    const double magnitude = fabs(value);
    if (magnitude == 0.0) {
        return sign;
    }
    int exponent = magnitude < ldexp(1.0, least) ? least : ilogb(magnitude);
    if (exponent > greatest) {
        return sign | infinity;
    }
    // In units of the last place; rint rounds ties to even.
    double units = rint(ldexp(magnitude, mantissa - exponent));
    if (units >= ldexp(1.0, mantissa + 1)) {
        units /= 2;
        ++exponent;
    }
    if (exponent > greatest) {
        return sign | infinity;
    }
    const bool normal = units >= ldexp(1.0, mantissa);
    const int fraction = (int)units & ((1 << mantissa) - 1);
    return sign | (normal ? (exponent - least + 1) << mantissa : 0) | fraction;
}
inline float shim_widen(const uint16_t bits, const int mantissa, const int least, const int greatest) {
    const int fraction = bits & ((1 << mantissa) - 1);
    const int exponent = (bits & 0x7fff) >> mantissa;
    float magnitude;
    if (exponent == greatest - least + 2) {
        magnitude = fraction ? NAN : INFINITY;
    } else if (exponent == 0) {
        magnitude = ldexpf((float)fraction, least - mantissa);
    } else {
        magnitude = ldexpf((float)(fraction | 1 << mantissa), exponent - 1 + least - mantissa);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
}
// e4m3 and e5m2: what is beyond the greatest number gives that; a NaN is 0x7f.
inline uint8_t shim_saturated(const double value, const int mantissa, const int least, const int greatest,
                              const uint8_t most) {
    const uint16_t bits = shim_narrow(value, mantissa, least, greatest);
    const uint8_t sign = bits & 0x8000 ? 0x80 : 0, magnitude = bits & 0x7f;
    if (value != value) {
        return 0x7f;
    }
    return sign | ((bits & 0x7fff) > most ? most : magnitude);
}
struct __nv_fp8_e4m3 {
    uint8_t bits;
    __nv_fp8_e4m3() = default;
    explicit __nv_fp8_e4m3(const double value) : bits(shim_saturated(value, 3, -6, 8, 0x7e)) {}
    explicit __nv_fp8_e4m3(const float value) : __nv_fp8_e4m3((double)value) {}
    explicit operator float() const {
        if ((bits & 0x7f) == 0x7f) return NAN;
        return shim_widen((bits & 0x80) << 8 | (bits & 0x7f), 3, -6, 8);
    }
};
struct __nv_fp8_e5m2 {
    uint8_t bits;
    __nv_fp8_e5m2() = default;
    explicit __nv_fp8_e5m2(const double value) : bits(shim_saturated(value, 2, -14, 15, 0x7b)) {}
    explicit __nv_fp8_e5m2(const float value) : __nv_fp8_e5m2((double)value) {}
    explicit operator float() const { return shim_widen((bits & 0x80) << 8 | (bits & 0x7f), 2, -14, 15); }
};
inline __half __double2half(const double value) { return {shim_narrow(value, 10, -14, 15)}; }
inline __half __float2half(const float value) { return __double2half(value); }
inline float __half2float(const __half value) { return shim_widen(value.bits, 10, -14, 15); }
inline __nv_bfloat16 __double2bfloat16(const double value) { return {shim_narrow(value, 7, -126, 127)}; }
inline __nv_bfloat16 __float2bfloat16(const float value) { return __double2bfloat16(value); }
inline float __bfloat162float(const __nv_bfloat16 value) { return shim_widen(value.bits, 7, -126, 127); }
inline __half __ushort_as_half(const unsigned short bits) { return {bits}; }
inline unsigned short __half_as_ushort(const __half value) { return value.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(const unsigned short bits) { return {bits}; }
inline unsigned short __bfloat16_as_ushort(const __nv_bfloat16 value) { return value.bits; }
inline __half atomicAdd(__half *const at, const __half value) {
    const __half old = *at;
    *at = __float2half(__half2float(old) + __half2float(value));
    return old;
}
inline __nv_bfloat16 atomicAdd(__nv_bfloat16 *const at, const __nv_bfloat16 value) {
    const __nv_bfloat16 old = *at;
    *at = __float2bfloat16(__bfloat162float(old) + __bfloat162float(value));
    return old;
}

// Conversions to integers as the hardware makes them: towards zero, kept in the range; of NaN the
// highest bit alone where one side has 64 bits, and 0 otherwise.
template <typename To, typename From> inline To shim_to_integer(const From value) {
    const bool wide = sizeof(To) == 8 || sizeof(From) == 8;
    if (value != value) {
        return wide ? (To)(1ULL << (8 * sizeof(To) - 1)) : 0;
    }
    const To least = (To)-1 < 0 ? (To)(1ULL << (8 * sizeof(To) - 1)) : 0;
    const To greatest = (To)~least;
    // The next number behind the greatest one is a power of two, which both floating-point types
    // hold.
    if (value >= ldexp((From)1, 8 * sizeof(To) - ((To)-1 < 0 ? 1 : 0))) {
        return greatest;
    }
    return value <= (From)least ? least : (To)value;
}
inline int __float2int_rz(const float value) { return shim_to_integer<int>(value); }
inline unsigned int __float2uint_rz(const float value) { return shim_to_integer<unsigned int>(value); }
inline long long __float2ll_rz(const float value) { return shim_to_integer<long long>(value); }
inline unsigned long long __float2ull_rz(const float value) {
    return shim_to_integer<unsigned long long>(value);
}
inline int __double2int_rz(const double value) { return shim_to_integer<int>(value); }
inline unsigned int __double2uint_rz(const double value) { return shim_to_integer<unsigned int>(value); }
inline long long __double2ll_rz(const double value) { return shim_to_integer<long long>(value); }
inline unsigned long long __double2ull_rz(const double value) {
    return shim_to_integer<unsigned long long>(value);
}

// Math functions that C lacks; the approximations are the exact ones here.
#define SHIM_MIN_MAX(type)                                                      \
    inline type min(const type a, const type b) { return b < a ? b : a; } \
    inline type max(const type a, const type b) { return a < b ? b : a; }
SHIM_MIN_MAX(int)
SHIM_MIN_MAX(unsigned int)
SHIM_MIN_MAX(long long)
SHIM_MIN_MAX(unsigned long long)
// As the hardware chooses: no NaN where there is a number, and of the zeros the negative one as the
// smaller.
template <typename T> inline T shim_fmin(const T a, const T b) {
    return b != b || a < b || (a == b && signbit(a)) ? a : b;
}
template <typename T> inline T shim_fmax(const T a, const T b) {
    return b != b || a > b || (a == b && !signbit(a)) ? a : b;
}
#define fminf shim_fmin<float>
#define fmin shim_fmin<double>
#define fmaxf shim_fmax<float>
#define fmax shim_fmax<double>
inline float shim_rsqrtf(const float x) { return 1.0f / sqrtf(x); }
inline double shim_rsqrt(const double x) { return 1.0 / sqrt(x); }
// The C library's cube root of a double errs by more than three units in the last place.
inline double shim_cbrt(const double x) { return static_cast<double>(cbrtl(x)); }
inline float shim_cbrtf(const float x) { return static_cast<float>(shim_cbrt(x)); }
inline double shim_rcbrt(const double x) { return static_cast<double>(1.0L / cbrtl(x)); }
inline float shim_rcbrtf(const float x) { return static_cast<float>(shim_rcbrt(x)); }
// The sine and cosine of pi*x: multiples of 1/2 are taken off exactly.
inline double shim_half_turns(const double x, const bool cosine) {
    const double rest = fmod(x, 2.0), halves = round(2.0 * rest);
    const double angle = 3.141592653589793 * (rest - 0.5 * halves);
    switch ((static_cast<long long>(isfinite(x) ? halves : 0.0) + (cosine ? 1 : 0)) & 3) {
    case 0: return sin(angle);
    case 1: return cos(angle);
    case 2: return -sin(angle);
    default: return -cos(angle);
    }
}
inline double shim_sinpi(const double x) { return shim_half_turns(x, false); }
inline double shim_cospi(const double x) { return shim_half_turns(x, true); }
inline float shim_sinpif(const float x) { return static_cast<float>(shim_half_turns(x, false)); }
inline float shim_cospif(const float x) { return static_cast<float>(shim_half_turns(x, true)); }
// With 64 bits. Inverses by Newton's method: of erf near zero, of log(erfc) in the tail.
inline long double shim_erfcx_long(const long double x) {
    if (x < 100) return expl(x * x) * erfcl(x);
    const long double by = -0.5L / (x * x);
    long double term = 1, sum = 1;
    for (int k = 1; k < 6; ++k) {
        term *= (2 * k - 1) * by;
        sum += term;
    }
    return 0.5641895835477562869L / x * sum;
}
inline long double shim_tail_of_erfc(const long double z) {
    if (!(z >= 0)) return NAN;
    if (z == 0) return INFINITY;
    long double x = sqrtl(-logl(z));
    for (int step = 0; step < 60; ++step) {
        const long double scaled = shim_erfcx_long(x);
        const long double of = (logl(scaled) - x * x - logl(z)) * scaled / 1.128379167095512574L;
        x += of;
        if (fabsl(of) <= 1e-19L * fabsl(x)) break;
    }
    return x;
}
inline long double shim_erfinv_long(const long double y) {
    if (y < 0) return -shim_erfinv_long(-y);
    if (y == 0 || !(y <= 0.5L)) return y == 0 ? y : shim_tail_of_erfc(1 - y);
    long double x = y * 0.886226925452758014L;
    for (int step = 0; step < 60; ++step) {
        const long double of = (y - erfl(x)) / (1.128379167095512574L * expl(-x * x));
        x += of;
        if (fabsl(of) <= 1e-19L * fabsl(x)) break;
    }
    return x;
}
inline long double shim_erfcinv_long(const long double z) {
    if (z < 0.5L) return shim_tail_of_erfc(z);
    return z > 1.5L ? -shim_tail_of_erfc(2 - z) : shim_erfinv_long(1 - z);
}
inline long double shim_normcdf_long(const long double x) {
    return 0.5L * erfcl(-x * 0.7071067811865475244L);
}
inline long double shim_normcdfinv_long(const long double p) {
    return -1.4142135623730950488L * shim_erfcinv_long(2 * p);
}
inline long double shim_cyl_bessel_i_long(const int order, const long double x) {
    long double term = order == 0 ? 1 : 0.5L * x, sum = term;
    for (int k = 1; k < 2000; ++k) {
        term *= 0.25L * x * x / k / (k + order);
        sum += term;
        if (!(fabsl(term) > 1e-22L * fabsl(sum))) break;
    }
    return sum;
}
inline long double shim_cyl_bessel_i0_long(const long double x) { return shim_cyl_bessel_i_long(0, x); }
inline long double shim_cyl_bessel_i1_long(const long double x) { return shim_cyl_bessel_i_long(1, x); }
#define SHIM_LONG(name) \
    inline double shim_##name(const double x) { return static_cast<double>(shim_##name##_long(x)); } \
    inline float shim_##name##f(const float x) { return static_cast<float>(shim_##name##_long(x)); }
SHIM_LONG(cyl_bessel_i0)
SHIM_LONG(cyl_bessel_i1)
SHIM_LONG(erfcx)
SHIM_LONG(erfcinv)
SHIM_LONG(erfinv)
SHIM_LONG(normcdf)
SHIM_LONG(normcdfinv)
#undef SHIM_LONG
// Lengths of vectors: squares of doubles fit a long double.
template <typename T> inline T shim_norm(const bool inverse, const T a, const T b, const T c, const T d) {
    if (isinf(a) || isinf(b) || isinf(c) || isinf(d)) return inverse ? T(0) : T(INFINITY);
    const long double wa = a, wb = b, wc = c, wd = d;
    const long double length = sqrtl(wa * wa + wb * wb + wc * wc + wd * wd);
    return static_cast<T>(inverse ? 1 / length : length);
}
#define SHIM_NORMS(type, suffix) \
    inline type shim_rhypot##suffix(const type a, const type b) { return shim_norm<type>(true, a, b, 0, 0); } \
    inline type shim_norm3d##suffix(const type a, const type b, const type c) { return shim_norm<type>(false, a, b, c, 0); } \
    inline type shim_rnorm3d##suffix(const type a, const type b, const type c) { return shim_norm<type>(true, a, b, c, 0); } \
    inline type shim_norm4d##suffix(const type a, const type b, const type c, const type d) { return shim_norm<type>(false, a, b, c, d); } \
    inline type shim_rnorm4d##suffix(const type a, const type b, const type c, const type d) { return shim_norm<type>(true, a, b, c, d); }
SHIM_NORMS(float, f)
SHIM_NORMS(double, )
#undef SHIM_NORMS
#define rhypotf shim_rhypotf
#define rhypot shim_rhypot
#define norm3df shim_norm3df
#define norm3d shim_norm3d
#define rnorm3df shim_rnorm3df
#define rnorm3d shim_rnorm3d
#define norm4df shim_norm4df
#define norm4d shim_norm4d
#define rnorm4df shim_rnorm4df
#define rnorm4d shim_rnorm4d
#define cyl_bessel_i0f shim_cyl_bessel_i0f
#define cyl_bessel_i0 shim_cyl_bessel_i0
#define cyl_bessel_i1f shim_cyl_bessel_i1f
#define cyl_bessel_i1 shim_cyl_bessel_i1
#define erfcxf shim_erfcxf
#define erfcx shim_erfcx
#define erfcinvf shim_erfcinvf
#define erfcinv shim_erfcinv
#define erfinvf shim_erfinvf
#define erfinv shim_erfinv
#define normcdff shim_normcdff
#define normcdf shim_normcdf
#define normcdfinvf shim_normcdfinvf
#define normcdfinv shim_normcdfinv
#define cbrtf shim_cbrtf
#define cbrt shim_cbrt
#define rcbrtf shim_rcbrtf
#define rcbrt shim_rcbrt
#define sinpif shim_sinpif
#define sinpi shim_sinpi
#define cospif shim_cospif
#define cospi shim_cospi
#define rsqrtf shim_rsqrtf
#define rsqrt shim_rsqrt
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __powf powf

namespace shim {

enum fault { none = 0, divergent_barrier = 1, wrong_mask = 2, out_of_memory = 3 };
enum class waits { nothing, block, warp, ended };

struct fiber {
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    waits state;
    unsigned int mask;
    uint3 index;
};

// What the threads of one warp hand to each other. Two slots a lane, used in turn: nobody is two
// shuffles ahead.
struct warp {
    uint64_t slot[2][32];
    unsigned char turn[32];
};

struct block {
    fiber *fibers;
    warp *warps;
    unsigned char *stacks;
    unsigned int threads;
    unsigned int current;
    void (*body)(void *);
    void *arguments;
    fiber scheduler;
};
inline thread_local block now;
constexpr size_t stack_bytes = 256 * 1024;

// Goes on in another fiber.
#if defined(__x86_64__)
extern "C" void shim_switch(void **from, void *to);
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".local shim_switch\n"
    ".type shim_switch,@function\n"
    "shim_switch:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n"
    ".size shim_switch,.-shim_switch\n");
inline void go(fiber &from, fiber &to) { shim_switch(&from.stack_pointer, to.stack_pointer); }
#else
inline void go(fiber &from, fiber &to) { swapcontext(&from.context, &to.context); }
#endif

inline void give_way(const waits state, const unsigned int mask) {
    fiber &self = now.fibers[now.current];
    self.state = state;
    self.mask = mask;
    go(self, now.scheduler);
}

// Where a fiber begins.
inline void enter() {
    now.body(now.arguments);
    give_way(waits::ended, 0);
}

inline void prepare(const unsigned int thread) {
    fiber &fresh = now.fibers[thread];
    unsigned char *const stack = now.stacks + thread * stack_bytes;
#if defined(__x86_64__)
    // Six saved registers, and the entry as return address, 16 bytes below the end: 8 beside
    // alignment, as a call leaves it.
    uintptr_t *top = reinterpret_cast<uintptr_t *>(stack + stack_bytes) - 1;
    *--top = reinterpret_cast<uintptr_t>(&enter);
    top -= 6;
    memset(top, 0, 6 * sizeof *top);
    fresh.stack_pointer = top;
#else
    getcontext(&fresh.context);
    fresh.context.uc_stack.ss_sp = stack;
    fresh.context.uc_stack.ss_size = stack_bytes;
    fresh.context.uc_link = nullptr;
    makecontext(&fresh.context, enter, 0);
#endif
    fresh.state = waits::nothing;
    fresh.index = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

// Runs the threads that may run, until all wait or have ended. Returns how many have not ended.
inline unsigned int round(const bool backwards) {
    unsigned int alive = 0;
    for (unsigned int k = 0; k < now.threads; ++k) {
        const unsigned int thread = backwards ? now.threads - 1 - k : k;
        fiber &next = now.fibers[thread];
        if (next.state == waits::nothing) {
            now.current = thread;
            threadIdx = next.index;
            go(now.scheduler, next);
        }
        alive += next.state != waits::ended;
    }
    return alive;
}

// Wakes the warps whose threads have all come, else the block.
inline fault wake(const unsigned int alive) {
    bool woken = false;
    for (unsigned int first = 0; first < now.threads; first += 32) {
        const unsigned int lanes = now.threads - first < 32 ? now.threads - first : 32;
        unsigned int here = 0;
        for (unsigned int lane = 0; lane < lanes; ++lane) {
            here |= (now.fibers[first + lane].state == waits::warp ? 1u : 0u) << lane;
        }
        unsigned int ready = 0;
        for (unsigned int lane = 0; lane < lanes; ++lane) {
            if (here >> lane & 1) {
                const unsigned int mask = now.fibers[first + lane].mask;
                if (!(mask >> lane & 1) || (lanes < 32 && mask >> lanes)) {
                    return wrong_mask;
                }
                bool together = (mask & here) == mask;
                for (unsigned int other = 0; other < lanes && together; ++other) {
                    together = !(mask >> other & 1) || now.fibers[first + other].mask == mask;
                }
                ready |= (together ? 1u : 0u) << lane;
            }
        }
        for (unsigned int lane = 0; lane < lanes; ++lane) {
            if (ready >> lane & 1) {
                now.fibers[first + lane].state = waits::nothing;
                woken = true;
            }
        }
    }
    if (woken) {
        return none;
    }
    // A thread that has ended never comes to the barrier.
    for (unsigned int thread = 0; thread < now.threads; ++thread) {
        if (alive != now.threads || now.fibers[thread].state != waits::block) {
            return divergent_barrier;
        }
    }
    for (unsigned int thread = 0; thread < now.threads; ++thread) {
        now.fibers[thread].state = waits::nothing;
    }
    return none;
}

inline fault run_block(const bool backwards) {
    for (unsigned int thread = 0; thread < now.threads; ++thread) {
        prepare(thread);
    }
    memset(now.warps, 0, (now.threads + 31) / 32 * sizeof(warp));
    while (const unsigned int alive = round(backwards)) {
        if (const fault found = wake(alive)) {
            return found;
        }
    }
    return none;
}

// Storage of fibers, kept from launch to launch.
struct storage {
    unsigned char *memory = nullptr;
    size_t bytes = 0;
    ~storage() { free(memory); }
    unsigned char *of(const size_t wanted) {
        if (wanted > bytes) {
            free(memory);
            memory = static_cast<unsigned char *>(aligned_alloc(64, (wanted + 63) / 64 * 64));
            bytes = memory ? wanted : 0;
        }
        return memory;
    }
};
inline thread_local storage kept;

// The kernel's parameters are the values at `arguments`.
template <size_t... I> struct numbers {};
template <size_t N, size_t... I> struct count : count<N - 1, N - 1, I...> {};
template <size_t... I> struct count<0, I...> {
    typedef numbers<I...> type;
};
template <typename... P, size_t... I> inline void call(void (*kernel)(P...), void *const *arguments, numbers<I...>) {
    (void)arguments;
    kernel(*static_cast<P *>(arguments[I])...);
}

template <typename Kernel> struct launched;
template <typename... P> struct launched<void (*)(P...)> {
    void (*kernel)(P...);
    void *const *arguments;
    static void run(void *self) {
        const launched &l = *static_cast<launched *>(self);
        call(l.kernel, l.arguments, typename count<sizeof...(P)>::type());
    }
};

// Runs a grid of blocks. Without synchronisation in the kernel a thread runs to its end at once.
template <typename Kernel>
inline int launch(Kernel kernel, const unsigned int *grid, const unsigned int *shape, const int synchronises,
                  const int backwards, void *const *arguments) {
    launched<Kernel> whole = {kernel, arguments};
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {shape[0], shape[1], shape[2]};
    now.threads = shape[0] * shape[1] * shape[2];
    now.body = &launched<Kernel>::run;
    now.arguments = &whole;
    const size_t stacks = now.threads * stack_bytes;
    const size_t fibers = (now.threads * sizeof(fiber) + 63) / 64 * 64;
    unsigned char *const memory = kept.of(stacks + fibers + (now.threads + 31) / 32 * sizeof(warp));
    if (!memory) {
        return out_of_memory;
    }
    now.stacks = memory;
    now.fibers = reinterpret_cast<fiber *>(memory + stacks);
    now.warps = reinterpret_cast<warp *>(memory + stacks + fibers);
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    for (uint64_t k = 0; k < blocks; ++k) {
        const uint64_t number = backwards ? blocks - 1 - k : k;
        blockIdx = {(unsigned int)(number % grid[0]), (unsigned int)(number / grid[0] % grid[1]),
                    (unsigned int)(number / grid[0] / grid[1])};
        if (synchronises) {
            if (const fault found = run_block(backwards)) {
                return found;
            }
            continue;
        }
        for (unsigned int t = 0; t < now.threads; ++t) {
            const unsigned int thread = backwards ? now.threads - 1 - t : t;
            threadIdx = {thread % shape[0], thread / shape[0] % shape[1], thread / shape[0] / shape[1]};
            whole.run(&whole);
        }
    }
    return none;
}

// The lane of the calling thread, and its warp.
inline unsigned int lane() { return now.current % 32; }
inline warp &my_warp() { return now.warps[now.current / 32]; }

// Hands `value` over and takes the value of lane `source`.
template <typename T> inline T exchange(const unsigned int mask, const T value, const unsigned int source) {
    warp &shared = my_warp();
    const unsigned int self = lane();
    const unsigned int turn = shared.turn[self]++ & 1;
    memcpy(&shared.slot[turn][self], &value, sizeof value);
    give_way(waits::warp, mask);
    T taken;
    memcpy(&taken, &shared.slot[turn][source], sizeof taken);
    return taken;
}

// Which of these lanes hand over something true.
inline unsigned int ballot(const unsigned int mask, const bool own) {
    warp &shared = my_warp();
    const unsigned int self = lane();
    const unsigned int turn = shared.turn[self]++ & 1;
    memcpy(&shared.slot[turn][self], &own, sizeof own);
    give_way(waits::warp, mask);
    unsigned int have = 0;
    for (unsigned int source = 0; source < 32; ++source) {
        bool theirs = false;
        if (mask >> source & 1) {
            memcpy(&theirs, &shared.slot[turn][source], sizeof theirs);
        }
        have |= (unsigned int)theirs << source;
    }
    return have;
}

} // namespace shim

inline unsigned int __ballot_sync(const unsigned int mask, const int predicate) {
    return shim::ballot(mask, predicate != 0);
}
inline int __any_sync(const unsigned int mask, const int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __ffs(const int value) { return __builtin_ffs(value); }
inline int __clz(const int value) { return value == 0 ? 32 : __builtin_clz((unsigned int)value); }
inline int __clzll(const long long value) { return value == 0 ? 64 : __builtin_clzll((unsigned long long)value); }
inline void __syncthreads() { shim::give_way(shim::waits::block, 0); }
inline void __syncwarp(const unsigned int mask = 0xffffffffu) {
    // The threads that do not exist need not be left out here.
    const unsigned int first = shim::now.current / 32 * 32;
    const unsigned int lanes = shim::now.threads - first < 32 ? shim::now.threads - first : 32;
    shim::give_way(shim::waits::warp, lanes == 32 ? mask : mask & ((1u << lanes) - 1));
}

#define SHIM_SHUFFLES(type)                                                                                          \
    inline type __shfl_sync(const unsigned int mask, const type value, const int source, const int width = 32) {     \
        const unsigned int first = shim::lane() & ~(unsigned int)(width - 1);                                        \
        return shim::exchange(mask, value, first + ((unsigned int)source & (width - 1)));                            \
    }                                                                                                                \
    inline type __shfl_xor_sync(const unsigned int mask, const type value, const int lanes, const int width = 32) {  \
        const unsigned int self = shim::lane(), source = self ^ (unsigned int)lanes;                                 \
        const bool inside = source / (unsigned int)width <= self / (unsigned int)width;                              \
        return shim::exchange(mask, value, inside ? source : self);                                                  \
    }                                                                                                                \
    inline type __shfl_down_sync(const unsigned int mask, const type value, const unsigned int delta,                \
                                 const int width = 32) {                                                             \
        const unsigned int self = shim::lane();                                                                      \
        const bool inside = (self & (width - 1)) + delta < (unsigned int)width;                                      \
        return shim::exchange(mask, value, inside ? self + delta : self);                                            \
    }                                                                                                                \
    inline type __shfl_up_sync(const unsigned int mask, const type value, const unsigned int delta,                  \
                               const int width = 32) {                                                               \
        const unsigned int self = shim::lane();                                                                      \
        const bool inside = delta <= (self & (width - 1));                                                           \
        return shim::exchange(mask, value, inside ? self - delta : self);                                            \
    }
SHIM_SHUFFLES(int)
SHIM_SHUFFLES(unsigned int)
SHIM_SHUFFLES(long long)
SHIM_SHUFFLES(unsigned long long)
SHIM_SHUFFLES(float)
SHIM_SHUFFLES(double)
SHIM_SHUFFLES(__half)
SHIM_SHUFFLES(__nv_bfloat16)

#endif
