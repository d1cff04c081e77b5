/* Preloaded into a program on any HIP runtime: notes its device buffers and, at its end, the digest of what is in them.
 * Two engines are compared by these, so both are looked at in the same way, through HIP's own calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICE_TO_HOST = 2, PIECE = 1 << 20 };
static const uint64_t DIGESTED_BYTES = 1ull << 30;

typedef struct Buffer {
    void *address;
    uint64_t bytes, number;
    struct Buffer *next;
} Buffer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Buffer *buffers;
static uint64_t count;

static void *next_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "kpt emulate: the HIP runtime has no %s\n", name);
        _exit(127);
    }
    return found;
}

static uint64_t digest_more(uint64_t hash, const uint8_t *data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, data + i, bytes - i < 8 ? bytes - i : 8);
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

static void write_report(void) {
    const char *path = getenv("KPT_ENGINE_REPORT");
    if (!path) return;
    FILE *file = fopen(path, "a");
    uint8_t *piece = malloc(PIECE);
    if (!file || !piece) return;
    int (*wait)(void) = (int (*)(void))next_function("hipDeviceSynchronize");
    int (*copy)(void *, const void *, size_t, int) =
        (int (*)(void *, const void *, size_t, int))next_function("hipMemcpy");
    int good = wait() == 0;
    for (Buffer *one = buffers; one && good; one = one->next) {
        uint64_t hash = 0xcbf29ce484222325ull, bytes = one->bytes < DIGESTED_BYTES ? one->bytes : DIGESTED_BYTES;
        for (uint64_t at = 0; at < bytes && good; at += PIECE) {
            uint64_t size = bytes - at < PIECE ? bytes - at : PIECE;
            good = copy(piece, (const char *)one->address + at, size, DEVICE_TO_HOST) == 0;
            if (good) hash = digest_more(hash, piece, size);
        }
        if (good)
            fprintf(file, "{\"event\":\"buffer\",\"id\":%llu,\"bytes\":%llu,\"digest\":\"%llx\"}\n",
                    (unsigned long long)one->number, (unsigned long long)one->bytes, (unsigned long long)hash);
    }
    if (good) fprintf(file, "{\"event\":\"end\"}\n");
    fclose(file);
    free(piece);
}

static void note(void *address, uint64_t bytes) {
    Buffer *one = malloc(sizeof *one);
    if (!one) return;
    pthread_mutex_lock(&mutex);
    /* Asked for after the runtime was loaded, so that it is called before the runtime ends. */
    if (!count) atexit(write_report);
    one->address = address;
    one->bytes = bytes;
    one->number = ++count;
    one->next = buffers;
    buffers = one;
    pthread_mutex_unlock(&mutex);
}

static void forget(void *address) {
    pthread_mutex_lock(&mutex);
    for (Buffer **at = &buffers; *at; at = &(*at)->next)
        if ((*at)->address == address) {
            Buffer *gone = *at;
            *at = gone->next;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&mutex);
}

#define KPT_EXPORT __attribute__((visibility("default")))

KPT_EXPORT int hipMalloc(void **out, size_t bytes) {
    int error = ((int (*)(void **, size_t))next_function("hipMalloc"))(out, bytes);
    if (error == 0 && bytes) note(*out, bytes);
    return error;
}
KPT_EXPORT int hipMallocManaged(void **out, size_t bytes, unsigned flags) {
    int error = ((int (*)(void **, size_t, unsigned))next_function("hipMallocManaged"))(out, bytes, flags);
    if (error == 0 && bytes) note(*out, bytes);
    return error;
}
KPT_EXPORT int hipMallocAsync(void **out, size_t bytes, void *stream) {
    int error = ((int (*)(void **, size_t, void *))next_function("hipMallocAsync"))(out, bytes, stream);
    if (error == 0 && bytes) note(*out, bytes);
    return error;
}
KPT_EXPORT int hipFree(void *address) {
    if (address) forget(address);
    return ((int (*)(void *))next_function("hipFree"))(address);
}
KPT_EXPORT int hipFreeAsync(void *address, void *stream) {
    if (address) forget(address);
    return ((int (*)(void *, void *))next_function("hipFreeAsync"))(address, stream);
}
