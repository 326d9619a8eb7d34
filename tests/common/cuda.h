/* What the book's program in C uses of CUDA's header, without the toolkit. */
#include <stddef.h>
#include <stdint.h>

typedef int CUdevice;
typedef void *CUcontext;
typedef unsigned long long CUdeviceptr;

#define cuMemAlloc cuMemAlloc_v2

int cuInit(unsigned);
int cuDeviceGet(CUdevice *, int);
int cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
int cuCtxSetCurrent(CUcontext);
int cuMemAlloc(CUdeviceptr *, size_t);
int cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, void *);
int cuStreamSynchronize(void *);

static int cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    cuMemcpyHtoDAsync_v2(to, from, bytes, 0);
    return cuStreamSynchronize(0);
}

static int cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    cuMemcpyDtoHAsync_v2(to, from, bytes, 0);
    return cuStreamSynchronize(0);
}
