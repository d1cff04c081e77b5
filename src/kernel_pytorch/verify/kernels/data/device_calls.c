/* The calls that the recorder itself makes: the same ones of CUDA's runtime, HIP and CUDA's driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch_recorder.h"

void kpt_say(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    fputs("kpt recorder: ", stderr);
    vfprintf(stderr, format, rest);
    fputc('\n', stderr);
    va_end(rest);
}

void *kpt_maybe(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found) return found;
    /* A runtime that was loaded without making its names global is not "next". */
    static const char *const libraries[] = {"libcudart.so.13",  "libcudart.so.12",  "libcudart.so.11.0", "libcuda.so.1",
                                            "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !found; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) found = dlsym(library, name);
    }
    return found;
}

void *kpt_real(const char *name) {
    void *found = kpt_maybe(name);
    if (!found) {
        kpt_say("%s: not in any library of this program", name);
        abort();
    }
    return found;
}

/* The three runtimes have the same calls under other names. */
int kpt_copy(KptRuntime runtime, void *to, uint64_t from, size_t bytes) {
    if (runtime == KPT_DRIVER) {
        static int (*copy)(void *, uint64_t, size_t);
        if (!copy) copy = (int (*)(void *, uint64_t, size_t))kpt_real("cuMemcpyDtoH_v2");
        return copy(to, from, bytes);
    }
    static int (*copies[2])(void *, const void *, size_t, int);
    if (!copies[runtime])
        copies[runtime] =
            (int (*)(void *, const void *, size_t, int))kpt_real(runtime == KPT_CUDA ? "cudaMemcpy" : "hipMemcpy");
    return copies[runtime](to, (const void *)(uintptr_t)from, bytes, 4 /* by the address */);
}

static int call_none(KptRuntime runtime, const char *const words[3]) {
    int (*function)(void) = (int (*)(void))kpt_maybe(words[runtime]);
    return function ? function() : 0;
}

int kpt_synchronize(KptRuntime runtime) {
    static const char *const words[] = {"cudaDeviceSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize"};
    return call_none(runtime, words);
}

/* The driver keeps no last error. */
int kpt_last_error(KptRuntime runtime, int clear) {
    static const char *const look[] = {"cudaPeekAtLastError", "hipPeekAtLastError", "-"};
    static const char *const take[] = {"cudaGetLastError", "hipGetLastError", "-"};
    return runtime == KPT_DRIVER ? 0 : call_none(runtime, clear ? take : look);
}

int kpt_capturing(KptRuntime runtime, void *stream) {
    if ((uintptr_t)stream <= 2) return 0; /* the default streams cannot be captured */
    static const char *const words[] = {"cudaStreamIsCapturing", "hipStreamIsCapturing", "cuStreamIsCapturing"};
    int status = 0;
    int (*function)(void *, int *) = (int (*)(void *, int *))kpt_maybe(words[runtime]);
    return function && function(stream, &status) == 0 && status != 0;
}

void kpt_clear_memory(KptRuntime runtime, void *address, size_t bytes, void *stream) {
    if (runtime == KPT_DRIVER) {
        int (*set)(uint64_t, unsigned char, size_t) =
            (int (*)(uint64_t, unsigned char, size_t))kpt_maybe("cuMemsetD8_v2");
        if (set) set((uint64_t)(uintptr_t)address, 0, bytes);
        return;
    }
    int (*set)(void *, int, size_t, void *) =
        (int (*)(void *, int, size_t, void *))kpt_maybe(runtime == KPT_CUDA ? "cudaMemsetAsync" : "hipMemsetAsync");
    if (set) set(address, 0, bytes, stream);
}

/* From the table that `kpt golden record` made of the program's AMD code objects: a line is a symbol and sizes. */
static int sizes_of_table(const char *symbol, size_t *sizes, int most) {
    const char *path = getenv("KPT_RECORD_KERNELS");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[8192];
    int count = -1;
    while (file && count < 0 && fgets(line, sizeof line, file)) {
        char *rest = line, *word = strsep(&rest, " \n");
        if (strcmp(word, symbol) != 0) continue;
        for (count = 0; count < most && rest && *rest && *rest != '\n'; count++)
            sizes[count] = strtoull(rest, &rest, 10);
    }
    if (file) fclose(file);
    return count;
}

static int sizes_of_runtime(const KptLaunch *launch, const void *host, size_t *sizes, int most) {
    int (*function)(const void *, size_t, size_t *, size_t *) =
        (int (*)(const void *, size_t, size_t *, size_t *))kpt_maybe(
            launch->runtime == KPT_CUDA ? "cudaFuncGetParamInfo" : "cuFuncGetParamInfo");
    if (!function || !host || launch->runtime == KPT_HIP || kpt_last_error(launch->runtime, 0) != 0) return -1;
    size_t offset;
    int count = 0;
    while (count < most && function(host, (size_t)count, &offset, &sizes[count]) == 0) count++;
    kpt_last_error(launch->runtime, 1); /* asking for one too many is how the end is found */
    return count;
}

/* What a C++ name says: how many arguments there are, and which of them are pointers. */
static int sizes_of_name(const char *symbol, size_t *sizes, int most) {
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY); /* loaded already by all but programs in C */
    char *(*demangle)(const char *, char *, size_t *, int *) =
        (char *(*)(const char *, char *, size_t *, int *))dlsym(library ? library : RTLD_DEFAULT, "__cxa_demangle");
    int status = 0, depth = 0, count = 0;
    char *text = demangle && strncmp(symbol, "_Z", 2) == 0 ? demangle(symbol, NULL, NULL, &status) : NULL;
    if (!text) return -1;
    char *end = strrchr(text, ')'), *start = end;
    for (int open = 0; start && start > text; start--) {
        open += *start == ')' ? 1 : *start == '(' ? -1 : 0;
        if (!open) break;
    }
    if (!end || end == start + 1) {
        free(text);
        return end ? 0 : -1;
    }
    for (char *at = start + 1; at <= end && count < most; at++) {
        depth += strchr("<([", *at) ? 1 : strchr(">)]", *at) && at != end ? -1 : 0;
        if (at == end || (*at == ',' && depth == 0)) sizes[count++] = at[-1] == '*' || at[-1] == '&' ? 8 : 0;
    }
    free(text);
    return count;
}

int kpt_argument_sizes(const KptLaunch *launch, const char *symbol, const void *host, size_t *sizes, int most) {
    int count = sizes_of_table(symbol, sizes, most);
    if (count < 0) count = sizes_of_runtime(launch, host, sizes, most);
    return count < 0 ? sizes_of_name(symbol, sizes, most) : count;
}
