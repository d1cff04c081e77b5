/* A GPU program as a compiler leaves it: kernels are registered before main and launched through the runtime. Its
 * first word says what goes wrong in it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(rest) JOIN(P, rest)

typedef struct {
    unsigned x, y, z;
} Dim3;
void JOIN(__, NAME(RegisterFunction))(void **, const void *, char *, const char *, int, void *, void *, void *, void *, int *);
void JOIN(__, NAME(RegisterVar))(void **, void *, char *, const char *, int, size_t, int, int);
int JOIN(__, NAME(GetKernel))(void **, const void *);
int JOIN(__, NAME(LaunchKernel))(const void *, Dim3, Dim3, void **, size_t, void *);
int NAME(LaunchKernel)(const void *, Dim3, Dim3, void **, size_t, void *);
int NAME(Malloc)(void **, size_t);
int NAME(MallocAsync)(void **, size_t, void *);
int NAME(Free)(void *);
int NAME(Memcpy)(void *, const void *, size_t, int);
int NAME(GetLastError)(void);
int NAME(StreamBeginCapture)(void *, int);
int NAME(StreamEndCapture)(void *, void **);
int NAME(GraphLaunch)(void *, void *);

static const char *fault = "";
static int counter; /* stands for a __device__ variable */

static int is(const char *name) { return strcmp(fault, name) == 0; }

static void scale(void **params, Dim3 grid, Dim3 block) {
    float *x = *(float **)params[0], factor = *(float *)params[1];
    int n = *(int *)params[2];
    if (is("die")) abort();
    for (unsigned i = 0; i < grid.x * block.x && (int)i < n; i++) {
        if (is("stale-lanes") && i % 64 >= 32) continue;
        x[i] *= factor;
    }
    if (!is("no-count")) counter++;
}

/* One structure holds both pointers, as kernels of templates often have it. */
typedef struct {
    const float *in;
    float *out;
    int n;
} Sums;
static void sums(void **params, Dim3 grid, Dim3 block) {
    Sums a = *(Sums *)params[0];
    int wave = is("wave-64") ? 64 : 32;
    (void)grid, (void)block;
    for (int i = 0; i < a.n; i += 32) {
        float sum = 0;
        for (int lane = i / wave * wave; lane < i / wave * wave + wave && lane < a.n; lane++) sum += a.in[lane];
        a.out[i / 32] = sum;
    }
}

static int scale_sizes[] = {8, 4, 4, -1}, sums_sizes[] = {sizeof(Sums), -1};

#ifdef HIP_NAMES
#define SCALE "_Z5scaleIfEvPT_fi" /* the port made a template of it: the base name is the same */
#define SUMS "hip_sums"
#else
#define SCALE "_Z5scalePffi"
#define SUMS "cuda_sums"
#endif

__attribute__((constructor)) static void before_main(void) {
    JOIN(__, NAME(RegisterFunction))(0, (void *)scale, 0, SCALE, -1, 0, 0, 0, 0, scale_sizes);
    JOIN(__, NAME(RegisterFunction))(0, (void *)sums, 0, SUMS, -1, 0, 0, 0, 0, sums_sizes);
    JOIN(__, NAME(RegisterVar))(0, &counter, 0, "counter", 0, sizeof counter, 0, 0);
}

int main(int count, char **words) {
    if (count > 1) fault = words[1];
    int n = 512;
    float *in, *x, *out, *unused, factor = 1.5f;
    Dim3 grid = {2, 1, 1}, block = {256, 1, 1};
    if (is("no-launch")) return 3;
    in = malloc(sizeof(float) * (size_t)n);
    for (int i = 0; i < n; i++) in[i] = (float)(i % 37) / 8 + (is("other-input") && i == 5 ? 1 : 0);
    NAME(Malloc)((void **)&x, sizeof(float) * (size_t)n);
    NAME(MallocAsync)((void **)&out, sizeof(float) * (size_t)n / 16, 0); /* half of it is never written */
    NAME(Malloc)((void **)&unused, 4096);
    NAME(Memcpy)(x, in, sizeof(float) * (size_t)n, 1);
    void *first[] = {&x, &factor, &n};
#ifdef HIP_NAMES
    NAME(LaunchKernel)((void *)scale, grid, block, first, 0, 0);
#else
    void *handle;
    JOIN(__, NAME(GetKernel))(&handle, (void *)scale);
    JOIN(__, NAME(LaunchKernel))(handle, grid, block, first, 0, 0);
#endif
    if (NAME(GetLastError)() != 0) return 4; /* the recorder's questions must not show */
    Sums arguments = {x, out, n};
    void *second[] = {&arguments};
    NAME(LaunchKernel)((void *)sums, grid, block, second, 0, 0);
    if (is("refused")) {
        block.x = 4096;
        NAME(LaunchKernel)((void *)sums, grid, block, second, 0, 0);
        if (NAME(GetLastError)() != 9) return 5;
    }
    if (is("graph")) {
        void *stream = (void *)4096, *graph;
        NAME(StreamBeginCapture)(stream, 0);
        NAME(LaunchKernel)((void *)scale, grid, block, first, 0, stream);
        NAME(StreamEndCapture)(stream, &graph);
        NAME(GraphLaunch)(graph, stream);
    }
    NAME(Free)(x);
    NAME(Free)(out);
    NAME(Free)(unused);
    puts("done");
    return 0;
}
