// What a few writes cost among many reads, by when they are written.
//
//     nvcc -O3 -std=c++17 -arch=native benches/peers/writes.cu -o writes && ./writes
//
// 2^28 floats are read by vectors of 16 bytes. Medians of 30 launches each, over two arrays of
// results in turn, so that nothing that a launch leaves in the cache is overwritten by the next
// one.
//
// - strewn: so many bytes are stored, evenly by all blocks, or by the blocks of every k-th window
//   of 8192 blocks (an eighth of all).
// - waves: sums of rows of 16 and 32, stored where they come out, as plain stores and as
//   `cache_waves` has them stored: of the windows of a wave, the second-level cache keeps all but
//   the last one, and gives them up when that one is stored.

#include "launches.cuh"

// A block of 256 threads reads 16 KB. Those of every `every`-th window of blocks store `every`
// times `per` vectors, the others nothing.
__global__ void __launch_bounds__(256) strewn(const float4 *__restrict__ x, float4 *__restrict__ out, int per, unsigned window, unsigned every) {
    const size_t first = (size_t(blockIdx.x) * 8 + threadIdx.x / 32) * 128 + threadIdx.x % 32;
    float4 v[VECTORS];
    load(v, x + first);
    float total = 0;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) total += sum(v[k]);
    if (per == 0) {
        if (total == 123.456f) out[0] = v[0];
        return;
    }
    const unsigned own = blockIdx.x / window;
    if (own % every == 0) {
        const size_t base = (size_t(own / every) * window + blockIdx.x % window) * per * every;
        for (int k = threadIdx.x; k < per * int(every); k += 256) out[base + k] = make_float4(total, total, total, total);
    }
}

__device__ __forceinline__ void keep(float *to, float value) {
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(to), "f"(value), "l"(policy) : "memory");
}

__device__ __forceinline__ void give_up(float *line) { asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(line) : "memory"); }

template <int LENGTH, bool WAVES>
__global__ void __launch_bounds__(128) rows(const float4 *__restrict__ x, float *__restrict__ out, int window, int windows, int size) {
    constexpr int LANES = LENGTH / 4;
    const size_t first = (size_t(blockIdx.x) * 4 + threadIdx.x / 32) * 128 + threadIdx.x % 32;
    float4 v[VECTORS];
    load(v, x + first);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const float total = joined<LANES>(sum(v[k]));
        if (threadIdx.x % LANES == 0) {
            const int at = (first + 32 * k) / LANES, wave = window * windows;
            const bool whole = WAVES && at / wave < size / wave;
            if (whole && at % wave < wave - window) {
                keep(out + at, total);
            } else {
                out[at] = total;
                if (whole && at % 32 == 0)
                    for (int before = 1; before < windows; ++before) give_up(out + at - before * window);
            }
        }
    }
}

float4 *x;
float *out[2];

template <int LENGTH>
void waves() {
    const int size = FLOATS / LENGTH, grid = FLOATS / 4 / 512;
    std::printf("rows of %d: plain stores %.4f ms\n", LENGTH, median([=](int k) { rows<LENGTH, false><<<grid, 128>>>(x, out[k], 1, 2, size); }));
    for (int windows : {2, 4, 8, 16})
        for (double kept : {4.2, 6.3, 8.4, 9.4, 10.5, 14.0}) {
            const int window = int(kept * 1e6 / 4 / (windows - 1)) / 128 * 128;
            const double time = median([=](int k) { rows<LENGTH, true><<<grid, 128>>>(x, out[k], window, windows, size); });
            std::printf("rows of %d: waves of %2d windows, %4.1f MB kept %.4f ms\n", LENGTH, windows, kept, time);
        }
    CHECK(cudaGetLastError());
}

int main() {
    CHECK(cudaMalloc(&x, FLOATS * 4));
    for (auto &array : out) CHECK(cudaMalloc(&array, FLOATS));
    CHECK(cudaMemset(x, 0, FLOATS * 4));
    const unsigned grid = FLOATS / 4096;
    auto take = [=](int per, unsigned every) { return median([=](int k) { strewn<<<grid, 256>>>(x, reinterpret_cast<float4 *>(out[k]), per, 8192, every); }); };
    std::printf("reading alone %.4f ms\n", take(0, 1));
    for (int per : {4, 8, 16, 32, 64}) {
        std::printf("strewn: %5.1f MB evenly %.4f ms", per * 16.0 * grid / 1e6, take(per, 1));
        for (unsigned every : {2u, 4u, 8u}) std::printf(", in one of %u windows %.4f", every, take(per, every));
        std::printf("\n");
    }
    CHECK(cudaGetLastError());
    waves<16>();
    waves<32>();
}
