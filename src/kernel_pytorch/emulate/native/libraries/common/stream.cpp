#include "stream.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace kpt {
namespace {

// The runtime may have been loaded by the program (then its names are global) or by ctypes (then they are not).
void *runtime_symbol(const char *name) {
    if (void *found = dlsym(RTLD_DEFAULT, name)) return found;
    for (const char *soname : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"})
        if (void *runtime = dlopen(soname, RTLD_NOW | RTLD_NOLOAD))
            if (void *found = dlsym(runtime, name)) return found;
    return nullptr;
}

// In checked runs the runtime keeps track of which bytes were ever written; it cannot see plain stores of ours.
void tell_of_writes() {
    using Note = void (*)();
    static const auto note = reinterpret_cast<Note>(runtime_symbol("kptHostLibraryWrites"));
    if (note) note();
}

// The function of this library that the program called: the last frame before the stack leaves the library. Its return
// address lies in an exported function, so that the loader knows its name.
std::string called_function() {
    void *frames[32];
    Dl_info here, at;
    if (!dladdr(reinterpret_cast<void *>(&runtime_symbol), &here)) return "";
    std::string name;
    const int count = backtrace(frames, 32);
    for (int i = 0; i < count; i++) {
        if (!dladdr(static_cast<char *>(frames[i]) - 1, &at)) break;
        if (at.dli_fbase != here.dli_fbase) {
            if (name.empty()) continue;
            break;
        }
        name = at.dli_sname ? at.dli_sname : "";
    }
    if (!name.empty()) return name;
    const std::string file = here.dli_fname ? here.dli_fname : "";
    return file.substr(file.rfind('/') + 1);
}

// What was computed here and not by the vendor's kernels: for the report's line on fidelity.
void tell_of_call() {
    using Note = void (*)(const char *);
    static const auto note = reinterpret_cast<Note>(runtime_symbol("kptLibraryCall"));
    if (note && std::getenv("KPT_EMULATE_REPORT")) note(called_function().c_str());
}

int drain(void *stream) {
    using Synchronize = int (*)(void *);
    using SynchronizeAll = int (*)();
    static const auto one = reinterpret_cast<Synchronize>(runtime_symbol("hipStreamSynchronize"));
    static const auto all = reinterpret_cast<SynchronizeAll>(runtime_symbol("hipDeviceSynchronize"));
    // The null stream waits for every blocking stream, and every blocking stream for the null stream.
    if (!stream) return all ? all() : one ? one(nullptr) : 0;
    if (!one) return 0;
    int error = one(nullptr);
    return error ? error : one(stream);
}

} // namespace

int wait_for(void *stream) {
    const int error = drain(stream);
    if (!error) tell_of_writes();
    if (!error) tell_of_call();
    return error;
}

int current_device() {
    using GetDevice = int (*)(int *);
    static const auto get = reinterpret_cast<GetDevice>(runtime_symbol("hipGetDevice"));
    int device = 0;
    return get && get(&device) == 0 ? device : 0;
}

} // namespace kpt
