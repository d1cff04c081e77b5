/* What clang makes a HIP program call before main: its device code, kernels and device variables. */
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "module.h"

namespace kpt {
namespace {

struct Wrapper {
    uint32_t magic, version;
    const void *binary;
    void *unused;
};
const uint32_t WRAPPER_MAGIC = 0x48495046; /* "HIPF" */

struct Managed {
    void **pointer;
    std::string name;
};

struct FatBinary {
    const void *data = nullptr;
    std::vector<Managed> managed;
    std::map<int, hipModule_t> modules; /* by device */
    std::map<int, hipError_t> failed;
};

struct Registered {
    FatBinary *binary;
    std::string name;
    size_t bytes = 0;
    void **managed = nullptr;
    std::map<int, hipFunction_t> functions; /* by device */
};

struct Registry {
    std::recursive_mutex mutex;
    std::unordered_map<const void *, Registered> functions, variables;
};

Registry &registry() {
    static Registry *value = new Registry;
    return *value;
}

hipModule_t module_on(FatBinary &binary, int device, hipError_t &error) {
    auto failed = binary.failed.find(device);
    if (failed != binary.failed.end()) {
        error = failed->second;
        return nullptr;
    }
    hipModule_t &module = binary.modules[device];
    error = hipSuccess;
    if (module) return module;
    module = load_module(binary.data, 0, device, error);
    if (!module) {
        binary.failed[device] = error;
        return nullptr;
    }
    for (auto &managed : binary.managed) {
        auto symbol = module->image.symbols.find(managed.name);
        if (symbol != module->image.symbols.end())
            memcpy(reinterpret_cast<void *>(symbol->second.address), managed.pointer, sizeof(void *));
    }
    return module;
}

} // namespace

hipFunction_t registered_function(const void *host, hipError_t &error) {
    Registry &r = registry();
    std::lock_guard<std::recursive_mutex> lock(r.mutex);
    auto found = r.functions.find(host);
    error = hipErrorInvalidDeviceFunction;
    if (found == r.functions.end()) return nullptr;
    Registered &entry = found->second;
    int device = self().device;
    auto known = entry.functions.find(device);
    if (known != entry.functions.end()) {
        error = hipSuccess;
        return known->second;
    }
    hipModule_t module = module_on(*entry.binary, device, error);
    if (!module) return nullptr;
    hipFunction_t function = find_function(module, entry.name, error);
    if (function)
        entry.functions[device] = function;
    else if (error == hipErrorNotFound)
        error = hipErrorInvalidDeviceFunction;
    return function;
}

hipError_t registered_variable(const void *host, void **address, size_t *bytes) {
    Registry &r = registry();
    std::lock_guard<std::recursive_mutex> lock(r.mutex);
    auto found = r.variables.find(host);
    if (found == r.variables.end()) {
        /* A managed variable is named by the memory it stands for. */
        Allocation *a = find(uint64_t(host));
        if (!a || a->kind != Kind::managed) return hipErrorInvalidSymbol;
        *address = const_cast<void *>(host);
        *bytes = a->bytes - (uint64_t(host) - a->base);
        return hipSuccess;
    }
    Registered &entry = found->second;
    *bytes = entry.bytes;
    if (entry.managed) {
        *address = *entry.managed;
        return hipSuccess;
    }
    hipError_t error;
    hipModule_t module = module_on(*entry.binary, self().device, error);
    if (!module) return error;
    auto symbol = module->image.symbols.find(entry.name);
    if (symbol == module->image.symbols.end()) return hipErrorInvalidSymbol;
    *address = reinterpret_cast<void *>(symbol->second.address);
    if (symbol->second.bytes) *bytes = symbol->second.bytes;
    return hipSuccess;
}

} // namespace kpt

using namespace kpt;

KPT_API void **__hipRegisterFatBinary(const void *data) {
    auto *wrapper = static_cast<const Wrapper *>(data);
    auto *binary = new FatBinary;
    if (wrapper->magic != WRAPPER_MAGIC || wrapper->version != 1)
        say("the program's fat binary has an unknown form (version %u)", wrapper->version);
    else
        binary->data = wrapper->binary;
    return reinterpret_cast<void **>(binary);
}

KPT_API void __hipRegisterFunction(void **handle, const void *host, char *, const char *name, unsigned, void *, void *,
                                   void *, void *, int *) {
    Registry &r = registry();
    std::lock_guard<std::recursive_mutex> lock(r.mutex);
    Registered &entry = r.functions[host];
    entry = {};
    entry.binary = reinterpret_cast<FatBinary *>(handle);
    entry.name = name;
}

KPT_API void __hipRegisterVar(void **handle, void *host, char *, const char *name, int, size_t bytes, int, int) {
    Registry &r = registry();
    std::lock_guard<std::recursive_mutex> lock(r.mutex);
    Registered &entry = r.variables[host];
    entry = {};
    entry.binary = reinterpret_cast<FatBinary *>(handle);
    entry.name = name;
    entry.bytes = bytes;
}

KPT_API void __hipRegisterManagedVar(void *handle, void **pointer, void *initial, const char *name, size_t bytes,
                                     unsigned alignment) {
    Registry &r = registry();
    std::lock_guard<std::recursive_mutex> lock(r.mutex);
    auto *binary = static_cast<FatBinary *>(handle);
    hipError_t error;
    Allocation *memory = allocate(Kind::managed, bytes, 0, 1, error, alignment);
    if (!memory) {
        say("no memory for managed variable %s (%zu bytes)", name, bytes);
        return;
    }
    *pointer = reinterpret_cast<void *>(memory->base);
    memcpy(*pointer, initial, bytes);
    binary->managed.push_back({pointer, name});
    Registered &entry = r.variables[pointer];
    entry = {};
    entry.binary = binary;
    entry.name = name;
    entry.bytes = bytes;
    entry.managed = pointer;
}

/* A texture reference is a variable of the device like others (texture_references.cpp binds it). */
KPT_API void __hipRegisterTexture(void **handle, void *host, char *, char *name, int, int, int) {
    __hipRegisterVar(handle, host, nullptr, name, 0, 0, 0, 0);
}

KPT_API void __hipRegisterSurface(void **, void *, char *, char *name, int, int) {
    say("surface reference %s: only surface objects are emulated", name);
}

KPT_API void __hipUnregisterFatBinary(void **handle) {
    if (!handle) return;
    Registry &r = registry();
    std::lock_guard<std::recursive_mutex> lock(r.mutex);
    auto *binary = reinterpret_cast<FatBinary *>(handle);
    for (auto *table : {&r.functions, &r.variables})
        for (auto at = table->begin(); at != table->end();)
            at = at->second.binary == binary ? table->erase(at) : std::next(at);
    for (auto &module : binary->modules)
        if (module.second) unload_module(module.second);
    delete binary;
}

KPT_API hipError_t hipGetSymbolAddress(void **address, const void *symbol) {
    KPT_ENTER();
    size_t bytes;
    if (!address) return done(hipErrorInvalidValue);
    return done(registered_variable(symbol, address, &bytes));
}

KPT_API hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol) {
    KPT_ENTER();
    void *address;
    if (!bytes) return done(hipErrorInvalidValue);
    return done(registered_variable(symbol, &address, bytes));
}

KPT_API hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *symbol) {
    KPT_ENTER();
    if (!function) return done(hipErrorInvalidValue);
    hipError_t error;
    *function = registered_function(symbol, error);
    return done(error);
}
