/* Code objects in use: loaded image, translated machine code, kernels by name. */
#ifndef KPT_MODULE_H
#define KPT_MODULE_H

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../engine.h"
#include "elf_image.h"
#include "hip_abi.h"

struct ihipModuleSymbol_t {
    ihipModule_t *module = nullptr;
    const KptKernel *kernel = nullptr;
    std::string name;
    uint32_t dynamic_lds_limit = 0; /* hipFuncSetAttribute; kept, not enforced: the hardware's limit is */
};

namespace kpt {

/* A shared library of translated kernels: all of a code object, or the one that was launched. */
struct Translation {
    void *library = nullptr;
    const KptModule *kernels = nullptr;
    uint64_t constants = 0; /* start of the library's own data, which kernels read */
};

} // namespace kpt

struct ihipModule_t {
    int device = 0;
    std::vector<uint8_t> code_object;
    std::string digest; /* of the code object, once it is asked for */
    kpt::Image image;
    std::mutex mutex;
    std::vector<kpt::Translation> translations;
    std::set<std::string> refused; /* kernels that could not be translated */
    std::map<std::string, std::unique_ptr<ihipModuleSymbol_t>> functions;
};

namespace kpt {

/* Null with the reason in `error`, after a line on standard error. `bytes` 0: the size is not known. */
hipModule_t load_module(const void *data, size_t bytes, int device, hipError_t &error);
// False for a handle that is not a loaded module.
bool unload_module(hipModule_t module);

/* A kernel by name, translated when it is asked for first. Null with the reason in `error`. */
hipFunction_t find_function(hipModule_t module, const std::string &name, hipError_t &error);

/* Finds or makes the translation of a kernel and attaches it to the module's image. Null with the reason in `problem`. */
const KptKernel *translate(ihipModule_t &module, const std::string &kernel, std::string &problem);

/* The kernel behind a host function of a program's fat binary, on the thread's device. */
hipFunction_t registered_function(const void *host_function, hipError_t &error);

/* Where the device variable behind a host variable lies on the thread's device. */
hipError_t registered_variable(const void *host_variable, void **address, size_t *bytes);

} // namespace kpt
#endif
