/* Functions of the driver. Handles are pointers, and a CUresult is an int. */
extern int cuModuleLoadData(void **module, const void *image);
extern int cuModuleUnload(void *module);
extern int cuModuleGetFunction(void **function, void *module, const char *name);
extern int cuFuncSetAttribute(void *function, int attribute, int value);
extern int cuGetErrorString(int error, const char **text);
extern int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **parameters, void **extra);
