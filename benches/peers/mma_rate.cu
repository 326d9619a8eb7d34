// What `mma.sync` gives where nothing else is done: factors stay in registers, so that no load, no
// barrier and no copy is between the products. A kernel that multiplies by these instructions is
// not faster.
//
//     nvcc -O3 -std=c++17 -arch=native benches/peers/mma_rate.cu -o mma_rate && ./mma_rate
//
// A line for each instruction: the rate of the best number of warps a multiprocessor, in TFLOP/s
// (s8: TOP/s), medians of 15 launches of about 20 ms each, so that the clock is the one that lasts.
// Factors are random numbers: multiplying zeros takes less power and is faster.

#include <cstdint>

#include "launches.cuh"

constexpr int STEPS = 1024;

// One instruction: M x N x K, the registers of a lane for A, B and the accumulator.
#define INSTRUCTION(NAME, REAL, M_, N_, K_, A_, B_, C_, IN, OUT, TEXT, ...)                              \
    struct NAME {                                                                                        \
        using In = IN;                                                                                   \
        using Out = OUT;                                                                                 \
        static constexpr int M = M_, N = N_, K = K_, A = A_, B = B_, C = C_;                             \
        static const char *name() { return REAL; }                                                       \
        static __device__ void multiply(Out *c, const In *a, const In *b) { asm volatile(TEXT __VA_ARGS__); } \
    };

#define F4 "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
#define R4 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define WORDS "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"

INSTRUCTION(Bf16, "m16n8k16 bf16", 16, 8, 16, 4, 2, 4, uint32_t, float,
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " WORDS, : F4 : R4)
INSTRUCTION(F16, "m16n8k16 f16", 16, 8, 16, 4, 2, 4, uint32_t, float,
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " WORDS, : F4 : R4)
INSTRUCTION(Tf32, "m16n8k8 tf32", 16, 8, 8, 4, 2, 4, uint32_t, float,
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " WORDS, : F4 : R4)
INSTRUCTION(S8, "m16n8k32 s8", 16, 8, 32, 4, 2, 4, uint32_t, int,
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " WORDS,
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : R4)
INSTRUCTION(F64, "m16n8k16 f64", 16, 8, 16, 8, 4, 4, double, double,
            "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
            "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};",
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
              "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]))

// Words whose halves and quarters are moderate numbers of their types.
template <class T> __device__ T drawn(uint32_t seed) {
    seed = (seed ^ 61) * 0x27d4eb2d;
    seed ^= seed >> 15;
    seed *= 0x9e3779b1;
    if constexpr (sizeof(T) == 8) return double(int32_t(seed)) * 0x1p-31;
    return (seed & 0x8fff8fff) | 0x30003000;
}

// Each warp holds TILES accumulators, two of which share a factor B.
template <class I, int TILES> __global__ void __launch_bounds__(512) products(typename I::Out *out, int repeats) {
    typename I::In a[2][I::A], b[TILES / 2][I::B];
    typename I::Out c[TILES][I::C] = {};
    const uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
    for (auto &row : a)
        for (auto &x : row) x = drawn<typename I::In>(me * 31 + uint32_t(&x - &a[0][0]));
    for (auto &row : b)
        for (auto &x : row) x = drawn<typename I::In>(me * 37 + 1000 + uint32_t(&x - &b[0][0]));
    for (int r = 0; r < repeats; ++r)
#pragma unroll
        for (int t = 0; t < TILES; ++t) I::multiply(c[t], a[t % 2], b[t / 2]);
    typename I::Out sum = 0;
    for (auto &row : c)
        for (auto x : row) sum += x;
    out[me] = sum;
}

template <class I, int TILES = 8> void measure(int multiprocessors) {
    typename I::Out *out;
    CHECK(cudaMalloc(&out, sizeof(*out) * multiprocessors * 512));
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    double best = 0;
    int at = 0;
    for (int warps : {4, 8, 16}) {
        const auto launch = [&](int repeats) {
            CHECK(cudaEventRecord(from));
            products<I, TILES><<<multiprocessors, 32 * warps>>>(out, repeats);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            float ms = 0;
            CHECK(cudaEventElapsedTime(&ms, from, to));
            return double(ms);
        };
        launch(STEPS);
        const int repeats = std::max(STEPS, int(STEPS * 20.0 / launch(STEPS)));
        std::vector<double> times;
        for (int k = 0; k < 15; ++k) times.push_back(launch(repeats));
        std::sort(times.begin(), times.end());
        const double flops = 2.0 * I::M * I::N * I::K * TILES * repeats * warps * multiprocessors;
        const double rate = flops / times[times.size() / 2] * 1e-9;
        if (rate > best) best = rate, at = warps;
    }
    CHECK(cudaFree(out));
    std::printf("%-14s %8.1f  (%d warps a multiprocessor)\n", I::name(), best, at);
}

int main() {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
    measure<Bf16>(device.multiProcessorCount);
    measure<F16>(device.multiProcessorCount);
    measure<Tf32>(device.multiProcessorCount);
    measure<S8>(device.multiProcessorCount);
    measure<F64, 4>(device.multiProcessorCount);
}
