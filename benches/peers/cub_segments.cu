// CUB's reductions behind C functions, for segments.py to launch beside ours.
// nvcc -O3 -std=c++17 -arch=native -Xcompiler -fPIC -shared [-I CCCL]
//     cub_segments.cu -o libcub_segments.so
//
// Each function returns 0, or CUDA's error. With `scratch` 0 it only says in `bytes` how much
// scratch memory it wants.
#include <cub/cub.cuh>
#include <cub/version.cuh>

namespace {
cudaStream_t on(void *stream) { return static_cast<cudaStream_t>(stream); }
}  // namespace

extern "C" int cub_version() { return CUB_VERSION; }

// The sum of all n elements: a kernel that only reads.
extern "C" int cub_sum(void *scratch, size_t *bytes, const float *x, float *out, long long n, void *stream) {
    return cub::DeviceReduce::Sum(scratch, *bytes, x, out, n, on(stream));
}

// Segment k is x[offsets[k]] to x[offsets[k + 1]].
extern "C" int cub_offsets(void *scratch, size_t *bytes, const float *x, float *out, long long segments, const int *offsets,
                           void *stream) {
    return cub::DeviceSegmentedReduce::Sum(scratch, *bytes, x, out, segments, offsets, offsets + 1, on(stream));
}

// Segments of one length. Older versions lack this form: 1 then stands for "not there".
extern "C" int cub_fixed(void *scratch, size_t *bytes, const float *x, float *out, long long segments, int length, void *stream) {
#ifdef CUB_FIXED_SIZE
    return cub::DeviceSegmentedReduce::Sum(scratch, *bytes, x, out, segments, length, on(stream));
#else
    (void)scratch, (void)bytes, (void)x, (void)out, (void)segments, (void)length, (void)stream;
    return 1;
#endif
}
