/* Accesses that no check saw: a stack that ran over, or library code that followed a wrong pointer in a kernel. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime.h"

namespace kpt {
namespace {

const size_t HANDLER_STACK = 64 << 10;

void crashed(int signal, siginfo_t *info, void *) {
    Thread *t = kpt_current;
    if (!t) {
        ::signal(signal, SIG_DFL);
        raise(signal);
        return;
    }
    auto address = uintptr_t(info->si_addr);
    bool stack = address - uintptr_t(t->stack) < 4096;
    Place place{nullptr, t->depth && t->depth <= 64 ? offset_of(t->calls[t->depth - 1] - 1) : 0};
    report_fault(
        {stack ? "stack" : "bounds",
         place,
         stack ? "the thread's local memory and calls take more than " + std::to_string(STACK_BYTES >> 10) + " KB"
               : std::string("a function of the library followed a pointer that no allocation has"),
         "the kernel ends with an error",
         t,
         {nullptr, 0}});
    report_end();
    fflush(stdout);
    fprintf(stderr, "kpt: the program is ended: a kernel %s\n", stack ? "overran its stack" : "used a wrong pointer");
    _Exit(139);
}

} // namespace

void catch_signals() {
    /* Every OS thread that runs fibers has its own: the fiber's stack may be the one that is full. */
    static thread_local bool done = false;
    if (done) return;
    done = true;
    void *memory = mmap(nullptr, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate{};
    alternate.ss_sp = memory;
    alternate.ss_size = HANDLER_STACK;
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_sigaction = crashed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

} // namespace kpt
