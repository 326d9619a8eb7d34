// What the memory gives to kernels that load and store as segmented reductions do, and do next to
// nothing besides.
//
//     nvcc -O3 -std=c++17 -arch=native benches/peers/memory.cu -o memory && ./memory
//
// 2^28 floats are read by vectors of 16 bytes. Medians of 30 launches each, over two arrays of
// results in turn.
//
// - rows: sums of rows of 16 to 128 by shuffles, none of them stored, or each stored where it comes
//   out.
// - bursts: a block stores all of its results at its end, by way of shared memory; the fastest and
//   the slowest of some forms.
// - held: resident blocks store their results when shared memory is full of them, all at about the
//   same time.
// - runs: for each 4 floats an offset is read and a result stored, as for segments of mean 4; a
//   warp goes through so many tiles of 512 floats.

#include "launches.cuh"

template <int LENGTH, bool STORED>
__global__ void __launch_bounds__(512, 4) rows(const float4 *__restrict__ x, float *__restrict__ out) {
    constexpr int LANES = LENGTH / 4;
    const size_t first = (size_t(blockIdx.x) * 16 + threadIdx.x / 32) * 32 * VECTORS + threadIdx.x % 32;
    float4 v[VECTORS];
    load(v, x + first);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const float total = joined<LANES>(sum(v[k]));
        if (threadIdx.x % LANES == 0 && (STORED || total == 123.456f)) out[(first + 32 * k) / LANES] = total;
    }
}

// The vectors of an iteration are on the way while those of the one before are summed up.
template <int LENGTH, int V, int ITERATIONS, int THREADS>
__global__ void __launch_bounds__(THREADS) bursts(const float4 *__restrict__ x, float *__restrict__ out) {
    constexpr int LANES = LENGTH / 4, ROWS = THREADS * V / LANES;
    __shared__ __align__(16) float staged[ROWS * ITERATIONS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float4 *from = x + size_t(blockIdx.x) * THREADS * V * ITERATIONS + warp * 32 * V + lane;
    float4 v[2][V];
    load(v[0], from);
#pragma unroll
    for (int i = 0; i < ITERATIONS; ++i) {
        if (i + 1 < ITERATIONS) load(v[(i + 1) % 2], from + (i + 1) * THREADS * V);
#pragma unroll
        for (int k = 0; k < V; ++k) {
            const float total = joined<LANES>(sum(v[i % 2][k]));
            if (lane % LANES == 0) staged[i * ROWS + (warp * V + k) * (32 / LANES) + lane / LANES] = total;
        }
    }
    __syncthreads();
    float4 *to = reinterpret_cast<float4 *>(out) + size_t(blockIdx.x) * (ROWS * ITERATIONS / 4);
    for (int k = threadIdx.x; k < ROWS * ITERATIONS / 4; k += THREADS) to[k] = reinterpret_cast<float4 *>(staged)[k];
}

// Warps of all blocks take pieces of 32 * VECTORS vectors in turn; `most` of them have results in
// shared memory before these are stored.
template <int LENGTH>
__global__ void __launch_bounds__(1024, 1) held(const float4 *__restrict__ x, float *__restrict__ out, int pieces, int most) {
    constexpr int LANES = LENGTH / 4, ROWS = 32 * VECTORS / LANES;
    extern __shared__ float staged[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, stride = gridDim.x * 32;
    float *own = staged + warp * most * ROWS;
    int count = 0, first = blockIdx.x * 32 + warp;
    float4 v[VECTORS];
    if (first < pieces) load(v, x + size_t(first) * 32 * VECTORS + lane);
    for (int piece = first; piece < pieces; piece += stride) {
        float total[VECTORS];
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) total[k] = sum(v[k]);
        if (piece + stride < pieces) load(v, x + size_t(piece + stride) * 32 * VECTORS + lane);
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
            total[k] = joined<LANES>(total[k]);
            if (lane % LANES == 0) own[count * ROWS + k * (32 / LANES) + lane / LANES] = total[k];
        }
        if (++count == most || piece + stride >= pieces) {
            __syncwarp();
            for (int k = lane; k < count * ROWS; k += 32) out[size_t(first + k / ROWS * stride) * ROWS + k % ROWS] = own[k];
            __syncwarp();
            first += count * stride;
            count = 0;
        }
    }
}

__global__ void __launch_bounds__(128, 8)
runs(const float4 *__restrict__ x, const int *__restrict__ offsets, float *__restrict__ out, int length, int tiles) {
    const int lane = threadIdx.x % 32;
    int tile = (blockIdx.x * 4 + threadIdx.x / 32) * length;
    const int end = min(tile + length, tiles);
    if (tile >= end) return;
    float4 v[4];
    load(v, x + size_t(tile) * 128 + lane);
    for (; tile < end; ++tile) {
        float total[4];
        int offset[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) total[k] = sum(v[k]);
#pragma unroll
        for (int k = 0; k < 4; ++k) offset[k] = __ldg(offsets + size_t(tile) * 128 + k * 32 + lane);
        if (tile + 1 < end) load(v, x + size_t(tile + 1) * 128 + lane);
#pragma unroll
        for (int k = 0; k < 4; ++k) out[size_t(tile) * 128 + k * 32 + lane] = total[k] + offset[k];
    }
}

