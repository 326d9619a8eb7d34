// What the memory gives to kernels that load and store as segmented reductions do, and do next to nothing besides.
//
//     nvcc -O3 -std=c++17 -arch=native benches/peers/memory.cu -o memory && ./memory
//
// 2^28 floats are read by vectors of 16 bytes. Medians of 30 launches each, over two arrays of results in turn.
//
// - rows: sums of rows of 16 to 128 by shuffles, none of them stored, each stored where it comes out, or a block's stored as a burst by way of shared memory.
// - runs: for each 4 floats an offset is read and a result stored, as for segments of mean 4; a warp goes through so many tiles of 512 floats.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));       \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

constexpr size_t FLOATS = size_t(1) << 28;
constexpr int VECTORS = 4;

enum Results { NONE, SINGLE, BURST };

__device__ float sum(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// A block takes chunks of COUNT rows, the next one `gridDim.x` further on.
template <int LENGTH, int COUNT, Results RESULTS>
__global__ void __launch_bounds__(512, 4) rows(const float4 *__restrict__ x, float *__restrict__ out, int chunks) {
    constexpr int LANES = LENGTH / 4;
    __shared__ float4 staged[2][RESULTS == BURST ? COUNT / 4 : 1];
    int turn = 0;
    for (int chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, turn ^= 1) {
        const float4 *from = x + size_t(chunk) * COUNT * LANES;
        for (int first = threadIdx.x / 32 * 32 * VECTORS + threadIdx.x % 32; first < COUNT * LANES; first += blockDim.x * VECTORS) {
            float4 v[VECTORS];
#pragma unroll
            for (int k = 0; k < VECTORS; ++k) v[k] = __ldg(from + first + 32 * k);
#pragma unroll
            for (int k = 0; k < VECTORS; ++k) {
                float total = sum(v[k]);
#pragma unroll
                for (int d = LANES / 2; d > 0; d /= 2) total += __shfl_down_sync(~0u, total, d, LANES);
                const int row = (first + 32 * k) / LANES;
                if (threadIdx.x % LANES == 0) {
                    if (RESULTS == BURST) reinterpret_cast<float *>(staged[turn])[row] = total;
                    else if (RESULTS == SINGLE || total == 123.456f) out[size_t(chunk) * COUNT + row] = total;
                }
            }
        }
        if (RESULTS == BURST) {
            __syncthreads();
            for (int k = threadIdx.x; k < COUNT / 4; k += blockDim.x) reinterpret_cast<float4 *>(out)[size_t(chunk) * COUNT / 4 + k] = staged[turn][k];
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
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = __ldg(x + size_t(tile) * 128 + k * 32 + lane);
    for (; tile < end; ++tile) {
        float total[4];
        int offset[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) total[k] = sum(v[k]);
#pragma unroll
        for (int k = 0; k < 4; ++k) offset[k] = __ldg(offsets + size_t(tile) * 128 + k * 32 + lane);
        if (tile + 1 < end)
#pragma unroll
            for (int k = 0; k < 4; ++k) v[k] = __ldg(x + size_t(tile + 1) * 128 + k * 32 + lane);
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
int *offsets, multiprocessors;

template <class Launch>
double median(Launch launch) {
    constexpr int COUNT = 30;
    std::vector<cudaEvent_t> events(COUNT + 1);
    for (auto &event : events) CHECK(cudaEventCreate(&event));
    for (int k = 0; k < 3; ++k) launch(k % 2);
    for (int k = 0; k <= COUNT; ++k) {
        CHECK(cudaEventRecord(events[k]));
        if (k < COUNT) launch(k % 2);
    }
    CHECK(cudaDeviceSynchronize());
    std::vector<float> times(COUNT);
    for (int k = 0; k < COUNT; ++k) CHECK(cudaEventElapsedTime(&times[k], events[k], events[k + 1]));
    for (auto &event : events) CHECK(cudaEventDestroy(event));
    std::sort(times.begin(), times.end());
    return times[COUNT / 2];
}

void line(const char *what, double milliseconds, double bytes) {
    std::printf("%-52s %.4f ms %6.0f GB/s\n", what, milliseconds, bytes / milliseconds / 1e6);
    std::fflush(stdout);
}

template <int LENGTH>
void all_rows() {
    constexpr int FEW = 8192 / LENGTH, MANY = 4096;
    const size_t count = FLOATS / LENGTH;
    char what[80];
    auto take = [&](const char *how, auto kernel, int each, bool resident, bool stored) {
        const int chunks = int(count / each), grid = resident ? std::min(4 * multiprocessors, chunks) : chunks;
        const double time = median([=](int k) { kernel<<<grid, 512>>>(reinterpret_cast<float4 *>(x), out[k], chunks); });
        std::snprintf(what, sizeof what, "rows of %d: %s", LENGTH, how);
        line(what, time, FLOATS * 4.0 + (stored ? count * 4.0 : 0.0));
    };
    take("no results", rows<LENGTH, FEW, NONE>, FEW, false, false);
    take("each stored where it comes out", rows<LENGTH, FEW, SINGLE>, FEW, false, true);
    take("bursts of 4096, resident blocks", rows<LENGTH, MANY, BURST>, MANY, true, true);
}

int main() {
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
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
