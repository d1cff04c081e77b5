/* Loaded into a CUDA or HIP program (LD_PRELOAD): writes down every kernel launch and what it did to device memory.
 *
 * KPT_RECORD_DIR gets `launches.jsonl` and one file per content of a buffer, named by its hash, so that what one kernel
 * leaves and the next one takes is kept once. Device memory is set to zero when it is allocated: what nobody writes is
 * then the same on every machine. The program is made to wait around each launch, so timings mean nothing here. */
#define _GNU_SOURCE
#include "launch_recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_ARGUMENTS 256
#define PIECE (64u << 20) /* a buffer is read in pieces: a large one must not double the memory of the host */

typedef struct {
    uint64_t low, high;
} Hash;

typedef struct {
    uint64_t base, bytes;
    int live, on_host, number;
    KptRuntime runtime;
    char *symbol;     /* of a device variable */
    const void *host; /* the variable's stand-in on the host, until its address is known */
    uint8_t *kept;    /* the first bytes, as they were before the launch */
    Hash before;
    int is_argument;
} Buffer;

typedef struct {
    const void *handle, *host;
    char *symbol;
} Named;

__thread int kpt_inside = 0;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Buffer *buffers;
static size_t buffer_count, buffer_room;
static Named *names;
static size_t name_count, name_room;
static int device_number, host_number;
static long launch_number, recorded;
static FILE *out;
static int started;
static uint64_t most_kept = 64u << 20, room_left = 1024ull << 20;
static long most_launches = 1000;
static KptRuntime current;

static uint64_t number_in(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Only when the program first uses a GPU: a compiler that it starts must not begin a record of its own. */
static int recording(void) {
    if (started) return out != NULL;
    started = 1;
    const char *directory = getenv("KPT_RECORD_DIR");
    if (!directory || !*directory) return 0;
    most_kept = number_in("KPT_RECORD_BUFFER_BYTES", most_kept);
    room_left = number_in("KPT_RECORD_TOTAL_BYTES", room_left);
    most_launches = (long)number_in("KPT_RECORD_LAUNCHES", (uint64_t)most_launches);
    char path[4096];
    snprintf(path, sizeof path, "%s/launches-%ld.jsonl", directory, (long)getpid());
    out = fopen(path, "w");
    if (!out) kpt_say("%s cannot be written: nothing is recorded", path);
    return out != NULL;
}

static uint64_t turned(uint64_t value, int by) { return value << by | value >> (64 - by); }

static void hash_more(Hash *hash, const uint8_t *data, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += 16) {
        uint64_t words[2] = {0, 0};
        memcpy(words, data + at, bytes - at < 16 ? bytes - at : 16);
        hash->low = turned(hash->low ^ words[0] * 0x87c37b91114253d5ull, 31) * 5 + hash->high;
        hash->high = turned(hash->high ^ words[1] * 0x4cf5ad432745937full, 33) * 5 + hash->low;
        hash->low *= 0x9e3779b97f4a7c15ull;
    }
}

static Hash hash_end(Hash hash, uint64_t bytes) {
    for (int round = 0; round < 3; round++) {
        hash.low = (hash.low ^ hash.low >> 32 ^ bytes) * 0xff51afd7ed558ccdull;
        hash.high = (hash.high ^ hash.high >> 29 ^ hash.low) * 0xc4ceb9fe1a85ec53ull;
        hash.low ^= hash.high;
    }
    return hash;
}

static uint64_t kept_bytes(const Buffer *buffer) { return buffer->bytes < most_kept ? buffer->bytes : most_kept; }

/* Reads a whole buffer: its hash, and its first bytes into `kept`. False where it cannot be read. */
static int read_buffer(const Buffer *buffer, uint8_t *kept, Hash *hash) {
    uint64_t keep = kept_bytes(buffer);
    Hash sum = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};
    if (kpt_copy(buffer->runtime, kept, buffer->base, keep) != 0) return 0;
    hash_more(&sum, kept, keep);
    uint8_t *piece = keep < buffer->bytes ? malloc(PIECE) : NULL;
    for (uint64_t at = keep; at < buffer->bytes; at += PIECE) {
        uint64_t size = buffer->bytes - at < PIECE ? buffer->bytes - at : PIECE;
        if (!piece || kpt_copy(buffer->runtime, piece, buffer->base + at, size) != 0) {
            free(piece);
            return 0;
        }
        hash_more(&sum, piece, size);
    }
    free(piece);
    *hash = hash_end(sum, buffer->bytes);
    return 1;
}

/* Writes a content unless it is there. False where there is no room left for it. */
static int write_content(const Buffer *buffer, const uint8_t *kept, Hash hash) {
    char path[4096];
    uint64_t size = kept_bytes(buffer);
    snprintf(path, sizeof path, "%s/%016llx%016llx.bin", getenv("KPT_RECORD_DIR"), (unsigned long long)hash.high,
             (unsigned long long)hash.low);
    if (access(path, F_OK) == 0) return 1;
    if (size > room_left) return 0;
    FILE *file = fopen(path, "wb");
    int done = file && fwrite(kept, 1, size, file) == size;
    if (file && fclose(file) != 0) done = 0;
    if (done)
        room_left -= size;
    else
        unlink(path);
    return done;
}

