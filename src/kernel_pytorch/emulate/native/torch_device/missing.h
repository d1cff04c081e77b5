// What stands where torch's CUDA libraries would: functions that say that they are not there, and objects of zeros.
// The definitions themselves are written by cuda_build.py, from the symbols of the real libraries.
#pragma once

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

[[noreturn]] __attribute__((visibility("hidden"), noinline)) inline void kpt_missing(const char *symbol) {
    int status = 0;
    char *plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string name = plain ? plain : symbol;
    std::free(plain);
    throw std::runtime_error(
        name + " is in torch's CUDA library; the emulated GPU has taken its place and has no such function");
}

__attribute__((visibility("hidden"))) inline void kpt_missing_method() { kpt_missing("a method of a CUDA class"); }

// The options of a Gloo group, which need less room than those of an NCCL group. libtorch_cpu is loaded after this.
__attribute__((visibility("hidden"))) inline void kpt_gloo_options(void *place) {
    static const char name[] = "_ZN4c10d16ProcessGroupGloo7OptionsC1ENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    void *made_by = library ? dlsym(library, name) : nullptr;
    if (!made_by) {
        kpt_missing(name);
    }
    reinterpret_cast<void (*)(void *, long)>(made_by)(place, 600000);
}

extern "C" const char kpt_class_type[] asm("_ZTVN10__cxxabiv117__class_type_infoE");

#define FUNCTION(number, symbol)                                                                                       \
    extern "C" void kpt_function_##number() asm(symbol);                                                               \
    void kpt_function_##number() { kpt_missing(symbol); }

#define NO(number, symbol)                                                                                             \
    extern "C" bool kpt_function_##number() asm(symbol);                                                               \
    bool kpt_function_##number() { return false; }

#define PLACE(number, symbol)                                                                                          \
    extern "C" void *kpt_function_##number() asm(symbol);                                                              \
    void *kpt_function_##number() {                                                                                    \
        static long place[64];                                                                                         \
        return place;                                                                                                  \
    }

#define OPTIONS(number, symbol)                                                                                        \
    extern "C" void kpt_function_##number(void *place) asm(symbol);                                                    \
    void kpt_function_##number(void *place) { kpt_gloo_options(place); }

#define OBJECT(number, symbol, words)                                                                                  \
    extern "C" __attribute__((aligned(64))) long kpt_object_##number[words] asm(symbol);                               \
    long kpt_object_##number[words] = {};

#define TYPE(number, symbol, name, words)                                                                              \
    extern "C" const void *kpt_object_##number[words] asm(symbol);                                                     \
    const void *kpt_object_##number[words] = {kpt_class_type + 16, name};

#define VTABLE(number, symbol, words)                                                                                  \
    extern "C" const void *kpt_object_##number[words] asm(symbol);                                                     \
    const void *kpt_object_##number[words] = {};
