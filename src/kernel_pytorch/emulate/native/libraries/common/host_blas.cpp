#include "host_blas.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>

#ifndef KPT_BLAS_PATH
#define KPT_BLAS_PATH ""
#endif

namespace kpt {
namespace {

void *open_library() {
    const char *path = std::getenv("KPT_EMULATE_BLAS");
    if (!path) path = KPT_BLAS_PATH;
    return *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

} // namespace

void *host_routine(const std::string &name) {
    static void *const library = open_library();
    static std::map<std::string, void *> known;
    static std::mutex guard;
    if (!library) return nullptr;
    const std::lock_guard<std::mutex> lock(guard);
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    void *routine = dlsym(library, ("scipy_" + name + "_64_").c_str());
    if (!routine) routine = dlsym(library, (name + "_64_").c_str());
    return known[name] = routine;
}

} // namespace kpt
