/* The functions of CUDA and HIP that the recorder stands before. One list, two spellings. */
#define _GNU_SOURCE
#include "launch_recorder.h"

#define EXPORT __attribute__((visibility("default")))

/* A call of the real function while the recorder is off. */
#define REAL(name, types)                                                                                              \
    static int(*real) types;                                                                                           \
    if (!real) real = (int(*) types)kpt_real(#name)

#define ALLOCATE(name, runtime, on_host, types, values, stream, ...)                                                   \
    EXPORT int name types {                                                                                            \
        REAL(name, types);                                                                                             \
        if (kpt_inside) return real values;                                                                            \
        kpt_inside++;                                                                                                  \
        int error = real values;                                                                                       \
        kpt_inside--;                                                                                                  \
        if (!error) kpt_allocated(runtime, *(void **)address, __VA_ARGS__, on_host, stream);                           \
        return error;                                                                                                  \
    }

#define RELEASE(name, types, values)                                                                                   \
    EXPORT int name types {                                                                                            \
        REAL(name, types);                                                                                             \
        if (!kpt_inside) kpt_freed((void *)address);                                                                   \
        return real values;                                                                                            \
    }

#define AROUND(real_call, ...)                                                                                         \
    if (kpt_inside) return real_call;                                                                                  \
    KptLaunch launch = {__VA_ARGS__};                                                                                  \
    long number = kpt_before(&launch);                                                                                 \
    int error = real_call;                                                                                             \
    kpt_after(number, error);                                                                                          \
    return error

#define LAUNCH(name, runtime, shared_type)                                                                             \
    EXPORT int name(const void *kernel, KptDim3 grid, KptDim3 block, void **params, shared_type shared,                \
                    void *stream) {                                                                                    \
        REAL(name, (const void *, KptDim3, KptDim3, void **, shared_type, void *));                                    \
        AROUND(real(kernel, grid, block, params, shared, stream), runtime, kernel, 0, grid, block, params, 0, shared,  \
               stream);                                                                                                \
    }

typedef struct {
    KptDim3 grid, block;
    size_t shared;
    void *stream, *attributes;
    unsigned attribute_count;
} Configuration;

#define LAUNCH_CONFIGURED(name, runtime)                                                                               \
    EXPORT int name(const Configuration *c, const void *kernel, void **params) {                                       \
        REAL(name, (const Configuration *, const void *, void **));                                                    \
        if (!c) return real(c, kernel, params);                                                                        \
        AROUND(real(c, kernel, params), runtime, kernel, 0, c->grid, c->block, params, 0, c->shared, c->stream);       \
    }

#define LAUNCH_GRAPH(name, runtime)                                                                                    \
    EXPORT int name(void *graph, void *stream) {                                                                       \
        REAL(name, (void *, void *));                                                                                  \
        KptDim3 one = {1, 1, 1};                                                                                       \
        AROUND(real(graph, stream), runtime, 0, "(graph)", one, one, 0, 0, 0, stream);                                 \
    }

#define LAUNCH_MODULE(name, runtime)                                                                                   \
    EXPORT int name(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,      \
                    unsigned shared, void *stream, void **params, void **extra) {                                      \
        REAL(name, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,     \
                    void **));                                                                                         \
        KptDim3 grid = {gx, gy, gz}, block = {bx, by, bz};                                                             \
        AROUND(real(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra), runtime, function, 0, grid,      \
               block, params, extra, shared, stream);                                                                  \
    }

#define FUNCTION_BY_NAME(name)                                                                                         \
    EXPORT int name(void **function, void *module, const char *symbol) {                                               \
        REAL(name, (void **, void *, const char *));                                                                   \
        int error = real(function, module, symbol);                                                                    \
        if (!error) kpt_named(*function, symbol);                                                                      \
        return error;                                                                                                  \
    }

typedef struct {
    void *address;
    size_t pitch, width, height;
} Pitched;
typedef struct {
    size_t width, height, depth;
} Extent;

