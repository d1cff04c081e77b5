/* CUDA's warp functions with the meaning HIP gives them on the hardware's own wave, whatever width a mask has.
 *
 * For running lane logic as it was written: HIP's own forms refuse a 32-bit mask at compile time, so a program with
 * one could not be shown going wrong. Included before everything else; never part of a port. */
#pragma once
#define HIP_DISABLE_WARP_SYNC_BUILTINS
#include <hip/hip_runtime.h>

template <class M, class T> __device__ inline T __shfl_sync(M, T v, int lane, int width = warpSize) {
    return __shfl(v, lane, width);
}
template <class M, class T> __device__ inline T __shfl_up_sync(M, T v, unsigned by, int width = warpSize) {
    return __shfl_up(v, by, width);
}
template <class M, class T> __device__ inline T __shfl_down_sync(M, T v, unsigned by, int width = warpSize) {
    return __shfl_down(v, by, width);
}
template <class M, class T> __device__ inline T __shfl_xor_sync(M, T v, int by, int width = warpSize) {
    return __shfl_xor(v, by, width);
}
template <class M> __device__ inline unsigned long long __ballot_sync(M, int p) { return __ballot(p); }
template <class M> __device__ inline int __any_sync(M, int p) { return __any(p); }
template <class M> __device__ inline int __all_sync(M, int p) { return __all(p); }
__device__ inline unsigned long long __activemask() { return __ballot(1); }
template <class M> __device__ inline void __syncwarp(M) {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
__device__ inline void __syncwarp() { __syncwarp(0u); }
