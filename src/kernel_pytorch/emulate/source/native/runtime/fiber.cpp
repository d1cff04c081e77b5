/* Switching between fibers, and the stacks they run on. */
#include "fiber.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#if defined(__x86_64__)
asm(R"(
.text
.globl kpt_switch
.type kpt_switch,@function
kpt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size kpt_switch, .-kpt_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl kpt_switch
.type kpt_switch,%function
kpt_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size kpt_switch, .-kpt_switch
)");
#else
#error "the source-level mode has fibers for x86-64 and aarch64 only"
#endif

namespace kpt {
namespace {

std::mutex mutex;
std::vector<Thread *> unused;
size_t made = 0;
/* A guard page splits a mapping in two, and the kernel allows some 65000 of them. */
const size_t GUARDED = 20000;

Thread *make_thread() {
    if (made * STACK_BYTES >= STACKS_BYTES) {
        fprintf(stderr, "kpt: more than %zu threads at once: no more stacks\n", made);
        _Exit(2);
    }
    auto *thread = new Thread();
    thread->stack = reinterpret_cast<uint8_t *>(STACKS + made * STACK_BYTES);
    if (made < GUARDED) mprotect(thread->stack, 4096, PROT_NONE);
    made++;
    return thread;
}

} // namespace

void take_threads(std::vector<Thread *> &into, size_t count) {
    std::lock_guard<std::mutex> lock(mutex);
    while (into.size() < count) {
        if (unused.empty()) {
            into.push_back(make_thread());
        } else {
            into.push_back(unused.back());
            unused.pop_back();
        }
    }
}

void give_threads(std::vector<Thread *> &from) {
    std::lock_guard<std::mutex> lock(mutex);
    /* Backwards, so that a block of the same size gets its threads and warm stacks in the same order. */
    unused.insert(unused.end(), from.rbegin(), from.rend());
    from.clear();
}

void prepare_stack(Thread *thread, void (*entry)()) {
    auto top = reinterpret_cast<uintptr_t>(thread->stack + STACK_BYTES) & ~uintptr_t(63);
    auto *slots = reinterpret_cast<uintptr_t *>(top);
#if defined(__x86_64__)
    slots -= 2;
    slots[0] = reinterpret_cast<uintptr_t>(entry); // 16-byte aligned: the entry sees its stack as after a call
    slots[1] = 0;
    slots -= 6;
    for (int i = 0; i < 6; i++) slots[i] = 0;
#else
    slots -= 20;
    for (int i = 0; i < 20; i++) slots[i] = 0;
    slots[11] = reinterpret_cast<uintptr_t>(entry);
#endif
    thread->stack_pointer = slots;
}

} // namespace kpt
