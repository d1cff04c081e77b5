/* A stand-in for libcudart or libamdhip64 on the CPU, with their binary interface: enough of it for the recorder to be
 * tested without a GPU. Kernels are C functions; new memory holds rubbish, as on a device. Built with -DP=cuda or
 * -DP=hip. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(rest) JOIN(P, rest)

typedef struct {
    unsigned x, y, z;
} Dim3;
typedef void (*Kernel)(void **params, Dim3 grid, Dim3 block);

static struct {
    const void *host;
    int *sizes;
} kernels[16];
static int kernel_count, last_error, captured;

static int failed(int error) { return last_error = error; }

void JOIN(__, NAME(RegisterFunction))(void **binary, const void *host, char *device, const char *symbol, int limit,
                                      void *a, void *b, void *c, void *d, int *sizes) {
    (void)binary, (void)device, (void)symbol, (void)limit, (void)a, (void)b, (void)c, (void)d;
    kernels[kernel_count].host = host;
    kernels[kernel_count++].sizes = sizes; /* a place that the real runtimes do not use: sizes, ended by -1 */
}

void JOIN(__, NAME(RegisterVar))(void **binary, void *host, char *device, const char *symbol, int external, size_t bytes,
                                 int constant, int global) {
    (void)binary, (void)host, (void)device, (void)symbol, (void)external, (void)bytes, (void)constant, (void)global;
}

int NAME(FuncGetParamInfo)(const void *host, size_t index, size_t *offset, size_t *size) {
    for (int i = 0; i < kernel_count; i++) {
        if (kernels[i].host != host) continue;
        for (size_t at = 0; at <= index; at++)
            if (kernels[i].sizes[at] < 0) return failed(1);
        *offset = 8 * index;
        *size = (size_t)kernels[i].sizes[index];
        return 0;
    }
    return failed(98);
}

int NAME(GetSymbolAddress)(void **address, const void *host) {
    *address = (void *)host; /* the stand-in's device memory is the host's */
    return 0;
}

int NAME(Malloc)(void **address, size_t bytes) {
    *address = malloc(bytes);
    memset(*address, 0xcd, bytes);
    return 0;
}
int NAME(MallocAsync)(void **address, size_t bytes, void *stream) {
    (void)stream;
    return NAME(Malloc)(address, bytes);
}
int NAME(Free)(void *address) {
    free(address);
    return 0;
}
int NAME(Memcpy)(void *to, const void *from, size_t bytes, int kind) {
    (void)kind;
    memcpy(to, from, bytes);
    return 0;
}
int NAME(MemsetAsync)(void *to, int value, size_t bytes, void *stream) {
    (void)stream;
    memset(to, value, bytes);
    return 0;
}
int NAME(DeviceSynchronize)(void) { return 0; }
int NAME(PeekAtLastError)(void) { return last_error; }
int NAME(GetLastError)(void) {
    int error = last_error;
    last_error = 0;
    return error;
}
int NAME(StreamIsCapturing)(void *stream, int *status) {
    (void)stream;
    *status = captured;
    return 0;
}
int NAME(StreamBeginCapture)(void *stream, int mode) {
    (void)stream, (void)mode;
    captured = 1;
    return 0;
}
int NAME(StreamEndCapture)(void *stream, void **graph) {
    (void)stream;
    captured = 0;
    *graph = (void *)1;
    return 0;
}
int NAME(DeviceGetName)(char *name, int bytes, int device) {
    (void)device;
    strncpy(name, "stand-in GPU", (size_t)bytes);
    return 0;
}

static struct {
    Kernel kernel;
    void *params[8];
    Dim3 grid, block;
} node; /* the one launch that a captured graph of this stand-in holds */

int NAME(LaunchKernel)(const void *kernel, Dim3 grid, Dim3 block, void **params, size_t shared, void *stream) {
    (void)shared, (void)stream;
    if (block.x > 1024) return failed(9);
    if (captured) {
        node.kernel = (Kernel)kernel;
        memcpy(node.params, params, sizeof(void *) * 3);
        node.grid = grid;
        node.block = block;
        return 0;
    }
    ((Kernel)kernel)(params, grid, block);
    return 0;
}
int NAME(GraphLaunch)(void *graph, void *stream) {
    (void)graph, (void)stream;
    node.kernel(node.params, node.grid, node.block);
    return 0;
}
/* What nvcc 13 calls: a handle for the kernel, then a launch with the handle. */
int JOIN(__, NAME(GetKernel))(void **handle, const void *host) {
    *handle = (char *)host + 1;
    return 0;
}
int JOIN(__, NAME(LaunchKernel))(const void *handle, Dim3 grid, Dim3 block, void **params, size_t shared, void *stream) {
    return NAME(LaunchKernel)((const char *)handle - 1, grid, block, params, shared, stream);
}
