#include <stdio.h>
#include <cuda.h>
#include "blur.h"

int main(void)
{
    enum { N = 1000 };
    float x[N + 2], y[N];
    CUdevice device;
    CUcontext context;
    CUdeviceptr on_device;
    blur_module module;
    int error;

    for (int i = 0; i < N + 2; ++i) {
        x[i] = (float)i;
    }
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    cuMemAlloc(&on_device, sizeof x + sizeof y);
    cuMemcpyHtoD(on_device, x, sizeof x);

    error = blur_load(&module);
    if (!error) {
        error = blur_launch(&module, NULL, on_device, on_device + sizeof x, N);
    }
    if (error) {
        printf("%s\n", blur_message(error));
        return 1;
    }
    cuMemcpyDtoH(y, on_device + sizeof x, sizeof y);
    printf("%g %g\n", y[0], y[N - 1]);
    return 0;
}
