// What HIP C++ calls by other names than CUDA C, in terms of the shim for that, which is included
// first. Warps have 32 threads here; texts for warps of 64 can be compiled, not run.
#pragma once

#define __hip_bfloat16 __nv_bfloat16
#define __hip_bfloat162 __nv_bfloat162

namespace shim {
// The lanes of the calling warp that exist.
inline unsigned int own_lanes() {
    const unsigned int first = now.current / 32 * 32;
    const unsigned int lanes = now.threads - first < 32 ? now.threads - first : 32;
    return lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
}
} // namespace shim

template <typename T> inline T __shfl(const T value, const int source, const int width = 32) {
    return __shfl_sync(shim::own_lanes(), value, source, width);
}
template <typename T> inline T __shfl_xor(const T value, const int lanes, const int width = 32) {
    return __shfl_xor_sync(shim::own_lanes(), value, lanes, width);
}
template <typename T> inline T __shfl_down(const T value, const unsigned int delta, const int width = 32) {
    return __shfl_down_sync(shim::own_lanes(), value, delta, width);
}
template <typename T> inline T __shfl_up(const T value, const unsigned int delta, const int width = 32) {
    return __shfl_up_sync(shim::own_lanes(), value, delta, width);
}
inline unsigned long long __ballot(const int predicate) { return __ballot_sync(shim::own_lanes(), predicate); }
inline int __any(const int predicate) { return __any_sync(shim::own_lanes(), predicate); }

#define __builtin_amdgcn_fence(order, scope)
#define __builtin_amdgcn_wave_barrier() __syncwarp()
