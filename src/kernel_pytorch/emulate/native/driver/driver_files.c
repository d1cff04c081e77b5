/* Preloaded into programs that look for an AMD GPU in the files of its driver (/dev/kfd, /sys/class/kfd): they see the
   files of the emulated GPU, which lie in the folder $KPT_EMULATE_DRIVER under the same paths. Nothing else changes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM 4096

static int below(const char *path, const char *place) {
    size_t length = strlen(place);
    return strncmp(path, place, length) == 0 && (path[length] == 0 || path[length] == '/');
}

/* The path to use for `path`: itself, or its place in our folder, which is written to `room`. */
static const char *moved(const char *path, char room[ROOM]) {
    if (!path || path[0] != '/' || (path[1] != 's' && path[1] != 'd')) return path;
    if (!below(path, "/dev/kfd") && !below(path, "/sys/class/kfd")) return path;
    const char *folder = getenv("KPT_EMULATE_DRIVER");
    if (!folder) return path;
    int length = snprintf(room, ROOM, "%s%s", folder, path);
    return length > 0 && length < ROOM ? room : path;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PUBLIC __attribute__((visibility("default")))

static mode_t mode_of(int flags, va_list more) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                                                                                     \
    PUBLIC int name(const char *path, int flags, ...) {                                                                \
        char room[ROOM];                                                                                               \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = mode_of(flags, more);                                                                            \
        va_end(more);                                                                                                  \
        return REAL(name)(moved(path, room), flags, mode);                                                             \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    PUBLIC int name(int at, const char *path, int flags, ...) {                                                        \
        char room[ROOM];                                                                                               \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = mode_of(flags, more);                                                                            \
        va_end(more);                                                                                                  \
        return REAL(name)(at, moved(path, room), flags, mode);                                                         \
    }
OPENAT(openat)
OPENAT(openat64)

#define WITH_PATH(result, name, parameters, ...)                                                                       \
    PUBLIC result name parameters {                                                                                    \
        char room[ROOM];                                                                                               \
        return REAL(name)(__VA_ARGS__);                                                                                \
    }
#define PATH moved(path, room)
WITH_PATH(FILE *, fopen, (const char *path, const char *how), PATH, how)
WITH_PATH(FILE *, fopen64, (const char *path, const char *how), PATH, how)
WITH_PATH(DIR *, opendir, (const char *path), PATH)
WITH_PATH(int, access, (const char *path, int how), PATH, how)
WITH_PATH(int, faccessat, (int at, const char *path, int how, int flags), at, PATH, how, flags)
WITH_PATH(int, stat, (const char *restrict path, struct stat *restrict found), PATH, found)
WITH_PATH(int, lstat, (const char *restrict path, struct stat *restrict found), PATH, found)
WITH_PATH(int, stat64, (const char *restrict path, struct stat64 *restrict found), PATH, found)
WITH_PATH(int, lstat64, (const char *restrict path, struct stat64 *restrict found), PATH, found)
WITH_PATH(int, fstatat, (int at, const char *restrict path, struct stat *restrict found, int flags), at, PATH, found,
          flags)
WITH_PATH(int, fstatat64, (int at, const char *restrict path, struct stat64 *restrict found, int flags), at, PATH,
          found, flags)
WITH_PATH(int, statx, (int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict found), at,
          PATH, flags, mask, found)
/* What programs that were built before glibc 2.33 call. */
int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *), __lxstat64(int, const char *, struct stat64 *);
WITH_PATH(int, __xstat, (int version, const char *path, struct stat *found), version, PATH, found)
WITH_PATH(int, __lxstat, (int version, const char *path, struct stat *found), version, PATH, found)
WITH_PATH(int, __xstat64, (int version, const char *path, struct stat64 *found), version, PATH, found)
WITH_PATH(int, __lxstat64, (int version, const char *path, struct stat64 *found), version, PATH, found)
