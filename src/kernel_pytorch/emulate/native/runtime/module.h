/* Code objects in use: loaded image, translated machine code, kernels by name. */
#ifndef KPT_MODULE_H
#define KPT_MODULE_H

#include <map>
#include <memory>
#include <mutex>
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

struct ihipModule_t {
    int device = 0;
    std::vector<uint8_t> code_object;
    kpt::Image image;
    std::mutex mutex;
    const KptModule *translated = nullptr;
    bool translation_failed = false;
    void *library = nullptr;
    uint64_t constants = 0; /* start of the library's own data, which kernels read */
    std::map<std::string, std::unique_ptr<ihipModuleSymbol_t>> functions;
};

namespace kpt {

/* Null with the reason in `error`, after a line on standard error. `bytes` 0: the size is not known. */
hipModule_t load_module(const void *data, size_t bytes, int device, hipError_t &error);
// False for a handle that is not a loaded module.
bool unload_module(hipModule_t module);

/* A kernel by name, translated when this is the first one of its module. Null with the reason in `error`. */
hipFunction_t find_function(hipModule_t module, const std::string &name, hipError_t &error);

/* Finds or makes the translation of a code object and attaches it to its image. */
bool translate(ihipModule_t &module, std::string &problem);

/* The kernel behind a host function of a program's fat binary, on the thread's device. */
hipFunction_t registered_function(const void *host_function, hipError_t &error);

/* Where the device variable behind a host variable lies on the thread's device. */
hipError_t registered_variable(const void *host_variable, void **address, size_t *bytes);

} // namespace kpt
#endif
