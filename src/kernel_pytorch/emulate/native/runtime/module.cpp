#include "module.h"

#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <unordered_set>

#include "bundle.h"
#include "config.h"
#include "errors.h"
#include "json.h"
#include "memory.h"
#include "pending.h"
#include "report.h"

namespace kpt {

namespace {

// Every module that is loaded. The runtime owns them, so that one the program never unloads is no leak of the program's
// in a leak checker's eyes; never destroyed, since a program may unload from its own destructors.
struct Loaded {
    std::mutex mutex;
    std::unordered_set<hipModule_t> modules;
};

Loaded &loaded() {
    static Loaded *all = new Loaded;
    return *all;
}

} // namespace

hipModule_t load_module(const void *data, size_t bytes, int device, hipError_t &error) {
    auto module = std::make_unique<ihipModule_t>();
    std::string problem;
    bool no_binary = false;
    module->device = device;
    if (!pick_code_object(data, bytes, config().target, module->code_object, problem, no_binary)) {
        say("device code cannot be used: %s", problem.c_str());
        error = no_binary ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
        return nullptr;
    }
    if (!load_image(module->code_object, device, module->image, problem)) {
        say("device code cannot be loaded: %s", problem.c_str());
        error = hipErrorInvalidImage;
        return nullptr;
    }
    error = hipSuccess;
    std::lock_guard<std::mutex> lock(loaded().mutex);
    loaded().modules.insert(module.get());
    return module.release();
}

bool unload_module(hipModule_t module) {
    {
        std::lock_guard<std::mutex> lock(loaded().mutex);
        if (!loaded().modules.erase(module)) return false;
    }
    if (module->image.memory) release(module->image.memory->base);
    for (const Translation &one : module->translations) {
        if (one.constants) release(one.constants);
        dlclose(one.library);
    }
    delete module;
    return true;
}

hipFunction_t find_function(hipModule_t module, const std::string &asked, hipError_t &error) {
    std::lock_guard<std::mutex> lock(module->mutex);
    std::string name = asked;
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".kd") == 0) name.resize(name.size() - 3);
    auto known = module->functions.find(name);
    if (known != module->functions.end()) {
        error = hipSuccess;
        return known->second.get();
    }
    error = hipErrorNotFound;
    if (!module->image.symbols.count(name + ".kd")) return nullptr; /* no kernel: it would have a descriptor */
    if (module->refused.count(name)) {
        error = hipErrorInvalidKernelFile;
        return nullptr;
    }
    std::string problem;
    const KptKernel *kernel = translate(*module, name, problem);
    if (!kernel) {
        say("kernel %s cannot run: %s", name.c_str(), problem.c_str());
        report_line("{\"event\":\"unsupported\",\"function\":" + quoted("kernel " + name + ": " + problem) + "}");
        module->refused.insert(name);
        error = hipErrorInvalidKernelFile;
        return nullptr;
    }
    auto made = std::make_unique<ihipModuleSymbol_t>();
    made->module = module;
    made->kernel = kernel;
    made->name = name;
    error = hipSuccess;
    return (module->functions[name] = std::move(made)).get();
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
    KPT_ENTER();
    if (!module || !image) return done(hipErrorInvalidValue);
    hipError_t error;
    *module = load_module(image, 0, self().device, error);
    return done(error);
}

KPT_API hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned, void *, void **) {
    return hipModuleLoadData(module, image);
}

KPT_API hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
    KPT_ENTER();
    if (!module || !path) return done(hipErrorInvalidValue);
    std::ifstream file(path, std::ios::binary);
    if (!file) return done(hipErrorFileNotFound);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.empty()) return done(hipErrorInvalidImage);
    hipError_t error;
    *module = load_module(bytes.data(), bytes.size(), self().device, error);
    return done(error);
}

KPT_API hipError_t hipModuleLoadFatBinary(hipModule_t *module, const void *image) {
    return hipModuleLoadData(module, image);
}

KPT_API hipError_t hipModuleUnload(hipModule_t module) {
    KPT_ENTER();
    if (!module) return done(hipErrorInvalidHandle);
    finish_all("hipModuleUnload");
    return done(unload_module(module) ? hipSuccess : hipErrorInvalidHandle);
}

KPT_API hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
    KPT_ENTER();
    if (!function || !name) return done(hipErrorInvalidValue);
    if (!module) return done(hipErrorInvalidHandle);
    hipError_t error;
    *function = find_function(module, name, error);
    return done(error);
}

KPT_API hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t module) {
    KPT_ENTER();
    if (!count || !module) return done(hipErrorInvalidValue);
    *count = 0;
    for (auto &symbol : module->image.symbols) {
        const std::string &name = symbol.first;
        *count += name.size() > 3 && name.compare(name.size() - 3, 3, ".kd") == 0;
    }
    return done(hipSuccess);
}

KPT_API hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *bytes, hipModule_t module, const char *name) {
    KPT_ENTER();
    if (!module || !name) return done(hipErrorInvalidValue);
    auto found = module->image.symbols.find(name);
    if (found == module->image.symbols.end()) return done(hipErrorNotFound);
    if (address) *address = reinterpret_cast<void *>(found->second.address);
    if (bytes) *bytes = found->second.bytes;
    return done(hipSuccess);
}
