// CUB's histograms behind C functions, for gpu/histogram.py to launch beside ours.
// nvcc -O3 -std=c++17 -arch=native -Xcompiler -fPIC -shared [-I CCCL]
//     cub_histogram.cu -o libcub_histogram.so
//
// Each function returns 0, or CUDA's error. With `scratch` 0 it only says in `bytes` how much
// scratch memory it wants. There are 256 bins, of one key each.
#include <cub/cub.cuh>

namespace {
template <typename Key>
int histogram(void *scratch, size_t *bytes, const Key *keys, int *counts, long long n, void *stream) {
    return cub::DeviceHistogram::HistogramEven(scratch, *bytes, keys, counts, 257, 0, 256, n, static_cast<cudaStream_t>(stream));
}
}  // namespace

extern "C" int cub_histogram_i32(void *scratch, size_t *bytes, const int *keys, int *counts, long long n, void *stream) {
    return histogram(scratch, bytes, keys, counts, n, stream);
}

extern "C" int cub_histogram_u8(void *scratch, size_t *bytes, const unsigned char *keys, int *counts, long long n, void *stream) {
    return histogram(scratch, bytes, keys, counts, n, stream);
}