__global__ void copy(const float4 *__restrict__ x, float4 *__restrict__ out) {
    const size_t first = size_t(blockIdx.x) * 1024 + threadIdx.x;
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = x[first + 256 * k];
#pragma unroll
    for (int k = 0; k < 4; ++k) out[first + 256 * k] = v[k];
}

float *x, *out[2];
int *offsets, multiprocessors, shared;

void line(const char *what, double milliseconds, double bytes) {
    std::printf("%-52s %.4f ms %6.0f GB/s\n", what, milliseconds, bytes / milliseconds / 1e6);
    std::fflush(stdout);
}

struct Extremes {
    double least = 1e9, most = 0;
    void take(double time) { least = std::min(least, time), most = std::max(most, time); }
};

template <int LENGTH, int V, int ITERATIONS, int THREADS>
void take_burst(Extremes &all) {
    const int grid = FLOATS / 4 / (V * ITERATIONS * THREADS);
    all.take(median([=](int k) { bursts<LENGTH, V, ITERATIONS, THREADS><<<grid, THREADS>>>(reinterpret_cast<float4 *>(x), out[k]); }));
}

template <int LENGTH, int THREADS>
void take_bursts(Extremes &all) {
    take_burst<LENGTH, 2, 2, THREADS>(all), take_burst<LENGTH, 2, 4, THREADS>(all), take_burst<LENGTH, 2, 8, THREADS>(all);
    take_burst<LENGTH, 4, 1, THREADS>(all), take_burst<LENGTH, 4, 2, THREADS>(all), take_burst<LENGTH, 4, 4, THREADS>(all);
    take_burst<LENGTH, 8, 1, THREADS>(all), take_burst<LENGTH, 8, 2, THREADS>(all);
}

template <int LENGTH>
void all_rows() {
    const size_t count = FLOATS / LENGTH;
    const double read = FLOATS * 4.0, all = read + count * 4.0;
    char what[80];
    auto name = [&](const char *how) { return std::snprintf(what, sizeof what, "rows of %d: %s", LENGTH, how), what; };
    constexpr int GRID = FLOATS / 4 / (512 * VECTORS);
    line(name("no results"), median([](int k) { rows<LENGTH, false><<<GRID, 512>>>(reinterpret_cast<float4 *>(x), out[k]); }), read);
    line(name("each stored where it comes out"), median([](int k) { rows<LENGTH, true><<<GRID, 512>>>(reinterpret_cast<float4 *>(x), out[k]); }), all);
    Extremes forms;
    take_bursts<LENGTH, 128>(forms), take_bursts<LENGTH, 256>(forms), take_bursts<LENGTH, 512>(forms);
    line(name("bursts, the fastest of 24 forms"), forms.least, all);
    line(name("bursts, the slowest of them"), forms.most, all);
    constexpr int PIECES = FLOATS / 4 / (32 * VECTORS), ROWS = 32 * VECTORS / (LENGTH / 4);
    const int each = (PIECES + 32 * multiprocessors - 1) / (32 * multiprocessors);
    for (int times : {each, 8, 4, 3, 2}) {
        const int most = (each + times - 1) / times, bytes = most * ROWS * 32 * 4;
        if (bytes > shared) continue;
        CHECK(cudaFuncSetAttribute(held<LENGTH>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        char how[40];
        std::snprintf(how, sizeof how, times == each ? "held, stored at once" : "held, stored %d times", times);
        line(name(how), median([=](int k) { held<LENGTH><<<multiprocessors, 1024, bytes>>>(reinterpret_cast<float4 *>(x), out[k], PIECES, most); }), all);
    }
}

int main() {
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaMalloc(&x, FLOATS * 4));
    CHECK(cudaMalloc(&offsets, FLOATS));
    for (auto &array : out) CHECK(cudaMalloc(&array, FLOATS * 4));
    CHECK(cudaMemset(x, 0, FLOATS * 4));
    CHECK(cudaMemset(offsets, 0, FLOATS));
    line("copy", median([](int k) { copy<<<FLOATS / 4096, 256>>>(reinterpret_cast<float4 *>(x), reinterpret_cast<float4 *>(out[k])); }), FLOATS * 8.0);
    all_rows<16>();
    all_rows<32>();
    all_rows<64>();
    all_rows<128>();
    const int tiles = FLOATS / 512;
    for (int length : {1, 4, 8, 16, 32, 63, (tiles + 32 * multiprocessors - 1) / (32 * multiprocessors)}) {
        char what[80];
        std::snprintf(what, sizeof what, "mean 4: runs of %d tiles", length);
        const int grid = (tiles + 4 * length - 1) / (4 * length);
        line(what, median([=](int k) { runs<<<grid, 128>>>(reinterpret_cast<float4 *>(x), offsets, out[k], length, tiles); }), FLOATS * 6.0);
    }
    CHECK(cudaGetLastError());
}
