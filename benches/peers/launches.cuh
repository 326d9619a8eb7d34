// What the programs beside this share: checked calls, pieces of rows' sums, and how long a launch
// takes.

#pragma once

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

__device__ __forceinline__ float sum(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// The sum of a row in the first of its lanes.
template <int LANES>
__device__ __forceinline__ float joined(float total) {
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2) total += __shfl_down_sync(~0u, total, d, LANES);
    return total;
}

template <int V>
__device__ __forceinline__ void load(float4 (&v)[V], const float4 *from) {
#pragma unroll
    for (int k = 0; k < V; ++k) v[k] = __ldg(from + 32 * k);
}

// Milliseconds of a launch, the median of 30 of them in a row, over two arrays of results in turn:
// `launch(k)` stores to array k.
template <class Launch>
double median(Launch launch) {
    constexpr int COUNT = 30;
    std::vector<cudaEvent_t> events(COUNT + 1);
    for (auto &event : events) CHECK(cudaEventCreate(&event));
    for (int k = 0; k < 4; ++k) launch(k % 2);
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
