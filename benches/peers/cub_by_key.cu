// CUB's sums of runs of equal keys behind a C function, for gpu/csr.py to launch beside ours.
// nvcc -O3 -std=c++17 -arch=native -Xcompiler -fPIC -shared [-I CCCL]
//     cub_by_key.cu -o libcub_by_key.so
//
// It returns 0, or CUDA's error. With `scratch` 0 it only says in `bytes` how much scratch memory
// it wants.
#include <cub/cub.cuh>
#include <cuda/std/functional>

extern "C" int cub_by_key(void *scratch, size_t *bytes, const int *keys, int *unique, const float *x, float *out, int *runs, long long n,
                          void *stream) {
    return cub::DeviceReduce::ReduceByKey(scratch, *bytes, keys, unique, x, out, runs, cuda::std::plus<>{}, static_cast<int>(n),
                                          static_cast<cudaStream_t>(stream));
}
