/* kernel<<<grid, block, bytes, stream>>>(arguments) becomes kpt::launch(kpt::Config(grid, block, ...), ...). */
#pragma once

#include <string.h>

#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../vector_types.h"
#include "abi.h"
#include "api.h"

extern "C" {
extern __thread const uint3 threadIdx, blockIdx;
/* dim3 in CUDA; plain here, because a thread's own variable cannot have a constructor. */
extern __thread const uint3 blockDim, gridDim;
}
static const int warpSize = 32;

namespace kpt {

struct Config {
    dim3 grid, block;
    size_t shared_bytes;
    void *stream;
    template <class S = cudaStream_t>
    Config(dim3 grid, dim3 block, size_t shared_bytes = 0, S stream = S())
        : grid(grid), block(block), shared_bytes(shared_bytes), stream((void *)(uintptr_t)stream) {}
};

struct Site {
    const char *kernel, *file;
    int line;
};

template <class F, class... A> struct Call {
    F function;
    std::tuple<A...> arguments;
    template <size_t... I> void call(std::index_sequence<I...>) { function(std::get<I>(arguments)...); }
    static void run(void *self) { static_cast<Call *>(self)->call(std::index_sequence_for<A...>()); }
};

inline int start(const Site &site, const Config &config, bool cooperative, void (*invoke)(void *), void *arguments) {
    KptLaunch what = {{config.grid.x, config.grid.y, config.grid.z},
                      {config.block.x, config.block.y, config.block.z},
                      config.shared_bytes,
                      config.stream,
                      cooperative,
                      site.kernel,
                      invoke,
                      arguments,
                      site.file,
                      site.line};
    return kpt_launch(&what);
}

/* A kernel whose parameter types are known: the arguments are converted to them once, here. */
template <class... P> struct Typed {
    Site site;
    Config config;
    void (*kernel)(P...);
    template <class... A> void operator()(A &&...given) const {
        if (!kpt_host_launch_allowed(site.file, site.line)) return;
        using C = Call<void (*)(P...), std::remove_cv_t<P>...>;
        void *memory = kpt_parameters(sizeof(C), alignof(C));
        C *call = new (memory) C{kernel, std::tuple<std::remove_cv_t<P>...>(static_cast<P>(std::forward<A>(given))...)};
        kpt_launched(start(site, config, false, C::run, call));
        call->~C();
        kpt_free(memory);
    }
};
template <class... P> Typed<P...> launch(const Site &site, void (*kernel)(P...), const Config &config) {
    return {site, config, kernel};
}

/* A kernel whose template arguments follow from the call: `function` makes that call. */
template <class F, class... A> void launch_deduced(const Site &site, F function, const Config &config, A... given) {
    if (!kpt_host_launch_allowed(site.file, site.line)) return;
    using C = Call<F, A...>;
    void *memory = kpt_parameters(sizeof(C), alignof(C));
    C *call = new (memory) C{function, std::tuple<A...>(given...)};
    kpt_launched(start(site, config, false, C::run, call));
    call->~C();
    kpt_free(memory);
}

/* Kernels that are passed on as plain pointers, and how to call them with an array of argument addresses. */
struct Known {
    const char *name;
    int (*start)(const Site &, const Config &, bool, void *, void **);
};
inline std::map<void *, Known> &known_kernels() {
    static std::map<void *, Known> kernels;
    return kernels;
}
template <class... P> struct Erased {
    template <size_t... I>
    static int go(const Site &site, const Config &config, bool cooperative, void *kernel, void **given,
                  std::index_sequence<I...>) {
        using C = Call<void (*)(P...), std::remove_cv_t<P>...>;
        void *memory = kpt_parameters(sizeof(C), alignof(C));
        C *call = new (memory)
            C{(void (*)(P...))kernel, std::tuple<std::remove_cv_t<P>...>(*(std::remove_cv_t<P> *)given[I]...)};
        int error = start(site, config, cooperative, C::run, call);
        call->~C();
        kpt_free(memory);
        return error;
    }
    static int start_all(const Site &site, const Config &config, bool cooperative, void *kernel, void **given) {
        return go(site, config, cooperative, kernel, given, std::index_sequence_for<P...>());
    }
};
template <class T> struct Kernel {
    static void know(T *, const char *) {} // a variable that has a kernel's name
};
template <class... P> struct Kernel<void(P...)> {
    static void know(void (*kernel)(P...), const char *name) {
        known_kernels()[(void *)kernel] = {name, &Erased<P...>::start_all};
    }
};
template <class T> T &known(T &value, const char *name) {
    Kernel<T>::know(&value, name);
    return value;
}

template <class T> T &shared(int *slot, const char *name) {
    return *static_cast<T *>(kpt_shared(slot, sizeof(T), alignof(T), name));
}
template <class T> T &dynamic_shared() { return *static_cast<T *>(kpt_dynamic_shared()); }
/* An extern __shared__ array at namespace scope. */
template <class T> struct DynamicArray {
    operator T *() const { return static_cast<T *>(kpt_dynamic_shared()); }
};

} // namespace kpt

template <class F>
static inline cudaError_t cudaLaunchKernel(F kernel, dim3 grid, dim3 block, void **arguments, size_t bytes = 0,
                                           cudaStream_t stream = nullptr, KPT_HERE) {
    if (!kpt_host_launch_allowed(KPT_PLACE)) return cudaGetLastError();
    auto found = kpt::known_kernels().find((void *)kernel);
    if (found == kpt::known_kernels().end()) return kpt_launched(98);
    return kpt_launched(found->second.start({found->second.name, KPT_PLACE}, kpt::Config(grid, block, bytes, stream),
                                            false, (void *)kernel, arguments));
}
template <class F>
static inline cudaError_t cudaLaunchCooperativeKernel(F kernel, dim3 grid, dim3 block, void **arguments,
                                                      size_t bytes = 0, cudaStream_t stream = nullptr, KPT_HERE) {
    if (!kpt_host_launch_allowed(KPT_PLACE)) return cudaGetLastError();
    auto found = kpt::known_kernels().find((void *)kernel);
    if (found == kpt::known_kernels().end()) return kpt_launched(98);
    return kpt_launched(found->second.start({found->second.name, KPT_PLACE}, kpt::Config(grid, block, bytes, stream),
                                            true, (void *)kernel, arguments));
}
