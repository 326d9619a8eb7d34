class Module:
    """The loaded binary, in the current context; if there is none, in that of the first device."""

    def _call(self, function, *arguments):
        error = getattr(self._driver, function)(*arguments)
        if error:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(error, ctypes.byref(text))
            raise RuntimeError(f"{function}: {(text.value or b'unknown error').decode()}")

    def _load(self, binary, kernels):
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        if not context.value:
            device = ctypes.c_int()
            self._call("cuDeviceGet", ctypes.byref(device), 0)
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._call("cuCtxSetCurrent", context)
        self._module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(self._module), binary)
        self._functions = []
        for name, shared in kernels:
            function = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), self._module, name)
            if shared:  # MAX_DYNAMIC_SHARED_SIZE_BYTES
                self._call("cuFuncSetAttribute", function, 8, shared)
            self._functions.append(function)

    def _launch(self, kernel, grid, block, shared, stream, values):
        if min(grid) < 1:
            return
        addresses = [ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
        parameters = (ctypes.c_void_p * max(len(values), 1))(*addresses)
        sizes = [ctypes.c_uint(size) for size in (*grid, *block, shared)]
        self._call(
            "cuLaunchKernel", self._functions[kernel], *sizes, ctypes.c_void_p(stream), parameters, None
        )

    def unload(self):
        """Unloads the binary when all launches have ended."""
        self._call("cuModuleUnload", self._module)
