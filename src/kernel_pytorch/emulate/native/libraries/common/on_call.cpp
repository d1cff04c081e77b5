/* The part that all libraries-on-call share. Such a library has the names of a real one and no code behind them: the
 * first call of any of them has the stand-in built, loads it, and from then on every name jumps there.
 *
 * Beside it stands assembly that kernel_pytorch/emulate/on_call.py writes: the names, and one slot for each. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mutex>
#include <string>

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {
HIDDEN extern const char kpt_library[]; /* as in -lhipblas */
HIDDEN extern const char kpt_names[];   /* one after the other, each with its zero; an empty one is the end */
HIDDEN extern void *kpt_slots[];
HIDDEN void *kpt_first_call(size_t index);
}

namespace {

std::string built_library() {
    const char *command = getenv("KPT_EMULATE_LIBRARY");
    if (!command) {
        fprintf(stderr,
                "kpt: lib%s.so is built when it is first called, and KPT_EMULATE_LIBRARY does not say how: "
                "start the program with `kpt emulate`\n",
                kpt_library);
        abort();
    }
    std::string path, line = std::string(command) + " " + kpt_library;
    FILE *told = popen(line.c_str(), "re");
    char part[4096];
    while (told && fgets(part, sizeof part, told)) path += part;
    if (!told || pclose(told) != 0 || path.empty()) {
        fprintf(stderr, "kpt: lib%s.so could not be built: the reason is above\n", kpt_library);
        abort();
    }
    return path.substr(0, path.find('\n'));
}

void load() {
    std::string path = built_library();
    /* Deep: inside the library its own names are its own, and not the ones here. */
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) {
        fprintf(stderr, "kpt: %s\n", dlerror());
        abort();
    }
    size_t index = 0;
    for (const char *name = kpt_names; *name; name += strlen(name) + 1, index++) {
        void *function = dlsym(library, name);
        if (!function) {
            fprintf(stderr, "kpt: %s has no %s\n", path.c_str(), name);
            abort();
        }
        __atomic_store_n(&kpt_slots[index], function, __ATOMIC_RELEASE);
    }
}

std::once_flag once;

} // namespace

void *kpt_first_call(size_t index) {
    std::call_once(once, load);
    return __atomic_load_n(&kpt_slots[index], __ATOMIC_ACQUIRE);
}
