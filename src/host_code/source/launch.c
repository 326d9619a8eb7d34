/* Launches nothing if the grid is empty. */
static int launch(void *function, const int64_t grid[3], unsigned block_x, unsigned block_y,
                  unsigned block_z, unsigned shared, void *stream, void **parameters)
{
    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1) {
        return 0;
    }
    if (grid[0] > 2147483647 || grid[1] > 65535 || grid[2] > 65535) {
        return 1; /* CUDA_ERROR_INVALID_VALUE */
    }
    return cuLaunchKernel(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], block_x,
                          block_y, block_z, shared, stream, parameters, NULL);
}