#define BOTH(prefix, runtime)                                                                                          \
    ALLOCATE(prefix##Malloc, runtime, 0, (void *address, size_t bytes), (address, bytes), 0, bytes)                    \
    ALLOCATE(prefix##MallocManaged, runtime, 0, (void *address, size_t bytes, unsigned flags),                         \
             (address, bytes, flags), 0, bytes)                                                                        \
    ALLOCATE(prefix##MallocHost, runtime, 1, (void *address, size_t bytes), (address, bytes), 0, bytes)                \
    ALLOCATE(prefix##HostAlloc, runtime, 1, (void *address, size_t bytes, unsigned flags), (address, bytes, flags), 0, \
             bytes)                                                                                                    \
    ALLOCATE(prefix##MallocPitch, runtime, 0, (void *address, size_t *pitch, size_t width, size_t height),             \
             (address, pitch, width, height), 0, *pitch *height)                                                       \
    ALLOCATE(prefix##Malloc3D, runtime, 0, (Pitched * address, Extent extent), (address, extent), 0,                   \
             address->pitch *extent.height *extent.depth)                                                              \
    ALLOCATE(prefix##MallocAsync, runtime, 0, (void *address, size_t bytes, void *stream), (address, bytes, stream),   \
             stream, bytes)                                                                                            \
    ALLOCATE(prefix##MallocFromPoolAsync, runtime, 0, (void *address, size_t bytes, void *pool, void *stream),         \
             (address, bytes, pool, stream), stream, bytes)                                                            \
    RELEASE(prefix##Free, (void *address), (address))                                                                  \
    RELEASE(prefix##FreeHost, (void *address), (address))                                                              \
    RELEASE(prefix##FreeAsync, (void *address, void *stream), (address, stream))                                       \
    LAUNCH(prefix##LaunchKernel, runtime, size_t)                                                                      \
    LAUNCH_CONFIGURED(prefix##LaunchKernelExC, runtime)                                                                \
    LAUNCH_GRAPH(prefix##GraphLaunch, runtime)                                                                         \
    EXPORT void __##prefix##RegisterFunction(void **binary, const void *host, char *device, const char *symbol,        \
                                             int limit, void *a, void *b, void *c, void *d, int *e) {                  \
        static void (*real)(void **, const void *, char *, const char *, int, void *, void *, void *, void *, int *);  \
        if (!real) *(void **)&real = kpt_real("__" #prefix "RegisterFunction");                                        \
        kpt_named(host, symbol);                                                                                       \
        real(binary, host, device, symbol, limit, a, b, c, d, e);                                                      \
    }                                                                                                                  \
    EXPORT void __##prefix##RegisterVar(void **binary, void *host, char *device, const char *symbol, int external,     \
                                        size_t bytes, int constant, int global) {                                      \
        static void (*real)(void **, void *, char *, const char *, int, size_t, int, int);                             \
        if (!real) *(void **)&real = kpt_real("__" #prefix "RegisterVar");                                             \
        if (!constant) kpt_variable(runtime, host, symbol, bytes);                                                     \
        real(binary, host, device, symbol, external, bytes, constant, global);                                         \
    }

BOTH(cuda, KPT_CUDA)
BOTH(hip, KPT_HIP)

/* Only CUDA. The `_ptsz` names are those of programs built for per-thread default streams. */
ALLOCATE(cudaMallocAsync_ptsz, KPT_CUDA, 0, (void *address, size_t bytes, void *stream), (address, bytes, stream),
         stream, bytes)
RELEASE(cudaFreeAsync_ptsz, (void *address, void *stream), (address, stream))
LAUNCH(cudaLaunchKernel_ptsz, KPT_CUDA, size_t)
LAUNCH(__cudaLaunchKernel, KPT_CUDA, size_t) /* what nvcc 13 calls for <<<>>> */
LAUNCH(__cudaLaunchKernel_ptsz, KPT_CUDA, size_t)
LAUNCH(cudaLaunchCooperativeKernel, KPT_CUDA, size_t)
LAUNCH(cudaLaunchCooperativeKernel_ptsz, KPT_CUDA, size_t)
LAUNCH_CONFIGURED(cudaLaunchKernelExC_ptsz, KPT_CUDA)
LAUNCH_GRAPH(cudaGraphLaunch_ptsz, KPT_CUDA)

#define SAME_KERNEL(name)                                                                                              \
    EXPORT int name(void **kernel, const void *host) {                                                                 \
        REAL(name, (void **, const void *));                                                                           \
        int error = real(kernel, host);                                                                                \
        if (!error) kpt_same(*kernel, host);                                                                           \
        return error;                                                                                                  \
    }
SAME_KERNEL(__cudaGetKernel)
SAME_KERNEL(cudaGetKernel)
SAME_KERNEL(cudaGetFuncBySymbol)
SAME_KERNEL(hipGetFuncBySymbol)

/* CUDA's driver: programs that load their kernels themselves. */
ALLOCATE(cuMemAlloc_v2, KPT_DRIVER, 0, (uint64_t *address, size_t bytes), (address, bytes), 0, bytes)
ALLOCATE(cuMemAllocManaged, KPT_DRIVER, 0, (uint64_t *address, size_t bytes, unsigned flags), (address, bytes, flags),
         0, bytes)
RELEASE(cuMemFree_v2, (uint64_t address), (address))
LAUNCH_MODULE(cuLaunchKernel, KPT_DRIVER)
FUNCTION_BY_NAME(cuModuleGetFunction)

/* Only HIP. */
ALLOCATE(hipHostMalloc, KPT_HIP, 1, (void *address, size_t bytes, unsigned flags), (address, bytes, flags), 0, bytes)
ALLOCATE(hipExtMallocWithFlags, KPT_HIP, 0, (void *address, size_t bytes, unsigned flags), (address, bytes, flags), 0,
         bytes)
RELEASE(hipHostFree, (void *address), (address))
LAUNCH(hipLaunchKernel_spt, KPT_HIP, size_t)
LAUNCH(hipLaunchCooperativeKernel, KPT_HIP, unsigned)
LAUNCH_MODULE(hipModuleLaunchKernel, KPT_HIP)
FUNCTION_BY_NAME(hipModuleGetFunction)

EXPORT int hipExtLaunchKernel(const void *kernel, KptDim3 grid, KptDim3 block, void **params, size_t shared,
                              void *stream, void *before, void *after, int flags) {
    REAL(hipExtLaunchKernel, (const void *, KptDim3, KptDim3, void **, size_t, void *, void *, void *, int));
    AROUND(real(kernel, grid, block, params, shared, stream, before, after, flags), KPT_HIP, kernel, 0, grid, block,
           params, 0, shared, stream);
}