static void write_text(const char *name, const char *text) {
    fprintf(out, "\"%s\":\"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static Buffer *add_buffer(void) {
    if (buffer_count == buffer_room) {
        buffer_room = buffer_room ? 2 * buffer_room : 64;
        buffers = realloc(buffers, buffer_room * sizeof *buffers);
        if (!buffers) abort();
    }
    memset(&buffers[buffer_count], 0, sizeof *buffers);
    return &buffers[buffer_count++];
}

void kpt_allocated(KptRuntime runtime, void *address, size_t bytes, int on_host, void *stream) {
    if (!address || !bytes) return;
    pthread_mutex_lock(&lock);
    if (recording()) {
        Buffer *buffer = add_buffer();
        buffer->base = (uint64_t)(uintptr_t)address;
        buffer->bytes = bytes;
        buffer->live = 1;
        buffer->on_host = on_host;
        buffer->runtime = runtime;
        buffer->number = on_host ? ++host_number : ++device_number;
        kpt_inside++;
        if (!on_host && !kpt_capturing(runtime, stream)) kpt_clear_memory(runtime, address, bytes, stream);
        kpt_inside--;
    }
    pthread_mutex_unlock(&lock);
}

void kpt_freed(void *address) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < buffer_count; i++) {
        if (!buffers[i].live || buffers[i].base != (uint64_t)(uintptr_t)address || buffers[i].symbol) continue;
        buffers[i].live = 0;
        free(buffers[i].kept);
        buffers[i].kept = NULL;
    }
    pthread_mutex_unlock(&lock);
}

void kpt_variable(KptRuntime runtime, const void *host, const char *symbol, size_t bytes) {
    pthread_mutex_lock(&lock);
    Buffer *buffer = add_buffer();
    buffer->host = host;
    buffer->bytes = bytes;
    buffer->runtime = runtime;
    buffer->symbol = strdup(symbol);
    pthread_mutex_unlock(&lock);
}

static Named *named(const void *handle) {
    for (size_t i = name_count; i-- > 0;)
        if (names[i].handle == handle) return &names[i];
    return NULL;
}

static void add_name(const void *handle, const void *host, const char *symbol) {
    if (name_count == name_room) {
        name_room = name_room ? 2 * name_room : 64;
        names = realloc(names, name_room * sizeof *names);
        if (!names) abort();
    }
    names[name_count].handle = handle;
    names[name_count].host = host;
    names[name_count++].symbol = strdup(symbol);
}

void kpt_named(const void *handle, const char *symbol) {
    pthread_mutex_lock(&lock);
    add_name(handle, handle, symbol);
    pthread_mutex_unlock(&lock);
}

void kpt_same(const void *handle, const void *host) {
    pthread_mutex_lock(&lock);
    Named *known = named(host);
    if (known && !named(handle)) add_name(handle, host, known->symbol);
    pthread_mutex_unlock(&lock);
}

/* Device variables have no address until their module is on the device. */
static void find_variables(KptRuntime runtime) {
    if (runtime == KPT_DRIVER || kpt_last_error(runtime, 0) != 0) return;
    int (*function)(void **, const void *) =
        (int (*)(void **, const void *))kpt_maybe(runtime == KPT_CUDA ? "cudaGetSymbolAddress" : "hipGetSymbolAddress");
    for (size_t i = 0; function && i < buffer_count; i++) {
        void *address = NULL;
        if (!buffers[i].host || buffers[i].live) continue;
        if (function(&address, buffers[i].host) == 0 && address) {
            buffers[i].base = (uint64_t)(uintptr_t)address;
            buffers[i].live = 1;
        } else {
            kpt_last_error(runtime, 1); /* ours, not the program's */
        }
        buffers[i].host = NULL;
    }
}

static Buffer *holding(uint64_t address) {
    for (size_t i = buffer_count; i-- > 0;)
        if (buffers[i].live && address >= buffers[i].base && address - buffers[i].base < buffers[i].bytes)
            return &buffers[i];
    return NULL;
}

static void write_pointers(int argument, const uint8_t *value, size_t bytes, int *first) {
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t address;
        memcpy(&address, value + at, 8);
        Buffer *buffer = holding(address);
        if (!buffer) continue;
        buffer->is_argument = 1;
        fprintf(out, "%s{\"argument\":%d,\"offset\":%zu,\"buffer\":%zu,\"at\":%llu}", *first ? "" : ",", argument, at,
                (size_t)(buffer - buffers), (unsigned long long)(address - buffer->base));
        *first = 0;
    }
}

