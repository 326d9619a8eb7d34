// CUB's scans behind C functions, for gpu/scan.py to launch beside ours.
// nvcc -O3 -std=c++17 -arch=native -Xcompiler -fPIC -shared [-I CCCL] cub_scan.cu -o libcub_scan.so
//
// Each function returns 0, or CUDA's error. With `scratch` 0 it only says in `bytes` how much
// scratch memory it wants.
#include <cub/cub.cuh>

#define SCANS(NAME, TYPE)                                                                                                      \
    extern "C" int cub_inclusive_##NAME(void *scratch, size_t *bytes, const TYPE *x, TYPE *out, long long n, void *stream) { \
        return cub::DeviceScan::InclusiveSum(scratch, *bytes, x, out, n, static_cast<cudaStream_t>(stream));                 \
    }                                                                                                                        \
    extern "C" int cub_exclusive_##NAME(void *scratch, size_t *bytes, const TYPE *x, TYPE *out, long long n, void *stream) { \
        return cub::DeviceScan::ExclusiveSum(scratch, *bytes, x, out, n, static_cast<cudaStream_t>(stream));                 \
    }

SCANS(i32, int)
SCANS(f32, float)