static void write_arguments(const KptLaunch *launch, const char *symbol, const void *host) {
    int first = 1;
    fputs("\"arguments\":[", out);
    if (launch->extra && launch->extra[0] == (void *)1) {
        size_t bytes = 0;
        for (int i = 0; launch->extra[i] && launch->extra[i] != (void *)3 && i < 8; i += 2)
            if (launch->extra[i] == (void *)2) bytes = *(size_t *)launch->extra[i + 1];
        write_pointers(0, launch->extra[1], bytes, &first);
    } else if (launch->params) {
        size_t sizes[MOST_ARGUMENTS];
        int count = kpt_argument_sizes(launch, symbol, host, sizes, MOST_ARGUMENTS);
        if (kpt_last_error(launch->runtime, 0) != 0) count = -1;
        for (int i = 0; i < count; i++)
            if (launch->params[i]) write_pointers(i, launch->params[i], sizes[i], &first);
    }
    fputs("]", out);
}

static void write_device(KptRuntime runtime) {
    char name[256] = "";
    int (*function)(char *, int, int) =
        (int (*)(char *, int, int))kpt_maybe(runtime == KPT_HIP ? "hipDeviceGetName" : "cuDeviceGetName");
    if (function) function(name, sizeof name, 0);
    fputs("{\"event\":\"device\",", out);
    write_text("name", name);
    fputs("}\n", out);
}

long kpt_before(const KptLaunch *launch) {
    kpt_inside++;
    pthread_mutex_lock(&lock);
    if (!recording() || recorded >= most_launches) {
        if (out) launch_number++;
        return -1;
    }
    long number = launch_number++;
    recorded++;
    current = launch->runtime;
    int captured = kpt_capturing(launch->runtime, launch->stream);
    if (!captured) {
        kpt_synchronize(launch->runtime);
        find_variables(launch->runtime);
    }
    if (number == 0) write_device(launch->runtime);
    Named *known = named(launch->handle);
    const char *symbol = launch->fixed_name ? launch->fixed_name : known ? known->symbol : "";
    fprintf(out, "{\"event\":\"launch\",\"number\":%ld,", number);
    write_text("symbol", symbol);
    fprintf(out, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared_bytes\":%zu,\"captured\":%s,", launch->grid.x,
            launch->grid.y, launch->grid.z, launch->block.x, launch->block.y, launch->block.z, launch->shared_bytes,
            captured ? "true" : "false");
    for (size_t i = 0; i < buffer_count; i++) buffers[i].is_argument = 0;
    write_arguments(launch, symbol, known ? known->host : NULL);
    fputs("}\n", out);
    fflush(out);
    if (captured) return -1;
    for (size_t i = 0; i < buffer_count; i++) {
        Buffer *buffer = &buffers[i];
        /* The host may write its own memory at any time: only a kernel that was given it is asked about it. */
        if (!buffer->live || (buffer->on_host && !buffer->is_argument)) continue;
        if (!buffer->kept) buffer->kept = malloc(kept_bytes(buffer));
        if (!buffer->kept || !read_buffer(buffer, buffer->kept, &buffer->before)) {
            free(buffer->kept);
            buffer->kept = NULL;
        }
    }
    return number;
}

static void write_buffer(size_t index, const uint8_t *after, Hash hash, int *first) {
    Buffer *buffer = &buffers[index];
    int changed = memcmp(&hash, &buffer->before, sizeof hash) != 0;
    if (!changed && !buffer->is_argument) return;
    int has_before = write_content(buffer, buffer->kept, buffer->before);
    int has_after = write_content(buffer, after, hash);
    fprintf(out, "%s{\"buffer\":%zu,\"number\":%d,\"on_host\":%s,", *first ? "" : ",", index, buffer->number,
            buffer->on_host ? "true" : "false");
    write_text("symbol", buffer->symbol ? buffer->symbol : "");
    fprintf(out, ",\"base\":\"%llx\",\"bytes\":%llu,\"kept\":%llu,", (unsigned long long)buffer->base,
            (unsigned long long)buffer->bytes, (unsigned long long)kept_bytes(buffer));
    fprintf(out, "\"before\":\"%016llx%016llx\",\"after\":\"%016llx%016llx\",\"has_before\":%s,\"has_after\":%s}",
            (unsigned long long)buffer->before.high, (unsigned long long)buffer->before.low,
            (unsigned long long)hash.high, (unsigned long long)hash.low, has_before ? "true" : "false",
            has_after ? "true" : "false");
    *first = 0;
}

void kpt_after(long number, int error) {
    if (number >= 0) {
        int ended = kpt_synchronize(current), first = 1;
        fprintf(out, "{\"event\":\"done\",\"number\":%ld,\"error\":%d,\"buffers\":[", number, error ? error : ended);
        for (size_t i = 0; i < buffer_count; i++) {
            if (!buffers[i].live || !buffers[i].kept || (buffers[i].on_host && !buffers[i].is_argument)) continue;
            uint8_t *after = malloc(kept_bytes(&buffers[i]));
            Hash hash;
            if (after && read_buffer(&buffers[i], after, &hash)) write_buffer(i, after, hash, &first);
            free(after);
        }
        fputs("]}\n", out);
        fflush(out);
    }
    pthread_mutex_unlock(&lock);
    kpt_inside--;
}

__attribute__((destructor)) static void at_the_end(void) {
    if (!out) return;
    fprintf(out, "{\"event\":\"end\",\"launches\":%ld}\n", launch_number);
    fflush(out);
}
